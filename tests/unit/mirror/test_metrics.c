/* The figures against the rows: what is counted is what was stored, once. */
#include "fleet.h"
#include "rig.h"

#include "mirror/metrics.h"

#include <string.h>

#define FAR 10000000 /* a maxitem that makes every id of a test old */

enum result { INSERTED, CHANGED, UNCHANGED, STALE, RESULTS };

/* Every counter as it stood: a test looks at what was added since. */
struct before {
    int64_t items[ITEMS_N_OUTCOMES], db[SOURCE_N * RESULTS], http[TARGET_N * NET_N_CLASSES];
    int64_t batch_items, live_updated, live_changed, rescan_processed, rescan_changed;
};

static struct before note(void) {
    struct before b = {
        .batch_items = atomic_load(&m_db_batch_items.sum),
        .live_updated = metric_get(&m_live_updated, 0),
        .live_changed = metric_get(&m_live_changed, 0),
        .rescan_processed = metric_get(&m_rescan_processed, 0),
        .rescan_changed = metric_get(&m_rescan_changed, 0),
    };
    assert_int_equal(m_db_items.n_series, ARRAY_LEN(b.db));
    assert_int_equal(m_http_requests.n_series, ARRAY_LEN(b.http));
    for (int i = 0; i < ITEMS_N_OUTCOMES; i++)
        b.items[i] = metric_get(&m_items, i);
    for (int i = 0; i < m_db_items.n_series; i++)
        b.db[i] = metric_get(&m_db_items, i);
    for (int i = 0; i < m_http_requests.n_series; i++)
        b.http[i] = metric_get(&m_http_requests, i);
    return b;
}

static int64_t written(const struct before *b, enum item_source source, enum result result) {
    int i = metric_series(&m_db_items, (int)source, (int)result);
    return metric_get(&m_db_items, i) - b->db[i];
}

static int64_t of_result(const struct before *b, enum result result) {
    int64_t n = 0;
    for (int i = 0; i < SOURCE_N; i++)
        n += written(b, (enum item_source)i, result);
    return n;
}

static int64_t outcome(const struct before *b, enum item_outcome o) {
    return metric_get(&m_items, (int)o) - b->items[o];
}

static int64_t answers(const struct before *b, enum http_target target, enum net_class cls) {
    int i = metric_series(&m_http_requests, (int)target, (int)cls);
    return metric_get(&m_http_requests, i) - b->http[i];
}

/* The label's values are those of the enum that numbers them. */
static void labels_are_in_the_order_of_their_enums(void **state UNUSED) {
    for (int i = 0; i < SEG_N; i++)
        assert_string_equal(m_segments.label_values[i], segment_fsm.states[i]);
    for (int i = 0; i < NET_N_CLASSES; i++) {
        const char *code = m_http_requests.label2_values[i];
        const char *name = net_class_name((enum net_class)i);
        const char *wanted = i == NET_OK                      ? "200"
                             : i == NET_HTTP_OTHER            ? "xxx"
                             : strncmp(name, "http_", 5) == 0 ? name + 5
                                                              : name;
        assert_string_equal(code, wanted);
    }
}

static void a_run_counts_each_id_once(void **state UNUSED) {
    struct rig r;
    struct before b = note();
    rig_open(&r, &(struct rig_options){.window = {1, 400},
                                       .maxitem = FAR,
                                       .width = 50,
                                       .max_attempts = 3,
                                       .faults = {"id=7:status=500:times=2", "id=9:garbage",
                                                  "id=11:status=404:times=1", "id=13:null"}});
    assert_int_equal(rig_run(&r), INGEST_FINISHED);
    int64_t rows = archive_int(&r.a, "SELECT COUNT(*) FROM items");
    assert_in_range(rows, 350, 399);
    assert_int_equal(written(&b, SOURCE_CATCHUP, INSERTED), rows);
    assert_int_equal(outcome(&b, ITEMS_INSERTED), rows);
    assert_int_equal(of_result(&b, CHANGED) + of_result(&b, UNCHANGED) + of_result(&b, STALE), 0);
    assert_int_equal(outcome(&b, ITEMS_MISSING),
                     archive_int(&r.a, "SELECT COUNT(*) FROM ingest_exceptions "
                                       "WHERE state = 'terminal_missing'"));
    assert_int_equal(outcome(&b, ITEMS_DEAD_LETTER), 1);
    assert_int_equal(atomic_load(&m_db_batch_items.sum) - b.batch_items, rows);
    assert_int_equal(answers(&b, TARGET_ITEM, NET_HTTP_5XX), 2);
    assert_int_equal(answers(&b, TARGET_ITEM, NET_HTTP_404), 1);
    assert_int_equal(metric_get(&m_http_inflight, 0), 0);
    clock_advance(&r.a.clock, 6000);
    writer_step(r.writer, 0);
    assert_int_equal(metric_get(&m_dead_letters, 0), 1);
    assert_int_equal(metric_get(&m_all_dead_letters, 0), 1);
    for (int i = 0; i < SEG_N; i++)
        assert_int_equal(metric_get(&m_segments, i),
                         archive_int(&r.a,
                                     "SELECT COUNT(*) FROM ingest_segments "
                                     "WHERE status = '%s'",
                                     segment_fsm.states[i]));
    rig_close(&r);
}

/* Named changes, an outage, a rescan: whichever loop is first with a row has it. */
static void an_updater_counts_each_row_once(void **state UNUSED) {
    struct fleet f;
    struct err e;
    int64_t n;
    struct before b = note();
    fleet_open(&f, &(struct fleet_options){.maxitem = 600});
    fleet_until_true(&f, "first start");
    fleet_until_connected(&f, true);
    assert_ok(demo_mutate(f.demo, 30, 60, CORPUS_EDIT, false, &n, &e));
    demo_set_maxitem(f.demo, 640, false);
    fleet_until_true(&f, "named changes");
    demo_set_down(f.demo, true);
    fleet_until_connected(&f, false);
    fleet_pass(&f, 600000, 1000);
    assert_ok(demo_mutate(f.demo, 100, 140, CORPUS_EDIT, true, &n, &e));
    demo_set_maxitem(f.demo, 680, true);
    demo_set_down(f.demo, false);
    f.step_ms = 50;
    fleet_until_true(&f, "after an outage");
    fleet_until(&f, "1", "SELECT last_rescan_at > 0 FROM updater_state");
    fleet_until(&f, "6", "SELECT COUNT(*) FROM lists");

    assert_int_equal(of_result(&b, INSERTED), archive_int(&f.a, "SELECT COUNT(*) FROM items"));
    assert_int_equal(written(&b, SOURCE_CATCHUP, INSERTED), outcome(&b, ITEMS_INSERTED));
    assert_int_equal(written(&b, SOURCE_REALTIME, INSERTED) + written(&b, SOURCE_REALTIME, CHANGED),
                     metric_get(&m_live_changed, 0) - b.live_changed);
    assert_int_equal(written(&b, SOURCE_RESCAN, INSERTED) + written(&b, SOURCE_RESCAN, CHANGED),
                     metric_get(&m_rescan_changed, 0) - b.rescan_changed);
    assert_true(written(&b, SOURCE_REALTIME, CHANGED) > 10);
    assert_true(written(&b, SOURCE_RESCAN, CHANGED) > 10);
    assert_true(metric_known(&m_rescan_age, 0) && metric_known(&m_replay_duration, 0));
    fleet_close(&f);

    assert_int_equal(answers(&b, TARGET_STREAM, NET_OK), 2);
    assert_true(answers(&b, TARGET_STREAM, NET_OTHER) == 0);
    for (int i = 0; i < TARGET_N; i++)
        if (i != TARGET_UPDATES)
            assert_true(answers(&b, (enum http_target)i, NET_OK) > 0);
}

static void a_stream_that_does_not_open_is_counted(void **state UNUSED) {
    struct fleet f;
    struct before b = note();
    fleet_open(&f, &(struct fleet_options){.maxitem = 200, .faults = {"stream:status=503"}});
    fleet_until_true(&f, "first start");
    f.step_ms = 50;
    while (answers(&b, TARGET_UPDATES, NET_OK) < 2)
        fleet_round(&f);
    assert_true(answers(&b, TARGET_STREAM, NET_HTTP_5XX) >= 1);
    assert_int_equal(answers(&b, TARGET_STREAM, NET_OK), 0);
    fleet_close(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_are_in_the_order_of_their_enums),
        cmocka_unit_test(a_run_counts_each_id_once),
        cmocka_unit_test(an_updater_counts_each_row_once),
        cmocka_unit_test(a_stream_that_does_not_open_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
