/* Passwords in addresses are found, however carelessly they are written, and never shown. */
#include "base/attr.h"
#include "db/secret.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct password_case {
    const char *text, *redacted; /* the same text: there is no password */
};

static void passwords(void **state UNUSED) {

    static const struct password_case cases[] = {
        {"sqlite:me:hush@x", "sqlite:me:hush@x"},
        {"postgres://host/hn", "postgres://host/hn"},
        {"postgres://me@host/hn", "postgres://me@host/hn"},
        {"postgres://me:@host/hn", "postgres://me:@host/hn"},
        {"postgres://host:5432/hn", "postgres://host:5432/hn"},
        {"postgres://host:5432/h@n", "postgres://host:5432/h@n"},
        {"postgres://[::1]:5432/hn", "postgres://[::1]:5432/hn"},
        {"postgres://a:1,b:2/hn?user=me", "postgres://a:1,b:2/hn?user=me"},
        {"postgres://a:1,b:2/hn?application_name=x@y",
         "postgres://a:1,b:2/hn?application_name=x@y"},
        {"postgres://a:1,b,c:2/hn?application_name=x@y",
         "postgres://a:1,b,c:2/hn?application_name=x@y"},
        {"postgres://a:1,[::1]:2?application_name=x@y",
         "postgres://a:1,[::1]:2?application_name=x@y"},
        {"postgres://me@a:1,b:2/hn?target_session_attrs=read-write",
         "postgres://me@a:1,b:2/hn?target_session_attrs=read-write"},
        {"postgres://me:hush@a:1,b:2/hn?target_session_attrs=read-write",
         "postgres://me:***@a:1,b:2/hn?target_session_attrs=read-write"},
        {"postgres://me:12,34@a,b/hn", "postgres://me:***@a,b/hn"},
        {"postgres://me:12,h:34@a:1,b:2/hn", "postgres://me:***@a:1,b:2/hn"},
        {"postgres://a,b/hn?password=hush", "postgres://a,b/hn?password=***"},
        {"postgres:///hn?user=a:b@c", "postgres:///hn?user=a:b@c"},
        {"postgres://me@h/x?options=password", "postgres://me@h/x?options=password"},
        {"postgres://me:hush@host/hn", "postgres://me:***@host/hn"},
        {"postgresql://me:hush@host:5432/hn", "postgresql://me:***@host:5432/hn"},
        {"postgres://me:hu/sh@host/hn", "postgres://me:***@host/hn"},
        {"postgres://me:hu@sh@host/hn", "postgres://me:***@host/hn"},
        {"postgres://me:hu?sh@host/hn", "postgres://me:***@host/hn"},
        {"postgres://me:hu@sh/sh@host/hn", "postgres://me:***@host/hn"},
        {"postgres://me:hu@sh/sh@host/hn?application_name=a@b",
         "postgres://me:***@host/hn?application_name=a@b"},
        {"postgres://me:hush@host/hn?application_name=a@b",
         "postgres://me:***@host/hn?application_name=a@b"},
        {"postgres://me@host:5432?application_name=a@b",
         "postgres://me@host:5432?application_name=a@b"},
        {"postgres://me@host:5432", "postgres://me@host:5432"},
        {"postgres://me@[::1]:5432/hn", "postgres://me@[::1]:5432/hn"},
        {"postgres://a,[::1]:5432/hn", "postgres://a,[::1]:5432/hn"},
        {"postgres://a:1,b", "postgres://a:1,b"},
        {"postgres://me:hush", "postgres://me:***"},
        {"postgres://me:hush/hn", "postgres://me:***"},
        {"postgres://me:5hush,b:1/hn", "postgres://me:***"},
        {"postgres://me@host:hush", "postgres://me@host:***"},
        {"postgres://[::1", "postgres://[::1"},
        {"postgres://h/x?password=hush", "postgres://h/x?password=***"},
        {"postgres://h/x?a=b&password=hush&c=d", "postgres://h/x?a=b&password=***&c=d"},
        {"postgres://h/x?sslpassword=hush", "postgres://h/x?sslpassword=***"},
        {"postgres://h/x?p%61ssword=hush", "postgres://h/x?p%61ssword=***"},
        {"postgres://h/x?PASSWORD=hush", "postgres://h/x?PASSWORD=***"},
        {"postgres://u:a@h/x?password=b", "postgres://u:***@h/x?password=***"},
        {"host=x password=hush user=me", "host=x password=*** user=me"},
        {"password = 'hu \\'sh' user=me", "password = *** user=me"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct strbuf b;
        strbuf_init(&b, 256);
        secret_redact(cases[i].text, &b);
        if (strcmp(b.p, cases[i].redacted) != 0)
            fail_msg("'%s' became '%s'", cases[i].text, b.p);
        bool expected = strcmp(cases[i].text, cases[i].redacted) != 0;
        if (secret_is_in(cases[i].text) != expected)
            fail_msg("'%s': has a password?", cases[i].text);
        strbuf_release(&b);
    }
}

static void careless_passwords(void **state UNUSED) {
    static const struct {
        const char *uri;
        bool careless;
    } cases[] = {
        {"sqlite:a:b@c@d", false},
        {"postgres://host/hn", false},
        {"postgres://me:hush@host/hn", false},
        {"postgres://me:hu%40sh@host/hn", false},
        {"postgres://me:hu#sh@host/hn", false}, /* libpq takes it as it is */
        {"postgres://me:hu@sh/sh@host/hn", true},
        {"postgres://me:hush@host/hn?application_name=a@b", false},
        {"postgres://me@host:5432/hn?application_name=a@b", false},
        {"postgres://me@host:5432?application_name=a@b", false},
        {"postgres://h/x?password=hu@sh", false},
        {"postgres://me:hu@sh@host/hn", true},
        {"postgres://me:hu/sh@host/hn", true},
        {"postgres://me:hu?sh@host/hn", true},
        {"postgres://me:hu%sh@host/hn", true},
        {"postgres://me:hush%2@host/hn", true},
        {"postgres://h/x?password=hu%sh", true},
        {"postgres://h/x?password=hush&sslpassword=%", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (secret_is_careless(cases[i].uri) != cases[i].careless)
            fail_msg("'%s'", cases[i].uri);
}

static void texts_of_others(void **state UNUSED) {
    static const struct {
        const char *uri, *text, *shown;
    } cases[] = {
        {"postgres://me:hush@[::1/hn", "no ] in \"postgres://me:hush@[::1/hn\"",
         "no ] in \"postgres://me:***@[::1/hn\""},
        {"postgres://me:a%20b@host/hn", "a b, a%20b, ab", "***, ***, ab"},
        {"postgres://me:%4A%4aK@host/hn", "JJK", "***"},
        {"postgres://me:a@host/hn", "a bad address", "a bad address"},
        {"postgres://h/x?password=one&sslpassword=two", "one two one", "*** *** ***"},
        {"postgres://me@host/hn", "me at host", "me at host"},
        {"sqlite:password=x", "x", "x"},
        {"postgres://me:hush@host/hn", "", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(strbuf_release) struct strbuf b;
        strbuf_init(&b, 256);
        strbuf_adds(&b, cases[i].text);
        secret_hide_all(cases[i].uri, &b);
        assert_string_equal(b.p, cases[i].shown);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passwords),
        cmocka_unit_test(careless_passwords),
        cmocka_unit_test(texts_of_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
