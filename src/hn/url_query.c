#include "hn/url_int.h"

#include <stdlib.h>
#include <string.h>

struct param {
    uint16_t at, n, name_n;
};
_Static_assert(URL_MAX <= UINT16_MAX, "offsets of parameters fit");

static int by_name(const void *left, const void *right, void *query) {
    const struct param *l = left, *r = right;
    const char *text = query;
    size_t n = l->name_n < r->name_n ? l->name_n : r->name_n;
    int order = memcmp(text + l->at, text + r->at, n);
    if (order == 0)
        order = (int)l->name_n - (int)r->name_n;
    /* The order of a repeated parameter can matter to the page, so it stays. */
    return order ? order : (int)l->at - (int)r->at;
}

static size_t split(const struct url *u, struct param *param) {
    const char *p = u->query.p, *end = p + u->query.n;
    const char *site = url_site_noise(url_host(u));
    size_t count = 0;
    while (p < end) {
        const char *stop = memchr(p, '&', (size_t)(end - p));
        if (!stop)
            stop = end;
        struct str text = {p, (size_t)(stop - p)};
        if (text.n > 0 && !url_param_is_noise(site, text)) {
            const char *equals = memchr(p, '=', text.n);
            param[count++] = (struct param){
                .at = (uint16_t)(p - u->query.p),
                .n = (uint16_t)text.n,
                .name_n = (uint16_t)(equals ? (size_t)(equals - p) : text.n),
            };
        }
        p = stop < end ? stop + 1 : end;
    }
    return count;
}

static void put(const struct url *u, bool sorted, struct url_out *out) {
    struct param param[URL_MAX / 2 + 1];
    if (u->query.n == 0 || u->query.n > URL_MAX)
        return;
    size_t n = split(u, param);
    if (n > 1 && sorted)
        qsort_r(param, n, sizeof param[0], by_name, (void *)(uintptr_t)u->query.p);
    for (size_t i = 0; i < n; i++) {
        url_put(out, i ? STR("&") : STR("?"));
        url_put(out, (struct str){u->query.p + param[i].at, param[i].n});
    }
}

void url_put_query(const struct url *u, struct url_out *out) {
    put(u, true, out);
}

void url_put_said(const struct url *u, struct url_out *out) {
    put(u, false, out);
}
