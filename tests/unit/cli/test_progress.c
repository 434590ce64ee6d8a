#include "base/log.h"
#include "cli/format.h"
#include "cli/progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const struct progress_view view = {
    .total_ids = 1000,
    .done_ids = 500,
    .fetched = 510,
    .missing = 4,
    .retries = 12,
    .waiting = 3,
    .dead_letters = 1,
    .frontier = 40123456,
    .maxitem = 49402521,
    .rate_per_s = 1234,
    .eta_s = 252,
    .inflight = 60,
    .window = 64,
    .phase = "catching up",
};

static void numbers_for_people(void **state) {
    (void)state;
    char b[FORMAT_MAX];
    assert_string_equal(format_count(b, 0), "0");
    assert_string_equal(format_count(b, 999), "999");
    assert_string_equal(format_count(b, 1000), "1,000");
    assert_string_equal(format_count(b, -1234567), "-1,234,567");
    assert_string_equal(format_count(b, INT64_MIN), "-9,223,372,036,854,775,808");
    assert_string_equal(format_duration(b, 850), "850ms");
    assert_string_equal(format_duration(b, 59999), "59s");
    assert_string_equal(format_duration(b, 252000), "4m 12s");
    assert_string_equal(format_duration(b, 3 * 3600000 + 420000), "3h 07m");
    assert_string_equal(format_duration(b, 50 * 3600000), "2d 02h");
    assert_string_equal(format_rate(b, 0.44), "0.4/s");
    assert_string_equal(format_rate(b, 12345.4), "12,345/s");
    assert_string_equal(format_percent(b, 1, 3), "33.3%");
    assert_string_equal(format_percent(b, 99999, 100000), "99.9%");
    assert_string_equal(format_percent(b, 3, 3), "100.0%");
    assert_string_equal(format_percent(b, 0, 0), "100.0%");
    assert_string_equal(format_percent(b, -5, 10), "0.0%");
}

static const char *bar(struct strbuf *b, const struct progress_view *v, int width, bool color,
                       bool unicode) {
    const struct progress_style style = {width, color, unicode};
    strbuf_clear(b);
    progress_render_bar(b, v, &style);
    return strbuf_str(b).p;
}

static void bars(void **state) {
    (void)state;
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, 4096);
    assert_string_equal(bar(&b, &view, 60, false, false),
                        "catching up [#######--------]  50.0%    1,234/s  ETA 4m 12s\n"
                        "frontier 40,123,456 of 49,402,521 | 1 dead letter");
    assert_string_equal(bar(&b, &view, 80, false, true),
                        "catching up ▕████████████████▌                ▏  50.0%    1,234/s  "
                        "ETA 4m 12s\n"
                        "frontier 40,123,456 of 49,402,521 · 1 dead letter · 3 waiting · "
                        "12 retries");
    assert_string_equal(bar(&b, &view, 30, false, true), "catching up 50.0%");

    struct progress_view v = view;
    v.paused = true;
    v.pause_reason = "too many 503\033[2J";
    v.eta_s = -1;
    v.done_ids = 2000; /* more than expected must not overflow the bar */
    assert_string_equal(bar(&b, &v, 60, false, false),
                        "paused [########################] 100.0%    1,234/s  ETA --\n"
                        "frontier 40,123,456 of 49,402,521 | too many 503?[2J");
    assert_non_null(strstr(bar(&b, &view, 80, true, true), "\033[31m1 dead letter\033[0m"));

    v = view;
    v.eta_s = 0;
    assert_non_null(strstr(bar(&b, &v, 80, false, true), "ETA 0s\n"));
    v.done_ids = 1;
    v.total_ids = 264; /* an eighth of one of 33 cells */
    assert_non_null(strstr(bar(&b, &v, 80, false, true), "▕▏   "));
}

/* Columns, without colours. */
static int widest(const char *text) {
    int most = 0, n = 0;
    for (; *text; text++) {
        if (*text == '\033') {
            text = strchr(text, 'm');
        } else if (*text == '\n') {
            n = 0;
        } else {
            n += ((unsigned char)*text & 0xC0) != 0x80;
            most = n > most ? n : most;
        }
    }
    return most;
}

/* A pipe of bytes: nobody knows how much is to come. */
static void bytes_without_an_end(void **state) {
    (void)state;
    const struct progress_view bytes = {.total_ids = -1,
                                        .done_ids = 5000000,
                                        .bytes = true,
                                        .rate_per_s = 3 * 1048576,
                                        .eta_s = -1,
                                        .phase = "importing",
                                        .note = "7 lines"};
    const struct progress_style style = {.width = 80};
    CLEANUP(strbuf_release) struct strbuf out;
    strbuf_init(&out, 1000);
    progress_render_bar(&out, &bytes, &style);
    assert_non_null(strstr(out.p, "--%"));
    assert_non_null(strstr(out.p, "3.0 MiB/s"));
    assert_non_null(strstr(out.p, "ETA --"));
    assert_non_null(strstr(out.p, "\n7 lines"));
    strbuf_clear(&out);
    progress_render_line(&out, &bytes, false);
    assert_string_equal(out.p, "importing --% done=5000000 total=-1 rate=3145728 note=\"7 lines\"");
}

static void never_wider_than_the_terminal(void **state) {
    (void)state;
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, 16384);
    struct progress_view v = view;
    v.frontier = v.maxitem = v.total_ids = v.missing = INT64_MAX;
    v.eta_s = INT64_MAX / 2000;
    v.phase = "a phase with a name that is far too long for any terminal at all";
    for (int width = 1; width < 500; width++) {
        assert_true(widest(bar(&b, &view, width, width % 2, width % 3)) < (width > 1 ? width : 2));
        assert_true(widest(bar(&b, &v, width, width % 2, width % 3)) < (width > 1 ? width : 2));
        assert_false(b.overflow);
    }
}

static void lines(void **state) {
    (void)state;
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, 4096);
    progress_render_line(&b, &view, false);
    assert_string_equal(b.p, "catching up 50.0% done=500 total=1000 rate=1234 eta_s=252 "
                             "frontier=40123456 maxitem=49402521 fetched=510 missing=4 "
                             "retries=12 waiting=3 dead_letters=1 inflight=60 window=64");
    strbuf_clear(&b);
    struct progress_view v = view;
    v.eta_s = -1;
    v.paused = true;
    v.pause_reason = "a \"reason\"";
    progress_render_line(&b, &v, true);
    assert_string_equal(b.p, "{\"msg\":\"progress\",\"phase\":\"catching up\",\"done\":500,"
                             "\"total\":1000,\"rate\":1234,\"frontier\":40123456,"
                             "\"maxitem\":49402521,\"fetched\":510,\"missing\":4,\"retries\":12,"
                             "\"waiting\":3,\"dead_letters\":1,\"inflight\":60,\"window\":64,"
                             "\"paused\":\"a \\\"reason\\\"\"}");
}

struct screen {
    struct clock clock;
    char *text;
    size_t n;
    FILE *out;
    struct progress *p;
};

static void screen_open(struct screen *s, enum progress_mode mode) {
    clock_manual_init(&s->clock, 1000, 0);
    s->out = open_memstream(&s->text, &s->n);
    const struct progress_options o = {
        .mode = mode, .out = s->out, .style = {.width = 80}, .clock = &s->clock};
    s->p = progress_new(&o);
}

static void screen_close(struct screen *s) {
    progress_free(s->p);
    fclose(s->out);
    free(s->text);
}

static int count(const struct screen *s, const char *needle) {
    int n = 0;
    fflush(s->out);
    for (const char *p = s->text; (p = strstr(p, needle)); p++)
        n++;
    return n;
}

/* Updates as fast as they come for `ms` milliseconds, at `rate` ids per second. */
static void run(struct screen *s, struct progress_view *v, int ms, double rate) {
    int64_t from = v->done_ids;
    for (int at = 10; at <= ms; at += 10) {
        clock_advance(&s->clock, 10);
        v->done_ids = from + (int64_t)(rate * at / 1000.0);
        progress_update(s->p, v);
    }
}

static void draws_at_its_own_pace(void **state) {
    (void)state;
    struct screen s;
    struct progress_view v = view;
    screen_open(&s, PROGRESS_BAR);
    run(&s, &v, 2000, 100);
    assert_int_equal(count(&s, "catching up"), 20);
    assert_int_equal(count(&s, "\r\033[1A\033[J"), 19);
    screen_close(&s);
    screen_open(&s, PROGRESS_LINE);
    run(&s, &v, 35000, 1);
    assert_int_equal(count(&s, "\n"), 3);
    assert_int_equal(count(&s, "\033"), 0);
    screen_close(&s);
    screen_open(&s, PROGRESS_AUTO); /* not a terminal */
    run(&s, &v, 10000, 1);
    assert_int_equal(count(&s, "\n"), 1);
    screen_close(&s);
    screen_open(&s, PROGRESS_NONE);
    run(&s, &v, 35000, 1);
    fflush(s.out);
    assert_int_equal(s.n, 0);
    screen_close(&s);
}

static void rate_is_smooth(void **state) {
    (void)state;
    struct screen s;
    struct progress_view v = view;
    v.total_ids = 1000000;
    v.done_ids = 100000; /* done before this run: no part of the speed */
    screen_open(&s, PROGRESS_NONE);
    progress_update(s.p, &v);
    assert_true(progress_last(s.p).rate_per_s == 0);
    assert_int_equal(progress_last(s.p).eta_s, -1);
    run(&s, &v, 1000, 500); /* right from the first second */
    assert_in_range((int64_t)progress_last(s.p).rate_per_s, 480, 520);
    run(&s, &v, 60000, 500);
    assert_in_range((int64_t)progress_last(s.p).rate_per_s, 480, 520);
    assert_in_range(progress_last(s.p).eta_s, 1600, 1850);
    run(&s, &v, 1000, 0); /* a second of silence moves it a little */
    assert_in_range((int64_t)progress_last(s.p).rate_per_s, 400, 480);
    run(&s, &v, 90000, 0);
    assert_true(progress_last(s.p).rate_per_s < 1);
    v.paused = true;
    progress_update(s.p, &v);
    assert_int_equal(progress_last(s.p).eta_s, -1);
    v.done_ids = v.total_ids;
    progress_update(s.p, &v);
    assert_int_equal(progress_last(s.p).eta_s, 0);
    screen_close(&s);
}

/* A log line wipes the bar, is written, and the bar comes back below it. */
static void steps_aside_for_log_lines(void **state) {
    (void)state;
    FILE *file = tmpfile();
    int saved = dup(STDERR_FILENO);
    struct clock clock;
    clock_manual_init(&clock, 0, 0);
    const struct progress_options o = {
        .mode = PROGRESS_BAR, .out = file, .style = {.width = 80}, .clock = &clock};
    fflush(stderr);
    dup2(fileno(file), STDERR_FILENO);
    struct progress *p = progress_new(&o);
    log_setup(LOG_INFO, LOG_TEXT);
    log_info("before the first frame");
    progress_update(p, &view);
    log_info("behind it");
    progress_free(p);
    log_info("after the end");
    dup2(saved, STDERR_FILENO);
    close(saved);
    char text[4096];
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    const char *first = strstr(text, "before the first frame\"\ncatching up");
    assert_non_null(first);
    const char *log = strstr(first, "\r\033[1A\033[Jtime=");
    assert_non_null(log);
    const char *again = strstr(log, "behind it\"\ncatching up");
    assert_non_null(again);
    assert_non_null(strstr(again, "\r\033[1A\033[Jtime="));
    assert_null(strstr(strstr(again, "after the end"), "catching up"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_for_people),
        cmocka_unit_test(bars),
        cmocka_unit_test(bytes_without_an_end),
        cmocka_unit_test(never_wider_than_the_terminal),
        cmocka_unit_test(lines),
        cmocka_unit_test(draws_at_its_own_pace),
        cmocka_unit_test(rate_is_smooth),
        cmocka_unit_test(steps_aside_for_log_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
