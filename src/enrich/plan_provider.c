#include "enrich/plan_int.h"

#include "store/lanes.h"
#include "store/links.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define URL_MAX 1000
#define HEADER_MAX 4096
#define RATE_MAX 1000000

static bool is_base_url(struct str s) {
    size_t scheme = str_starts(s, "https://") ? 8 : str_starts(s, "http://") ? 7 : 0;
    if (scheme == 0 || s.n == scheme || strchr("/?#:@", s.p[scheme]))
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] <= ' ' || s.p[i] > '~' || strchr("?#@\\\"<>", s.p[i]))
            return false;
    return true;
}

static enum verdict read_url(struct plan_reader *r, const struct conf_section *s,
                             struct provider *p) {
    enum verdict v = plan_get_text(r, s, "url", URL_MAX, "\"https://HOST\"", &p->url);
    if (v != V_OK)
        return v;
    const struct conf_entry *c = conf_get(s, "url");
    if (!is_base_url(p->url))
        return plan_bad(r, c->line,
                        "url: %.60s: expected http://HOST or https://HOST, with a port or a path "
                        "perhaps, without ?, # or a password (that goes into token or headers)",
                        strchr(c->shown.p, '@') ? "it has an @" : c->shown.p);
    while (p->url.n > 0 && p->url.p[p->url.n - 1] == '/')
        p->url.n--;
    p->url = arena_str(r->a, p->url);
    p->url_line = c->line;
    return V_OK;
}

static bool parse_rate(struct str s, struct lane_limits *ret) {
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {{"s", 1000},    {"sec", 1000},     {"min", 60000},    {"m", 60000},
                 {"h", 3600000}, {"hour", 3600000}, {"day", 86400000}, {"d", 86400000}};
    const char *slash = memchr(s.p, '/', s.n);
    int64_t n;
    if (!slash)
        return false;
    struct str count = {s.p, (size_t)(slash - s.p)};
    while (count.n > 0 && count.p[count.n - 1] == ' ')
        count.n--;
    const char *unit = slash + 1 + (slash[1] == ' ');
    if (!str_to_i64(count, &n) || n < 1 || n > RATE_MAX)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (strcmp(unit, units[i].name) == 0) {
            ret->per_window = (int)n;
            ret->window_ms = units[i].ms;
            return true;
        }
    return false;
}

/* No limit must be said: whoever forgets it would send all there is at once. */
static enum verdict read_limits(struct plan_reader *r, const struct conf_section *s,
                                struct provider *p) {
    struct str rate;
    const struct conf_entry *slots = conf_get(s, "slots");
    int64_t n = 1;
    enum verdict v = plan_get_text(r, s, "rate", 40, "\"50/min\"", &rate);
    if (v != V_OK)
        return v;
    p->limits = (struct lane_limits){.window_ms = 60000};
    if (!str_eqc(rate, "none") && !parse_rate(rate, &p->limits)) {
        const struct conf_entry *c = conf_get(s, "rate");
        return plan_bad(r, c->line,
                        "rate: %.60s: expected calls per time, such as 50/min, 10/s or 1000/h, "
                        "or none",
                        c->shown.p);
    }
    if (slots && str_eqc(slots->text, "none"))
        return V_OK;
    v = plan_get_count(r, s, "slots", 1, LANE_SLOTS_MAX, &n);
    p->limits.slots = (int)n;
    return v;
}

/* A line end in a header would be a second header, or a second request. */
static bool is_header(struct str h) {
    static const char odd[] = "!#$%&'*+-.^_`|~";
    size_t colon = 0;
    while (colon < h.n &&
           (h.p[colon] == '-' || h.p[colon] == '_' || (h.p[colon] >= '0' && h.p[colon] <= '9') ||
            ((h.p[colon] | 32) >= 'a' && (h.p[colon] | 32) <= 'z') ||
            (h.p[colon] && strchr(odd, h.p[colon]))))
        colon++;
    if (colon == 0 || colon >= h.n || h.p[colon] != ':' || h.n > HEADER_MAX)
        return false;
    for (size_t i = colon + 1; i < h.n; i++)
        if (((unsigned char)h.p[i] < ' ' && h.p[i] != '\t') || h.p[i] == 0x7F)
            return false;
    return strspn(h.p + colon + 1, " \t") < h.n - colon - 1;
}

static size_t name_length(struct str header) {
    return strcspn(header.p, ":");
}

static bool same_name(struct str a, struct str b) {
    size_t n = name_length(a);
    return n == name_length(b) && strncasecmp(a.p, b.p, n) == 0;
}

/* What the HTTP client says itself. */
static bool is_reserved(struct str header) {
    static const struct str ours[] = {STR("Host:"), STR("Content-Length:"), STR("Connection:"),
                                      STR("Transfer-Encoding:"), STR("Content-Type:")};
    for (size_t i = 0; i < ARRAY_LEN(ours); i++)
        if (same_name(header, ours[i]))
            return true;
    return false;
}

/* What stands there may be a secret even without a variable, so only its line is told. */
static enum verdict add_header(struct plan_reader *r, const struct conf_entry *c, struct str header,
                               struct provider *p) {
    if (!is_header(header))
        return plan_bad(r, c->line, "%s: expected %s, in one line of at most %d bytes", c->key,
                        strcmp(c->key, "token") == 0 ? "a token" : "\"Name: value\"", HEADER_MAX);
    if (is_reserved(header))
        return plan_bad(r, c->line, "%s: tain says %.*s itself; leave it out", c->key,
                        (int)name_length(header), header.p);
    for (size_t i = 0; i < p->n_headers; i++)
        if (same_name(p->headers[i], header))
            return plan_bad(r, c->line, "%s: there is such a header already", c->key);
    if (p->n_headers == PLAN_HEADERS_MAX)
        return plan_bad(r, c->line, "%s: more than %d", c->key, PLAN_HEADERS_MAX);
    p->headers[p->n_headers++] = header;
    return V_OK;
}

static enum verdict read_headers(struct plan_reader *r, const struct conf_section *s,
                                 struct provider *p) {
    struct str token = STR_NONE;
    enum verdict v = plan_get_text(r, s, "token", HEADER_MAX - 32, NULL, &token);
    if (v == V_OK && token.p) {
        char *header = arena_alloc(r->a, token.n + 32);
        int n = snprintf(header, token.n + 32, "Authorization: Bearer %s", token.p);
        v = add_header(r, conf_get(s, "token"), (struct str){header, (size_t)n}, p);
    }
    for (const struct conf_entry *c = s->entries; v == V_OK && c; c = c->next)
        if (strcmp(c->key, "headers") == 0)
            v = add_header(r, c, c->text, p);
    return v;
}

/* Lanes are told apart by the names of their providers, and links have lanes, too. */
static enum verdict check_lane(struct plan_reader *r, const struct conf_section *s) {
    for (int t = LINK_REVERSE + 1; t < LINK_TASKS; t++) {
        const char *taken = link_task_provider((enum link_task)t, LINK_SITE_NONE);
        if (str_eqc(s->title, taken))
            return plan_bad(r, s->line,
                            "provider %s: the lane of this name is that of links; choose another",
                            taken);
    }
    return V_OK;
}

enum verdict plan_read_provider(struct plan_reader *r, const struct conf_section *s,
                                struct provider *ret) {
    *ret = (struct provider){.name = s->title, .timeout_ms = 30000, .line = s->line};
    enum verdict v = plan_check_name(r, s);
    if (v == V_OK)
        v = check_lane(r, s);
    if (v == V_OK)
        v = read_url(r, s, ret);
    if (v == V_OK)
        v = read_limits(r, s, ret);
    if (v == V_OK)
        v = plan_get_duration(r, s, "timeout", NULL, 100, 600000, &ret->timeout_ms);
    if (v == V_OK)
        v = read_headers(r, s, ret);
    return v;
}
