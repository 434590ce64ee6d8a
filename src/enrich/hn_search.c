#include "enrich/hn_search.h"

#include "enrich/ask_int.h"

#include <string.h>

#define QUERY_MAX 500 /* bytes: the index takes no longer ones */
#define HITS 100
#define TITLE_MAX 2048
#define API_PATH "/api/v1"

void hn_search_conf_init(struct hn_search_conf *c, struct str url, struct str user_agent,
                         struct arena *a) {
    struct str base = ask_base(url, HN_SEARCH_URL);
    const char *host = memmem(base.p, base.n, "://", 3);
    host = host ? host + 3 : base.p;
    if (!memchr(host, '/', base.n - (size_t)(host - base.p))) {
        char *full = arena_alloc(a, base.n + sizeof API_PATH);
        memcpy(full, base.p, base.n);
        memcpy(full + base.n, API_PATH, sizeof API_PATH);
        base = (struct str){full, base.n + sizeof API_PATH - 1};
    }
    *c = (struct hn_search_conf){.url = base, .user_agent = user_agent};
}

/* ---- asks */

static enum verdict begin(const struct hn_search_conf *c, struct arena *a, struct ask *ret,
                          struct strbuf *path, struct err *e) {
    *ret = (struct ask){.method = STR("GET"), .base = c->url};
    if (!ask_header(ret, a, "User-Agent", c->user_agent))
        return err_set(e, V_INVALID, "http", 0,
                       "the User-Agent holds bytes that no header may have");
    strbuf_init(path, ASK_PATH_MAX);
    return V_OK;
}

enum verdict hn_ask_url(const struct hn_search_conf *c, struct str key, struct arena *a,
                        struct ask *ret, struct err *e) {
    struct strbuf path;
    if (key.n == 0)
        return err_set(e, V_INVALID, "http", 0, "no URL to ask for");
    enum verdict v = begin(c, a, ret, &path, e);
    if (v != V_OK)
        return v;
    /* Every word must be in the URL of a hit, give or take a letter: https finds http as well. */
    strbuf_adds(&path, "/search?query=");
    ask_encode(&path, STR("https://"));
    ask_encode(&path, text_cut(key, QUERY_MAX - 8));
    strbuf_addf(&path, "&restrictSearchableAttributes=url&tags=story&hitsPerPage=%d", HITS);
    return ask_path(ret, a, &path, e);
}

static enum verdict ask_id(const struct hn_search_conf *c, const char *before, struct str id,
                           struct arena *a, struct ask *ret, struct err *e) {
    struct strbuf path;
    struct discussion d;
    if (!discussion_of_id(DISCUSSION_HN, id, &d))
        return err_set(e, V_INVALID, "http", 0, "not an item of HN");
    enum verdict v = begin(c, a, ret, &path, e);
    if (v != V_OK)
        return v;
    strbuf_adds(&path, before);
    strbuf_adds(&path, d.id);
    return ask_path(ret, a, &path, e);
}

enum verdict hn_ask_item(const struct hn_search_conf *c, struct str id, struct arena *a,
                         struct ask *ret, struct err *e) {
    return ask_id(c, "/items/", id, a, ret, e);
}

enum verdict hn_ask_story(const struct hn_search_conf *c, struct str id, struct arena *a,
                          struct ask *ret, struct err *e) {
    return ask_id(c, "/search?hitsPerPage=100&tags=(story,poll,job),story_", id, a, ret, e);
}

/* ---- answers */

/* `item` stands before a hit or an item; `id` is its own. */
static void read_story(const struct json_read *item, const struct discussion *id, struct arena *a,
                       struct found_discussion *ret) {
    struct str title = json_text_at(item, "title");
    int64_t created = json_int_at(item, "created_at_i", 0);
    *ret = (struct found_discussion){
        .id = arena_str(a, str_of(id->id)),
        .permalink = arena_str(a, str_of(id->url)),
        .title = title.p ? text_cut(title, TITLE_MAX) : STR(""),
        .url = json_text_at(item, "url"),
        .score = json_int_at(item, "points", I64_NONE),
        .num_comments = json_int_at(item, "num_comments", I64_NONE), /* items do not say */
        .created_at_ms = created > 0 && created < INT64_C(1) << 40 ? created * 1000 : 0,
    };
    ret->is_self = ret->url.n == 0;
}

/* The number of an item, as a number or as a text. */
static bool read_id(const struct json_read *from, const char *path, struct discussion *ret) {
    char digits[24];
    struct str s = json_text_at(from, path);
    if (!s.p) {
        int64_t n = json_int_at(from, path, 0);
        size_t at = sizeof digits;
        for (; n > 0; n /= 10)
            digits[--at] = (char)('0' + n % 10);
        s = (struct str){digits + at, sizeof digits - at};
    }
    return discussion_of_id(DISCUSSION_HN, s, ret);
}

/* The list of hits of a sound answer. */
static bool find_hits(const struct heard *h, struct arena *a, struct json_read *ret_root,
                      struct json_read *ret_hits) {
    return heard_json(h, a, ret_root) && path_find(ret_root, STR("hits"), ret_hits) == PATH_THERE &&
           json_peek(ret_hits) == JSON_ARRAY;
}

/* The search gave up before it had seen everything. (Counts that are not exact are also how it
 * speaks of very many hits; then there are pages of them.) */
static bool is_degraded(const struct json_read *root, size_t n_hits) {
    struct json_read at;
    bool inexact = path_find(root, STR("exhaustiveNbHits"), &at) == PATH_THERE &&
                   json_peek(&at) == JSON_FALSE && json_int_at(root, "nbPages", 0) <= 1;
    return inexact || json_true_at(root, "timeoutHits") || json_true_at(root, "timeoutCounts") ||
           (n_hits == 0 && json_int_at(root, "nbHits", 0) > 0);
}

/* Answers how many hits there were. */
static size_t read_hits(struct json_read *hits, struct str key, struct arena *a,
                        struct found_list *ret, size_t *ret_broken) {
    bool first = true;
    size_t n = 0;
    json_enter(hits);
    for (; json_next_element(hits, &first); json_skip(hits), n++) {
        struct found_discussion story;
        struct discussion id;
        if (!read_id(hits, "objectID", &id)) {
            ++*ret_broken;
            continue;
        }
        read_story(hits, &id, a, &story);
        if (ret->n == ASK_DISCUSSIONS_MAX || !url_has_key(story.url, key, a))
            ret->dropped++;
        else
            ret->at[ret->n++] = story;
    }
    return n;
}

void hn_read_url(const struct heard *h, struct str key, struct arena *a, struct found_list *ret) {
    struct json_read root, hits;
    size_t broken = 0;
    *ret = (struct found_list){.why = {.told = TOLD_NONE, .wait_ms = -1}};
    if (h->cls != NET_OK) {
        told_of_call(&ret->why, a, h);
        return;
    }
    if (!find_hits(h, a, &root, &hits)) {
        told_garbage(&ret->why, a, "no list of hits");
        return;
    }
    ret->at = arena_zalloc(a, ASK_DISCUSSIONS_MAX * sizeof ret->at[0]);
    size_t n = read_hits(&hits, key, a, ret, &broken);
    ret->dropped += broken;
    if (ret->n > 0)
        ret->why.told = TOLD_FOUND;
    else if (is_degraded(&root, n))
        told_say(&ret->why, a, TOLD_TRANSIENT, "unsure", "the search has not looked everywhere");
    else if (broken > 0)
        told_garbage(&ret->why, a, "hits without an id");
}

static void take_story(const struct json_read *item, const struct discussion *id, struct arena *a,
                       struct found_article *ret) {
    read_story(item, id, a, &ret->origin);
    ret->has_origin = true;
    article_set(ret, a, ret->origin.url);
}

/* Nested deeper than we read; strings are stepped over. */
static bool is_deep(struct str body) {
    size_t depth = 0, most = 0;
    bool text = false;
    for (size_t i = 0; i < body.n; i++) {
        char c = body.p[i];
        if (text) {
            i += c == '\\';
            text = c != '"';
        } else if (c == '"') {
            text = true;
        } else if (c == '{' || c == '[') {
            most = ++depth > most ? depth : most;
        } else if ((c == '}' || c == ']') && depth > 0) {
            depth--;
        }
    }
    return most > JSON_DEPTH_MAX;
}

static void go_on(struct found_article *ret, const struct discussion *to, bool as_story) {
    memcpy(ret->next_id, to->id, sizeof ret->next_id);
    ret->next_as_story = as_story;
    ret->why.told = TOLD_NEXT;
}

static bool is_lower(const struct discussion *a, const struct discussion *b) {
    size_t na = strlen(a->id), nb = strlen(b->id);
    return na != nb ? na < nb : strcmp(a->id, b->id) < 0;
}

static void read_item(const struct json_read *item, const struct discussion *own, struct arena *a,
                      struct found_article *ret) {
    struct discussion up;
    struct str type = json_text_at(item, "type");
    if (str_eqc(type, "story") || str_eqc(type, "job") || str_eqc(type, "poll"))
        take_story(item, own, a, ret);
    else if (!str_eqc(type, "comment") && !str_eqc(type, "pollopt"))
        told_garbage(&ret->why, a, "an item of no known type");
    else if ((read_id(item, "story_id", &up) || read_id(item, "parent_id", &up)) &&
             is_lower(&up, own))
        go_on(ret, &up, false);
    else
        told_garbage(&ret->why, a, "a comment without a story");
}

void hn_read_item(const struct heard *h, struct str id, struct arena *a,
                  struct found_article *ret) {
    struct json_read root;
    struct discussion asked, own;
    *ret = (struct found_article){.why = {.told = TOLD_NONE, .wait_ms = -1}};
    if (!discussion_of_id(DISCUSSION_HN, id, &asked)) {
        told_garbage(&ret->why, a, "not an item");
    } else if (h->cls == NET_TOO_LARGE || (h->cls == NET_OK && is_deep(h->body))) {
        go_on(ret, &asked, true);
    } else if (h->cls != NET_OK) {
        if (!heard_no_such(h, a))
            told_of_call(&ret->why, a, h);
    } else if (!heard_json(h, a, &root) || !read_id(&root, "id", &own) ||
               strcmp(own.id, asked.id) != 0) {
        told_garbage(&ret->why, a, "not the item that was asked for");
    } else {
        read_item(&root, &own, a, ret);
    }
}

void hn_read_story(const struct heard *h, struct str id, struct arena *a,
                   struct found_article *ret) {
    struct json_read root, hits;
    struct discussion asked, own;
    bool first = true;
    *ret = (struct found_article){.why = {.told = TOLD_NONE, .wait_ms = -1}};
    if (h->cls != NET_OK) {
        told_of_call(&ret->why, a, h);
        return;
    }
    if (!discussion_of_id(DISCUSSION_HN, id, &asked) || !find_hits(h, a, &root, &hits)) {
        told_garbage(&ret->why, a, "no list of hits");
        return;
    }
    json_enter(&hits);
    for (; json_next_element(&hits, &first); json_skip(&hits))
        if (read_id(&hits, "objectID", &own) && strcmp(own.id, asked.id) == 0) {
            take_story(&hits, &own, a, ret);
            return;
        }
    told_say(&ret->why, a, TOLD_TRANSIENT, "unsure", "the story is not among the hits");
}
