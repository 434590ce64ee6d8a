#include "cli/progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct summary whole = {
    .command = "catchup",
    .start_id = 1,
    .end_id = 20000,
    .total_ids = 20000,
    .done_ids = 20000,
    .fetched = 20000,
    .stored = 19900,
    .changed = 3,
    .unchanged = 40,
    .missing = 57,
    .frontier = 20000,
    .frontier_excluding_waiting = 20000,
    .maxitem = 20000,
    .duration_ms = 10000,
};

static char *printed(void (*print)(FILE *, const struct summary *), const struct summary *s) {
    char *text;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    print(out, s);
    fclose(out);
    return text;
}

static void finished(void **state) {
    (void)state;
    CLEANUP(free_ptr) char *text = printed(progress_summary, &whole);
    assert_string_equal(text, "catchup: finished after 10s, 20,000 of 20,000 ids, 2,000/s\n"
                              "  window 1 to 20,000\n"
                              "  fetched               20,000\n"
                              "  stored                19,900  new to the archive\n"
                              "  changed                    3  differ from what was stored\n"
                              "  unchanged                 40\n"
                              "  missing                   57  the upstream has no such item\n"
                              "  frontier              20,000  every id up to here is settled\n");
}

static void says_what_to_do_next(void **state) {
    (void)state;
    struct summary s = whole;
    s.stopped = true;
    s.stop_reason = "SIGINT";
    s.resume_command = "tain catchup --limit 5";
    s.waiting = 8;
    s.dead_letters = 1;
    s.frontier = 100;
    s.frontier_excluding_waiting = 150;
    static const char *const parts[] = {
        "stopped (SIGINT) after 10s",
        "8 ids are still due",
        "--wait 10m",
        "1 dead letter:",
        "'tain dead-letter list' says why",
        "'tain dead-letter replay --all'",
        "To go on: tain catchup --limit 5\n",
        "150  when young ids",
        "newest item upstream",
    };
    CLEANUP(free_ptr) char *text = printed(progress_summary, &s);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (!strstr(text, parts[i]))
            fail_msg("'%s' is not in:\n%s", parts[i], text);
}

static void nothing_to_do(void **state) {
    (void)state;
    const struct summary s = {.command = "catchup", .frontier = 20000, .maxitem = 20000};
    CLEANUP(free_ptr) char *text = printed(progress_summary, &s);
    assert_string_equal(text, "catchup: nothing to do, the archive is complete up to 20,000\n");
}

static void as_json(void **state) {
    (void)state;
    struct summary s = whole;
    s.resume_command = "tain catchup --db 'sqlite:a\"b'";
    CLEANUP(free_ptr) char *text = printed(progress_summary_json, &s);
    assert_string_equal(
        text, "{\"command\":\"catchup\",\"start_id\":1,\"end_id\":20000,\"total_ids\":20000,"
              "\"done_ids\":20000,\"fetched\":20000,\"stored\":19900,\"changed\":3,"
              "\"unchanged\":40,\"stale\":0,\"skipped\":0,\"missing\":57,\"retries\":0,"
              "\"waiting\":0,\"dead_letters\":0,\"frontier_id\":20000,"
              "\"frontier_excluding_waiting\":20000,\"maxitem\":20000,\"duration_ms\":10000,"
              "\"rate_per_s\":2000.0,\"stopped\":false,"
              "\"resume_command\":\"tain catchup --db 'sqlite:a\\\"b'\"}\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finished),
        cmocka_unit_test(says_what_to_do_next),
        cmocka_unit_test(nothing_to_do),
        cmocka_unit_test(as_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
