#include "cli/cdc_tail.h"

#include "cli/archive.h"
#include "cli/cdc_verbs.h"
#include "cli/cli.h"
#include "cli/line_out.h"
#include "feed/reader.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define IDLE_MS 1000
#define AGAIN_MS 500 /* after a page that could not be read */

struct tail {
    const struct settings *s;
    struct stop_token stop;
    struct store *store; /* for pages */
    struct feed_hub *hub;
    struct feed_reader *reader;
    struct feed_client *client;
    struct feed_filter filter;
    struct line_out out;
    int wake_fd;
    int64_t began; /* clock_mono() */
    int64_t end;   /* without --follow: where it ends; -1: not known yet */
};

static void wake(void *connection) {
    const uint64_t one = 1;
    ssize_t n UNUSED = write(*(int *)connection, &one, sizeof one);
}

/* Where to begin. Without an id: now, or with everything there is when it does not go on. */
static enum verdict find_start(struct tail *t, struct feed_id *ret, struct err *e) {
    const char *since = t->s->since;
    struct feed_state st;
    if (since && feed_id_parse(str_of(since), ret))
        return V_OK;
    *ret = (struct feed_id){0, -1};
    if (!since && t->s->follow)
        return V_OK;
    enum verdict v = store_feed_state(t->store, &st, e);
    if (v == V_OK)
        *ret = (struct feed_id){st.epoch, st.oldest - 1};
    return v;
}

/* What is committed when it begins belongs to it, and may not have been numbered yet. */
static enum verdict is_through(struct tail *t, bool *ret, struct err *e) {
    struct feed_state st;
    int64_t age;
    *ret = false;
    if (t->end < 0) {
        enum verdict v = store_feed_waiting(t->store, &age, e);
        if (v == V_OK && age > clock_mono(&clock_machine) - t->began)
            return V_OK;
        if (v == V_OK)
            v = store_feed_state(t->store, &st, e);
        if (v != V_OK)
            return v;
        t->end = st.head;
    }
    struct feed_id at = feed_client_cursor(t->client);
    *ret = at.pos >= t->end;
    return V_OK;
}

/* Until there is something, the stop, or nobody reads any more. */
static enum verdict rest(struct tail *t, int ms, struct err *e) {
    struct pollfd p[] = {{.fd = t->wake_fd, .events = POLLIN},
                         {.fd = t->stop.fd, .events = POLLIN},
                         {.fd = t->out.fd, .events = 0}};
    uint64_t n;
    if (poll(p, ARRAY_LEN(p), ms) < 0 && errno != EINTR)
        return err_set(e, V_FATAL, "output", errno, "%s", strerror(errno));
    if (p[2].revents & (POLLERR | POLLHUP))
        return V_NOT_FOUND;
    ssize_t got UNUSED = read(t->wake_fd, &n, sizeof n);
    return stop_raised(&t->stop) ? V_STOPPED : V_OK;
}

/* A database that is away is waited for, as the reader does. */
static enum verdict bear(struct tail *t, enum verdict v, struct err *e) {
    if (v != V_RETRY)
        return v;
    struct err later;
    if (store_recover(t->store, &later) != V_OK)
        log_debug("the log cannot be read", LE(e));
    return rest(t, AGAIN_MS, e);
}

static enum verdict put_gap(struct tail *t, const struct feed_taken *got, struct err *e) {
    char from[FEED_ID_MAX], to[FEED_ID_MAX], line[2 * FEED_ID_MAX + 64];
    feed_id_format(got->from, from);
    feed_id_format(got->to, to);
    int n =
        snprintf(line, sizeof line, "{\"type\":\"gap\",\"from\":\"%s\",\"to\":\"%s\"}\n", from, to);
    return line_out_add(&t->out, (struct str){line, (size_t)n}, e);
}

static enum verdict put_event(struct tail *t, struct feed_event *ev, struct err *e) {
    struct str line = {ev->json.p, ev->json.n + 1}; /* a newline stands behind it */
    enum verdict v = line_out_add(&t->out, line, e);
    feed_event_drop(ev);
    return v;
}

/* Nothing is left for now; or the feed did not stand yet, which says nothing. */
static enum verdict idle(struct tail *t, bool stands, struct err *e) {
    bool through = false;
    enum verdict v = line_out_flush(&t->out, e);
    if (v == V_OK && !t->s->follow && stands)
        v = bear(t, is_through(t, &through, e), e);
    if (v != V_OK || through)
        return v == V_OK ? V_STOPPED : v;
    return rest(t, IDLE_MS, e);
}

static enum verdict step(struct tail *t, struct err *e) {
    struct feed_taken got;
    struct feed_state st;
    if (stop_raised(&t->stop))
        return V_STOPPED;
    bool stands = feed_hub_ready(t->hub, &st); /* before: it may come to stand in between */
    enum verdict v = V_OK;
    switch (feed_take(t->client, &got)) {
    case FEED_EVENT:
        return put_event(t, got.event, e);
    case FEED_GAP:
        return put_gap(t, &got, e);
    case FEED_READ:
        v = line_out_flush(&t->out, e);
        return v == V_OK ? bear(t, feed_client_page(t->client, t->store, e), e) : v;
    case FEED_NOTHING:
        return idle(t, stands, e);
    case FEED_OVER:
        break;
    }
    return V_STOPPED;
}

static int run(struct tail *t) {
    struct err e = {0};
    const struct store_options options = {.uri = t->s->db,
                                          .schema = t->s->schema,
                                          .clock = &clock_machine,
                                          .schema_rule = SCHEMA_REQUIRE};
    const struct feed_options feed = {.store = &options, .hub = t->hub, .clock = &clock_machine};
    struct feed_join join = {.filter = t->filter, .wake = wake, .connection = &t->wake_fd};
    enum verdict v = find_start(t, &join.since, &e);
    if (v == V_OK)
        v = feed_start(&feed, &t->reader, &e);
    t->client = feed_join(t->hub, &join);
    while (v == V_OK)
        v = step(t, &e);
    feed_leave(t->client);
    feed_stop(t->reader);
    if (v == V_STOPPED && signal_received())
        return signal_received() == SIGINT ? EXIT_SIGINT : EXIT_SIGTERM;
    if (v == V_STOPPED || v == V_NOT_FOUND)
        return EXIT_DONE;
    return cdc_fail(v, &e);
}

static int check(const struct settings *s, struct feed_filter *ret) {
    struct feed_id id;
    struct err e;
    if (s->since && strcmp(s->since, "oldest") != 0 && !feed_id_parse(str_of(s->since), &id))
        return cdc_usage("--since: tail wants the id of an event, such as 1794810000-7, or oldest");
    if (feed_filter_read(str_of(s->tables), str_of(s->actions), ret, &e) != V_OK) {
        char text[sizeof e.msg + 2];
        snprintf(text, sizeof text, "--%s", e.msg);
        return cdc_usage(text);
    }
    return 0;
}

static int check_tables(struct store *store, const struct feed_filter *f) {
    CLEANUP(arena_release) struct arena a;
    struct feed_names names;
    struct err e;
    arena_init(&a);
    enum verdict v = feed_names_read(store, &a, &names, &e);
    if (v == V_OK)
        v = feed_filter_check(f, &names, "--tables", &e);
    return v == V_OK ? 0 : v == V_INVALID ? cdc_usage(e.msg) : cdc_fail(v, &e);
}

int cdc_tail(const struct settings *s, struct store *store) {
    struct tail t = {.s = s, .store = store, .end = -1, .began = clock_mono(&clock_machine)};
    struct err e;
    int code = check(s, &t.filter);
    if (code == 0)
        code = check_tables(store, &t.filter);
    if (code)
        return code;
    if (stop_init(&t.stop, &e) != V_OK)
        return cdc_fail(V_FATAL, &e);
    signals_to(&t.stop);
    t.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    t.hub = feed_hub_new(1);
    line_out_init(&t.out, STDOUT_FILENO, &t.stop);
    code = run(&t);
    line_out_release(&t.out);
    feed_hub_free(t.hub);
    close(t.wake_fd);
    stop_release(&t.stop);
    return code;
}
