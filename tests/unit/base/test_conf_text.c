#include "base/conf_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const struct {
    const char *in, *out; /* out NULL: something never ends, at `at` */
    size_t at;
} cases[] = {
    {"a = 1 # c\nb = 2", "a = 1    \nb = 2", 0},
    {"a = http://x/y // c", "a = http://x/y     ", 0},
    {"a /* 1\n2 */ b", "a     \n     b", 0},
    {"a = \"# no\" '// no' # yes", "a = \"# no\" '// no'      ", 0},
    {"a = 'it\\'s # no'", "a = 'it\\'s # no'", 0},
    {"", "", 0},
    {"a = \"x", NULL, 4},
    {"a = 'x\\'", NULL, 4},
    {"a /* x", NULL, 2},
};

static void comments_become_blanks(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[100];
        snprintf(text, sizeof text, "%s", cases[i].in);
        const char *endless = conf_text_blank_comments(text, strlen(text));
        if (cases[i].out) {
            assert_null(endless);
            assert_string_equal(text, cases[i].out);
        } else {
            assert_ptr_equal(endless, text + cases[i].at);
        }
    }
}

static void lines_are_counted(void **state) {
    (void)state;
    const char *text = "a\nb\n\nc";
    assert_int_equal(conf_text_line(text, text), 1);
    assert_int_equal(conf_text_line(text, text + 2), 2);
    assert_int_equal(conf_text_line(text, text + 5), 4);
}

static void write_file(const char *path, const char *start, size_t n) {
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    for (size_t i = 0; i < n; i++)
        fputc(i < strlen(start) ? start[i] : i == strlen(start) && n < 100 ? '\0' : ' ', f);
    fclose(f);
}

static void files_are_read_whole(void **state) {
    (void)state;
    char path[] = "/tmp/tain-conf-XXXXXX", *text = NULL;
    size_t n = 0;
    struct err e;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    write_file(path, "a = 1\n", 6);
    assert_int_equal(conf_text_read(path, &text, &n, &e), V_OK);
    assert_int_equal(n, 6);
    assert_string_equal(text, "a = 1\n");
    free(text);
    write_file(path, "a", 2); /* and a NUL */
    assert_int_equal(conf_text_read(path, &text, &n, &e), V_INVALID);
    assert_non_null(strstr(e.msg, "not a text file"));
    write_file(path, "a", CONF_TEXT_MAX);
    assert_int_equal(conf_text_read(path, &text, &n, &e), V_OK);
    free(text);
    write_file(path, "a", CONF_TEXT_MAX + 1);
    assert_int_equal(conf_text_read(path, &text, &n, &e), V_INVALID);
    assert_non_null(strstr(e.msg, "larger than 1 MiB"));
    unlink(path);
    assert_int_equal(conf_text_read(path, &text, &n, &e), V_INVALID);
    assert_non_null(strstr(e.msg, "No such file"));
    assert_int_equal(conf_text_read("/tmp", &text, &n, &e), V_INVALID);
    assert_non_null(strstr(e.msg, "directory"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comments_become_blanks),
        cmocka_unit_test(lines_are_counted),
        cmocka_unit_test(files_are_read_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
