/* The n-th fallible call fails, for n = 1, 2, 3 ... until none is left to fail. A scenario runs in
 * a process of its own for each n; calls of our sources to the functions of calls.txt are led
 * through
 * __wrap_* by the linker, and between nth_on() and nth_off() they are counted in the thread that
 * called nth_on(). The n-th that can fail in the wanted way does, as the real one would, and no
 * other. With NTH=all every n; else the first call of each place in the code, and some more. */
#ifndef TAIN_TESTS_NTH_NTH_H
#define TAIN_TESTS_NTH_NTH_H

#include "base/err.h"

enum nth_kind {
    SQL_NOMEM = 1 << 0,
    SQL_FULL = 1 << 1, /* ends the transaction, as the library does */
    SQL_IOERR = 1 << 2,
    SQL_BUSY = 1 << 3,
    SQL_CORRUPT = 1 << 4,
    PQ_NOMEM = 1 << 5, /* no result at all */
    PQ_CUT = 1 << 6,   /* the connection ends before the server hears of it */
    PQ_LOST = 1 << 7,  /* the server does it, and its answer is lost */
    PQ_FULL = 1 << 8,
    PQ_SERIAL = 1 << 9,
    PQ_CANCEL = 1 << 10,
    CURL_NOMEM = 1 << 11,  /* the program may end, with a word about it */
    CURL_BROKEN = 1 << 12, /* a transfer ends with an error */
    OS_ENOSPC = 1 << 13,
    OS_EIO = 1 << 14,
    OS_EINTR = 1 << 15,
    OS_SHORT = 1 << 16, /* half of the bytes */
    OS_EMFILE = 1 << 17,
};
#define SQL_ALL (SQL_NOMEM | SQL_FULL | SQL_IOERR | SQL_BUSY | SQL_CORRUPT)
#define PQ_ALL (PQ_NOMEM | PQ_CUT | PQ_LOST | PQ_FULL | PQ_SERIAL | PQ_CANCEL)
#define CURL_ALL (CURL_NOMEM | CURL_BROKEN)
#define OS_ALL (OS_ENOSPC | OS_EIO | OS_EINTR | OS_SHORT | OS_EMFILE)

struct nth_scenario {
    const char *name;
    unsigned kinds;    /* one after the other; with NTH=all */
    unsigned quick;    /* those of them without it */
    void (*run)(void); /* ends with exit code 1 when something is not as it should be */
};

/* PROGRAM [WORD]: those with the word in their name. */
int nth_main(int argc, char **argv, const struct nth_scenario *all, size_t n);

void nth_on(void);
void nth_off(void);
bool nth_fired(void);
enum nth_kind nth_kind(void);
const char *nth_folder(void); /* of this run, removed behind it */

/* Of the wrappers: whether this call has to fail, in the way of nth_kind(). */
bool nth_hit(unsigned kinds, const char *function, const void *place);
#define HIT(kinds, function) nth_hit(kinds, #function, __builtin_return_address(0))

#define nth_check(what, ...)                                   \
    do {                                                       \
        if (!(what))                                           \
            nth_wrong(__FILE__, __LINE__, #what, __VA_ARGS__); \
    } while (0)
NORETURN void nth_wrong(const char *file, int line, const char *what, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

/* A call that ended with v: without a fault it succeeded; a success has its effect; a failure has a
 * domain, and a message that names the cause. Answers v == V_OK. */
bool nth_judge(const char *call, enum verdict v, const struct err *e, bool effect);

#endif
