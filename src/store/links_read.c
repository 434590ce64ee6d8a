/* What pages ask of links. */
#include "store/links_int.h"

#include <ctype.h>
#include <string.h>

#define SEARCH_LOOKS 50000
#define SEARCH_PAGE 500
#define WORDS_MAX 8

void link_of_row(struct arena *a, const struct db_row *row, struct link *ret) {
    *ret = (struct link){.id = db_row_int(row, 0),
                         .url = arena_str(a, db_row_text(row, 1)),
                         .url_key = arena_str(a, db_row_text(row, 2)),
                         .title = arena_str(a, db_row_text(row, 3)),
                         .description = arena_str(a, db_row_text(row, 4)),
                         .summary = arena_str(a, db_row_text(row, 5)),
                         .source = arena_str(a, db_row_text(row, 6)),
                         .submitted_by = arena_str(a, db_row_text(row, 7)),
                         .parent_id = link_or_zero(db_row_int(row, 8)),
                         .created_at = db_row_int(row, 9)};
}

struct one_link {
    struct arena *a;
    struct link *ret;
    bool found;
};

static enum verdict read_one(void *ctx, const struct db_row *row) {
    struct one_link *one = ctx;
    link_of_row(one->a, row, one->ret);
    one->found = true;
    return V_OK;
}

static enum verdict no_link(int64_t id, struct err *e) {
    return err_set(e, V_NOT_FOUND, "links", 0, "there is no link %lld", (long long)id);
}

enum verdict store_link_get(struct store *s, struct arena *a, int64_t id, struct link *ret,
                            struct err *e) {
    struct one_link one = {.a = a, .ret = ret};
    enum verdict v = db_run(s->db, SQL_LINK_BY_ID, DB_VALS(DBI(id)), read_one, &one, e);
    if (v == V_OK && !one.found)
        v = db_run(s->db, SQL_LINK_BY_ALIAS, DB_VALS(DBI(id)), read_one, &one, e);
    return v == V_OK && !one.found ? no_link(id, e) : v;
}

enum verdict store_link_find(struct store *s, struct arena *a, struct str url_key, struct link *ret,
                             struct err *e) {
    struct one_link one = {.a = a, .ret = ret};
    enum verdict v = db_run(s->db, SQL_LINK_BY_KEY, DB_VALS(DBT(url_key)), read_one, &one, e);
    return v == V_OK && !one.found
               ? err_set(e, V_NOT_FOUND, "links", 0, "there is no link with this key")
               : v;
}

/* --- the state of its tasks --- */

struct state_reading {
    struct arena *a;
    struct link_processing *ret;
    bool found;
};

static enum verdict read_state(void *ctx, const struct db_row *row) {
    struct state_reading *r = ctx;
    int col = 0;
    for (size_t t = 0; t < LINK_TASKS; t++, col += 3) {
        r->ret->tasks[t].status = link_status_of(db_row_text(row, col));
        r->ret->tasks[t].at = link_or_zero(db_row_int(row, col + 1));
        r->ret->tasks[t].error = arena_str(r->a, db_row_text(row, col + 2));
    }
    r->ret->target_id = link_or_zero(db_row_int(row, col));
    r->ret->created_at = db_row_int(row, col + 1);
    r->ret->updated_at = db_row_int(row, col + 2);
    r->found = true;
    return V_OK;
}

static enum verdict read_processing(struct store *s, int64_t id, struct state_reading *r,
                                    struct err *e) {
    r->ret->link_id = id;
    return db_run(s->db, link_all(s, LINK_PROCESSING), DB_VALS(DBI(id)), read_state, r, e);
}

enum verdict store_link_processing(struct store *s, struct arena *a, int64_t id,
                                   struct link_processing *ret, struct err *e) {
    struct state_reading r = {.a = a, .ret = ret};
    struct link link;
    *ret = (struct link_processing){0};
    enum verdict v = links_prepare(s, e);
    if (v == V_OK)
        v = read_processing(s, id, &r, e);
    if (v != V_OK || r.found)
        return v;
    v = store_link_get(s, a, id, &link, e);
    if (v == V_OK && link.id != id)
        v = read_processing(s, link.id, &r, e);
    return v == V_OK && !r.found ? no_link(id, e) : v;
}

/* --- who discusses it --- */

struct discussion_reading {
    struct arena *a;
    struct link_discussion *rows;
    size_t n;
};

static enum verdict read_discussion(void *ctx, const struct db_row *row) {
    struct discussion_reading *r = ctx;
    r->rows[r->n++] =
        (struct link_discussion){.site = link_site_of(db_row_text(row, 0)),
                                 .external_id = arena_str(r->a, db_row_text(row, 1)),
                                 .external_url = arena_str(r->a, db_row_text(row, 2)),
                                 .title = arena_str(r->a, db_row_text(row, 3)),
                                 .subreddit = arena_str(r->a, db_row_text(row, 4)),
                                 .score = db_row_int(row, 5),
                                 .num_comments = db_row_int(row, 6),
                                 .external_created_at = link_or_zero(db_row_int(row, 7)),
                                 .discovered_at = db_row_int(row, 8)};
    return V_OK;
}

enum verdict store_link_discussions(struct store *s, struct arena *a, int64_t id,
                                    const struct link_discussion **ret, size_t *ret_n,
                                    struct err *e) {
    struct discussion_reading r = {.a = a};
    r.rows = arena_alloc(a, LINK_DISCUSSIONS_MAX * sizeof *r.rows);
    enum verdict v = db_run(s->db, SQL_LINK_DISCUSSIONS,
                            DB_VALS(DBI(id), DBI(LINK_DISCUSSIONS_MAX)), read_discussion, &r, e);
    *ret = r.rows;
    *ret_n = r.n;
    return v;
}

/* --- lists --- */

struct listing {
    struct arena *a;
    struct str words[WORDS_MAX];
    size_t n_words;
    struct link_entry *rows;
    size_t n, max;
    int64_t ids[LINK_LIST_MAX]; /* what a search found */
    size_t n_ids, looked_at;
    int64_t last;
};

static enum verdict read_entry(void *ctx, const struct db_row *row) {
    struct listing *l = ctx;
    struct link_entry *entry = &l->rows[l->n++];
    *entry = (struct link_entry){0};
    link_of_row(l->a, row, &entry->link);
    entry->discussions[LINK_SITE_REDDIT] = db_row_int(row, LINK_COLUMNS);
    entry->comments[LINK_SITE_REDDIT] = db_row_int(row, LINK_COLUMNS + 1);
    entry->discussions[LINK_SITE_HN] = db_row_int(row, LINK_COLUMNS + 2);
    entry->comments[LINK_SITE_HN] = db_row_int(row, LINK_COLUMNS + 3);
    entry->pending = db_row_int(row, LINK_COLUMNS + 4) > 0;
    return V_OK;
}

static enum verdict list(struct store *s, struct listing *l, int64_t before, size_t max,
                         struct err *e) {
    return db_run(s->db, link_all(s, LINK_LIST), DB_VALS(DBI(before), DBI((int64_t)max)),
                  read_entry, l, e);
}

/* Letters of ASCII are alike in both cases. */
static bool has_word(struct str text, struct str word) {
    for (size_t i = 0; i + word.n <= text.n; i++) {
        size_t k = 0;
        while (k < word.n && tolower((unsigned char)text.p[i + k]) == (unsigned char)word.p[k])
            k++;
        if (k == word.n)
            return true;
    }
    return false;
}

static bool matches(const struct listing *l, const struct db_row *row) {
    for (size_t w = 0; w < l->n_words; w++) {
        bool found = false;
        for (int c = 1; c <= 4 && !found; c++)
            found = has_word(db_row_text(row, c), l->words[w]);
        if (!found)
            return false;
    }
    return true;
}

static enum verdict look_at(void *ctx, const struct db_row *row) {
    struct listing *l = ctx;
    l->last = db_row_int(row, 0);
    l->looked_at++;
    if (l->n_ids < l->max && matches(l, row))
        l->ids[l->n_ids++] = l->last;
    return V_OK;
}

/* First which links, then what there is to be said of them. */
static enum verdict search(struct store *s, struct listing *l, struct err *e) {
    enum verdict v = V_OK;
    size_t seen = 0;
    do {
        l->looked_at = 0;
        v = db_run(s->db, SQL_LINK_SCAN, DB_VALS(DBI(l->last), DBI(SEARCH_PAGE)), look_at, l, e);
        seen += l->looked_at;
    } while (v == V_OK && l->n_ids < l->max && l->looked_at == SEARCH_PAGE && seen < SEARCH_LOOKS);
    for (size_t i = 0; v == V_OK && i < l->n_ids; i++)
        v = list(s, l, l->ids[i] + 1, 1, e);
    return v;
}

static void split_words(struct listing *l, struct str text) {
    char *low = arena_alloc(l->a, text.n + 1);
    for (size_t i = 0; i < text.n; i++)
        low[i] = (char)tolower((unsigned char)text.p[i]);
    for (size_t i = 0; i < text.n && l->n_words < WORDS_MAX;) {
        size_t from = i;
        while (i < text.n && !isspace((unsigned char)low[i]))
            i++;
        if (i > from)
            l->words[l->n_words++] = (struct str){low + from, i - from};
        i++;
    }
}

enum verdict store_link_list(struct store *s, struct arena *a, const struct link_query *query,
                             const struct link_entry **ret, size_t *ret_n, struct err *e) {
    struct listing l = {.a = a, .max = query->max < LINK_LIST_MAX ? query->max : LINK_LIST_MAX};
    l.last = query->before > 0 ? query->before : INT64_MAX;
    l.rows = arena_alloc(a, (l.max + 1) * sizeof *l.rows);
    split_words(&l, query->words);
    enum verdict v = links_prepare(s, e);
    if (v == V_OK)
        v = l.n_words ? search(s, &l, e) : list(s, &l, l.last, l.max, e);
    *ret = l.rows;
    *ret_n = l.n;
    return v;
}
