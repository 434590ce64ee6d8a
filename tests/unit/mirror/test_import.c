/* From lines to rows and back: what an import takes, counts and refuses, how it goes on after an
 * interruption, and that a dump comes out of an archive as it went in. */
#include "archive.h"
#include "place.h"

#include "base/log.h"
#include "mirror/export.h"
#include "mirror/import_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STORIES "SELECT id, story_id FROM items ORDER BY id"

struct fixture {
    struct place place;
    struct archive archive;
    struct import_result result;
};

static int set_up(void **state) {
    void *place;
    struct fixture *f = calloc(1, sizeof *f);
    place_make(&place);
    f->place = *(struct place *)place;
    free(place);
    archive_open(&f->archive);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    struct fixture *f = *state;
    archive_close(&f->archive);
    struct place *copy = malloc(sizeof *copy);
    *copy = f->place;
    void *place = copy;
    place_remove(&place);
    free(f);
    return 0;
}

static struct import_options options_of(struct fixture *f) {
    return (struct import_options){.clock = &f->archive.clock,
                                   .store = f->archive.s,
                                   .path = f->place.path,
                                   .as_of_ms = IMPORT_NO_DATE,
                                   .check_sum = true,
                                   .batch_items = 3,
                                   .max_outage_ms = 1000,
                                   .stop = &f->place.stop};
}

/* With ' for ". */
static void write_dump(struct fixture *f, const char *text) {
    char *copy = strdup(text);
    for (char *p = copy; *p; p++)
        if (*p == '\'')
            *p = '"';
    spit(f->place.path, copy, strlen(copy));
    free(copy);
}

static const struct import_result *run(struct fixture *f, const struct import_options *o,
                                       enum import_end end) {
    struct err e = {0};
    assert_ok(import_run(o, &f->result, &e));
    if (f->result.end != end)
        fail_msg("ended with %d: %s", f->result.end, e.msg);
    return &f->result;
}

static const struct import_result *import(struct fixture *f, const char *text,
                                          enum import_end end) {
    write_dump(f, text);
    const struct import_options o = options_of(f);
    return run(f, &o, end);
}

static void good_lines(void **state) {
    struct fixture *f = *state;
    const struct import_result *r =
        import(f, "{'id':1,'type':'story','kids':[2]}\n\n{'id':2,'type':'comment','parent':1}\r\n",
               IMPORT_COMPLETE);
    assert_int_equal(r->state.lines, 3);
    assert_int_equal(r->state.items, 2);
    assert_int_equal(r->stats.inserted, 2);
    assert_int_equal(r->n_broken, 0);
    assert_string_equal(archive_ask(&f->archive, STORIES), "1|1 2|1");
    assert_string_equal(
        archive_ask(&f->archive, "SELECT source, lines, items, finished_at > 0 FROM imports"),
        "d|3|2|1");
}

static void what_was_missing_is_not_stored(void **state) {
    struct fixture *f = *state;
    const struct import_result *r =
        import(f,
               "null\n{'id':1,'missing':true}\n{'missing':true,'id':2}\n{'id':3}\n"
               "{'id':4,'missing':false}\n{'id':5,'missing':true,'type':'story'}\n",
               IMPORT_COMPLETE);
    assert_int_equal(r->state.missing, 3);
    assert_string_equal(archive_ask(&f->archive, "SELECT id FROM items"), "3 4 5");
}

static void broken_lines_are_named(void **state) {
    struct fixture *f = *state;
    const struct import_result *r =
        import(f,
               "{'id':1}\nhello \x01\xff\n{'id':2\n[]\n{}\n{'id':0}\n{'id':9007199254740992}\n"
               "{'id':3}",
               IMPORT_BROKEN_LINES);
    assert_int_equal(r->state.broken, 6);
    assert_int_equal(r->n_broken, 6);
    assert_int_equal(r->broken[0].number, 2);
    assert_string_equal(r->broken[0].cls, "garbage");
    assert_string_equal(r->broken[0].text, "hello ??");
    assert_int_equal(r->broken[5].number, 7);
    assert_string_equal(archive_ask(&f->archive, "SELECT id FROM items"), "1 3");
}

static void many_broken_lines_are_counted(void **state) {
    struct fixture *f = *state;
    CLEANUP(strbuf_release) struct strbuf text;
    strbuf_init(&text, 1 << 20);
    for (int i = 0; i < 500; i++)
        strbuf_adds(&text, "nonsense\n");
    strbuf_adds(&text, "{'id':1}\n");
    const struct import_result *r = import(f, text.p, IMPORT_BROKEN_LINES);
    assert_int_equal(r->state.broken, 500);
    assert_int_equal(r->n_broken, IMPORT_BROKEN_KEPT);
    assert_int_equal(archive_int(&f->archive, "SELECT broken FROM imports"), 500);
}

static void a_range_of_ids(void **state) {
    struct fixture *f = *state;
    write_dump(f, "{'id':1}\n{'id':2}\n{'id':3}\n{'id':4}\n{'id':5}\n");
    struct import_options o = options_of(f);
    o.start_id = 2;
    o.end_id = 4;
    assert_int_equal(run(f, &o, IMPORT_COMPLETE)->state.skipped, 2);
    assert_string_equal(archive_ask(&f->archive, "SELECT id FROM items"), "2 3 4");
    o.start_id = o.end_id = 0; /* another import of the same file */
    assert_int_equal(run(f, &o, IMPORT_COMPLETE)->from.lines, 0);
    assert_string_equal(archive_ask(&f->archive, "SELECT id FROM items"), "1 2 3 4 5");
}

/* A thread of ten, dumped upside down and shuffled, in batches of three. */
static void threads_in_any_order(void **state) {
    static const int orders[][10] = {
        {10, 9, 8, 7, 6, 5, 4, 3, 2, 1},
        {5, 1, 9, 3, 10, 2, 8, 4, 7, 6},
        {10, 1, 9, 2, 8, 3, 7, 4, 6, 5},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < ARRAY_LEN(orders); i++)
        for (int factor = 1; factor <= 1000; factor *= 1000) { /* close together, far apart */
            CLEANUP(strbuf_release) struct strbuf text;
            strbuf_init(&text, 1 << 16);
            for (size_t k = 0; k < 10; k++) {
                int id = orders[i][k];
                if (id == 1)
                    strbuf_addf(&text, "{'id':%d,'type':'story'}\n", factor);
                else
                    strbuf_addf(&text, "{'id':%d,'type':'comment','parent':%d}\n", id * factor,
                                (id - 1) * factor);
            }
            import(f, text.p, IMPORT_COMPLETE);
            assert_int_equal(archive_int(&f->archive,
                                         "SELECT COUNT(*) FROM items WHERE "
                                         "story_id = %d",
                                         factor),
                             10);
            archive_ask(&f->archive, "DELETE FROM items");
        }
}

/* The database fails for good in the middle; the next run reads only what is left. */
static void goes_on_after_a_failure(void **state) {
    struct fixture *f = *state;
    CLEANUP(strbuf_release) struct strbuf text;
    strbuf_init(&text, 1 << 16);
    for (int id = 1; id <= 20; id++)
        strbuf_addf(&text, "{'id':%d}\n%s", id, id == 4 ? "broken\n" : "");
    archive_ask(&f->archive, "CREATE TRIGGER full BEFORE INSERT ON items WHEN NEW.id = 11 BEGIN "
                             "SELECT RAISE(ABORT, 'no more'); END");
    const struct import_result *r = import(f, text.p, IMPORT_FAILED);
    assert_int_equal(r->state.items, 9); /* three whole batches */
    assert_int_equal(archive_int(&f->archive, "SELECT COUNT(*) FROM items"), 9);
    archive_ask(&f->archive, "DROP TRIGGER full");
    const struct import_options o = options_of(f);
    r = run(f, &o, IMPORT_BROKEN_LINES); /* the broken line of the first run counts */
    assert_int_equal(r->from.lines, 10);
    assert_int_equal(r->stats.inserted, 11);
    assert_int_equal(r->state.items, 20);
    assert_int_equal(r->state.lines, 21);
    assert_int_equal(r->state.broken, 1);
    assert_int_equal(archive_int(&f->archive, "SELECT COUNT(*) FROM items"), 20);
}

/* A value that the database does not take: the item counts as broken, the rest is stored. */
static void an_item_that_is_refused(void **state) {
    struct fixture *f = *state;
    archive_ask(&f->archive, "CREATE TRIGGER refuse BEFORE INSERT ON items WHEN NEW.id IN (2, 8) "
                             "BEGIN SELECT length(zeroblob(3000000000)); END");
    const struct import_result *r =
        import(f,
               "{'id':1}\n{'id':2}\n{'id':3}\n{'id':4}\n{'id':5}\n{'id':6}\n{'id':7}\n"
               "{'id':8}\n{'id':9}\n{'id':10}\n",
               IMPORT_BROKEN_LINES);
    assert_int_equal(r->state.broken, 2);
    assert_int_equal(r->state.items, 8);
    assert_int_equal(r->stats.inserted, 8);
    assert_string_equal(archive_ask(&f->archive, "SELECT id FROM items"), "1 3 4 5 6 7 9 10");
    assert_string_equal(archive_ask(&f->archive, "SELECT lines, items, broken FROM imports"),
                        "10|8|2");
}

static void restart_and_change(void **state) {
    struct fixture *f = *state;
    write_dump(f, "{'id':1}\n{'id':2}\n{'id':3}\n{'id':4}\n");
    struct import_options o = options_of(f);
    run(f, &o, IMPORT_COMPLETE);
    archive_ask(&f->archive, "UPDATE imports SET finished_at = NULL, bytes = 18, lines = 2");
    o.restart = true;
    assert_int_equal(run(f, &o, IMPORT_COMPLETE)->from.lines, 0);
    /* a place whose text is not the one that was there: from the beginning */
    archive_ask(&f->archive, "UPDATE imports SET finished_at = NULL, bytes = 18, lines = 2");
    o.restart = false;
    const struct import_result *r = run(f, &o, IMPORT_COMPLETE);
    assert_int_equal(r->from.lines, 0);
    assert_int_equal(r->stats.unchanged, 4);
}

static void checksums(void **state) {
    struct fixture *f = *state;
    char sidecar[200];
    snprintf(sidecar, sizeof sidecar, "%s.sha256", f->place.path);
    write_dump(f, "{'id':1}\n");
    struct import_options o = options_of(f);
    static const char good[] =
        "bfcb1f5b8a4b7c9b7a0b27d5a0b7d6f2a4a8c3b4cbb0a9f4c3f7f9f2d0a3c1aa  d\n";
    spit(sidecar, good, sizeof good - 1); /* not its own */
    assert_int_equal(run(f, &o, IMPORT_FAILED)->checksum, CHECKSUM_BAD);
    assert_int_equal(archive_int(&f->archive, "SELECT COUNT(*) FROM imports"), 0);
    char right[100];
    snprintf(right, sizeof right, "%s  d\n", f->result.sha256);
    spit(sidecar, right, strlen(right));
    assert_int_equal(run(f, &o, IMPORT_COMPLETE)->checksum, CHECKSUM_GOOD);
    spit(sidecar, "nothing\n", 8);
    struct err e;
    assert_int_equal(import_run(&o, &f->result, &e), V_INVALID);
    o.check_sum = false;
    assert_int_equal(run(f, &o, IMPORT_COMPLETE)->checksum, CHECKSUM_NONE);
}

static void every_id_has_its_chance(void **state UNUSED) {
    int hits[100] = {0};
    for (int round = 0; round < 2000; round++) {
        struct reservoir r;
        reservoir_init(&r, 10);
        r.rng.state = (uint64_t)round * 977;
        for (int id = 0; id < 100; id++)
            reservoir_offer(&r, id);
        assert_int_equal(r.n, 10);
        for (size_t i = 0; i < r.n; i++)
            hits[r.ids[i]]++;
        reservoir_release(&r);
    }
    for (int id = 0; id < 100; id++)
        assert_in_range(hits[id], 140, 260); /* 200 expected */
}

/* Out again: in pages of three, plain and compressed. */
static void there_and_back(void **state) {
    static const char text[] =
        "{\"by\":\"a\",\"id\":1,\"kids\":[9,7],\"text\":\"\\\"x\\\\ "
        "\\u0001\\n\",\"type\":\"story\"}\n"
        "{\"id\":4,\"parts\":[5,6],\"type\":\"poll\"}\n{\"id\":7,\"score\":-3}\n"
        "{\"dead\":true,\"id\":9,\"url\":\"http://e.example/"
        "\xC3\xA9\"}\n{\"deleted\":true,\"id\":12}\n";
    struct fixture *f = *state;
    for (int compress = 0; compress < 2; compress++) {
        struct err e = {0};
        struct export_result out;
        spit(f->place.path, text, sizeof text - 1);
        const struct import_options o = options_of(f);
        run(f, &o, IMPORT_COMPLETE);
        const struct export_options x = {.clock = &f->archive.clock,
                                         .store = f->archive.s,
                                         .path = f->place.path,
                                         .compress = compress,
                                         .level = 1,
                                         .page_items = 3,
                                         .max_outage_ms = 1000,
                                         .stop = &f->place.stop};
        assert_ok(export_run(&x, &out, &e));
        assert_int_equal(out.end, EXPORT_COMPLETE);
        assert_int_equal(out.items, 5);
        assert_int_equal(out.first_id, 1);
        assert_int_equal(out.last_id, 12);
        CLEANUP(strbuf_release) struct strbuf lines;
        strbuf_init(&lines, 1 << 16);
        struct dump_line line;
        struct dump_reader *r = place_open(&f->place, false);
        assert_int_equal(dump_is_compressed(r), compress);
        while (dump_next(r, &line, &e) == V_OK) {
            strbuf_add_str(&lines, line.text);
            strbuf_addc(&lines, '\n');
        }
        dump_close(r);
        assert_string_equal(lines.p, text);
    }
}

#undef CASE
#define CASE(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void) {
    log_setup(LOG_OFF, LOG_TEXT);
    const struct CMUnitTest tests[] = {
        CASE(good_lines),
        CASE(what_was_missing_is_not_stored),
        CASE(broken_lines_are_named),
        CASE(many_broken_lines_are_counted),
        CASE(a_range_of_ids),
        CASE(threads_in_any_order),
        CASE(goes_on_after_a_failure),
        CASE(an_item_that_is_refused),
        CASE(restart_and_change),
        CASE(checksums),
        cmocka_unit_test(every_id_has_its_chance),
        CASE(there_and_back),
    };
    return cmocka_run_group_tests_name("import", tests, NULL, NULL);
}
