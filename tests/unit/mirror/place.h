/* A folder for one dump and what lies beside it, and short ways to make and read files there. */
#ifndef TAIN_TESTS_MIRROR_PLACE_H
#define TAIN_TESTS_MIRROR_PLACE_H

#include "mirror/dump_read.h"
#include "mirror/dump_write.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#ifndef assert_ok
#define assert_ok(call)                                   \
    do {                                                  \
        enum verdict ok_ = (call);                        \
        if (ok_ != V_OK)                                  \
            fail_msg("%s: %s", verdict_name(ok_), e.msg); \
    } while (0)
#endif

struct place {
    char dir[64], path[100]; /* the dump is called d */
    struct stop_token stop;
};

int place_make(void **state);
int place_remove(void **state);
#define CASE(fn) cmocka_unit_test_setup_teardown(fn, place_make, place_remove)

void spit(const char *path, const void *bytes, size_t n);
/* The file PATH + end; NULL: there is none. The caller frees. */
char *slurp(const char *path, const char *end, size_t *ret_n);
/* Compressed with checksums, in frames of so many bytes; answers how many it made. */
size_t pack(const char *text, size_t n, size_t frame, char *out, size_t cap);

struct dump_reader *place_open(struct place *p, bool digest);
/* Every line in brackets, up to an end of this kind. */
void read_rest(struct dump_reader *r, struct strbuf *out, enum verdict end);

#endif
