/* Headers, entity tag, compression: from an answer to a response of the HTTP library. Runs on the
 * thread that made the answer. */
#include "web/server_int.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#define FLOW_BLOCK 16384
#define STREAM_BLOCK 1024

static void add(struct MHD_Response *m, const char *name, const char *value) {
    (void)MHD_add_response_header(m, name, value);
}

/* A page may load what this server serves and nothing else, and runs no script that stands in it.
 */
static void add_page_headers(struct MHD_Response *m) {
    add(m, "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'");
    /* With none at all a form would not say that it comes from here. */
    add(m, "Referrer-Policy", "same-origin");
}

static void add_retry_after(struct MHD_Response *m, int seconds) {
    char text[16];
    snprintf(text, sizeof text, "%d", seconds);
    add(m, MHD_HTTP_HEADER_RETRY_AFTER, text);
}

static void add_headers(struct request *r, struct MHD_Response *m) {
    const struct call *c = &r->call;
    if (c->type)
        add(m, MHD_HTTP_HEADER_CONTENT_TYPE, c->type);
    add(m, MHD_HTTP_HEADER_CACHE_CONTROL, c->cache ? c->cache : "no-cache");
    if (c->location.p)
        add(m, MHD_HTTP_HEADER_LOCATION, c->location.p);
    if (c->set_cookie.p)
        add(m, MHD_HTTP_HEADER_SET_COOKIE, c->set_cookie.p);
    if (c->unknown)
        add(m, "X-Tain-Known", "no");
    if (!request_is_api(r))
        add_page_headers(m);
    else if (r->area == AREA_LINKS) /* what is put aside to read is no page's business but ours */
        add(m, "Cross-Origin-Resource-Policy", "same-origin");
    else
        add(m, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_ORIGIN, "*");
    if (c->status == MHD_HTTP_NO_CONTENT && r->preflight) {
        add(m, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_METHODS, "GET, HEAD");
        add(m, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_HEADERS, "*");
        add(m, MHD_HTTP_HEADER_ACCESS_CONTROL_MAX_AGE, "86400");
    }
    add(m, "X-Content-Type-Options", "nosniff");
    if (c->status == MHD_HTTP_SERVICE_UNAVAILABLE || c->status == MHD_HTTP_TOO_MANY_REQUESTS)
        add_retry_after(m, c->retry_after ? c->retry_after : RETRY_AFTER_S);
    if (c->status == MHD_HTTP_UNAUTHORIZED)
        add(m, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
    if (c->status == MHD_HTTP_METHOD_NOT_ALLOWED)
        add(m, MHD_HTTP_HEADER_ALLOW, route_methods(r->route));
    if (r->unclear || atomic_load_explicit(&c->web->stopping, memory_order_relaxed))
        add(m, MHD_HTTP_HEADER_CONNECTION, "close");
}

/* W/"..." is the same entity, compressed or not; the comparison that counts here is the weak one.
 */
static bool tag_matches(const char *wanted, const char *tag, size_t n) {
    for (const char *p = wanted; p && *p;) {
        p += strspn(p, " \t,");
        if (*p == '*')
            return true;
        if (p[0] == 'W' && p[1] == '/')
            p += 2;
        if (strncmp(p, tag, n) == 0 && (p[n] == '\0' || strchr(", \t", p[n])))
            return true;
        p += strcspn(p, ",");
    }
    return false;
}

#define TAG_N 18

static void make_tag(struct str body, char out[TAG_N + 3]) {
    static const char digits[] = "0123456789abcdef";
    uint64_t h = XXH3_64bits(body.p, body.n);
    memcpy(out, "W/\"", 3);
    for (int i = 0; i < 16; i++)
        out[3 + i] = digits[h >> (60 - 4 * i) & 15];
    out[19] = '"';
    out[20] = '\0';
}

/* A successful answer without a body of its own when the client has it already. */
static bool is_known(struct request *r, const char *tag) {
    const char *wanted =
        MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_IF_NONE_MATCH);
    return wanted && tag_matches(wanted, tag + 2, TAG_N);
}

static struct str compressed(struct request *r, struct str body) {
    struct desk *d = r->desk;
    if (!d || !r->accepts_gzip || body.n < GZIP_FROM)
        return STR_NONE;
    if (!d->gzip)
        d->gzip = gzip_new();
    strbuf_clear(&r->packed);
    r->packed.max = body.n; /* no use in a larger one */
    return gzip_whole(d->gzip, body, &r->packed) ? strbuf_str(&r->packed) : STR_NONE;
}

static struct MHD_Response *from_memory(struct str body) {
    return MHD_create_response_from_buffer(body.n, (void *)body.p, MHD_RESPMEM_PERSISTENT);
}

/* The body stays with the request, which lives as long as the response is being sent. */
void reply_whole(struct request *r) {
    struct call *c = &r->call;
    struct str body = strbuf_str(&c->body), packed = STR_NONE;
    bool texty = c->type && gzip_worthwhile(c->type);
    bool tagged = c->status == MHD_HTTP_OK && !c->post;
    char tag[TAG_N + 3];
    if (tagged) {
        make_tag(body, tag);
        if (is_known(r, tag)) {
            c->status = MHD_HTTP_NOT_MODIFIED;
            body.n = 0;
        }
    }
    if (texty)
        packed = compressed(r, body);
    if (packed.p)
        body = packed;
    r->response = from_memory(body);
    r->body_bytes = (int64_t)body.n;
    add_headers(r, r->response);
    if (tagged)
        add(r->response, MHD_HTTP_HEADER_ETAG, tag);
    if (texty && c->body.n >= GZIP_FROM)
        add(r->response, MHD_HTTP_HEADER_VARY, MHD_HTTP_HEADER_ACCEPT_ENCODING);
    if (packed.p)
        add(r->response, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
}

/* On the loop thread, which alone may put a connection to sleep. */
static ssize_t sleep_on(struct request *r) {
    MHD_suspend_connection(r->connection);
    r->asleep = true;
    return 0;
}

static ssize_t read_pipe(void *arg, uint64_t at UNUSED, char *out, size_t max) {
    struct request *r = arg;
    enum pipe_end end;
    size_t n = pipe_take(r->pipe, out, max, &end);
    r->body_bytes += (int64_t)n;
    if (n)
        return (ssize_t)n;
    if (end == PIPE_ENDED)
        return MHD_CONTENT_READER_END_OF_STREAM;
    return end == PIPE_OPEN ? sleep_on(r) : MHD_CONTENT_READER_END_WITH_ERROR;
}

static ssize_t read_stream(void *arg, uint64_t at UNUSED, char *out, size_t max) {
    struct request *r = arg;
    struct call *c = &r->call;
    size_t left = c->body.n - r->fed, n = left < max ? left : max;
    if (n) {
        memcpy(out, c->body.p + r->fed, n);
        r->fed += n;
        r->body_bytes += (int64_t)n;
        return (ssize_t)n;
    }
    if (atomic_load(&c->web->stopping))
        return MHD_CONTENT_READER_END_OF_STREAM;
    ssize_t got = c->stream.read(c->stream.arg, out, max);
    if (got < 0)
        return MHD_CONTENT_READER_END_OF_STREAM;
    r->body_bytes += got;
    return got ? got : sleep_on(r);
}

void reply_flowing(struct request *r, bool gzip) {
    bool stream = r->call.stream.read != NULL;
    r->response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, stream ? STREAM_BLOCK : FLOW_BLOCK,
                                          stream ? read_stream : read_pipe, r, NULL);
    add_headers(r, r->response);
    if (!stream && gzip_worthwhile(r->call.type))
        add(r->response, MHD_HTTP_HEADER_VARY, MHD_HTTP_HEADER_ACCEPT_ENCODING);
    if (gzip)
        add(r->response, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
    if (stream)
        add(r->response, "X-Accel-Buffering", "no"); /* nginx in front passes it on at once */
}
