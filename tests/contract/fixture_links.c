#include "fixture_links.h"

#include <stdio.h>
#include <string.h>

int64_t add_link(struct fix *f, const char *url, const char *by, bool waiting) {
    struct err e;
    struct link_added added;
    const struct link_add add = {.url = str_of(url),
                                 .source = by ? STR("agent") : STR("gathered"),
                                 .submitted_by = by ? str_of(by) : STR("auto"),
                                 .waiting = waiting};
    assert_ok(store_link_add(f->s, &add, &added, &e));
    assert_true(added.id > 0);
    return added.id;
}

int64_t add_page(struct fix *f, const char *name, const char *by, bool waiting) {
    char url[200];
    snprintf(url, sizeof url, "https://example.com/%s", name);
    return add_link(f, url, by, waiting);
}

struct link_job take_link(struct fix *f, struct store *s, enum link_lane lane) {
    struct err e;
    struct link_job job = {0};
    enum verdict v = store_link_take(s, lane, STR("me"), LEASE_OF_LINKS, &f->arena, &job, &e);
    if (v == V_NOT_FOUND)
        return (struct link_job){0};
    assert_ok(v);
    return job;
}

int64_t next_link(struct fix *f, enum link_lane lane) {
    return take_link(f, f->s, lane).id;
}

enum verdict save_link(struct store *s, const struct link_job *job, enum link_status status) {
    struct err e;
    const struct link_result r = {
        .id = job->id, .token = job->token, .task = job->task, .status = status};
    return store_link_save(s, &r, &e);
}

struct link_discussion a_thread(enum link_site site, const char *external_id) {
    return (struct link_discussion){.site = site,
                                    .external_id = str_of(external_id),
                                    .external_url = STR("https://discussions.example/1"),
                                    .title = STR("A thread"),
                                    .subreddit = site == LINK_SITE_REDDIT ? STR("c") : STR_NONE,
                                    .score = 10,
                                    .num_comments = 3,
                                    .external_created_at = T0 - 1000};
}

enum verdict save_found(struct store *s, const struct link_job *job, const char *external_id) {
    struct err e;
    const struct link_discussion d =
        a_thread(job->task == LINK_HN ? LINK_SITE_HN : LINK_SITE_REDDIT, external_id);
    const struct link_result r = {.id = job->id,
                                  .token = job->token,
                                  .task = job->task,
                                  .status = LINK_COMPLETED,
                                  .discussions = &d,
                                  .n_discussions = 1};
    return store_link_save(s, &r, &e);
}

enum verdict land_link(struct store *s, const struct link_job *job, const char *article,
                       int64_t *ret_article) {
    struct err e;
    const struct link_landing l = {.id = job->id,
                                   .token = job->token,
                                   .article_url = str_of(article),
                                   .article_title = STR("An article"),
                                   .discussion = a_thread(job->site, "t1")};
    return store_link_land(s, &l, ret_article, &e);
}

const char *states_of(struct fix *f, int64_t id) {
    return q(f,
             "SELECT reverse_lookup_status, reddit_status, hn_status, summary_status"
             " FROM link_processing WHERE link_id = %lld",
             (long long)id);
}

const char *source_of(struct fix *f, int64_t id) {
    return q(f, "SELECT source, parent_link_id FROM links WHERE id = %lld", (long long)id);
}
