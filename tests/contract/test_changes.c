/* What counts as a change, what it leaves behind, and that kids are synced exactly. */
#include "fixture.h"

#include <string.h>

static const char base[] = "{'id':1,'type':'story','by':'ann','time':5,'title':'One',"
                           "'text':'words','score':3,'descendants':2,'kids':[11,12]}";

static const struct {
    const char *name, *json;
    bool content; /* the words changed, not only the figures */
} changes[] = {
    {"score",
     "{'id':1,'type':'story','by':'ann','time':5,'title':'One','text':'words','score':4,"
     "'descendants':2,'kids':[11,12]}",
     false},
    {"descendants",
     "{'id':1,'type':'story','by':'ann','time':5,'title':'One','text':'words','score':3,"
     "'descendants':3,'kids':[11,12]}",
     false},
    {"a kid more",
     "{'id':1,'type':'story','by':'ann','time':5,'title':'One','text':'words','score':3,"
     "'descendants':2,'kids':[11,12,13]}",
     false},
    {"a kid less",
     "{'id':1,'type':'story','by':'ann','time':5,'title':'One','text':'words','score':3,"
     "'descendants':2,'kids':[12]}",
     false},
    {"no kids",
     "{'id':1,'type':'story','by':'ann','time':5,'title':'One','text':'words','score':3,"
     "'descendants':2}",
     false},
    {"kids in another order",
     "{'id':1,'type':'story','by':'ann','time':5,'title':'One','text':'words','score':3,"
     "'descendants':2,'kids':[12,11]}",
     false},
    {"title",
     "{'id':1,'type':'story','by':'ann','time':5,'title':'Two','text':'words','score':3,"
     "'descendants':2,'kids':[11,12]}",
     true},
    {"text gone",
     "{'id':1,'type':'story','by':'ann','time':5,'title':'One','score':3,'descendants':2,"
     "'kids':[11,12]}",
     true},
    {"dead",
     "{'id':1,'type':'story','by':'ann','time':5,'title':'One','text':'words','score':3,"
     "'descendants':2,'kids':[11,12],'dead':true}",
     true},
    {"deleted", "{'id':1,'type':'story','time':5,'deleted':true}", true},
    {"type",
     "{'id':1,'type':'job','by':'ann','time':5,'title':'One','text':'words','score':3,"
     "'descendants':2,'kids':[11,12]}",
     true},
};

/* The kids of item 1 as the JSON has them, in its order. */
static const char *kids_of(const char *json) {
    static char out[64];
    const char *at = strstr(json, "'kids':[");
    out[0] = '\0';
    if (!at)
        return out;
    at += strlen("'kids':[");
    size_t n = strcspn(at, "]");
    memcpy(out, at, n);
    out[n] = '\0';
    for (char *p = out; *p; p++)
        if (*p == ',')
            *p = ' ';
    return out;
}

static void check_change(struct fix *f, size_t i, enum revisions keep) {
    bool revised = keep == REVISIONS_ALL || (keep == REVISIONS_CONTENT && changes[i].content);
    struct apply_stats st = store_item(f, T0 + 10, changes[i].json);
    assert_counts(st, 0, 1, 0, 0);
    assert_int_equal(st.revisions, revised);
    assert_int_equal(qi(f, "SELECT COUNT(*) FROM item_revisions"), revised);
    assert_q(kids_of(changes[i].json), f,
             "SELECT kid FROM kids WHERE item = 1 ORDER BY display_order");
    assert_int_equal(qi(f, "SELECT last_changed_at FROM items"), T0 + 10);
    assert_int_equal(qi(f, "SELECT first_seen_at FROM items"), T0);
}

static void every_change(struct fix *f, enum revisions keep) {
    f->s->revisions = keep;
    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        x(f, "DELETE FROM items");
        x(f, "DELETE FROM kids");
        x(f, "DELETE FROM item_revisions");
        store_item(f, T0, base);
        check_change(f, i, keep);
        struct apply_stats again = store_item(f, T0 + 20, changes[i].json);
        assert_counts(again, 0, 0, 1, 0);
    }
}

static void changes_with_all_revisions(void **state) {
    every_change(*state, REVISIONS_ALL);
}

static void changes_with_revisions_of_content(void **state) {
    every_change(*state, REVISIONS_CONTENT);
}

static void changes_without_revisions(void **state) {
    every_change(*state, REVISIONS_NONE);
}

static void deleted_item_keeps_its_words_in_a_revision(void **state) {
    struct fix *f = *state;
    store_item(f, T0, base);
    int64_t hash = qi(f, "SELECT content_hash FROM items");
    store_item(f, T0 + 9, "{'id':1,'type':'story','time':5,'deleted':true}");
    assert_q("1|-|-", f, "SELECT deleted, by, text FROM items");
    assert_q("1|0|story|ann|5|words|0|3|One|2", f,
             "SELECT item_id, deleted, type, by, time, text, dead, score, title, descendants "
             "FROM item_revisions");
    assert_int_equal(qi(f, "SELECT content_hash FROM item_revisions"), hash);
    assert_int_equal(qi(f, "SELECT fetched_at FROM item_revisions"), T0);
    assert_int_equal(qi(f, "SELECT replaced_at FROM item_revisions"), T0 + 9);
}

static void each_change_has_its_revision(void **state) {
    struct fix *f = *state;
    for (int i = 0; i < 4; i++) {
        char json[80];
        snprintf(json, sizeof json, "{'id':1,'type':'comment','text':'version%d'}", i);
        store_item(f, T0 + i, json);
    }
    assert_q("version0 version1 version2", f,
             "SELECT text FROM item_revisions ORDER BY revision_id");
}

static void kids_of_one_item_leave_others_alone(void **state) {
    struct fix *f = *state;
    struct batch *b = wide_batch(f);
    put_item(b, T0, "{'id':1,'type':'story','kids':[11,12,13]}");
    put_item(b, T0, "{'id':2,'type':'story','kids':[21,22]}");
    put_item(b, T0, "{'id':3,'type':'story','kids':[31]}");
    assert_int_equal(apply_ok(f->s, b).kids, 6);
    b = wide_batch(f);
    put_item(b, T0 + 1, "{'id':1,'type':'story','kids':[13,14,11]}");
    put_item(b, T0 + 1, "{'id':2,'type':'story','kids':[21,22]}");
    put_item(b, T0 + 1, "{'id':3,'type':'story','score':9,'kids':[31]}");
    struct apply_stats st = apply_ok(f->s, b);
    assert_counts(st, 0, 2, 1, 0);
    assert_int_equal(st.kids, 3);
    assert_q("1|13|0 1|14|1 1|11|2 2|21|0 2|22|1 3|31|0", f,
             "SELECT item, kid, display_order FROM kids ORDER BY item, display_order");
}

static void kids_appear_on_an_item_that_had_none(void **state) {
    struct fix *f = *state;
    store_item(f, T0, "{'id':1,'type':'story'}");
    assert_int_equal(qi(f, "SELECT kids_hash FROM items"), 0);
    assert_int_equal(store_item(f, T0 + 1, "{'id':1,'type':'story','kids':[5]}").kids, 1);
    assert_q("1|5|0", f, "SELECT item, kid, display_order FROM kids");
}

static void a_changed_url_changes_what_is_derived(void **state) {
    struct fix *f = *state;
    store_item(f, T0, "{'id':1,'type':'story','url':'https://www.example.com/a?utm_source=x'}");
    const char *key = q(f, "SELECT url_key FROM items");
    assert_q("example.com", f, "SELECT domain FROM items");
    store_item(f, T0 + 1, "{'id':1,'type':'story','url':'https://other.org/b'}");
    assert_q("other.org", f, "SELECT domain FROM items");
    assert_string_not_equal(key, q(f, "SELECT url_key FROM items"));
    store_item(f, T0 + 2, "{'id':1,'type':'story'}");
    assert_q("-|-|-", f, "SELECT url, url_key, domain FROM items");
}

int change_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(changes_with_all_revisions),
        CASE(changes_with_revisions_of_content),
        CASE(changes_without_revisions),
        CASE(deleted_item_keeps_its_words_in_a_revision),
        CASE(each_change_has_its_revision),
        CASE(kids_of_one_item_leave_others_alone),
        CASE(kids_appear_on_an_item_that_had_none),
        CASE(a_changed_url_changes_what_is_derived),
    };
    return cmocka_run_group_tests_name("changes", tests, NULL, NULL);
}
