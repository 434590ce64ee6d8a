/* The work on links as part of a command: providers and keys as the environment has them, the
 * engine and its thread. Main thread, from start to stop. */
#ifndef TAIN_CLI_LINKING_H
#define TAIN_CLI_LINKING_H

#include "base/crew.h"
#include "cli/settings.h"
#include "enrich/link_engine.h"

struct linking {
    struct arena arena; /* configuration */
    struct store_options store;
    char holder[256];
    struct stop_token stop; /* of the engine's thread */
    struct guard *guard;
    struct caller *caller;
    struct link_engine *engine;
    struct crew *crew;
    bool gave_back; /* after the stop: nothing is held any more */
};

/* Begins to work. V_INVALID: what is wrong with an option or a variable. */
MUST_CHECK enum verdict linking_start(struct linking *w, const struct settings *s, struct err *e);
/* V_OK: it works. Anything else: its thread died of e. */
MUST_CHECK enum verdict linking_tend(struct linking *w, struct err *e);
int64_t linking_silence_ms(const struct linking *w);
int64_t linking_down_ms(const struct linking *w); /* the database does not answer */
/* A lane whose provider refuses us; NULL: none. */
const char *linking_refused(const struct linking *w);
/* Gives back what is held. Also after a start that failed, and for one that was never tried if it
 * is all zero. */
void linking_stop(struct linking *w);

#endif
