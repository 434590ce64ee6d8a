/* A request as a stranger may send it, a line for each part: the URI, then Host, Origin,
 * Sec-Fetch-Site, Last-Event-ID, Authorization, Accept-Encoding, Retry-After (of an upstream). No
 * crash; parameters are UTF-8 without control characters; only a loopback name is let in where no
 * other was given; an id of an event comes back the same from its own text; what is asked of the
 * search API has sound bounds, or is refused with words. */
#include "feed/event.h"
#include "fuzz_target.h"
#include "net/classify.h"
#include "web/address.h"
#include "web/feed_key.h"
#include "web/gzip.h"
#include "web/origin.h"
#include "web/search_api_params.h"
#include "web/server_int.h"

#include <string.h>
#include <strings.h>

static char *next_line(const uint8_t **data, size_t *size) {
    const uint8_t *end = *size ? memchr(*data, '\n', *size) : NULL;
    size_t n = end ? (size_t)(end - *data) : *size;
    char *line = malloc(n + 1);
    FUZZ_REQUIRE(line);
    if (n)
        memcpy(line, *data, n);
    line[n] = '\0';
    n += end != NULL;
    *data += n;
    *size -= n;
    return line;
}

static void require_text(struct str s) {
    for (size_t i = 0, n; i < s.n; i += n) {
        n = utf8_len((const unsigned char *)s.p + i, s.n - i);
        FUZZ_REQUIRE(n > 0 && (unsigned char)s.p[i] >= ' ' && s.p[i] != 0x7f);
    }
}

static void ask_search(const struct call *c) {
    struct search_api_query q;
    struct err e = {0};
    for (int order = 0; order < 2; order++)
        if (search_api_params(c, order ? SEARCH_BY_DATE : SEARCH_BY_RELEVANCE, &q, &e) == V_OK) {
            FUZZ_REQUIRE(q.page >= 0 && q.per_page >= 0 && q.per_page <= SEARCH_API_HITS_MAX);
            FUZZ_REQUIRE(q.q.offset >= 0 && q.q.limit >= 1);
        } else {
            FUZZ_REQUIRE(e.msg[0]);
        }
    CLEANUP(strbuf_release) struct strbuf echo;
    strbuf_init(&echo, (size_t)1 << 20);
    search_api_echo(c, &echo);
    for (size_t i = 0; i < echo.n; i++)
        FUZZ_REQUIRE(echo.p[i] > ' ' && echo.p[i] < 0x7f && echo.p[i] != '"');
}

static void ask_feed(const struct call *c) {
    struct feed_filter f;
    struct err e = {0};
    struct str tables = {0}, actions = {0};
    for (size_t i = 0; i < c->n_params; i++) {
        tables = str_eqc(c->params[i].name, "topics") ? c->params[i].value : tables;
        actions = str_eqc(c->params[i].name, "actions") ? c->params[i].value : actions;
    }
    if (feed_filter_read(tables, actions, &f, &e) == V_OK)
        FUZZ_REQUIRE(f.n_tables <= FEED_FILTER_TABLES);
    else
        FUZZ_REQUIRE(e.msg[0]);
}

static void read_uri(char *uri) {
    static struct request r;
    struct err e = {0};
    memset(&r, 0, sizeof r);
    r.uri = uri;
    r.uri_n = strlen(uri);
    if (r.uri_n > URI_MAX)
        return;
    if (parse_uri(&r, &e) != V_OK) {
        FUZZ_REQUIRE(e.msg[0]);
        return;
    }
    FUZZ_REQUIRE(r.call.path.n > 0 && r.call.path.p[0] == '/' &&
                 r.call.n_params <= CALL_PARAMS_MAX);
    require_text(r.call.path);
    for (size_t i = 0; i < r.call.n_params; i++) {
        require_text(r.call.params[i].name);
        require_text(r.call.params[i].value);
    }
    struct arena a;
    arena_init(&a);
    r.call.arena = &a;
    ask_search(&r.call);
    arena_release(&a);
    r.call.arena = NULL;
    ask_feed(&r.call);
}

static bool is_port(const char *text) {
    return !*text || (*text == ':' && !text[1 + strspn(text + 1, "0123456789")]);
}

static void read_host(const char *host, const char *origin, const char *site) {
    static const char *names[] = {"news.example"};
    const struct host_rule none = {0}, one = {.names = names, .n = 1};
    bool local = host_allowed(&none, str_of(host));
    FUZZ_REQUIRE(!local || strncasecmp(host, "localhost", 9) == 0 ||
                 strncmp(host, "127.", 4) == 0 || host[0] == '[');
    bool named = strncasecmp(host, names[0], strlen(names[0])) == 0;
    if (named) /* and behind it a port, or nothing */
        FUZZ_REQUIRE(host_allowed(&one, str_of(host)) == is_port(host + strlen(names[0])));
    bool ours = origin_is_ours(*site ? str_of(site) : STR_NONE, str_of(origin), str_of(host));
    FUZZ_REQUIRE(!ours || *site || strstr(origin, "://"));
    struct sockaddr_storage a;
    struct err e = {0};
    if (address_parse(host, &a, &e) != V_OK)
        FUZZ_REQUIRE(e.msg[0]);
    unsigned char key[16];
    address_key_of_text(str_of(host), key);
}

static void read_id(const char *text) {
    struct feed_id id, again;
    char own[FEED_ID_MAX];
    if (!feed_id_parse(str_of(text), &id))
        return;
    FUZZ_REQUIRE(id.epoch >= 0 && id.pos >= 0);
    feed_id_format(id, own);
    FUZZ_REQUIRE(feed_id_parse(str_of(own), &again) && again.epoch == id.epoch &&
                 again.pos == id.pos);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { URI, HOST, ORIGIN, SITE, LAST, KEY, ENCODING, RETRY, LINES };
    char *line[LINES];
    for (int i = 0; i < LINES; i++)
        line[i] = next_line(&data, &size);
    read_uri(line[URI]);
    read_host(line[HOST], line[ORIGIN], line[SITE]);
    read_id(line[LAST]);
    struct str key = bearer_of(str_of(line[KEY]));
    FUZZ_REQUIRE(!key.p || (key.p >= line[KEY] && key.p + key.n <= line[KEY] + strlen(line[KEY])));
    (void)gzip_accepted(line[ENCODING]);
    FUZZ_REQUIRE(net_retry_after_ms(line[RETRY], 1700000000000) >= -1);
    for (int i = 0; i < LINES; i++)
        free(line[i]);
    return 0;
}
