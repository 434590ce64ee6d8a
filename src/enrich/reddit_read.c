/* What Reddit answers. */
#include "enrich/ask_int.h"
#include "enrich/reddit.h"

#include <string.h>
#include <strings.h>

#define TITLE_MAX 2048
#define EXPIRES_DEFAULT_S 3600
#define EXPIRES_MAX_S (30 * INT64_C(86400))
#define RESET_MAX_S 3600

/* "595.0", "359": what stands before the point. */
static int64_t header_number(const struct heard *h, const char *name) {
    struct str s = heard_header(h, name);
    const char *point = s.n ? memchr(s.p, '.', s.n) : NULL;
    int64_t n;
    if (point)
        s.n = (size_t)(point - s.p);
    return s.n > 0 && str_to_i64(s, &n) && n >= 0 ? n : -1;
}

struct reddit_rate reddit_read_rate(const struct heard *h) {
    int64_t reset = header_number(h, "X-Ratelimit-Reset");
    return (struct reddit_rate){
        .used = header_number(h, "X-Ratelimit-Used"),
        .remaining = header_number(h, "X-Ratelimit-Remaining"),
        .reset_ms = reset < 0 ? -1 : (reset < RESET_MAX_S ? reset : RESET_MAX_S) * 1000,
    };
}

int64_t reddit_rate_wait_ms(const struct reddit_rate *r) {
    return r->remaining == 0 && r->reset_ms > 0 ? r->reset_ms : 0;
}

/* As every provider's, but a wait is also told by the headers of the allowance. */
static void told_of_reddit(struct told_why *ret, struct arena *a, const struct heard *h) {
    told_of_call(ret, a, h);
    if (ret->told == TOLD_WAIT && ret->wait_ms < 0)
        ret->wait_ms = reddit_read_rate(h).reset_ms;
}

static bool is_token(struct str s) {
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] <= ' ' || s.p[i] > '~')
            return false;
    return s.n > 0 && s.n <= REDDIT_TOKEN_MAX;
}

void reddit_read_token(const struct heard *h, struct arena *a, struct reddit_token *ret) {
    struct json_read root;
    *ret = (struct reddit_token){.why = {.told = TOLD_FOUND, .wait_ms = -1}};
    if (h->cls != NET_OK) {
        told_of_reddit(&ret->why, a, h);
        if (ret->why.told == TOLD_ROW) /* there is no row to blame */
            ret->why.told = TOLD_REFUSED;
        return;
    }
    if (!heard_json(h, a, &root) || json_peek(&root) != JSON_OBJECT) {
        told_garbage(&ret->why, a, "no JSON where a token was expected");
        return;
    }
    struct str error = json_text_at(&root, "error"), type = json_text_at(&root, "token_type");
    struct str token = json_text_at(&root, "access_token");
    int64_t seconds = json_int_at(&root, "expires_in", EXPIRES_DEFAULT_S);
    if (error.n > 0 && !token.p)
        told_say(&ret->why, a, TOLD_REFUSED, "token", "Reddit gives us no token: %.*s",
                 STR_FMT(error));
    else if (!is_token(token) || seconds <= 0 ||
             (type.p && (type.n != 6 || strncasecmp(type.p, "bearer", 6) != 0)))
        told_garbage(&ret->why, a, "a token that is none");
    if (ret->why.told != TOLD_FOUND)
        return;
    ret->token = token;
    ret->expires_in_ms = (seconds < EXPIRES_MAX_S ? seconds : EXPIRES_MAX_S) * 1000;
}

/* A path of Reddit's, or a URL, as a URL. */
static struct str absolute(struct str s, struct arena *a) {
    struct strbuf b;
    if (s.n == 0 || s.p[0] != '/' || str_starts(s, "//"))
        return s;
    strbuf_init(&b, ANSWER_MAX);
    strbuf_adds(&b, REDDIT_SITE);
    strbuf_add_str(&b, s);
    s = arena_str(a, strbuf_str(&b));
    strbuf_release(&b);
    return s;
}

/* The permalink is believed where it leads to this very post; else the post is named by its id. */
static struct str permalink_of(const struct json_read *post, const struct discussion *own,
                               struct arena *a) {
    struct discussion d;
    struct str s = absolute(json_text_at(post, "permalink"), a);
    if (s.n > 0 && s.n <= 512 && str_starts(s, REDDIT_SITE "/") && discussion_of_url(s, &d) &&
        strcmp(d.url, own->url) == 0 && !memchr(s.p, ' ', s.n))
        return s;
    return arena_str(a, str_of(own->url));
}

/* `post` stands before the data of a submission. False: it has no id. */
static bool read_post(const struct json_read *post, struct arena *a, struct found_discussion *ret) {
    struct discussion own;
    if (json_peek(&(struct json_read){post->p, post->end, a, false}) != JSON_OBJECT ||
        !discussion_of_id(DISCUSSION_REDDIT, json_text_at(post, "id"), &own))
        return false;
    struct str title = json_text_at(post, "title"), subreddit = json_text_at(post, "subreddit");
    int64_t created = json_int_at(post, "created_utc", 0);
    *ret = (struct found_discussion){
        .id = arena_str(a, str_of(own.id)),
        .permalink = permalink_of(post, &own, a),
        .title = title.p ? text_cut(title, TITLE_MAX) : STR(""),
        .subreddit = subreddit.n > 0 ? text_cut(subreddit, TITLE_MAX) : STR_NONE,
        .url = absolute(json_text_at(post, "url"), a),
        .score = json_int_at(post, "score", 0),
        .num_comments = json_int_at(post, "num_comments", 0),
        .created_at_ms = created > 0 && created < INT64_C(1) << 40 ? created * 1000 : 0,
        .is_self = json_true_at(post, "is_self"),
        .over_18 = json_true_at(post, "over_18"),
    };
    return true;
}

/* Children that are no submissions are not counted; one that has no id is broken. */
static void read_children(struct json_read *list, struct str key, struct arena *a,
                          struct found_list *ret, size_t *ret_broken) {
    bool first = true;
    json_enter(list);
    for (; json_next_element(list, &first); json_skip(list)) {
        struct found_discussion post;
        struct json_read data;
        if (!str_eqc(json_text_at(list, "kind"), "t3"))
            continue;
        if (path_find(list, STR("data"), &data) != PATH_THERE || !read_post(&data, a, &post))
            ++*ret_broken;
        else if (ret->n == ASK_DISCUSSIONS_MAX || !url_has_key(post.url, key, a))
            ret->dropped++;
        else
            ret->at[ret->n++] = post;
    }
}

void reddit_read_url(const struct heard *h, struct str key, struct arena *a,
                     struct found_list *ret) {
    struct json_read root, list;
    size_t broken = 0;
    *ret = (struct found_list){.why = {.told = TOLD_NONE, .wait_ms = -1}};
    if (h->cls != NET_OK) {
        told_of_reddit(&ret->why, a, h);
        return;
    }
    if (!heard_json(h, a, &root) || !str_eqc(json_text_at(&root, "kind"), "Listing") ||
        path_find(&root, STR("data.children"), &list) != PATH_THERE ||
        json_peek(&list) != JSON_ARRAY) {
        told_garbage(&ret->why, a, "no listing of submissions");
        return;
    }
    ret->at = arena_zalloc(a, ASK_DISCUSSIONS_MAX * sizeof ret->at[0]);
    read_children(&list, key, a, ret, &broken);
    ret->dropped += broken;
    if (ret->n > 0)
        ret->why.told = TOLD_FOUND;
    else if (broken > 0)
        told_garbage(&ret->why, a, "submissions without an id");
}

/* The service itself refuses a post: in JSON, where a wall would have sent a page. With a reason
 * (private, quarantined) that is of this post. Without one it may be of the post or of us, which
 * only shows in how others fare: nothing is final then, and no lane is paused for one post. */
static enum told of_closed(const struct heard *h, struct arena *a, enum told usual) {
    struct json_read root;
    if (h->status != 403 || h->cls != NET_HTTP_403 || !heard_json(h, a, &root) ||
        json_peek(&root) != JSON_OBJECT)
        return usual;
    if (json_text_at(&root, "reason").n > 0)
        return TOLD_ROW;
    return json_int_at(&root, "error", 0) == 403 ? TOLD_TRANSIENT : usual;
}

static void told_of_post(struct told_why *ret, struct arena *a, const struct heard *h) {
    told_of_reddit(ret, a, h);
    if (heard_no_such(h, a))
        *ret = (struct told_why){.told = TOLD_NONE, .wait_ms = -1};
    else
        ret->told = of_closed(h, a, ret->told);
}

void reddit_read_post(const struct heard *h, const struct discussion *asked, struct arena *a,
                      struct found_article *ret) {
    struct json_read root, post;
    *ret = (struct found_article){.why = {.told = TOLD_NONE, .wait_ms = -1}};
    if (h->cls != NET_OK) {
        told_of_post(&ret->why, a, h);
        return;
    }
    if (!heard_json(h, a, &root) ||
        !str_eqc(json_text_at(&root, "[0].data.children[0].kind"), "t3") ||
        path_find(&root, STR("[0].data.children[0].data"), &post) != PATH_THERE ||
        !read_post(&post, a, &ret->origin) || !str_eqc(ret->origin.id, asked->id)) {
        ret->origin = (struct found_discussion){0};
        told_garbage(&ret->why, a, "no listing with the post");
        return;
    }
    ret->has_origin = true;
    if (ret->origin.is_self)
        return;
    if (ret->origin.url.n == 0)
        told_garbage(&ret->why, a, "a post with neither text nor URL");
    else
        article_set(ret, a, ret->origin.url);
}

static bool is_redirect(const struct heard *h) {
    switch (h->status) {
    case 301:
    case 302:
    case 303:
    case 307:
    case 308:
        return h->cls == NET_HTTP_OTHER || h->cls == NET_REDIRECT;
    default:
        return false;
    }
}

void reddit_read_share(const struct heard *h, struct arena *a, struct reddit_share *ret) {
    *ret = (struct reddit_share){.why = {.told = TOLD_NONE, .wait_ms = -1}};
    if (is_redirect(h)) {
        struct str to = absolute(heard_header(h, "Location"), a);
        struct discussion d;
        if (discussion_of_url(to, &d) && d.site == DISCUSSION_REDDIT &&
            d.kind != DISCUSSION_SHARE) {
            ret->leads_to = d;
            ret->why.told = TOLD_NEXT;
        } else {
            told_say(&ret->why, a, TOLD_TRANSIENT, "redirect",
                     "the share link leads to no post, but to %.*s", STR_FMT(text_cut(to, 200)));
        }
    } else if (h->cls == NET_OK) {
        told_garbage(&ret->why, a, "a page, where a share link should have led on");
    } else if (h->cls != NET_HTTP_404 && !(h->cls == NET_HTTP_4XX && h->status == 410)) {
        told_of_reddit(&ret->why, a, h);
        if (ret->why.told == TOLD_REFUSED) /* asked without a token: it says nothing of ours */
            ret->why.told = TOLD_TRANSIENT;
    }
}
