/* Between the two halves of the text that logs a table on PostgreSQL: cdc_pg_text.c has statements,
 * cdc_pg_body.c the function around them. Nothing is owned here; any thread. */
#ifndef TAIN_STORE_CDC_PG_INT_H
#define TAIN_STORE_CDC_PG_INT_H

#include "store/cdc_int.h"

/* An operator, and a comparison with what fired the trigger, whatever the path of the session. */
#define OP(sign) " OPERATOR(pg_catalog." sign ") "
#define IS_OP(word) "TG_OP" OP("=") "'" word "'"
#define INDENT "                "

/* What is being written, and from where it takes its rows. */
struct cdc_pg_text {
    struct strbuf *out;
    const struct store *s;
    const struct cdc_shape *t;
    const struct cdc_want *w;
    const char *old_rows, *new_rows;
    const char *batch, *at; /* of what is logged: its number, and when */
    bool dynamic;           /* the text will be within an EXECUTE */
};

enum cdc_pg_piece { ROWS_INSERTED, ROWS_DELETED, KEYS_LEFT, KEYS_STAYED, KEYS_COME };

/* Our schema with a dot; the next number of a batch; the key of a row as JSON, and as a text that
 * differs when anything does. */
void cdc_pg_add_ours(struct strbuf *out, const struct store *s);
void cdc_pg_add_sequence(const struct cdc_pg_text *x);
void cdc_pg_add_key(struct strbuf *out, const struct cdc_shape *t, const char *row);
void cdc_pg_add_key_text(struct strbuf *out, const struct cdc_shape *t, const char *row);

/* Whole statements. piece: as it stands or behind an EXECUTE; again: rows are read once more.
 * plain: all of `rows` as they were handed over. one: if there is one row only, and with `old`, one
 * that has its key still. resync: no row, but what is to be said of the whole table. */
void cdc_pg_write_piece(const struct cdc_pg_text *x, enum cdc_pg_piece p, bool again);
void cdc_pg_write_plain(const struct cdc_pg_text *x, const char *action, const char *rows);
void cdc_pg_write_one(const struct cdc_pg_text *x, const char *action, const char *rows,
                      const char *old);
void cdc_pg_write_resync(const struct cdc_pg_text *x, const char *action);

#endif
