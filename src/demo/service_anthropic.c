/* Anthropic: a summary for every text. It is of the title alone, and of words that were made up
 * beforehand. */
#include "demo/corpus_int.h"
#include "demo/services_int.h"

#include <string.h>

#define BYTES_PER_TOKEN 4
#define ANSWER_TOKENS 90
#define TITLE_MARK "\"content\":\"Title: "

static const struct str FIRST[] = {
    STR("how a team came to %v its %N, and why the %a %n that it began with did not last."),
    STR("what happens to %N when nobody is left to %v them, by the example of a %a %n."),
    STR("that a %a %n is cheaper than most readers will think, if one can %v it early."),
};
static const struct str SECOND[] = {
    STR("Most of the text compares %N with %N: %d cases, of which the %a ones came off best."),
    STR("The middle part is a guide to the %n in %d steps, with its mistakes left in."),
    STR("The author has kept %N since %y and quotes from the notes of those years."),
};
static const struct str LAST[] = {
    STR("It ends with advice for whoever has a %n to look after, and a warning about %N."),
    STR("Where the numbers come from is said; how the %N were chosen is not."),
    STR("Readers who only want the %n can begin with the last part."),
};

/* The title as the request has it, escaped as JSON, up to the first line's end; absent: it has
 * none. */
static struct str title_of(struct str body) {
    const char *mark = body.n ? memmem(body.p, body.n, TITLE_MARK, sizeof TITLE_MARK - 1) : NULL;
    if (!mark)
        return STR_NONE;
    const char *from = mark + sizeof TITLE_MARK - 1, *end = body.p + body.n, *p = from;
    while (p < end && *p != '"' && !(*p == '\\' && p + 1 < end && p[1] == 'n'))
        p += *p == '\\' ? 2 : 1;
    return p < end ? (struct str){from, (size_t)(p - from)} : STR_NONE;
}

static void add_line(const struct corpus *c, struct rng *r, const struct str *list, size_t n,
                     struct strbuf *out) {
    text_expand(c, r, list[rng_below(r, n)].p, out);
}

static void add_summary(const struct corpus *c, struct str title, struct strbuf *out) {
    uint64_t seed = 1;
    for (size_t i = 0; i < title.n; i++)
        seed = rng_mix(seed + (unsigned char)title.p[i]);
    struct rng r = {seed};
    if (title.n) {
        strbuf_adds(out, "“");
        strbuf_add_str(out, title);
        strbuf_adds(out, "” tells ");
    } else {
        strbuf_adds(out, "The text tells ");
    }
    add_line(c, &r, FIRST, ARRAY_LEN(FIRST), out);
    strbuf_addc(out, ' ');
    add_line(c, &r, SECOND, ARRAY_LEN(SECOND), out);
    strbuf_addc(out, ' ');
    add_line(c, &r, LAST, ARRAY_LEN(LAST), out);
}

static enum MHD_Result refuse(struct request *r) {
    struct strbuf out;
    strbuf_init(&out, 512);
    strbuf_adds(&out, "{\"type\":\"error\",\"error\":{\"type\":\"authentication_error\","
                      "\"message\":\"the demo knows no key but '" DEMO_KEY "'\"}}");
    return reply_json(r->connection, MHD_HTTP_UNAUTHORIZED, &out);
}

enum MHD_Result anthropic_answer(struct request *r, const char *path) {
    struct strbuf out;
    const char *key = service_header(r, "x-api-key");
    struct str body = strbuf_str(&r->body);
    if (strcmp(path, "/v1/messages") != 0)
        return reply_error(r->connection, MHD_HTTP_NOT_FOUND, "Not Found");
    if (!key || strcmp(key, DEMO_KEY) != 0)
        return refuse(r);
    strbuf_init(&out, SERVICE_BODY_MAX);
    strbuf_adds(&out, "{\"id\":\"msg_demo\",\"type\":\"message\",\"role\":\"assistant\","
                      "\"model\":\"demo\",\"content\":[{\"type\":\"text\",\"text\":\"");
    add_summary(r->demo->corpus, title_of(body), &out);
    strbuf_addf(&out,
                "\"}],\"stop_reason\":\"end_turn\",\"stop_sequence\":null,"
                "\"usage\":{\"input_tokens\":%zu,\"output_tokens\":%d}}",
                body.n / BYTES_PER_TOKEN, ANSWER_TOKENS);
    return reply_json(r->connection, MHD_HTTP_OK, &out);
}
