/* What the commands that work on an archive share: opening it by the settings, and ending cleanly
 * on a signal. Main thread. */
#ifndef TAIN_CLI_ARCHIVE_H
#define TAIN_CLI_ARCHIVE_H

#include "base/thread.h"
#include "cli/settings.h"
#include "store/store.h"

/* Why the command ends: for people, or as a line of the log where that is to be read by machines.
 */
void complain(const struct settings *s, const char *text);

/* Opens the archive. One that migrates or ignores the schema also makes a new one; one that
 * requires it only looks. Complains on stderr. Answers 0 or the exit code. */
int archive_open(const struct settings *s, enum schema_rule rule, struct store **ret);

/* Whether there is an archive to look at, for a command that makes none. Complains on stderr.
 * Answers 0 or the exit code. */
int archive_must_exist(const struct settings *s);

/* From now on SIGINT, SIGTERM and SIGHUP raise the token; another one after more than a second ends
 * the process at once. */
void signals_to(struct stop_token *stop);
/* For a command that has something to write down at a stop: so long it may take, and when that is
 * not enough `words` are printed and the process ends with this code. Without it that is 5 seconds.
 */
void signals_allow(int seconds, const char *words, int code);
/* The signal that came, 0 if none. */
int signal_received(void);

#endif
