/* When the write thread calls it quiet, and gives its time to the search index. */
#include "mirror/writer.h"

#include "archive.h"
#include "mirror/metrics.h"

#define LOG_LOOK_MS 60000 /* how often the change log is looked at when nothing is written */
#define N_ITEMS 3

struct play {
    struct archive a;
    struct queue in;
    struct stop_token stop;
    _Atomic int64_t maxitem, db_offset_ms;
    struct writer *writer;
    int64_t indexed; /* before */
};

static void play_open(struct play *p) {
    struct err e;
    *p = (struct play){.indexed = metric_get(&m_index_items, 0)};
    archive_open(&p->a);
    queue_init(&p->in, 4);
    assert_ok(stop_init(&p->stop, &e));
    p->writer = writer_new(&(struct writer_options){.clock = &p->a.clock,
                                                    .store = p->a.s,
                                                    .plan = {.window = {1, 0}, .width = 50},
                                                    .provider = "test",
                                                    .maxitem = &p->maxitem,
                                                    .max_outage_ms = 1000,
                                                    .in = &p->in,
                                                    .db_offset_ms = &p->db_offset_ms,
                                                    .stop = &p->stop});
    for (int i = 1; i <= N_ITEMS; i++)
        archive_ask(&p->a,
                    "INSERT INTO items (id, type, title, content_hash, kids_hash, first_seen_at, "
                    "last_fetched_at, last_changed_at) VALUES (%d, 'story', 'word', 1, 0, 1, 1, 1)",
                    i);
}

static void play_close(struct play *p) {
    queue_close(&p->in);
    while (writer_step(p->writer, 0))
        ;
    writer_free(p->writer);
    stop_release(&p->stop);
    queue_release(&p->in);
    archive_close(&p->a);
}

static void note_work(struct play *p) {
    archive_ask(&p->a, "INSERT INTO index_work (lo, hi, noted_at) VALUES (1, %d, 1)", N_ITEMS);
}

static int64_t newly_indexed(struct play *p) {
    int64_t was = p->indexed;
    p->indexed = metric_get(&m_index_items, 0);
    return p->indexed - was;
}

/* On PostgreSQL a replay has something for the log every 25 ms. A step of the index takes four
 * times as long, and batches would wait for it. */
static void a_wait_that_the_log_cut_short_is_not_a_quiet_time(void **state UNUSED) {
    struct play p;
    play_open(&p);
    for (int round = 0; round < 2; round++) {
        note_work(&p);
        writer_step(p.writer, 1); /* the log is due: nobody waited for a job */
        assert_int_equal(newly_indexed(&p), 0);
        writer_step(p.writer, 1); /* and now someone did */
        assert_int_equal(newly_indexed(&p), N_ITEMS);
        writer_step(p.writer, 1); /* nothing is left, and the quiet time is over */
        clock_advance(&p.a.clock, LOG_LOOK_MS);
    }
    play_close(&p);
}

static void whoever_does_not_wait_has_waited_long_enough(void **state UNUSED) {
    struct play p;
    play_open(&p);
    note_work(&p);
    writer_step(p.writer, 0);
    assert_int_equal(newly_indexed(&p), N_ITEMS);
    play_close(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_that_the_log_cut_short_is_not_a_quiet_time),
        cmocka_unit_test(whoever_does_not_wait_has_waited_long_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
