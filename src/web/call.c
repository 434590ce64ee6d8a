#include "web/call.h"

#include "web/server_int.h"

#include <inttypes.h>
#include <poll.h>
#include <string.h>

struct str call_param(const struct call *c, const char *name) {
    for (size_t i = 0; i < c->n_params; i++)
        if (str_eqc(c->params[i].name, name))
            return c->params[i].value;
    return STR_NONE;
}

enum verdict call_param_int(const struct call *c, const char *name, int64_t min, int64_t max,
                            int64_t otherwise, int64_t *ret, struct err *e) {
    struct str text = call_param(c, name);
    int64_t n;
    if (!text.p) {
        *ret = otherwise;
        return V_OK;
    }
    if (!str_to_i64(text, &n) || n < min || n > max) {
        if (text.n > 40)
            text.n = 40;
        return err_set(e, V_INVALID, "http", 0,
                       "%s is '%.*s'; give a whole number from %" PRId64 " to %" PRId64, name,
                       STR_FMT(text), min, max);
    }
    *ret = n;
    return V_OK;
}

struct str call_header(const struct call *c, const char *name) {
    const struct request *r = (const struct request *)c;
    return str_of(MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, name));
}

struct str call_cookie(const struct call *c, const char *name) {
    const struct request *r = (const struct request *)c;
    return str_of(MHD_lookup_connection_value(r->connection, MHD_COOKIE_KIND, name));
}

/* What the proxy itself added stands last; the rest is what clients like to tell. */
static struct str last_word(struct str list) {
    size_t n = list.n, from;
    while (n && strchr(" \t", list.p[n - 1]))
        n--;
    for (from = n; from && !strchr(", \t", list.p[from - 1]);)
        from--;
    return (struct str){list.p + from, n - from};
}

bool call_client(const struct call *c, unsigned char ret[16]) {
    const struct request *r = (const struct request *)c;
    const struct sockaddr *a =
        MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
    struct str forwarded = call_header(c, "X-Forwarded-For");
    if (!address_is_loopback(a)) {
        address_key(a, ret);
        return true;
    }
    if (forwarded.n)
        address_key_of_text(last_word(forwarded), ret);
    return forwarded.n > 0;
}

bool call_accepts(const struct call *c, const char *type) {
    struct str accept = call_header(c, MHD_HTTP_HEADER_ACCEPT);
    return accept.p && strstr(accept.p, type);
}

static void put(struct request *r, bool last) {
    struct call *c = &r->call;
    if (!r->pipe->gzip) {
        (void)pipe_put(r->pipe, strbuf_str(&c->body));
    } else {
        strbuf_clear(&r->packed);
        (void)gzip_piece(r->desk->gzip, strbuf_str(&c->body), last, &r->packed);
        (void)pipe_put(r->pipe, strbuf_str(&r->packed));
    }
    strbuf_clear(&c->body);
}

static bool is_gone(struct pipe *p) {
    pthread_mutex_lock(&p->lock);
    bool gone = p->end != PIPE_OPEN;
    pthread_mutex_unlock(&p->lock);
    return gone;
}

bool call_flush(struct call *c) {
    struct request *r = (struct request *)c;
    if (!r->desk || !r->desk->may_wait || c->head || c->body.overflow)
        return true;
    if (!r->pipe) {
        if (c->body.n == 0)
            return true;
        bool gzip = r->accepts_gzip && gzip_worthwhile(c->type);
        if (gzip && !r->desk->gzip)
            r->desk->gzip = gzip_new();
        if (gzip)
            gzip_begin(r->desk->gzip);
        r->pipe = pipe_new(CALL_ANSWER_MAX, gzip);
        reply_flowing(r, gzip);
    }
    if (c->body.n) {
        put(r, false);
        request_wake(r, false);
        pipe_pause(r->pipe);
    }
    return !is_gone(r->pipe);
}

void call_finish_flow(struct call *c, bool well) {
    struct request *r = (struct request *)c;
    if (well && !c->body.overflow)
        put(r, true);
    pipe_finish(r->pipe, well && !c->body.overflow ? PIPE_ENDED : PIPE_CUT);
}

void call_wake(struct call *c) {
    request_wake((struct request *)c, false);
}

/* The HTTP library does not look at a connection that sleeps. */
bool call_hung_up(const struct call *c) {
    const struct request *r = (const struct request *)c;
    struct pollfd p = {.fd = r->fd, .events = POLLRDHUP};
    return poll(&p, 1, 0) == 1 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

/* What stands for a byte that may not stand for itself; NULL: it may. */
static const char *html_of(unsigned char c) {
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    case '\n':
    case '\t':
        return NULL;
    default:
        return c < 0x20 || c == 0x7f ? "\xEF\xBF\xBD" : NULL;
    }
}

void strbuf_add_html(struct strbuf *b, struct str s) {
    const unsigned char *p = (const unsigned char *)s.p;
    size_t from = 0;
    for (size_t i = 0; i < s.n;) {
        size_t len = p[i] < 0x80 ? 1 : utf8_len(p + i, s.n - i);
        const char *instead = len == 0 ? "\xEF\xBF\xBD" : len == 1 ? html_of(p[i]) : NULL;
        if (instead) {
            strbuf_add(b, p + from, i - from);
            strbuf_adds(b, instead);
            from = i + 1;
        }
        i += len ? len : 1;
    }
    if (s.n > from)
        strbuf_add(b, p + from, s.n - from);
}

void strbuf_add_urlencoded(struct strbuf *b, struct str s) {
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '-' || c == '_' || c == '.' || c == '~';
        if (plain)
            strbuf_addc(b, (char)c);
        else
            strbuf_add(b, (char[]){'%', digits[c >> 4], digits[c & 15]}, 3);
    }
}
