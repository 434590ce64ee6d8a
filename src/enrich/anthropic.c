#include "enrich/anthropic.h"

#include "enrich/ask_int.h"

#include <string.h>

#define TEXT_MAX ((size_t)256 * 1024)
#define TOKENS_MAX (INT64_C(1) << 40)

/* ---- the ask */

static enum verdict check(const struct anthropic_conf *c, struct str text, struct err *e) {
    const char *lacks = c->key.n == 0        ? "no key"
                        : c->model.n == 0    ? "no model"
                        : c->max_tokens <= 0 ? "no maximum of tokens"
                        : text.n == 0        ? "no text"
                                             : NULL;
    return lacks ? err_set(e, V_INVALID, "config", 0, "%s", lacks) : V_OK;
}

static void add_body(const struct anthropic_conf *c, struct str system, struct str text,
                     struct strbuf *b) {
    strbuf_adds(b, "{\"model\":");
    strbuf_add_json(b, c->model);
    strbuf_addf(b, ",\"max_tokens\":%lld", (long long)c->max_tokens);
    if (system.n > 0) {
        strbuf_adds(b, ",\"system\":");
        strbuf_add_json(b, system);
    }
    strbuf_adds(b, ",\"messages\":[{\"role\":\"user\",\"content\":");
    strbuf_add_json(b, text);
    strbuf_adds(b, "}]}");
}

enum verdict anthropic_ask(const struct anthropic_conf *c, struct str system, struct str text,
                           struct arena *a, struct ask *ret, struct err *e) {
    struct strbuf body;
    enum verdict v = check(c, text, e);
    if (v != V_OK)
        return v;
    *ret = (struct ask){.method = STR("POST"),
                        .base = ask_base(c->url, ANTHROPIC_URL),
                        .path = STR("/v1/messages")};
    if (!ask_header(ret, a, "x-api-key", c->key) ||
        !ask_header(ret, a, "anthropic-version", STR(ANTHROPIC_VERSION)) ||
        !ask_header(ret, a, "Content-Type", STR("application/json")) ||
        !ask_header(ret, a, "User-Agent", c->user_agent))
        return err_set(e, V_INVALID, "config", 0,
                       "the key or the User-Agent holds bytes that no header may have");
    strbuf_init(&body, ANTHROPIC_BODY_MAX);
    add_body(c, system, text, &body);
    if (body.overflow)
        v = err_set(e, V_LIMIT, "http", 0, "a text of %zu bytes is too long to ask about", text.n);
    else
        ret->body = arena_str(a, strbuf_str(&body));
    strbuf_release(&body);
    return v;
}

/* ---- the answer */

static bool contains(struct str s, const char *words) {
    return s.p && s.n > 0 && memmem(s.p, s.n, words, strlen(words));
}

/* Refusals that mean more than their status. 400 is also what a limit that its owner set, or an
 * empty account, looks like. */
static enum told of_refusal(const struct heard *h, struct str words, enum told usual) {
    switch (h->status) {
    case 400:
        return contains(words, "usage limits")     ? TOLD_SPENT
               : contains(words, "credit balance") ? TOLD_REFUSED
                                                   : usual;
    case 402:
    case 404:
        return TOLD_REFUSED;
    case 429:
        return contains(h->body, "enforced_spend_limit_reached") ? TOLD_SPENT : usual;
    default:
        return usual;
    }
}

static void read_refusal(const struct heard *h, struct arena *a, struct told_why *ret) {
    told_of_call(ret, a, h);
    if (h->cls < NET_HTTP_401 || h->cls > NET_HTTP_4XX)
        return;
    ret->told = of_refusal(h, heard_words(h, a), ret->told);
    if (ret->told == TOLD_SPENT) {
        ret->err_class = "spent";
        ret->wait_ms = -1;
    }
}

static int64_t tokens(const struct json_read *usage, const char *name, int64_t none) {
    int64_t n = json_int_at(usage, name, none);
    return n >= 0 && n < TOKENS_MAX ? n : none;
}

static void read_usage(const struct json_read *root, struct anthropic_answer *ret) {
    struct json_read usage;
    if (path_find(root, STR("usage"), &usage) != PATH_THERE)
        return;
    ret->output_tokens = tokens(&usage, "output_tokens", -1);
    ret->input_tokens = tokens(&usage, "input_tokens", -1);
    if (ret->input_tokens >= 0)
        ret->input_tokens += tokens(&usage, "cache_creation_input_tokens", 0) +
                             tokens(&usage, "cache_read_input_tokens", 0);
}

static struct str trim(struct str s) {
    while (s.n > 0 && strchr(" \t\r\n", s.p[0]))
        s = (struct str){s.p + 1, s.n - 1};
    while (s.n > 0 && strchr(" \t\r\n", s.p[s.n - 1]))
        s.n--;
    return s;
}

/* The blocks of text, one behind the other; what else there is (thoughts) is not for readers. */
static struct str read_text(struct json_read *content, struct arena *a) {
    struct strbuf b;
    bool first = true;
    strbuf_init(&b, TEXT_MAX);
    json_enter(content);
    for (; json_next_element(content, &first); json_skip(content))
        if (str_eqc(json_text_at(content, "type"), "text"))
            strbuf_add_str(&b, json_text_at(content, "text"));
    struct str text = b.overflow ? STR_NONE : arena_str(a, trim(strbuf_str(&b)));
    strbuf_release(&b);
    return text;
}

static void read_message(const struct json_read *root, struct arena *a,
                         struct anthropic_answer *ret) {
    struct json_read content;
    if (!str_eqc(json_text_at(root, "type"), "message") ||
        path_find(root, STR("content"), &content) != PATH_THERE ||
        json_peek(&content) != JSON_ARRAY) {
        told_garbage(&ret->why, a, "no message");
        return;
    }
    struct str text = read_text(&content, a);
    if (str_eqc(ret->stop_reason, "refusal"))
        told_say(&ret->why, a, TOLD_ROW, "refusal", "the model would not write about this text");
    else if (text.n == 0)
        told_garbage(&ret->why, a, "a message without a text of bearable length");
    else
        ret->text = text;
    ret->cut = text.n > 0 && (str_eqc(ret->stop_reason, "max_tokens") ||
                              str_eqc(ret->stop_reason, "model_context_window_exceeded"));
}

void anthropic_read(const struct heard *h, struct arena *a, struct anthropic_answer *ret) {
    struct json_read root;
    *ret = (struct anthropic_answer){
        .why = {.told = TOLD_FOUND, .wait_ms = -1}, .input_tokens = -1, .output_tokens = -1};
    if (h->cls != NET_OK) {
        read_refusal(h, a, &ret->why);
        return;
    }
    if (!heard_json(h, a, &root) || json_peek(&root) != JSON_OBJECT) {
        told_garbage(&ret->why, a, "no JSON");
        return;
    }
    ret->stop_reason = json_text_at(&root, "stop_reason");
    ret->model = json_text_at(&root, "model");
    read_usage(&root, ret);
    read_message(&root, a, ret);
}
