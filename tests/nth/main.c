#include "scenarios.h"

/* Of SQLite and of PostgreSQL the kinds that differ most in what they leave behind. */
#define SQL_SOME (SQL_NOMEM | SQL_FULL | SQL_BUSY)
#define PQ_SOME (PQ_LOST | PQ_FULL)

static const struct nth_scenario all[] = {
    {"db/sqlite", SQL_ALL, SQL_ALL, db_sqlite},
    {"db/postgres", PQ_ALL, PQ_ALL, db_postgres},
    {"store/migrate-sqlite", SQL_ALL, SQL_FULL | SQL_BUSY, migrate_sqlite},
    {"store/migrate-postgres", PQ_ALL, PQ_SOME, migrate_postgres},
    {"store/sqlite", SQL_ALL, SQL_SOME, store_sqlite},
    {"store/postgres", PQ_ALL, PQ_SOME, store_postgres},
    {"mirror/catchup", SQL_ALL | CURL_BROKEN | OS_EINTR, SQL_SOME | CURL_BROKEN, catchup},
    {"mirror/dump-new", OS_ALL, OS_ALL, dump_new},
    {"mirror/dump-resume", OS_ALL, OS_ALL, dump_resume},
    {"mirror/dump-lines", OS_ALL & ~OS_ENOSPC, OS_ALL & ~OS_ENOSPC, dump_lines},
    {"net/start", OS_ENOSPC | OS_EMFILE, OS_ENOSPC | OS_EMFILE, net_start},
    {"net/http", CURL_ALL | OS_EINTR | OS_EMFILE, CURL_ALL | OS_EINTR, net_http},
    {"net/visit", CURL_ALL | OS_EMFILE, CURL_ALL | OS_EMFILE, net_visit},
    {"net/stream", CURL_ALL | OS_EMFILE | OS_EINTR, CURL_ALL | OS_EMFILE | OS_EINTR, net_stream},
    {"net/probe", CURL_ALL, CURL_ALL, net_probe},
    {"net/reach", CURL_ALL, CURL_ALL, net_reach},
    {"enrich/sqlite", SQL_ALL, SQL_SOME, enrich_sqlite},
    {"enrich/postgres", PQ_ALL, PQ_SOME, enrich_postgres},
    {"web/start", OS_EMFILE, OS_EMFILE, web_start_up},
};

int main(int argc, char **argv) {
    return nth_main(argc, argv, all, ARRAY_LEN(all));
}
