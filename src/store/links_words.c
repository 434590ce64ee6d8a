/* How tasks, states and sites are called; which keys are discussions. */
#include "store/links_int.h"

#include "hn/discussion_url.h"

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

const char *link_task_stamp(enum link_task t) {
    return link_tasks[t].stamp_name;
}

const char *link_task_provider(enum link_task t, enum link_site site) {
    for (int i = 0; t == LINK_REVERSE && i < LINK_TASKS; i++)
        if (site && link_tasks[i].site == site)
            return link_tasks[i].provider;
    return link_tasks[t].provider;
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

enum link_site link_site_of_key(struct str key) {
    struct discussion d;
    if (!discussion_of_key(key, &d))
        return LINK_SITE_NONE;
    return d.site == DISCUSSION_REDDIT ? LINK_SITE_REDDIT : LINK_SITE_HN;
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
