/* A table source to enrich: the flowsheet, in a schema of its owner's on PostgreSQL and much the
 * same on SQLite. Rows have ids from 1 on. */
#ifndef TAIN_TESTS_CONTRACT_FIXTURE_ROWS_H
#define TAIN_TESTS_CONTRACT_FIXTURE_ROWS_H

#include "fixture_cdc.h"

#include "store/claims.h"

#define LEASE INT64_C(30000)

int rows_setup(void **state); /* with an empty flowsheet */
#define ROWS_CASE(fn) cmocka_unit_test_setup_teardown(fn, rows_setup, cdc_teardown)

/* The spec of the flowsheet; `outputs` and `inputs` are its own. */
struct source_spec flowsheet_spec(struct fix *f);
/* Opens a source for the store; `rows_close` before the teardown is not needed: see rows_forget. */
struct source *rows_open(struct store *s, const struct source_spec *spec);
struct source *flowsheet(struct fix *f, struct store *s);
/* What is at fault with a spec: "field index: message". */
const char *rows_refusal(struct fix *f, const struct source_spec *spec);

void add_rows(struct fix *f, int n); /* tracks that are pending, with the next ids */
/* Keys "lo" to "hi" in the arena. */
const struct str *keys_of(struct fix *f, int lo, int hi);

/* One row. The answer of a claim is "won 1 1" (token, attempts), "lost" or "ignored". */
struct row_claim claim_row(struct fix *f, struct store *s, struct source *src, const char *key);
const char *claimed(struct fix *f, struct store *s, struct source *src, const char *key);
bool finalize_row(struct store *s, struct source *src, const char *key, int64_t token,
                  enum source_state state, const char *values);
enum verdict try_finalize(struct store *s, struct source *src, const char *key, int64_t token,
                          enum source_state state, const char *values, struct err *e);
bool release_row(struct store *s, struct source *src, const char *key, int64_t token, bool spent,
                 int64_t wait_ms);
/* Keys, joined by blanks; of the sweep with "+" for one that waits, "!" for one that has failed and
 * "?" for one that was refused. */
const char *swept_as(struct fix *f, struct store *s, struct source *src,
                     const struct sweep_ask *ask);
const char *swept(struct fix *f, struct store *s, struct source *src, size_t max);
const char *pending(struct fix *f, struct store *s, struct source *src, const char *after,
                    size_t max);
/* "status|since is there" of a row, and "token|state|attempts" of its claim. */
const char *row_of(struct fix *f, int id);
const char *claim_state(struct fix *f, int id);

#endif
