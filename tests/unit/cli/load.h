/* For the tests of the option table: loads settings from a line of words, a made-up environment
 * and, with --config, a file. Single-threaded. */
#ifndef TAIN_TEST_CLI_LOAD_H
#define TAIN_TEST_CLI_LOAD_H

#include "cli/options.h"

/* "NAME=value" for each variable, NULL at the end; counts until it is set anew. */
extern const char *const *fake_env;

/* `line` is split at blanks; no quoting. The message goes to a static buffer: last_error. */
enum verdict load_line(struct settings *s, enum command_id command, const char *line);
extern struct err last_error;
extern bool last_help;

/* Writes `text` to a file of its own and answers the path, which the caller removes. */
const char *write_config(const char *text);

#endif
