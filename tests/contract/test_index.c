/* What the writer notes for the search index, and how it is worked off. */
#include "fixture.h"

#include "store/search.h"

#include <string.h>

#define WORK "SELECT lo, hi FROM index_work ORDER BY work_id"

static int64_t step(struct fix *f, size_t max) {
    struct err e;
    int64_t done;
    assert_ok(store_index_step(f->s, max, &done, &e));
    return done;
}

/* Ids that a word is found in, newest first. */
static const char *find(struct fix *f, const char *text) {
    static char out[200];
    struct err e;
    struct search_query query;
    struct search_answer answer;
    search_query_init(&query);
    query.text = str_of(text);
    query.order = SEARCH_BY_DATE;
    assert_ok(store_search(f->s, &f->arena, &query, &answer, &e));
    size_t n = 0;
    out[0] = '\0';
    for (size_t i = 0; i < answer.n; i++)
        n += (size_t)snprintf(out + n, sizeof out - n, "%s%lld", i ? " " : "",
                              (long long)answer.hits[i].it.item.id);
    return out;
}

static void only_news_are_noted(void **state) {
    struct fix *f = *state;
    struct batch *b = wide_batch(f);
    put_item(b, T0, "{'id':10,'type':'story','title':'one'}");
    put_item(b, T0, "{'id':11,'type':'comment','parent':10,'text':'two'}");
    put_item(b, T0, "{'id':13,'type':'comment','parent':10,'text':'three'}");
    put_item(b, T0, "{'id':500,'type':'comment','parent':10,'text':'four'}");
    apply_ok(f->s, b);
    assert_q("10|13 500|500", f, WORK);
    x(f, "DELETE FROM index_work");
    b = wide_batch(f);
    put_item(b, T0 + 1, "{'id':10,'type':'story','title':'one','score':7,'kids':[11]}");
    put_item(b, T0 + 1, "{'id':11,'type':'comment','parent':10,'text':'two'}");
    put_item(b, T0 - 1, "{'id':13,'type':'comment','parent':10,'text':'older'}");
    put_item(b, T0 + 1, "{'id':500,'type':'comment','parent':10,'text':'edited'}");
    apply_ok(f->s, b);
    assert_q("500|500", f, WORK);
}

static void the_live_stream_notes_too(void **state) {
    struct fix *f = *state;
    be_updater(f);
    struct batch *b = live_batch(f);
    put_item(b, T0, "{'id':7,'type':'story','title':'live'}");
    apply_live_ok(f, b);
    assert_q("7|7", f, WORK);
}

static void the_newest_come_first(void **state) {
    struct fix *f = *state;
    struct batch *b = wide_batch(f);
    for (int i = 1; i <= 40; i++) {
        char json[100];
        snprintf(json, sizeof json, "{'id':%d,'type':'comment','parent':1,'text':'word'}", 10 * i);
        put_item(b, T0, json);
    }
    apply_ok(f->s, b);
    store_item(f, T0, "{'id':20000,'type':'story','title':'a word'}");
    int64_t ids, since;
    struct err e;
    assert_ok(store_index_lag(f->s, &ids, &since, &e));
    assert_int_equal(ids, 391 + 1);
    assert_int_equal(since, T0);
    assert_int_equal(step(f, 3), 3);
    assert_string_equal(find(f, "word"), "20000 400 390");
    assert_q("10|389", f, WORK);
    assert_int_equal(step(f, 1000), 38);
    assert_q("", f, WORK);
    assert_int_equal(step(f, 1000), 0);
    assert_ok(store_index_lag(f->s, &ids, &since, &e));
    assert_true(ids == 0 && since == 0);
}

static void empty_ranges_do_not_look_like_the_end(void **state) {
    struct fix *f = *state;
    store_item(f, T0, "{'id':5,'type':'story','title':'word'}");
    for (int i = 0; i < 70; i++)
        x(f, "INSERT INTO index_work (lo, hi, noted_at) VALUES (%d, %d, 0)", 100 + i, 100 + i);
    while (step(f, 10) > 0) {
    }
    assert_q("", f, WORK);
    assert_string_equal(find(f, "word"), "5");
}

static void a_change_replaces_the_words(void **state) {
    struct fix *f = *state;
    store_item(f, T0, "{'id':5,'type':'story','title':'apples and pears'}");
    step(f, 10);
    assert_string_equal(find(f, "apples"), "5");
    store_item(f, T0 + 1, "{'id':5,'type':'story','title':'plums and pears'}");
    assert_string_equal(find(f, "apples"), ""); /* the index lags, the answer does not lie */
    step(f, 10);
    assert_string_equal(find(f, "apples"), "");
    assert_string_equal(find(f, "plums"), "5");
    assert_string_equal(find(f, "pears"), "5");
}

static void a_comment_may_become_a_story(void **state) {
    struct fix *f = *state;
    store_item(f, T0, "{'id':5,'type':'comment','text':'pears'}");
    step(f, 10);
    store_item(f, T0 + 1, "{'id':5,'type':'story','title':'pears'}");
    step(f, 10);
    assert_string_equal(find(f, "pears"), "5");
}

static void dead_and_back(void **state) {
    struct fix *f = *state;
    store_item(f, T0, "{'id':5,'type':'story','title':'pears','by':'pg'}");
    step(f, 10);
    store_item(f, T0 + 1, "{'id':5,'type':'story','dead':true,'by':'pg'}");
    step(f, 10);
    assert_string_equal(find(f, "pears"), "");
    assert_string_equal(find(f, ""), "");
    store_item(f, T0 + 2, "{'id':5,'type':'story','title':'pears','by':'pg'}");
    step(f, 10);
    assert_string_equal(find(f, "pears"), "5");
    assert_string_equal(find(f, ""), "5");
}

static void all_of_it_again(void **state) {
    struct fix *f = *state;
    store_item(f, T0, "{'id':5,'type':'story','title':'pears'}");
    store_item(f, T0, "{'id':900,'type':'comment','parent':5,'text':'pears'}");
    while (step(f, 10) > 0) {
    }
    struct err e;
    assert_ok(store_index_all(f->s, &e));
    assert_q("5|900", f, WORK);
    while (step(f, 1) > 0) {
    }
    assert_string_equal(find(f, "pears"), "900 5");
    x(f, "DELETE FROM items");
    assert_ok(store_index_all(f->s, &e));
    assert_q("", f, WORK);
}

static void a_step_that_fails_leaves_the_work(void **state) {
    struct fix *f = *state;
    store_item(f, T0, "{'id':5,'type':'story','title':'pears'}");
    struct err e;
    int64_t done;
    fault_setup("db_before_commit:1:fail");
    assert_int_equal(store_index_step(f->s, 10, &done, &e), V_RETRY);
    assert_int_equal(done, 0);
    assert_ok(store_recover(f->s, &e));
    assert_q("5|5", f, WORK);
    assert_string_equal(find(f, "pears"), "");
    assert_int_equal(step(f, 10), 1);
    assert_string_equal(find(f, "pears"), "5");
}

static void one_indexer_at_a_time(void **state) {
    struct fix *f = *state;
    if (fix_kind != DB_POSTGRES)
        skip();
    store_item(f, T0, "{'id':5,'type':'story','title':'pears'}");
    struct store *other = fix_open(f);
    struct err e;
    int64_t mine = 0, done;
    assert_ok(db_begin(other->db, &e));
    assert_ok(db_run_int(other->db, SQL_INDEX_LOCK, DB_NO_VALS, &mine, &e));
    assert_int_equal(mine, 1);
    assert_ok(store_index_step(f->s, 10, &done, &e));
    assert_int_equal(done, 0);
    db_rollback(other->db);
    assert_int_equal(step(f, 10), 1);
}

static void texts_of_every_size(void **state) {
    struct fix *f = *state;
    struct batch *b = wide_batch(f);
    static char json[300000];
    size_t n = (size_t)snprintf(json, sizeof json, "{'id':6,'type':'comment','text':'first ");
    for (int i = 0; i < 40000; i++)
        n += (size_t)snprintf(json + n, sizeof json - n, "w%d ", i % 9000);
    snprintf(json + n, sizeof json - n, "last'}");
    put_item(b, T0, json);
    n = (size_t)snprintf(json, sizeof json, "{'id':7,'type':'comment','text':'short ");
    memset(json + n, 'x', 100000);
    snprintf(json + n + 100000, sizeof json - n - 100000, " end'}");
    put_item(b, T0, json);
    put_item(b, T0, "{'id':8,'type':'comment'}");
    put_item(b, T0, "{'id':9}");
    apply_ok(f->s, b);
    assert_int_equal(step(f, 10), 4);
    assert_string_equal(find(f, "first w8999"), "6");
    assert_string_equal(find(f, "short end"), "7");
    assert_string_equal(
        find(f, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"), "7");
}

static void what_a_person_wrote_while_it_waits(void **state) {
    struct fix *f = *state;
    struct err e;
    struct batch *b = wide_batch(f);
    put_item(b, T0, "{'id':1,'type':'story','by':'pg','title':'far below'}");
    put_item(b, T0, "{'id':30000,'type':'story','by':'pg','title':'one'}");
    put_item(b, T0, "{'id':30001,'type':'comment','by':'PG','parent':30000,'text':'another'}");
    put_item(b, T0, "{'id':30002,'type':'comment','by':'pg','parent':30000,'text':'two'}");
    put_item(b, T0, "{'id':30003,'type':'comment','parent':30000,'deleted':true}");
    apply_ok(f->s, b);
    int64_t ids[3];
    size_t n;
    assert_ok(store_index_waits_by(f->s, STR("pg"), SEARCH_ANY, ids, 3, &n, &e));
    assert_true(n == 2 && ids[0] == 30002 && ids[1] == 30000);
    assert_ok(store_index_waits_by(f->s, STR("pg"), SEARCH_STORY, ids, 3, &n, &e));
    assert_true(n == 1 && ids[0] == 30000);
    assert_ok(store_index_waits_by(f->s, STR("pg"), SEARCH_ANY, ids, 1, &n, &e));
    assert_true(n == 1 && ids[0] == 30002);
    while (step(f, 1000) > 0)
        continue;
    assert_ok(store_index_waits_by(f->s, STR("pg"), SEARCH_ANY, ids, 3, &n, &e));
    assert_int_equal(n, 0);
}

int index_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(only_news_are_noted),
        CASE(the_live_stream_notes_too),
        CASE(the_newest_come_first),
        CASE(empty_ranges_do_not_look_like_the_end),
        CASE(a_change_replaces_the_words),
        CASE(a_comment_may_become_a_story),
        CASE(dead_and_back),
        CASE(all_of_it_again),
        CASE(a_step_that_fails_leaves_the_work),
        CASE(one_indexer_at_a_time),
        CASE(texts_of_every_size),
        CASE(what_a_person_wrote_while_it_waits),
    };
    return cmocka_run_group_tests_name("index", tests, NULL, NULL);
}
