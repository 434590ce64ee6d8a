#include "net/url_int.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_flags(void **state) {
    (void)state;
    static const struct {
        const char *url;
        int flags; /* -1: V_INVALID */
        const char *path;
    } rows[] = {
        {"http://example.com/v0/item/1.json", 0, "/v0/item/1.json"},
        {"https://example.com/v0", URL_HTTPS, "/v0"},
        {"HTTPS://example.com/v0", URL_HTTPS, "/v0"},
        {"http://127.0.0.1:80/", URL_LOOPBACK, "/"},
        {"http://127.8.9.10/", URL_LOOPBACK, "/"},
        {"http://128.0.0.1/", 0, "/"},
        {"http://[::1]:8080/a", URL_LOOPBACK, "/a"},
        {"http://[::2]/a", 0, "/a"},
        {"https://localhost/a", URL_HTTPS | URL_LOOPBACK, "/a"},
        {"https://LocalHost./a", URL_HTTPS | URL_LOOPBACK, "/a"},
        {"http://localhost.example.com/a", 0, "/a"},
        {"http://127.0.0.1.example.com/a", 0, "/a"},
        {"http://user:word@127.0.0.1/a", URL_LOOPBACK, "/a"},
        {"http://127.0.0.1@example.com/a", 0, "/a"},
        {"http://example.com", 0, NULL},
        {"http://example.com/a?b", 0, NULL},
        {"http://example.com?b", 0, NULL},
        {"http://example.com/a#b", 0, NULL},
        {"http://example.com/a/../b", 0, NULL},
        {"ftp://example.com/a", -1, NULL},
        {"file:///etc/passwd", -1, NULL},
        {"example.com/a", -1, NULL},
        {"/just/a/path", -1, NULL},
        {"", -1, NULL},
        {"http://", -1, NULL},
        {"http:///a", -1, NULL},
        {"http:/example.com/a", -1, NULL},
        {"http://?a", -1, NULL},
        {"http://example.com:99999/", -1, NULL},
        {"http://example.com/a b", -1, NULL},
        {"http://example.com/a\r\nHost: evil", -1, NULL},
        {"http://example.com/\x7f", -1, NULL},
    };
    struct url_cache shared = {0};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (int again = 0; again < 2; again++) { /* parsed, then remembered */
            struct url_view v = {0};
            struct err e = {0};
            enum verdict got = url_check(&shared, rows[i].url, &v, &e);
            if ((got == V_OK) != (rows[i].flags >= 0))
                print_error("%s: %s\n", rows[i].url, verdict_name(got));
            assert_int_equal(got, rows[i].flags < 0 ? V_INVALID : V_OK);
            if (got != V_OK) {
                assert_int_not_equal(e.msg[0], '\0');
                continue;
            }
            assert_int_equal(v.flags, rows[i].flags);
            assert_int_not_equal(v.origin_id, 0);
            if (rows[i].path)
                assert_string_equal(v.path, rows[i].path);
            else
                assert_null(v.path);
        }
}

static void test_remembers_whole_origins_only(void **state) {
    (void)state;
    struct url_cache cache = {0};
    struct url_view first, v;
    struct err e;
    assert_int_equal(url_check(&cache, "http://127.0.0.1/a", &first, &e), V_OK);
    assert_int_equal(url_check(&cache, "http://127.0.0.1/b", &v, &e), V_OK);
    assert_int_equal(v.origin_id, first.origin_id);
    assert_int_equal(url_check(&cache, "http://127.0.0.1.example.com/a", &v, &e), V_OK);
    assert_int_not_equal(v.origin_id, first.origin_id);
    assert_int_equal(v.flags, 0);
}

static void test_long_urls(void **state) {
    (void)state;
    char url[17000] = "http://";
    struct url_cache cache = {0};
    struct url_view v;
    struct err e;
    memset(url + 7, 'u', 500);
    strcpy(url + 300, ":w@example.com/a"); /* an origin that the cache has no room for */
    assert_int_equal(url_check(&cache, url, &v, &e), V_OK);
    assert_int_equal(v.origin_id, 0);
    assert_null(v.path);
    memset(url, 'a', sizeof url);
    memcpy(url, "http://example.com/", 19);
    url[sizeof url - 1] = '\0';
    assert_int_equal(url_check(&cache, url, &v, &e), V_INVALID);
    url[16384] = '\0';
    assert_int_equal(url_check(&cache, url, &v, &e), V_OK);
}

static void test_same_origin(void **state) {
    (void)state;
    static const struct {
        const char *a, *b;
        bool same;
    } rows[] = {
        {"http://example.com/a", "http://example.com/b?c", true},
        {"http://example.com/a", "http://EXAMPLE.com:80/b", true},
        {"https://example.com/a", "https://example.com:443/b", true},
        {"http://example.com/a", "https://example.com/a", false},
        {"http://example.com/a", "http://example.com:81/a", false},
        {"http://example.com/a", "http://www.example.com/a", false},
        {"http://example.com/a", "http://example.com@evil.com/a", false},
        {"http://example.com/a", "not a url", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CURLU *a = curl_url();
        assert_int_equal(curl_url_set(a, CURLUPART_URL, rows[i].a, 0), CURLUE_OK);
        assert_int_equal(url_same_origin(a, rows[i].b), rows[i].same);
        curl_url_cleanup(a);
    }
}

static void test_show(void **state) {
    (void)state;
    char out[24];
    url_show("http://user:word@example.com/a", out, sizeof out);
    assert_string_equal(out, "http://example.com/a");
    url_show("ftp://example.com/and/a/long/path", out, sizeof out);
    assert_string_equal(out, "ftp://example.com/and/a");
    url_show("::", out, sizeof out);
    assert_string_equal(out, "something that is not a");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flags),     cmocka_unit_test(test_remembers_whole_origins_only),
        cmocka_unit_test(test_long_urls), cmocka_unit_test(test_same_origin),
        cmocka_unit_test(test_show),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
