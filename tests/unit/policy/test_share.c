/* Shares of a backlog: each key is one worker's, whoever asks; and what is skipped is others'. */
#include "policy/share.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static struct str text_of(int64_t n, char out[32]) {
    snprintf(out, 32, "%lld", (long long)n);
    return str_of(out);
}

static void alone_everything_is_ours(void **state UNUSED) {
    const struct share none = {0, 0, true}, one = {1, 0, true};
    int64_t last;
    assert_true(share_has(&none, STR("1")) && share_has(&one, STR("-77")));
    assert_true(share_has(&one, STR("a text")));
    assert_false(share_skip(&none, STR("1"), &last) || share_skip(&one, STR("1"), &last));
}

static void each_key_is_one_workers(void **state UNUSED) {
    char text[32];
    for (int by_number = 0; by_number < 2; by_number++) {
        int got[5] = {0};
        for (int64_t n = -5000; n < 5000; n++) {
            int owners = 0;
            for (int i = 0; i < 5; i++) {
                const struct share s = {5, i, by_number};
                bool ours = share_has(&s, text_of(n, text));
                owners += ours;
                got[i] += ours;
            }
            assert_int_equal(owners, 1);
        }
        for (int i = 0; i < 5; i++) /* and nobody has much more than others */
            assert_in_range(got[i], 1700, 2300);
    }
}

static void neighbours_are_together(void **state UNUSED) {
    const struct share first = {3, 0, true}, second = {3, 1, true};
    assert_true(share_has(&first, STR("0")) && share_has(&first, STR("255")));
    assert_true(share_has(&second, STR("256")) && share_has(&second, STR("511")));
    assert_true(share_has(&first, STR("768")) && !share_has(&first, STR("-1")));
}

/* Whatever is between is not ours, and what follows is. */
static void only_what_is_others_is_skipped(void **state UNUSED) {
    char text[32];
    for (int64_t n = -2000; n < 2000; n++) {
        const struct share s = {3, 1, true};
        int64_t last;
        bool ours_next = share_has(&s, text_of(n + 1, text));
        bool skips = share_skip(&s, text_of(n, text), &last);
        assert_int_equal(skips, !ours_next);
        if (!skips)
            continue;
        assert_true(last > n && share_has(&s, text_of(last + 1, text)));
        for (int64_t k = n + 1; k <= last; k++)
            assert_false(share_has(&s, text_of(k, text)));
    }
}

static void the_ends_of_all_numbers(void **state UNUSED) {
    int64_t last;
    for (int i = 0; i < 3; i++) {
        const struct share s = {3, i, true}, texts = {3, i, false};
        assert_false(share_skip(&s, STR("9223372036854775807"), &last));
        assert_false(share_skip(&s, STR("9223372036854775806"), &last));
        assert_false(share_skip(&s, STR("no number"), &last) || share_skip(&s, STR_NONE, &last) ||
                     share_skip(&texts, STR("1"), &last));
        if (share_skip(&s, STR("-9223372036854775808"), &last))
            assert_true(last > INT64_MIN);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone_everything_is_ours),
        cmocka_unit_test(each_key_is_one_workers),
        cmocka_unit_test(neighbours_are_together),
        cmocka_unit_test(only_what_is_others_is_skipped),
        cmocka_unit_test(the_ends_of_all_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
