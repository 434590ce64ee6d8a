#include "hn/url_int.h"

#include <string.h>

/* Sites that show one thing under several paths. A rule answers false, having changed nothing,
 * where it does not know the path; one that fits leaves the form that it would leave alone. */

#define YOUTUBE_ID 11
#define SEGMENTS_MAX 6

struct segments {
    struct str at[SEGMENTS_MAX];
    size_t n; /* SEGMENTS_MAX + 1 when there are more */
};

static struct segments split_path(struct str path) {
    struct segments s = {0};
    for (size_t i = 0; i < path.n && s.n <= SEGMENTS_MAX; s.n++) {
        size_t from = ++i;
        while (i < path.n && path.p[i] != '/')
            i++;
        if (s.n < SEGMENTS_MAX)
            s.at[s.n] = (struct str){path.p + from, i - from};
    }
    return s;
}

static bool is_one_of(struct str s, const char *const *words) {
    for (; *words; words++)
        if (str_eqc(s, *words))
            return true;
    return false;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_word(struct str s) {
    for (size_t i = 0; i < s.n; i++)
        if (!is_digit(s.p[i]) && !((s.p[i] | 32) >= 'a' && (s.p[i] | 32) <= 'z'))
            return false;
    return s.n > 0;
}

/* The whole URL becomes host + path + query. Parts may be views of u's own path. */
static bool become(struct url *u, const char *host, const struct str *part, size_t n_parts) {
    char path[96];
    size_t n = 0;
    for (size_t i = 0; i < n_parts; i++) {
        if (part[i].n > sizeof path - n)
            return false;
        memcpy(path + n, part[i].p, part[i].n);
        n += part[i].n;
    }
    u->fragment = u->query = STR_NONE;
    return url_set_path(u, (struct str){path, n}) && url_set_host(u, str_of(host));
}

/* The id at the front of s: links carry "?", "&" or worse behind it. */
static bool youtube_id(struct str s, struct str *ret) {
    static const char *const not_ids[] = {"videoseries", "live_stream", NULL};
    size_t n = 0;
    while (n < s.n && (is_word((struct str){s.p + n, 1}) || s.p[n] == '-' || s.p[n] == '_'))
        n++;
    *ret = (struct str){s.p, n};
    return n == YOUTUBE_ID && !is_one_of(*ret, not_ids);
}

static bool query_value(struct str query, const char *name, struct str *ret) {
    size_t n = strlen(name);
    for (size_t at = 0, end; at < query.n; at = end + 1) {
        for (end = at; end < query.n && query.p[end] != '&';)
            end++;
        struct str param = {query.p + at, end - at};
        if (str_starts(param, name) && param.n > n && param.p[n] == '=') {
            *ret = (struct str){param.p + n + 1, param.n - n - 1};
            return true;
        }
    }
    return false;
}

static bool youtube(struct url *u) {
    static const char *const players[] = {"embed", "shorts", "live", "v", "e", NULL};
    struct segments s = split_path(url_path(u));
    struct str id = STR_NONE;
    bool found = false;
    if (str_eqc(url_host(u), "youtu.be"))
        found = s.n == 1 && youtube_id(s.at[0], &id);
    else if (s.n == 1 && str_eqc(s.at[0], "watch"))
        found = query_value(u->query, "v", &id) && youtube_id(id, &id);
    else if (s.n == 2 && is_one_of(s.at[0], players))
        found = youtube_id(s.at[1], &id);
    if (!found)
        return false;
    memcpy(u->made_query, "v=", 2);
    memcpy(u->made_query + 2, id.p, id.n);
    become(u, "youtube.com", (struct str[]){STR("/watch")}, 1);
    u->query = (struct str){u->made_query, 2 + id.n};
    return true;
}

/* Cuts ".pdf" and "v2": every version of a paper is discussed as that paper. */
static struct str arxiv_bare(struct str id) {
    if (str_ends(id, ".pdf"))
        id.n -= 4;
    size_t n = id.n;
    while (n > 0 && is_digit(id.p[n - 1]))
        n--;
    if (n > 1 && n < id.n && id.p[n - 1] == 'v' && is_digit(id.p[n - 2]))
        id.n = n - 1;
    return id;
}

/* 2401.01234, or 0309136 behind the name of an archive. */
static bool arxiv_number(struct str id, bool old) {
    size_t dots = 0;
    for (size_t i = 0; i < id.n; i++) {
        if (id.p[i] == '.' && i == 4)
            dots++;
        else if (!is_digit(id.p[i]))
            return false;
    }
    return old ? id.n == 7 && dots == 0 : dots == 1 && (id.n == 9 || id.n == 10);
}

static bool arxiv(struct url *u) {
    static const char *const forms[] = {"abs", "pdf", "html", "format", "ps", NULL};
    struct segments s = split_path(url_path(u));
    if (s.n < 2 || s.n > 3 || !is_one_of(s.at[0], forms))
        return false;
    struct str number = arxiv_bare(s.at[s.n - 1]);
    if (!arxiv_number(number, s.n == 3))
        return false;
    if (s.n == 2)
        return become(u, "arxiv.org", (struct str[]){STR("/abs/"), number}, 2);
    return become(u, "arxiv.org", (struct str[]){STR("/abs/"), s.at[1], STR("/"), number}, 4);
}

/* A post by its id, with or without its subreddit and title: /comments/ID, and a comment of it:
 * /comments/ID/comment/ID. */
static bool reddit(struct url *u) {
    static const char *const owners[] = {"r", "u", "user", NULL};
    static const char *const short_forms[] = {"gallery", "tb", NULL};
    struct segments s = split_path(url_path(u));
    struct str post = STR_NONE, comment = STR_NONE;
    size_t at = s.n > 2 && is_one_of(s.at[0], owners) ? 2 : 0;
    if (s.n > SEGMENTS_MAX)
        return false;
    if (str_eqc(url_host(u), "redd.it") ? s.n == 1 : s.n == 2 && is_one_of(s.at[0], short_forms))
        post = s.at[s.n - 1];
    else if (!str_eqc(url_host(u), "redd.it") && s.n > at + 1 && str_eqc(s.at[at], "comments"))
        post = s.at[at + 1];
    if (s.n == at + 4 && !str_eqc(url_host(u), "redd.it"))
        comment = s.at[at + 3];
    if (!is_word(post) || (comment.p && !is_word(comment)))
        return false;
    if (!comment.p)
        return become(u, "reddit.com", (struct str[]){STR("/comments/"), post}, 2);
    return become(u, "reddit.com",
                  (struct str[]){STR("/comments/"), post, STR("/comment/"), comment}, 4);
}

static const struct site {
    const char *host;
    bool (*rule)(struct url *u);
} sites[] = {
    {"arxiv.org", arxiv},  {"redd.it", reddit},      {"reddit.com", reddit},
    {"youtu.be", youtube}, {"youtube.com", youtube},
};

bool url_apply_site(struct url *u) {
    for (size_t i = 0; i < sizeof sites / sizeof sites[0]; i++)
        if (!u->port && str_eqc(url_host(u), sites[i].host))
            return sites[i].rule(u);
    return false;
}
