/* The state machines: docs/states.md shows the tables that are checked at run time. */
#include "fixture.h"

#include <stdio.h>
#include <string.h>

static void page_shows(const struct fsm *m) {
    CLEANUP(strbuf_release) struct strbuf table, page;
    strbuf_init(&table, 1 << 16);
    strbuf_init(&page, 1 << 20);
    fsm_print(m, &table);
    FILE *file = fopen(TAIN_SOURCE_ROOT "/docs/states.md", "re");
    assert_non_null(file);
    char chunk[4096];
    size_t n;
    while ((n = fread(chunk, 1, sizeof chunk, file)) > 0)
        strbuf_add(&page, chunk, n);
    fclose(file);
    if (!strstr(page.p, table.p))
        fail_msg("docs/states.md does not show this table:\n%s", table.p);
}

static void the_page_shows_segments(void **state UNUSED) {
    page_shows(&segment_fsm);
}

static void the_page_shows_exceptions(void **state UNUSED) {
    page_shows(&exception_fsm);
}

/* The names are what is stored, so the constraints of the tables must know them. */
static void every_state_can_be_stored(void **state) {
    struct fix *f = *state;
    int64_t id = add_segment(f, PURPOSE_MIRROR, 1, 10);
    for (int s = 0; s < SEG_N; s++) {
        x(f, "UPDATE ingest_segments SET status = '%s'", segment_fsm.states[s]);
        assert_int_equal(fsm_state(&segment_fsm, str_of(segment_fsm.states[s])), s);
    }
    for (int s = 0; s < EXC_N; s++)
        x(f,
          "INSERT INTO ingest_exceptions (item_id, segment_id, state, updated_at) "
          "VALUES (%d, %lld, '%s', 0)",
          s, (long long)id, exception_fsm.states[s]);
    for (int p = 0; p < PURPOSE_N; p++)
        x(f,
          "INSERT INTO ingest_segments (start_id, end_id, purpose, scan_cursor_id) "
          "VALUES (%d, %d, '%s', %d)",
          100 + p, 100 + p, purpose_names[p], 99 + p);
    assert_int_equal(segment_fsm.n, SEG_N);
    assert_int_equal(exception_fsm.n, EXC_N);
}

static void a_state_leads_out_of_every_state(void **state UNUSED) {
    const struct fsm *const machines[] = {&segment_fsm, &exception_fsm};
    for (size_t m = 0; m < ARRAY_LEN(machines); m++)
        for (int s = 0; s < machines[m]->n; s++)
            assert_true(machines[m]->next[s] & ~(1u << s));
}

int state_tests(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_shows_segments),
        cmocka_unit_test(the_page_shows_exceptions),
        CASE(every_state_can_be_stored),
        cmocka_unit_test(a_state_leads_out_of_every_state),
    };
    return cmocka_run_group_tests_name("states", tests, NULL, NULL);
}
