/* Tables of the user's own beside the archive: in a schema of theirs on PostgreSQL. */
#ifndef TAIN_TESTS_CONTRACT_FIXTURE_CDC_H
#define TAIN_TESTS_CONTRACT_FIXTURE_CDC_H

#include "fixture.h"

#include "store/cdc.h"
#include "store/feed.h"

int cdc_setup(void **state);
int cdc_teardown(void **state);
#define CDC_CASE(fn) cmocka_unit_test_setup_teardown(fn, cdc_setup, cdc_teardown)

/* "schema.name", or "name" on SQLite. */
const char *user_table(struct fix *f, const char *name);
/* Without columns: all; they are given as "a,b". */
enum verdict try_install(struct fix *f, const char *table, const char *columns, bool is_public,
                         struct cdc_table *ret, struct err *e);
int install(struct fix *f, const char *table, const char *columns); /* its number */
/* "action key data; ..." of all that was logged, and forgets it. */
const char *logged(struct fix *f);
/* What the list says of a table of this name; its trouble, or "" . */
struct cdc_table listed(struct fix *f, const char *name);
int64_t heal(struct fix *f);

#endif
