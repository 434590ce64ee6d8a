/* A SQLite archive in a temporary folder, at a manual clock, and questions to it. */
#ifndef TAIN_TESTS_MIRROR_ARCHIVE_H
#define TAIN_TESTS_MIRROR_ARCHIVE_H

#include "store/batch.h"
#include "store/segments.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define T0 INT64_C(1700000000000)

struct archive {
    char dir[64];
    struct clock clock;
    struct store *s;
    struct sqlite3 *raw;
    char answer[4096];
};

void archive_open(struct archive *a);
void archive_close(struct archive *a);
/* Rows as text: columns joined by '|', rows by ' ', NULL as '-'. Valid until the next question. */
const char *archive_ask(struct archive *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
int64_t archive_int(struct archive *a, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* When what never comes is given up: five minutes by the machine's clock, and not after so many
 * rounds, which take no time where there is nothing to wait for. */
static inline int64_t patience(void) {
    return clock_mono(&clock_machine) + 300000;
}

static inline bool patient(int64_t until) {
    return clock_mono(&clock_machine) < until;
}

#define assert_ok(call)                                   \
    do {                                                  \
        enum verdict ok_ = (call);                        \
        if (ok_ != V_OK)                                  \
            fail_msg("%s: %s", verdict_name(ok_), e.msg); \
    } while (0)

#endif
