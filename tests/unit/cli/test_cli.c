#include "cli/cli.h"
#include "cli/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct outcome {
    int code;
    char *out, *complaints;
};

static struct outcome run(const char *line) {
    char *copy = xstrdup(line), *words[32] = {"tain"}, *rest = copy;
    int n = 1;
    for (char *word; n < 31 && (word = strsep(&rest, " "));)
        if (*word)
            words[n++] = word;
    struct outcome o;
    size_t out_n, complaints_n;
    FILE *out = open_memstream(&o.out, &out_n);
    FILE *complaints = open_memstream(&o.complaints, &complaints_n);
    o.code = cli_run(n, words, out, complaints);
    fclose(out);
    fclose(complaints);
    free(copy);
    return o;
}

static void outcome_release(struct outcome *o) {
    free(o->out);
    free(o->complaints);
}

/* What is expected on one of the two streams; the other must stay empty. */
struct run_case {
    const char *line;
    int code;
    const char *out, *complaints;
};

static void choosing_a_command(void **state) {
    (void)state;
    static const struct run_case cases[] = {
        {"", EXIT_USAGE, NULL, "Usage: tain COMMAND"},
        {"--help", EXIT_DONE, "Usage: tain COMMAND", NULL},
        {"-h", EXIT_DONE, "Usage: tain COMMAND", NULL},
        {"help", EXIT_DONE, "Usage: tain COMMAND", NULL},
        {"help demo", EXIT_DONE, "Usage: tain demo [options]", NULL},
        {"demo --help", EXIT_DONE, "Usage: tain demo [options]", NULL},
        {"demo --seed 4 -h", EXIT_DONE, "Usage: tain demo [options]", NULL},
        {"help dmeo", EXIT_USAGE, NULL, "did you mean 'tain demo'?"},
        {"dmeo", EXIT_USAGE, NULL, "tain: unknown command 'dmeo'; did you mean 'tain demo'?\n"},
        {"qqqqqq", EXIT_USAGE, NULL, "tain: unknown command 'qqqqqq'\n"},
        {"--db sqlite:x demo", EXIT_USAGE, NULL, "'--db' stands before the command"},
        {"--version", EXIT_DONE, "tain " TAIN_VERSION "\nlibcurl/", NULL},
        {"--version", EXIT_DONE, "\nSQLite/", NULL},
        {"--version", EXIT_DONE, "\nlibpq/", NULL},
        {"demo --prot 5", EXIT_USAGE, NULL,
         "tain demo: unknown option --prot for 'tain demo'; did you mean --port?\n"
         "Try 'tain demo --help'.\n"},
        {"demo --port x", EXIT_USAGE, NULL, "tain demo: --port: 'x' is not allowed"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct run_case *c = &cases[i];
        CLEANUP(outcome_release) struct outcome o = run(c->line);
        if (o.code != c->code)
            fail_msg("'%s' ended with %d", c->line, o.code);
        if (c->out ? !strstr(o.out, c->out) : *o.out)
            fail_msg("'%s' printed '%s'", c->line, o.out);
        if (c->complaints ? !strstr(o.complaints, c->complaints) : *o.complaints)
            fail_msg("'%s' complained '%s'", c->line, o.complaints);
    }
}

static char *help_of(const struct command *c) {
    char *text;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    help_command(out, c);
    fclose(out);
    return text;
}

static void widths(const char *text) {
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, "\n");
        if (n > 80)
            fail_msg("a line of help is too wide: %.*s", (int)n, p);
        p += n + (p[n] == '\n');
    }
}

/* Each command's help has its own options with their defaults, and no other's. */
static void help_has_every_option(void **state) {
    (void)state;
    static const enum command_id ids[] = {CMD_CATCHUP, CMD_STATUS, CMD_MIGRATE, CMD_DEMO};
    size_t n;
    const struct option_def *table = option_table(&n);
    for (size_t k = 0; k < ARRAY_LEN(ids); k++) {
        const struct command c = {"name",      ids[k],          "a summary",
                                  "About it.", "tain name --x", .resumable = ids[k] == CMD_CATCHUP};
        CLEANUP(free_ptr) char *text = help_of(&c);
        for (size_t i = 0; i < n; i++) {
            char line[128], value[96];
            const char *what = table[i].metavar ? table[i].metavar : table[i].choices;
            snprintf(line, sizeof line, "\n  --%s%s%s", table[i].name, what ? " " : "",
                     what ? what : "");
            if (!strstr(text, line) != !(table[i].commands & ids[k]))
                fail_msg("help of command %d and '%s':\n%s", ids[k], line, text);
            snprintf(value, sizeof value, "%s)", table[i].fallback ? table[i].fallback : "");
            if ((table[i].commands & ids[k]) && !strstr(text, value))
                fail_msg("no default of %s in:\n%s", table[i].name, text);
        }
        assert_non_null(strstr(text, "Example:\n  tain name --x\n"));
        assert_non_null(strstr(text, "  2    wrong usage or configuration\n"));
        assert_int_equal(!strstr(text, "\n  130 "), ids[k] != CMD_CATCHUP);
        widths(text);
    }
}

/* A row of the command table is complete, and its example is one of itself. */
static void commands_are_sound(void **state) {
    (void)state;
    size_t n;
    const struct command *table = command_table(&n);
    CLEANUP(outcome_release) struct outcome o = run("--help");
    for (size_t i = 0; i < n; i++) {
        char begin[64];
        snprintf(begin, sizeof begin, "tain %s", table[i].name);
        assert_ptr_equal(command_find(table[i].name), &table[i]);
        assert_true(strncmp(table[i].example, begin, strlen(begin)) == 0);
        assert_true(table[i].run && table[i].about && table[i].id);
        assert_non_null(strstr(o.out, table[i].summary));
        CLEANUP(free_ptr) char *text = help_of(&table[i]);
        widths(text);
    }
    assert_null(command_find("nothing"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(choosing_a_command),
        cmocka_unit_test(help_has_every_option),
        cmocka_unit_test(commands_are_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
