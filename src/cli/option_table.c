#include "cli/options.h"

#include "cli/shapes.h"

#include <string.h>

#define FIELD(name) offsetof(struct settings, name)
#define EVERY_COMMAND (WITH_DATABASE | CMD_DEMO)
#define WITH_DATABASE (UPDATES | SERVES | REPORTS)
#define UPDATES (CMD_UPDATER | CMD_UP)
#define SERVES (CMD_SERVE | CMD_UP)
#define REPORTS                                                                           \
    (CMD_CATCHUP | CMD_STATUS | CMD_MIGRATE | CMD_VERIFY | CMD_DEAD_LETTER | CMD_DOCTOR | \
     CMD_IMPORT | CMD_EXPORT | CMD_SEARCH | CMD_CDC | CMD_ENRICH)
#define INGESTS (CMD_CATCHUP | UPDATES)
#define LOGS (INGESTS | CMD_SERVE | CMD_IMPORT | CMD_ENRICH)
#define ASKS_UPSTREAM (INGESTS | CMD_VERIFY | CMD_DOCTOR | CMD_IMPORT)
#define BY_RANGE (CMD_CATCHUP | CMD_VERIFY | CMD_DEAD_LETTER | CMD_IMPORT | CMD_EXPORT)

#define SECOND 1000.0
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define KIB 1024.0
#define GIB (KIB * KIB * KIB)
#define LARGEST_ID 9007199254740991.0 /* 2^53 - 1: the last one that every JSON reader keeps */

/* In the order in which help shows them: each command's own options, then the common ones. */
static const struct option_def table[] = {
    {"recent-days", OPTION_DOUBLE, FIELD(recent_days), UPDATES, "2", 0, 3650, .metavar = "N",
     .help = "Fill an archive from its newest ids down, and say when the last N days are there. 0 "
             "begins with the oldest, as updater does unless this is given."},
    {"listen", OPTION_STRING, FIELD(listen), SERVES, "127.0.0.1:8080", .accepts = shape_bind,
     .allowed = "ADDR:PORT, such as 127.0.0.1:8080 or [::1]:8080", .metavar = "ADDR:PORT",
     .help = "Where to serve pages and APIs. Port 0 takes a free one; a line of the log names it."},
    {"public-host", OPTION_LIST, FIELD(public_host), SERVES, .metavar = "NAME",
     .help = "Answer requests to this name, besides localhost and loopback addresses. May be "
             "repeated."},
    {"read-db", OPTION_STRING, FIELD(read_db), SERVES, .accepts = shape_database,
     .allowed = "postgres://... or postgresql://...", .metavar = "DATABASE", .flags = OPTION_SECRET,
     .help = "Read everything from this copy of the archive, which may be a standby of PostgreSQL. "
             "Nothing is written then, and --db is not used."},
    {"query-threads", OPTION_INT, FIELD(query_threads), SERVES, "4", 1, 64, .metavar = "N",
     .help = "Threads that read the archive, each with a connection of its own."},
    {"search-time", OPTION_DURATION, FIELD(search_time_ms), SERVES | CMD_SEARCH, "1500ms", 10, HOUR,
     .metavar = "DURATION",
     .help = "Longest that a search may take: one that is not done by then answers what it has "
             "found so far, and says so."},
    {"max-connections", OPTION_INT, FIELD(max_connections), SERVES, "1024", 8, 100000,
     .metavar = "N", .help = "Most connections of clients at once; more wait."},
    {"stream-keep-alive", OPTION_DURATION, FIELD(stream_keep_alive_ms), SERVES, "30s", SECOND, HOUR,
     .metavar = "DURATION",
     .help = "How often an event stream gives a sign of life, whether or not there is news."},
    {"feed-clients", OPTION_INT, FIELD(feed_clients), SERVES, "2000", 1, 100000, .metavar = "N",
     .help = "Most clients of the change feed at once; more are refused."},
    {"feed-slow", OPTION_DURATION, FIELD(feed_slow_ms), SERVES, "10s", SECOND, HOUR,
     .metavar = "DURATION",
     .help = "A WebSocket client that has taken nothing for so long while there was something is "
             "sent away, with the cursor to go on from."},
    {"feed-ping", OPTION_DURATION, FIELD(feed_ping_ms), SERVES, "30s", SECOND, HOUR,
     .metavar = "DURATION",
     .help = "How often a WebSocket client is pinged. One that has not answered by the next time "
             "is sent away."},
    {"cdc-key-file", OPTION_STRING, FIELD(cdc_key_file), SERVES, .accepts = shape_not_empty,
     .allowed = "the path of a file", .metavar = "FILE",
     .help = "Read the key of the change feed from FILE. TAIN_CDC_KEY may hold the key itself. "
             "Without a key there is no /cdc."},
    {"links-token-file", OPTION_STRING, FIELD(links_token_file), SERVES, .accepts = shape_not_empty,
     .allowed = "the path of a file", .metavar = "FILE",
     .help = "Read the token of programs that add links from FILE. TAIN_LINKS_TOKEN may hold the "
             "token itself. Without one POST /api/links is refused."},
    {"access-log", OPTION_ENUM, FIELD(access_log), SERVES, "none", .choices = "none|all|errors",
     .help = "Which requests get a line in the log."},
    {"no-index", OPTION_BOOL, FIELD(no_index), CMD_SERVE,
     .help = "Leave the search index to another process."},
    {"partitioned", OPTION_BOOL, FIELD(partitioned), CMD_MIGRATE,
     .flags = OPTION_NO_ENV | OPTION_NO_FILE,
     .help = "Split items and the change log by ranges of ids, on PostgreSQL. What is stored stays "
             "where it is, as the first partition. There is no way back but export and import."},
    {"partition-width", OPTION_INT, FIELD(partition_width), CMD_MIGRATE, "1000000", 10, 1e12,
     .metavar = "N", .flags = OPTION_NO_ENV | OPTION_NO_FILE,
     .help = "How many ids a partition of items has; one of the change log has a tenth of it in "
             "positions. It is kept in the archive."},
    {"start-id", OPTION_ID, FIELD(start_id), BY_RANGE | UPDATES, .max = LARGEST_ID, .metavar = "ID",
     .help =
         "First id of the range. Without it catchup begins behind the frontier, any other "
         "command with the first id there is. updater and up heed it in an empty archive only."},
    {"end-id", OPTION_ID, FIELD(end_id), BY_RANGE, .max = LARGEST_ID, .metavar = "ID",
     .help = "Last id of the range. Without it the range ends with the newest item."},
    {"sample", OPTION_INT, FIELD(sample), CMD_VERIFY, "0", 0, 1000000, .metavar = "N",
     .help = "Compare N stored ids, and some that are believed missing, with the upstream. 0 asks "
             "it nothing."},
    {"repair", OPTION_BOOL, FIELD(repair), CMD_VERIFY, .flags = OPTION_NO_ENV | OPTION_NO_FILE,
     .help = "Write anew what can be computed, and make segments of what must be fetched; the next "
             "catchup fetches it."},
    {"id", OPTION_ID, FIELD(id), CMD_DEAD_LETTER, .max = LARGEST_ID, .metavar = "ID",
     .flags = OPTION_NO_ENV | OPTION_NO_FILE, .help = "The dead letter of this id."},
    {"class", OPTION_STRING, FIELD(failure_class), CMD_DEAD_LETTER, .accepts = shape_not_empty,
     .allowed = "a failure class such as http_5xx; 'tain dead-letter list' shows them",
     .metavar = "CLASS", .flags = OPTION_NO_ENV | OPTION_NO_FILE,
     .help = "Dead letters of this failure class only."},
    {"all", OPTION_BOOL, FIELD(all), CMD_DEAD_LETTER, .flags = OPTION_NO_ENV | OPTION_NO_FILE,
     .help = "All dead letters: what replay and accept want to hear when nothing narrows them."},
    {"reason", OPTION_STRING, FIELD(reason), CMD_DEAD_LETTER | CMD_ENRICH, .accepts = shape_words,
     .allowed = "a few words, in UTF-8", .metavar = "TEXT", .flags = OPTION_NO_ENV | OPTION_NO_FILE,
     .help = "Why: kept with ids that are accepted as missing, shown with a lane that is paused."},
    {"sources", OPTION_STRING, FIELD(sources), CMD_ENRICH | CMD_DOCTOR, .accepts = shape_not_empty,
     .allowed = "the path of a file", .metavar = "FILE",
     .help = "Tables to be enriched beside links, and by which providers: docs/enrich.md describes "
             "the file."},
    {"link-stories", OPTION_ENUM, FIELD(link_stories), CMD_ENRICH | CMD_UP, "none",
     .choices = "none|front|all",
     .help = "Which stories of the archive become links from now on, with discussions on Reddit "
             "and a summary: none, those of the front page or with 50 points, or all that have a "
             "URL."},
    {"summary-model", OPTION_STRING, FIELD(summary_model), CMD_ENRICH | CMD_UP, "claude-haiku-4-5",
     .accepts = shape_not_empty, .allowed = "the name of a model of Anthropic's", .metavar = "NAME",
     .help = "Who writes the summaries of links. The key is in ANTHROPIC_API_KEY; without it there "
             "are none."},
    {"summary-budget", OPTION_DOUBLE, FIELD(summary_budget), CMD_ENRICH | CMD_UP, "5", 0, 1e6,
     .metavar = "USD",
     .help = "What summaries may cost in a month, for all workers together. 0: as much as the "
             "account bears."},
    {"summary-price-in", OPTION_DOUBLE, FIELD(summary_price_in), CMD_ENRICH | CMD_UP, "1", 0, 1e4,
     .metavar = "USD", .help = "What the model costs for a million tokens that it reads."},
    {"summary-price-out", OPTION_DOUBLE, FIELD(summary_price_out), CMD_ENRICH | CMD_UP, "5", 0, 1e4,
     .metavar = "USD", .help = "What the model costs for a million tokens that it writes."},
    {"dry-run", OPTION_BOOL, FIELD(dry_run), CMD_ENRICH, .flags = OPTION_NO_ENV | OPTION_NO_FILE,
     .help = "Show how many rows wait, how the lanes are and what would be asked first. Claims, "
             "calls and writes nothing."},
    {"table", OPTION_STRING, FIELD(table), CMD_CDC, .accepts = shape_words,
     .allowed = "SCHEMA.TABLE or TABLE", .metavar = "TABLE",
     .flags = OPTION_NO_ENV | OPTION_NO_FILE,
     .help = "The table: SCHEMA.TABLE, or TABLE of the schema public. A name with a dot, a quote "
             "or a space in it stands in double quotes, within those of the shell."},
    {"columns", OPTION_STRING, FIELD(columns), CMD_CDC, .accepts = shape_words,
     .allowed = "names of columns with commas between them", .metavar = "LIST",
     .flags = OPTION_NO_ENV | OPTION_NO_FILE,
     .help = "Log only these columns of a row, and its key. Without it all of them, also those "
             "that will be added."},
    {"public", OPTION_BOOL, FIELD(is_public), CMD_CDC, .flags = OPTION_NO_ENV | OPTION_NO_FILE,
     .help = "Tell changes of this table also to those without the key of the feed."},
    {"as-of", OPTION_STRING, FIELD(as_of), CMD_IMPORT, .accepts = shape_instant,
     .allowed = "an instant: 2026-01-31, 2026-01-31T12:00:00Z (UTC) or unix seconds",
     .metavar = "TIME", .flags = OPTION_NO_ENV | OPTION_NO_FILE,
     .help = "When the dump was made. Its items then replace what was fetched earlier. Without it "
             "they fill holes only."},
    {"restart", OPTION_BOOL, FIELD(restart), CMD_IMPORT, .flags = OPTION_NO_ENV | OPTION_NO_FILE,
     .help = "Begin with the first line, even if an earlier import of this dump was cut off."},
    {"no-checksum", OPTION_BOOL, FIELD(no_checksum), CMD_IMPORT,
     .help = "Do not compare the file with the checksum in FILE.sha256."},
    {"verify-sample", OPTION_INT, FIELD(verify_sample), CMD_IMPORT, "0", 0, 100000, .metavar = "N",
     .help = "Compare N ids of the dump with the upstream afterwards. 0 asks it nothing."},
    {"resume", OPTION_BOOL, FIELD(resume), CMD_EXPORT, .flags = OPTION_NO_ENV | OPTION_NO_FILE,
     .help = "Go on behind the last item of FILE.part, or of FILE if that is whole."},
    {"compress", OPTION_ENUM, FIELD(compress), CMD_EXPORT, "auto", .choices = "auto|none|zstd",
     .help = "How to write the dump. auto compresses if FILE ends in .zst."},
    {"level", OPTION_INT, FIELD(level), CMD_EXPORT, "3", 1, 19, .metavar = "N",
     .help = "How hard to compress."},
    {"author", OPTION_STRING, FIELD(author), CMD_SEARCH, .accepts = shape_words,
     .allowed = "a name; case matters", .metavar = "NAME", .flags = OPTION_NO_ENV | OPTION_NO_FILE,
     .help = "Only what this person wrote."},
    {"type", OPTION_STRING, FIELD(type), CMD_SEARCH, .accepts = shape_item_kinds,
     .allowed = "one or more of story, comment, poll, pollopt, job, ask_hn, show_hn, with commas",
     .metavar = "TYPES", .flags = OPTION_NO_ENV | OPTION_NO_FILE,
     .help = "Only these: story, comment, poll, pollopt, job, ask_hn, show_hn, with commas."},
    {"since", OPTION_STRING, FIELD(since), CMD_SEARCH | CMD_CDC, .accepts = shape_since,
     .allowed = "an instant: 2026-01-31, 2026-01-31T12:00:00Z (UTC) or unix seconds; of a feed the "
                "id of an event: 1794810000-7, or oldest",
     .metavar = "TIME|ID", .flags = OPTION_NO_ENV | OPTION_NO_FILE,
     .help = "search: only what was posted at this time or later. cdc tail: go on behind the event "
             "with this id; oldest begins with the first that is kept."},
    {"tables", OPTION_STRING, FIELD(tables), CMD_CDC, .accepts = shape_words,
     .allowed = "TABLE or SCHEMA.TABLE, with commas between", .metavar = "LIST",
     .flags = OPTION_NO_ENV | OPTION_NO_FILE, .help = "Only events of these tables and topics."},
    {"actions", OPTION_STRING, FIELD(actions), CMD_CDC, .accepts = shape_words,
     .allowed = "one or more of insert, update, delete, truncate, resync, with commas",
     .metavar = "LIST", .flags = OPTION_NO_ENV | OPTION_NO_FILE,
     .help = "Only these events: insert, update, delete, truncate, resync, with commas."},
    {"follow", OPTION_BOOL, FIELD(follow), CMD_CDC, "true", .flags = OPTION_NO_ENV | OPTION_NO_FILE,
     .help = "Go on with what happens next; --no-follow ends behind what has happened, and begins "
             "with the oldest event unless --since says otherwise."},
    {"until", OPTION_STRING, FIELD(until), CMD_SEARCH, .accepts = shape_instant,
     .allowed = "an instant: 2026-01-31, 2026-01-31T12:00:00Z (UTC) or unix seconds",
     .metavar = "TIME", .flags = OPTION_NO_ENV | OPTION_NO_FILE,
     .help = "Only what was posted then or earlier."},
    {"min-points", OPTION_INT, FIELD(min_points), CMD_SEARCH, .min = 0, .max = 1e9, .metavar = "N",
     .flags = OPTION_NO_ENV | OPTION_NO_FILE,
     .help = "Only what has at least so many points; comments have none."},
    {"by-date", OPTION_BOOL, FIELD(by_date), CMD_SEARCH, .flags = OPTION_NO_ENV | OPTION_NO_FILE,
     .help = "The newest first, instead of the best."},
    {"page", OPTION_INT, FIELD(page), CMD_SEARCH, "1", 1, 1e9, .metavar = "N",
     .flags = OPTION_NO_ENV | OPTION_NO_FILE, .help = "Which page to show."},
    {"index", OPTION_BOOL, FIELD(index), CMD_SEARCH, .flags = OPTION_NO_ENV | OPTION_NO_FILE,
     .help = "First index what waits."},
    {"realtime-workers", OPTION_INT, FIELD(realtime_workers), UPDATES, "8", 1, 64, .metavar = "N",
     .help = "Workers that fetch what the stream names."},
    {"channel-capacity", OPTION_INT, FIELD(channel_capacity), UPDATES, "4096", 16, 1 << 20,
     .metavar = "N",
     .help = "Ids that may wait for them. When it is full the stream is not read any further."},
    {"realtime-attempts", OPTION_INT, FIELD(realtime_attempts), UPDATES, "3", 1, 100,
     .metavar = "N", .help = "Tries per named id before it is put aside and tried again later."},
    {"stream-timeout", OPTION_DURATION, FIELD(stream_timeout_ms), UPDATES, "60s", SECOND, HOUR,
     .metavar = "DURATION", .help = "A stream without a byte for so long is dead."},
    {"gap-queue-max", OPTION_INT, FIELD(gap_queue_max), UPDATES, "1000", 0, 1 << 20, .metavar = "N",
     .help = "New ids after a reconnect that are fetched at once; more become segments."},
    {"catchup-interval", OPTION_DURATION, FIELD(catchup_interval_ms), UPDATES, "15s", SECOND, DAY,
     .metavar = "DURATION", .help = "How often to look for new ids beside the stream."},
    {"lists-interval", OPTION_DURATION, FIELD(lists_interval_ms), UPDATES, "60s", SECOND, DAY,
     .metavar = "DURATION", .help = "How often to fetch the six story lists."},
    {"startup-rescan-days", OPTION_DOUBLE, FIELD(startup_rescan_days), UPDATES, "3", 0, 3650,
     .metavar = "N",
     .help = "At the start, fetch again what is younger than the last event seen minus N days."},
    {"rescan-interval", OPTION_DURATION, FIELD(rescan_interval_ms), UPDATES, "6h", SECOND, 30 * DAY,
     .metavar = "DURATION", .help = "How often to fetch again what may have changed."},
    {"rescan-window-days", OPTION_DOUBLE, FIELD(rescan_window_days), UPDATES, "3", 0, 3650,
     .metavar = "N",
     .help = "Items younger than N days may have changed; 'tain status' says what N should be."},
    {"outage-rescan-after", OPTION_DURATION, FIELD(outage_rescan_after_ms), UPDATES, "5m", SECOND,
     30 * DAY, .metavar = "DURATION",
     .help = "Rescan at once when the stream was down for longer."},
    {"persist-interval", OPTION_DURATION, FIELD(persist_interval_ms), UPDATES, "60s", SECOND, DAY,
     .metavar = "DURATION", .help = "How often to write down when the last event was seen."},
    {"updater-lease", OPTION_DURATION, FIELD(updater_lease_ms), UPDATES, "15s", 2 * SECOND, HOUR,
     .metavar = "DURATION",
     .help = "How long a vanished updater is waited for before a standby takes over."},
    {"limit", OPTION_INT, FIELD(limit), CMD_CATCHUP | CMD_SEARCH, .min = 1, .max = LARGEST_ID,
     .metavar = "N",
     .help = "catchup takes at most N ids into the window; search shows N hits on a page (20, at "
             "most 1000)."},
    {"ignore-highest", OPTION_BOOL, FIELD(ignore_highest), CMD_CATCHUP,
     .help = "Do not clamp the end of the window to the newest item."},
    {"force-replay-window", OPTION_BOOL, FIELD(force_replay_window), CMD_CATCHUP,
     .help = "Fetch every id of the window again, stored or not."},
    {"segment-width", OPTION_INT, FIELD(segment_width), INGESTS, "1000", 1, 100000, .metavar = "N",
     .help = "Ids in one segment, the unit that a process claims."},
    {"batch-size", OPTION_INT, FIELD(batch_size), INGESTS, "500", 1, 10000, .metavar = "N",
     .help = "Items written in one transaction."},
    {"concurrency", OPTION_INT, FIELD(concurrency), INGESTS | CMD_DOCTOR, "256", 1, 4096,
     .metavar = "N",
     .help = "Most requests in flight. The number used adapts itself below this ceiling."},
    {"rps", OPTION_DOUBLE, FIELD(rps), INGESTS, "1000", 0, 1e6, .metavar = "N",
     .help = "Most requests per second, over all processes on one database. 0 sets no cap."},
    {"wait", OPTION_DURATION, FIELD(wait_ms), CMD_CATCHUP, "0s", 0, 30 * DAY, .metavar = "DURATION",
     .help = "Stay for ids that are due for a recheck (young nulls and the like) within this time. "
             "Retries after a failure belong to the run in any case."},
    {"lease", OPTION_DURATION, FIELD(lease_ms), INGESTS, "30s", 1000, 3600000,
     .metavar = "DURATION",
     .help = "How long a claimed segment is held without a heartbeat; six heartbeats fit in."},
    {"retry-attempts", OPTION_INT, FIELD(retry_attempts), INGESTS, "8", 1, 100, .metavar = "N",
     .help = "Tries per id before it becomes a dead letter."},
    {"retry-initial-ms", OPTION_INT, FIELD(retry_initial_ms), INGESTS, "500", 1, 3600000,
     .metavar = "MS", .help = "Delay before the second try, in milliseconds; it doubles then."},
    {"retry-max-ms", OPTION_INT, FIELD(retry_max_ms), INGESTS, "30000", 1, 86400000,
     .metavar = "MS", .help = "Longest delay between two tries, in milliseconds."},
    {"retry-jitter-ms", OPTION_INT, FIELD(retry_jitter_ms), INGESTS, "100", 0, 3600000,
     .metavar = "MS", .help = "Random part added to each delay, in milliseconds."},
    {"max-outage", OPTION_DURATION, FIELD(max_outage_ms), CMD_CATCHUP | CMD_IMPORT | CMD_EXPORT,
     "15m", SECOND, 30 * DAY, .metavar = "DURATION",
     .help = "Give up when the upstream, or the database, has not answered well for so long."},
    {"max-body", OPTION_BYTES, FIELD(max_body), INGESTS, "8MiB", KIB, GIB, .metavar = "SIZE",
     .help = "Largest answer that is read; a larger one is a failure of its id."},
    {"revisions", OPTION_ENUM, FIELD(revisions), INGESTS | CMD_IMPORT, "content",
     .choices = "all|content|none",
     .help = "What to keep of an item that changes: every earlier version, the versions whose "
             "words differ, or nothing."},
    {"feed-keep", OPTION_DURATION, FIELD(feed_keep_ms), LOGS, "7d", MINUTE, 3650 * DAY,
     .metavar = "DURATION", .help = "How long the change feed remembers a change."},
    {"feed-keep-rows", OPTION_INT, FIELD(feed_keep_rows), LOGS, "1000000", 1000, 1e12,
     .metavar = "N", .help = "How many changes the change feed remembers at most."},
    {"feed-history", OPTION_BOOL, FIELD(feed_history), CMD_CATCHUP | CMD_IMPORT,
     .help = "Tell the change feed of history too: ids that were there before this archive "
             "began."},
    {"progress", OPTION_ENUM, FIELD(progress),
     CMD_CATCHUP | CMD_VERIFY | CMD_IMPORT | CMD_EXPORT | CMD_SEARCH | CMD_UP, "auto",
     .choices = "auto|bar|line|none",
     .help = "How to show progress. auto draws a bar on a terminal and writes a line every 10 s "
             "elsewhere; up writes nothing there."},
    {"metrics-bind", OPTION_STRING, FIELD(metrics_bind), INGESTS | SERVES | CMD_ENRICH,
     "127.0.0.1:9464", .accepts = shape_bind_or_none,
     .allowed = "ADDR:PORT, such as 127.0.0.1:9464 or [::1]:9464, or none", .metavar = "ADDR:PORT",
     .help = "Serve /metrics, /healthz and /readyz there while running; none turns it off. The "
             "default address is passed over, with a warning, when another process has it, and "
             "by serve, which has them on its own port."},

    {"seed", OPTION_INT, FIELD(seed), CMD_DEMO | CMD_VERIFY, .max = LARGEST_ID, .metavar = "N",
     .help = "The same seed makes the same items, and draws the same sample. Without it demo takes "
             "1, and verify a fresh one, which it prints."},
    {"maxitem", OPTION_INT, FIELD(maxitem), CMD_DEMO, "20000", 1, 1 << 28, .metavar = "ID",
     .help = "The newest id at the start."},
    {"grow", OPTION_DOUBLE, FIELD(grow), CMD_DEMO, "0", 0, 1e6, .metavar = "RATE",
     .help = "New ids per second."},
    {"fresh", OPTION_BOOL, FIELD(fresh), CMD_DEMO,
     .help = "The newest item is of this minute, each one before it seven seconds older. Without "
             "it time begins in 2006, and the same ids are the same items in every run."},
    {"services", OPTION_BOOL, FIELD(services), CMD_DEMO,
     .help = "Stand in for the services behind links, too: Reddit, HN Search, Anthropic, and the "
             "sites of the articles that stories name. What a worker needs in its environment to "
             "find them is printed behind the first line."},
    {"bind", OPTION_STRING, FIELD(bind), CMD_DEMO, "127.0.0.1", .accepts = shape_address,
     .allowed = "a numeric address, such as 127.0.0.1 or ::1", .metavar = "ADDR",
     .help = "Address to listen on."},
    {"port", OPTION_INT, FIELD(port), CMD_DEMO, "0", 0, 65535, .metavar = "PORT",
     .help = "Port to listen on. 0 takes a free one; the first line of output names it."},
    {"threads", OPTION_INT, FIELD(threads), CMD_DEMO, "4", 1, 64, .metavar = "N",
     .help = "Threads that answer requests."},
    {"fault", OPTION_LIST, FIELD(fault), CMD_DEMO, .metavar = "SPEC", .flags = OPTION_NO_ENV,
     .help = "Answer wrongly on purpose: whom, what and when, joined by colons, such as "
             "id=123:status=500:times=3, share=0.01:reset or all:status=503:for=60s. May be "
             "repeated; the first one that fits decides."},
    {"dump", OPTION_STRING, FIELD(dump), CMD_DEMO, .accepts = shape_id_range,
     .allowed = "LO-HI, two ids of which the first is not the larger", .metavar = "LO-HI",
     .flags = OPTION_NO_ENV | OPTION_NO_FILE,
     .help = "Print the items of these ids, one JSON document a line, and exit."},

    {"db", OPTION_STRING, FIELD(db), WITH_DATABASE, "sqlite:tain.db", .accepts = shape_database,
     .allowed = "sqlite:PATH, postgres://... or postgresql://...", .metavar = "DATABASE",
     .flags = OPTION_COMMON | OPTION_SECRET,
     .help = "The archive: sqlite:PATH, or postgres://USER@HOST/NAME. A password belongs into "
             "TAIN_DB, the configuration file or PGPASSFILE, not on the command line."},
    {"schema", OPTION_STRING, FIELD(schema), WITH_DATABASE, "tain", .accepts = shape_identifier,
     .allowed = "a lower-case name of letters, digits and _, not starting with a digit or pg_, "
                "of at most 63 characters",
     .metavar = "NAME", .flags = OPTION_COMMON,
     .help = "Schema that holds the tables on PostgreSQL."},
    {"no-migrate", OPTION_BOOL, FIELD(no_migrate),
     INGESTS | CMD_IMPORT | SERVES | CMD_CDC | CMD_ENRICH, .flags = OPTION_COMMON,
     .help = "Do not bring the tables up to date first; fail if they are not."},
    {"upstream", OPTION_STRING, FIELD(upstream), ASKS_UPSTREAM,
     "https://hacker-news.firebaseio.com/v0", .accepts = shape_http_root,
     .allowed = "an address that begins with http:// or https:// and has no ? or #",
     .metavar = "URL", .flags = OPTION_COMMON, .help = "Root of the Hacker News API."},
    {"ca-file", OPTION_STRING, FIELD(ca_file), ASKS_UPSTREAM, .accepts = shape_not_empty,
     .allowed = "the path of a PEM file", .metavar = "FILE", .flags = OPTION_COMMON,
     .help = "Trust the certificates in FILE (PEM) instead of the system's."},
    {"timeout", OPTION_DURATION, FIELD(timeout_ms), ASKS_UPSTREAM, "30s", 1, DAY,
     .metavar = "DURATION", .flags = OPTION_COMMON,
     .help = "Longest time that one request may take."},
    {"json", OPTION_BOOL, FIELD(json), REPORTS, .flags = OPTION_COMMON,
     .help = "Report as one JSON document on standard output."},
    {"config", OPTION_STRING, FIELD(config), EVERY_COMMAND, .accepts = shape_not_empty,
     .allowed = "the path of a file", .metavar = "FILE", .flags = OPTION_COMMON | OPTION_NO_FILE,
     .help = "Read options from FILE."},
    {"log-level", OPTION_ENUM, FIELD(log_level), EVERY_COMMAND, "info",
     .choices = "debug|info|warn|error|off", .flags = OPTION_COMMON,
     .help = "Least important log lines to write."},
    {"log-format", OPTION_ENUM, FIELD(log_format), EVERY_COMMAND, "text", .choices = "text|json",
     .flags = OPTION_COMMON, .help = "How log lines look."},
};

_Static_assert(ARRAY_LEN(table) <= SETTINGS_OPTIONS_MAX, "settings.origin has a place for each");

const struct option_def *option_table(size_t *ret_n) {
    *ret_n = ARRAY_LEN(table);
    return table;
}

const struct option_def *option_find(const char *name) {
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

size_t option_index(const struct option_def *d) {
    return (size_t)(d - table);
}
