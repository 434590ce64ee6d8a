#include "events.h"

#include "client.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define WAIT_MS 120000
#define KEEP_MAX (32 << 20)

static void drop_front(struct strbuf *b, size_t n) {
    if (n == 0)
        return;
    memmove(b->p, b->p + n, b->n - n);
    b->n -= n;
    b->p[b->n] = '\0';
}

/* Moves whole chunks from raw to body. */
static void decode(struct events *ev) {
    size_t at = 0;
    while (ev->end == EVENTS_OPEN && at < ev->raw.n) {
        const char *p = ev->raw.p + at, *eol = strstr(p, "\r\n"); /* a head is plain text */
        if (!eol)
            break;
        size_t size = strtoul(p, NULL, 16), head = (size_t)(eol - p) + 2;
        if (ev->raw.n - at < head + size + 2)
            break;
        strbuf_add(&ev->body, eol + 2, size);
        ev->pieces++;
        at += head + size + 2;
        if (size == 0)
            ev->end = EVENTS_DONE;
    }
    drop_front(&ev->raw, at);
}

/* False: there is no more. */
static bool read_more(struct events *ev) {
    char chunk[65536];
    struct pollfd p = {ev->fd, POLLIN, 0};
    if (poll(&p, 1, WAIT_MS) != 1)
        fail_msg("nothing came; so far: %.2000s", ev->body.p ? ev->body.p : "");
    ssize_t n = recv(ev->fd, chunk, sizeof chunk, 0);
    if (n <= 0) {
        ev->end = n == 0 ? EVENTS_CLOSED : EVENTS_RESET;
        return false;
    }
    strbuf_add(&ev->raw, chunk, (size_t)n);
    assert_false(ev->raw.overflow || ev->body.overflow);
    return true;
}

void events_open(struct events *ev, struct demo *d, const char *path) {
    *ev = (struct events){.fd = client_connect(demo_port(d))};
    strbuf_init(&ev->raw, KEEP_MAX);
    strbuf_init(&ev->body, KEEP_MAX);
    client_send(ev->fd, "GET", path, "Accept: text/event-stream\r\n", NULL);
    const char *end = NULL;
    while (!end && read_more(ev))
        end = strstr(ev->raw.p, "\r\n\r\n");
    if (!end)
        return;
    ev->status = atoi(ev->raw.p + strlen("HTTP/1.1 "));
    if (ev->status != 200)
        return;
    assert_non_null(strcasestr(ev->raw.p, "transfer-encoding: chunked"));
    assert_non_null(strcasestr(ev->raw.p, "content-type: text/event-stream"));
    drop_front(&ev->raw, (size_t)(end + 4 - ev->raw.p));
    decode(ev);
}

void events_close(struct events *ev) {
    strbuf_release(&ev->raw);
    strbuf_release(&ev->body);
    close(ev->fd);
}

bool events_wait(struct events *ev, const char *needle) {
    for (;;) {
        size_t n = strlen(needle);
        const char *from = ev->body.p ? ev->body.p + ev->seen : "";
        const char *found = memmem(from, ev->body.n - ev->seen, needle, n);
        if (found) {
            ev->seen = (size_t)(found - ev->body.p) + n;
            return true;
        }
        if (ev->end != EVENTS_OPEN || !read_more(ev))
            return false;
        decode(ev);
    }
}

enum events_end events_finish(struct events *ev) {
    while (ev->end == EVENTS_OPEN && read_more(ev))
        decode(ev);
    return ev->end;
}

void events_peek(struct events *ev, int wait_ms) {
    struct pollfd p = {ev->fd, POLLIN, 0};
    if (ev->end == EVENTS_OPEN && poll(&p, 1, wait_ms) == 1 && read_more(ev))
        decode(ev);
}

int control_post(struct demo *d, const char *path, const char *body) {
    struct answer a;
    client_post(demo_port(d), path, body, &a);
    int status = a.status;
    answer_release(&a);
    return status;
}

int64_t control_get(struct demo *d, const char *path, const char *key) {
    struct answer a;
    client_get(demo_port(d), path, &a);
    assert_int_equal(a.status, 200);
    json_t *j = json_loads(a.body, 0, NULL), *at = j;
    char names[64], *rest = names, *name;
    snprintf(names, sizeof names, "%s", key);
    while ((name = strsep(&rest, ".")))
        at = json_object_get(at, name);
    if (!json_is_integer(at))
        fail_msg("%s has no %s", path, key);
    int64_t n = json_integer_value(at);
    json_decref(j);
    answer_release(&a);
    return n;
}

void control_await(struct demo *d, const char *key, int64_t want) {
    int64_t until = clock_mono(&clock_machine) + WAIT_MS, got = 0;
    while (clock_mono(&clock_machine) < until)
        if ((got = control_get(d, "/demo/stats", key)) == want)
            return;
    fail_msg("%s is %lld, not %lld", key, (long long)got, (long long)want);
}
