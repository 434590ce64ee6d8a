/* Making links: one per key, with its tasks in the same transaction. */
#include "store/links_int.h"

#include "hn/url_key.h"

#define TITLE_MAX 1000 /* characters */
#define DESCRIPTION_MAX 5000
#define NAME_MAX_CHARS 200
#define ANY_SCORE INT64_C(-1000000000)

struct found_link {
    int64_t id;
    bool is_parent, is_ref;
};

static enum verdict read_found(void *ctx, const struct db_row *row) {
    struct found_link *f = ctx;
    struct str source = db_row_text(row, 6);
    *f = (struct found_link){db_row_int(row, 0), str_eqc(source, "auto-parent"),
                             str_eqc(source, "discussion-ref")};
    return V_OK;
}

enum verdict links_ensure_tasks(struct store *s, int64_t id, struct str key, struct str submitter,
                                bool waiting, struct err *e) {
    const char *site = link_site_name(link_site_of_key(key));
    enum verdict v =
        db_run(s->db, SQL_LINK_TASKS_MAKE,
               DB_VALS(DBI(id), DBC(site), DBT(submitter), DBI(waiting ? 1 : 0)), NULL, NULL, e);
    if (v != V_OK || db_changes(s->db) > 0 || (!submitter.p && !waiting))
        return v;
    return db_run(s->db, link_all(s, LINK_WANT),
                  DB_VALS(DBI(id), DBT(submitter), DBI(waiting ? 1 : 0)), NULL, NULL, e);
}

static enum verdict make_link(struct store *s, const struct link_made *m, int64_t *ret_id,
                              struct err *e) {
    return db_run_int(s->db, SQL_LINK_MAKE,
                      DB_VALS(DBT(link_text(s, m->url, LINK_URL_MAX)), DBT(m->key),
                              DBT(link_text(s, m->title, TITLE_MAX)),
                              DBT(link_text(s, m->description, DESCRIPTION_MAX)), DBT(m->source),
                              DBT(link_text(s, m->submitted_by, NAME_MAX_CHARS)),
                              DBI(URL_KEY_VERSION)),
                      ret_id, e);
}

/* Whoever inserts the same key at this moment is waited for; then it is there to be found. */
enum verdict links_ensure(struct store *s, const struct link_made *m, int64_t *ret_id,
                          bool *ret_created, struct err *e) {
    struct found_link found = {0};
    enum verdict v = make_link(s, m, ret_id, e);
    *ret_created = v == V_OK;
    if (v == V_NOT_FOUND) {
        v = db_run(s->db, SQL_LINK_BY_KEY, DB_VALS(DBT(m->key)), read_found, &found, e);
        if (v == V_OK && !found.id)
            return err_set(e, V_RETRY, "links", 0, "a link came and went");
        *ret_id = found.id;
    }
    if (v == V_OK && found.is_parent)
        v = db_run(s->db, SQL_LINK_ADOPT,
                   DB_VALS(DBI(*ret_id), DBT(m->source),
                           DBT(link_text(s, m->submitted_by, NAME_MAX_CHARS))),
                   NULL, NULL, e);
    if (v != V_OK || found.is_ref)
        return v;
    return links_ensure_tasks(s, *ret_id, m->key, link_text(s, m->submitter, NAME_MAX_CHARS),
                              m->waiting, e);
}

static enum verdict key_of(struct store *s, struct str url, struct str *ret, struct err *e) {
    struct str domain;
    if (url.n > LINK_URL_MAX)
        return err_set(e, V_LIMIT, "links", 0, "a URL has %d bytes at most", LINK_URL_MAX);
    if (!url.p || !url_key(&s->scratch, store_clean_text(s, url), ret, &domain))
        return err_set(e, V_INVALID, "links", 0, "url: not an http or https address with a host");
    return V_OK;
}

static struct str submitter_of(struct str source, struct str submitted_by) {
    if (!link_is_asked_for(source, submitted_by))
        return STR_NONE;
    return submitted_by.n ? submitted_by : source;
}

static enum verdict add(struct store *s, const struct link_made *m, struct link_added *ret,
                        struct err *e) {
    enum verdict v = db_begin(s->db, e);
    return v == V_OK ? store_end(s, links_ensure(s, m, &ret->id, &ret->created, e), e) : v;
}

enum verdict store_link_add(struct store *s, const struct link_add *a, struct link_added *ret,
                            struct err *e) {
    struct link_made m = {.url = a->url,
                          .title = a->title,
                          .description = a->description,
                          .source = a->source,
                          .submitted_by = a->submitted_by,
                          .submitter = submitter_of(a->source, a->submitted_by),
                          .waiting = a->waiting};
    *ret = (struct link_added){0};
    arena_reset(&s->scratch);
    enum verdict v = links_prepare(s, e);
    if (v == V_OK)
        v = key_of(s, a->url, &m.key, e);
    if (v != V_OK)
        return v;
    ret->site = link_site_of_key(m.key);
    return add(s, &m, ret, e);
}

enum verdict store_link_wait(struct store *s, int64_t id, struct err *e) {
    enum verdict v = links_prepare(s, e);
    return v == V_OK ? db_run(s->db, link_all(s, LINK_WANT),
                              DB_VALS(DBI(id), DBT(STR_NONE), DBI(1)), NULL, NULL, e)
                     : v;
}

/* --- stories --- */

struct story {
    struct arena *a;
    bool found;
    struct str url, title;
};

static enum verdict read_story(void *ctx, const struct db_row *row) {
    struct story *st = ctx;
    st->found = true;
    st->url = arena_str(st->a, db_row_text(row, 1));
    st->title = arena_str(st->a, db_row_text(row, 2));
    return V_OK;
}

enum verdict links_add_story(struct store *s, int64_t item, int64_t score, size_t *ret_n,
                             struct err *e) {
    struct story st = {.a = &s->scratch};
    struct link_made m = {.source = STR("hn-story"), .submitted_by = STR("auto")};
    struct str domain;
    int64_t id;
    bool created;
    enum verdict v =
        db_run(s->db, SQL_LINK_STORIES, DB_VALS(DBI(item), DBI(score)), read_story, &st, e);
    if (v != V_OK || !st.found || st.url.n > LINK_URL_MAX ||
        !url_key(&s->scratch, st.url, &m.key, &domain))
        return v;
    m.url = st.url;
    m.title = st.title;
    v = links_ensure(s, &m, &id, &created, e);
    *ret_n += v == V_OK && created;
    return v;
}

enum verdict store_link_stories(struct store *s, const int64_t *ids, size_t n, size_t *ret_n,
                                struct err *e) {
    *ret_n = 0;
    if (n > LINK_STORIES_MAX)
        return err_set(e, V_LIMIT, "links", 0, "%zu stories; %d can be at once", n,
                       LINK_STORIES_MAX);
    arena_reset(&s->scratch);
    enum verdict v = n ? links_prepare(s, e) : V_OK;
    if (v != V_OK || n == 0)
        return v;
    v = db_begin(s->db, e);
    if (v != V_OK)
        return v;
    for (size_t i = 0; v == V_OK && i < n; i++)
        v = links_add_story(s, ids[i], ANY_SCORE, ret_n, e);
    return store_end(s, v, e);
}
