/* A table source as its statements need it. Its texts are templates (claims_pg.c, claims_sqlite.c)
 * with places in braces, which claims_text.c fills with quoted names and texts once per source.
 * Everything lives in the source's arena. Private to the room. */
#ifndef TAIN_STORE_CLAIMS_INT_H
#define TAIN_STORE_CLAIMS_INT_H

#include "store/cdc_int.h"
#include "store/claims.h"

#define SOURCE_SQL_MAX ((size_t)1024 * 1024)
#define SOURCE_NAME_MAX 200
#define SOURCE_FILTER_MAX 16384
#define SOURCE_STATE_MAX 200

enum source_key_kind { KEY_INT, KEY_TEXT, KEY_UUID };
enum source_since { SINCE_NONE, SINCE_TIME, SINCE_MS };

/* A column as the database describes it. */
struct source_field {
    struct str name, type;
    int64_t type_id, modifier; /* PostgreSQL */
    bool nullable, readable, writable, unique;
};

enum source_stmt {
    SRC_CLAIM,
    SRC_GRANT, /* SQLite: the token of a row that was won */
    SRC_WON,   /* SQLite: what there is to know of it */
    SRC_LOST,  /* SQLite: why a row was not */
    SRC_FENCE, /* SQLite: the token's row first */
    SRC_FINALIZE,
    SRC_FENCE_RELEASE,
    SRC_RELEASE,
    SRC_SWEEP,
    SRC_SWEEP_ONE,
    SRC_STALE, /* keys of what SRC_SWEEP would take */
    SRC_ORPHANS,
    SRC_ORPHANS_ONE,
    SRC_BUSY, /* keys of what SRC_ORPHANS may take: the filter is not looked at */
    SRC_SWEEP_REFUSED,
    SRC_ORPHAN_FREE, /* SQLite */
    SRC_PENDING,
    SRC_PENDING_AFTER,
    SRC_PENDING_BETWEEN,
    SRC_UNFILTERED, /* what is pending, whatever the filter says */
    SRC_PEEK,
    SRC_RECHECK,
    SRC_RECHECK_ONE,
    SRC_RECHECK_ROW, /* SQLite */
    SRC_OLD,         /* keys of what SRC_RECHECK would take */
    SRC_RECHECK_REFUSED,
    SRC_COUNT,
    SRC_WAITING,
    SRC_N
};

/* NULL: this database has none of it. */
struct source_template {
    const char *name, *text;
};
extern const struct source_template source_templates_pg[SRC_N], source_templates_sqlite[SRC_N];

struct source {
    struct store *store;
    struct arena arena;
    struct source_spec spec; /* a copy; names of columns as they were given */
    struct cdc_shape shape;
    struct source_field *fields; /* as shape.columns */
    const struct cdc_column *key, *status, *since;
    const struct cdc_column **inputs, **outputs;
    struct source_column *output_types;
    enum source_key_kind key_kind;
    int64_t key_min, key_max; /* of integers */
    bool key_nullable;
    enum source_since since_kind;
    int stmts[SRC_N]; /* -1: none */
};

const struct source_field *source_field(const struct source *src, const struct cdc_column *c);

/* What kind of column it is. */
void source_describe(enum db_kind kind, const struct source_field *f, struct source_column *ret);
/* False: it cannot be a key, or cannot say since when. */
MUST_CHECK bool source_key_kind(enum db_kind kind, struct source *src,
                                const struct source_field *f);
MUST_CHECK bool source_since_kind(enum db_kind kind, struct source *src,
                                  const struct source_field *f);

/* Shows a statement to the database and forgets it. V_INVALID: the database does not take it. */
MUST_CHECK enum verdict source_probe(const struct source *src, const char *text, struct err *e);

/* V_INVALID: the status column does not take state i, as far as can be said without trying. */
MUST_CHECK enum verdict source_state_check(struct source *src, size_t i, struct err *e);

/* V_INVALID: it is not one expression, or the database could take it for more than that. */
MUST_CHECK enum verdict source_filter_check(enum db_kind kind, struct str filter, struct err *e);

/* Fills a template; V_LIMIT: it is too long. */
MUST_CHECK enum verdict source_fill(const struct source *src, const char *text, struct strbuf *out,
                                    struct err *e);

/* The table said no, or the filter: that is of one row, not of the database. */
static inline bool source_refused(enum verdict v) {
    return v == V_CONFLICT || v == V_INVALID || v == V_LIMIT;
}

/* Keys of an answer's first column, at most max. */
struct source_key_list {
    struct arena *a;
    struct str *keys;
    size_t n, max;
};
struct source_key_list source_key_list(struct arena *a, size_t max);
enum verdict source_take_key(void *list, const struct db_row *row); /* a db_row_fn */

extern const char *const source_outcomes[ROW_STATES]; /* NULL: it is not final */
/* At most 500 characters of an error, as text; in the scratch arena. */
struct str source_error(struct store *s, struct str text);

/* Batches on SQLite; the caller holds the transaction. */
MUST_CHECK enum verdict source_lite_claim(struct store *s, const struct source *src, struct str key,
                                          struct str holder, int64_t lease_ms, struct arena *a,
                                          struct row_claim *ret, struct err *e);
MUST_CHECK enum verdict source_lite_finalize(struct store *s, const struct source *src,
                                             const struct verdict_on_row *row, bool *ret_done,
                                             struct err *e);
MUST_CHECK enum verdict source_lite_release(struct store *s, const struct source *src,
                                            const struct release *row, bool *ret_done,
                                            struct err *e);

/* Can the column hold this key? */
bool source_key_fits(const struct source *src, struct str key);
/* One that fits, as the database writes it. */
struct str source_key_text(const struct source *src, struct str key, struct arena *a);

/* Keys of a batch, to be found by their text. */
struct source_keys {
    const struct str *keys;
    size_t n;
    size_t *order; /* their numbers, sorted */
};
void source_keys_sort(struct source_keys *ret, const struct str *keys, size_t n, struct arena *a);
/* The first one that is called so. */
MUST_CHECK bool source_keys_find(const struct source_keys *k, struct str key, size_t *ret);

#endif
