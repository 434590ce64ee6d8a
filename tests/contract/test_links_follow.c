/* Stories that become links by way of the change feed, what the archive knows of discussions on HN,
 * and keys that older rules made. Each store is a process. */
#include "fixture_links.h"

#include "hn/url_key.h"
#include "store/feed.h"
#include "store/links_follow.h"
#include "store/live.h"

#define DAY INT64_C(86400000)

/* A story as the live stream brings it. */
static void story(struct fix *f, int64_t id, const char *more) {
    char json[400];
    snprintf(json, sizeof json,
             "{'id':%lld,'type':'story','by':'ann','time':%lld,'title':'S%lld'%s}", (long long)id,
             (long long)(clock_real(&f->clock) / 1000), (long long)id, more);
    struct batch *b = live_batch(f);
    put_item(b, clock_real(&f->clock), json);
    apply_live_ok(f, b);
}

static void page(struct fix *f, int64_t id, int score) {
    char more[120];
    snprintf(more, sizeof more, ",'url':'https://example.com/%lld','score':%d", (long long)id,
             score);
    story(f, id, more);
}

/* Until there is nothing left to do; how many links were made. */
static size_t follow_by(struct store *s, enum link_follow which, bool *ret_gap) {
    struct link_followed done;
    struct err e = {0};
    size_t made = 0;
    int steps = 0;
    do {
        assert_ok(store_link_follow(s, which, &done, &e));
        made += done.made;
        if (ret_gap)
            *ret_gap = *ret_gap || done.gap;
        assert_true(++steps < 100);
    } while (done.more);
    return made;
}

static size_t follow(struct fix *f, enum link_follow which) {
    return follow_by(f->s, which, NULL);
}

#define links_of(f) q(f, "SELECT url FROM links ORDER BY url")

static void follow_from_now_on(void **state) {
    struct fix *f = *state;
    be_updater(f);
    page(f, 1, 1);
    assert_int_equal(follow(f, LINK_FOLLOW_NONE), 0);
    assert_int_equal(qi(f, "SELECT COUNT(*) FROM link_feed"), 0);
    assert_int_equal(follow(f, LINK_FOLLOW_ALL), 0); /* it was there before */
    page(f, 2, 1);
    page(f, 3, 1);
    story(f, 4, "");                               /* Ask HN */
    story(f, 5, ",'url':'https://example.com/2'"); /* the same page again */
    story(f, 6, ",'url':'https://example.com/6','dead':true");
    story(f, 7, ",'url':'nonsense'");
    assert_int_equal(follow(f, LINK_FOLLOW_ALL), 2);
    assert_string_equal(links_of(f), "https://example.com/2 https://example.com/3");
    assert_q("hn-story|auto|S2|pending|pending|pending", f,
             "SELECT l.source, l.submitted_by, l.title, p.reddit_status, p.hn_status, "
             "p.summary_status FROM links l JOIN link_processing p ON p.link_id = l.id "
             "WHERE l.url = 'https://example.com/2'");
    assert_int_equal(follow(f, LINK_FOLLOW_ALL), 0);
    page(f, 1, 9); /* it changes: then it is told of, too */
    assert_int_equal(follow(f, LINK_FOLLOW_ALL), 1);
}

/* What nobody waits for and nobody asked for comes last. */
static void follow_behind_what_is_asked_for(void **state) {
    struct fix *f = *state;
    be_updater(f);
    follow(f, LINK_FOLLOW_ALL);
    page(f, 2, 1);
    assert_int_equal(follow(f, LINK_FOLLOW_ALL), 1);
    fix_advance(f, 1000);
    int64_t asked = add_page(f, "asked", "ann", false), waits = add_page(f, "waits", NULL, true);
    assert_int_equal(next_link(f, LINK_LANE_REDDIT), waits);
    assert_int_equal(next_link(f, LINK_LANE_REDDIT), asked);
    assert_int_equal(next_link(f, LINK_LANE_REDDIT),
                     qi(f, "SELECT id FROM links WHERE source = 'hn-story'"));
}

/* One goes on where another stopped; none does what was done. */
static void follow_by_several(void **state) {
    struct fix *f = *state;
    struct store *other = fix_open(f);
    be_updater(f);
    assert_int_equal(follow(f, LINK_FOLLOW_ALL), 0);
    page(f, 1, 1);
    page(f, 2, 1);
    assert_int_equal(follow_by(other, LINK_FOLLOW_ALL, NULL), 2);
    assert_int_equal(follow(f, LINK_FOLLOW_ALL), 0);
    page(f, 3, 1);
    page(f, 4, 60);
    struct store *third = fix_open(f); /* after a restart, say */
    assert_int_equal(follow_by(third, LINK_FOLLOW_ALL, NULL), 2);
    x(f, "DELETE FROM links");
    /* other stories have another place in the feed, which begins with now */
    assert_int_equal(follow_by(other, LINK_FOLLOW_FRONT, NULL), 0);
    assert_q("all front", f, "SELECT name FROM link_feed ORDER BY name");
}

static void follow_many_pages(void **state) {
    struct fix *f = *state;
    be_updater(f);
    follow(f, LINK_FOLLOW_ALL);
    struct batch *b = live_batch(f);
    for (int i = 1; i <= 700; i++) {
        char json[200];
        snprintf(
            json, sizeof json,
            "{'id':%d,'type':'%s','by':'ann','time':1700000000,'url':'https://example.com/%d'}", i,
            i % 2 ? "story" : "job", i);
        put_item(b, T0, json);
    }
    apply_live_ok(f, b);
    assert_int_equal(follow(f, LINK_FOLLOW_ALL), 350);
}

static void follow_the_front(void **state) {
    struct fix *f = *state;
    struct err e = {0};
    int64_t ids[40];
    bool changed;
    be_updater(f);
    for (int i = 1; i <= 40; i++) {
        page(f, i, 3);
        ids[i - 1] = i;
    }
    assert_int_equal(follow(f, LINK_FOLLOW_FRONT), 0);
    page(f, 41, LINK_FRONT_SCORE - 1);
    page(f, 42, LINK_FRONT_SCORE);
    assert_int_equal(follow(f, LINK_FOLLOW_FRONT), 1);
    page(f, 41, LINK_FRONT_SCORE);
    assert_int_equal(follow(f, LINK_FOLLOW_FRONT), 1);
    assert_ok(store_put_list(f->s, "new", ids, 40, T0, &changed, &e));
    assert_int_equal(follow(f, LINK_FOLLOW_FRONT), 0);
    assert_ok(store_put_list(f->s, "top", ids, 40, T0, &changed, &e));
    assert_int_equal(follow(f, LINK_FOLLOW_FRONT), LINK_FRONT_PAGE);
    assert_int_equal(follow(f, LINK_FOLLOW_FRONT), 0);
    fix_advance(f, 60000);
    ids[0] = 40; /* in the place of the first */
    assert_ok(store_put_list(f->s, "top", ids, 40, T0 + 60000, &changed, &e));
    assert_int_equal(follow(f, LINK_FOLLOW_FRONT), 1);
}

/* Two days later. Where whole partitions go (of five positions) the last of them stays, and with it
 * what others wrote meanwhile. */
static void prune_what_there_is(struct fix *f) {
    struct err e = {0};
    int64_t n;
    size_t numbered;
    for (int i = 0; i < 5; i++)
        log_changes(f, 100, 1, clock_real(&f->clock));
    assert_ok(store_feed_publish(f->s, 100, &numbered, &e));
    fix_advance(f, 2 * DAY);
    do
        assert_ok(store_feed_prune(f->s, 9999 * DAY, 0, &n, &e));
    while (n);
}

/* The log was pruned beyond where we stood: the archive is read. */
static void follow_over_a_gap(void **state) {
    struct fix *f = *state;
    bool gap = false;
    be_updater(f);
    for (int i = 1; i <= 5; i++)
        page(f, i, 1);
    fix_advance(f, 10 * DAY);
    assert_int_equal(follow_by(f->s, LINK_FOLLOW_ALL, &gap), 0);
    assert_false(gap);
    fix_advance(f, 3600000);
    page(f, 6000, 1);
    page(f, 6001, 60);
    story(f, 6002, "");
    /* history that comes meanwhile is none of it, though it is new here */
    store_item(f, T0 + 10 * DAY + 3600000,
               "{'id':500,'type':'story','time':1500000000,'url':'https://example.com/500'}");
    prune_what_there_is(f);
    page(f, 6003, 1);
    assert_int_equal(follow_by(f->s, LINK_FOLLOW_ALL, &gap), 3);
    assert_true(gap);
    assert_string_equal(
        links_of(f), "https://example.com/6000 https://example.com/6001 https://example.com/6003");
    assert_int_equal(qi(f, "SELECT COUNT(*) FROM link_feed WHERE scan_below IS NOT NULL"), 0);
    gap = false;
    assert_int_equal(follow_by(f->s, LINK_FOLLOW_ALL, &gap), 0);
    assert_false(gap);
}

/* Whoever was away for long makes up for a week and no more. */
static void follow_after_a_long_time(void **state) {
    struct fix *f = *state;
    bool gap = false;
    be_updater(f);
    follow(f, LINK_FOLLOW_ALL);
    page(f, 1, 1);
    fix_advance(f, 30 * DAY);
    page(f, 2, 1);
    prune_what_there_is(f);
    assert_int_equal(follow_by(f->s, LINK_FOLLOW_ALL, &gap), 1);
    assert_true(gap);
    assert_string_equal(links_of(f), "https://example.com/2");
}

/* A life of the database is lost, or the log could not log. */
static void follow_over_lost_changes(void **state) {
    struct fix *f = *state;
    struct err e = {0};
    bool gap = false;
    int64_t epoch;
    be_updater(f);
    follow(f, LINK_FOLLOW_ALL);
    page(f, 1, 1);
    assert_int_equal(follow(f, LINK_FOLLOW_ALL), 1);
    x(f, "UPDATE link_feed SET pos = pos + 1000"); /* as if it had been restored */
    fix_advance(f, 2000);
    assert_ok(store_feed_new_epoch(f->s, &epoch, &e));
    page(f, 2, 1);
    assert_int_equal(follow_by(f->s, LINK_FOLLOW_ALL, &gap), 1);
    assert_true(gap);
    gap = false;
    x(f, "DELETE FROM links");
    log_changes(f, 1, 1, T0); /* an insert of id 1 */
    if (fix_kind == DB_POSTGRES)
        x(f, "UPDATE change_log SET action = 'resync', keys = ARRAY[NULL] WHERE pos IS NULL");
    else
        x(f, "UPDATE change_log SET action = 'resync', key = NULL WHERE rowid = "
             "(SELECT MAX(rowid) FROM change_log)");
    assert_int_equal(follow_by(f->s, LINK_FOLLOW_ALL, &gap), 2);
    assert_true(gap);
}

/* --- the archive's word on a discussion --- */

static const char *story_of(struct fix *f, int64_t item) {
    static char text[300];
    enum link_item known;
    struct link_story st = {0};
    struct err e = {0};
    assert_ok(store_link_hn_item(f->s, &f->arena, item, &known, &st, &e));
    if (known == LINK_ITEM_UNKNOWN)
        return "unknown";
    snprintf(text, sizeof text, "%.*s %.*s %lld %lld", STR_FMT(st.thread.external_id),
             (int)(st.url.p ? st.url.n : 1), st.url.p ? st.url.p : "-", (long long)st.thread.score,
             (long long)st.thread.num_comments);
    return text;
}

static void put_thread(struct fix *f) {
    static const char *const items[] = {
        ("{'id':10,'type':'story','time':1,'title':'A','url':'https://example.com/a','score':7,"
         "'descendants':2}"),
        "{'id':11,'type':'comment','time':2,'parent':10}",
        "{'id':12,'type':'comment','time':3,'parent':11}",
        "{'id':13,'type':'comment','time':3,'parent':10,'dead':true}",
        "{'id':14,'type':'comment','time':3,'parent':10,'deleted':true}",
        "{'id':20,'type':'story','time':4,'title':'Ask HN: B','text':'?','score':1}",
        "{'id':21,'type':'comment','time':5,'parent':20}",
        "{'id':30,'type':'story','time':6,'url':'https://example.com/d','dead':true}",
        "{'id':31,'type':'comment','time':7,'parent':30}",
        "{'id':41,'type':'comment','time':8,'parent':40}", /* 40 is not here */
        "{'id':50,'type':'poll','time':9,'title':'C','parts':[51],'score':2}",
        "{'id':51,'type':'pollopt','time':9,'poll':50,'score':3}",
        "{'id':60,'type':'job','time':9,'title':'D','url':'https://example.com/job','score':1}"};
    for (size_t i = 0; i < ARRAY_LEN(items); i++)
        store_item(f, T0, items[i]);
}

static void follow_an_item_to_its_story(void **state) {
    struct fix *f = *state;
    put_thread(f);
    assert_string_equal(story_of(f, 10), "10 https://example.com/a 7 2");
    assert_string_equal(story_of(f, 11), "10 https://example.com/a 7 2");
    assert_string_equal(story_of(f, 12), "10 https://example.com/a 7 2");
    x(f, "UPDATE items SET story_id = NULL WHERE id IN (11, 12)");
    assert_string_equal(story_of(f, 12), "10 https://example.com/a 7 2");
    assert_string_equal(story_of(f, 13), "unknown");
    assert_string_equal(story_of(f, 14), "unknown");
    assert_memory_equal(story_of(f, 20), "20 - 1", 6);
    assert_memory_equal(story_of(f, 21), "20 - 1", 6);
    assert_string_equal(story_of(f, 30), "unknown");
    assert_string_equal(story_of(f, 31), "unknown");
    assert_string_equal(story_of(f, 41), "unknown");
    assert_string_equal(story_of(f, 99), "unknown");
    assert_memory_equal(story_of(f, 51), "50 - 2", 6);
    assert_memory_equal(story_of(f, 60), "60 https://example.com/job", 26);
}

static int64_t take_known(struct fix *f, struct store *s) {
    struct link_job job = {0};
    struct err e = {0};
    enum verdict v = store_link_take_known(s, STR("me"), LEASE_OF_LINKS, &f->arena, &job, &e);
    assert_true(v == V_OK || v == V_NOT_FOUND);
    assert_true(v != V_OK || (job.task == LINK_REVERSE && job.site == LINK_SITE_HN));
    return v == V_OK ? job.id : 0;
}

static void follow_takes_what_is_known(void **state) {
    struct fix *f = *state;
    static const struct {
        const char *item;
        bool known;
    } asked[] = {{"10", true},  {"12", true},  {"13", false}, {"21", true},
                 {"31", false}, {"41", false}, {"51", true},  {"123456789012345", false}};
    int64_t ids[ARRAY_LEN(asked)];
    put_thread(f);
    add_page(f, "page", "ann", true);
    add_link(f, "https://redd.it/abc", "ann", true);
    for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
        char url[80];
        snprintf(url, sizeof url, "https://news.ycombinator.com/item?id=%s", asked[i].item);
        fix_advance(f, 1000);
        ids[i] = add_link(f, url, "ann", false);
    }
    for (size_t i = ARRAY_LEN(asked); i-- > 0;) /* the latest first */
        if (asked[i].known)
            assert_int_equal(take_known(f, i % 2 ? f->s : fix_open(f)), ids[i]);
    assert_int_equal(take_known(f, f->s), 0);
    assert_int_equal(qi(f, "SELECT COUNT(*) FROM link_turns"), 0);
    assert_int_equal(qi(f, "SELECT COUNT(*) FROM claims WHERE state = 'held'"), 4);
}

/* --- keys --- */

static void follow_keys_are_made_anew(void **state) {
    struct fix *f = *state;
    struct err e = {0};
    struct item_keys keys;
    const struct link_discussion *found;
    size_t n;
    bool complete;
    assert_ok(store_items_rekey(f->s, &keys, &e));
    assert_true(keys.done); /* a new archive */
    put_thread(f);
    for (int i = 0; i < 50; i++) {
        char json[120];
        snprintf(json, sizeof json,
                 "{'id':%d,'type':'story','time':9,'url':'https://example.com/k%d'}",
                 1000 + 900 * i, i);
        store_item(f, T0, json);
    }
    assert_ok(store_note_maxitem(f->s, 60, &e));
    assert_ok(store_lower_floor(f->s, 1, &e));
    assert_ok(store_set_frontier(f->s, 60, 60, &e));
    x(f, "UPDATE items SET url_key = 'old' WHERE id IN (10, 1000, 45100)");
    x(f, "UPDATE item_keys SET version = 1, walking = 1"); /* another program made them */
    assert_ok(
        store_link_hn_local(f->s, &f->arena, STR("example.com/a"), &found, &n, &complete, &e));
    assert_false(complete);
    struct store *other = fix_open(f);
    size_t changed = 0;
    int steps = 0;
    do {
        assert_ok(store_items_rekey(++steps % 2 ? f->s : other, &keys, &e));
        changed += keys.changed;
        assert_true(steps < 100);
        assert_true(keys.next <= keys.last);
    } while (!keys.done);
    assert_int_equal(changed, 3);
    assert_int_equal(qi(f, "SELECT COUNT(*) FROM items WHERE url_key = 'old'"), 0);
    assert_int_equal(qi(f, "SELECT version FROM item_keys"), URL_KEY_VERSION);
    assert_ok(
        store_link_hn_local(f->s, &f->arena, STR("example.com/a"), &found, &n, &complete, &e));
    assert_true(complete);
    assert_int_equal(n, 1);
}

/* An item that changed while it was looked at keeps what its own writer made of it. */
static void follow_keys_of_a_change(void **state) {
    struct fix *f = *state;
    struct err e = {0};
    struct item_keys keys;
    put_thread(f);
    x(f, "UPDATE items SET url_key = 'old' WHERE id = 10");
    x(f, "UPDATE item_keys SET version = 1, walking = %d, next_id = 0, last_id = 60",
      URL_KEY_VERSION);
    assert_ok(store_items_rekey(f->s, &keys, &e));
    assert_int_equal(keys.changed, 1);
    x(f, "UPDATE items SET url_key = 'later' WHERE id = 10");
    assert_ok(store_items_rekey(f->s, &keys, &e)); /* nothing is left behind */
    assert_true(keys.done);
    assert_int_equal(keys.changed, 0);
    assert_ok(store_items_rekey(f->s, &keys, &e));
    assert_q("later", f, "SELECT url_key FROM items WHERE id = 10");
}

int link_follow_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(follow_from_now_on),
        CASE(follow_behind_what_is_asked_for),
        CASE(follow_by_several),
        WIDE_CASE(follow_many_pages),
        CASE(follow_the_front),
        CASE(follow_over_a_gap),
        CASE(follow_after_a_long_time),
        CASE(follow_over_lost_changes),
        CASE(follow_an_item_to_its_story),
        CASE(follow_takes_what_is_known),
        CASE(follow_keys_are_made_anew),
        CASE(follow_keys_of_a_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
