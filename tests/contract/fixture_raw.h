/* A plain connection to the database under test, beside the drivers. Private to the fixture. */
#ifndef TAIN_TESTS_CONTRACT_FIXTURE_RAW_H
#define TAIN_TESTS_CONTRACT_FIXTURE_RAW_H

#include "base/str.h"
#include "db/db.h"

struct raw;

struct raw *raw_open(enum db_kind kind, const char *uri, const char *schema);
void raw_close(struct raw *r);
/* Appends the rows as text; NULL out: there are none to be had. False: it failed, see raw_error().
 */
bool raw_run(struct raw *r, const char *sql, struct strbuf *out);
const char *raw_error(struct raw *r);

#endif
