#include "scenarios.h"

/* Of SQLite and of PostgreSQL the kinds that differ most in what they leave behind. */
#define SQL_SOME (SQL_NOMEM | SQL_FULL | SQL_BUSY)
#define PQ_SOME (PQ_LOST | PQ_FULL)
#define PIPE_OS (OS_EINTR | OS_SHORT | OS_EIO)
#define NET_OS (OS_EMFILE | OS_EINTR | OS_EIO)
#define WEB_OS (OS_EMFILE | OS_ENOSPC | OS_EIO)

static const struct nth_scenario all[] = {
    {"base/stop", OS_EMFILE | OS_EIO, OS_EMFILE | OS_EIO, base_stop},
    {"base/settings", OS_EMFILE | OS_EIO, OS_EMFILE | OS_EIO, base_settings},
    {"base/identity", OS_EMFILE | OS_EIO, OS_EMFILE | OS_EIO, base_identity},
    {"base/figures", OS_ALL, OS_ALL, base_figures},
    {"db/sqlite", SQL_ALL, SQL_ALL, db_sqlite},
    {"db/postgres", PQ_ALL | OS_EINTR, PQ_ALL | OS_EINTR, db_postgres},
    {"store/migrate-sqlite", SQL_ALL, SQL_FULL | SQL_BUSY, migrate_sqlite},
    {"store/migrate-postgres", PQ_ALL, PQ_SOME, migrate_postgres},
    {"store/sqlite", SQL_ALL, SQL_SOME, store_sqlite},
    {"store/postgres", PQ_ALL, PQ_SOME, store_postgres},
    {"mirror/catchup", SQL_ALL | CURL_BROKEN | OS_EINTR, SQL_SOME | CURL_BROKEN, catchup},
    {"mirror/dump-new", OS_ALL, OS_ALL, dump_new},
    {"mirror/dump-resume", OS_ALL, OS_ALL, dump_resume},
    {"mirror/dump-lines", OS_ALL & ~OS_ENOSPC, OS_ALL & ~OS_ENOSPC, dump_lines},
    {"mirror/dump-skip", OS_ALL & ~OS_ENOSPC, OS_ALL & ~OS_ENOSPC, dump_skip},
    {"mirror/dump-pipe", PIPE_OS, PIPE_OS, dump_pipe},
    {"net/start", OS_ENOSPC | OS_EMFILE | OS_EIO, OS_ENOSPC | OS_EMFILE | OS_EIO, net_start},
    {"net/http", CURL_ALL | OS_EINTR | OS_EMFILE, CURL_ALL | OS_EINTR, net_http},
    {"net/unwatched", OS_ENOSPC, OS_ENOSPC, net_unwatched},
    {"net/visit", CURL_ALL | OS_EMFILE, CURL_ALL | OS_EMFILE, net_visit},
    {"net/stream", CURL_ALL | NET_OS, CURL_ALL | NET_OS, net_stream},
    {"net/probe", CURL_ALL, CURL_ALL, net_probe},
    {"net/reach", CURL_ALL, CURL_ALL, net_reach},
    {"enrich/sqlite", SQL_ALL, SQL_SOME, enrich_sqlite},
    {"enrich/postgres", PQ_ALL, PQ_SOME, enrich_postgres},
    {"web/start", WEB_OS, WEB_OS, web_start_up},
};

int main(int argc, char **argv) {
    return nth_main(argc, argv, all, ARRAY_LEN(all));
}
