#include "net/dress_int.h"
#include "net/must_int.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_post(const struct http_request *r) {
    return r->method && strcmp(r->method, "POST") == 0;
}

static bool is_token(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

static size_t name_length(struct str header) {
    size_t n = 0;
    while (n < header.n && is_token(header.p[n]))
        n++;
    return n < header.n && header.p[n] == ':' ? n : 0;
}

/* A line break in a value would make another header, or another request, of what follows it. */
static enum verdict check_header(struct str h, struct err *e) {
    size_t name = name_length(h);
    if (name == 0)
        return err_set(e, V_INVALID, "http", 0, "a header is not of the form 'Name: value'");
    if (h.n > HTTP_HEADER_MAX)
        return err_set(e, V_INVALID, "http", 0, "the header %.*s has more than %zu bytes",
                       (int)(name < 60 ? name : 60), h.p, HTTP_HEADER_MAX);
    for (size_t i = name; i < h.n; i++)
        if (((unsigned char)h.p[i] < ' ' && h.p[i] != '\t') || h.p[i] == 0x7F)
            return err_set(e, V_INVALID, "http", 0, "the header %.*s has a control character",
                           (int)(name < 60 ? name : 60), h.p);
    return V_OK;
}

enum verdict dress_check(const struct http_request *r, struct err *e) {
    if (r->method && strcmp(r->method, "GET") != 0 && !is_post(r))
        return err_set(e, V_INVALID, "http", 0, "only GET and POST are sent, not %.20s", r->method);
    if (r->body.p && !is_post(r))
        return err_set(e, V_INVALID, "http", 0, "a GET has no body");
    if (r->n_headers > HTTP_HEADERS_MAX)
        return err_set(e, V_INVALID, "http", 0, "%zu headers; at most %d", r->n_headers,
                       HTTP_HEADERS_MAX);
    enum verdict v = V_OK;
    for (size_t i = 0; i < r->n_headers && v == V_OK; i++)
        v = check_header(r->headers[i], e);
    return v;
}

static bool is_named(struct str header, const char *name) {
    size_t n = strlen(name);
    return name_length(header) == n && strncasecmp(header.p, name, n) == 0;
}

static void add_line(struct dress *d, const char *line) {
    d->headers = must_have(curl_slist_append(d->headers, line));
}

/* libcurl leaves a header without a value out unless it is written with a semicolon. */
static void add_header(struct dress *d, struct str h) {
    char line[HTTP_HEADER_MAX + 1];
    size_t name = name_length(h), at = name + 1;
    while (at < h.n && (h.p[at] == ' ' || h.p[at] == '\t'))
        at++;
    memcpy(line, h.p, h.n);
    line[h.n] = '\0';
    if (at == h.n) {
        line[name] = ';';
        line[name + 1] = '\0';
    }
    add_line(d, line);
    explicit_bzero(line, sizeof line);
}

static void set_headers(struct dress *d, CURL *easy, const struct http_request *r) {
    bool typed = false, expects = false;
    for (size_t i = 0; i < r->n_headers; i++) {
        typed |= is_named(r->headers[i], "Content-Type");
        expects |= is_named(r->headers[i], "Expect");
        add_header(d, r->headers[i]);
    }
    if (d->post && !typed)
        add_line(d, "Content-Type:"); /* none, rather than libcurl's guess */
    if (d->post && !expects)
        add_line(d, "Expect:"); /* a round trip, and a second of waiting where nobody answers */
    must_set(easy, CURLOPT_HTTPHEADER, d->headers);
}

void dress_on(struct dress *d, CURL *easy, const struct http_request *r) {
    if (LIKELY(!r->method && r->n_headers == 0))
        return;
    d->on = true;
    d->post = is_post(r);
    if (d->post) {
        must_set(easy, CURLOPT_POST, 1L);
        must_set(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body.n);
        must_set(easy, CURLOPT_COPYPOSTFIELDS, r->body.p ? r->body.p : "");
    }
    set_headers(d, easy, r);
}

void dress_off(struct dress *d, CURL *easy) {
    if (LIKELY(!d->on))
        return;
    must_set(easy, CURLOPT_HTTPHEADER, NULL);
    for (struct curl_slist *h = d->headers; h; h = h->next)
        explicit_bzero(h->data, strlen(h->data));
    curl_slist_free_all(d->headers);
    if (d->post) {
        must_set(easy, CURLOPT_POSTFIELDS, NULL); /* which makes it a POST again */
        must_set(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)-1);
        must_set(easy, CURLOPT_HTTPGET, 1L);
    }
    *d = (struct dress){0};
}
