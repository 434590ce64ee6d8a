/* The arena: alignment, room for anything, trim, reset and what it says it uses. */
#include "base/arena.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void allocations_are_aligned_and_apart(void **state UNUSED) {
    struct arena a;
    arena_init(&a);
    assert_int_equal(arena_used(&a), 0);
    unsigned char *seen[300];
    for (size_t i = 0; i < ARRAY_LEN(seen); i++) {
        seen[i] = arena_alloc(&a, i);
        assert_int_equal((uintptr_t)seen[i] % 8, 0);
        memset(seen[i], (int)(i & 0xFF), i);
    }
    for (size_t i = 0; i < ARRAY_LEN(seen); i++)
        for (size_t k = 0; k < i; k++)
            assert_int_equal(seen[i][k], i & 0xFF);
    arena_release(&a);
    assert_int_equal(arena_used(&a), 0);
    assert_null(a.first);
}

static void used_counts_rounded_bytes(void **state UNUSED) {
    static const struct {
        size_t n, used;
    } cases[] = {{0, 0}, {1, 8}, {7, 8}, {8, 8}, {9, 16}, {100000, 100000}, {100001, 100008}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a;
        arena_init(&a);
        arena_alloc(&a, cases[i].n);
        assert_int_equal(arena_used(&a), cases[i].used);
        arena_release(&a);
    }
}

static void many_chunks(void **state UNUSED) {
    struct arena a;
    arena_init(&a);
    char *big = arena_alloc(&a, 1000000);
    memset(big, 'b', 1000000);
    char *small = arena_strdup(&a, "small");
    char *blocks[50];
    for (int i = 0; i < 50; i++)
        blocks[i] = memset(arena_alloc(&a, 40000), 'A' + i, 40000);
    for (int i = 0; i < 50; i++)
        assert_true(blocks[i][0] == 'A' + i && blocks[i][39999] == 'A' + i);
    assert_true(big[0] == 'b' && big[999999] == 'b');
    assert_string_equal(small, "small");
    assert_int_equal(arena_used(&a), 1000000 + 8 + 50 * 40000);
    arena_release(&a);
}

static void zalloc_is_zero_after_reuse(void **state UNUSED) {
    struct arena a;
    arena_init(&a);
    memset(arena_alloc(&a, 5000), 0xEE, 5000);
    arena_reset(&a);
    const unsigned char *p = arena_zalloc(&a, 5000);
    for (int i = 0; i < 5000; i++)
        assert_int_equal(p[i], 0);
    arena_release(&a);
}

static void reset_keeps_the_first_chunk_only(void **state UNUSED) {
    struct arena a;
    arena_init(&a);
    arena_reset(&a); /* of an untouched arena */
    void *first = arena_alloc(&a, 64);
    for (int i = 0; i < 10; i++)
        arena_alloc(&a, 60000);
    arena_reset(&a);
    assert_int_equal(arena_used(&a), 0);
    assert_ptr_equal(arena_alloc(&a, 64), first);
    for (int i = 0; i < 10; i++)
        memset(arena_alloc(&a, 60000), i, 60000);
    assert_int_equal(arena_used(&a), 64 + 600000);
    arena_reset(&a);
    arena_reset(&a);
    arena_release(&a);
}

static void trim_gives_the_tail_back(void **state UNUSED) {
    static const struct {
        size_t asked, kept, used;
    } cases[] = {{100, 10, 16}, {100, 100, 104}, {100, 0, 0}, {100, 8, 8}, {200000, 9, 16}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a;
        arena_init(&a);
        char *before = arena_strdup(&a, "before");
        char *p = arena_alloc(&a, cases[i].asked);
        memset(p, 'x', cases[i].asked);
        arena_trim(&a, p, cases[i].kept);
        assert_int_equal(arena_used(&a), 8 + cases[i].used);
        char *after = arena_alloc(&a, 16);
        assert_ptr_equal(after, p + cases[i].used);
        memset(after, 'y', 16);
        for (size_t k = 0; k < cases[i].kept; k++)
            assert_int_equal(p[k], 'x');
        assert_string_equal(before, "before");
        arena_release(&a);
    }
}

static void copies(void **state UNUSED) {
    struct arena a;
    arena_init(&a);
    struct str none = arena_str(&a, STR_NONE);
    assert_null(none.p);
    struct str empty = arena_str(&a, STR(""));
    assert_non_null(empty.p);
    assert_int_equal(empty.n, 0);
    assert_int_equal(empty.p[0], '\0');
    const struct str with_nul = {"a\0bX", 3};
    struct str copy = arena_str(&a, with_nul);
    assert_true(str_eq(copy, with_nul));
    assert_int_equal(copy.p[3], '\0');
    assert_ptr_not_equal(copy.p, with_nul.p);
    arena_release(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_are_aligned_and_apart),
        cmocka_unit_test(used_counts_rounded_bytes),
        cmocka_unit_test(many_chunks),
        cmocka_unit_test(zalloc_is_zero_after_reuse),
        cmocka_unit_test(reset_keeps_the_first_chunk_only),
        cmocka_unit_test(trim_gives_the_tail_back),
        cmocka_unit_test(copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
