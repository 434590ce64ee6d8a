/* The landing of a reverse lookup: from a discussion to the article behind it. */
#include "store/links_int.h"

#include "hn/url_key.h"

#define CHAIN_MAX 32

struct landing {
    const struct link_landing *l;
    struct link link; /* the discussion's */
    struct str key;   /* the article's */
    struct str submitter;
};

struct submitter_reading {
    struct arena *a;
    struct str submitter;
};

static enum verdict read_submitter(void *ctx, const struct db_row *row) {
    struct submitter_reading *r = ctx;
    r->submitter = arena_str(r->a, db_row_text(row, 0));
    return V_OK;
}

/* Does the way from this link lead to that one? Ways are short; one without an end is taken for a
 * circle. */
static enum verdict leads_to(struct store *s, int64_t from, int64_t to, bool *ret, struct err *e) {
    *ret = true;
    for (int i = 0; i < CHAIN_MAX; i++) {
        struct link link;
        if (from == to)
            return V_OK;
        enum verdict v = store_link_get(s, &s->scratch, from, &link, e);
        if (v != V_OK)
            return v;
        if (!link.parent_id || !str_eqc(link.source, "discussion-ref")) {
            *ret = false;
            return V_OK;
        }
        from = link.parent_id;
    }
    return V_OK;
}

static enum verdict arrive(struct store *s, struct landing *at, int64_t article, struct err *e) {
    const struct link_landing *l = at->l;
    enum verdict v = links_become_ref(s, l->id, article, e);
    if (v == V_OK)
        v = links_save_result(
            s,
            &(struct link_result){.id = l->id, .task = LINK_REVERSE, .title = l->discussion.title},
            e);
    return v == V_OK && article ? links_save_discussions(s, article, &l->discussion, 1, e) : v;
}

static enum verdict go(struct store *s, struct landing *at, int64_t *ret_article, struct err *e) {
    struct link_made m = {.url = at->l->article_url,
                          .key = at->key,
                          .title = at->l->article_title,
                          .source = STR("reverse-lookup"),
                          .submitted_by = at->link.submitted_by,
                          .submitter = at->submitter,
                          .waiting = true};
    int64_t article;
    bool created, circle;
    enum verdict v = links_ensure(s, &m, &article, &created, e);
    if (v == V_OK)
        v = leads_to(s, article, at->l->id, &circle, e);
    if (v != V_OK)
        return v;
    *ret_article = circle ? 0 : article;
    return arrive(s, at, *ret_article, e);
}

static enum verdict land(struct store *s, struct landing *at, int64_t *ret_article, struct err *e) {
    const struct link_landing *l = at->l;
    struct submitter_reading r = {.a = &s->scratch};
    enum verdict v = links_fence(s, LINK_REVERSE, l->id, l->token, "match", STR_NONE, e);
    if (v == V_OK)
        v = links_bump(s, l->id, false, e); /* claims come before links */
    if (v == V_OK)
        v = db_run(s->db, SQL_LINK_LANDING_LOCK, DB_NO_VALS, NULL, NULL, e);
    if (v == V_OK)
        v = store_link_get(s, &s->scratch, l->id, &at->link, e);
    if (v == V_NOT_FOUND || (v == V_OK && at->link.id != l->id))
        return err_set(e, V_CONFLICT, "links", 0, "link %lld is gone", (long long)l->id);
    if (v == V_OK)
        v = db_run(s->db, SQL_LINK_SUBMITTER, DB_VALS(DBI(l->id)), read_submitter, &r, e);
    at->submitter = r.submitter;
    if (v != V_OK)
        return v;
    return str_eq(at->key, at->link.url_key) ? arrive(s, at, 0, e) : go(s, at, ret_article, e);
}

enum verdict store_link_land(struct store *s, const struct link_landing *l, int64_t *ret_article,
                             struct err *e) {
    struct landing at = {.l = l};
    struct str domain;
    *ret_article = 0;
    arena_reset(&s->scratch);
    if (!l->article_url.p || l->article_url.n > LINK_URL_MAX ||
        !url_key(&s->scratch, store_clean_text(s, l->article_url), &at.key, &domain))
        return err_set(e, V_INVALID, "links", 0, "the article has no http or https URL");
    if (l->discussion.site == LINK_SITE_NONE || !l->discussion.external_id.n ||
        !l->discussion.external_url.p)
        return err_set(e, V_INVALID, "links", 0, "a discussion has a site, an id and a URL");
    enum verdict v = links_prepare(s, e);
    if (v == V_OK)
        v = db_begin(s->db, e);
    return v == V_OK ? store_end(s, land(s, &at, ret_article, e), e) : v;
}
