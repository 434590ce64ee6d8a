#include "hn/discussion_url.h"

#include "base/arena.h"
#include "hn/url_key.h"

#include <stdio.h>
#include <string.h>

#define REDDIT_ID_MAX 13 /* the largest 64-bit number in base 36 */
#define HN_ID_MAX 12     /* digits */
#define OWNER_MAX 48     /* of a subreddit or a person; both are shorter */
#define CODE_MAX 24      /* of a share */

/* Cuts what stands before the first `stop` off the front of *rest; all of it when there is none. */
static struct str cut(struct str *rest, char stop) {
    if (rest->n == 0)
        return *rest;
    const char *at = memchr(rest->p, stop, rest->n);
    struct str head = {rest->p, at ? (size_t)(at - rest->p) : rest->n};
    size_t gone = head.n + (at != NULL);
    *rest = (struct str){rest->p + gone, rest->n - gone};
    return head;
}

/* Steps over `front` if it stands there. */
static bool behind(struct str *s, const char *front) {
    if (!str_starts(*s, front))
        return false;
    size_t n = strlen(front);
    *s = (struct str){s->p + n, s->n - n};
    return true;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_word(struct str s, const char *more, size_t max) {
    for (size_t i = 0; i < s.n; i++) {
        char c = (char)(s.p[i] | 32);
        if (!is_digit(s.p[i]) && !(c >= 'a' && c <= 'z') && !(s.p[i] && strchr(more, s.p[i])))
            return false;
    }
    return s.n > 0 && s.n <= max;
}

/* As HN writes its numbers: no sign, no zero in front. */
static bool is_hn_id(struct str s) {
    for (size_t i = 0; i < s.n; i++)
        if (!is_digit(s.p[i]))
            return false;
    return s.n > 0 && s.n <= HN_ID_MAX && s.p[0] != '0';
}

static void put_lower(char *to, struct str s) {
    for (size_t i = 0; i < s.n; i++)
        to[i] = (char)(s.p[i] >= 'A' && s.p[i] <= 'Z' ? s.p[i] + 32 : s.p[i]);
    to[s.n] = '\0';
}

bool discussion_of_id(enum discussion_site site, struct str id, struct discussion *ret) {
    bool reddit = site == DISCUSSION_REDDIT;
    if (reddit ? !is_word(id, "", REDDIT_ID_MAX) : !is_hn_id(id))
        return false;
    *ret = (struct discussion){.site = site, .kind = DISCUSSION_POST};
    put_lower(ret->id, id);
    snprintf(ret->url, sizeof ret->url,
             reddit ? "https://www.reddit.com/comments/%s/"
                    : "https://news.ycombinator.com/item?id=%s",
             ret->id);
    return true;
}

/* "ID" or "ID/comment/ID": url_key() has brought every other form into one of these. */
static bool reddit_post(struct str rest, struct discussion *ret) {
    struct str id = cut(&rest, '/');
    bool comment = rest.n > 0;
    if (comment && (!behind(&rest, "comment/") || !is_word(rest, "", REDDIT_ID_MAX)))
        return false;
    if (!discussion_of_id(DISCUSSION_REDDIT, id, ret))
        return false;
    if (comment) {
        ret->kind = DISCUSSION_COMMENT;
        put_lower(ret->comment, rest);
    }
    return true;
}

/* "r/NAME/s/CODE". Codes are told apart by case. */
static bool reddit_share(struct str path, struct discussion *ret) {
    struct str rest = path;
    struct str owner = cut(&rest, '/'), name = cut(&rest, '/'), s = cut(&rest, '/');
    bool owned = str_eqc(owner, "r") || str_eqc(owner, "u") || str_eqc(owner, "user");
    if (!owned || !is_word(name, "_-.", OWNER_MAX) || !str_eqc(s, "s") ||
        !is_word(rest, "", CODE_MAX))
        return false;
    *ret = (struct discussion){.site = DISCUSSION_REDDIT, .kind = DISCUSSION_SHARE};
    snprintf(ret->share, sizeof ret->share, "/%.*s", STR_FMT(path));
    snprintf(ret->url, sizeof ret->url, "https://www.reddit.com%s", ret->share);
    return true;
}

/* The parameter `id`, beside others. Two that differ name nothing for certain. */
static bool hn_item(struct str query, struct discussion *ret) {
    struct str id = STR_NONE;
    while (query.n) {
        struct str value = cut(&query, '&');
        struct str name = cut(&value, '=');
        if (!str_eqc(name, "id"))
            continue;
        if (id.p && !str_eq(id, value))
            return false;
        id = value;
    }
    return id.p && discussion_of_id(DISCUSSION_HN, id, ret);
}

bool discussion_of_key(struct str key, struct discussion *ret) {
    struct str path = cut(&key, '#');
    if (behind(&path, "news.ycombinator.com/item?"))
        return hn_item(path, ret);
    if (!behind(&path, "reddit.com/"))
        return false;
    path = cut(&path, '?');
    struct str post = path;
    return behind(&post, "comments/") ? reddit_post(post, ret) : reddit_share(path, ret);
}

bool discussion_of_url(struct str url, struct discussion *ret) {
    struct arena a;
    struct str key, domain;
    arena_init(&a);
    bool named = url_key(&a, url, &key, &domain) && discussion_of_key(key, ret);
    arena_release(&a);
    return named;
}

const char *discussion_platform(enum discussion_site site) {
    return site == DISCUSSION_REDDIT ? "reddit" : "hackernews";
}
