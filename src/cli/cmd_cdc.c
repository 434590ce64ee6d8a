#include "base/shown.h"
#include "cli/archive.h"
#include "cli/cdc_tail.h"
#include "cli/cdc_verbs.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "store/cdc.h"
#include "store/feed.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SHOWN_MAX ((size_t)1 << 20)

#define REPORT_MAX ((size_t)16 * 1024 * 1024)

int cdc_usage(const char *text) {
    fprintf(stderr, "tain cdc: %s\nTry 'tain cdc --help'.\n", text);
    return EXIT_USAGE;
}

int cdc_fail(enum verdict v, const struct err *e) {
    fprintf(stderr, "tain cdc: %s\n", e->msg);
    return v == V_INVALID ? EXIT_USAGE : EXIT_FAILED;
}

/* One name of a list, up to a comma; in double quotes it may hold one. Answers what is left, NULL
 * when it is no name. */
static const char *take_name(const char *p, char *out, struct str *ret) {
    size_t n = 0;
    if (*p == '"') {
        for (p++; *p && !(*p == '"' && p[1] != '"'); p++) {
            out[n++] = *p;
            p += *p == '"';
        }
        if (*p++ != '"')
            return NULL;
    } else {
        while (*p && *p != ',' && *p != '"')
            out[n++] = *p++;
    }
    *ret = (struct str){out, n};
    return n && (!*p || *p == ',') ? p : NULL;
}

static bool split_names(const char *text, struct arena *a, struct str **ret, size_t *ret_n) {
    *ret = arena_alloc(a, CDC_COLUMNS_MAX * sizeof **ret);
    *ret_n = 0;
    for (const char *p = text; *ret_n < CDC_COLUMNS_MAX; p++) {
        p = take_name(p, arena_alloc(a, strlen(p) + 1), &(*ret)[*ret_n]);
        if (!p)
            return false;
        ++*ret_n;
        if (!*p)
            return true;
    }
    return false;
}

static void add_text(struct strbuf *b, const char *name, struct str s) {
    strbuf_addf(b, ",\"%s\":", name);
    if (s.p)
        strbuf_add_json(b, s);
    else
        strbuf_adds(b, "null");
}

static void add_table_json(struct strbuf *b, const struct cdc_table *t) {
    strbuf_addf(b, "{\"number\":%d", t->number);
    add_text(b, "schema", t->schema);
    add_text(b, "table", t->name);
    strbuf_addf(b, ",\"built_in\":%s,\"public\":%s,\"present\":%s", t->built_in ? "true" : "false",
                t->is_public ? "true" : "false", t->present ? "true" : "false");
    add_text(b, "key", t->key.n ? t->key : STR_NONE);
    add_text(b, "columns", t->columns);
    add_text(b, "trouble", t->trouble);
    add_text(b, "mend", t->mend);
    strbuf_addf(b, ",\"failures\":%" PRId64 "}", t->failures);
}

static void print_json(const struct cdc_table *tables, size_t n) {
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, REPORT_MAX);
    strbuf_adds(&b, "{\"command\":\"cdc\",\"tables\":[");
    for (size_t i = 0; i < n; i++) {
        strbuf_adds(&b, i ? "," : "");
        add_table_json(&b, &tables[i]);
    }
    strbuf_adds(&b, "]}\n");
    fwrite(b.p, 1, b.n, stdout);
}

/* Names are what whoever made the table says they are. */
static struct str shown(struct arena *a, struct str s) {
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, SHOWN_MAX);
    strbuf_add_shown(&b, s);
    return arena_str(a, strbuf_str(&b));
}

static void print_row(struct arena *a, const struct cdc_table *t) {
    char name[160];
    snprintf(name, sizeof name, "%.*s.%.*s", STR_FMT(t->schema), STR_FMT(t->name));
    struct str key = shown(a, t->key.n ? t->key : STR("-"));
    struct str columns = shown(a, t->columns.p ? t->columns : STR("all"));
    printf("%-32s %-8s %-20.*s %-20.*s ", shown(a, str_of(name)).p,
           t->is_public ? "public" : "private", STR_FMT(key), STR_FMT(columns));
    struct str state = shown(a, t->trouble.p ? t->trouble : STR("logged"));
    printf("%.*s", STR_FMT(state));
    if (t->failures)
        printf("; %" PRId64 " change%s wait%s to be healed", t->failures,
               t->failures == 1 ? "" : "s", t->failures == 1 ? "s" : "");
    fputc('\n', stdout);
    struct str mend = shown(a, t->mend);
    if (t->mend.p)
        printf("    %.*s\n", STR_FMT(mend));
}

static int verb_install(const struct settings *s, struct store *store) {
    CLEANUP(arena_release) struct arena a;
    struct cdc_install ask = {.table = str_of(s->table), .is_public = s->is_public};
    struct cdc_table t;
    struct str *names = NULL;
    struct err e = {0};
    arena_init(&a);
    if (s->columns && !split_names(s->columns, &a, &names, &ask.n_columns))
        return cdc_usage("--columns: give names with commas between them, and one with a comma or "
                         "a quote in it in double quotes");
    ask.columns = names;
    enum verdict v = store_cdc_install(store, &ask, &a, &t, &e);
    if (v != V_OK)
        return cdc_fail(v, &e);
    if (s->json) {
        print_json(&t, 1);
        return EXIT_DONE;
    }
    struct str schema = shown(&a, t.schema), name = shown(&a, t.name), key = shown(&a, t.key);
    struct str columns = shown(&a, t.columns.p ? t.columns : STR("all columns"));
    printf("%.*s.%.*s is logged from now on: %s%.*s, %.*s%s\n", STR_FMT(schema), STR_FMT(name),
           t.key.n ? "key " : "no key", STR_FMT(key), STR_FMT(columns),
           t.is_public ? ", public" : "");
    return EXIT_DONE;
}

static int verb_remove(const struct settings *s, struct store *store) {
    struct err e = {0};
    enum verdict v = store_cdc_remove(store, str_of(s->table), &e);
    if (v != V_OK)
        return cdc_fail(v, &e);
    if (s->json)
        print_json(NULL, 0);
    else
        printf("%s is not logged any more; what was logged stays until it is pruned\n", s->table);
    return EXIT_DONE;
}

static int verb_list(const struct settings *s, struct store *store) {
    CLEANUP(arena_release) struct arena a;
    const struct cdc_table *tables;
    size_t n;
    struct err e = {0};
    arena_init(&a);
    enum verdict v = store_cdc_list(store, &a, &tables, &n, &e);
    if (v != V_OK)
        return cdc_fail(v, &e);
    if (s->json) {
        print_json(tables, n);
        return EXIT_DONE;
    }
    printf("%-32s %-8s %-20s %-20s %s\n", "table", "for", "key", "columns", "state");
    for (size_t i = 0; i < n; i++)
        print_row(&a, &tables[i]);
    return EXIT_DONE;
}

static int verb_new_epoch(const struct settings *s, struct store *store) {
    int64_t epoch = 0;
    struct err e = {0};
    enum verdict v = store_feed_new_epoch(store, &epoch, &e);
    if (v != V_OK)
        return cdc_fail(v, &e);
    if (s->json)
        printf("{\"command\":\"cdc\",\"epoch\":%" PRId64 "}\n", epoch);
    else
        printf("epoch %" PRId64 " begins; readers that stood further than this archive are told "
               "so\n",
               epoch);
    return EXIT_DONE;
}

/* The choices of the command's first word, in commands.c, are these names. */
static const struct cdc_verb verbs[] = {
    {"install", verb_install, CDC_TABLE | CDC_COLUMNS | CDC_PUBLIC, CDC_TABLE, true},
    {"remove", verb_remove, CDC_TABLE, CDC_TABLE, false},
    {"list", verb_list, 0, 0, false},
    {"new-epoch", verb_new_epoch, 0, 0, false},
    {"tail", cdc_tail, CDC_FEED, 0, false},
};

static int check_options(const struct settings *s, const struct cdc_verb *v) {
    const struct {
        unsigned bit;
        bool given;
        const char *name;
    } options[] = {
        {CDC_TABLE, s->table != NULL, "--table"},
        {CDC_COLUMNS, s->columns != NULL, "--columns"},
        {CDC_PUBLIC, s->is_public, "--public"},
        {CDC_FEED, s->since != NULL, "--since"},
        {CDC_FEED, s->tables != NULL, "--tables"},
        {CDC_FEED, s->actions != NULL, "--actions"},
        {CDC_FEED, settings_origin(s, "follow") != ORIGIN_DEFAULT, "--follow"},
    };
    char text[120];
    for (size_t i = 0; i < ARRAY_LEN(options); i++) {
        bool taken = v->takes & options[i].bit;
        if (options[i].given && !taken)
            snprintf(text, sizeof text, "%s does not belong to %s", options[i].name, v->name);
        else if (!options[i].given && (v->wants & options[i].bit))
            snprintf(text, sizeof text, "%s wants %s", v->name, options[i].name);
        else
            continue;
        return cdc_usage(text);
    }
    return 0;
}

int cmd_cdc(struct settings *s) {
    const struct cdc_verb *v = verbs;
    while (strcmp(v->name, s->words.items[0]) != 0)
        v++;
    int code = check_options(s, v);
    if (code)
        return code;
    struct store *store = NULL;
    code = archive_open(s, v->writes && !s->no_migrate ? SCHEMA_MIGRATE : SCHEMA_REQUIRE, &store);
    if (code == 0)
        code = v->run(s, store);
    store_close(store);
    return code;
}
