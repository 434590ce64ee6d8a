/* What is shown is read from the archive and looked at with the same eyes as the index was made: an
 * index may lag behind, and that of SQLite never forgets a word that an item has lost. */
#include "store/search_doc_int.h"
#include "store/search_int.h"

#include "hn/html.h"

#include <stdlib.h>

struct reading {
    struct search *s;
    struct search_hit *hits; /* ascending by id while they are being filled */
    size_t n;
};

static enum verdict take_hit(void *ctx, const struct db_row *row) {
    struct reading *r = ctx;
    struct arena *a = r->s->a;
    struct search_hit *h = &r->hits[r->n++];
    struct read_item *it = &h->it;
    store_item_of_row(a, row, &it->item);
    it->story_id = db_row_int(row, 14);
    it->item.url_key = arena_str(a, db_row_text(row, 15));
    it->item.domain = arena_str(a, db_row_text(row, 16));
    it->item.content_hash = db_row_int(row, 17);
    it->item.kids_hash = db_row_int(row, 18);
    it->first_seen_at = db_row_int(row, 19);
    it->last_fetched_at = db_row_int(row, 20);
    it->last_changed_at = db_row_int(row, 21);
    it->stored = true;
    h->story_title = arena_str(a, db_row_text(row, 22));
    h->story_url = arena_str(a, db_row_text(row, 23));
    h->story_points = db_row_int(row, 24);
    h->story_comments = db_row_int(row, 25);
    return V_OK;
}

/* Words --------------------------------------------------------------------------------------- */

static bool item_holds(const struct search *s, const struct item *it, struct str text,
                       struct str words) {
    unsigned fields = s->q->fields ? s->q->fields : SEARCH_IN_ALL;
    return (fields & SEARCH_IN_TITLE && it->title.p && search_holds(it->title, words)) ||
           (fields & SEARCH_IN_URL && it->url.p && search_holds(search_url_part(it->url), words)) ||
           (fields & SEARCH_IN_AUTHOR && it->by.p && search_holds(it->by, words)) ||
           (fields & SEARCH_IN_TEXT && text.p && search_holds(text, words));
}

static bool words_hold(const struct search *s, const struct item *it) {
    if (s->terms.n == 0)
        return true;
    CLEANUP(strbuf_release) struct strbuf plain;
    strbuf_init(&plain, (it->text.n + 64) * HTML_TEXT_GROWTH);
    struct str text = it->text.n && html_text(it->text, &plain) ? strbuf_str(&plain) : STR_NONE;
    for (size_t i = 0; i < s->terms.n; i++) {
        const struct search_term *t = &s->terms.terms[i];
        if (item_holds(s, it, text, t->words) == t->without)
            return false;
    }
    return true;
}

/* The page ------------------------------------------------------------------------------------- */

static int by_value(const void *x, const void *y) {
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return a < b ? -1 : a > b;
}

static size_t sort_once(int64_t *ids, size_t n) {
    if (n)
        qsort(ids, n, sizeof *ids, by_value);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || ids[kept - 1] != ids[i])
            ids[kept++] = ids[i];
    return kept;
}

static int by_id(const void *x, const void *y) {
    int64_t a = ((const struct search_hit *)x)->it.item.id;
    int64_t b = ((const struct search_hit *)y)->it.item.id;
    return a < b ? -1 : a > b;
}

static enum verdict read_items(struct search *s, const struct candidate *c, size_t n,
                               struct reading *r) {
    int64_t *ids = arena_alloc(s->a, (n + 1) * sizeof *ids);
    for (size_t i = 0; i < n; i++)
        ids[i] = c[i].id;
    size_t once = sort_once(ids, n);
    const struct db_col cols[] = {DB_INTS(ids)};
    enum verdict v =
        once ? db_each(s->s->db, SQL_SEARCH_HITS, cols, 1, once, take_hit, r, s->e) : V_OK;
    if (v == V_OK && r->n)
        qsort(r->hits, r->n, sizeof *r->hits, by_id);
    return v;
}

/* What changed its kind is still in the index of the other kind. */
static bool is_of_index(const struct item *it, const struct candidate *c) {
    return c->index == N_INDEXES ||
           (search_kind_of(it->type) == SEARCH_COMMENT) == (c->index == IN_COMMENTS);
}

enum verdict search_read_hits(struct search *s, const struct candidate *c, size_t n,
                              struct search_answer *ret) {
    struct reading r = {.s = s, .hits = arena_zalloc(s->a, (n + 1) * sizeof *r.hits)};
    enum verdict v = read_items(s, c, n, &r);
    if (v != V_OK)
        return v;
    ret->hits = arena_zalloc(s->a, (n + 1) * sizeof *ret->hits);
    for (size_t i = 0; i < n; i++) {
        struct search_hit key = {.it.item.id = c[i].id};
        struct search_hit *h = bsearch(&key, r.hits, r.n, sizeof key, by_id);
        if (!h || !is_of_index(&h->it.item, &c[i]) ||
            !search_passes(s, &h->it.item, h->it.story_id) || !words_hold(s, &h->it.item))
            continue;
        ret->hits[ret->n++] = *h;
    }
    return V_OK;
}
