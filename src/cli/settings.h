/* What a command was told: one plain field per option, named like it, with its unit behind the
 * name where it has one. Filled by settings_load() (cli/options.h) from flags, environment, file
 * and defaults; read-only afterwards. Owns its strings. Main thread only.
 * A field that was not given and has no default is 0, NULL or an empty list. */
#ifndef TAIN_CLI_SETTINGS_H
#define TAIN_CLI_SETTINGS_H

#include "base/attr.h"
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/progress.h"

/* Bits, so that an option can say which commands it belongs to. */
enum command_id {
    CMD_CATCHUP = 1 << 0,
    CMD_STATUS = 1 << 1,
    CMD_MIGRATE = 1 << 2,
    CMD_DEMO = 1 << 3,
    CMD_VERIFY = 1 << 4,
    CMD_DEAD_LETTER = 1 << 5,
    CMD_DOCTOR = 1 << 6,
    CMD_IMPORT = 1 << 7,
    CMD_EXPORT = 1 << 8,
    CMD_UPDATER = 1 << 9,
    CMD_SERVE = 1 << 10,
    CMD_SEARCH = 1 << 11,
    CMD_UP = 1 << 12,
    CMD_CDC = 1 << 13,
    CMD_ENRICH = 1 << 14,
};

/* Where a value came from; a later one wins over an earlier one. */
enum origin { ORIGIN_DEFAULT, ORIGIN_FILE, ORIGIN_ENV, ORIGIN_FLAG };

#define SETTINGS_LIST_MAX 64
#define SETTINGS_OPTIONS_MAX 112

struct string_list {
    char *items[SETTINGS_LIST_MAX];
    size_t n;
};

struct settings {
    enum command_id command;
    const char *command_name; /* static storage */
    struct string_list words; /* what stood there without dashes, as the command's row allows */

    /* common */
    char *db, *schema;
    bool no_migrate;
    char *upstream; /* without a slash at its end */
    char *ca_file, *config;
    int log_level;  /* enum log_level */
    int log_format; /* enum log_format */
    double rps;     /* 0: no cap */
    bool json;
    int64_t timeout_ms;

    /* catchup */
    int64_t start_id, end_id, limit; /* 0: not given */
    bool ignore_highest, force_replay_window;
    int64_t segment_width, batch_size, concurrency;
    int64_t wait_ms, lease_ms;
    int64_t retry_attempts, retry_initial_ms, retry_max_ms, retry_jitter_ms;
    int64_t max_body; /* bytes */
    int64_t max_outage_ms;
    int revisions; /* enum revisions of store/store.h, whose order the choices have */
    bool feed_history;
    int64_t feed_keep_ms, feed_keep_rows; /* of the change log; every command that writes */
    int progress;                         /* enum progress_mode */
    char *metrics_bind;

    /* updater and up */
    double recent_days;
    int64_t realtime_workers, realtime_attempts, channel_capacity, gap_queue_max;
    double startup_rescan_days, rescan_window_days;
    int64_t rescan_interval_ms, persist_interval_ms, stream_timeout_ms, catchup_interval_ms;
    int64_t outage_rescan_after_ms, lists_interval_ms, updater_lease_ms;

    /* serve */
    char *listen, *read_db;
    struct string_list public_host;
    int64_t query_threads, max_connections, stream_keep_alive_ms;
    int64_t feed_clients, feed_slow_ms, feed_ping_ms;
    char *cdc_key_file, *links_token_file;
    int access_log; /* enum access_log of web/server.h, whose order the choices have */
    bool no_index;

    /* migrate */
    bool partitioned;
    int64_t partition_width;

    /* verify and dead-letter */
    int64_t sample, id;
    bool repair, all;
    char *failure_class, *reason;

    /* cdc */
    char *table, *columns;
    bool is_public;
    char *tables, *actions; /* lists with commas; --since is shared with search */
    bool follow;

    /* enrich */
    char *sources;    /* doctor has it, too */
    int link_stories; /* enum link_follow of store/links_follow.h, whose order the choices have */
    char *summary_model;
    double summary_budget, summary_price_in, summary_price_out; /* of links; up has them, too */
    bool dry_run;

    /* import and export; the file is words[0] */
    char *as_of; /* an instant, see shapes.h */
    int64_t verify_sample;
    bool no_checksum, restart, resume;
    int compress; /* auto, none, zstd */
    int64_t level;

    /* search, and what serves it */
    int64_t search_time_ms;
    char *author, *type, *since, *until;
    int64_t min_points, page;
    bool by_date, index;

    /* demo */
    int64_t seed, maxitem;
    double grow; /* ids per second */
    bool fresh;
    bool services;
    char *bind;
    int64_t port, threads;
    struct string_list fault;
    char *dump; /* "LO-HI" */

    unsigned char origin[SETTINGS_OPTIONS_MAX]; /* enum origin, by place in the option table */
};

void settings_release(struct settings *s);

/* What no option can see alone: start before end, first delay below the largest, a readable CA
 * file. V_INVALID names the options by the place their values came from. */
MUST_CHECK enum verdict settings_check(const struct settings *s, struct err *e);

/* Where the value of `option` ("segment-width") came from. The option must exist. */
enum origin settings_origin(const struct settings *s, const char *option);

/* The option as its giver wrote it: "--end-id", "TAIN_END_ID" or "tain.conf: end_id". */
void settings_label(const struct settings *s, const char *option, char *out, size_t size);

/* The option's value as a user would write it; *** stands for passwords. */
void settings_value(const struct settings *s, const char *option, struct strbuf *out);

/* The command line that gives these settings again, quoted for a shell: "tain catchup --limit 5".
 * Only what came from flags is in it; the environment and the file stay where they are. */
void settings_command_line(const struct settings *s, struct strbuf *out);

#endif
