/* Items of a dump into the archive and out again: the row that says how far it is moves with the
 * items, what a fetch stored is safe, threads come together in any order. */
#include "fixture.h"

#include "base/thread.h"
#include "store/export.h"
#include "store/import.h"

#include <string.h>

#define STORIES "SELECT id, story_id FROM items ORDER BY id"
#define DUMP "dump-1"

static struct batch *lines_of(int64_t stamp, const char *const *json, size_t n) {
    struct batch *b = batch_new();
    for (size_t i = 0; i < n; i++)
        put_item(b, stamp, json[i]);
    return b;
}

static enum verdict step(struct fix *f, struct batch *b, int64_t from, int64_t to,
                         struct apply_stats *ret, struct err *e) {
    const struct import_step s = {
        .fingerprint = DUMP, .from_bytes = from, .to = {.bytes = to, .mark = to, .lines = to / 10}};
    return store_import_batch(f->s, b, &s, ret, e);
}

static void begin(struct fix *f) {
    struct err e;
    assert_ok(store_import_begin(f->s, DUMP, "hn.ndjson", &e));
}

/* Imports what is given as one batch behind the last one. */
static struct apply_stats import(struct fix *f, int64_t stamp, const char *const *json, size_t n) {
    struct err e;
    struct import_state at;
    struct apply_stats stats;
    if (store_import_find(f->s, DUMP, &at, &e) == V_NOT_FOUND) {
        begin(f);
        at.bytes = 0;
    }
    struct batch *b = lines_of(stamp, json, n);
    assert_ok(step(f, b, at.bytes, at.bytes + 10 * (int64_t)n, &stats, &e));
    batch_free(b);
    return stats;
}
#define IMPORT(f, stamp, ...)                            \
    import(f, stamp, (const char *const[]){__VA_ARGS__}, \
           ARRAY_LEN(((const char *const[]){__VA_ARGS__})))

static void fills_holes_only(void **state) {
    struct fix *f = *state;
    store_item(f, T0, "{'id':2,'type':'story','title':'fetched'}");
    const char *before = q(f, "SELECT * FROM items WHERE id = 2");
    char kept[400];
    snprintf(kept, sizeof kept, "%s", before);
    assert_counts(IMPORT(f, 1, "{'id':1,'type':'story','title':'one','kids':[3]}",
                         "{'id':2,'type':'story','title':'dumped'}",
                         "{'id':3,'type':'comment','parent':1}"),
                  2, 0, 0, 1);
    assert_string_equal(q(f, "SELECT * FROM items WHERE id = 2"), kept);
    assert_q("1|one|1|1 3|-|1|1", f,
             "SELECT id, title, last_fetched_at, story_id FROM items WHERE id <> 2 ORDER BY id");
    assert_q("1|3|0", f, "SELECT * FROM kids");
}

static void the_same_once_more_writes_nothing(void **state) {
    struct fix *f = *state;
    IMPORT(f, 1, "{'id':1,'type':'story'}", "{'id':2,'type':'job'}");
    const char *before = q(f, "SELECT * FROM items ORDER BY id");
    char kept[600];
    snprintf(kept, sizeof kept, "%s", before);
    assert_counts(IMPORT(f, 1, "{'id':1,'type':'story'}", "{'id':2,'type':'job'}"), 0, 0, 2, 0);
    assert_string_equal(q(f, "SELECT * FROM items ORDER BY id"), kept);
}

static void a_date_competes_with_fetches(void **state) {
    struct fix *f = *state;
    store_item(f, T0 - 5000, "{'id':1,'type':'story','title':'old'}");
    store_item(f, T0, "{'id':2,'type':'story','title':'new'}");
    assert_counts(IMPORT(f, T0 - 1000, "{'id':1,'type':'story','title':'dump'}",
                         "{'id':2,'type':'story','title':'dump'}"),
                  0, 1, 0, 1);
    assert_q("1|dump 2|new", f, "SELECT id, title FROM items ORDER BY id");
    assert_q("1|old", f, "SELECT item_id, title FROM item_revisions");
}

/* Neither what it brings nor what it changes: that is as old as the dump. */
static void readers_of_the_log_hear_nothing_of_it(void **state) {
    struct fix *f = *state;
    store_item(f, T0 - 5000, "{'id':1,'type':'story','title':'old'}");
    x(f, "DELETE FROM change_log");
    assert_counts(IMPORT(f, T0 - 1000, "{'id':1,'type':'story','title':'dump'}",
                         "{'id':2,'type':'story','title':'dump'}"),
                  1, 1, 0, 0);
    assert_q("0", f, "SELECT COUNT(*) FROM change_log");
}

static void a_later_fetch_wins(void **state) {
    struct fix *f = *state;
    IMPORT(f, 1, "{'id':1,'type':'story','title':'dump'}");
    assert_counts(store_item(f, T0, "{'id':1,'type':'story','title':'fetched'}"), 0, 1, 0, 0);
    assert_q("fetched", f, "SELECT title FROM items");
}

static void the_last_of_an_id_counts(void **state) {
    struct fix *f = *state;
    struct apply_stats st =
        IMPORT(f, 1, "{'id':5,'type':'story','title':'a'}", "{'id':4,'type':'job'}",
               "{'id':5,'type':'story','title':'b'}", "{'id':5,'type':'story','title':'c'}");
    assert_counts(st, 2, 0, 0, 0);
    assert_int_equal(st.repeated, 2);
    assert_q("4|- 5|c", f, "SELECT id, title FROM items ORDER BY id");
    assert_counts(IMPORT(f, 1, "{'id':5,'type':'story','title':'d'}"), 0, 1, 0, 0);
    assert_q("d", f, "SELECT title FROM items WHERE id = 5");
}

/* Descending order: each batch adopts the children that came before. */
static void threads_in_descending_order(void **state) {
    struct fix *f = *state;
    for (int id = 30; id > 10; id--) {
        char json[80];
        snprintf(json, sizeof json, "{'id':%d,'type':'comment','parent':%d}", id, id - 1);
        IMPORT(f, 1, json);
    }
    IMPORT(f, 1, "{'id':10,'type':'story'}");
    assert_int_equal(qi(f, "SELECT COUNT(*) FROM items WHERE story_id = 10"), 21);
}

/* Far apart: left to the end of the import, in stretches. */
static void scattered_threads_are_joined_at_the_end(void **state) {
    struct fix *f = *state;
    struct err e;
    int64_t n, sum = 0;
    IMPORT(f, 1, "{'id':90000,'type':'comment','parent':50000}", "{'id':7,'type':'job'}");
    IMPORT(f, 1, "{'id':50000,'type':'comment','parent':40}", "{'id':99999,'type':'job'}");
    IMPORT(f, 1, "{'id':40,'type':'story'}", "{'id':70000,'type':'comment','parent':50000}");
    for (int64_t lo = 1; lo < 100000; lo += 10000) {
        assert_ok(store_adopt_range(f->s, lo, lo + 9999, &n, &e));
        sum += n;
    }
    assert_int_equal(sum, 3);
    assert_q("7|7 40|40 50000|40 70000|40 90000|40 99999|99999", f, STORIES);
}

static void troubles_of_holes_are_settled(void **state) {
    struct fix *f = *state;
    struct claim c = claim_new(f, PURPOSE_MIRROR, 1, 3);
    struct batch *b = batch_for(&c, 3, true);
    put_exception(b, 1, EXC_DEAD_LETTER, "http_5xx");
    put_exception(b, 2, EXC_TERMINAL_MISSING, "null_old");
    put_item(b, T0, "{'id':3,'type':'comment','text':'[delayed]'}");
    put_exception(b, 3, EXC_RETRY_WAIT, "delayed")->next_retry_at = T0 + 5000;
    apply_ok(f->s, b);
    IMPORT(f, 1, "{'id':1,'type':'story'}", "{'id':2,'type':'story'}",
           "{'id':3,'type':'comment','text':'said'}");
    /* the recheck of what a fetch found stays; an older dump cannot know better */
    assert_q("3|retry_wait", f, "SELECT item_id, state FROM ingest_exceptions");
    assert_q("1|resolved", f, "SELECT item_id, state FROM ingest_dlq_items");
    assert_q("[delayed]", f, "SELECT text FROM items WHERE id = 3");
    reclaim(f);
    assert_q("retry_wait|1", f, "SELECT status, unresolved_count FROM ingest_segments");
}

static void makes_no_segments(void **state) {
    struct fix *f = *state;
    IMPORT(f, 1, "{'id':1,'type':'story'}");
    assert_int_equal(qi(f, "SELECT COUNT(*) FROM ingest_segments"), 0);
    assert_q("-", f, "SELECT frontier_id FROM updater_state");
}

static void the_place_moves_with_the_items(void **state) {
    struct fix *f = *state;
    struct err e;
    struct apply_stats st;
    struct import_state at;
    assert_int_equal(store_import_find(f->s, DUMP, &at, &e), V_NOT_FOUND);
    begin(f);
    assert_ok(store_import_find(f->s, DUMP, &at, &e));
    assert_int_equal(at.bytes, 0);
    const char *one[] = {"{'id':1,'type':'story'}"};
    struct batch *b = lines_of(1, one, 1);
    fault_setup("db_before_commit:1:fail");
    assert_int_equal(step(f, b, 0, 10, &st, &e), V_RETRY);
    fault_setup(NULL);
    assert_ok(store_recover(f->s, &e));
    assert_int_equal(qi(f, "SELECT COUNT(*) FROM items"), 0);
    assert_ok(store_import_find(f->s, DUMP, &at, &e));
    assert_int_equal(at.bytes, 0);
    assert_ok(step(f, b, 0, 10, &st, &e));
    assert_ok(step(f, b, 0, 10, &st, &e)); /* a commit whose answer was lost */
    assert_counts(st, 0, 0, 1, 0);
    batch_free(b);
    assert_ok(store_import_find(f->s, DUMP, &at, &e));
    assert_int_equal(at.bytes, 10);
    assert_int_equal(at.mark, 10);
    assert_int_equal(at.lines, 1);
    assert_false(at.finished);
    assert_ok(store_import_finish(f->s, DUMP, &e));
    assert_ok(store_import_find(f->s, DUMP, &at, &e));
    assert_true(at.finished);
    begin(f);
    assert_ok(store_import_find(f->s, DUMP, &at, &e));
    assert_false(at.finished);
    assert_int_equal(at.bytes, 0);
    assert_ok(store_import_forget(f->s, DUMP, &e));
    assert_int_equal(store_import_find(f->s, DUMP, &at, &e), V_NOT_FOUND);
}

static void two_imports_of_one_dump_do_not_mix(void **state) {
    struct fix *f = *state;
    struct err e;
    struct apply_stats st;
    const char *one[] = {"{'id':1,'type':'story'}"}, *two[] = {"{'id':2,'type':'story'}"};
    struct batch *a = lines_of(1, one, 1), *b = lines_of(1, two, 1);
    begin(f);
    assert_ok(step(f, a, 0, 10, &st, &e));
    assert_int_equal(step(f, b, 20, 30, &st, &e), V_CONFLICT);
    assert_q("1", f, "SELECT id FROM items");
    assert_ok(store_import_forget(f->s, DUMP, &e));
    assert_int_equal(step(f, b, 10, 20, &st, &e), V_CONFLICT);
    assert_q("1", f, "SELECT id FROM items");
    batch_free(a);
    batch_free(b);
}

static void a_dump_has_one_importer(void **state) {
    struct fix *f = *state;
    struct err e;
    char me[200];
    process_identity(me, sizeof me);
    assert_ok(store_import_take(f->s, DUMP, "a", "elsewhere:1:2:x", &e));
    assert_int_equal(store_import_take(f->s, DUMP, "a", me, &e), V_CONFLICT);
    assert_non_null(strstr(e.msg, "elsewhere:1:2:x"));
    assert_ok(store_import_take(f->s, DUMP, "a", "elsewhere:1:2:x", &e)); /* itself */
    assert_ok(store_import_take(f->s, "dump-2", "a", me, &e));            /* another dump */
    assert_ok(store_import_give_back(f->s, DUMP, me, &e));                /* not its own */
    assert_int_equal(store_import_take(f->s, DUMP, "a", me, &e), V_CONFLICT);
    assert_ok(store_import_give_back(f->s, DUMP, "elsewhere:1:2:x", &e));
    assert_ok(store_import_take(f->s, DUMP, "a", me, &e));
}

static void a_silent_importer_is_replaced(void **state) {
    struct fix *f = *state;
    struct err e;
    struct import_state at;
    assert_ok(store_import_take(f->s, DUMP, "a", "elsewhere:1:2:x", &e));
    begin(f);
    IMPORT(f, 1, "{'id':1,'type':'story'}");
    fix_advance(f, 50000);
    assert_int_equal(store_import_take(f->s, DUMP, "a", "here:1:2:x", &e), V_CONFLICT);
    IMPORT(f, 1, "{'id':2,'type':'story'}"); /* a sign of life */
    fix_advance(f, 50000);
    assert_int_equal(store_import_take(f->s, DUMP, "a", "here:1:2:x", &e), V_CONFLICT);
    fix_advance(f, 11000);
    assert_ok(store_import_take(f->s, DUMP, "a", "here:1:2:x", &e));
    assert_ok(store_import_find(f->s, DUMP, &at, &e));
    assert_int_equal(at.bytes, 20); /* the place stays */
}

/* Out again --------------------------------------------------------------------------------- */

static const char *page_text(struct fix *f, int64_t after, int64_t last, size_t max) {
    struct err e;
    struct item_page p;
    item_page_init(&p);
    assert_ok(store_read_page(f->s, after, last, max, &p, &e));
    CLEANUP(strbuf_release) struct strbuf out;
    strbuf_init(&out, 1 << 20);
    for (size_t i = 0; i < p.n; i++) {
        item_render(&p.items[i], &out);
        strbuf_addc(&out, '\n');
    }
    item_page_release(&p);
    char *text = arena_strdup(&f->arena, out.p ? out.p : "");
    for (char *c = text; *c; c++)
        if (*c == '"')
            *c = '\'';
    return text;
}

#define STORY                                                                           \
    "{'by':'a','descendants':3,'id':1,'kids':[9,3,5],'score':-1,'text':'t\\n\xC3\xA9'," \
    "'time':12,'title':'T','type':'story','url':'http://e.example/x'}\n"
#define POLL "{'dead':true,'id':3,'parts':[8,7,6],'type':'poll'}\n"
#define GONE "{'deleted':true,'id':5,'parent':1,'type':'comment'}\n"
#define BARE "{'id':9}\n"

static void pages_give_back_what_came(void **state) {
    struct fix *f = *state;
    IMPORT(f, 1, BARE, POLL, STORY, GONE);
    assert_string_equal(page_text(f, 0, 100, 10), STORY POLL GONE BARE);
    assert_string_equal(page_text(f, 0, 100, 2), STORY POLL);
    assert_string_equal(page_text(f, 3, 100, 2), GONE BARE);
    assert_string_equal(page_text(f, 3, 8, 2), GONE);
    assert_string_equal(page_text(f, 9, 100, 2), "");
}

static void kids_keep_their_order(void **state) {
    struct fix *f = *state;
    CLEANUP(strbuf_release) struct strbuf json;
    strbuf_init(&json, 1 << 20);
    strbuf_adds(&json, "{'id':1,'kids':[");
    for (int i = 0; i < 700; i++)
        strbuf_addf(&json, "%s%d", i ? "," : "", 1000 + (i * 337) % 700);
    strbuf_adds(&json, "]}\n");
    IMPORT(f, 1, json.p, "{'id':2,'kids':[4]}\n", "{'id':4}\n");
    x(f, "INSERT INTO kids VALUES (3, 77, 0)"); /* of nobody */
    CLEANUP(strbuf_release) struct strbuf wanted;
    strbuf_init(&wanted, 1 << 20);
    strbuf_addf(&wanted, "%s{'id':2,'kids':[4]}\n{'id':4}\n", json.p);
    assert_string_equal(page_text(f, 0, 100, 10), wanted.p);
}

static void bounds_of_what_is_there(void **state) {
    struct fix *f = *state;
    struct err e;
    int64_t lo, hi;
    assert_int_equal(store_item_bounds(f->s, 1, INT64_MAX, &lo, &hi, &e), V_NOT_FOUND);
    IMPORT(f, 1, "{'id':5}", "{'id':9}", "{'id':70}");
    assert_ok(store_item_bounds(f->s, 1, INT64_MAX, &lo, &hi, &e));
    assert_int_equal(lo, 5);
    assert_int_equal(hi, 70);
    assert_ok(store_item_bounds(f->s, 6, 69, &lo, &hi, &e));
    assert_int_equal(lo, 9);
    assert_int_equal(hi, 9);
    assert_int_equal(store_item_bounds(f->s, 10, 69, &lo, &hi, &e), V_NOT_FOUND);
}

int import_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(fills_holes_only),
        CASE(the_same_once_more_writes_nothing),
        CASE(a_date_competes_with_fetches),
        CASE(readers_of_the_log_hear_nothing_of_it),
        CASE(a_later_fetch_wins),
        CASE(the_last_of_an_id_counts),
        CASE(threads_in_descending_order),
        CASE(scattered_threads_are_joined_at_the_end),
        CASE(troubles_of_holes_are_settled),
        CASE(makes_no_segments),
        CASE(the_place_moves_with_the_items),
        CASE(two_imports_of_one_dump_do_not_mix),
        CASE(a_dump_has_one_importer),
        CASE(a_silent_importer_is_replaced),
        CASE(pages_give_back_what_came),
        CASE(kids_keep_their_order),
        CASE(bounds_of_what_is_there),
    };
    return cmocka_run_group_tests_name("import", tests, NULL, NULL);
}
