/* The functions behind the rows of the command table, one per cmd_*.c. Each answers an exit code
 * (enum exit_code) and has told the user what went wrong. They run on the main thread. */
#ifndef TAIN_CLI_COMMANDS_H
#define TAIN_CLI_COMMANDS_H

#include "cli/settings.h"

int cmd_catchup(struct settings *s);
int cmd_cdc(struct settings *s);
int cmd_dead_letter(struct settings *s);
int cmd_demo(struct settings *s);
int cmd_doctor(struct settings *s);
int cmd_enrich(struct settings *s);
int cmd_export(struct settings *s);
int cmd_import(struct settings *s);
int cmd_migrate(struct settings *s);
int cmd_search(struct settings *s);
int cmd_serve(struct settings *s);
int cmd_status(struct settings *s);
int cmd_up(struct settings *s);
int cmd_updater(struct settings *s);
int cmd_verify(struct settings *s);

#endif
