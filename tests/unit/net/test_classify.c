#include "net/classify.h"
#include "net/classify_int.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <curl/curl.h>

static const struct {
    int code;
    enum net_class cls;
} codes[] = {
    {CURLE_OPERATION_TIMEDOUT, NET_TIMEOUT},
    {CURLE_COULDNT_CONNECT, NET_CONNECT},
    {CURLE_INTERFACE_FAILED, NET_CONNECT},
    {CURLE_PROXY, NET_CONNECT},
    {CURLE_NO_CONNECTION_AVAILABLE, NET_CONNECT},
    {CURLE_COULDNT_RESOLVE_HOST, NET_DNS},
    {CURLE_COULDNT_RESOLVE_PROXY, NET_DNS},
    {CURLE_SSL_CONNECT_ERROR, NET_TLS},
    {CURLE_PEER_FAILED_VERIFICATION, NET_TLS},
    {CURLE_SSL_ENGINE_NOTFOUND, NET_TLS},
    {CURLE_SSL_ENGINE_SETFAILED, NET_TLS},
    {CURLE_SSL_ENGINE_INITFAILED, NET_TLS},
    {CURLE_SSL_CERTPROBLEM, NET_TLS},
    {CURLE_SSL_CIPHER, NET_TLS},
    {CURLE_USE_SSL_FAILED, NET_TLS},
    {CURLE_SSL_CACERT_BADFILE, NET_TLS},
    {CURLE_SSL_SHUTDOWN_FAILED, NET_TLS},
    {CURLE_SSL_CRL_BADFILE, NET_TLS},
    {CURLE_SSL_ISSUER_ERROR, NET_TLS},
    {CURLE_SSL_PINNEDPUBKEYNOTMATCH, NET_TLS},
    {CURLE_SSL_INVALIDCERTSTATUS, NET_TLS},
    {CURLE_SSL_CLIENTCERT, NET_TLS},
    {CURLE_SEND_ERROR, NET_RESET},
    {CURLE_RECV_ERROR, NET_RESET},
    {CURLE_GOT_NOTHING, NET_RESET},
    {CURLE_HTTP2_STREAM, NET_RESET},
    {CURLE_PARTIAL_FILE, NET_TRUNCATED},
    {CURLE_FILESIZE_EXCEEDED, NET_TOO_LARGE},
    {CURLE_WRITE_ERROR, NET_TOO_LARGE},
    {CURLE_TOO_MANY_REDIRECTS, NET_REDIRECT},
    {CURLE_UNSUPPORTED_PROTOCOL, NET_PROTOCOL},
    {CURLE_WEIRD_SERVER_REPLY, NET_PROTOCOL},
    {CURLE_HTTP2, NET_PROTOCOL},
    {CURLE_BAD_CONTENT_ENCODING, NET_PROTOCOL},
    {CURLE_HTTP3, NET_PROTOCOL},
};

/* A failure of the transfer counts more than the status that came before it. */
static void test_every_curl_code(void **state) {
    (void)state;
    for (int code = 1; code < CURL_LAST; code++) {
        enum net_class want = NET_OTHER;
        for (size_t i = 0; i < ARRAY_LEN(codes); i++)
            if (codes[i].code == code)
                want = codes[i].cls;
        assert_string_equal(net_class_name(net_classify(code, 0)), net_class_name(want));
        assert_int_equal(net_classify(code, 200), want);
    }
    assert_int_equal(net_classify(-1, 200), NET_OTHER);
    assert_int_equal(net_classify(CURL_LAST + 7, 200), NET_OTHER);
}

static void test_statuses(void **state) {
    (void)state;
    static const struct {
        long status;
        enum net_class cls;
        const char *reason;
        bool redirects;
    } rows[] = {
        {0, NET_PROTOCOL, "", false},
        {-5, NET_PROTOCOL, "", false},
        {100, NET_HTTP_OTHER, "", false},
        {200, NET_OK, "OK", false},
        {201, NET_HTTP_OTHER, "", false},
        {204, NET_HTTP_OTHER, "No Content", false},
        {206, NET_HTTP_OTHER, "Partial Content", false},
        {299, NET_HTTP_OTHER, "", false},
        {300, NET_HTTP_OTHER, "", false},
        {301, NET_HTTP_OTHER, "Moved Permanently", true},
        {302, NET_HTTP_OTHER, "Found", true},
        {303, NET_HTTP_OTHER, "See Other", true},
        {304, NET_HTTP_OTHER, "Not Modified", false},
        {305, NET_HTTP_OTHER, "", false},
        {307, NET_HTTP_OTHER, "Temporary Redirect", true},
        {308, NET_HTTP_OTHER, "Permanent Redirect", true},
        {400, NET_HTTP_4XX, "Bad Request", false},
        {401, NET_HTTP_401, "Unauthorized", false},
        {402, NET_HTTP_4XX, "", false},
        {403, NET_HTTP_403, "Forbidden", false},
        {404, NET_HTTP_404, "Not Found", false},
        {405, NET_HTTP_4XX, "Method Not Allowed", false},
        {408, NET_HTTP_4XX, "Request Timeout", false},
        {410, NET_HTTP_4XX, "Gone", false},
        {414, NET_HTTP_4XX, "URI Too Long", false},
        {429, NET_HTTP_429, "Too Many Requests", false},
        {451, NET_HTTP_4XX, "Unavailable For Legal Reasons", false},
        {499, NET_HTTP_4XX, "", false},
        {500, NET_HTTP_5XX, "Internal Server Error", false},
        {502, NET_HTTP_5XX, "Bad Gateway", false},
        {503, NET_HTTP_5XX, "Service Unavailable", false},
        {504, NET_HTTP_5XX, "Gateway Timeout", false},
        {599, NET_HTTP_5XX, "", false},
        {600, NET_HTTP_OTHER, "", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(net_classify(CURLE_OK, rows[i].status), rows[i].cls);
        assert_string_equal(net_status_reason(rows[i].status), rows[i].reason);
        assert_int_equal(net_status_redirects(rows[i].status), rows[i].redirects);
    }
}

static void test_names_are_all_there_and_differ(void **state) {
    (void)state;
    for (int a = 0; a < NET_N_CLASSES; a++) {
        assert_non_null(net_class_name(a));
        for (int b = 0; b < a; b++)
            assert_string_not_equal(net_class_name(a), net_class_name(b));
    }
    assert_string_equal(net_class_name(NET_HTTP_5XX), "http_5xx");
    assert_string_equal(net_class_name(NET_N_CLASSES), "?");
}

static void test_retry_after(void **state) {
    (void)state;
    const int64_t at = INT64_C(784111777000); /* Sun, 06 Nov 1994 08:49:37 GMT */
    const struct {
        const char *value;
        int64_t now, want;
    } rows[] = {
        {NULL, at, -1},
        {"", at, -1},
        {"  ", at, -1},
        {"0", at, 0},
        {"7", at, 7000},
        {" 120 ", at, 120000},
        {"3600", at, 3600000},
        {"3601", at, 3600000},
        {"99999999999999999999999999999999", at, 3600000},
        {"-5", at, -1},
        {"1.5", at, -1},
        {"5 apples", at, -1},
        {"soon", at, -1},
        {"Sun, 06 Nov 1994 08:49:37 GMT", at - 5000, 5000},
        {"Sun, 06 Nov 1994 08:49:37 GMT", at, 0},
        {"Sun, 06 Nov 1994 08:49:37 GMT", at + 5000, 0},
        {"Sun, 06 Nov 1994 08:49:37 GMT", at - INT64_C(86400000), 3600000},
        {"Sunday, 06-Nov-94 08:49:37 GMT", at - 1500, 1500},
        {"Sun Nov  6 08:49:37 1994", at - 1, 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(net_retry_after_ms(rows[i].value, rows[i].now), rows[i].want);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_curl_code),
        cmocka_unit_test(test_statuses),
        cmocka_unit_test(test_names_are_all_there_and_differ),
        cmocka_unit_test(test_retry_after),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
