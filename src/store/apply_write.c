#include "base/fault.h"
#include "store/apply_int.h"

#include <string.h>

enum { N_COLUMNS = 20 };

/* The columns of items_insert and items_update, in the order of their parameters. */
static const struct {
    enum db_type type;
    size_t offset; /* into struct item; ignored where `special` is set */
    char special;
} columns[N_COLUMNS] = {
    {DB_INT, offsetof(struct item, id), 0},
    {DB_INT, offsetof(struct item, deleted), 'b'},
    {DB_TEXT, offsetof(struct item, type), 0},
    {DB_TEXT, offsetof(struct item, by), 0},
    {DB_INT, offsetof(struct item, time), 0},
    {DB_TEXT, offsetof(struct item, text), 0},
    {DB_INT, offsetof(struct item, dead), 'b'},
    {DB_INT, offsetof(struct item, parent), 0},
    {DB_INT, offsetof(struct item, poll), 0},
    {DB_TEXT, offsetof(struct item, url), 0},
    {DB_INT, offsetof(struct item, score), 0},
    {DB_TEXT, offsetof(struct item, title), 0},
    {DB_TEXT, 0, 'p'},
    {DB_INT, offsetof(struct item, descendants), 0},
    {DB_INT, 0, 's'},
    {DB_TEXT, offsetof(struct item, url_key), 0},
    {DB_TEXT, offsetof(struct item, domain), 0},
    {DB_INT, offsetof(struct item, content_hash), 0},
    {DB_INT, offsetof(struct item, kids_hash), 0},
    {DB_INT, 0, 'f'},
};

_Static_assert(I64_NONE == DB_NULL, "an absent number is NULL as it stands");

static struct str parts_text(struct apply *a, const struct item *it) {
    return it->parts ? store_ids_text(a->s, it->parts, it->n_parts) : STR_NONE;
}

static int64_t int_value(const struct work *w, int c) {
    const char *field = (const char *)w->item + columns[c].offset;
    switch (columns[c].special) {
    case 'b':
        return *(const bool *)field;
    case 's':
        return w->story_id;
    case 'f':
        return w->fetched_at;
    default:
        return *(const int64_t *)field;
    }
}

static void fill_column(struct apply *a, struct work *const *works, size_t n, int c,
                        struct db_col *ret) {
    if (columns[c].type == DB_INT) {
        int64_t *ints = apply_ints(a, n);
        for (size_t i = 0; i < n; i++)
            ints[i] = int_value(works[i], c);
        *ret = DB_INTS(ints);
        return;
    }
    struct str *texts = apply_texts(a, n);
    for (size_t i = 0; i < n; i++) {
        const char *field = (const char *)works[i]->item + columns[c].offset;
        texts[i] =
            columns[c].special == 'p' ? parts_text(a, works[i]->item) : *(const struct str *)field;
    }
    *ret = DB_TEXTS(texts);
}

static enum verdict write_rows(struct apply *a, int stmt, struct work *const *works, size_t n) {
    struct db_col cols[N_COLUMNS];
    for (int c = 0; c < N_COLUMNS; c++)
        fill_column(a, works, n, c, &cols[c]);
    return db_each(a->s->db, stmt, cols, N_COLUMNS, n, NULL, NULL, a->e);
}

/* Statements over (id, fetched_at): touch and revisions. */
static enum verdict stamp_rows(struct apply *a, int stmt, struct work *const *works, size_t n) {
    int64_t *ids = apply_ints(a, n), *stamps = apply_ints(a, n);
    for (size_t i = 0; i < n; i++) {
        ids[i] = works[i]->item->id;
        stamps[i] = works[i]->fetched_at;
    }
    const struct db_col cols[] = {DB_INTS(ids), DB_INTS(stamps)};
    return db_each(a->s->db, stmt, cols, 2, n, NULL, NULL, a->e);
}

/* The kids of a row that is not believed are not believed either, whatever their hash says. */
static bool keeps_kids(const struct work *w) {
    return w->action == ACT_UPDATE && w->old_content != ITEM_UNCONFIRMED &&
           w->old_kids == w->item->kids_hash;
}

static bool has_old_kids(const struct work *w) {
    return w->action == ACT_UPDATE && (w->old_kids || w->old_content == ITEM_UNCONFIRMED);
}

static enum verdict drop_kids(struct apply *a, struct work *const *works, size_t n) {
    int64_t *ids = apply_ints(a, n);
    size_t stale = 0;
    for (size_t i = 0; i < n; i++)
        if (has_old_kids(works[i]) && !keeps_kids(works[i]))
            ids[stale++] = works[i]->item->id;
    const struct db_col cols[] = {DB_INTS(ids)};
    return db_each(a->s->db, SQL_KIDS_DELETE, cols, 1, stale, NULL, NULL, a->e);
}

static enum verdict add_kids(struct apply *a, struct work *const *works, size_t n) {
    size_t total = 0;
    for (size_t i = 0; i < n; i++)
        total += works[i]->item->n_kids;
    int64_t *items = apply_ints(a, total), *kids = apply_ints(a, total),
            *orders = apply_ints(a, total);
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        const struct item *it = works[i]->item;
        if (keeps_kids(works[i]))
            continue;
        for (size_t k = 0; k < it->n_kids; k++, at++) {
            items[at] = it->id;
            kids[at] = it->kids[k];
            orders[at] = (int64_t)k;
        }
    }
    a->stats->kids += (int64_t)at;
    const struct db_col cols[] = {DB_INTS(items), DB_INTS(kids), DB_INTS(orders)};
    return db_each(a->s->db, SQL_KIDS_INSERT, cols, 3, at, NULL, NULL, a->e);
}

static enum verdict insert_items(struct apply *a, struct work *const *works, size_t n) {
    enum verdict v = write_rows(a, SQL_ITEMS_INSERT, works, n);
    /* PostgreSQL: another process stored one of them since we looked. Look again. */
    if (v == V_CONFLICT && db_is_duplicate(a->e, "items"))
        return err_wrap(a->e, V_RETRY, "an item was stored by another process meanwhile");
    return v == V_OK ? add_kids(a, works, n) : v;
}

static enum verdict keep_revisions(struct apply *a, struct work *const *works, size_t n) {
    if (a->s->revisions == REVISIONS_NONE)
        return V_OK;
    struct work **kept = arena_alloc(&a->s->scratch, (n + 1) * sizeof(struct work *));
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        if (a->s->revisions == REVISIONS_ALL ||
            works[i]->old_content != works[i]->item->content_hash)
            kept[m++] = works[i];
    a->stats->revisions += (int64_t)m;
    return stamp_rows(a, SQL_REVISIONS_KEEP, kept, m);
}

static enum verdict update_items(struct apply *a, struct work *const *works, size_t n) {
    enum verdict v = keep_revisions(a, works, n);
    if (v == V_OK)
        v = db_run(a->s->db, SQL_FEED_TOGETHER, DB_NO_VALS, NULL, NULL, a->e);
    if (v == V_OK)
        v = write_rows(a, SQL_ITEMS_UPDATE, works, n);
    if (v == V_OK)
        v = drop_kids(a, works, n);
    return v == V_OK ? add_kids(a, works, n) : v;
}

/* A stamp that is there already needs no writing: the same dump once more. */
static enum verdict touch_items(struct apply *a, struct work **works, size_t n) {
    size_t newer = 0;
    for (size_t i = 0; i < n; i++)
        if (works[i]->old_fetched_at != works[i]->fetched_at)
            works[newer++] = works[i];
    return newer ? stamp_rows(a, SQL_ITEMS_TOUCH, works, newer) : V_OK;
}

static size_t pick(const struct apply *a, enum action action, struct work **out) {
    size_t n = 0;
    for (size_t i = 0; i < a->n; i++)
        if (a->works[i].action == action)
            out[n++] = &a->works[i];
    return n;
}

enum verdict apply_write_items(struct apply *a) {
    if (a->n && fault_hit("apply_refuse"))
        return err_set(a->e, V_INVALID, "fault", 0, "injected refusal of a value");
    struct work **works = arena_alloc(&a->s->scratch, (a->n + 1) * sizeof(struct work *));
    size_t n = pick(a, ACT_INSERT, works);
    a->stats->inserted = (int64_t)n;
    enum verdict v = n ? insert_items(a, works, n) : V_OK;
    n = pick(a, ACT_UPDATE, works);
    a->stats->changed = (int64_t)n;
    if (v == V_OK && n && !a->import)
        v = apply_speak(a);
    if (v == V_OK && n)
        v = update_items(a, works, n);
    n = pick(a, ACT_TOUCH, works);
    a->stats->unchanged = (int64_t)n;
    if (v == V_OK && n)
        v = touch_items(a, works, n);
    a->stats->stale = (int64_t)pick(a, ACT_STALE, works);
    return v;
}
