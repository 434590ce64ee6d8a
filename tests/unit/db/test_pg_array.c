/* The bytes are those that PostgreSQL's array_send() makes, written down by hand. */
#include "db/db_int.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define HEAD(oid, n) 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, oid, 0, 0, 0, n, 0, 0, 0, 1
#define NULL_ITEM 0xff, 0xff, 0xff, 0xff

static void encodes(const struct db_col *col, size_t n, const uint8_t *wanted, size_t size) {
    struct strbuf out;
    strbuf_init(&out, 4096);
    pg_encode_array(col, n, &out);
    assert_int_equal(out.n, size);
    assert_memory_equal(out.p, wanted, size);
    strbuf_release(&out);
}

static void numbers(void **state UNUSED) {
    static const int64_t values[] = {1, -1, 0x0102030405060708, INT64_MAX, INT64_MIN + 1};
    static const uint8_t wanted[] = {
        HEAD(20, 5), 0,    0,    0,    8,    0,    0,    0,    0,    0,    0,    0,    1,
        0,           0,    0,    8,    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0,
        0,           0,    8,    1,    2,    3,    4,    5,    6,    7,    8,    0,    0,
        0,           8,    0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0,    0,    0,
        8,           0x80, 0,    0,    0,    0,    0,    0,    1};
    struct db_col col = DB_INTS(values);
    encodes(&col, 5, wanted, sizeof wanted);
}

static void missing_numbers(void **state UNUSED) {
    static const int64_t values[] = {DB_NULL, 7, DB_NULL};
    static const uint8_t wanted[] = {HEAD(20, 3), NULL_ITEM, 0, 0, 0, 8, 0,        0,
                                     0,           0,         0, 0, 0, 7, NULL_ITEM};
    struct db_col col = DB_INTS(values);
    encodes(&col, 3, wanted, sizeof wanted);
}

static void texts(void **state UNUSED) {
    static const struct str values[] = {{"ab", 2}, {NULL, 0}, {"", 0}, {"\xc3\xa9,{}\"", 6}};
    static const uint8_t wanted[] = {HEAD(25, 4), 0, 0, 0, 2, 'a',  'b',  NULL_ITEM, 0,   0,   0,
                                     0,           0, 0, 0, 6, 0xc3, 0xa9, ',',       '{', '}', '"'};
    struct db_col col = DB_TEXTS(values);
    encodes(&col, 4, wanted, sizeof wanted);
}

static void only_the_rows_asked_for(void **state UNUSED) {
    static const int64_t values[] = {1, 2, 3};
    static const uint8_t one[] = {HEAD(20, 1), 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 1};
    static const uint8_t none[] = {HEAD(20, 0)};
    struct db_col col = DB_INTS(values);
    encodes(&col, 1, one, sizeof one);
    encodes(&col, 0, none, sizeof none);
}

static void a_maximum_is_kept(void **state UNUSED) {
    static const int64_t values[] = {1, 2, 3};
    struct db_col col = DB_INTS(values);
    struct strbuf out;
    strbuf_init(&out, 30);
    pg_encode_array(&col, 3, &out);
    assert_true(out.overflow);
    assert_true(out.n <= 30);
    strbuf_release(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(missing_numbers),
        cmocka_unit_test(texts),
        cmocka_unit_test(only_the_rows_asked_for),
        cmocka_unit_test(a_maximum_is_kept),
    };
    return cmocka_run_group_tests_name("pg_array", tests, NULL, NULL);
}
