#include "demo/reply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define JSON_TYPE "application/json; charset=utf-8"
#define DRIP_MS 100
#define TRUNCATED_BY 64

static enum MHD_Result queue(struct MHD_Connection *c, unsigned status, struct MHD_Response *r) {
    if (!r)
        return MHD_NO;
    enum MHD_Result queued = MHD_queue_response(c, status, r);
    MHD_destroy_response(r);
    return queued;
}

static struct MHD_Response *from_buffer(struct strbuf *body, const char *type) {
    struct MHD_Response *r = MHD_create_response_from_buffer(
        body->n, body->p, body->p ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    if (!r)
        return NULL;
    *body = (struct strbuf){.max = body->max};
    MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    return r;
}

enum MHD_Result reply_json(struct MHD_Connection *c, unsigned status, struct strbuf *body) {
    return queue(c, status, from_buffer(body, JSON_TYPE));
}

enum MHD_Result reply_page(struct MHD_Connection *c, unsigned status, const char *type,
                           struct strbuf *body) {
    return queue(c, status, from_buffer(body, type));
}

static struct MHD_Response *error_response(const char *message) {
    struct strbuf body;
    strbuf_init(&body, 2048);
    strbuf_adds(&body, "{\"error\":");
    strbuf_add_json(&body, str_of(message));
    strbuf_addc(&body, '}');
    return from_buffer(&body, JSON_TYPE);
}

enum MHD_Result reply_error(struct MHD_Connection *c, unsigned status, const char *message) {
    return queue(c, status, error_response(message));
}

enum MHD_Result reply_status(struct MHD_Connection *c, unsigned status, int retry_after) {
    static const struct {
        unsigned status;
        const char *message;
    } KNOWN[] = {
        {401, "Permission denied"},
        {403, "Forbidden"},
        {404, "Not found"},
        {429, "Too many requests"},
        {500, "Internal server error."},
        {503, "Service unavailable"},
    };
    const char *message = "This answer was asked for.";
    for (size_t i = 0; i < ARRAY_LEN(KNOWN); i++)
        if (KNOWN[i].status == status)
            message = KNOWN[i].message;
    struct MHD_Response *r = error_response(message);
    if (r && retry_after >= 0) {
        char seconds[16];
        snprintf(seconds, sizeof seconds, "%d", retry_after);
        MHD_add_response_header(r, MHD_HTTP_HEADER_RETRY_AFTER, seconds);
    }
    return queue(c, status, r);
}

enum MHD_Result reply_redirect(struct MHD_Connection *c, unsigned status, const char *location) {
    struct MHD_Response *r = error_response("It is elsewhere.");
    if (r)
        MHD_add_response_header(r, MHD_HTTP_HEADER_LOCATION, location);
    return queue(c, status, r);
}

enum MHD_Result reply_garbage(struct MHD_Connection *c, struct strbuf *body, unsigned n) {
    switch (n % 3) {
    case 0: /* what a proxy says when it is unwell */
        strbuf_clear(body);
        strbuf_adds(body, "<html><body><h1>502 Bad Gateway</h1></body></html>");
        break;
    case 1: /* JSON that ends too early, under a Content-Length that is right */
        body->n /= 2;
        break;
    default:
        strbuf_clear(body);
        strbuf_add(body, "\x1f\x8b\x00\xff\xfe\x00{]", 8);
    }
    return reply_json(c, MHD_HTTP_OK, body);
}

/* A body that is sent piece by piece. */
struct source {
    struct MHD_Connection *connection;
    struct waker *waker;
    struct strbuf body;
    uint64_t bytes; /* huge */
    bool waited;    /* drip: the pause before this byte is over */
};

static void free_source(void *cls) {
    struct source *s = cls;
    strbuf_release(&s->body);
    free(s);
}

static struct source *source_new(struct MHD_Connection *c, struct strbuf *body) {
    struct source *s = xcalloc(1, sizeof *s);
    s->connection = c;
    s->body = *body;
    *body = (struct strbuf){.max = body->max};
    return s;
}

static enum MHD_Result send_source(struct source *s, uint64_t size, size_t block,
                                   MHD_ContentReaderCallback read) {
    struct MHD_Connection *c = s->connection;
    struct MHD_Response *r = MHD_create_response_from_callback(size, block, read, s, free_source);
    if (!r)
        free_source(s);
    else
        MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, JSON_TYPE);
    return queue(c, MHD_HTTP_OK, r);
}

static ssize_t read_truncated(void *cls, uint64_t pos, char *buf, size_t max) {
    const struct source *s = cls;
    if (pos >= s->body.n)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    size_t n = s->body.n - (size_t)pos;
    n = n < max ? n : max;
    memcpy(buf, s->body.p + pos, n);
    return (ssize_t)n;
}

enum MHD_Result reply_truncated(struct MHD_Connection *c, struct strbuf *body) {
    struct source *s = source_new(c, body);
    return send_source(s, s->body.n + TRUNCATED_BY, 4096, read_truncated);
}

static ssize_t read_drip(void *cls, uint64_t pos, char *buf, size_t max UNUSED) {
    struct source *s = cls;
    if (pos && !s->waited && waker_suspend(s->waker, s->connection, DRIP_MS)) {
        s->waited = true;
        return 0;
    }
    s->waited = false;
    buf[0] = s->body.p[pos];
    return 1;
}

enum MHD_Result reply_drip(struct MHD_Connection *c, struct waker *w, struct strbuf *body) {
    struct source *s = source_new(c, body);
    s->waker = w;
    return send_source(s, s->body.n, 1, read_drip);
}

static ssize_t read_huge(void *cls, uint64_t pos, char *buf, size_t max) {
    const struct source *s = cls;
    if (pos >= s->bytes)
        return MHD_CONTENT_READER_END_OF_STREAM;
    uint64_t left = s->bytes - pos;
    size_t n = left < max ? (size_t)left : max;
    memset(buf, 'a', n);
    for (size_t i = 0; i < n && pos + i < s->body.n; i++)
        buf[i] = s->body.p[pos + i];
    for (size_t i = 0; i < 2 && i < left && left - i <= n; i++)
        buf[left - 1 - i] = "}\""[i];
    return (ssize_t)n;
}

enum MHD_Result reply_huge(struct MHD_Connection *c, int64_t id, uint64_t bytes, bool chunked) {
    struct strbuf head;
    strbuf_init(&head, 128);
    strbuf_addf(&head, "{\"id\":%lld,\"type\":\"comment\",\"text\":\"", (long long)id);
    struct source *s = source_new(c, &head);
    s->bytes = bytes;
    return send_source(s, chunked ? MHD_SIZE_UNKNOWN : bytes, 64 * 1024, read_huge);
}

/* Dissolving the association makes the kernel send RST at once, and leaves the descriptor to the
 * library. Lingering for zero seconds would not do: the library shuts the socket down first, and
 * the peer would see an orderly end. */
enum MHD_Result reply_reset(struct MHD_Connection *c) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct sockaddr none = {.sa_family = AF_UNSPEC};
    if (info)
        (void)connect(info->connect_fd, &none, sizeof none);
    return MHD_NO;
}
