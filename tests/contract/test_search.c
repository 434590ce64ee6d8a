/* What a search finds, on both databases alike. */
#include "fixture.h"

#include "store/search.h"

#include <stdlib.h>
#include <string.h>

static void put(struct fix *f, const char *const *json, size_t n) {
    struct batch *b = wide_batch(f);
    for (size_t i = 0; i < n; i++)
        put_item(b, T0, json[i]);
    apply_ok(f->s, b);
    struct err e;
    int64_t done;
    do
        assert_ok(store_index_step(f->s, 1000, &done, &e));
    while (done);
}
#define PUT(f, ...) \
    put(f, (const char *const[]){__VA_ARGS__}, ARRAY_LEN(((const char *const[]){__VA_ARGS__})))

static struct search_answer answer;

/* Ids in the order of the answer. */
static const char *ids_of(struct fix *f, const struct search_query *query) {
    static char out[400];
    struct err e;
    assert_ok(store_search(f->s, &f->arena, query, &answer, &e));
    size_t n = 0;
    out[0] = '\0';
    for (size_t i = 0; i < answer.n; i++)
        n += (size_t)snprintf(out + n, sizeof out - n, "%s%lld", i ? " " : "",
                              (long long)answer.hits[i].it.item.id);
    return out;
}

static const char *find(struct fix *f, const char *text) {
    struct search_query query;
    search_query_init(&query);
    query.text = str_of(text);
    return ids_of(f, &query);
}

static struct search_query by_date(const char *text) {
    struct search_query query;
    search_query_init(&query);
    query.text = str_of(text);
    query.order = SEARCH_BY_DATE;
    return query;
}

static void want(struct search_query *query, struct search_tag tag) {
    struct search_group *g = &query->groups[query->n_groups++];
    *g = (struct search_group){.tags = {tag}, .n = 1};
}

static void words(void **state) {
    struct fix *f = *state;
    PUT(f,
        "{'id':1,'type':'story','title':'The C++ Language','url':'https://www.example.com/lang'}",
        "{'id':2,'type':'story','title':'C# and .NET'}",
        "{'id':3,'type':'comment','parent':1,'text':'I use C daily, don&#x27;t you?<p>Caf\u00e9 "
        "na\u00efve'}",
        "{'id':4,'type':'comment','parent':1,'text':'node.js 3.14 \u65e5\u672c\u8a9e "
        "state-of-the-art'}",
        "{'id':5,'type':'comment','parent':1,'by':'PaulG','text':'see <a "
        "href=\\'https://x.org/deep\\'>this</a> &lt;b&gt;'}");
    assert_string_equal(find(f, "c++"), "1");
    assert_string_equal(find(f, "C++"), "1");
    assert_string_equal(find(f, "c#"), "2");
    assert_string_equal(find(f, "c"), "3");
    assert_string_equal(find(f, "dont"), "3");
    assert_string_equal(find(f, "don't"), "3");
    assert_string_equal(find(f, "don\u2019t"), "3");
    assert_string_equal(find(f, "cafe NAIVE"), "3");
    assert_string_equal(find(f, "CAF\u00c9"), "3");
    assert_string_equal(find(f, "node.js"), "4");
    assert_string_equal(find(f, "js"), "4");
    assert_string_equal(find(f, "js.node"), "");
    assert_string_equal(find(f, "3.14"), "4");
    assert_string_equal(find(f, "14.3"), "");
    assert_string_equal(find(f, "\u672c\u8a9e"), "4");
    assert_string_equal(find(f, "\u8a9e\u672c"), "");
    assert_string_equal(find(f, "state-of-the-art"), "4");
    assert_string_equal(find(f, "example.com"), "1");
    assert_string_equal(find(f, "deep"), "5");
    assert_string_equal(find(f, "href"), "");
    assert_string_equal(find(f, "paulg"), "5");
    assert_string_equal(find(f, "b"), "5");
    assert_string_equal(find(f, "lang"), "1");
    assert_string_equal(find(f, "www"), "");
}

static void phrases_and_without(void **state) {
    struct fix *f = *state;
    PUT(f, "{'id':1,'type':'story','title':'machine learning at scale'}",
        "{'id':2,'type':'story','title':'learning about a machine'}",
        "{'id':3,'type':'comment','parent':1,'text':'machine learning is learning'}",
        "{'id':4,'type':'comment','parent':1,'text':'unlearning'}");
    struct search_query query = by_date("machine learning");
    assert_string_equal(ids_of(f, &query), "3 2 1");
    query.text = STR("\"machine learning\"");
    assert_string_equal(ids_of(f, &query), "3 1");
    query.text = STR("\"Machine  learning");
    assert_string_equal(ids_of(f, &query), "3 1");
    query.text = STR("learning -scale");
    assert_string_equal(ids_of(f, &query), "3 2");
    query.text = STR("-\"machine learning\" learning");
    assert_string_equal(ids_of(f, &query), "2");
    query.text = STR("-machine");
    assert_string_equal(ids_of(f, &query), "4");
    query.text = STR("machine -learning -scale");
    assert_string_equal(ids_of(f, &query), "");
    query.text = STR("learning machine nothing");
    assert_string_equal(ids_of(f, &query), "");
}

/* Nothing that is typed is an error, whatever it means to a database. */
static void hostile_queries(void **state) {
    struct fix *f = *state;
    PUT(f, "{'id':1,'type':'story','title':'AND OR NOT NEAR quote'}");
    static const char *const texts[] = {
        "' OR 1=1 --", "\"",      "\"\"",  "* ( ) : ^ & | ! <-> \\",
        "title:x",     "{title}", "-",     "- -",
        "NEAR(a b)",   "a*",      "'a':*", "\\'",
        "\xff\xfe",    "_story",  "+",     "++",
        "#",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        find(f, texts[i]);
    assert_string_equal(find(f, "and or not near"), "1");
    assert_string_equal(find(f, "\" or not \""), "1");
    assert_string_equal(find(f, "_story"), "");
    static char long_text[20000];
    for (size_t i = 0; i + 2 < sizeof long_text; i += 2)
        memcpy(long_text + i, "q ", 2);
    assert_string_equal(find(f, long_text), "");
}

static void titles_then_phrases_then_points(void **state) {
    struct fix *f = *state;
    PUT(f, "{'id':1,'type':'story','title':'rust async in depth','score':5,'descendants':1}",
        "{'id':2,'type':'story','title':'async for rust','score':500}",
        "{'id':3,'type':'story','title':'rust async','score':5,'descendants':9}",
        "{'id':4,'type':'story','title':'other','text':'rust and async','score':900}",
        "{'id':5,'type':'comment','parent':1,'text':'rust async'}",
        "{'id':6,'type':'comment','parent':1,'text':'async, rust'}",
        "{'id':7,'type':'story','title':'async','text':'rust','score':1}",
        "{'id':8,'type':'job','title':'rust async jobs'}");
    assert_string_equal(find(f, "rust async"), "3 1 8 2 5 4 7 6");
    assert_int_equal(answer.total, 8);
    assert_true(answer.exact);
    struct search_query query;
    search_query_init(&query);
    query.text = STR("rust async");
    query.offset = 2;
    query.limit = 3;
    assert_string_equal(ids_of(f, &query), "8 2 5");
    assert_int_equal(answer.total, 8);
    query.offset = 100;
    assert_string_equal(ids_of(f, &query), "");
    assert_int_equal(answer.total, 8);
}

static void tags(void **state) {
    struct fix *f = *state;
    PUT(f, "{'id':1,'type':'story','by':'pg','title':'Show HN: a thing','kids':[3,4]}",
        "{'id':2,'type':'story','by':'PG','title':'Ask HN: what thing?'}",
        "{'id':3,'type':'comment','by':'pg','parent':1,'text':'thing','kids':[5]}",
        "{'id':4,'type':'comment','by':'dang','parent':1,'text':'thing'}",
        "{'id':5,'type':'comment','by':'dang','parent':3,'text':'thing'}",
        "{'id':6,'type':'job','by':'yc','title':'thing maker'}",
        "{'id':7,'type':'poll','by':'yc','title':'thing or not','parts':[8]}",
        "{'id':8,'type':'pollopt','by':'yc','poll':7,'text':'thing'}",
        "{'id':9,'type':'story','by':'pg','dead':true,'title':'thing'}");
    struct search_query query = by_date("thing");
    assert_string_equal(ids_of(f, &query), "8 7 6 5 4 3 2 1");
    static const char *const of_words[] = {"thing", ""};
    for (int i = 0; i < 2; i++) { /* with the word and without */
        query = by_date(of_words[i]);
        want(&query, (struct search_tag){.kind = TAG_KIND, .kinds = SEARCH_STORY});
        assert_string_equal(ids_of(f, &query), "2 1");
        query.groups[0].tags[0].kinds = SEARCH_POLL | SEARCH_JOB;
        assert_string_equal(ids_of(f, &query), "7 6");
        query.groups[0].tags[0].kinds = SEARCH_COMMENT | SEARCH_POLLOPT;
        assert_string_equal(ids_of(f, &query), "8 5 4 3");
        query.groups[0].tags[0] = (struct search_tag){.kind = TAG_SHOW_HN};
        assert_string_equal(ids_of(f, &query), "1");
        query.groups[0].tags[0] = (struct search_tag){.kind = TAG_ASK_HN};
        assert_string_equal(ids_of(f, &query), "2");
        query.groups[0].tags[0] = (struct search_tag){.kind = TAG_AUTHOR, .name = STR("pg")};
        assert_string_equal(ids_of(f, &query), "3 1");
        query.with_dead = true;
        assert_string_equal(ids_of(f, &query), i ? "9 3 1" : "3 1"); /* the dead have no words */
        query.with_dead = false;
        want(&query, (struct search_tag){.kind = TAG_KIND, .kinds = SEARCH_COMMENT});
        assert_string_equal(ids_of(f, &query), "3");
        query = by_date(of_words[i]);
        want(&query, (struct search_tag){.kind = TAG_STORY, .id = 1});
        assert_string_equal(ids_of(f, &query), "5 4 3 1");
        want(&query, (struct search_tag){.kind = TAG_AUTHOR, .name = STR("dang")});
        assert_string_equal(ids_of(f, &query), "5 4");
        /* one of: this thread, a job, the other PG */
        query = by_date(of_words[i]);
        query.n_groups = 1;
        query.groups[0] = (struct search_group){.tags = {{.kind = TAG_STORY, .id = 1},
                                                         {.kind = TAG_KIND, .kinds = SEARCH_JOB},
                                                         {.kind = TAG_AUTHOR, .name = STR("PG")}},
                                                .n = 3};
        assert_string_equal(ids_of(f, &query), "6 5 4 3 2 1");
    }
}

static void numbers(void **state) {
    struct fix *f = *state;
    PUT(f, "{'id':1,'type':'story','title':'thing','time':1000,'score':10,'descendants':3}",
        "{'id':2,'type':'story','title':'thing','time':2000,'score':20}",
        "{'id':3,'type':'comment','text':'thing','time':3000,'parent':1}",
        "{'id':4,'type':'story','title':'thing','time':4000,'score':40,'descendants':9}",
        "{'id':5,'type':'story','title':'thing'}");
    for (int i = 0; i < 2; i++) {
        struct search_query query = by_date(i ? "thing" : "");
        query.time_lo = 2000;
        assert_string_equal(ids_of(f, &query), "4 3 2");
        query.time_hi = 3000;
        assert_string_equal(ids_of(f, &query), "3 2");
        assert_int_equal(answer.total, 2);
        query = by_date(i ? "thing" : "");
        query.points_lo = 20;
        assert_string_equal(ids_of(f, &query), "4 2");
        query.points_hi = 39;
        assert_string_equal(ids_of(f, &query), "2");
        query = by_date(i ? "thing" : "");
        query.comments_lo = 3;
        query.comments_hi = 3;
        assert_string_equal(ids_of(f, &query), "1");
        query.order = SEARCH_BY_RELEVANCE;
        query.comments_hi = I64_NONE;
        assert_string_equal(ids_of(f, &query), "4 1");
    }
}

static void fields(void **state) {
    struct fix *f = *state;
    PUT(f,
        "{'id':1,'type':'story','title':'apple','url':'http://plum.org/','by':'pear','text':'fig'}",
        "{'id':2,'type':'comment','by':'apple','text':'plum','parent':1}");
    struct search_query query = by_date("apple");
    query.fields = SEARCH_IN_TITLE;
    assert_string_equal(ids_of(f, &query), "1");
    query.fields = SEARCH_IN_AUTHOR;
    assert_string_equal(ids_of(f, &query), "2");
    query.fields = SEARCH_IN_URL | SEARCH_IN_TEXT;
    assert_string_equal(ids_of(f, &query), "");
    query.text = STR("plum");
    assert_string_equal(ids_of(f, &query), "2 1");
    query.fields = SEARCH_IN_URL;
    assert_string_equal(ids_of(f, &query), "1");
    query.text = STR("-plum");
    assert_string_equal(ids_of(f, &query), "2");
    query.text = STR("apple fig");
    query.fields = 0;
    assert_string_equal(ids_of(f, &query), "1");
}

static void hits_know_their_story(void **state) {
    struct fix *f = *state;
    PUT(f,
        "{'id':1,'type':'story','title':'root','url':'http://a.org/x','score':3,'descendants':2}",
        "{'id':2,'type':'comment','parent':1,'by':'me','time':77,'text':'leaf &amp; <i>twig</i>'}",
        "{'id':9,'type':'comment','parent':8,'text':'leaf without a tree'}");
    assert_string_equal(find(f, "leaf"), "9 2");
    const struct search_hit *h = &answer.hits[1];
    assert_true(str_eqc(h->story_title, "root") && str_eqc(h->story_url, "http://a.org/x"));
    assert_true(h->story_points == 3 && h->story_comments == 2);
    assert_true(h->it.stored && h->it.story_id == 1 && h->it.item.time == 77);
    assert_true(str_eqc(h->it.item.by, "me"));
    assert_true(str_eqc(h->it.item.text, "leaf &amp; <i>twig</i>"));
    assert_true(h->it.first_seen_at == T0);
    assert_null(answer.hits[0].story_title.p);
    assert_true(answer.hits[0].story_points == I64_NONE);
    assert_string_equal(find(f, "root"), "1");
    assert_true(str_eqc(answer.hits[0].it.item.domain, "a.org"));
    assert_true(str_eqc(answer.hits[0].story_title, "root"));
}

static void pages_reach_everything(void **state) {
    struct fix *f = *state;
    struct batch *b = wide_batch(f);
    for (int i = 1; i <= 900; i++) {
        char json[120];
        bool story = i % 7 == 0;
        snprintf(json, sizeof json, "{'id':%d,'type':'%s','%s':'word','parent':1}", i * 100,
                 story ? "story" : "comment", story ? "title" : "text");
        put_item(b, T0, json);
    }
    apply_ok(f->s, b);
    struct err e;
    int64_t done, last = INT64_MAX, seen = 0;
    do
        assert_ok(store_index_step(f->s, 100, &done, &e));
    while (done);
    struct search_query query = by_date("word");
    query.limit = 70;
    for (; query.offset < 1000; query.offset += 70) {
        assert_ok(store_search(f->s, &f->arena, &query, &answer, &e));
        assert_int_equal(answer.total, 900);
        assert_true(answer.exact);
        for (size_t i = 0; i < answer.n; i++, seen++) {
            assert_true(answer.hits[i].it.item.id < last);
            last = answer.hits[i].it.item.id;
        }
    }
    assert_int_equal(seen, 900);
}

/* Both databases walk and count in windows of ids, which here are much wider than a match is rare:
 * what is asked for must not be missed or come twice, whatever the widths. */
static void windows_leave_nothing_out(void **state) {
    struct fix *f = *state;
    enum { ITEMS = 1300, STEP = 7001, OFTEN = 1000 }; /* up to nine million */
    struct batch *b = wide_batch(f);
    for (int64_t i = 1; i <= ITEMS; i++) {
        char json[120];
        snprintf(json, sizeof json, "{'id':%lld,'type':'comment','text':'%s','parent':1}",
                 (long long)i * STEP, i % 13 ? "often" : "often rare");
        put_item(b, T0, json);
    }
    apply_ok(f->s, b);
    struct err e;
    int64_t done;
    do
        assert_ok(store_index_step(f->s, 500, &done, &e));
    while (done);
    struct search_query query = by_date("rare");
    for (int order = SEARCH_BY_RELEVANCE; order <= SEARCH_BY_DATE; order++) {
        query.order = (enum search_order)order;
        query.text = STR("rare");
        query.limit = 200;
        assert_ok(store_search(f->s, &f->arena, &query, &answer, &e));
        assert_true(answer.n == 100 && answer.total == 100 && answer.exact);
        for (int64_t i = 0; i < 100; i++)
            assert_int_equal(answer.hits[i].it.item.id, (100 - i) * 13 * STEP);
        query.text = STR("often");
        query.limit = 20;
        assert_ok(store_search(f->s, &f->arena, &query, &answer, &e));
        assert_true(answer.n == 20 && answer.total >= OFTEN && answer.total <= ITEMS);
        assert_true(!answer.exact || answer.total == ITEMS);
        for (int64_t i = 0; i < 20; i++)
            assert_int_equal(answer.hits[i].it.item.id, (ITEMS - i) * STEP);
    }
    query.offset = ITEMS - 5; /* the last page is found too */
    assert_ok(store_search(f->s, &f->arena, &query, &answer, &e));
    assert_true(answer.n == 5 && answer.hits[4].it.item.id == STEP);
    assert_true(answer.exact && answer.total == ITEMS);
}

static void nonsense_is_refused(void **state) {
    struct fix *f = *state;
    struct err e;
    struct search_query query;
    search_query_init(&query);
    query.limit = 1001;
    assert_int_equal(store_search(f->s, &f->arena, &query, &answer, &e), V_INVALID);
    query.limit = 10;
    query.offset = -1;
    assert_int_equal(store_search(f->s, &f->arena, &query, &answer, &e), V_INVALID);
    query.offset = 0;
    query.n_groups = 1;
    assert_int_equal(store_search(f->s, &f->arena, &query, &answer, &e), V_INVALID);
    assert_string_equal(find(f, "empty archive"), "");
    assert_string_equal(find(f, ""), "");
    assert_true(answer.total == 0 && answer.exact);
}

int search_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(words),
        CASE(phrases_and_without),
        CASE(hostile_queries),
        CASE(titles_then_phrases_then_points),
        CASE(tags),
        CASE(numbers),
        CASE(fields),
        CASE(hits_know_their_story),
        WIDE_CASE(pages_reach_everything),
        WIDEST_CASE(windows_leave_nothing_out),
        CASE(nonsense_is_refused),
    };
    return cmocka_run_group_tests_name("search", tests, NULL, NULL);
}
