/* Fault points: the countdown, several at once, the kill, and specs that make no sense. */
#include "base/fault.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Passes the point `times` times; bit i is set when passage i+1 was hit. */
static unsigned passages(const char *name, int times) {
    unsigned hits = 0;
    for (int i = 0; i < times; i++)
        hits |= (unsigned)(fault_armed && fault_hit_slow(name)) << i;
    return hits;
}

static void counts_down(void **state UNUSED) {
    static const struct {
        const char *spec, *name;
        unsigned hits; /* of eight passages */
    } cases[] = {
        {NULL, "commit", 0},
        {"", "commit", 0},
        {"commit:1:fail", "commit", 1u << 0},
        {"commit:3:fail", "commit", 1u << 2},
        {"commit:3:fail", "begin", 0},
        {"commit:3:fail", "commi", 0},
        {"commit:9:fail", "commit", 0},
        {"commit:0:fail", "commit", 0},
        {"begin:1:fail,commit:2:fail", "commit", 1u << 1},
        {"begin:1:fail,commit:2:fail", "begin", 1u << 0},
        {"commit:2:fail,commit:5:fail", "commit", 1u << 1 | 1u << 4},
        {"rubbish", "rubbish", 0},
        {"rubbish,commit:2:fail", "commit", 1u << 1}, /* a bad one spoils only itself */
        {"a:b:c,commit:2:fail", "commit", 1u << 1},
        {",commit:2:fail", "commit", 1u << 1},
        {"commit:2:fail,", "commit", 1u << 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        fault_setup(cases[i].spec);
        unsigned hits = passages(cases[i].name, 8);
        if (hits != cases[i].hits)
            fail_msg("case %zu: %#x", i, hits);
    }
    fault_setup(NULL);
    assert_false(fault_armed);
}

static void more_points_than_there_is_room_for(void **state UNUSED) {
    char spec[1000];
    size_t n = 0;
    for (int i = 0; i < 40; i++) {
        const char one[] = "p:1:fail,";
        for (size_t k = 0; k < sizeof one - 1; k++)
            spec[n++] = one[k];
    }
    spec[n] = '\0';
    fault_setup(spec);
    assert_int_equal(passages("p", 8), 1);
    fault_setup(NULL);
}

static void count_up(void *arg) {
    ++*(int *)arg;
}

static void a_call_is_made_at_that_passage(void **state UNUSED) {
    int calls = 0;
    fault_setup("write:2:call");
    for (int i = 0; i < 4; i++) {
        fault_set_call(i == 0 ? NULL : count_up, &calls);
        assert_false(fault_hit("write")); /* it is no failure */
        assert_int_equal(calls, i >= 1);
    }
    fault_set_call(NULL, NULL);
    fault_setup(NULL);
}

static void kill_ends_the_process_at_that_passage(void **state UNUSED) {
    for (int allowed = 1; allowed <= 2; allowed++) {
        pid_t pid = fork();
        if (pid == 0) {
            fault_setup("write:2:kill");
            for (int i = 0; i < allowed; i++)
                if (fault_hit("write"))
                    _exit(1);
            _exit(7);
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (allowed == 1)
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
        else
            assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
}

static void points_are_listed(void **state UNUSED) {
    int writes = 0, others = 0;
    for (const char *name = fault_next(NULL); name; name = fault_next(name)) {
        bool known = strcmp(name, "write") == 0 || strcmp(name, "a point that nobody passes") == 0;
        assert_true(known);
        writes += strcmp(name, "write") == 0;
        others += strcmp(name, "write") != 0;
    }
    assert_int_equal(writes, 2); /* of the tests above */
    assert_int_equal(others, 1);
    if (writes == 0)
        assert_false(fault_hit("a point that nobody passes"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_down),
        cmocka_unit_test(more_points_than_there_is_room_for),
        cmocka_unit_test(a_call_is_made_at_that_passage),
        cmocka_unit_test(kill_ends_the_process_at_that_passage),
        cmocka_unit_test(points_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
