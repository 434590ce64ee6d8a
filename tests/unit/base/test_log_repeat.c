/* What is said too often comes as one line with a number: the table by itself, and log lines as
 * they leave the process while a manual clock moves. */
#include "base/log.h"
#include "base/log_repeat.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The table ---------------------------------------------------------------------------------- */

static struct log_repeat table;
static char emitted[8192]; /* "text*held " for each */

static void emit(void *arg, const struct strbuf *line, int64_t held) {
    size_t n = strlen(arg);
    snprintf((char *)arg + n, sizeof emitted - n, "%s*%" PRId64 " ", line->p, held);
}

static bool take(uint64_t key, const char *text, int64_t now) {
    CLEANUP(strbuf_release) struct strbuf line;
    strbuf_init(&line, 1000);
    strbuf_adds(&line, text);
    return log_repeat_take(&table, key, &line, now, emit, emitted);
}

static void flush(int64_t now, bool all) {
    log_repeat_flush(&table, now, all, emit, emitted);
}

static int fresh(void **state UNUSED) {
    flush(0, true);
    emitted[0] = '\0';
    return 0;
}

static int taken(uint64_t key, const char *text, int64_t now, int times) {
    int n = 0;
    for (int i = 0; i < times; i++)
        n += take(key, text, now);
    return n;
}

static void a_burst_is_written_and_the_rest_counted(void **state UNUSED) {
    assert_int_equal(taken(1, "a", 1000, LOG_BURST), LOG_BURST);
    assert_int_equal(taken(1, "b", 1001, 41), 0);
    assert_false(take(1, "last", 60999));
    assert_string_equal(emitted, "");
    flush(60999, false);
    assert_string_equal(emitted, "");
    flush(61000, false);
    assert_string_equal(emitted, "last*42 ");
    flush(61000, true);
    assert_string_equal(emitted, "last*42 ");                         /* once */
    assert_int_equal(taken(1, "a", 61000, LOG_BURST + 1), LOG_BURST); /* a new interval */
}

static void few_lines_are_never_held(void **state UNUSED) {
    for (int64_t minute = 0; minute < 20; minute++)
        assert_int_equal(taken(1, "a", minute * LOG_INTERVAL_MS, LOG_BURST), LOG_BURST);
    flush(0, true);
    assert_string_equal(emitted, "");
}

static void kinds_do_not_hold_each_other(void **state UNUSED) {
    taken(1, "a", 0, 100);
    assert_true(take(2, "b", 0));
    taken(3, "c", 10, 12);
    assert_true(take(4, "d", LOG_INTERVAL_MS)); /* any line brings out what is over */
    assert_string_equal(emitted, "a*90 ");
    flush(LOG_INTERVAL_MS + 10, false);
    assert_string_equal(emitted, "a*90 c*2 ");
}

/* More kinds than there are places: whoever has to go first says what it holds. */
static void a_full_table_loses_nothing(void **state UNUSED) {
    taken(1, "first", 0, LOG_BURST + 7);
    for (uint64_t key = 2; key <= LOG_KINDS; key++)
        assert_true(take(key, "x", (int64_t)key));
    assert_true(take(1000, "y", 100)); /* takes the place of one that holds nothing */
    assert_string_equal(emitted, "");
    assert_false(take(1, "first", 100));
    fresh(NULL);
    for (uint64_t key = 1; key <= LOG_KINDS; key++)
        taken(key, "held", (int64_t)key, LOG_BURST + 1);
    assert_string_equal(emitted, "");
    assert_true(take(2000, "z", 200));
    assert_string_equal(emitted, "held*1 "); /* the oldest */
    assert_true(take(1, "held", 200));
}

static void the_longest_line_is_kept_whole(void **state UNUSED) {
    CLEANUP(strbuf_release) struct strbuf line;
    strbuf_init(&line, 20000);
    for (int i = 0; i < 16 * 1024 + 64; i++)
        strbuf_addc(&line, 'x');
    for (int i = 0; i <= LOG_BURST; i++)
        assert_int_equal(log_repeat_take(&table, 1, &line, 0, emit, emitted), i < LOG_BURST);
    const struct log_kind *k = &table.kinds[0];
    assert_int_equal(k->last.n, line.n);
}

/* Through the log ---------------------------------------------------------------------------- */

static char out[60000];
static struct clock clock_of_test;

#define CAPTURED(statement)                                \
    do {                                                   \
        int ends[2], kept = dup(STDERR_FILENO);            \
        assert_int_equal(pipe(ends), 0);                   \
        dup2(ends[1], STDERR_FILENO);                      \
        close(ends[1]);                                    \
        statement;                                         \
        dup2(kept, STDERR_FILENO);                         \
        close(kept);                                       \
        ssize_t got_, n_ = 0;                              \
        while ((got_ = read(ends[0], out + n_, 4096)) > 0) \
            n_ += got_;                                    \
        out[n_] = '\0';                                    \
        close(ends[0]);                                    \
    } while (0)

static int lines(void) {
    int n = 0;
    for (const char *p = out; (p = strchr(p, '\n')) != NULL; p++)
        n++;
    return n;
}

static int use_manual_clock(void **state UNUSED) {
    log_flush();
    clock_manual_init(&clock_of_test, 5000, INT64_C(1700000000123));
    log_set_clock(&clock_of_test);
    log_setup(LOG_INFO, LOG_TEXT);
    return 0;
}

static int use_machine_clock(void **state UNUSED) {
    log_flush();
    log_set_clock(&clock_machine);
    return 0;
}

static void say(enum log_level level, int times, int64_t first) {
    for (int i = 0; i < times; i++)
        LOG_AT(level, "a chore failed", LI("item", first + i), LS("class", "http_5xx"));
}

static void lines_that_repeat(void **state UNUSED) {
    CAPTURED(say(LOG_ERROR, 1000, 1));
    assert_int_equal(lines(), LOG_BURST);
    clock_advance(&clock_of_test, LOG_INTERVAL_MS - 1);
    CAPTURED({
        say(LOG_ERROR, 1, 5000);
        log_tick();
    });
    assert_string_equal(out, "");
    clock_advance(&clock_of_test, 1);
    CAPTURED(log_tick());
    assert_string_equal(out, "time=2023-11-14T22:14:20.122Z level=error msg=\"a chore failed\" "
                             "item=5000 class=http_5xx repeated=991\n");
    CAPTURED(log_tick());
    assert_string_equal(out, "");
}

static void another_class_or_level_is_news(void **state UNUSED) {
    CAPTURED({
        say(LOG_WARN, 100, 1);
        say(LOG_ERROR, 1, 1);
        log_warn("a chore failed", LI("item", 1), LS("class", "dns"));
        log_warn("another chore failed", LI("item", 1), LS("class", "http_5xx"));
        log_warn("a chore failed", LS("class", "http_5xx"), LS("reason", "another one"));
    });
    assert_int_equal(lines(), LOG_BURST + 4);
}

static void debug_is_not_held_back(void **state UNUSED) {
    log_setup(LOG_DEBUG, LOG_TEXT);
    CAPTURED(say(LOG_DEBUG, 100, 1));
    assert_int_equal(lines(), 100);
}

static void the_end_brings_all_of_it(void **state UNUSED) {
    log_setup(LOG_INFO, LOG_JSON);
    CAPTURED({
        say(LOG_WARN, LOG_BURST + 5, 1);
        log_flush();
    });
    assert_int_equal(lines(), LOG_BURST + 1);
    assert_non_null(strstr(out, "\"item\":15,\"class\":\"http_5xx\",\"repeated\":5}\n"));
    CAPTURED(log_flush());
    assert_string_equal(out, "");
}

#define TABLE_TEST(f) cmocka_unit_test_setup_teardown(f, fresh, fresh)
#define LOG_TEST(f) cmocka_unit_test_setup_teardown(f, use_manual_clock, use_machine_clock)

int main(void) {
    const struct CMUnitTest tests[] = {
        TABLE_TEST(a_burst_is_written_and_the_rest_counted),
        TABLE_TEST(few_lines_are_never_held),
        TABLE_TEST(kinds_do_not_hold_each_other),
        TABLE_TEST(a_full_table_loses_nothing),
        TABLE_TEST(the_longest_line_is_kept_whole),
        LOG_TEST(lines_that_repeat),
        LOG_TEST(another_class_or_level_is_news),
        LOG_TEST(debug_is_not_held_back),
        LOG_TEST(the_end_brings_all_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
