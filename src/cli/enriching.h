/* Enrichment as part of a command: the plan, the feed it hears, the engine and its thread. Main
 * thread, from start to stop. */
#ifndef TAIN_CLI_ENRICHING_H
#define TAIN_CLI_ENRICHING_H

#include "base/crew.h"
#include "cli/settings.h"
#include "enrich/engine.h"
#include "feed/reader.h"

struct enriching {
    struct arena arena; /* the plan's */
    struct enrich_plan plan;
    struct store_options store;
    int64_t keep_ms, keep_rows; /* of the change log */
    char holder[256];
    struct stop_token stop; /* of the engine's thread */
    struct caller *caller;
    struct feed_hub *hub;
    struct feed_reader *reader;
    struct engine *engine;
    struct crew *crew;
    bool gave_back; /* after the stop: nothing is held any more */
};

/* Reads the plan: V_INVALID names file and line. */
MUST_CHECK enum verdict enriching_plan(struct enriching *w, const struct settings *s,
                                       struct err *e);
/* Opens its tables and begins to work. */
MUST_CHECK enum verdict enriching_start(struct enriching *w, const struct settings *s,
                                        struct err *e);
/* V_OK: it works. Anything else: its thread died of e. */
MUST_CHECK enum verdict enriching_tend(struct enriching *w, struct err *e);
int64_t enriching_silence_ms(const struct enriching *w);
int64_t enriching_down_ms(const struct enriching *w); /* the database does not answer */
/* Gives back what is held. Also after a start that failed, and once only. */
void enriching_stop(struct enriching *w);

#endif
