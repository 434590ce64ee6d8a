/* Runs a table as one cmocka test per row, each under its own name. */
#ifndef TAIN_TESTS_DB_ROWS_H
#define TAIN_TESTS_DB_ROWS_H

#include "base/attr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* `table` is an array of structs that have a `name`. */
#define RUN_ROWS(group, table, fn)                                                   \
    ({                                                                               \
        static struct CMUnitTest tests_[ARRAY_LEN(table)];                           \
        for (size_t i_ = 0; i_ < ARRAY_LEN(table); i_++)                             \
            tests_[i_] = (struct CMUnitTest){.name = (table)[i_].name,               \
                                             .test_func = (fn),                      \
                                             .initial_state = (void *)&(table)[i_]}; \
        cmocka_run_group_tests_name(group, tests_, NULL, NULL);                      \
    })

#endif
