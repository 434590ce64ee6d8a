/* The words and the JSON at the end of an import and an export. */
#include "cli/dump_report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct import_result imported(void) {
    return (struct import_result){
        .end = IMPORT_BROKEN_LINES,
        .from = {.lines = 500, .items = 400},
        .state = {.bytes = 90000, .lines = 2010, .items = 2000, .missing = 7, .broken = 1},
        .stats = {.inserted = 1500, .stale = 99, .repeated = 1},
        .broken = {{11, "garbage", "{\"id\":"}},
        .n_broken = 1,
        .adopted = 3,
        .checksum = CHECKSUM_GOOD,
        .sha256 = "abc",
        .sample = {.asked = 10,
                   .equal = 8,
                   .newer = 1,
                   .differs = 1,
                   .differences = {{.id = 77, .fields = "by, text"}},
                   .n_differences = 1},
        .duration_ms = 2000,
    };
}

#define PRINTED(text, call)                          \
    do {                                             \
        size_t size_;                                \
        FILE *out = open_memstream(&(text), &size_); \
        call;                                        \
        fclose(out);                                 \
    } while (0)

static void import_in_words(void **state UNUSED) {
    const struct import_result r = imported();
    const struct dump_report about = {.file = "d.ndjson"};
    char *text;
    PRINTED(text, import_print(out, &r, &about));
    assert_string_equal(
        text, "import: finished after 2s, 1,600 items, 800/s\n"
              "  lines                  2,010  those of earlier runs included\n"
              "  stored                 1,500  new to the archive\n"
              "  stale                     99  a later fetch had been stored already\n"
              "  repeated                   1  the last one of an id counts\n"
              "  missing                    7  the dump says so itself\n"
              "  broken                     1  lines that are no item\n"
              "    line 11: garbage: {\"id\":\n"
              "  the checksum in the .sha256 file is right\n"
              "sample: 10 asked, 8 equal, 1 newer upstream (score, descendants or kids), 1 differ\n"
              "  differs upstream:\n"
              "    77  by, text\n");
    free(text);
}

static void import_for_programs(void **state UNUSED) {
    struct import_result r = imported();
    r.end = IMPORT_STOPPED;
    const struct dump_report about = {.file = "a \"b\"", .resume = "tain import x"};
    char *text;
    PRINTED(text, import_print_json(out, &r, &about));
    assert_string_equal(
        text,
        "{\"command\":\"import\",\"lines\":2010,\"items\":2000,\"resumed_lines\":500,"
        "\"stored\":1500,\"changed\":0,\"unchanged\":0,\"stale\":99,\"repeated\":1,\"skipped\":0,"
        "\"missing\":7,\"broken\":1,\"adopted\":3,\"text_bytes\":90000,\"duration_ms\":2000,"
        "\"rate_per_s\":800.0,\"checksum\":\"good\",\"sha256\":\"abc\",\"broken_lines\":"
        "[{\"line\":11,\"class\":\"garbage\",\"text\":\"{\\\"id\\\":\"}],\"sample\":{\"seed\":0,"
        "\"asked\":10,\"equal\":8,\"newer\":1,\"differs\":1,\"contradicts\":0,\"gone\":0,"
        "\"unanswered\":0,\"trouble\":null,\"differences\":"
        "[{\"id\":77,\"fields\":\"by, "
        "text\",\"contradicts\":false}]},\"stopped\":true,\"file\":\"a \\\"b\\\"\","
        "\"resume_command\":\"tain import x\"}\n");
    free(text);
}

static void exports(void **state UNUSED) {
    const struct export_result r = {.end = EXPORT_FAILED,
                                    .first_id = 11,
                                    .last_id = 2000,
                                    .resumed_after = 10,
                                    .items = 1990,
                                    .bytes = 123456,
                                    .duration_ms = 100};
    const struct dump_report about = {
        .file = "f", .trouble = "disk full", .resume = "tain export f --resume"};
    char *text;
    PRINTED(text, export_print(out, &r, &about));
    assert_string_equal(text,
                        "export: failed (disk full) after 100ms, 1,990 items, 19,900/s\n"
                        "  ids 11 to 2,000\n  behind 10, which was there already\n"
                        "  bytes                123,456\n"
                        "Nothing that was stored is lost. When that is mended, go on with: tain "
                        "export f --resume\n");
    free(text);
    PRINTED(text, export_print_json(out, &r, &about));
    assert_string_equal(text,
                        "{\"command\":\"export\",\"items\":1990,\"first_id\":11,\"last_id\":2000,"
                        "\"resumed_after\":10,\"bytes\":123456,\"duration_ms\":100,"
                        "\"rate_per_s\":19900.0,\"stopped\":true,\"file\":\"f\",\"error\":"
                        "\"disk full\",\"resume_command\":\"tain export f --resume\"}\n");
    free(text);
}

static void one_is_no_plural(void **state UNUSED) {
    const struct export_result r = {
        .first_id = 7, .last_id = 7, .items = 1, .bytes = 8, .duration_ms = 1000};
    const struct dump_report about = {.file = "f"};
    char *text;
    PRINTED(text, export_print(out, &r, &about));
    assert_non_null(strstr(text, "finished after 1s, 1 item, "));
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_is_no_plural), cmocka_unit_test(import_in_words),
        cmocka_unit_test(import_for_programs), cmocka_unit_test(exports)};
    return cmocka_run_group_tests_name("dump_report", tests, NULL, NULL);
}
