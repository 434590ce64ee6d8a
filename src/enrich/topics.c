#include "enrich/topics.h"

#include "store/feed_topics.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define HOST_MAX 256

/* The same file has the same name wherever the command was started, and another one on another
 * host. */
static void name_file(struct str path, char *out, size_t size) {
    char host[HOST_MAX] = "", full[PATH_MAX];
    (void)!gethostname(host, sizeof host - 1);
    const char *real = path.p ? realpath(path.p, full) : NULL;
    snprintf(out, size, "%s:%s", host, real ? real : path.p ? path.p : "");
}

enum verdict enrich_declare_topics(const struct enrich_plan *p, struct source *const *sources,
                                   struct store *s, struct err *e) {
    static const enum source_state final[] = {ROW_MATCH, ROW_NO_MATCH, ROW_FAILED};
    struct str states[PLAN_SOURCES_MAX][ARRAY_LEN(final)];
    struct feed_topic topics[PLAN_SOURCES_MAX];
    char file[HOST_MAX + PATH_MAX + 1];
    for (size_t i = 0; i < p->n_sources; i++) {
        const struct plan_source *src = &p->sources[i];
        for (size_t k = 0; k < ARRAY_LEN(final); k++)
            states[i][k] = src->spec.states[final[k]];
        topics[i] = (struct feed_topic){.source = src->spec.name,
                                        .topic = src->topic,
                                        .schema = source_schema(sources[i]),
                                        .table = source_table(sources[i]),
                                        .column = source_status(sources[i]),
                                        .states = states[i],
                                        .n_states = ARRAY_LEN(final)};
    }
    name_file(p->path, file, sizeof file);
    return store_feed_topics_declare(s, str_of(file), topics, p->n_sources, e);
}
