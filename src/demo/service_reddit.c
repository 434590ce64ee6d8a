/* Reddit: a token for whoever asks, submissions of a URL, a post, and share links. A post is known
 * by its article and its number among the article's posts, both of which its id holds. */
#include "demo/corpus_int.h"
#include "demo/services_int.h"

#include <stdio.h>
#include <string.h>

#define FIRST_ID 60466176 /* 36^5: ids have six characters or more */
#define SHARE "Demo"      /* how the code of a share link begins; the post's id follows */
#define TOKEN "demo-token"

void post_id(int64_t article, int post, char out[POST_ID_MAX]) {
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    char back[POST_ID_MAX];
    int n = 0, at = 0;
    for (int64_t v = FIRST_ID + article * 4 + post; v > 0; v /= 36)
        back[n++] = digits[v % 36];
    while (n > 0)
        out[at++] = back[--n];
    out[at] = '\0';
}

/* False: no such post. */
static bool post_of_id(const struct corpus *c, struct str id, int64_t *ret_article, int *ret_post) {
    int64_t v = 0;
    if (id.n == 0 || id.n > 9)
        return false;
    for (size_t i = 0; i < id.n; i++) {
        char ch = id.p[i];
        int digit = ch >= '0' && ch <= '9' ? ch - '0' : ch >= 'a' && ch <= 'z' ? ch - 'a' + 10 : -1;
        if (digit < 0)
            return false;
        v = v * 36 + digit;
    }
    v -= FIRST_ID;
    if (v < 4 || v / 4 > CORPUS_MAX_ID)
        return false;
    *ret_article = v / 4;
    *ret_post = (int)(v % 4);
    return *ret_post == ARTICLE_TALK || *ret_post < article_posts(c, *ret_article);
}

const char *post_subreddit(int64_t article, int post) {
    static const char *const NAMES[] = {"programming", "technology", "linux",
                                        "science",     "compsci",    "hardware"};
    return NAMES[(uint64_t)(article + 5 * post) % ARRAY_LEN(NAMES)];
}

/* Some hours before its story. */
static int64_t posted_at(const struct corpus *c, int64_t article, uint64_t h) {
    int64_t id = article > ARTICLES_OWN ? article - ARTICLES_OWN : article;
    return c->first_time + id * CORPUS_SECONDS_PER_ID - (int64_t)(h % 40000);
}

static void add_post(const struct corpus *c, int64_t article, int post, struct strbuf *out) {
    CLEANUP(strbuf_release) struct strbuf title, url;
    char id[POST_ID_MAX], permalink[128];
    bool talk = post == ARTICLE_TALK;
    uint64_t h = rng_mix((uint64_t)(article * 4 + post));
    strbuf_init(&title, 1024);
    strbuf_init(&url, ARTICLE_URL_MAX);
    post_id(article, post, id);
    snprintf(permalink, sizeof permalink, "/r/%s/comments/%s/", post_subreddit(article, post), id);
    strbuf_adds(&title, talk ? "What do you make of this? " : "");
    article_title(c, article, &title);
    if (talk)
        strbuf_addf(&url, "https://www.reddit.com%s", permalink);
    else
        article_url(c, article, &url);
    strbuf_addf(out, "{\"kind\":\"t3\",\"data\":{\"id\":\"%s\",\"name\":\"t3_%s\",\"title\":", id,
                id);
    strbuf_add_json(out, strbuf_str(&title));
    strbuf_addf(out, ",\"permalink\":\"%s\",\"url\":", permalink);
    strbuf_add_json(out, strbuf_str(&url));
    strbuf_addf(out,
                ",\"subreddit\":\"%s\",\"score\":%d,\"num_comments\":%d,\"created_utc\":%lld.0,"
                "\"is_self\":%s,\"over_18\":false,\"author\":\"someone\"}}",
                post_subreddit(article, post), (int)(h % 2400), (int)(h / 2400 % 320),
                (long long)posted_at(c, article, h), talk ? "true" : "false");
}

static void begin_listing(struct strbuf *out) {
    strbuf_adds(out, "{\"kind\":\"Listing\",\"data\":{\"after\":null,\"children\":[");
}

static void end_listing(struct strbuf *out) {
    strbuf_adds(out, "],\"before\":null}}");
}

static enum MHD_Result answer_info(struct request *r) {
    const struct corpus *c = r->demo->corpus;
    struct strbuf out;
    int64_t article = article_of_url(str_of(service_query(r, "url")));
    int n = article ? article_posts(c, article) : 0;
    strbuf_init(&out, SERVICE_BODY_MAX);
    begin_listing(&out);
    for (int i = 0; i < n; i++) {
        strbuf_adds(&out, i ? "," : "");
        add_post(c, article, i, &out);
    }
    end_listing(&out);
    return reply_json(r->connection, MHD_HTTP_OK, &out);
}

static enum MHD_Result answer_post(struct request *r, struct str id) {
    struct strbuf out;
    int64_t article;
    int post;
    if (!post_of_id(r->demo->corpus, id, &article, &post))
        return reply_error(r->connection, MHD_HTTP_NOT_FOUND, "Not Found");
    strbuf_init(&out, SERVICE_BODY_MAX);
    strbuf_addc(&out, '[');
    begin_listing(&out);
    add_post(r->demo->corpus, article, post, &out);
    end_listing(&out);
    strbuf_addc(&out, ',');
    begin_listing(&out);
    end_listing(&out);
    strbuf_addc(&out, ']');
    return reply_json(r->connection, MHD_HTTP_OK, &out);
}

static enum MHD_Result answer_share(struct request *r, struct str code) {
    char location[128], id[POST_ID_MAX];
    int64_t article;
    int post;
    size_t n = sizeof SHARE - 1;
    if (code.n <= n || !str_starts(code, SHARE) ||
        !post_of_id(r->demo->corpus, (struct str){code.p + n, code.n - n}, &article, &post))
        return reply_error(r->connection, MHD_HTTP_NOT_FOUND, "Not Found");
    post_id(article, post, id);
    snprintf(location, sizeof location, "https://www.reddit.com/r/%s/comments/%s/?share_id=demo",
             post_subreddit(article, post), id);
    return reply_redirect(r->connection, MHD_HTTP_MOVED_PERMANENTLY, location);
}

static enum MHD_Result answer_token(struct request *r) {
    struct strbuf out;
    strbuf_init(&out, 256);
    strbuf_adds(&out, "{\"access_token\":\"" TOKEN "\",\"token_type\":\"bearer\","
                      "\"expires_in\":86400,\"scope\":\"*\"}");
    return reply_json(r->connection, MHD_HTTP_OK, &out);
}

enum MHD_Result reddit_answer(struct request *r, const char *path) {
    struct str p = str_of(path);
    const char *share = strstr(path, "/s/");
    if (str_eqc(p, "/api/v1/access_token"))
        return answer_token(r);
    if (str_eqc(p, "/api/info.json"))
        return answer_info(r);
    if (str_starts(p, "/comments/") && str_ends(p, ".json"))
        return answer_post(r, (struct str){p.p + 10, p.n - 15});
    if (str_starts(p, "/r/") && share)
        return answer_share(r, str_of(share + 3));
    return reply_error(r->connection, MHD_HTTP_NOT_FOUND, "Not Found");
}
