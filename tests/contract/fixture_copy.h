/* PostgreSQL: a database for each test that is a copy of one with an archive in it, since to copy
 * one takes a third of what the migrations do. Private to the fixture. */
#ifndef TAIN_TESTS_CONTRACT_FIXTURE_COPY_H
#define TAIN_TESTS_CONTRACT_FIXTURE_COPY_H

#include "fixture.h"

/* Makes f->uri and f->schema those of a new copy; width: of its partitions, 0 for none. */
void copy_make(struct fix *f, int64_t width);
/* Drops it, whoever is still connected; nothing where there is none. */
void copy_drop(struct fix *f);

#endif
