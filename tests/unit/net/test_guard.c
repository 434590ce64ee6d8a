/* The rules without a network: addresses and their borders, URLs in every disguise, options. */
#include "net/guard_int.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static enum guard_rule rule_of(const char *text) {
    struct sockaddr_in in = {.sin_family = AF_INET};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, text, &in.sin_addr) == 1)
        return guard_address((const struct sockaddr *)&in);
    assert_int_equal(inet_pton(AF_INET6, text, &in6.sin6_addr), 1);
    return guard_address((const struct sockaddr *)&in6);
}

/* First and last address of each range, and the neighbours outside. */
static const struct {
    const char *address;
    enum guard_rule rule;
} addresses[] = {
    {"0.0.0.0", GUARD_THIS_NETWORK},
    {"0.255.255.255", GUARD_THIS_NETWORK},
    {"1.0.0.0", GUARD_FINE},
    {"9.255.255.255", GUARD_FINE},
    {"10.0.0.0", GUARD_PRIVATE},
    {"10.255.255.255", GUARD_PRIVATE},
    {"11.0.0.0", GUARD_FINE},
    {"100.63.255.255", GUARD_FINE},
    {"100.64.0.0", GUARD_SHARED},
    {"100.127.255.255", GUARD_SHARED},
    {"100.128.0.0", GUARD_FINE},
    {"126.255.255.255", GUARD_FINE},
    {"127.0.0.0", GUARD_LOOPBACK},
    {"127.0.0.1", GUARD_LOOPBACK},
    {"127.255.255.255", GUARD_LOOPBACK},
    {"128.0.0.0", GUARD_FINE},
    {"168.63.129.15", GUARD_FINE},
    {"168.63.129.16", GUARD_CLOUD},
    {"168.63.129.17", GUARD_FINE},
    {"169.253.255.255", GUARD_FINE},
    {"169.254.0.0", GUARD_LINK_LOCAL},
    {"169.254.169.254", GUARD_LINK_LOCAL},
    {"169.254.255.255", GUARD_LINK_LOCAL},
    {"169.255.0.0", GUARD_FINE},
    {"172.15.255.255", GUARD_FINE},
    {"172.16.0.0", GUARD_PRIVATE},
    {"172.31.255.255", GUARD_PRIVATE},
    {"172.32.0.0", GUARD_FINE},
    {"191.255.255.255", GUARD_FINE},
    {"192.0.0.0", GUARD_RESERVED},
    {"192.0.0.255", GUARD_RESERVED},
    {"192.0.1.0", GUARD_FINE},
    {"192.0.2.0", GUARD_DOCUMENTATION},
    {"192.0.2.255", GUARD_DOCUMENTATION},
    {"192.0.3.0", GUARD_FINE},
    {"192.88.98.255", GUARD_FINE},
    {"192.88.99.0", GUARD_TUNNEL},
    {"192.88.99.255", GUARD_TUNNEL},
    {"192.88.100.0", GUARD_FINE},
    {"192.167.255.255", GUARD_FINE},
    {"192.168.0.0", GUARD_PRIVATE},
    {"192.168.255.255", GUARD_PRIVATE},
    {"192.169.0.0", GUARD_FINE},
    {"198.17.255.255", GUARD_FINE},
    {"198.18.0.0", GUARD_DOCUMENTATION},
    {"198.19.255.255", GUARD_DOCUMENTATION},
    {"198.20.0.0", GUARD_FINE},
    {"198.51.99.255", GUARD_FINE},
    {"198.51.100.0", GUARD_DOCUMENTATION},
    {"198.51.100.255", GUARD_DOCUMENTATION},
    {"198.51.101.0", GUARD_FINE},
    {"203.0.112.255", GUARD_FINE},
    {"203.0.113.0", GUARD_DOCUMENTATION},
    {"203.0.113.255", GUARD_DOCUMENTATION},
    {"203.0.114.0", GUARD_FINE},
    {"223.255.255.255", GUARD_FINE},
    {"224.0.0.0", GUARD_MULTICAST},
    {"239.255.255.255", GUARD_MULTICAST},
    {"240.0.0.0", GUARD_RESERVED},
    {"255.255.255.254", GUARD_RESERVED},
    {"255.255.255.255", GUARD_BROADCAST},
    {"8.8.8.8", GUARD_FINE},
    {"::", GUARD_THIS_NETWORK},
    {"::1", GUARD_LOOPBACK},
    {"::2", GUARD_MAPPED},
    {"::7f00:1", GUARD_MAPPED},
    {"::ffff:ffff", GUARD_MAPPED},
    {"::1:0:0", GUARD_RESERVED},
    {"::ffff:127.0.0.1", GUARD_MAPPED},
    {"::ffff:8.8.8.8", GUARD_MAPPED},
    {"::ffff:255.255.255.255", GUARD_MAPPED},
    {"::ffff:0:127.0.0.1", GUARD_MAPPED},
    {"::fffe:127.0.0.1", GUARD_RESERVED},
    {"64:ff9a:ffff::", GUARD_RESERVED},
    {"64:ff9b::", GUARD_NAT64},
    {"64:ff9b::10.0.0.1", GUARD_NAT64},
    {"64:ff9b::ffff:ffff", GUARD_NAT64},
    {"64:ff9b:0:0:0:1::", GUARD_RESERVED},
    {"64:ff9b:1::", GUARD_NAT64},
    {"64:ff9b:1:ffff:ffff:ffff:ffff:ffff", GUARD_NAT64},
    {"64:ff9b:2::", GUARD_RESERVED},
    {"100::1", GUARD_RESERVED},
    {"1fff:ffff::", GUARD_RESERVED},
    {"2000::", GUARD_FINE},
    {"2000:ffff:ffff::1", GUARD_FINE},
    {"2001::", GUARD_TUNNEL},
    {"2001:0:ffff::1", GUARD_TUNNEL},
    {"2001:1::1", GUARD_RESERVED},
    {"2001:2::", GUARD_DOCUMENTATION},
    {"2001:2:0:ffff::", GUARD_DOCUMENTATION},
    {"2001:2:1::", GUARD_RESERVED},
    {"2001:10::1", GUARD_RESERVED},
    {"2001:1ff:ffff::", GUARD_RESERVED},
    {"2001:200::", GUARD_FINE},
    {"2001:db7:ffff::", GUARD_FINE},
    {"2001:db8::", GUARD_DOCUMENTATION},
    {"2001:db8:ffff::1", GUARD_DOCUMENTATION},
    {"2001:db9::", GUARD_FINE},
    {"2001:ffff::", GUARD_FINE},
    {"2002::", GUARD_TUNNEL},
    {"2002:7f00:1::1", GUARD_TUNNEL},
    {"2002:ffff::", GUARD_TUNNEL},
    {"2003::", GUARD_FINE},
    {"2606:4700::1111", GUARD_FINE},
    {"3ffd:ffff::", GUARD_FINE},
    {"3ffe::", GUARD_RESERVED},
    {"3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", GUARD_RESERVED},
    {"3fff::", GUARD_DOCUMENTATION},
    {"3fff:fff:ffff::", GUARD_DOCUMENTATION},
    {"3fff:1000::", GUARD_FINE},
    {"4000::", GUARD_RESERVED},
    {"5f00::1", GUARD_RESERVED},
    {"fbff:ffff::", GUARD_RESERVED},
    {"fc00::", GUARD_UNIQUE_LOCAL},
    {"fd00:ec2::254", GUARD_UNIQUE_LOCAL},
    {"fdff:ffff::1", GUARD_UNIQUE_LOCAL},
    {"fe00::", GUARD_RESERVED},
    {"fe7f:ffff::", GUARD_RESERVED},
    {"fe80::", GUARD_LINK_LOCAL},
    {"febf:ffff::1", GUARD_LINK_LOCAL},
    {"fec0::", GUARD_LINK_LOCAL},
    {"feff:ffff::1", GUARD_LINK_LOCAL},
    {"ff00::", GUARD_MULTICAST},
    {"ff02::1", GUARD_MULTICAST},
};

static void test_addresses(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(addresses); i++) {
        enum guard_rule rule = rule_of(addresses[i].address);
        if (rule != addresses[i].rule)
            print_error("%s: %s\n", addresses[i].address, guard_rule_name(rule));
        assert_int_equal(rule, addresses[i].rule);
    }
    struct sockaddr other = {.sa_family = AF_UNIX};
    assert_int_equal(guard_address(&other), GUARD_FAMILY);
}

static void test_sockets_and_connections(void **state) {
    (void)state;
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7F000001)};
    assert_int_equal(guard_socket(false, (struct sockaddr *)&in), GUARD_LOOPBACK);
    assert_int_equal(guard_socket(true, (struct sockaddr *)&in), GUARD_FINE);
    in.sin_addr.s_addr = htonl(0x0A000001); /* an allowance is for loopback only */
    assert_int_equal(guard_socket(true, (struct sockaddr *)&in), GUARD_PRIVATE);
    assert_int_equal(guard_connection(false, "8.8.8.8", "192.168.1.4"), GUARD_FINE);
    assert_int_equal(guard_connection(false, "8.8.8.8", "8.8.8.8"), GUARD_OWN);
    assert_int_equal(guard_connection(false, "2606:4700::1", "2606:4700::1"), GUARD_OWN);
    assert_int_equal(guard_connection(false, "127.0.0.1", "127.0.0.1"), GUARD_LOOPBACK);
    assert_int_equal(guard_connection(true, "127.0.0.1", "127.0.0.1"), GUARD_FINE);
    assert_int_equal(guard_connection(true, "::1", "::1"), GUARD_FINE);
    assert_int_equal(guard_connection(true, "10.0.0.1", "10.0.0.2"), GUARD_PRIVATE);
    assert_int_equal(guard_connection(false, "fe80::1", "fe80::2"), GUARD_LINK_LOCAL);
    assert_int_equal(guard_connection(true, "", ""), GUARD_FAMILY);
    assert_int_equal(guard_connection(true, "/run/socket", ""), GUARD_FAMILY);
}

static struct guard *make(const char *ports, const char *allow) {
    struct guard *g = NULL;
    struct err e;
    struct guard_options o = {.ports = ports, .allow = allow};
    assert_int_equal(guard_new(&o, &g, &e), V_OK);
    return g;
}

struct url_row {
    const char *url;
    enum guard_rule rule;
};

static void check_urls(const struct guard *g, const struct url_row *rows, size_t n) {
    for (size_t i = 0; i < n; i++) {
        enum guard_rule rule = guard_url(g, rows[i].url);
        if (rule != rows[i].rule)
            print_error("%s: %s\n", rows[i].url, guard_rule_name(rule));
        assert_int_equal(rule, rows[i].rule);
    }
}

static const struct url_row urls[] = {
    {"http://example.com/", GUARD_FINE},
    {"HTTPS://Example.com./a?b#c", GUARD_FINE},
    {"http://xn--bcher-kva.example/", GUARD_FINE},
    {"http://b\xC3\xBC"
     "cher.example/",
     GUARD_FINE},
    {"http://example.com:8080/", GUARD_FINE},
    {"https://example.com:8443/", GUARD_FINE},
    {"http://example.com:81/", GUARD_PORT},
    {"http://example.com:22/", GUARD_PORT},
    {"http://example.com:65536/", GUARD_URL},
    {"http://example.com:0/", GUARD_URL},
    {"ftp://example.com/", GUARD_SCHEME},
    {"file:///etc/passwd", GUARD_SCHEME},
    {"gopher://example.com/", GUARD_SCHEME},
    {"dict://example.com:11111/", GUARD_SCHEME},
    {"javascript:alert(1)", GUARD_SCHEME},
    {"//example.com/", GUARD_SCHEME},
    {"example.com", GUARD_SCHEME},
    {"", GUARD_SCHEME},
    {"http://", GUARD_URL},
    {"http:///path", GUARD_URL},
    {"http://exa mple.com/", GUARD_URL},
    {"http://example.com/\r\nHost: other", GUARD_URL},
    {"http://user@example.com/", GUARD_CREDENTIALS},
    {"http://user:word@example.com/", GUARD_CREDENTIALS},
    {"http://:word@example.com/", GUARD_CREDENTIALS},
    {"http://example.com\\@127.0.0.1/", GUARD_CREDENTIALS},
    {"http://example.com#@127.0.0.1/", GUARD_FINE}, /* a fragment */
    {"http://127.0.0.1/", GUARD_LOOPBACK},
    {"http://127.0.0.1./", GUARD_LOOPBACK},
    {"http://127.1/", GUARD_LOOPBACK},
    {"http://0x7f.1/", GUARD_LOOPBACK},
    {"http://0X7F.0x0.0x0.0x1/", GUARD_LOOPBACK},
    {"http://0177.0.0.01/", GUARD_LOOPBACK},
    {"http://2130706433/", GUARD_LOOPBACK},
    {"http://2130706433./", GUARD_LOOPBACK},
    {"http://017700000001/", GUARD_LOOPBACK},
    {"http://0x7f000001/", GUARD_LOOPBACK},
    {"http://0/", GUARD_THIS_NETWORK},
    {"http://0.0.0.0/", GUARD_THIS_NETWORK},
    {"http://%31%32%37.0.0.1/", GUARD_LOOPBACK},
    {"http://\xEF\xBC\x91\xEF\xBC\x92\xEF\xBC\x97.0.0.1/", GUARD_LOOPBACK}, /* full-width */
    {"http://127\xE3\x80\x82"
     "0\xE3\x80\x82"
     "0\xE3\x80\x82"
     "1/",
     GUARD_LOOPBACK}, /* ideographic full stops */
    {"http://\xE2\x91\xA0\xE2\x91\xA1\xE2\x91\xA6.0.0.1/", GUARD_LOOPBACK}, /* in circles */
    {"http://10.1/", GUARD_PRIVATE},
    {"http://192.168.1/", GUARD_PRIVATE},
    {"http://2886729729/", GUARD_PRIVATE},
    {"http://169.254.169.254/latest/", GUARD_LINK_LOCAL},
    {"http://0xa9fea9fe/", GUARD_LINK_LOCAL},
    {"http://100.100.100.200/", GUARD_SHARED},
    {"http://255.255.255.255/", GUARD_BROADCAST},
    {"http://256.0.0.1/", GUARD_URL},
    {"http://1.2.3.4.5/", GUARD_URL},
    {"http://4294967296/", GUARD_URL},
    {"http://0x/", GUARD_URL},
    {"http://name.0x7f/", GUARD_URL},
    {"http://name.123/", GUARD_URL},
    {"http://123.name/", GUARD_FINE},
    {"http://8.8.8.8/", GUARD_FINE},
    {"http://[::1]/", GUARD_LOOPBACK},
    {"http://[0:0:0:0:0:0:0:1]/", GUARD_LOOPBACK},
    {"http://[::]/", GUARD_THIS_NETWORK},
    {"http://[::ffff:127.0.0.1]/", GUARD_MAPPED},
    {"http://[::ffff:7f00:1]/", GUARD_MAPPED},
    {"http://[::127.0.0.1]/", GUARD_MAPPED},
    {"http://[64:ff9b::127.0.0.1]/", GUARD_NAT64},
    {"http://[2002:7f00:1::]/", GUARD_TUNNEL},
    {"http://[2001::1]/", GUARD_TUNNEL},
    {"http://[fd00::1]/", GUARD_UNIQUE_LOCAL},
    {"http://[fe80::1]/", GUARD_LINK_LOCAL},
    {"http://[fe80::1%25eth0]/", GUARD_URL},
    {"http://[2606:4700::1%25eth0]/", GUARD_URL},
    {"http://[::1/", GUARD_URL},
    {"http://[v1.x]/", GUARD_URL},
    {"http://[2606:4700::1111]/", GUARD_FINE},
    {"http://localhost/", GUARD_LOOPBACK},
    {"http://LOCALHOST./", GUARD_LOOPBACK},
    {"http://a.b.localhost/", GUARD_LOOPBACK},
    {"http://notlocalhost/", GUARD_FINE},
};

static void test_urls(void **state) {
    (void)state;
    struct guard *g = make(NULL, NULL);
    check_urls(g, urls, ARRAY_LEN(urls));
    char longest[17000] = "http://example.com/";
    memset(longest + 19, 'x', sizeof longest - 20);
    assert_int_equal(guard_url(g, longest), GUARD_URL);
    guard_free(g);
}

static void test_options(void **state) {
    (void)state;
    static const struct url_row rows[] = {
        {"http://example.com/", GUARD_FINE},
        {"https://example.com/", GUARD_PORT},
        {"http://example.com:8080/", GUARD_PORT},
        {"http://example.com:99/", GUARD_FINE},
        {"http://127.0.0.1:4711/", GUARD_FINE},
        {"http://127.1:4711/", GUARD_FINE}, /* libcurl writes both alike */
        {"http://127.0.0.2:4711/", GUARD_PORT},
        {"http://127.0.0.1:80/", GUARD_LOOPBACK},
        {"http://127.0.0.1:4712/", GUARD_PORT},
        {"http://Site.Test:81/", GUARD_FINE},
        {"http://sub.site.test:81/", GUARD_PORT},
        {"http://[::1]:4711/", GUARD_FINE},
        {"http://localhost:4711/", GUARD_FINE},
        {"http://10.0.0.1:4711/", GUARD_PRIVATE}, /* no allowance reaches so far */
        {"ftp://127.0.0.1:4711/", GUARD_SCHEME},
        {"http://user@127.0.0.1:4711/", GUARD_CREDENTIALS},
    };
    struct guard *g =
        make("80,99", "127.0.0.1:4711,site.test:81,[::1]:4711,localhost:4711,10.0.0.1:4711");
    check_urls(g, rows, ARRAY_LEN(rows));
    guard_free(g);
    static const struct guard_options wrong[] = {
        {.ports = "80,"
                  "x"},
        {.ports = "0"},
        {.ports = "65536"},
        {.ports = "80,,443"},
        {.ports = "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17"},
        {.allow = "127.0.0.1"},
        {.allow = ":80"},
        {.allow = "host:"},
        {.allow = "host:http"},
        {.allow = "*"},
        {.allow = "a:1,b:2,c:3,d:4,e:5,f:6,g:7,h:8,i:9"},
    };
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct err e;
        assert_int_equal(guard_new(&wrong[i], &g, &e), V_INVALID);
        assert_true(e.msg[0] != '\0');
    }
}

static void test_names(void **state) {
    (void)state;
    for (int a = 0; a < GUARD_N_RULES; a++) {
        assert_true(guard_rule_name(a)[0] > '?' && guard_rule_text(a)[0] > '?');
        for (int b = 0; b < a; b++)
            assert_string_not_equal(guard_rule_name(a), guard_rule_name(b));
    }
    assert_string_equal(guard_rule_name(GUARD_N_RULES), "?");
    for (int a = 0; a < VISIT_N_CLASSES; a++)
        for (int b = 0; b < a; b++)
            assert_string_not_equal(visit_class_name(a), visit_class_name(b));
    assert_string_equal(visit_class_name(VISIT_N_CLASSES), "?");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses), cmocka_unit_test(test_sockets_and_connections),
        cmocka_unit_test(test_urls),      cmocka_unit_test(test_options),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
