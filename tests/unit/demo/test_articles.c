/* Articles and stories of the made-up site name each other. */
#include "demo/articles.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_IDS 5000
#define PORT 8099

static struct corpus *make(void) {
    struct corpus_options o = {.seed = 7, .maxitem = N_IDS};
    struct corpus *c = NULL;
    struct err e;
    assert_int_equal(corpus_new(&o, &c, &e), V_OK);
    corpus_set_sites(c, PORT);
    return c;
}

static bool is_among(const int64_t *ids, size_t n, int64_t id) {
    for (size_t i = 0; i < n; i++)
        if (ids[i] == id)
            return true;
    return false;
}

static void url_of_item(const struct corpus *c, int64_t id, char *out, size_t size) {
    struct strbuf b;
    strbuf_init(&b, CORPUS_ITEM_MAX);
    corpus_item(c, id, &b);
    const char *url = memmem(b.p, b.n, "\"url\":\"", 7);
    snprintf(out, size, "%.*s", url ? (int)strcspn(url + 7, "\"") : 0, url ? url + 7 : "");
    strbuf_release(&b);
}

static void test_stories(void **state) {
    (void)state;
    struct corpus *c = make();
    int64_t ids[ARTICLE_STORIES_MAX];
    int n = 0, popular = 0;
    for (int64_t id = 1; id <= N_IDS; id++) {
        char url[ARTICLE_URL_MAX];
        int64_t article = article_of_story(c, id);
        if (!article)
            continue;
        url_of_item(c, id, url, sizeof url);
        assert_int_equal(article_of_url(str_of(url)), article);
        size_t found = article_stories(c, article, ids);
        assert_true(is_among(ids, found, id));
        n++;
        popular += found > 1;
    }
    assert_true(n > 200);
    assert_true(popular > 0);
    corpus_free(c);
}

static void test_urls(void **state) {
    (void)state;
    struct corpus *c = make();
    struct strbuf b;
    strbuf_init(&b, ARTICLE_URL_MAX);
    for (int64_t number = 1; number <= 300; number++) {
        strbuf_clear(&b);
        article_url(c, number, &b);
        assert_int_equal(article_of_url(strbuf_str(&b)), number);
    }
    assert_int_equal(article_of_url(STR("http://lab.localhost:8099/a-17?utm_source=99#5")), 17);
    assert_int_equal(article_of_url(STR("lab.localhost:8099/a-17")), 17);
    assert_int_equal(article_of_url(STR("http://lab.example/a-17")), 0);
    assert_int_equal(article_of_url(STR("http://lab.localhost:8099/a-")), 0);
    assert_int_equal(article_of_url(STR("http://lab.localhost:8099/a-500")), 0);
    assert_int_equal(article_of_url(STR("http://lab.localhost:8099")), 0);
    assert_int_equal(article_of_url(STR("http://lab.localhost:8099/99999999999999999999")), 0);
    assert_int_equal(article_of_url(STR_NONE), 0);
    strbuf_release(&b);
    corpus_free(c);
}

static void test_pages(void **state) {
    (void)state;
    struct corpus *c = make();
    for (int64_t number = 1; number <= 300; number++) {
        struct strbuf title, page;
        strbuf_init(&title, 1024);
        strbuf_init(&page, ARTICLE_PAGE_MAX);
        article_title(c, number, &title);
        article_page(c, number, &page);
        assert_true(title.n > 0 && !page.overflow);
        assert_true(page.n > 1000);
        assert_non_null(memmem(page.p, page.n, "</html>", 7));
        strbuf_release(&title);
        strbuf_release(&page);
    }
    corpus_free(c);
}

/* Without sites nothing of a corpus changes. */
static void test_without_sites(void **state) {
    (void)state;
    struct corpus *c = make();
    char url[ARTICLE_URL_MAX];
    corpus_set_sites(c, 0);
    for (int64_t id = 1; id <= 500; id++) {
        url_of_item(c, id, url, sizeof url);
        assert_null(strstr(url, "localhost"));
    }
    corpus_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stories),
        cmocka_unit_test(test_urls),
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_without_sites),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
