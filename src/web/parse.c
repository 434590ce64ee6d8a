/* The URI of a request: path and parameters, decoded strictly. What is no UTF-8, or holds control
 * characters, is refused here, so that no handler has to think of it. */
#include "web/server_int.h"

#include <string.h>

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* In place: what is decoded is never longer. False: a broken escape. */
static bool decode(char *p, size_t *n, bool plus_is_space) {
    size_t out = 0;
    for (size_t i = 0; i < *n; i++) {
        if (p[i] == '%') {
            int hi = i + 2 < *n ? hex_digit(p[i + 1]) : -1, lo = hi < 0 ? -1 : hex_digit(p[i + 2]);
            if (lo < 0)
                return false;
            p[out++] = (char)(hi << 4 | lo);
            i += 2;
        } else {
            p[out++] = plus_is_space && p[i] == '+' ? ' ' : p[i];
        }
    }
    *n = out;
    return true;
}

/* Line breaks and tabs may come in what someone typed; they read as spaces. */
static bool is_text(char *p, size_t n, bool soft) {
    for (size_t i = 0, len; i < n; i += len) {
        len = utf8_len((const unsigned char *)p + i, n - i);
        if (len == 0 || p[i] == 0x7f)
            return false;
        if ((unsigned char)p[i] >= 0x20)
            continue;
        if (!soft || (p[i] != '\n' && p[i] != '\r' && p[i] != '\t'))
            return false;
        p[i] = ' ';
    }
    return true;
}

static enum verdict add_param(struct call *c, char *p, size_t n, struct err *e) {
    char *equals = memchr(p, '=', n);
    size_t name_n = equals ? (size_t)(equals - p) : n;
    char *value = equals ? equals + 1 : p + n;
    size_t value_n = (size_t)(p + n - value);
    if (c->n_params == CALL_PARAMS_MAX)
        return err_set(e, V_INVALID, "http", 0, "more than %d parameters", CALL_PARAMS_MAX);
    if (!decode(p, &name_n, true) || !decode(value, &value_n, true))
        return err_set(e, V_INVALID, "http", 0, "a parameter has a broken %%-escape");
    if (!is_text(p, name_n, false) || !is_text(value, value_n, true))
        return err_set(e, V_INVALID, "http", 0, "a parameter is not UTF-8 text");
    c->params[c->n_params++] = (struct call_param){{p, name_n}, {value, value_n}};
    return V_OK;
}

static enum verdict parse_query(struct call *c, char *p, char *end, struct err *e) {
    enum verdict v = V_OK;
    while (v == V_OK && p < end) {
        char *amp = memchr(p, '&', (size_t)(end - p));
        char *stop = amp ? amp : end;
        if (stop > p)
            v = add_param(c, p, (size_t)(stop - p), e);
        p = stop + 1;
    }
    return v;
}

enum verdict parse_form(struct call *c, char *text, size_t n, struct err *e) {
    c->n_params = 0;
    return parse_query(c, text, text + n, e);
}

/* "http://host/path" is a way to write it that a server has to take. */
static char *behind_authority(char *p) {
    if (strncmp(p, "http://", 7) != 0)
        return p;
    char *slash = p + 7 + strcspn(p + 7, "/?");
    return *slash == '/' ? slash : NULL;
}

struct str uri_authority(const struct request *r) {
    const char *uri = r->uri ? r->uri : r->line;
    if (strncmp(uri, "http://", 7) != 0)
        return STR_NONE;
    return (struct str){uri + 7, strcspn(uri + 7, "/?")};
}

enum verdict parse_uri(struct request *r, struct err *e) {
    char *uri = r->uri ? r->uri : r->line;
    char *path = behind_authority(uri), *end = uri + r->uri_n;
    if (!path || *path != '/')
        return err_set(e, V_INVALID, "http", 0, "the path does not begin with a slash");
    size_t n = strcspn(path, "?");
    char *query = path + n;
    if (n > CALL_PATH_MAX)
        return err_set(e, V_INVALID, "http", 0, "the path is longer than %d bytes", CALL_PATH_MAX);
    if (query < end && end - query - 1 > CALL_QUERY_MAX)
        return err_set(e, V_INVALID, "http", 0, "the query is longer than %d bytes",
                       CALL_QUERY_MAX);
    if (!decode(path, &n, false) || !is_text(path, n, false))
        return err_set(e, V_INVALID, "http", 0, "the path is not UTF-8 text");
    r->call.path = (struct str){path, n};
    return query < end ? parse_query(&r->call, query + 1, end, e) : V_OK;
}
