/* Files of sources against the tables that a database really has: the flowsheet as it is shipped,
 * and what is said, with its line, when file and table do not fit. */
#include "fixture_rows.h"

#include "enrich/plan.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHIPPED TAIN_SOURCE_ROOT "/packaging/examples/flowsheet.conf"

static struct enrich_plan plan;

static const char *env(const char *name) {
    return strcmp(name, "LML_URL") == 0 ? "http://127.0.0.1:9" : "s3cret";
}

static void append(struct strbuf *b, const char *text, const char *old, const char *new) {
    const char *at = old ? strstr(text, old) : NULL;
    if (at) {
        strbuf_add(b, text, (size_t)(at - text));
        strbuf_adds(b, new);
        text = at + strlen(old);
    }
    strbuf_adds(b, text);
}

/* The shipped file for the table of this test, with `old` (which must be in it) replaced once. */
static char *file_with(struct fix *f, const char *old, const char *new) {
    static char text[20000], path[100];
    FILE *in = fopen(SHIPPED, "re");
    assert_non_null(in);
    text[fread(text, 1, sizeof text - 1, in)] = '\0';
    fclose(in);
    struct strbuf b, c;
    strbuf_init(&b, sizeof text * 2);
    strbuf_init(&c, sizeof text * 2);
    append(&b, text, "table  = wxyc_schema.flowsheet", "table  = @TABLE@");
    append(&c, strbuf_str(&b).p, "@TABLE@", user_table(f, "flowsheet"));
    strbuf_clear(&b);
    if (old)
        assert_non_null(strstr(strbuf_str(&c).p, old));
    append(&b, strbuf_str(&c).p, old, new);
    snprintf(path, sizeof path, "/tmp/tain-sources-%d.conf", (int)getpid());
    FILE *out = fopen(path, "we");
    assert_non_null(out);
    fputs(strbuf_str(&b).p, out);
    fclose(out);
    strbuf_release(&b);
    strbuf_release(&c);
    return path;
}

static enum verdict open_with(struct fix *f, const char *old, const char *new,
                              struct source **ret_source, struct err *e) {
    char *path = file_with(f, old, new);
    *e = (struct err){0};
    enum verdict v = plan_read(path, env, &f->arena, &plan, e);
    unlink(path);
    if (v != V_OK)
        fail_msg("%s", e->msg);
    return plan_open_sources(&plan, f->s, ret_source, e);
}

static void the_shipped_file_fits_its_table(void **state) {
    struct fix *f = *state;
    struct source *src;
    struct err e;
    assert_ok(open_with(f, NULL, NULL, &src, &e));
    assert_int_equal(plan.sources[0].spec.n_outputs, 10);
    store_source_close(src);
}

static const struct source_column *column_of(void *ctx, size_t i) {
    return source_output(ctx, i);
}

/* A row, its request, an answer, and the row again. */
static void a_row_goes_all_the_way(void **state) {
    struct fix *f = *state;
    struct source *src;
    struct err e;
    struct str path, body;
    struct answer a;
    assert_ok(open_with(f, NULL, NULL, &src, &e));
    add_rows(f, 1);
    x(f, "UPDATE %s SET artist_name = 'a \"quoted\" {name} \\ %%s', album_title = NULL",
      user_table(f, "flowsheet"));
    struct row_claim c = claim_row(f, f->s, src, "1");
    assert_int_equal(c.result, CLAIM_WON);
    assert_ok(request_fill(&plan.sources[0].request, c.row, &f->arena, &path, &body, &e));
    assert_string_equal(body.p,
                        "{\"artist\":\"a \\\"quoted\\\" {name} \\\\ %s\",\"song\":\"song 1\","
                        "\"album\":null,\"raw_message\":\"a \\\"quoted\\\" {name} \\\\ %s -"
                        "  - song 1\"}");
    answer_read(
        &plan.sources[0].answer,
        STR("{\"results\":[{\"artwork\":{\"artwork_url\":\"https://a/\xC3\xBC\","
            "\"release_year\":99999999999999999999,\"artist_bio\":\"a 'b' \\u0000 \\ud800\"}}]}"),
        column_of, src, &f->arena, &a);
    assert_int_equal(a.kind, ANSWER_MATCH);
    assert_true(finalize_row(f->s, src, "1", c.token, ROW_MATCH, a.values.p));
    assert_q("enriched_match|https://a/\xC3\xBC|-|a 'b' \xEF\xBF\xBD \xEF\xBF\xBD", f,
             "SELECT metadata_status, artwork_url, release_year, artist_bio FROM %s",
             user_table(f, "flowsheet"));
    store_source_close(src);
}

static int line_of(const char *text) {
    static char whole[20000];
    FILE *in = fopen(SHIPPED, "re");
    assert_non_null(in);
    whole[fread(whole, 1, sizeof whole - 1, in)] = '\0';
    fclose(in);
    const char *at = strstr(whole, text);
    assert_non_null(at);
    int line = 1;
    for (const char *p = whole; p < at; p++)
        line += *p == '\n';
    return line;
}

static const struct {
    const char *old, *new, *message; /* behind FILE:LINE */
    bool pg_only;                    /* SQLite keeps a time in any column */
} misfits[] = {
    {"key    = id", "key    = idd", "key: "},
    {"key    = id", "key    = artist_name", "key: "},
    {"status = metadata_status", "status = nope", "status: "},
    {"since  = enriching_since", "since  = nope", "since: "},
    {"since  = enriching_since", "since  = artist_name", "since: ", true},
    {"filter = \"entry_type = 'track'\"", "filter = \"entri = 'track'\"", "filter: "},
    {"filter = \"entry_type = 'track'\"", "filter = \"1 = 1; DROP TABLE x\"", "filter: "},
    {"\"{track_title}\"", "\"{track}\"", "request: "},
    {"map bandcamp_url  ", "map bandcamp      ", "map: "},
    {"type = int ", "type = text", "map release_year: type = text does not go into"},
    {"map artist_bio           { type = text", "map artist_bio           { type = int ",
     "map artist_bio: type = int does not go into"},
};

static void misfits_are_told_with_their_line(void **state) {
    struct fix *f = *state;
    for (size_t i = 0; i < ARRAY_LEN(misfits); i++) {
        struct source *src;
        struct err e;
        char want[200];
        if (misfits[i].pg_only && fix_kind != DB_POSTGRES)
            continue;
        enum verdict v = open_with(f, misfits[i].old, misfits[i].new, &src, &e);
        snprintf(want, sizeof want, ".conf:%d: %s", line_of(misfits[i].old), misfits[i].message);
        if (v != V_INVALID || !strstr(e.msg, want))
            fail_msg("%zu: expected %s\n%s %s", i, want, verdict_name(v), e.msg);
        assert_null(src);
    }
}

static void a_table_that_is_not_there(void **state) {
    struct fix *f = *state;
    struct source *src;
    struct err e;
    x(f, "DROP TABLE %s", user_table(f, "flowsheet"));
    assert_int_equal(open_with(f, NULL, NULL, &src, &e), V_INVALID);
    char want[100];
    snprintf(want, sizeof want, ".conf:%d: table: ", line_of("table  = "));
    assert_non_null(strstr(e.msg, want));
}

int source_tests(void) {
    const struct CMUnitTest tests[] = {
        ROWS_CASE(the_shipped_file_fits_its_table),
        ROWS_CASE(a_row_goes_all_the_way),
        ROWS_CASE(misfits_are_told_with_their_line),
        ROWS_CASE(a_table_that_is_not_there),
    };
    return cmocka_run_group_tests_name("sources", tests, NULL, NULL);
}
