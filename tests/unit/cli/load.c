#include "load.h"

#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const no_variables[] = {NULL};
const char *const *fake_env = no_variables;
struct err last_error;
bool last_help;

static const char *lookup(const char *name) {
    size_t n = strlen(name);
    for (const char *const *p = fake_env; *p; p++)
        if (strncmp(*p, name, n) == 0 && (*p)[n] == '=')
            return *p + n + 1;
    return NULL;
}

enum verdict load_line(struct settings *s, enum command_id command, const char *line) {
    char *copy = xstrdup(line), *words[64], *rest = copy;
    int n = 0;
    for (char *word; n < 64 && (word = strsep(&rest, " "));)
        if (*word)
            words[n++] = word;
    const struct option_source from = {n, words, lookup};
    memset(&last_error, 0, sizeof last_error);
    last_help = false;
    size_t n_commands;
    const struct command *commands = command_table(&n_commands);
    const char *name = NULL;
    for (size_t i = 0; i < n_commands; i++)
        if (commands[i].id == command)
            name = commands[i].name;
    enum verdict v = settings_load(s, command, name, &from, &last_help, &last_error);
    free(copy);
    return v;
}

const char *write_config(const char *text) {
    static char path[64];
    snprintf(path, sizeof path, "/tmp/tain-test-XXXXXX");
    int fd = mkstemp(path);
    size_t n = strlen(text);
    if (fd < 0 || write(fd, text, n) != (ssize_t)n)
        abort();
    close(fd);
    return path;
}
