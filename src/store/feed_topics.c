#include "store/feed_topics.h"

#include "store/cdc_int.h"

struct topic_row {
    struct feed_topic topic;
    struct str file;
};

struct reading {
    struct arena *a;
    struct topic_row *rows;
    size_t n;
    int64_t version;
};

static enum verdict take_topic(void *ctx, const struct db_row *row) {
    struct reading *r = ctx;
    struct str *states;
    size_t n;
    r->version = db_row_int(row, 0);
    if (!db_row_text(row, 1).p || !cdc_names_read(r->a, db_row_text(row, 6), &states, &n))
        return V_OK;
    r->rows[r->n++] = (struct topic_row){
        .topic = {.source = arena_str(r->a, db_row_text(row, 1)),
                  .topic = arena_str(r->a, db_row_text(row, 2)),
                  .schema = arena_str(r->a, db_row_text(row, 3)),
                  .table = arena_str(r->a, db_row_text(row, 4)),
                  .column = arena_str(r->a, db_row_text(row, 5)),
                  .states = states,
                  .n_states = n},
        .file = arena_str(r->a, db_row_text(row, 7)),
    };
    return V_OK;
}

static enum verdict read_all(struct store *s, struct arena *a, struct reading *ret, struct err *e) {
    *ret = (struct reading){.a = a};
    ret->rows = arena_alloc(a, FEED_TOPICS_MAX * sizeof *ret->rows);
    return db_run(s->db, SQL_FEED_TOPICS_GET, DB_VALS(DBI(FEED_TOPICS_MAX)), take_topic, ret, e);
}

enum verdict store_feed_topics(struct store *s, struct arena *a, const struct feed_topic **ret,
                               size_t *ret_n, int64_t *ret_version, struct err *e) {
    struct reading r;
    enum verdict v = read_all(s, a, &r, e);
    if (v != V_OK)
        return v;
    struct feed_topic *all = arena_alloc(a, (r.n + 1) * sizeof *all);
    for (size_t i = 0; i < r.n; i++)
        all[i] = r.rows[i].topic;
    *ret = all;
    *ret_n = r.n;
    *ret_version = r.version;
    return V_OK;
}

static enum verdict note_change(void *ctx, const struct db_row *row UNUSED) {
    *(bool *)ctx = true;
    return V_OK;
}

static enum verdict put(struct store *s, struct str file, const struct feed_topic *t,
                        bool *ret_changed, struct err *e) {
    struct str states = cdc_names_json(&s->scratch, t->states, t->n_states);
    return db_run(s->db, SQL_FEED_TOPIC_PUT,
                  DB_VALS(DBT(t->source), DBT(t->topic), DBT(t->schema), DBT(t->table),
                          DBT(t->column), DBT(states), DBT(file)),
                  note_change, ret_changed, e);
}

/* Does the file still want it? What it says nothing of is its own to forget, and nobody else's. */
static bool is_wanted(const struct topic_row *row, struct str file,
                      const struct feed_topic *sources, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (str_eq(sources[i].source, row->topic.source))
            return sources[i].topic.p != NULL;
    return !str_eq(row->file, file);
}

static enum verdict declare(struct store *s, struct str file, const struct feed_topic *sources,
                            size_t n, struct err *e) {
    struct reading had;
    bool changed = false;
    enum verdict v = db_run(s->db, SQL_FEED_LOCK, DB_NO_VALS, NULL, NULL, e);
    if (v == V_OK)
        v = read_all(s, &s->scratch, &had, e);
    for (size_t i = 0; v == V_OK && i < had.n; i++) {
        if (is_wanted(&had.rows[i], file, sources, n))
            continue;
        changed = true;
        v = db_run(s->db, SQL_FEED_TOPIC_DROP, DB_VALS(DBT(had.rows[i].topic.source)), NULL, NULL,
                   e);
    }
    for (size_t i = 0; v == V_OK && i < n; i++)
        if (sources[i].topic.p)
            v = put(s, file, &sources[i], &changed, e);
    if (v == V_OK && changed)
        v = db_run(s->db, SQL_FEED_TOPICS_CHANGED, DB_NO_VALS, NULL, NULL, e);
    return v;
}

enum verdict store_feed_topics_declare(struct store *s, struct str file,
                                       const struct feed_topic *sources, size_t n, struct err *e) {
    arena_reset(&s->scratch);
    enum verdict v = db_begin(s->db, e);
    return v == V_OK ? store_end(s, declare(s, file, sources, n, e), e) : v;
}
