/* Log lines as they leave the process: stderr is a pipe while a line is written. */
#include "base/log.h"
#include "base/str.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int real_stderr, reading_end;

static void capture_begin(void) {
    int ends[2];
    log_flush(); /* what was said before does not count */
    assert_int_equal(pipe(ends), 0);
    real_stderr = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    reading_end = ends[0];
}

/* What was written since, NUL-terminated. It must be less than a pipe holds (64 KiB). */
static size_t capture_end(char *out, size_t size) {
    dup2(real_stderr, STDERR_FILENO); /* closes the last writing end */
    close(real_stderr);
    size_t n = 0;
    ssize_t got;
    while (n < size - 1 && (got = read(reading_end, out + n, size - 1 - n)) > 0)
        n += (size_t)got;
    out[n] = '\0';
    close(reading_end);
    return n;
}

static char line[40000];

#define CAPTURE(statement)              \
    do {                                \
        capture_begin();                \
        statement;                      \
        capture_end(line, sizeof line); \
    } while (0)

/* Checks "2024-05-06T07:08:09.123Z" at p by its shape, and answers what follows. */
static const char *after_time(const char *p) {
    static const char shape[] = "dddd-dd-ddTdd:dd:dd.dddZ";
    for (size_t i = 0; i < sizeof shape - 1; i++)
        if (shape[i] == 'd' ? !isdigit((unsigned char)p[i]) : p[i] != shape[i])
            fail_msg("not a time: %.30s", p);
    return p + sizeof shape - 1;
}

static void assert_line(const char *head, const char *tail) {
    assert_int_equal(strncmp(line, head, strlen(head)), 0);
    assert_string_equal(after_time(line + strlen(head)), tail);
}

static void logfmt(void **state UNUSED) {
    log_setup(LOG_INFO, LOG_TEXT);
    CAPTURE(log_info("done"));
    assert_line("time=", " level=info msg=\"done\"\n");
    CAPTURE(log_warn("two words", LI("segment", 42), LI("left", -1), LS("class", "http_503")));
    assert_line("time=", " level=warn msg=\"two words\" segment=42 left=-1 class=http_503\n");
    CAPTURE(log_error("x", LI("big", INT64_MIN)));
    assert_line("time=", " level=error msg=\"x\" big=-9223372036854775808\n");
}

static void logfmt_quotes_what_it_must(void **state UNUSED) {
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"plain-1.2/3:4", "plain-1.2/3:4"},
        {"", "\"\""},
        {"two words", "\"two words\""},
        {"a=b", "\"a=b\""},
        {"say \"hi\"", "\"say \\\"hi\\\"\""},
        {"back\\slash", "\"back\\\\slash\""},
        {"line\nbreak", "\"line\\nbreak\""}, /* no value can forge a second line */
        {"tab\tcr\r", "\"tab\\tcr\\r\""},
        {"\x1B[31mred", "\"\\u001b[31mred\""}, /* nor colour a terminal */
        {"caf\xC3\xA9", "\"caf\xC3\xA9\""},
        {"bad\xFF", "\"bad\xEF\xBF\xBD\""},
        {"C1 \xC2\x9B", "\"C1 \\u009b\""},
        {"back \xE2\x80\xAE.", "\"back \\u202e.\""},
    };
    log_setup(LOG_INFO, LOG_TEXT);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char want[200];
        snprintf(want, sizeof want, " level=info msg=\"m\" k=%s\n", cases[i].want);
        CAPTURE(log_info("m", LS("k", cases[i].text)));
        assert_line("time=", want);
    }
}

static void json(void **state UNUSED) {
    const struct err e = {.domain = "http", .msg = "said \"no\"\n"};
    log_setup(LOG_DEBUG, LOG_JSON);
    CAPTURE(log_debug("a \"b\"", LI("n", 7), LS("s", "x y"), LE(&e)));
    assert_line("{\"time\":\"", "\",\"level\":\"debug\",\"msg\":\"a \\\"b\\\"\",\"n\":7,\"s\":"
                                "\"x y\",\"error\":\"said \\\"no\\\"\\n\"}\n");
    CAPTURE(log_info("bare"));
    assert_line("{\"time\":\"", "\",\"level\":\"info\",\"msg\":\"bare\"}\n");
}

static int evaluated;

static int64_t counted(void) {
    return ++evaluated;
}

static void levels(void **state UNUSED) {
    static const struct {
        enum log_level set;
        int lines;
    } cases[] = {{LOG_DEBUG, 4}, {LOG_INFO, 3}, {LOG_WARN, 2}, {LOG_ERROR, 1}, {LOG_OFF, 0}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        log_setup(cases[i].set, LOG_TEXT);
        evaluated = 0;
        CAPTURE({
            log_debug("m", LI("n", counted()));
            log_info("m", LI("n", counted()));
            log_warn("m", LI("n", counted()));
            log_error("m", LI("n", counted()));
        });
        int lines = 0;
        for (const char *p = line; (p = strchr(p, '\n')) != NULL; p++)
            lines++;
        assert_int_equal(lines, cases[i].lines);
        assert_int_equal(evaluated, cases[i].lines); /* a silent level costs nothing */
    }
}

static void too_much_still_makes_a_line(void **state UNUSED) {
    static char huge[100000];
    memset(huge, '\x01', sizeof huge - 1); /* grows six-fold when escaped */
    const struct log_field fields[] = {LI("first", 1), LS("a", huge), LS("b", huge), LI("last", 2)};
    for (int format = LOG_TEXT; format <= LOG_JSON; format++) {
        log_setup(LOG_INFO, (enum log_format)format);
        CAPTURE(log_write(LOG_INFO, "m", fields, ARRAY_LEN(fields)));
        size_t n = strlen(line);
        const char *end = format == LOG_JSON ? ",\"truncated\":1}\n" : " truncated=1\n";
        assert_in_range(n, 2048, 17000);
        assert_string_equal(line + n - strlen(end), end);
        assert_ptr_equal(strchr(line, '\n'), line + n - 1); /* one line, whole */
        assert_non_null(strstr(line, format == LOG_JSON ? "\"first\":1" : "first=1"));
        assert_null(strstr(line, "last"));
        assert_null(strstr(line, format == LOG_JSON ? "\"b\"" : " b=")); /* whole or not at all */
        CAPTURE(log_write(LOG_INFO, huge, fields, 1));
        assert_non_null(strstr(line, format == LOG_JSON ? "\"first\":1}\n" : " first=1\n"));
    }
}

static void many_small_fields_leave_room_for_the_end(void **state UNUSED) {
    static struct log_field fields[6000];
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        fields[i] = LI("k", 1);
    for (int format = LOG_TEXT; format <= LOG_JSON; format++) {
        log_setup(LOG_INFO, (enum log_format)format);
        CAPTURE(log_write(LOG_INFO, "m", fields, ARRAY_LEN(fields)));
        const char *end = format == LOG_JSON ? ",\"k\":1,\"truncated\":1}\n" : " k=1 truncated=1\n";
        assert_string_equal(line + strlen(line) - strlen(end), end);
    }
}

static void a_long_text_is_cut_between_characters(void **state UNUSED) {
    static char text[5000];
    for (size_t i = 0; i + 2 < sizeof text; i += 2)
        memcpy(text + i, "\xC3\xA9", 3);
    log_setup(LOG_INFO, LOG_JSON);
    for (int shift = 0; shift < 2; shift++) {
        char *start = text + 2 - shift;
        if (shift)
            *start = 'x';
        CAPTURE(log_info("m", LS("k", start)));
        assert_null(strstr(line, "\xEF\xBF\xBD"));
        assert_in_range(strlen(line), 2048, 2200);
        assert_string_equal(line + strlen(line) - 5, "\xC3\xA9\"}\n");
    }
}

static void the_run_is_named(void **state UNUSED) {
    log_setup(LOG_INFO, LOG_TEXT);
    log_set_run("7f3a09c1");
    assert_string_equal(log_run(), "7f3a09c1");
    CAPTURE(log_info("m", LI("item", 1)));
    assert_line("time=", " level=info run=7f3a09c1 msg=\"m\" item=1\n");
    log_setup(LOG_INFO, LOG_JSON);
    CAPTURE(log_info("m"));
    assert_line("{\"time\":\"", "\",\"level\":\"info\",\"run\":\"7f3a09c1\",\"msg\":\"m\"}\n");
    log_set_run("");
    CAPTURE(log_info("m"));
    assert_line("{\"time\":\"", "\",\"level\":\"info\",\"msg\":\"m\"}\n");
}

static void mark_clear(void) {
    assert_int_equal(write(STDERR_FILENO, "<", 1), 1);
}

static void mark_redraw(void) {
    assert_int_equal(write(STDERR_FILENO, ">", 1), 1);
}

static void a_screen_steps_aside(void **state UNUSED) {
    log_setup(LOG_INFO, LOG_TEXT);
    log_set_screen(mark_clear, mark_redraw);
    CAPTURE(log_info("m"));
    assert_line("<time=", " level=info msg=\"m\"\n>");
    log_set_screen(NULL, NULL);
    CAPTURE(log_info("m"));
    assert_line("time=", " level=info msg=\"m\"\n");
}

static void *write_lines(void *arg) {
    for (int i = 0; i < 100; i++)
        log_debug("from a thread", LS("who", arg));
    return NULL;
}

static void lines_of_threads_do_not_mix(void **state UNUSED) {
    log_setup(LOG_DEBUG, LOG_TEXT);
    capture_begin();
    pthread_t threads[4];
    static char *names[] = {"aaaaaaaaaa", "bbbbbbbbbb", "cccccccccc", "dddddddddd"};
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_lines, names[i]), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    capture_end(line, sizeof line);
    int lines = 0;
    for (char *p = line, *next; (next = strchr(p, '\n')) != NULL; p = next + 1, lines++) {
        *next = '\0';
        const char *rest = after_time(p + strlen("time="));
        const char *head = " level=debug msg=\"from a thread\" who=";
        assert_int_equal(strncmp(rest, head, strlen(head)), 0);
        assert_int_equal(strlen(rest), strlen(head) + 10);
    }
    assert_int_equal(lines, 400);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logfmt),
        cmocka_unit_test(logfmt_quotes_what_it_must),
        cmocka_unit_test(json),
        cmocka_unit_test(levels),
        cmocka_unit_test(too_much_still_makes_a_line),
        cmocka_unit_test(many_small_fields_leave_room_for_the_end),
        cmocka_unit_test(a_long_text_is_cut_between_characters),
        cmocka_unit_test(the_run_is_named),
        cmocka_unit_test(a_screen_steps_aside),
        cmocka_unit_test(lines_of_threads_do_not_mix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
