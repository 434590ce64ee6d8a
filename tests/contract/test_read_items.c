/* Reading items: one, several, the newest, the discussions of a URL, what they said before. */
#include "fixture.h"

#include "store/read.h"

#include <string.h>

static const char *ids_text(struct fix *f, const int64_t *ids, size_t n) {
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, 1 << 20);
    for (size_t i = 0; i < n; i++)
        strbuf_addf(&b, "%s%lld", i ? " " : "", (long long)ids[i]);
    return arena_strdup(&f->arena, b.n ? b.p : "");
}

static const char *items_text(struct fix *f, struct read_items r) {
    int64_t *ids = arena_alloc(&f->arena, (r.n + 1) * sizeof *ids);
    for (size_t i = 0; i < r.n; i++)
        ids[i] = r.items[i].item.id;
    return ids_text(f, ids, r.n);
}

static const char *rendered(struct fix *f, const struct item *it) {
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, 1 << 20);
    item_render(it, &b);
    for (char *p = b.p; *p; p++)
        if (*p == '"')
            *p = '\'';
    return arena_strdup(&f->arena, b.n ? b.p : "");
}

static void an_item_comes_as_it_was_stored(void **state) {
    struct fix *f = *state;
    struct err e;
    struct read_item r;
    static const char story[] =
        "{'by':'pg','descendants':15,'id':100,'kids':[107,103,105],'parts':[3,2],'score':57,"
        "'text':'a \u00fc <p>','time':1160418111,'title':'Y','type':'story',"
        "'url':'http://www.example.com/a?b'}";
    store_item(f, T0 + 5, story);
    fix_advance(f, 1000);
    store_item(f, T0 + 1005, story);
    assert_ok(store_read_item(f->s, &f->arena, 100, &r, &e));
    assert_string_equal(rendered(f, &r.item), story);
    assert_true(r.stored);
    assert_int_equal(r.story_id, 100);
    assert_int_equal(r.first_seen_at, T0 + 5);
    assert_int_equal(r.last_changed_at, T0 + 5);
    assert_int_equal(r.last_fetched_at, T0 + 1005);
    struct item again = r.item;
    item_derive(&f->arena, &again);
    assert_true(r.item.url_key.n && str_eq(r.item.url_key, again.url_key));
    assert_true(r.item.domain.n && str_eq(r.item.domain, again.domain));
    assert_int_equal(store_read_item(f->s, &f->arena, 101, &r, &e), V_NOT_FOUND);
}

static void absent_stays_absent(void **state) {
    struct fix *f = *state;
    struct err e;
    struct read_item r;
    store_item(f, T0, "{'id':7,'deleted':true,'dead':true,'parent':6}");
    assert_ok(store_read_item(f->s, &f->arena, 7, &r, &e));
    assert_string_equal(rendered(f, &r.item), "{'dead':true,'deleted':true,'id':7,'parent':6}");
    assert_int_equal(r.story_id, I64_NONE);
    assert_int_equal(r.item.score, I64_NONE);
    assert_null(r.item.url_key.p);
    assert_null(r.item.text.p);
    assert_int_equal(r.item.n_kids, 0);
}

static void kids_that_change_are_the_new_ones(void **state) {
    struct fix *f = *state;
    struct err e;
    struct read_item r;
    store_item(f, T0, "{'id':1,'type':'story','kids':[2,3]}");
    store_item(f, T0 + 1, "{'id':1,'type':'story','kids':[5,3,4]}");
    assert_ok(store_read_item(f->s, &f->arena, 1, &r, &e));
    assert_string_equal(ids_text(f, r.item.kids, r.item.n_kids), "5 3 4");
    store_item(f, T0 + 2, "{'id':1,'type':'story'}");
    assert_ok(store_read_item(f->s, &f->arena, 1, &r, &e));
    assert_int_equal(r.item.n_kids, 0);
}

static void several_come_in_the_order_asked(void **state) {
    struct fix *f = *state;
    struct err e;
    struct read_items r = {0};
    store_item(f, T0, "{'id':1,'type':'story','kids':[9,3]}");
    store_item(f, T0, "{'id':3,'type':'comment','parent':1,'text':'c'}");
    store_item(f, T0, "{'id':5,'type':'story','kids':[8,7,6]}");
    const int64_t ids[] = {5, 4, 1, -3, 3, 5};
    assert_ok(store_read_items(f->s, &f->arena, ids, ARRAY_LEN(ids), &r, &e));
    assert_string_equal(items_text(f, r), "5 1 3 5");
    assert_string_equal(ids_text(f, r.items[0].item.kids, r.items[0].item.n_kids), "8 7 6");
    assert_string_equal(ids_text(f, r.items[1].item.kids, r.items[1].item.n_kids), "9 3");
    assert_int_equal(r.items[2].item.n_kids, 0);
    assert_true(str_eqc(r.items[2].item.text, "c"));
    assert_ok(store_read_items(f->s, &f->arena, ids, 0, &r, &e));
    assert_int_equal(r.n, 0);
    assert_ok(store_read_items(f->s, &f->arena, ids + 1, 1, &r, &e));
    assert_int_equal(r.n, 0);
    static const int64_t many[READ_IDS_MAX + 1];
    assert_ok(store_read_items(f->s, &f->arena, many, READ_IDS_MAX, &r, &e));
    assert_int_equal(store_read_items(f->s, &f->arena, many, READ_IDS_MAX + 1, &r, &e), V_LIMIT);
}

static void the_newest_stories(void **state) {
    struct fix *f = *state;
    struct err e;
    struct read_items r;
    struct batch *b = wide_batch(f);
    put_item(b, T0, "{'id':1,'type':'story','title':'a','kids':[2]}");
    put_item(b, T0, "{'id':2,'type':'comment','parent':1}");
    put_item(b, T0, "{'id':3,'type':'job','title':'b'}");
    put_item(b, T0, "{'id':4,'type':'story','dead':true}");
    put_item(b, T0, "{'id':5,'type':'story','deleted':true}");
    put_item(b, T0, "{'id':6,'type':'poll','title':'c'}");
    put_item(b, T0, "{'id':7,'type':'pollopt','poll':6}");
    put_item(b, T0, "{'id':8}");
    put_item(b, T0, "{'id':9,'type':'story','title':'d'}");
    apply_ok(f->s, b);
    assert_ok(store_read_newest(f->s, &f->arena, 0, 10, &r, &e));
    assert_string_equal(items_text(f, r), "9 6 3 1");
    assert_ok(store_read_newest(f->s, &f->arena, 0, 2, &r, &e));
    assert_string_equal(items_text(f, r), "9 6");
    assert_ok(store_read_newest(f->s, &f->arena, 6, 10, &r, &e));
    assert_string_equal(items_text(f, r), "3 1");
    assert_ok(store_read_newest(f->s, &f->arena, 1, 10, &r, &e));
    assert_int_equal(r.n, 0);
    int64_t max = -1;
    assert_ok(store_read_maxitem(f->s, &max, &e));
    assert_int_equal(max, 9);
}

static bool is_missing(struct fix *f, int64_t id) {
    struct err e;
    bool missing = false;
    assert_ok(store_read_missing(f->s, id, &missing, &e));
    return missing;
}

static void missing_is_not_the_same_as_unknown(void **state) {
    struct fix *f = *state;
    struct claim c = claim_new(f, PURPOSE_MIRROR, 1, 20);
    struct batch *b = batch_for(&c, 10, false);
    put_item(b, T0, "{'id':1,'type':'story'}");
    put_exception(b, 2, EXC_TERMINAL_MISSING, "null_old");
    put_exception(b, 3, EXC_DEAD_LETTER, "garbage")->attempts = 8;
    put_exception(b, 4, EXC_RETRY_WAIT, "null_young")->next_retry_at = T0 + 5000;
    apply_ok(f->s, b);
    assert_true(is_missing(f, 2));
    assert_false(is_missing(f, 1));
    assert_false(is_missing(f, 3));
    assert_false(is_missing(f, 4));
    assert_false(is_missing(f, 5));
    assert_false(is_missing(f, 21));
}

/* Reads that share their locks see one instant; on PostgreSQL each is for itself. */
static void reads_in_a_row(void **state) {
    struct fix *f = *state;
    struct err e;
    struct read_item r;
    struct store *reader = fix_open(f);
    store_read_end(reader); /* harmless */
    assert_ok(store_read_begin(reader, &e));
    assert_int_equal(store_read_item(reader, &f->arena, 7, &r, &e), V_NOT_FOUND);
    store_item(f, T0, "{'id':7,'type':'story'}");
    enum verdict now = fix_kind == DB_SQLITE ? V_NOT_FOUND : V_OK;
    assert_int_equal(store_read_item(reader, &f->arena, 7, &r, &e), now);
    store_read_end(reader);
    assert_ok(store_read_item(reader, &f->arena, 7, &r, &e));
    assert_ok(store_read_begin(reader, &e));
    assert_ok(store_recover(reader, &e)); /* lets go, too */
    assert_ok(store_read_begin(reader, &e));
    store_read_end(reader);
}

static void nothing_is_stored(void **state) {
    struct fix *f = *state;
    struct err e;
    struct read_items r;
    int64_t max = -1;
    assert_ok(store_read_maxitem(f->s, &max, &e));
    assert_int_equal(max, 0);
    assert_ok(store_read_newest(f->s, &f->arena, 0, 10, &r, &e));
    assert_int_equal(r.n, 0);
}

static void discussions_of_a_url(void **state) {
    struct fix *f = *state;
    struct err e;
    struct read_items r;
    struct read_item one;
    store_item(f, T0, "{'id':1,'type':'story','score':3,'url':'http://example.com/a'}");
    store_item(f, T0, "{'id':2,'type':'story','score':30,'url':'https://www.example.com/a/'}");
    store_item(f, T0, "{'id':3,'type':'story','score':99,'url':'http://example.com/b'}");
    store_item(f, T0, "{'id':4,'type':'story','url':'http://example.com/a'}");
    store_item(f, T0, "{'id':5,'type':'story','score':3,'url':'http://example.com/a'}");
    assert_ok(store_read_item(f->s, &f->arena, 1, &one, &e));
    assert_ok(store_read_discussions(f->s, &f->arena, one.item.url_key, 10, &r, &e));
    assert_string_equal(items_text(f, r), "2 5 1 4");
    assert_ok(store_read_discussions(f->s, &f->arena, one.item.url_key, 2, &r, &e));
    assert_string_equal(items_text(f, r), "2 5");
    assert_ok(store_read_discussions(f->s, &f->arena, STR("none.example/x"), 2, &r, &e));
    assert_int_equal(r.n, 0);
}

/* Longer than what a B-tree of PostgreSQL could hold, and nothing a compression makes small. */
static void a_url_of_any_length_is_found(void **state) {
    struct fix *f = *state;
    struct err e;
    struct read_item one;
    struct read_items r;
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, 1 << 20);
    strbuf_adds(&b, "{'id':1,'type':'story','url':'http://example.com/");
    for (uint32_t i = 0, x = 1; i < 4000; i++, x = x * 1664525 + 1013904223)
        strbuf_addc(&b, (char)('a' + (x >> 24) % 26));
    strbuf_adds(&b, "'}");
    store_item(f, T0, b.p);
    assert_ok(store_read_item(f->s, &f->arena, 1, &one, &e));
    assert_in_range(one.item.url_key.n, 4000, 4100);
    assert_ok(store_read_discussions(f->s, &f->arena, one.item.url_key, 10, &r, &e));
    assert_string_equal(items_text(f, r), "1");
}

static void what_was_said_before(void **state) {
    struct fix *f = *state;
    struct err e;
    const struct revision *rev;
    size_t n;
    const int64_t *ids;
    store_item(f, T0, "{'id':1,'type':'comment','text':'first','by':'a','parent':9}");
    store_item(f, T0 + 10, "{'id':1,'type':'comment','text':'second','by':'a','parent':9}");
    store_item(f, T0 + 20, "{'id':1,'type':'comment','deleted':true,'parent':9}");
    store_item(f, T0, "{'id':2,'type':'comment','text':'once','parent':9}");
    store_item(f, T0, "{'id':3,'type':'comment','text':'x','parent':9}");
    store_item(f, T0 + 1, "{'id':3,'type':'comment','text':'y','parent':9}");
    assert_ok(store_read_revisions(f->s, &f->arena, 1, 10, &rev, &n, &e));
    assert_int_equal(n, 2);
    assert_string_equal(rendered(f, &rev[0].item),
                        "{'by':'a','id':1,'parent':9,'text':'second','type':'comment'}");
    assert_string_equal(rendered(f, &rev[1].item),
                        "{'by':'a','id':1,'parent':9,'text':'first','type':'comment'}");
    assert_int_equal(rev[0].fetched_at, T0 + 10);
    assert_int_equal(rev[0].replaced_at, T0 + 20);
    assert_ok(store_read_revisions(f->s, &f->arena, 1, 1, &rev, &n, &e));
    assert_int_equal(n, 1);
    assert_ok(store_read_revisions(f->s, &f->arena, 2, 10, &rev, &n, &e));
    assert_int_equal(n, 0);
    const int64_t asked[] = {3, 2, 9, 1, 3};
    assert_ok(store_have_revisions(f->s, &f->arena, asked, ARRAY_LEN(asked), &ids, &n, &e));
    assert_string_equal(ids_text(f, ids, n), "1 3");
    assert_ok(store_have_revisions(f->s, &f->arena, asked, 0, &ids, &n, &e));
    assert_int_equal(n, 0);
}

int read_item_tests(void) {
    static const struct CMUnitTest tests[] = {
        CASE(an_item_comes_as_it_was_stored),
        CASE(absent_stays_absent),
        CASE(kids_that_change_are_the_new_ones),
        CASE(several_come_in_the_order_asked),
        CASE(the_newest_stories),
        CASE(missing_is_not_the_same_as_unknown),
        CASE(reads_in_a_row),
        CASE(nothing_is_stored),
        CASE(discussions_of_a_url),
        CASE(a_url_of_any_length_is_found),
        CASE(what_was_said_before),
    };
    return cmocka_run_group_tests_name("read_items", tests, NULL, NULL);
}
