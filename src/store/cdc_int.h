/* What the files of cdc share: a table of the user's as the database describes it, what is to be
 * logged of it, and the SQL that does so. Everything lives in an arena of the caller's. Private to
 * the room. */
#ifndef TAIN_STORE_CDC_INT_H
#define TAIN_STORE_CDC_INT_H

#include "store/cdc.h"
#include "store/store_int.h"

#define CDC_SCRIPT_MAX ((size_t)8 * 1024 * 1024)
#define CDC_KEY_MAX 64
#define CDC_HEAL_ROWS 200 /* each time */

/* "a.b" taken apart: each name as it was written and, unless it was quoted, in lower case too. */
struct cdc_name {
    struct str schema, schema_low; /* absent: none was given */
    struct str name, name_low;
};
/* V_INVALID: not a name. */
MUST_CHECK enum verdict cdc_name_parse(struct str text, struct arena *a, struct cdc_name *ret,
                                       struct err *e);

struct cdc_column {
    struct str name;
    struct str type;   /* PostgreSQL: with its schema, quoted */
    struct str equals; /* PostgreSQL, of a key: the operator */
    int key_place;     /* from 1; 0: not of the key */
    bool plain;        /* an integer, whose text is JSON as it stands */
    bool settled;      /* SQLite: it is never NULL */
    unsigned settings; /* PostgreSQL: what its JSON depends on, bits of cdc_pg_settings() */
};

struct cdc_shape {
    int64_t oid;
    struct str schema, name;
    struct cdc_column *columns;
    size_t n_columns;
    const struct cdc_column *key[CDC_KEY_MAX]; /* in the key's order */
    size_t n_key;
    bool by_row;      /* PostgreSQL: a partition or the like, to which statements may not be said */
    bool partitioned; /* PostgreSQL */
    bool anothers;    /* PostgreSQL: its owner is not who logs it; see cdc_pg_add_strange() */
    struct str rowid; /* SQLite: a name of the row number; absent: it has none */
    struct str uniques; /* SQLite: other unique indexes, as conditions; see cdc_sqlite.c */
    struct str refusal; /* why it cannot be logged; absent: it can */
};

/* What is asked of it. */
struct cdc_want {
    int number;
    const struct cdc_column **columns; /* NULL: all */
    size_t n_columns;
};

/* Looks the columns up and leaves out what was named twice; n 0: all. False: *ret_missing is none.
 */
MUST_CHECK bool cdc_choose(const struct cdc_shape *t, const struct str *names, size_t n,
                           struct arena *a, struct cdc_want *w, struct str *ret_missing);

/* A column by its name as it is written, else whatever the case; NULL: there is none. */
const struct cdc_column *cdc_column_of(const struct cdc_shape *t, struct str name);

/* A table by its name. V_NOT_FOUND: there is no such table; a refusal stands in *ret. to_log: it
 * must bear triggers of ours, too. */
MUST_CHECK enum verdict cdc_look(struct store *s, const struct cdc_name *n, bool to_log,
                                 struct arena *a, struct cdc_shape *ret, struct err *e);
/* By the database's kind. */
MUST_CHECK enum verdict cdc_pg_look(struct store *s, const struct cdc_name *n, bool to_log,
                                    struct arena *a, struct cdc_shape *ret, struct err *e);
MUST_CHECK enum verdict cdc_sqlite_look(struct store *s, const struct cdc_name *n, struct arena *a,
                                        struct cdc_shape *ret, struct err *e);
/* The statements that set the triggers up, or take all of this number away. */
void cdc_pg_install(const struct store *s, const struct cdc_shape *t, const struct cdc_want *w,
                    struct strbuf *out);
void cdc_sqlite_install(const struct cdc_shape *t, const struct cdc_want *w, struct strbuf *out);
void cdc_pg_remove(const struct store *s, int number, struct strbuf *out);
void cdc_sqlite_remove(int number, struct strbuf *out);
void cdc_sqlite_body(const struct cdc_shape *t, const struct cdc_want *w, struct strbuf *out);
/* The body of the function that logs, and of the one that healing asks for a row by its key. */
void cdc_pg_body(const struct store *s, const struct cdc_shape *t, const struct cdc_want *w,
                 struct strbuf *out);
void cdc_pg_again(const struct cdc_shape *t, const struct cdc_want *w, struct strbuf *out);
/* An SQL condition: the database has a cast that runs code of neither ours nor a superuser's. To
 * make JSON of a row is to run the casts of its types, with the rights of who does it; so the owner
 * of a table could get at the rights of whoever logs it, and where he is not the same it is asked.
 */
void cdc_pg_add_strange(struct strbuf *out);
/* Sessions may disagree on how some types look. The settings that the functions have of their own,
 * so that a row looks the same in all of them, as bits; 0: no column that is logged needs one. */
unsigned cdc_pg_settings(const struct cdc_shape *t, const struct cdc_want *w);
/* The function that logs has none of its own, not even a path to look names up in: each of its
 * names has a schema, no type of its columns runs code of the user's, and it sees to the time zone.
 */
bool cdc_pg_bare(const struct cdc_shape *t, const struct cdc_want *w);

/* "a""b" and 'a''b', safe whatever is in them and whatever the session's settings. */
void cdc_add_name(struct strbuf *out, struct str name);
void cdc_add_text(struct strbuf *out, enum db_kind kind, struct str text);
/* An SQL text with the name as a JSON member: '{"a":'. */
void cdc_add_member(struct strbuf *out, enum db_kind kind, const char *before, struct str name);

/* The triggers of `number` were made anew in this transaction, before which store_cdc_watch() was
 * called: what it sees now is as it should be, unless something was amiss before with it or with
 * `gone`, whose place it takes (0: none). */
MUST_CHECK enum verdict cdc_remark(struct store *s, int number, int gone, struct err *e);

/* Commands that mend: install as it is, but for a column that is gone (absent: none); remove; an
 * SQL statement for one of ours. */
struct str cdc_mend_install(struct arena *a, const struct cdc_table *t, struct str columns_json,
                            struct str gone);
struct str cdc_mend_remove(struct arena *a, const struct cdc_table *t);
struct str cdc_mend_enable(struct arena *a, const struct cdc_table *t);

/* ["a","b"] and back. */
struct str cdc_names_json(struct arena *a, const struct str *names, size_t n);
MUST_CHECK bool cdc_names_read(struct arena *a, struct str json, struct str **ret, size_t *ret_n);

#endif
