#include "enrich/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct arena arena;
static struct enrich_plan plan;
static char path[] = "/tmp/tain-plan-XXXXXX";

static int set_up(void **state) {
    (void)state;
    strcpy(path, "/tmp/tain-plan-XXXXXX");
    int fd = mkstemp(path);
    if (fd < 0)
        return -1;
    close(fd);
    arena_init(&arena);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    arena_release(&arena);
    return unlink(path);
}

static const char *env(const char *name) {
    static const char *const table[][2] = {
        {"URL", "https://lookup.example:8443/base/"},
        {"LML_URL", "http://127.0.0.1:9"},
        {"LML_TOKEN", "s3cret-token"},
        {"EMPTY", ""},
        {"FIVE", "5"},
        {"LINES", "a\r\nInjected: 1"},
        {"QUOTE", "top\"secret"},
        {"BRACE", "top{secret"},
        {"BYTES", "\xFF\xFE"},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (strcmp(table[i][0], name) == 0)
            return table[i][1];
    return NULL;
}

static enum verdict read_text(const char *text, struct err *e) {
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    *e = (struct err){0};
    return plan_read(path, env, &arena, &plan, e);
}

static void must_read(const char *text) {
    struct err e;
    if (read_text(text, &e) != V_OK)
        fail_msg("%s", e.msg);
}

#define PROVIDER "provider p { url = \"http://h\" rate = 1/s }\n"
#define REQUEST "request { path = \"/\" }\n"
#define SOURCE \
    PROVIDER   \
    "source s {\nprovider = p\ntable = t\nkey = id\nstatus = st\nmatch = r\n" REQUEST

/* ---- what is read */

static void the_example_is_read(void **state) {
    (void)state;
    struct err e = {0};
    if (plan_read(FLOWSHEET_CONF, env, &arena, &plan, &e) != V_OK)
        fail_msg("%s", e.msg);
    const struct provider *p = &plan.providers[0];
    assert_int_equal(plan.n_providers, 1);
    assert_string_equal(p->name.p, "lml");
    assert_string_equal(p->url.p, "http://127.0.0.1:9");
    assert_int_equal(p->limits.per_window, 50);
    assert_int_equal(p->limits.window_ms, 60000);
    assert_int_equal(p->limits.slots, 5);
    assert_int_equal(p->timeout_ms, 30000);
    assert_int_equal(p->n_headers, 1);
    assert_string_equal(p->headers[0].p, "Authorization: Bearer s3cret-token");
    const struct plan_source *s = &plan.sources[0];
    assert_int_equal(plan.n_sources, 1);
    assert_ptr_equal(s->provider, p);
    assert_string_equal(s->spec.name.p, "flowsheet");
    assert_string_equal(s->spec.table.p, "wxyc_schema.flowsheet");
    assert_string_equal(s->spec.key.p, "id");
    assert_string_equal(s->spec.filter.p, "entry_type = 'track'");
    assert_string_equal(s->spec.status.p, "metadata_status");
    assert_string_equal(s->spec.since.p, "enriching_since");
    static const char *const states[] = {"pending", "enriching", "enriched_match",
                                         "enriched_no_match", "failed_no_retry"};
    for (int i = 0; i < ROW_STATES; i++)
        assert_string_equal(s->spec.states[i].p, states[i]);
    assert_int_equal(s->spec.n_inputs, 3);
    assert_string_equal(s->spec.inputs[0].p, "artist_name");
    assert_string_equal(s->spec.inputs[1].p, "track_title");
    assert_string_equal(s->spec.inputs[2].p, "album_title");
    assert_string_equal(s->topic.p, "liveFs:update");
    assert_int_equal(s->max_attempts, 5);
    assert_int_equal(s->recheck_ms, 0);
    assert_int_equal(s->lines.inputs[1], s->lines.inputs[0] + 1);
    assert_int_equal(s->lines.states[1], s->lines.states[0] + 1);
}

static struct str filled(const struct plan_source *s, const char *row, struct str *ret_path) {
    struct str body;
    struct err e = {0};
    if (request_fill(&s->request, str_of(row), &arena, ret_path, &body, &e) != V_OK)
        fail_msg("%s", e.msg);
    return body;
}

static void the_example_asks_and_understands(void **state) {
    (void)state;
    struct err e = {0};
    struct str request_path;
    struct answer a;
    assert_int_equal(plan_read(FLOWSHEET_CONF, env, &arena, &plan, &e), V_OK);
    const struct plan_source *s = &plan.sources[0];
    struct str body = filled(s,
                             "{\"artist_name\":\"Sun Ra\",\"album_title\":null,"
                             "\"track_title\":\"Space\"}",
                             &request_path);
    assert_string_equal(s->request.method.p, "POST");
    assert_string_equal(request_path.p, "/api/v1/lookup");
    assert_string_equal(body.p, "{\"artist\":\"Sun Ra\",\"song\":\"Space\",\"album\":null,"
                                "\"raw_message\":\"Sun Ra -  - Space\"}");
    struct str answer =
        STR("{\"results\":[{\"library_item\":{},\"artwork\":{\"artwork_url\":\"https://a/1\","
            "\"release_url\":\"https://d/2\",\"release_year\":0,\"artist_bio\":\"b\","
            "\"wikipedia_url\":\"javascript:1\",\"confidence\":0.9}}],\"search_type\":\"x\","
            "\"timeout\":false,\"degraded\":false}");
    answer_read(&s->answer, answer, NULL, NULL, &arena, &a);
    assert_int_equal(a.kind, ANSWER_MATCH);
    assert_string_equal(a.values.p,
                        "{\"artwork_url\":\"https://a/1\",\"discogs_url\":\"https://d/2\","
                        "\"spotify_url\":null,\"apple_music_url\":null,"
                        "\"youtube_music_url\":null,\"bandcamp_url\":null,"
                        "\"soundcloud_url\":null,\"artist_wikipedia_url\":null,"
                        "\"release_year\":null,\"artist_bio\":\"b\"}");
    answer_read(&s->answer, STR("{\"results\":[],\"degraded\":true}"), NULL, NULL, &arena, &a);
    assert_int_equal(a.kind, ANSWER_UNSURE);
    answer_read(&s->answer, STR("{\"results\":[],\"timeout\":true}"), NULL, NULL, &arena, &a);
    assert_int_equal(a.kind, ANSWER_UNSURE);
    answer_read(&s->answer, STR("{\"results\":[],\"timeout\":false}"), NULL, NULL, &arena, &a);
    assert_int_equal(a.kind, ANSWER_NO_MATCH);
}

static void defaults_are_there(void **state) {
    (void)state;
    must_read(SOURCE "}");
    const struct provider *p = &plan.providers[0];
    const struct plan_source *s = &plan.sources[0];
    assert_int_equal(p->limits.slots, 1);
    assert_int_equal(p->limits.per_window, 1);
    assert_int_equal(p->limits.window_ms, 1000);
    assert_int_equal(p->timeout_ms, 30000);
    assert_int_equal(p->n_headers, 0);
    assert_string_equal(s->spec.states[ROW_BUSY].p, "enriching");
    assert_string_equal(s->request.method.p, "GET");
    assert_null(s->request.body.p);
    assert_null(s->spec.since.p);
    assert_null(s->spec.filter.p);
    assert_null(s->topic.p);
    assert_int_equal(s->max_attempts, 5);
    assert_int_equal(s->recheck_ms, 0);
    assert_int_equal(s->answer.n_map, 0);
    assert_int_equal(s->answer.n_unsure, 0);
}

static void all_kinds_of_values(void **state) {
    (void)state;
    must_read("provider p { url=\"http://h/\" rate=\"2000 / h\" slots=none timeout=500ms\n"
              "headers = { \"X-Key: 1\", 'Accept: a/b' } }\n"
              "provider q { url=https://h:1/x/ rate=none slots=1024 timeout=\"2 min\" }\n"
              "source s { provider=q table='\"Odd\".t' key=id status=st match=\"a.b\"\n"
              "  unsure = late max_attempts=1 recheck=30d topic=x:y\n"
              "  request { path='/{id}' }\n"
              "  map a { from=a type=text max=10 misfit=cut none='' }\n"
              "  map b { from=b type=json }\n"
              "  map c { from=c type=bool misfit=fail } }\n");
    const struct provider *p = plan.providers;
    assert_string_equal(p[0].url.p, "http://h");
    assert_int_equal(p[0].limits.per_window, 2000);
    assert_int_equal(p[0].limits.window_ms, 3600000);
    assert_int_equal(p[0].limits.slots, 0);
    assert_int_equal(p[0].timeout_ms, 500);
    assert_int_equal(p[0].n_headers, 2);
    assert_string_equal(p[0].headers[1].p, "Accept: a/b");
    assert_string_equal(p[1].url.p, "https://h:1/x");
    assert_int_equal(p[1].limits.per_window, 0);
    assert_int_equal(p[1].limits.slots, 1024);
    assert_int_equal(p[1].timeout_ms, 120000);
    const struct plan_source *s = &plan.sources[0];
    assert_ptr_equal(s->provider, &p[1]);
    assert_string_equal(s->spec.table.p, "\"Odd\".t");
    assert_int_equal(s->answer.n_unsure, 1);
    assert_int_equal(s->max_attempts, 1);
    assert_int_equal(s->recheck_ms, 30LL * 86400000);
    assert_int_equal(s->answer.n_map, 3);
    assert_int_equal(s->spec.n_outputs, 3);
    assert_string_equal(s->spec.outputs[2].p, "c");
    assert_int_equal(s->answer.map[0].misfit, MISFIT_CUT);
    assert_int_equal(s->answer.map[0].max, 10);
    assert_int_equal(s->answer.map[0].none.n, 0);
    assert_non_null(s->answer.map[0].none.p);
    assert_null(s->answer.map[1].none.p);
    assert_int_equal(s->answer.map[1].type, MAP_JSON);
}

static void variables_are_filled_in(void **state) {
    (void)state;
    must_read("provider p { url = ${URL} rate = 1/s slots = \"${FIVE}\"\n"
              "# ${NOT_SET} in a comment is nothing\n"
              "headers = { 'A: <${FIVE}${FIVE}>', \"B: $${FIVE} \\${FIVE} $ {\" } }\n"
              "source s { provider = p table = t key = id status = st match = m\n"
              "request { path = '/' } }");
    const struct provider *p = plan.providers;
    assert_string_equal(p->url.p, "https://lookup.example:8443/base");
    assert_int_equal(p->limits.slots, 5);
    assert_string_equal(p->headers[0].p, "A: <55>");
    assert_string_equal(p->headers[1].p, "B: ${FIVE} ${FIVE} $ {");
}

/* ---- mistakes */

static const struct {
    const char *text;
    int line;
    const char *message; /* in it */
} mistakes[] = {
    {"", 1, "there is no source in it"},
    {PROVIDER, 1, "there is no source in it"},
    {PROVIDER "nonsense", 2, "nonsense: unknown key; the keys are provider source"},
    {"provder p {}", 1, "provder: unknown key; did you mean provider?"},
    {"provider p { ulr = x }", 1, "ulr: unknown key of a provider; did you mean url?"},
    {SOURCE "map x {\nfrom = a\ntpye = int } }", 11,
     "tpye: unknown key of a map; did you mean type?"},
    {SOURCE "\nstates { done = x } }", 10, "done: unknown key of a states; the keys are pending"},
    {"provider {", 1, "this { is never closed"},
    {"provider { }", 1, "missing title for section 'provider'; give it a name"},
    {"\nprovider p {\nurl = x", 2, "this { is never closed"},
    {SOURCE "map x {\n }", 2, "this { is never closed"}, /* the source's: the map's is */
    {PROVIDER "}", 2, "unexpected closing brace"},
    {"provider p { url\n}", 2, "missing equal sign after option 'url'"},
    {"provider p { url = }", 1, "unexpected token '}'"},
    {"provider p { url = \"x", 1, "this quoted text never ends; close it"},
    {"\n/* x", 2, "this comment never ends; close it"},
    {"provider p { url = x\nurl = y }", 2, "url: already given in line 1; give it once"},
    {"provider p { headers = {\"A: b\"}\nheaders = {\"B: b\"} }", 2,
     "headers: already given in line 1"},
    {"provider p { url += x }", 1, "attempt to append"},
    {"\x01", 1, "a control character"},
    {"\n\xFF", 2, "not UTF-8"},
    /* providers */
    {"provider p { rate = 1/s }", 1, "provider p: url is missing; write url = \"https://HOST\""},
    {"provider p { url = \"http://h\" }", 1, "provider p: rate is missing"},
    {"provider 'p q' { }", 1, "provider p q: a name has letters"},
    {"\nprovider reddit { }", 2, "provider reddit: the lane of this name is that of links"},
    {"provider hn { }", 1, "provider hn: the lane of this name"},
    {"\n\nprovider anthropic { }", 3, "provider anthropic: the lane of this name"},
    {"provider p { url = \" \" }", 1, "url: is empty"},
    {"provider p { url = ftp://h }", 1, "url: ftp://h: expected http://HOST"},
    {"provider p { url = \"http://u:p@h\" }", 1, "that goes into token or headers"},
    {"provider p { url = \"http://h?x\" }", 1, "expected http://HOST"},
    {"provider p { url = \"http://h x\" }", 1, "expected http://HOST"},
    {"provider p { url = \"http://h\"\nrate = 50 }", 2, "rate: 50: expected calls per time"},
    {"provider p { url = \"http://h\"\nrate = 0/s }", 2, "expected calls per time"},
    {"provider p { url = \"http://h\"\nrate = 5/week }", 2, "expected calls per time"},
    {"provider p { url = \"http://h\"\nrate = -1/s }", 2, "expected calls per time"},
    {"provider p { url = \"http://h\" rate = 1/s\nslots = 0 }", 2,
     "slots: 0: expected a number from 1 to 1024"},
    {"provider p { url = \"http://h\" rate = 1/s\nslots = 1025 }", 2, "expected a number"},
    {"provider p { url = \"http://h\" rate = 1/s\nslots = many }", 2, "expected a number"},
    {"provider p { url = \"http://h\" rate = 1/s\n\ntimeout = soon }", 3,
     "timeout: soon: expected a time such as"},
    {"provider p { url = \"http://h\" rate = 1/s\ntimeout = 1h }", 2, "from 100ms to 600s"},
    {"provider p { url = \"http://h\" rate = 1/s\ntimeout = 99999999999999999999s }", 2,
     "expected a time"},
    {"provider p { url = \"http://h\" rate = 1/s headers = {\n\"A: b\",\n\"nope\"} }", 3,
     "headers: expected \"Name: value\""},
    {"provider p { url = \"http://h\" rate = 1/s headers = \"A B: x\" }", 1, "expected \"Name"},
    {"provider p { url = \"http://h\" rate = 1/s headers = \"A:\" }", 1, "expected \"Name"},
    {"provider p { url = \"http://h\" rate = 1/s headers = \"A: x\\ny: z\" }", 1,
     "expected \"Name"},
    {"provider p { url = \"http://h\" rate = 1/s headers = \"host: x\" }", 1,
     "headers: tain says host itself"},
    {"provider p { url = \"http://h\" rate = 1/s token = x headers = \"authorization: x\" }", 1,
     "there is such a header already"},
    {PROVIDER "provider p { url = x }", 2, "p is there already"},
    /* sources */
    {PROVIDER "source s {\n}", 2, "source s: provider is missing; write provider = NAME"},
    {PROVIDER "source s { provider = q }", 2, "provider: q: there is none of that name; did you"},
    {PROVIDER "source s { provider = nobody }", 2, "write provider NAME { ... } too"},
    {PROVIDER "source s { provider = p }", 2, "source s: table is missing"},
    {PROVIDER "source s { provider = p table = t }", 2, "source s: key is missing"},
    {PROVIDER "source s { provider = p table = t key = id }", 2, "source s: status is missing"},
    {PROVIDER "source s {\nprovider = p table = t key = id status = s }", 2,
     "source s: request is missing"},
    {PROVIDER "source s {\nprovider = p table = t key = id status = s\n" REQUEST "}", 2,
     "source s: match is missing"},
    {SOURCE "}\nsource s { }", 10, "s is there already"},
    {SOURCE "match = y\n}", 9, "match: already given in line 7"},
    {SOURCE "\nfilter = \"\" }", 10, "filter: is empty"},
    {SOURCE "max_attempts = 0 }", 9, "max_attempts: 0: expected a number from 1 to 1000"},
    {SOURCE "recheck = 1s }", 9, "recheck: 1s: expected never or a time"},
    {SOURCE "topic = \"a b\" }", 9, "topic: a name without blanks"},
    {SOURCE "unsure = { \"a\",\n\"b..c\" } }", 10, "unsure: b..c: not a path; write it like"},
    {SOURCE REQUEST "}", 9, "request: already given in line 8"},
    {SOURCE "states { pending = a }\nstates { busy = a } }", 10, "states: already given in line 9"},
    {SOURCE "states {\npending = a\nbusy = a } }", 11, "states: pending and busy are the same"},
    {SOURCE "states {\nbusy = pending } }", 10, "states: pending and busy are the same"},
    {SOURCE "map x { } }", 9, "map x: from is missing"},
    {SOURCE "map x {\nfrom = a.\n} }", 10, "from: a.: not a path"},
    {SOURCE "map x { from = a type = integer } }", 9,
     "type: integer: expected one of text, url, int, real, bool, json"},
    {SOURCE "map x { from = a max = 0 } }", 9, "max: 0: expected a number"},
    {SOURCE "map x { from = a type = int\nmax = 5 } }", 10, "max: counts characters"},
    {SOURCE "map x { from = a type = url\nmisfit = cut } }", 10, "misfit: only type = text"},
    {SOURCE "map x { from = a misfit = drop } }", 9, "misfit: drop: expected one of fail, null"},
    {SOURCE "map x { from = a }\nmap x { from = a } }", 10, "x is there already"},
    {SOURCE "map st { from = a } }", 9, "map st: this is the column of status"},
    {SOURCE "map '' { from = a } }", 9, "map: name the column"},
    /* templates */
    {PROVIDER "source s { provider=p table=t key=k status=s match=m request {\npath = x } }", 3,
     "path: must begin with a slash"},
    {PROVIDER "source s { provider=p table=t key=k status=s match=m request {\nbody = '{}' } }", 2,
     "request: path is missing"},
    {PROVIDER "source s { provider=p table=t key=k status=s match=m request {\npath = '/'\n"
              "body = '{\n\"a\": 1,\n\"b\": oops\n}' } }",
     6, "body: not JSON: "},
    {PROVIDER "source s { provider=p table=t key=k status=s match=m request {\npath = '/'\n"
              "body = '{\n\"a\": \"{x}\",\n\"b\": \"{y\"\n}' } }",
     6, "body: write a place as {column}"},
    {PROVIDER "source s { provider=p table=t key=k status=s match=m request {\npath = '/'\n"
              "method = GET body = '{}' } }",
     4, "body: a GET has none"},
    {PROVIDER "source s { provider=p table=t key=k status=s match=m request {\npath = '/'\n"
              "method = PUT } }",
     4, "method: PUT: expected one of GET, POST"},
    /* the environment */
    {"\nprovider p {\nurl = ${NOT_SET} }", 3,
     "the environment variable NOT_SET is not set; set it, or write the value here"},
    {"provider p {\nurl = \"${EMPTY}\" }", 2, "the environment variable EMPTY is empty"},
    {"provider p { url = \"${BYTES}\" }", 1, "the environment variable BYTES is not UTF-8"},
    {"provider p {\nurl = '${}' }", 2, "${ begins the name of an environment variable"},
    {"provider p { url = '${A B}' }", 1, "${ begins the name"},
    {"provider p { url = ${9A} }", 1, "${ begins the name"},
    {"provider p { url = '${A", 1, "this quoted text never ends"},
    {"provider p { url = \"a\\x00b\" }", 1, "no numbers behind a backslash"},
    {"provider p { url = \"a\\0b\" }", 1, "no numbers behind a backslash"},
};

static void mistakes_are_told_with_their_line(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(mistakes); i++) {
        struct err e;
        char start[100];
        enum verdict v = read_text(mistakes[i].text, &e);
        snprintf(start, sizeof start, "%s:%d: ", path, mistakes[i].line);
        if (v != V_INVALID || strncmp(e.msg, start, strlen(start)) != 0 ||
            !strstr(e.msg, mistakes[i].message))
            fail_msg("%zu: expected %s%s\n%s", i, start, mistakes[i].message, e.msg);
    }
}

/* Whatever is wrong with a value of the environment, it is not shown. */
static void secrets_are_never_shown(void **state) {
    (void)state;
    static const char *const texts[] = {
        "provider p { url = \"${LML_TOKEN}\" rate = 1/s }",
        "provider p { url = \"http://user:s3cret@h\" rate = 1/s }",
        "provider p { url = \"http://h\" rate = ${LML_TOKEN} }",
        "provider p { url = \"http://h\" rate = 1/s slots = ${LML_TOKEN} }",
        "provider p { url = \"http://h\" rate = 1/s timeout = ${LML_TOKEN} }",
        "provider p { url = \"http://h\" rate = 1/s token = \"${LINES} s3cret\" }",
        "provider p { url = \"http://h\" rate = 1/s headers = \"${LML_TOKEN}\" }",
        "provider p { url = \"http://h\" rate = 1/s headers = {\"A: ${LML_TOKEN}\", "
        "\"A: ${LML_TOKEN}\"} }",
        PROVIDER "source s { provider = ${LML_TOKEN} }",
        SOURCE "topic = \"${LML_TOKEN} x\" }",
        SOURCE "recheck = \"${LML_TOKEN}\" }",
        SOURCE "unsure = \"${LML_TOKEN}.\" }",
        SOURCE "map x { from = a type = ${LML_TOKEN} } }",
        PROVIDER "source s { provider=p table=t key=k status=s match=m request { path = '/'\n"
                 "body = '{ \"a\": \"${QUOTE}\" }' } }",
        PROVIDER "source s { provider=p table=t key=k status=s match=m request { path = '/'\n"
                 "body = '{ \"a\": \"${BRACE}\" }' } }",
        PROVIDER "source s { provider=p table=t key=k status=s match=m request {\n"
                 "path = '/${BRACE}' } }",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct err e;
        enum verdict v = read_text(texts[i], &e);
        if (v != V_INVALID || strstr(e.msg, "s3cret") || strstr(e.msg, "secret") ||
            strstr(e.msg, "Injected"))
            fail_msg("%zu: %s", i, e.msg);
    }
}

static void files_that_are_none(void **state) {
    (void)state;
    struct err e;
    assert_int_equal(plan_read("/nonexistent/x", env, &arena, &plan, &e), V_INVALID);
    assert_string_equal(e.msg, "/nonexistent/x: No such file or directory");
    assert_int_equal(plan_read("/tmp", env, &arena, &plan, &e), V_INVALID);
    assert_non_null(strstr(e.msg, "/tmp: Is a directory"));
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    for (int i = 0; i < (1 << 20) + 1; i++)
        fputc('\n', f);
    fclose(f);
    assert_int_equal(plan_read(path, env, &arena, &plan, &e), V_INVALID);
    assert_non_null(strstr(e.msg, "larger than 1 MiB"));
}

static void numbers_have_limits(void **state) {
    (void)state;
    struct strbuf b;
    struct err e;
    strbuf_init(&b, 100000);
    for (int i = 0; i <= PLAN_PROVIDERS_MAX; i++)
        strbuf_addf(&b, "provider p%d { url = \"http://h\" rate = 1/s }\n", i);
    assert_int_equal(read_text(strbuf_str(&b).p, &e), V_INVALID);
    assert_non_null(strstr(e.msg, ":17: more than 16 providers"));
    strbuf_clear(&b);
    strbuf_adds(&b, SOURCE);
    for (int i = 0; i <= SOURCE_COLUMNS_MAX; i++)
        strbuf_addf(&b, "map c%d { from = a }\n", i);
    strbuf_addc(&b, '}');
    assert_int_equal(read_text(strbuf_str(&b).p, &e), V_INVALID);
    assert_non_null(strstr(e.msg, ":69: map: more than 60 columns"));
    strbuf_release(&b);
}

/* Windows' line ends, and as few lines as possible. */
static void line_ends_do_not_matter(void **state) {
    (void)state;
    struct err e;
    must_read("provider p {\r\nurl = \"http://h\"\r\nrate = 1/s\r\n}\r\nsource s { provider = p "
              "table = t key = id status = st match = m request { path = '/' } }\r\n");
    assert_int_equal(read_text("provider p {\r\nurl = \"http://h\"\r\nrate = x }\r\n", &e),
                     V_INVALID);
    assert_non_null(strstr(e.msg, ":3: rate"));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(the_example_is_read),     CASE(the_example_asks_and_understands),
        CASE(defaults_are_there),      CASE(all_kinds_of_values),
        CASE(variables_are_filled_in), CASE(mistakes_are_told_with_their_line),
        CASE(secrets_are_never_shown), CASE(files_that_are_none),
        CASE(numbers_have_limits),     CASE(line_ends_do_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
