/* Where the key of the change feed comes from, and that no message holds it. */
#include "cli/feed_secret.h"
#include "load.h"

#include "base/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char *variable; /* TAIN_CDC_KEY */

static const char *env(const char *name) {
    return strcmp(name, "TAIN_CDC_KEY") == 0 ? variable : NULL;
}

static char path[64];

static void write_file(const void *text, size_t n) {
    strcpy(path, "/tmp/test-feed-secret-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, n), (ssize_t)n);
    close(fd);
}

static enum verdict load(const char *line, const char *const *variables, char *out, struct err *e) {
    struct settings s;
    fake_env = variables;
    assert_int_equal(load_line(&s, CMD_SERVE, line), V_OK);
    enum verdict v = secret_load(SECRET_CDC_KEY, &s, env, out, e);
    settings_release(&s);
    return v;
}

static const char *const no_variables[] = {NULL};

static void comes_from_one_place(void **state UNUSED) {
    char out[FEED_SECRET_MAX + 1], flag[100], name[100];
    struct err e;
    const char *const by_env[] = {name, NULL};
    variable = NULL;
    assert_int_equal(load("", no_variables, out, &e), V_OK);
    assert_string_equal(out, "");
    variable = "";
    assert_int_equal(load("", no_variables, out, &e), V_OK);
    assert_string_equal(out, "");
    variable = "from-the-environment";
    assert_int_equal(load("", no_variables, out, &e), V_OK);
    assert_string_equal(out, "from-the-environment");
    write_file("from-a-file-of-its-own\r\n", 24);
    snprintf(flag, sizeof flag, "--cdc-key-file %s", path);
    snprintf(name, sizeof name, "TAIN_CDC_KEY_FILE=%s", path);
    assert_int_equal(load(flag, no_variables, out, &e), V_OK);
    assert_string_equal(out, "from-a-file-of-its-own");
    assert_int_equal(load("", by_env, out, &e), V_OK);
    assert_string_equal(out, "from-the-environment");
    variable = NULL;
    assert_int_equal(load("", by_env, out, &e), V_OK);
    assert_string_equal(out, "from-a-file-of-its-own");
    unlink(path);
    assert_int_equal(load(flag, no_variables, out, &e), V_INVALID);
    assert_non_null(strstr(e.msg, "No such file"));
}

static void must_be_one(void **state UNUSED) {
    static char longest[FEED_SECRET_MAX + 2];
    char out[FEED_SECRET_MAX + 1], flag[100];
    struct err e;
    memset(longest, 'k', sizeof longest - 1);
    const struct {
        const char *text;
        size_t n;
        const char *message; /* NULL: it is a key */
    } cases[] = {
        {"", 0, "holds no key"},
        {"\n", 1, "holds no key"},
        {"topsecret\0topsecret", 19, "holds no key"},
        {"topsecret topsecret", 19, "blanks"},
        {"topsecret\ntopsecret", 19, "blanks"},
        {"topsecret\xc3\xa9topsecret", 20, "no ASCII"},
        {longest, FEED_SECRET_MAX, NULL},
        {longest, FEED_SECRET_MAX + 1, "longer than 1024"},
        {"short", 5, NULL},
    };
    log_setup(LOG_OFF, LOG_TEXT);
    variable = NULL;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        write_file(cases[i].text, cases[i].n);
        snprintf(flag, sizeof flag, "--cdc-key-file %s", path);
        enum verdict v = load(flag, no_variables, out, &e);
        unlink(path);
        assert_int_equal(v, cases[i].message ? V_INVALID : V_OK);
        if (v == V_OK)
            assert_int_equal(strlen(out), cases[i].n);
        else if (!strstr(e.msg, cases[i].message) || strstr(e.msg, "topsecret") || *out)
            fail_msg("%zu: %s", i, e.msg);
    }
    variable = "with a blank";
    assert_int_equal(load("", no_variables, out, &e), V_INVALID);
    assert_non_null(strstr(e.msg, "TAIN_CDC_KEY: "));
    assert_null(strstr(e.msg, "with a"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_from_one_place),
        cmocka_unit_test(must_be_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
