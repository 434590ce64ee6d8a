/* How tasks, states and sites are called; which keys are discussions. */
#include "store/links_int.h"

#include <string.h>

static const char *const statuses[LINK_STATUSES] = {
    [LINK_PENDING] = "pending", [LINK_COMPLETED] = "completed", [LINK_NOT_FOUND] = "not_found",
    [LINK_FAILED] = "failed",   [LINK_SKIPPED] = "skipped",
};
static const char *const sites[LINK_SITES] = {
    [LINK_SITE_REDDIT] = "reddit",
    [LINK_SITE_HN] = "hackernews",
};

const char *link_task_name(enum link_task t) {
    return link_tasks[t].name;
}

const char *link_status_name(enum link_status s) {
    return statuses[s];
}

const char *link_site_name(enum link_site s) {
    return sites[s];
}

enum link_status link_status_of(struct str name) {
    for (int i = 0; i < LINK_STATUSES; i++)
        if (statuses[i] && str_eqc(name, statuses[i]))
            return (enum link_status)i;
    return LINK_NONE;
}

enum link_site link_site_of(struct str name) {
    for (int i = 0; i < LINK_SITES; i++)
        if (sites[i] && str_eqc(name, sites[i]))
            return (enum link_site)i;
    return LINK_SITE_NONE;
}

/* A key has the plain form of a post (reddit.com/comments/ID); a share link is only known to Reddit
 * itself: reddit.com/r/NAME/s/CODE, or of a user. */
static bool is_share(struct str key) {
    size_t at[5], n = 0;
    for (size_t i = 0; i < key.n && n < ARRAY_LEN(at); i++)
        if (key.p[i] == '/')
            at[n++] = i;
    if (n != 4)
        return false;
    struct str kind = {key.p + at[0] + 1, at[1] - at[0] - 1};
    return (str_eqc(kind, "r") || str_eqc(kind, "u") || str_eqc(kind, "user")) &&
           at[3] == at[2] + 2 && key.p[at[2] + 1] == 's' && key.n > at[3] + 1;
}

enum link_site link_site_of_key(struct str key) {
    static const char story[] = "news.ycombinator.com/item?id=";
    if (str_starts(key, "reddit.com/comments/") || str_starts(key, "redd.it/") ||
        (str_starts(key, "reddit.com/") && is_share(key)))
        return LINK_SITE_REDDIT;
    if (!str_starts(key, story) || key.n == sizeof story - 1)
        return LINK_SITE_NONE;
    for (size_t i = sizeof story - 1; i < key.n; i++)
        if (key.p[i] < '0' || key.p[i] > '9')
            return LINK_SITE_NONE;
    return LINK_SITE_HN;
}

bool link_is_asked_for(struct str source, struct str submitted_by) {
    if (str_eqc(source, "agent"))
        return true;
    return submitted_by.p && submitted_by.n > 0 && !str_eqc(submitted_by, "auto") &&
           !str_eqc(submitted_by, "gatherer");
}

struct str link_text(struct store *s, struct str text, size_t max_chars) {
    size_t n = 0;
    for (size_t chars = 0; n < text.n && chars < max_chars; chars++) {
        size_t len = utf8_len((const unsigned char *)text.p + n, text.n - n);
        n += len ? len : 1;
    }
    return text.p ? store_clean_text(s, (struct str){text.p, n}) : text;
}
