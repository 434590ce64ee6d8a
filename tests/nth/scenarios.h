/* The scenarios: one file per layer. */
#ifndef TAIN_TESTS_NTH_SCENARIOS_H
#define TAIN_TESTS_NTH_SCENARIOS_H

#include "nth.h"

void base_stop(void);
void base_settings(void);
void base_identity(void);
void base_figures(void);
void db_sqlite(void);
void db_postgres(void);
void store_sqlite(void);
void store_postgres(void);
void migrate_sqlite(void);
void migrate_postgres(void);
void catchup(void);
void dump_new(void);
void dump_resume(void);
void dump_lines(void);
void dump_skip(void);
void dump_pipe(void);
void net_start(void);
void net_http(void);
void net_unwatched(void);
void net_visit(void);
void net_stream(void);
void net_probe(void);
void net_reach(void);
void enrich_sqlite(void);
void enrich_postgres(void);
void web_start_up(void);

#endif
