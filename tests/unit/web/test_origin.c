/* Which browsers' posts are from our own pages. */
#include "web/origin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct row {
    const char *site, *origin, *host;
    bool may;
} rows[] = {
    {NULL, NULL, "localhost:8080", true}, /* no browser */
    {NULL, NULL, NULL, true},
    {"same-origin", "http://localhost:8080", "localhost:8080", true},
    {"same-origin", "null", "localhost:8080", true}, /* a policy of a page may hide it */
    {"none", NULL, "localhost:8080", true},
    {"cross-site", "http://localhost:8080", "localhost:8080", false},
    {"same-site", "http://localhost:3000", "localhost:8080", false},
    {"", NULL, "localhost:8080", false},
    {NULL, "http://localhost:8080", "localhost:8080", true},
    {NULL, "https://News.Example", "news.example", true},
    {NULL, "https://news.example:8443", "news.example", true}, /* a proxy dropped the port */
    {NULL, "http://localhost:3000", "localhost:8080", false},
    {NULL, "http://localhost", "localhost:8080", false},
    {NULL, "https://evil.example", "news.example", false},
    {NULL, "https://news.example.evil.example", "news.example", false},
    {NULL, "https://evilnews.example", "news.example", false},
    {NULL, "null", "news.example", false},
    {NULL, "", "news.example", false},
    {NULL, "http://", "news.example", false},
    {NULL, "ftp://news.example", "news.example", false},
    {NULL, "moz-extension://news.example", "news.example", false},
    {NULL, "http://[::1]:8080", "[::1]:8080", true},
    {NULL, "http://[::1]:8080", "[::1]", true},
    {NULL, "http://[::1]", "[::1]:8080", false},
    {NULL, "http://[::2]:8080", "[::1]:8080", false},
    {NULL, "http://a", NULL, false},
};

static void pages_of_others_may_not(void **state UNUSED) {
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct row *r = &rows[i];
        if (origin_is_ours(str_of(r->site), str_of(r->origin), str_of(r->host)) != r->may)
            fail_msg("%s %s %s", r->site ? r->site : "-", r->origin ? r->origin : "-",
                     r->host ? r->host : "-");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(pages_of_others_may_not)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
