/* A fresh archive for each test: a file in a temporary folder on SQLite, a database of its own on
 * PostgreSQL (the server is in TAIN_TEST_PG; a bare one is a schema). Time stands still at T0 until
 * a test moves it, on every connection. Questions to the database go round the code under test: q()
 * and x() use connections of their own. Fixtures belong to the main thread; cmocka's assertions do
 * too. */
#ifndef TAIN_TESTS_CONTRACT_FIXTURE_H
#define TAIN_TESTS_CONTRACT_FIXTURE_H

#include "base/fault.h"
#include "store/batch.h"
#include "store/store_int.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define T0 INT64_C(1700000000000)
#define MAX_STORES 16

struct raw; /* sqlite3 or PGconn */

struct fix {
    char dir[64], uri[300], schema[64];
    char copy[64]; /* PostgreSQL: the database that is this test's own; "": none */
    struct clock clock;
    struct store *s, *all[MAX_STORES];
    int n_stores;
    enum revisions revisions;
    struct raw *raw;
    struct arena arena;
    struct claim wide; /* see wide_batch() */
    int64_t token;     /* see be_updater() */
};

extern enum db_kind fix_kind;
extern bool fix_partitioned; /* every archive of PostgreSQL, by a few ids (FEW_IDS) */

int fix_setup(void **state);      /* with an archive that is up to date */
int fix_setup_bare(void **state); /* with nothing at all: s is NULL */
/* For ids up to a hundred thousand, and to ten million: partitions are to be some, not thousands.
 */
int fix_setup_wide(void **state);
int fix_setup_widest(void **state);
int fix_teardown(void **state);
#define CASE(fn) cmocka_unit_test_setup_teardown(fn, fix_setup, fix_teardown)
#define WIDE_CASE(fn) cmocka_unit_test_setup_teardown(fn, fix_setup_wide, fix_teardown)
#define WIDEST_CASE(fn) cmocka_unit_test_setup_teardown(fn, fix_setup_widest, fix_teardown)
#define BARE_CASE(fn) cmocka_unit_test_setup_teardown(fn, fix_setup_bare, fix_teardown)

struct store_options fix_options(struct fix *f); /* of this archive */
struct store *fix_open(struct fix *f);           /* another connection; closed by the teardown */
void fix_set_now(struct fix *f, int64_t now_ms); /* on all of them */
void fix_advance(struct fix *f, int64_t ms);
void fix_real_time(struct fix *f, struct store *s); /* PostgreSQL: lets the clock of s run */

/* Rows as text: columns joined by '|', rows by ' '. NULL is '-', a truth value 0 or 1. */
const char *q(struct fix *f, const char *fmt, ...) PRINTF_LIKE(2, 3);
int64_t qi(struct fix *f, const char *fmt, ...) PRINTF_LIKE(2, 3);
void x(struct fix *f, const char *fmt, ...) PRINTF_LIKE(2, 3);
#define assert_q(expected, ...) assert_string_equal(q(__VA_ARGS__), expected)
const char *dump(struct fix *f);

/* n changes of a table in the log, as one statement makes them: inserts of the keys 1 to n. */
void log_changes(struct fix *f, int table, int n, int64_t at);

#define assert_ok(call)                                   \
    do {                                                  \
        enum verdict ok_ = (call);                        \
        if (ok_ != V_OK)                                  \
            fail_msg("%s: %s", verdict_name(ok_), e.msg); \
    } while (0)

/* Segments and claims. The holder of a claim is "me" unless said otherwise. */
int64_t add_segment(struct fix *f, enum purpose p, int64_t lo, int64_t hi); /* its segment_id */
enum verdict try_claim(struct fix *f, struct store *s, int64_t lo, int64_t hi, struct claim *ret);
struct claim claim_one(struct fix *f, int64_t lo, int64_t hi);
struct claim claim_new(struct fix *f, enum purpose p, int64_t lo, int64_t hi); /* add and claim */
void reclaim(struct fix *f);

/* Batches. JSON is written with ' for ". */
struct batch *batch_for(const struct claim *c, int64_t cursor, bool release);
/* A batch for a mirror segment over 1 .. 100000 that stays claimed; its cursor stays at 0. */
struct batch *wide_batch(struct fix *f);
void put_item(struct batch *b, int64_t fetched_at, const char *json);
struct batch_exception *put_exception(struct batch *b, int64_t id, enum exception_state state,
                                      const char *cls);
/* Applies and frees. */
struct apply_stats apply_ok(struct store *s, struct batch *b);
enum verdict apply_verdict(struct store *s, struct batch *b);
/* Stores one item through the wide segment. */
struct apply_stats store_item(struct fix *f, int64_t fetched_at, const char *json);

/* The live stream. `be_updater` takes the updater's lease as "me"; its token is in f->token. */
void be_updater(struct fix *f);
struct batch *live_batch(struct fix *f);                          /* with this token */
struct apply_stats apply_live_ok(struct fix *f, struct batch *b); /* applies and frees */

/* The identity of a process of this host that no longer exists. */
void dead_identity(char *out, size_t size);

/* Inserted, changed, unchanged, stale. */
#define assert_counts(st, i, c, u, o)             \
    do {                                          \
        const struct apply_stats counted_ = (st); \
        assert_int_equal(counted_.inserted, i);   \
        assert_int_equal(counted_.changed, c);    \
        assert_int_equal(counted_.unchanged, u);  \
        assert_int_equal(counted_.stale, o);      \
    } while (0)

/* Each file runs its group; answers how many failed. */
int apply_tests(void);
int change_tests(void);
int exception_tests(void);
int segment_tests(void);
int lease_tests(void);
int claim_tests(void);
int story_tests(void);
int migrate_tests(void);
int limit_tests(void);
int fault_tests(void);
int state_tests(void);
int plan_tests(void);
int status_tests(void);
int repair_tests(void);
int verify_tests(void);
int letter_tests(void);
int import_tests(void);
int live_tests(void);
int live_queue_tests(void);
int live_state_tests(void);
int live_plan_tests(void);
int people_tests(void);
int read_item_tests(void);
int read_list_tests(void);
int read_recent_tests(void);
int read_thread_tests(void);
int search_tests(void);
int index_tests(void);
int feed_epoch_tests(void);
int feed_plan_tests(void);
int feed_together_tests(void);
int feed_tests(void);
int cdc_tests(void);
int feed_order_tests(void);
int cdc_pg_tests(void);
int cdc_path_tests(void);
int cdc_lite_tests(void);
int cdc_watch_tests(void);
int plain_role_tests(void);
int session_tests(void);
int row_tests(void);
int lane_tests(void);
int feed_topic_tests(void);
int source_tests(void);
int row_fence_tests(void);
int row_value_tests(void);
int row_open_tests(void);
int row_plan_tests(void);
int made_tests(void);
int engine_tests(void);
int engine_table_tests(void);
int engine_death_tests(void);
int engine_share_tests(void);
int link_tests(void);
int link_work_tests(void);
int link_follow_tests(void);
int partition_tests(void);
int partition_care_tests(void);
int link_land_tests(void);
int link_upkeep_tests(void);
int link_engine_tests(void);
int link_death_tests(void);
int link_limit_tests(void);
int link_story_tests(void);

#endif
