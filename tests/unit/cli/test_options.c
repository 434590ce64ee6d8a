#include "load.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const nothing[] = {NULL};

struct number_case {
    const char *line;
    size_t offset;
    int64_t expected;
};

#define AT(field) offsetof(struct settings, field)

static void whole_numbers(void **state) {
    (void)state;
    static const struct number_case cases[] = {
        {"", AT(segment_width), 1000},
        {"", AT(start_id), 0},
        {"--segment-width 500", AT(segment_width), 500},
        {"--segment-width=500", AT(segment_width), 500},
        {"--segment-width 1", AT(segment_width), 1},
        {"--segment-width 100000", AT(segment_width), 100000},
        {"--segment-width 5 --segment-width 6", AT(segment_width), 6},
        {"--start-id 1", AT(start_id), 1},
        {"--end-id 9007199254740991", AT(end_id), 9007199254740991},
        {"--limit 7", AT(limit), 7},
        {"", AT(wait_ms), 0},
        {"--wait 500ms", AT(wait_ms), 500},
        {"--wait 30", AT(wait_ms), 30000},
        {"--wait 30s", AT(wait_ms), 30000},
        {"--wait 5m", AT(wait_ms), 300000},
        {"--wait 6h", AT(wait_ms), 6 * 3600000},
        {"--wait 3d", AT(wait_ms), 3 * 86400000},
        {"--wait 1.5h", AT(wait_ms), 5400000},
        {"", AT(timeout_ms), 30000},
        {"", AT(max_outage_ms), 900000},
        {"", AT(max_body), 8 << 20},
        {"--max-body 4MiB", AT(max_body), 4 << 20},
        {"--max-body 65536", AT(max_body), 65536},
        {"--max-body 512KiB", AT(max_body), 512 << 10},
        {"--max-body 1MB", AT(max_body), 1000000},
        {"--max-body 1GiB", AT(max_body), 1 << 30},
        {"", AT(concurrency), 256},
        {"", AT(batch_size), 500},
        {"", AT(retry_attempts), 8},
        {"", AT(retry_initial_ms), 500},
        {"--retry-max-ms 100", AT(retry_max_ms), 100}, /* below the default of the first delay */
        {"", AT(retry_max_ms), 30000},
        {"", AT(retry_jitter_ms), 100},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct settings s;
        if (load_line(&s, CMD_CATCHUP, cases[i].line) != V_OK)
            fail_msg("%s: %s", cases[i].line, last_error.msg);
        int64_t got = *(int64_t *)((char *)&s + cases[i].offset);
        if (got != cases[i].expected)
            fail_msg("%s: got %ld", cases[i].line, (long)got);
        settings_release(&s);
    }
}

static void other_types(void **state) {
    (void)state;
    struct settings s;
    assert_int_equal(load_line(&s, CMD_CATCHUP, ""), V_OK);
    assert_string_equal(s.db, "sqlite:tain.db");
    assert_string_equal(s.schema, "tain");
    assert_string_equal(s.upstream, "https://hacker-news.firebaseio.com/v0");
    assert_true(s.rps == 1000.0);
    assert_int_equal(s.log_level, LOG_INFO);
    assert_int_equal(s.log_format, LOG_TEXT);
    assert_int_equal(s.revisions, 1);
    assert_int_equal(s.progress, PROGRESS_AUTO);
    assert_false(s.json || s.no_migrate || s.ignore_highest || s.force_replay_window);
    assert_string_equal(s.metrics_bind, "127.0.0.1:9464");
    settings_release(&s);

    assert_int_equal(load_line(&s, CMD_CATCHUP,
                               "--json --no-migrate --ignore-highest --rps 0.5 --revisions none "
                               "--progress bar --log-level off --log-format json "
                               "--metrics-bind [::1]:9464 --upstream http://127.0.0.1:8080/v0//"),
                     V_OK);
    assert_true(s.json && s.no_migrate && s.ignore_highest);
    assert_true(s.rps == 0.5);
    assert_int_equal(s.revisions, 2);
    assert_int_equal(s.progress, PROGRESS_BAR);
    assert_int_equal(s.log_level, LOG_OFF);
    assert_int_equal(s.log_format, LOG_JSON);
    assert_string_equal(s.metrics_bind, "[::1]:9464");
    assert_string_equal(s.upstream, "http://127.0.0.1:8080/v0");
    settings_release(&s);

    assert_int_equal(load_line(&s, CMD_DEMO, "--fault a --fault=b --port 0 --grow 2.5"), V_OK);
    assert_int_equal(s.fault.n, 2);
    assert_string_equal(s.fault.items[1], "b");
    assert_true(s.grow == 2.5);
    settings_release(&s);
}

static void switches_both_ways(void **state) {
    (void)state;
    static const struct {
        const char *line;
        bool json, no_migrate;
    } cases[] = {
        {"--json --no-json", false, false},
        {"--no-json --json", true, false},
        {"--no-migrate", false, true},
        {"--no-migrate --migrate", false, false},
        {"--json=yes", true, false},
        {"--json=off", false, false},
        {"--json=TRUE --json=0", false, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct settings s;
        assert_int_equal(load_line(&s, CMD_CATCHUP, cases[i].line), V_OK);
        assert_int_equal(s.json, cases[i].json);
        assert_int_equal(s.no_migrate, cases[i].no_migrate);
        settings_release(&s);
    }
}

struct wrong_case {
    enum command_id command;
    const char *line, *message; /* a part of it */
};

#define WIDTH_RANGE "give a whole number from 1 to 100000"
#define DURATION_RANGE "give a duration such as 500ms, 30s, 5m, 6h or 3d, from 0 to 30d"

static const struct wrong_case wrong[] = {
    {CMD_CATCHUP, "--segment-width 0", "--segment-width: '0' is not allowed; " WIDTH_RANGE},
    {CMD_CATCHUP, "--segment-width 100001", "'100001' is not allowed; " WIDTH_RANGE},
    {CMD_CATCHUP, "--segment-width -5", "'-5' is not allowed"},
    {CMD_CATCHUP, "--segment-width 5x", "'5x' is not allowed"},
    {CMD_CATCHUP, "--segment-width=", "'' is not allowed"},
    {CMD_CATCHUP, "--segment-width 99999999999999999999", "is not allowed"},
    {CMD_CATCHUP, "--start-id 0", "give an item id, a whole number from 1 up"},
    {CMD_CATCHUP, "--start-id 9007199254740992", "--start-id"},
    {CMD_CATCHUP, "--limit 0", "give a whole number from 1 up"},
    {CMD_CATCHUP, "--rps -1", "give a number from 0 to 1000000"},
    {CMD_CATCHUP, "--rps nan", "--rps: 'nan' is not allowed"},
    {CMD_CATCHUP, "--rps 1e3", "'1e3' is not allowed"},
    {CMD_CATCHUP, "--rps 1.2.3", "'1.2.3' is not allowed"},
    {CMD_CATCHUP, "--wait 5w", "--wait: '5w' is not allowed; " DURATION_RANGE},
    {CMD_CATCHUP, "--wait 31d", DURATION_RANGE},
    {CMD_CATCHUP, "--wait ms", DURATION_RANGE},
    {CMD_CATCHUP, "--max-body 10", "give a size such as 65536, 512KiB or 8MiB"},
    {CMD_CATCHUP, "--max-body 8mib", "give a size"},
    {CMD_CATCHUP, "--revisions some", "'some' is not allowed; give all, content or none"},
    {CMD_CATCHUP, "--log-level all|", "give debug, info, warn, error or off"},
    {CMD_CATCHUP, "--json=maybe", "'maybe' is not allowed; give true or false"},
    {CMD_CATCHUP, "--no-json=true", "--no-json takes no value"},
    {CMD_CATCHUP, "--schema Tain", "give a lower-case name"},
    {CMD_CATCHUP, "--upstream ftp://x/", "begins with http:// or https://"},
    {CMD_CATCHUP, "--metrics-bind 9464", "give ADDR:PORT"},
    {CMD_CATCHUP, "--db mysql://x", "--db: this value is not allowed; give sqlite:PATH, postgres"},
    {CMD_CATCHUP, "--ca-file /nonexistent/ca.pem", "--ca-file: /nonexistent/ca.pem: No such file"},
    {CMD_CATCHUP, "--start-id 9 --end-id 5", "--start-id 9 is above --end-id 5"},
    {CMD_CATCHUP, "--retry-initial-ms 900 --retry-max-ms 800",
     "--retry-initial-ms 900 is above --retry-max-ms 800"},
    {CMD_CATCHUP, "--segment-widht 5",
     "unknown option --segment-widht for 'tain catchup'; did you mean --segment-width?"},
    {CMD_CATCHUP, "--qqqqqq", "unknown option --qqqqqq for 'tain catchup'"},
    {CMD_CATCHUP, "-x", "unknown option '-x' for 'tain catchup'"},
    {CMD_CATCHUP, "now", "unexpected argument 'now' for 'tain catchup'"},
    {CMD_CATCHUP, "--", "unexpected argument '--'"},
    {CMD_CATCHUP, "--db", "--db needs a value: --db DATABASE"},
    {CMD_CATCHUP, "--revisions --json", "--revisions needs a value: --revisions all|content|none"},
    {CMD_STATUS, "--segment-width 5", "--segment-width is not an option of 'tain status'"},
    {CMD_DEMO, "--dump 9-3", "give LO-HI"},
    {CMD_DEMO, "--fault=", "--fault: '' is not allowed"},
    {CMD_DEMO, "--bind localhost", "give a numeric address"},
    {CMD_DEMO, "--port 65536", "give a whole number from 0 to 65535"},
};

static void wrong_values(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct settings s;
        if (load_line(&s, wrong[i].command, wrong[i].line) != V_INVALID)
            fail_msg("%s: was taken", wrong[i].line);
        if (!strstr(last_error.msg, wrong[i].message))
            fail_msg("%s: says '%s'", wrong[i].line, last_error.msg);
        settings_release(&s);
    }
}

static void list_is_bounded(void **state) {
    (void)state;
    char *words[SETTINGS_LIST_MAX + 1];
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        words[i] = "--fault=a";
    struct settings s;
    struct err e;
    bool help = false;
    struct option_source from = {SETTINGS_LIST_MAX, words, (const char *(*)(const char *))getenv};
    assert_int_equal(settings_load(&s, CMD_DEMO, "demo", &from, &help, &e), V_OK);
    assert_int_equal(s.fault.n, SETTINGS_LIST_MAX);
    settings_release(&s);
    from.argc++;
    assert_int_equal(settings_load(&s, CMD_DEMO, "demo", &from, &help, &e), V_INVALID);
    assert_non_null(strstr(e.msg, "at most 64"));
    settings_release(&s);
}

/* Each place beats the ones before it, and is remembered as the origin. */
static void precedence(void **state) {
    (void)state;
    const char *path = write_config("segment_width = 20\nbatch_size = 21\nconcurrency = 22\n");
    static const char *const env[] = {"TAIN_SEGMENT_WIDTH=30", "TAIN_BATCH_SIZE=31",
                                      "TAIN_LIMIT=", NULL};
    fake_env = env;
    char line[128];
    snprintf(line, sizeof line, "--config %s --segment-width 40", path);
    struct settings s;
    assert_int_equal(load_line(&s, CMD_CATCHUP, line), V_OK);
    assert_int_equal(s.segment_width, 40);
    assert_int_equal(s.batch_size, 31);
    assert_int_equal(s.concurrency, 22);
    assert_int_equal(s.retry_attempts, 8);
    assert_int_equal(settings_origin(&s, "segment-width"), ORIGIN_FLAG);
    assert_int_equal(settings_origin(&s, "batch-size"), ORIGIN_ENV);
    assert_int_equal(settings_origin(&s, "concurrency"), ORIGIN_FILE);
    assert_int_equal(settings_origin(&s, "retry-attempts"), ORIGIN_DEFAULT);
    assert_int_equal(settings_origin(&s, "limit"), ORIGIN_DEFAULT);
    settings_release(&s);

    char variable[128];
    snprintf(variable, sizeof variable, "TAIN_CONFIG=%s", path);
    const char *const by_env[] = {variable, NULL};
    fake_env = by_env;
    assert_int_equal(load_line(&s, CMD_CATCHUP, ""), V_OK);
    assert_int_equal(s.segment_width, 20);
    settings_release(&s);
    fake_env = nothing;
    unlink(path);
}

static void environment_errors(void **state) {
    (void)state;
    static const char *const bad[] = {"TAIN_SEGMENT_WIDTH=wide", NULL};
    fake_env = bad;
    struct settings s;
    assert_int_equal(load_line(&s, CMD_CATCHUP, ""), V_INVALID);
    assert_string_equal(last_error.msg, "TAIN_SEGMENT_WIDTH: 'wide' is not allowed; " WIDTH_RANGE);
    settings_release(&s);
    assert_int_equal(load_line(&s, CMD_CATCHUP, "--limit 5 --help"), V_OK); /* help always comes */
    assert_true(last_help);
    settings_release(&s);
    /* Not an option of this command, and TAIN_FAULT means something else. */
    static const char *const foreign[] = {"TAIN_SEGMENT_WIDTH=wide", "TAIN_FAULT=x", NULL};
    fake_env = foreign;
    assert_int_equal(load_line(&s, CMD_DEMO, ""), V_OK);
    assert_int_equal(s.fault.n, 0);
    settings_release(&s);
    static const char *const order[] = {"TAIN_START_ID=8", NULL};
    fake_env = order;
    assert_int_equal(load_line(&s, CMD_CATCHUP, "--end-id 4"), V_INVALID);
    assert_string_equal(last_error.msg, "TAIN_START_ID 8 is above --end-id 4");
    settings_release(&s);
    fake_env = nothing;
}

static void password_on_the_command_line(void **state) {
    (void)state;
    static const char *const refused[] = {
        "--db postgres://me:hush@host/hn",
        "--db=postgresql://me:hush@host/hn",
        "--db postgres://me@host/hn?sslmode=require&password=hush",
        "--db host=x,password=hush --db password=hush",
    };
    struct settings s;
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        assert_int_equal(load_line(&s, CMD_CATCHUP, refused[i]), V_INVALID);
        assert_non_null(strstr(last_error.msg, "TAIN_DB"));
        assert_non_null(strstr(last_error.msg, "--config"));
        assert_non_null(strstr(last_error.msg, "PGPASSFILE"));
        assert_null(strstr(last_error.msg, "hush"));
        settings_release(&s);
    }
    static const char *const env[] = {"TAIN_DB=postgres://me:hush@host/hn", NULL};
    fake_env = env;
    assert_int_equal(load_line(&s, CMD_STATUS, ""), V_OK);
    assert_string_equal(s.db, "postgres://me:hush@host/hn");
    settings_release(&s);
    static const char *const wrong_form[] = {"TAIN_DB=host=x password=hush", NULL};
    fake_env = wrong_form;
    assert_int_equal(load_line(&s, CMD_STATUS, ""), V_INVALID);
    assert_null(strstr(last_error.msg, "hush"));
    settings_release(&s);
    fake_env = nothing;
}

static void command_line_again(void **state) {
    (void)state;
    static const char *const env[] = {"TAIN_LIMIT=5", NULL};
    fake_env = env;
    struct settings s;
    assert_int_equal(load_line(&s, CMD_CATCHUP,
                               "--db sqlite:it's.db --wait 5m --rps 2.5 --no-migrate --no-json "
                               "--revisions all --max-body 1MiB"),
                     V_OK);
    struct strbuf b;
    strbuf_init(&b, 1024);
    settings_command_line(&s, &b);
    assert_string_equal(b.p, "tain catchup --rps 2.5 --wait 300000ms --max-body 1048576 "
                             "--revisions all --db 'sqlite:it'\\''s.db' --no-migrate --no-json");
    strbuf_release(&b);
    settings_release(&s);
    fake_env = nothing;
}

/* Every row is one that the rest of the code can use. */
static void table_is_sound(void **state) {
    (void)state;
    size_t n;
    const struct option_def *table = option_table(&n);
    for (size_t i = 0; i < n; i++) {
        const struct option_def *d = &table[i];
        assert_ptr_equal(option_find(d->name), d);
        assert_true(strlen(d->name) < 40 && d->commands != 0);
        assert_true(d->help && d->help[strlen(d->help) - 1] == '.');
        assert_true(d->type == OPTION_BOOL || d->metavar || d->choices);
        assert_true(d->type != OPTION_STRING || (d->accepts && d->allowed));
        for (size_t k = 0; k < i; k++)
            assert_true(table[k].offset != d->offset);
    }
    char name[OPTION_NAME_MAX];
    option_env_name(option_find("retry-max-ms"), name);
    assert_string_equal(name, "TAIN_RETRY_MAX_MS");
    option_file_key(option_find("retry-max-ms"), name);
    assert_string_equal(name, "retry_max_ms");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers),      cmocka_unit_test(other_types),
        cmocka_unit_test(switches_both_ways), cmocka_unit_test(wrong_values),
        cmocka_unit_test(list_is_bounded),    cmocka_unit_test(precedence),
        cmocka_unit_test(environment_errors), cmocka_unit_test(password_on_the_command_line),
        cmocka_unit_test(command_line_again), cmocka_unit_test(table_is_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
