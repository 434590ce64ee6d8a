/* Links as JSON: the documented shape, to the letter. */
#include "web/link_json.h"

#include "db/db.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void processing_is(const struct link_processing *p, const char *expected) {
    struct strbuf out;
    strbuf_init(&out, 4096);
    link_json_processing(&out, p);
    assert_string_equal(out.p, expected);
    strbuf_release(&out);
}

static void the_documented_shape(void **state UNUSED) {
    struct link_processing p = {.link_id = 7};
    for (int t = 0; t < LINK_TASKS; t++)
        p.tasks[t].status = LINK_PENDING;
    p.tasks[LINK_REVERSE].status = LINK_NONE;
    processing_is(&p, "{\"reddit\":{\"status\":\"pending\",\"checked_at\":null},"
                      "\"hn\":{\"status\":\"pending\",\"checked_at\":null},"
                      "\"summary\":{\"status\":\"pending\",\"generated_at\":null},"
                      "\"reverse_lookup\":{\"status\":null,\"target_id\":null}}");
    p.tasks[LINK_REDDIT].status = LINK_COMPLETED;
    p.tasks[LINK_REDDIT].at = INT64_C(1794810907999);
    p.tasks[LINK_HN].status = LINK_NOT_FOUND;
    p.tasks[LINK_HN].at = INT64_C(1794810907000);
    p.tasks[LINK_SUMMARY].status = LINK_SKIPPED;
    p.tasks[LINK_SUMMARY].error = STR("no key");
    p.tasks[LINK_REVERSE].status = LINK_COMPLETED;
    p.target_id = 9;
    processing_is(&p, "{\"reddit\":{\"status\":\"completed\","
                      "\"checked_at\":\"2026-11-16T06:35:07Z\"},"
                      "\"hn\":{\"status\":\"not_found\",\"checked_at\":\"2026-11-16T06:35:07Z\"},"
                      "\"summary\":{\"status\":\"skipped\",\"generated_at\":null},"
                      "\"reverse_lookup\":{\"status\":\"completed\",\"target_id\":9}}");
    p.tasks[LINK_SUMMARY].status = LINK_FAILED;
    p.tasks[LINK_REVERSE].status = LINK_FAILED;
    p.target_id = 0;
    processing_is(&p, "{\"reddit\":{\"status\":\"completed\","
                      "\"checked_at\":\"2026-11-16T06:35:07Z\"},"
                      "\"hn\":{\"status\":\"not_found\",\"checked_at\":\"2026-11-16T06:35:07Z\"},"
                      "\"summary\":{\"status\":\"failed\",\"generated_at\":null},"
                      "\"reverse_lookup\":{\"status\":\"failed\",\"target_id\":null}}");
}

static void known_is(const struct link_known *k, const char *expected) {
    struct strbuf out;
    strbuf_init(&out, 8192);
    link_json_known(&out, k);
    assert_string_equal(out.p, expected);
    strbuf_release(&out);
}

static void what_is_known_of_a_url(void **state UNUSED) {
    struct link_known k = {.url = STR("http://A.example/\"x\""), .key = STR("a.example/x")};
    known_is(&k, "{\"url\":\"http://A.example/\\\"x\\\"\",\"key\":\"a.example/x\",\"found\":false,"
                 "\"id\":null,\"link\":null,\"processing\":null,\"discussions\":[]}");
    const struct link link = {.id = 7,
                              .url = STR("https://a.example/x"),
                              .title = STR("A <b>title</b>"),
                              .source = STR("web"),
                              .submitted_by = STR("someone"),
                              .created_at = INT64_C(1794810907000)};
    const struct link_discussion all[] = {
        {.site = LINK_SITE_REDDIT,
         .external_id = STR("t1"),
         .external_url = STR("https://www.reddit.com/r/c/comments/t1/"),
         .title = STR("T"),
         .subreddit = STR("c"),
         .score = 5,
         .num_comments = 2,
         .external_created_at = INT64_C(1794810907000)},
        {.site = LINK_SITE_HN,
         .external_id = STR("8"),
         .external_url = STR("https://news.ycombinator.com/item?id=8"),
         .score = DB_NULL,
         .num_comments = DB_NULL},
    };
    k.link = &link;
    k.discussions = all;
    k.n_discussions = 2;
    known_is(&k,
             "{\"url\":\"http://A.example/\\\"x\\\"\",\"key\":\"a.example/x\",\"found\":true,"
             "\"id\":7,\"link\":{\"id\":7,\"url\":\"https://a.example/x\","
             "\"title\":\"A <b>title</b>\",\"description\":null,\"summary\":null,"
             "\"source\":\"web\",\"parent_id\":null,\"created_at\":\"2026-11-16T06:35:07Z\"},"
             "\"processing\":null,\"discussions\":[{\"platform\":\"reddit\",\"external_id\":\"t1\","
             "\"url\":\"https://www.reddit.com/r/c/comments/t1/\",\"title\":\"T\",\"score\":5,"
             "\"num_comments\":2,\"subreddit\":\"c\",\"created_at\":\"2026-11-16T06:35:07Z\"},"
             "{\"platform\":\"hackernews\",\"external_id\":\"8\","
             "\"url\":\"https://news.ycombinator.com/item?id=8\",\"title\":null,\"score\":null,"
             "\"num_comments\":null,\"subreddit\":null,\"created_at\":null}]}");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_documented_shape),
        cmocka_unit_test(what_is_known_of_a_url),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
