/* What 'tain doctor' asks of the database. Nothing is changed. Runs on the thread that owns the
 * store, which may have been opened without a look at its schema. */
#ifndef TAIN_STORE_HEALTH_H
#define TAIN_STORE_HEALTH_H

#include "store/store.h"

#define HEALTH_TEXT_MAX 200

struct store_health {
    char version[HEALTH_TEXT_MAX]; /* "SQLite 3.40.1", "PostgreSQL 15.5" */
    int schema, schema_wanted;     /* schema 0: there is no archive */
};
MUST_CHECK enum verdict store_health(struct store *s, struct store_health *ret, struct err *e);

#define DAMAGES_MAX 3
/* What of the schema is not there though its version says so: in the database's words, each kind
 * once. */
struct schema_damage {
    size_t n;                                /* different ones */
    size_t n_broken;                         /* statements of ours that cannot be run */
    char what[DAMAGES_MAX][HEALTH_TEXT_MAX]; /* the first of them */
};
/* Every statement that this program knows is prepared, and every index of the migrations looked
 * for. */
MUST_CHECK enum verdict store_check_schema(struct store *s, struct schema_damage *ret,
                                           struct err *e);

/* Writes and takes it back. */
MUST_CHECK enum verdict store_try_write(struct store *s, struct err *e);

/* A look at the database's own structures, "ok" or what is wrong with them. `deep` reads every
 * table, which takes as long as reading the file; without it only the segments are looked at. */
MUST_CHECK enum verdict store_quick_check(struct store *s, bool deep, char ret[HEALTH_TEXT_MAX],
                                          struct err *e);

#endif
