/* Addresses as users write them, and whom a request may be addressed to. */
#include "web/address.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void addresses_are_read(void **state UNUSED) {
    static const struct {
        const char *text, *host;
        bool loopback;
    } rows[] = {
        {"127.0.0.1:8080", "127.0.0.1", true},
        {"localhost:0", "127.0.0.1", true},
        {"[::1]:80", "::1", true},
        {"0.0.0.0:65535", "0.0.0.0", false},
        {"192.0.2.7:1", "192.0.2.7", false},
        {"[2001:db8::1]:443", "2001:db8::1", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct sockaddr_storage a;
        struct err e;
        char host[64];
        assert_int_equal(address_parse(rows[i].text, &a, &e), V_OK);
        address_print((struct sockaddr *)&a, host, sizeof host);
        assert_string_equal(host, rows[i].host);
        assert_int_equal(address_is_loopback((struct sockaddr *)&a), rows[i].loopback);
    }
}

static void what_is_none_is_refused(void **state UNUSED) {
    static const char *const rows[] = {
        "",           "8080", "127.0.0.1", "127.0.0.1:",  "here:80",       "1.2.3.4:65536",
        "1.2.3.4:-1", "[::1", "1.2.3:80",  "1.2.3.4:80x", "[1.2.3.4]x:80", "::1:x"};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct sockaddr_storage a;
        struct err e;
        if (address_parse(rows[i], &a, &e) != V_INVALID)
            fail_msg("'%s' was taken", rows[i]);
    }
}

static void hosts(void **state UNUSED) {
    static const char *const names[] = {"hn.example", "192.0.2.7", "2001:db8::1"};
    const struct host_rule rule = {names, ARRAY_LEN(names)}, none = {0};
    static const char *const good[] = {
        "localhost",  "LOCALHOST:80",         "127.0.0.1", "127.9.9.9:1", "[::1]",
        "[::1]:8080", "[::ffff:127.0.0.1]:80"};
    static const char *const named[] = {"hn.example", "HN.Example:443", "192.0.2.7:80",
                                        "[2001:db8::1]:80"};
    static const char *const bad[] = {"",
                                      ":80",
                                      "evil.example",
                                      "localhost.evil.example",
                                      "127.0.0.1.evil.example",
                                      "hn.example.evil",
                                      "xhn.example",
                                      "hn.example@evil",
                                      "0.0.0.0",
                                      "[::]",
                                      "[::1",
                                      "[::1]x",
                                      "[::1]:80@evil",
                                      "localhost:80@evil",
                                      "localhost:80:80",
                                      "[localhost]",
                                      "128.0.0.1",
                                      "0x7f000001",
                                      "2130706433"};
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        assert_true(host_allowed(&none, str_of(good[i])));
    for (size_t i = 0; i < ARRAY_LEN(named); i++) {
        assert_true(host_allowed(&rule, str_of(named[i])));
        assert_false(host_allowed(&none, str_of(named[i])));
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (host_allowed(&rule, str_of(bad[i])))
            fail_msg("'%s' was let in", bad[i]);
    assert_false(host_allowed(&rule, STR_NONE));
}

static void key_is(const char *text, const char *as) {
    unsigned char key[16];
    char hex[33];
    address_key_of_text(str_of(text), key);
    for (int i = 0; i < 16; i++)
        sprintf(hex + 2 * i, "%02x", key[i]);
    if (strcmp(hex, as) != 0)
        fail_msg("%s: %s", text, hex);
}

static void clients_have_keys(void **state UNUSED) {
    key_is("192.0.2.1", "00000000000000000000ffffc0000201");
    key_is("::ffff:192.0.2.1", "00000000000000000000ffffc0000201");
    key_is("2001:db8:1:2:3:4:5:6", "20010db8000100020000000000000000");
    key_is("2001:db8:1:2::9", "20010db8000100020000000000000000");
    key_is("unknown", "00000000000000000000000000000000");
    key_is("", "00000000000000000000000000000000");
    key_is("1111111111111111111111111111111111111111111111111111111111111111111",
           "00000000000000000000000000000000");
}

static void a_port_is_had_once(void **state UNUSED) {
    int fd, other, port;
    struct err e;
    char text[40];
    assert_int_equal(address_listen("127.0.0.1:0", 8, &fd, &port, &e), V_OK);
    assert_in_range(port, 1, 65535);
    snprintf(text, sizeof text, "127.0.0.1:%d", port);
    assert_int_equal(address_listen(text, 8, &other, &port, &e), V_FATAL);
    close(fd);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_read),
        cmocka_unit_test(what_is_none_is_refused),
        cmocka_unit_test(hosts),
        cmocka_unit_test(clients_have_keys),
        cmocka_unit_test(a_port_is_had_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
