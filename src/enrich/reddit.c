/* What is asked of Reddit. Its answers are read in reddit_read.c. */
#include "enrich/reddit.h"

#include "enrich/ask_int.h"

void reddit_conf_init(struct reddit_conf *c, struct str url, struct str client_id,
                      struct str secret, struct str user_agent) {
    struct str site = ask_base(url, REDDIT_SITE);
    *c = (struct reddit_conf){.site = site,
                              .api = site,
                              .client_id = client_id,
                              .secret = secret,
                              .user_agent = user_agent};
    if (reddit_has_oauth(c) && str_eqc(site, REDDIT_SITE))
        c->api = STR(REDDIT_API);
}

static enum verdict odd_header(struct err *e, const char *which) {
    return err_set(e, V_INVALID, "http", 0, "%s holds bytes that no header may have", which);
}

static enum verdict begin(const struct reddit_conf *c, struct str base, struct arena *a,
                          struct ask *ret, struct err *e) {
    *ret = (struct ask){.method = STR("GET"), .base = base};
    if (!ask_header(ret, a, "User-Agent", c->user_agent))
        return odd_header(e, "the User-Agent");
    return V_OK;
}

static enum verdict begin_api(const struct reddit_conf *c, struct str token, struct arena *a,
                              struct ask *ret, struct err *e) {
    enum verdict v = begin(c, token.n > 0 ? c->api : c->site, a, ret, e);
    struct strbuf bearer;
    if (v != V_OK || token.n == 0)
        return v;
    strbuf_init(&bearer, REDDIT_TOKEN_MAX + 8);
    strbuf_adds(&bearer, "Bearer ");
    strbuf_add_str(&bearer, token);
    bool fits = !bearer.overflow && ask_header(ret, a, "Authorization", strbuf_str(&bearer));
    strbuf_release(&bearer);
    return fits ? V_OK : odd_header(e, "the token");
}

static void add_base64(struct strbuf *out, struct str s) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < s.n; i += 3) {
        uint32_t three = 0;
        size_t n = s.n - i < 3 ? s.n - i : 3;
        for (size_t k = 0; k < 3; k++)
            three = three << 8 | (k < n ? (unsigned char)s.p[i + k] : 0);
        for (size_t k = 0; k < 4; k++)
            strbuf_addc(out, k <= n ? digits[three >> (18 - 6 * k) & 63] : '=');
    }
}

enum verdict reddit_ask_token(const struct reddit_conf *c, struct arena *a, struct ask *ret,
                              struct err *e) {
    struct strbuf pair, basic;
    if (!reddit_has_oauth(c))
        return err_set(e, V_INVALID, "config", 0, "no credentials for Reddit");
    enum verdict v = begin(c, c->site, a, ret, e);
    if (v != V_OK)
        return v;
    strbuf_init(&pair, REDDIT_TOKEN_MAX);
    strbuf_init(&basic, 2 * REDDIT_TOKEN_MAX);
    strbuf_add_str(&pair, c->client_id);
    strbuf_addc(&pair, ':');
    strbuf_add_str(&pair, c->secret);
    strbuf_adds(&basic, "Basic ");
    add_base64(&basic, strbuf_str(&pair));
    bool fits = !pair.overflow && ask_header(ret, a, "Authorization", strbuf_str(&basic));
    strbuf_release(&pair);
    strbuf_release(&basic);
    if (!fits)
        return err_set(e, V_INVALID, "config", 0, "the credentials for Reddit are too long");
    ret->method = STR("POST");
    ret->path = STR("/api/v1/access_token");
    ret->body = STR("grant_type=client_credentials");
    ask_header(ret, a, "Content-Type", STR("application/x-www-form-urlencoded"));
    return V_OK;
}

enum verdict reddit_ask_url(const struct reddit_conf *c, struct str token, struct str url,
                            struct arena *a, struct ask *ret, struct err *e) {
    struct strbuf path;
    if (url.n == 0)
        return err_set(e, V_INVALID, "http", 0, "no URL to ask for");
    enum verdict v = begin_api(c, token, a, ret, e);
    if (v != V_OK)
        return v;
    /* Without raw_json the texts of an answer are written for HTML: &amp; for &. */
    strbuf_init(&path, ASK_PATH_MAX);
    strbuf_adds(&path, "/api/info.json?url=");
    ask_encode(&path, url);
    strbuf_addf(&path, "&limit=%d&raw_json=1", ASK_DISCUSSIONS_MAX);
    return ask_path(ret, a, &path, e);
}

enum verdict reddit_ask_post(const struct reddit_conf *c, struct str token,
                             const struct discussion *d, struct arena *a, struct ask *ret,
                             struct err *e) {
    struct strbuf path;
    if (d->site != DISCUSSION_REDDIT || d->kind == DISCUSSION_SHARE)
        return err_set(e, V_INVALID, "http", 0, "not a post of Reddit");
    enum verdict v = begin_api(c, token, a, ret, e);
    if (v != V_OK)
        return v;
    /* The post alone matters; its comments would make the answer long. */
    strbuf_init(&path, ASK_PATH_MAX);
    strbuf_adds(&path, "/comments/");
    ask_encode(&path, str_of(d->id));
    strbuf_adds(&path, ".json?limit=1&depth=1&raw_json=1");
    return ask_path(ret, a, &path, e);
}

enum verdict reddit_ask_share(const struct reddit_conf *c, const struct discussion *d,
                              struct arena *a, struct ask *ret, struct err *e) {
    if (d->site != DISCUSSION_REDDIT || d->kind != DISCUSSION_SHARE)
        return err_set(e, V_INVALID, "http", 0, "not a share link of Reddit");
    enum verdict v = begin(c, c->site, a, ret, e);
    ret->path = arena_str(a, str_of(d->share));
    return v;
}
