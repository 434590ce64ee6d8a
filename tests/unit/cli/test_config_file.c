#include "load.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static enum verdict load_text(struct settings *s, enum command_id command, const char *text,
                              char *ret_path) {
    const char *path = write_config(text);
    char line[128];
    snprintf(line, sizeof line, "--config %s", path);
    strcpy(ret_path, path);
    enum verdict v = load_line(s, command, line);
    unlink(path);
    return v;
}

static void every_type(void **state) {
    (void)state;
    struct settings s;
    char path[64];
    assert_int_equal(load_text(&s, CMD_CATCHUP,
                               "# an archive\n"
                               "db = \"postgres://me:hu#sh@host/hn\" # with its password\n"
                               "upstream = http://127.0.0.1:8080/v0/ // ours\n"
                               "/* several\n   lines */ segment_width = 500\n"
                               "timeout = 45s\nmax_body = \"4 MiB\"\nrps = 2.5\n"
                               "json = true\nrevisions = 'all'\n"
                               "fault = {\"id=1:reset\", # the first\n  all:drip}\n",
                               path),
                     V_OK);
    assert_string_equal(s.db, "postgres://me:hu#sh@host/hn");
    assert_string_equal(s.upstream, "http://127.0.0.1:8080/v0");
    assert_int_equal(s.segment_width, 500);
    assert_int_equal(s.timeout_ms, 45000);
    assert_int_equal(s.max_body, 4 << 20);
    assert_true(s.rps == 2.5 && s.json);
    assert_int_equal(s.revisions, 0);
    assert_int_equal(s.fault.n, 2);
    assert_string_equal(s.fault.items[0], "id=1:reset");
    assert_string_equal(s.fault.items[1], "all:drip");
    settings_release(&s);
}

/* One file serves every command: what belongs to another is checked and put aside. */
static void shared_by_commands(void **state) {
    (void)state;
    struct settings s;
    char path[64];
    assert_int_equal(load_text(&s, CMD_STATUS, "segment_width = 500\n", path), V_OK);
    settings_release(&s);
    assert_int_equal(load_text(&s, CMD_STATUS, "segment_width = 0\n", path), V_INVALID);
    settings_release(&s);
}

static void empty_files(void **state) {
    (void)state;
    static const char *const texts[] = {"", "\n", "# only a comment", "/**/", " \t\n"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct settings s;
        char path[64];
        if (load_text(&s, CMD_CATCHUP, texts[i], path) != V_OK)
            fail_msg("case %zu: %s", i, last_error.msg);
        settings_release(&s);
    }
}

static void a_flag_replaces_a_list(void **state) {
    (void)state;
    const char *path = write_config("fault = {a, b}\n");
    char line[128];
    snprintf(line, sizeof line, "--fault c --config %s", path);
    struct settings s;
    assert_int_equal(load_line(&s, CMD_DEMO, line), V_OK);
    assert_int_equal(s.fault.n, 1);
    assert_string_equal(s.fault.items[0], "c");
    settings_release(&s);
    unlink(path);
}

struct wrong_case {
    const char *text, *message; /* the message behind "FILE:" */
};

static void wrong_files(void **state) {
    (void)state;
    static const struct wrong_case cases[] = {
        {"segmnt_width = 5\n", "1: segmnt_width: unknown key; did you mean segment_width?"},
        {"\n\nqqqqqqqqq = 5\n", "3: qqqqqqqqq: unknown key; the keys are the options with _ for -"},
        {"# one\n# two\nsegment-width = 5\n", "3: segment-width: unknown key; did you mean "
                                              "segment_width?"},
        {"limit = 5 # five\n/* a\nb */\nsegment_width = 0\n",
         "4: segment_width: '0' is not allowed; give a whole number from 1 to 100000"},
        {"revisions = some\n", "1: revisions: 'some' is not allowed; give all, content or none"},
        {"limit = 5\nlimit = 6\n", "2: limit: already given in line 1; give it once"},
        {"limit 5\n", "1: missing equal sign after option 'limit'"},
        {"db = mysql://me:hush@x\n",
         "1: db: this value is not allowed; give sqlite:PATH, postgres://... or postgresql://..."},
        {"config = other\n", "1: config: unknown key; the keys are the options with _ for -"},
        {"\n/* a\n", "2: this comment never ends"},
        {"\ndb = \"sqlite:a\n\n", "2: this quoted text never ends"},
        {"start_id = 9\nend_id = 3\n", " start_id 9 is above "},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct settings s;
        char path[64];
        assert_int_equal(load_text(&s, CMD_CATCHUP, cases[i].text, path), V_INVALID);
        size_t n = strlen(path);
        const char *rest = last_error.msg + n + 1;
        if (strncmp(last_error.msg, path, n) != 0 || last_error.msg[n] != ':' ||
            strncmp(rest, cases[i].message, strlen(cases[i].message)) != 0)
            fail_msg("case %zu says '%s'", i, last_error.msg);
        settings_release(&s);
    }
}

static void unreadable_files(void **state) {
    (void)state;
    struct settings s;
    assert_int_equal(load_line(&s, CMD_CATCHUP, "--config /nonexistent/a.conf"), V_INVALID);
    assert_string_equal(last_error.msg, "/nonexistent/a.conf: No such file or directory");
    settings_release(&s);
    assert_int_equal(load_line(&s, CMD_CATCHUP, "--config /tmp"), V_INVALID);
    assert_string_equal(last_error.msg, "/tmp: Is a directory");
    settings_release(&s);
    assert_int_equal(load_line(&s, CMD_CATCHUP, "--config /dev/zero"), V_INVALID);
    assert_string_equal(last_error.msg, "/dev/zero: larger than 1 MiB");
    settings_release(&s);
}

/* Bytes of any kind end in a message that a terminal can show, or in nothing at all. */
static void garbage(void **state) {
    (void)state;
    for (unsigned seed = 1; seed <= 200; seed++) {
        char text[400];
        for (size_t i = 0; i < sizeof text; i++)
            text[i] = (char)(1 + rand_r(&seed) % 255);
        text[sizeof text - 1] = '\0';
        struct settings s;
        char path[64];
        if (load_text(&s, CMD_CATCHUP, text, path) != V_OK) {
            assert_true(strlen(last_error.msg) > strlen(path));
            for (const char *p = last_error.msg; *p; p++)
                assert_true((unsigned char)*p >= 0x20 && (unsigned char)*p < 0x7F);
        }
        settings_release(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type),  cmocka_unit_test(shared_by_commands),
        cmocka_unit_test(empty_files), cmocka_unit_test(a_flag_replaces_a_list),
        cmocka_unit_test(wrong_files), cmocka_unit_test(unreadable_files),
        cmocka_unit_test(garbage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
