/* The contract of the store, as a suite that runs on either database:
 *   contract sqlite | contract postgres | contract partitioned [FILTER]
 * The last is PostgreSQL again, with partitions of a few ids: all but the groups that have to do
 * with neither items nor the change log, make partitions themselves, or go through hours of
 * enrichment, whose changes would be thousands of partitions.
 * PostgreSQL is found through TAIN_TEST_PG; tests/support/with_postgres.py provides it. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    const char *kind = argc > 1 ? argv[1] : "";
    fix_partitioned = strcmp(kind, "partitioned") == 0;
    fix_kind = fix_partitioned || strcmp(kind, "postgres") == 0 ? DB_POSTGRES : DB_SQLITE;
    if (fix_kind == DB_SQLITE && strcmp(kind, "sqlite") != 0) {
        fprintf(stderr, "usage: contract sqlite|postgres|partitioned [FILTER]\n");
        return 2;
    }
    if (fix_kind == DB_POSTGRES && !getenv("TAIN_TEST_PG")) {
        fprintf(stderr, "contract: TAIN_TEST_PG names no server\n");
        return 2;
    }
    if (argc > 2)
        cmocka_set_test_filter(argv[2]);
    static int (*const groups[])(void) = {
        apply_tests,      change_tests,     exception_tests,     story_tests,
        migrate_tests,    limit_tests,      fault_tests,         status_tests,
        repair_tests,     verify_tests,     letter_tests,        import_tests,
        live_tests,       live_state_tests, live_plan_tests,     people_tests,
        read_item_tests,  read_list_tests,  read_recent_tests,   read_thread_tests,
        search_tests,     index_tests,      feed_tests,          feed_epoch_tests,
        feed_order_tests, cdc_tests,        cdc_pg_tests,        cdc_path_tests,
        cdc_lite_tests,   cdc_watch_tests,  plain_role_tests,    row_tests,
        feed_topic_tests, source_tests,     row_fence_tests,     row_value_tests,
        row_open_tests,   made_tests,       row_plan_tests,      link_tests,
        link_work_tests,  link_land_tests,  link_upkeep_tests,   link_follow_tests,
        session_tests,    feed_plan_tests,  feed_together_tests,
    };
    static int (*const whole[])(void) = {
        segment_tests,        lease_tests,      claim_tests,        state_tests,
        plan_tests,           live_queue_tests, lane_tests,         partition_tests,
        partition_care_tests, engine_tests,     engine_table_tests, engine_death_tests,
        engine_share_tests,
    };
    int failed = 0;
    if (argc > 2 && !fix_partitioned) /* it lives through hours: a run of its own */
        failed +=
            link_engine_tests() + link_death_tests() + link_limit_tests() + link_story_tests();
    for (size_t i = 0; i < ARRAY_LEN(groups); i++)
        failed += groups[i]();
    for (size_t i = 0; i < ARRAY_LEN(whole) && !fix_partitioned; i++)
        failed += whole[i]();
    return failed ? 1 : 0;
}
