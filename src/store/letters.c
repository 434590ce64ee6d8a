#include "store/letters.h"

#include "store/store_int.h"

#include <string.h>

static void copy_text(char *out, size_t size, struct str s) {
    size_t n = s.n < size ? s.n : size - 1;
    if (n)
        memcpy(out, s.p, n);
    out[n] = '\0';
}

struct listing {
    letter_fn *fn;
    void *ctx;
};

static enum verdict read_letter(void *ctx, const struct db_row *row) {
    struct listing *l = ctx;
    struct letter letter = {
        .id = db_row_int(row, 0),
        .attempts = db_row_int(row, 3),
        .at = db_row_int(row, 4),
        .segment_id = db_row_int(row, 6),
    };
    copy_text(letter.origin, sizeof letter.origin, db_row_text(row, 1));
    copy_text(letter.cls, sizeof letter.cls, db_row_text(row, 2));
    copy_text(letter.error, sizeof letter.error, db_row_text(row, 5));
    l->fn(l->ctx, &letter);
    return V_OK;
}

#define CHOICE(c) DBI((c)->lo), DBI((c)->hi), DBC((c)->cls ? (c)->cls : "")

enum verdict store_letters(struct store *s, const struct letter_choice *c, int64_t max,
                           letter_fn *fn, void *ctx, struct err *e) {
    struct listing l = {fn, ctx};
    return db_run(s->db, SQL_LETTERS_LIST, DB_VALS(CHOICE(c), DBI(max)), read_letter, &l, e);
}

enum verdict store_count_letters(struct store *s, const struct letter_choice *c, int64_t *ret,
                                 struct err *e) {
    return db_run_int(s->db, SQL_LETTERS_COUNT, DB_VALS(CHOICE(c)), ret, e);
}

static enum verdict read_extent(void *ctx, const struct db_row *row) {
    int64_t *extent = ctx;
    for (int i = 0; i < 2; i++)
        extent[i] = db_row_int(row, i) == DB_NULL ? 0 : db_row_int(row, i);
    return V_OK;
}

static enum verdict replay(struct store *s, const struct letter_choice *c, int64_t *ret_n,
                           int64_t extent[2], struct err *e) {
    enum verdict v = store_count_letters(s, c, ret_n, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_LETTERS_REPLAY_QUEUE, DB_VALS(CHOICE(c)), NULL, NULL, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_LETTERS_REPLAY, DB_VALS(CHOICE(c)), NULL, NULL, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_SEGMENTS_WAKE_DUE, DB_NO_VALS, NULL, NULL, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_LETTERS_EXTENT, DB_VALS(DBI(c->lo), DBI(c->hi)), read_extent, extent,
                   e);
    return v;
}

enum verdict store_replay_letters(struct store *s, const struct letter_choice *c, int64_t *ret_n,
                                  int64_t *ret_lo, int64_t *ret_hi, struct err *e) {
    int64_t extent[2] = {0, 0};
    enum verdict v = fsm_check(&exception_fsm, EXC_DEAD_LETTER, EXC_PENDING, e);
    if (v == V_OK)
        v = fsm_check(&segment_fsm, SEG_DEAD_LETTER, SEG_PENDING, e);
    if (v == V_OK)
        v = store_plan_begin(s, e);
    if (v != V_OK)
        return v;
    v = store_plan_end(s, replay(s, c, ret_n, extent, e), e);
    *ret_lo = extent[0];
    *ret_hi = extent[1];
    return v;
}

static enum verdict accept(struct store *s, const struct letter_choice *c, const char *reason,
                           int64_t *ret_n, int64_t *ret_stored, struct err *e) {
    enum verdict v = store_count_letters(s, c, ret_n, e);
    if (v == V_OK)
        v = db_run_int(s->db, SQL_LETTERS_COUNT_STORED, DB_VALS(CHOICE(c)), ret_stored, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_LETTERS_ACCEPT_QUEUE, DB_VALS(CHOICE(c)), NULL, NULL, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_LETTERS_ACCEPT_STORED, DB_VALS(CHOICE(c)), NULL, NULL, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_LETTERS_ACCEPT, DB_VALS(CHOICE(c), DBC(reason)), NULL, NULL, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_SEGMENTS_SETTLE, DB_NO_VALS, NULL, NULL, e);
    return v;
}

enum verdict store_accept_letters(struct store *s, const struct letter_choice *c,
                                  const char *reason, int64_t *ret_n, int64_t *ret_stored,
                                  struct err *e) {
    CLEANUP(strbuf_release) struct strbuf words;
    strbuf_init(&words, LETTER_ERROR_MAX);
    strbuf_addf(&words, "accepted by operator: %.280s", reason ? reason : "no reason given");
    enum verdict v = fsm_check(&exception_fsm, EXC_DEAD_LETTER, EXC_TERMINAL_MISSING, e);
    if (v == V_OK)
        v = fsm_check(&segment_fsm, SEG_DEAD_LETTER, SEG_DONE, e);
    if (v == V_OK)
        v = store_plan_begin(s, e);
    return v == V_OK ? store_plan_end(s, accept(s, c, words.p, ret_n, ret_stored, e), e) : v;
}

/* The columns of the known_* statements, in their order. */
enum { TEXT, NUMBER, INSTANT };
struct column {
    const char *name;
    int kind;
};

static const struct column item_columns[] = {
    {"type", TEXT}, {"deleted", NUMBER}, {"dead", NUMBER}, {"last_fetched_at", INSTANT}, {NULL, 0},
};
static const struct column exception_columns[] = {
    {"segment_id", NUMBER},
    {"purpose", TEXT},
    {"start_id", NUMBER},
    {"end_id", NUMBER},
    {"status", TEXT},
    {"state", TEXT},
    {"failure_class", TEXT},
    {"attempts", NUMBER},
    {"rung", NUMBER},
    {"next_retry_at", INSTANT},
    {"updated_at", INSTANT},
    {"last_error", TEXT},
    {NULL, 0},
};
static const struct column letter_columns[] = {
    {"source", TEXT},           {"state", TEXT},
    {"failure_class", TEXT},    {"attempts", NUMBER},
    {"next_retry_at", INSTANT}, {"first_at", INSTANT},
    {"last_at", INSTANT},       {"resolved_at", INSTANT},
    {"last_error", TEXT},       {NULL, 0},
};
static const struct column segment_columns[] = {
    {"segment_id", NUMBER},     {"start_id", NUMBER},         {"end_id", NUMBER}, {"status", TEXT},
    {"scan_cursor_id", NUMBER}, {"unresolved_count", NUMBER}, {NULL, 0},
};

static const struct {
    const char *table;
    int stmt;
    const struct column *columns;
} known_tables[] = {
    {"item", SQL_KNOWN_ITEM, item_columns},
    {"exception", SQL_KNOWN_EXCEPTIONS, exception_columns},
    {"dead_letter", SQL_KNOWN_LETTERS, letter_columns},
    {"mirror_segment", SQL_KNOWN_SEGMENT, segment_columns},
};

#define MAX_COLUMNS 16

struct knowing {
    known_fn *fn;
    void *ctx;
    const char *table;
    const struct column *columns;
    int64_t rows;
};

static enum verdict read_known(void *ctx, const struct db_row *row) {
    struct knowing *k = ctx;
    struct known_field fields[MAX_COLUMNS];
    size_t n = 0;
    for (; k->columns[n].name; n++) {
        bool text = k->columns[n].kind == TEXT;
        fields[n] = (struct known_field){
            .name = k->columns[n].name,
            .number = !text,
            .instant = k->columns[n].kind == INSTANT,
            .value = text ? 0 : db_row_int(row, (int)n),
            .text = text ? db_row_text(row, (int)n) : STR_NONE,
        };
    }
    k->rows++;
    k->fn(k->ctx, k->table, fields, n);
    return V_OK;
}

enum verdict store_known(struct store *s, int64_t id, known_fn *fn, void *ctx, struct err *e) {
    struct knowing k = {.fn = fn, .ctx = ctx};
    enum verdict v = V_OK;
    for (size_t i = 0; i < ARRAY_LEN(known_tables) && v == V_OK; i++) {
        k.table = known_tables[i].table;
        k.columns = known_tables[i].columns;
        v = db_run(s->db, known_tables[i].stmt, DB_VALS(DBI(id)), read_known, &k, e);
    }
    if (v == V_OK && k.rows == 0)
        return err_set(e, V_NOT_FOUND, "store", 0, "nothing is known of this id");
    return v;
}
