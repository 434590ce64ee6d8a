/* What is asked of Anthropic, and how its answers are read. */
#include "enrich/anthropic.h"
#include "heard.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct arena arena;
static struct err err;

static int set_up(void **state) {
    (void)state;
    arena_init(&arena);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    arena_release(&arena);
    return 0;
}

static struct anthropic_conf conf(void) {
    return (struct anthropic_conf){.url = STR("http://127.0.0.1:9/"),
                                   .key = STR("sk-secret"),
                                   .model = STR("a-model"),
                                   .max_tokens = 300,
                                   .user_agent = STR("tain")};
}

static void ask_is_sound_json(void **state) {
    (void)state;
    struct anthropic_conf c = conf();
    struct ask q;
    assert_int_equal(
        anthropic_ask(&c, STR("Be \"brief\""), STR("A\nb\xFF\u00e9\\"), &arena, &q, &err), V_OK);
    assert_true(str_eqc(q.method, "POST") && str_eqc(q.base, "http://127.0.0.1:9"));
    assert_string_equal(q.path.p, "/v1/messages");
    assert_int_equal(q.n_headers, 4);
    assert_string_equal(q.headers[0].p, "x-api-key: sk-secret");
    assert_string_equal(q.headers[1].p, "anthropic-version: 2023-06-01");
    assert_string_equal(q.headers[2].p, "Content-Type: application/json");
    json_t *body = json_loads(q.body.p, 0, NULL);
    assert_non_null(body);
    const char *model, *system, *role, *content;
    json_int_t most;
    assert_int_equal(json_unpack(body, "{s:s,s:I,s:s,s:[{s:s,s:s}!]!}", "model", &model,
                                 "max_tokens", &most, "system", &system, "messages", "role", &role,
                                 "content", &content),
                     0);
    assert_string_equal(model, "a-model");
    assert_string_equal(system, "Be \"brief\"");
    assert_string_equal(role, "user");
    assert_int_equal(most, 300);
    assert_non_null(strstr(content, "\u00e9\\"));
    json_decref(body);
    assert_int_equal(anthropic_ask(&c, STR_NONE, STR("x"), &arena, &q, &err), V_OK);
    assert_null(strstr(q.body.p, "system"));
    c.url = STR_NONE;
    assert_int_equal(anthropic_ask(&c, STR_NONE, STR("x"), &arena, &q, &err), V_OK);
    assert_true(str_eqc(q.base, ANTHROPIC_URL));
}

static void what_cannot_be_asked(void **state) {
    (void)state;
    struct anthropic_conf c = conf();
    struct ask q;
    size_t n = ANTHROPIC_BODY_MAX;
    char *text = arena_alloc(&arena, n);
    memset(text, 'a', n);
    assert_int_equal(anthropic_ask(&c, STR_NONE, (struct str){text, n}, &arena, &q, &err), V_LIMIT);
    assert_int_equal(anthropic_ask(&c, STR_NONE, STR(""), &arena, &q, &err), V_INVALID);
    c.key = STR("a\r\nX: y");
    assert_int_equal(anthropic_ask(&c, STR_NONE, STR("x"), &arena, &q, &err), V_INVALID);
    assert_null(strstr(err.msg, "X: y"));
    c.key = STR_NONE;
    assert_int_equal(anthropic_ask(&c, STR_NONE, STR("x"), &arena, &q, &err), V_INVALID);
    c = conf();
    c.model = STR("");
    assert_int_equal(anthropic_ask(&c, STR_NONE, STR("x"), &arena, &q, &err), V_INVALID);
    c = conf();
    c.max_tokens = 0;
    assert_int_equal(anthropic_ask(&c, STR_NONE, STR("x"), &arena, &q, &err), V_INVALID);
}

#define USAGE "\"usage\":{\"input_tokens\":12,\"output_tokens\":34}"
#define MESSAGE(content, stop)                                                               \
    "{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"a-model-1\"," \
    "\"content\":[" content "],\"stop_reason\":" stop ",\"stop_sequence\":null," USAGE "}"
#define TEXT(words) "{\"type\":\"text\",\"text\":\"" words "\"}"

static struct anthropic_answer read_body(long status, const char *body) {
    struct heard h = heard(status, body);
    struct anthropic_answer m;
    anthropic_read(&h, &arena, &m);
    return m;
}

static void texts(void **state) {
    (void)state;
    struct anthropic_answer m =
        read_body(200, MESSAGE(TEXT(" It says \\u00e9.\\n"), "\"end_turn\""));
    assert_int_equal(m.why.told, TOLD_FOUND);
    assert_string_equal(m.text.p, "It says \u00e9.");
    assert_true(str_eqc(m.stop_reason, "end_turn") && str_eqc(m.model, "a-model-1") && !m.cut);
    assert_int_equal(m.input_tokens, 12);
    assert_int_equal(m.output_tokens, 34);
    m = read_body(
        200, MESSAGE("{\"type\":\"thinking\",\"thinking\":\"Well.\"}," TEXT("One ") "," TEXT("two"),
                     "\"max_tokens\""));
    assert_true(m.why.told == TOLD_FOUND && m.cut);
    assert_string_equal(m.text.p, "One two");
    m = read_body(200, MESSAGE(TEXT("x"), "\"model_context_window_exceeded\""));
    assert_true(m.why.told == TOLD_FOUND && m.cut);
    m = read_body(200, MESSAGE(TEXT("x"), "null"));
    assert_true(m.why.told == TOLD_FOUND && !m.stop_reason.p);
}

static void usage(void **state) {
    (void)state;
    static const struct {
        const char *usage;
        int64_t in, out;
    } rows[] = {
        {"{\"input_tokens\":5,\"cache_creation_input_tokens\":7,\"cache_read_input_tokens\":11,"
         "\"output_tokens\":2,\"service_tier\":\"standard\"}",
         23, 2},
        {"{\"input_tokens\":5,\"cache_read_input_tokens\":null,\"output_tokens\":0}", 5, 0},
        {"{\"input_tokens\":-5,\"output_tokens\":9e99}", -1, -1},
        {"{}", -1, -1},
        {"null", -1, -1},
        {"7", -1, -1},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char body[400];
        snprintf(body, sizeof body,
                 "{\"type\":\"message\",\"content\":[" TEXT("x") "],\"usage\":%s}", rows[i].usage);
        struct anthropic_answer m = read_body(200, body);
        assert_int_equal(m.why.told, TOLD_FOUND);
        if (m.input_tokens != rows[i].in || m.output_tokens != rows[i].out)
            fail_msg("%s: %lld, %lld", rows[i].usage, (long long)m.input_tokens,
                     (long long)m.output_tokens);
    }
}

/* What costs is told, also where it was for nothing. */
static void messages_of_no_use(void **state) {
    (void)state;
    struct anthropic_answer m = read_body(200, MESSAGE("", "\"refusal\""));
    assert_true(m.why.told == TOLD_ROW && !m.text.p && m.output_tokens == 34);
    m = read_body(200, MESSAGE(TEXT("I will not"), "\"refusal\""));
    assert_true(m.why.told == TOLD_ROW && !m.text.p);
    m = read_body(200, MESSAGE("", "\"end_turn\""));
    assert_true(m.why.told == TOLD_TRANSIENT && m.output_tokens == 34);
    m = read_body(200, MESSAGE(TEXT("  "), "\"end_turn\""));
    assert_true(m.why.told == TOLD_TRANSIENT && !m.text.p);
    struct strbuf b;
    strbuf_init(&b, 1 << 20);
    strbuf_adds(&b, "{\"type\":\"message\",\"content\":[{\"type\":\"text\",\"text\":\"");
    for (int i = 0; i < 300 * 1024; i++)
        strbuf_addc(&b, 'x');
    strbuf_adds(&b, "\"}]}");
    m = read_body(200, b.p);
    assert_int_equal(m.why.told, TOLD_TRANSIENT);
    strbuf_release(&b);
}

static void trouble(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(garbage); i++) {
        struct anthropic_answer m = read_body(200, garbage[i]);
        if (m.why.told != TOLD_TRANSIENT || m.text.p || !m.why.err_class)
            fail_msg("%s: %s", garbage[i], told_name(m.why.told));
    }
    for (size_t i = 0; i < ARRAY_LEN(failures); i++) {
        struct heard h = heard_cls(failures[i]);
        struct anthropic_answer m;
        h.body = STR(MESSAGE(TEXT("x"), "\"end_turn\""));
        anthropic_read(&h, &arena, &m);
        assert_true(m.why.told == TOLD_TRANSIENT && !m.text.p);
    }
}

#define ERROR(kind, words)                                                             \
    "{\"type\":\"error\",\"error\":{\"type\":\"" kind "\",\"message\":\"" words "\"}," \
    "\"request_id\":\"req_1\"}"

static void refusals(void **state) {
    (void)state;
    static const struct {
        long status;
        const char *body;
        int64_t retry_after_ms;
        enum told told;
    } rows[] = {
        {400, ERROR("invalid_request_error", "prompt is too long"), -1, TOLD_ROW},
        {400, ERROR("invalid_request_error", "You have reached your specified API usage limits."),
         -1, TOLD_SPENT},
        {400, ERROR("invalid_request_error", "Your credit balance is too low to go on."), -1,
         TOLD_REFUSED},
        {401, ERROR("authentication_error", "invalid x-api-key"), -1, TOLD_REFUSED},
        {402, ERROR("billing_error", "no money"), -1, TOLD_REFUSED},
        {403, ERROR("permission_error", "no"), -1, TOLD_REFUSED},
        {404, ERROR("not_found_error", "model: x"), -1, TOLD_REFUSED},
        {404, "<html>", -1, TOLD_REFUSED},
        {413, ERROR("request_too_large", "too large"), -1, TOLD_ROW},
        {429, ERROR("rate_limit_error", "slow down"), 7000, TOLD_WAIT},
        {429, ERROR("rate_limit_error", "slow down"), -1, TOLD_WAIT},
        {429,
         "{\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"spent\","
         "\"details\":{\"error_code\":\"enforced_spend_limit_reached\"}}}",
         7000, TOLD_SPENT},
        {429, ERROR("enforced_spend_limit_reached", "spent"), -1, TOLD_SPENT},
        {500, ERROR("api_error", "internal"), -1, TOLD_TRANSIENT},
        {503, "", 9000, TOLD_WAIT},
        {504, ERROR("timeout_error", "late"), -1, TOLD_TRANSIENT},
        {529, ERROR("overloaded_error", "Overloaded"), -1, TOLD_TRANSIENT},
        {529, ERROR("overloaded_error", "Overloaded"), 4000, TOLD_WAIT},
        /* a success that is none */
        {200, ERROR("overloaded_error", "Overloaded"), -1, TOLD_TRANSIENT},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct heard h = heard(rows[i].status, rows[i].body);
        struct anthropic_answer m;
        h.retry_after_ms = rows[i].retry_after_ms;
        anthropic_read(&h, &arena, &m);
        int64_t wait = rows[i].told == TOLD_WAIT ? rows[i].retry_after_ms : -1;
        if (m.why.told != rows[i].told || m.why.wait_ms != wait || m.why.error.n == 0)
            fail_msg("%ld %s: %s, %lld ms", rows[i].status, rows[i].body, told_name(m.why.told),
                     (long long)m.why.wait_ms);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(ask_is_sound_json),
        TEST(what_cannot_be_asked),
        TEST(texts),
        TEST(usage),
        TEST(messages_of_no_use),
        TEST(trouble),
        TEST(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
