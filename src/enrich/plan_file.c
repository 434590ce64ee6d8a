#include "enrich/plan_int.h"

#include "base/conf_text.h"
#include "base/suggest.h"

#include <confuse.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES_MAX 4096

/* A value as it came by, under the section that libConfuse was in. */
struct seen {
    const cfg_t *section;
    const cfg_opt_t *opt;
    struct conf_entry entry;
};

/* libConfuse hands its callbacks no pointer of ours, so what they fill stands here while a file
 * is being read. */
static struct {
    struct plan_reader *r;
    struct seen *seen; /* [ENTRIES_MAX] */
    size_t n;
    bool failed;
} loading;

static int give_up(enum verdict v) {
    loading.failed |= v != V_OK;
    return -1;
}

static const struct seen *seen_before(const cfg_t *section, const cfg_opt_t *opt) {
    for (size_t i = 0; i < loading.n; i++)
        if (loading.seen[i].section == section && loading.seen[i].opt == opt)
            return &loading.seen[i];
    return NULL;
}

/* A value is heard of at its end. One with line ends in it began where the text over several lines
 * did that ends there, if there is one: "\n" makes line ends too. */
static int line_of_value(const char *value, int end) {
    for (size_t i = 0; strchr(value, '\n') && i < loading.r->n_spans; i++) {
        const struct plan_span *s = &loading.r->spans[i];
        if (s->depth == 0 && s->close == end)
            return s->open;
    }
    return end;
}

/* The first value of a list that is given again comes with an empty list. */
static int on_value(cfg_t *cfg, cfg_opt_t *opt, const char *value, void *result) {
    int line = line_of_value(value, cfg->line);
    const struct seen *before = seen_before(cfg, opt);
    *(const char **)result = "";
    if (before && opt->nvalues == 1)
        return give_up(plan_bad(loading.r, line, "%s: already given in line %d; give it once",
                                opt->name, before->entry.line));
    if (loading.n == ENTRIES_MAX)
        return give_up(plan_bad(loading.r, line, "more than %d values", ENTRIES_MAX));
    struct seen *s = &loading.seen[loading.n++];
    *s = (struct seen){cfg, opt, {.line = line, .key = arena_strdup(loading.r->a, opt->name)}};
    if (plan_text_fill(loading.r, value, line, &s->entry.text, &s->entry.shown) != V_OK)
        return give_up(V_INVALID);
    return 0;
}

#define KEY(name) CFG_STR_CB(name, NULL, CFGF_NODEFAULT, on_value)
#define LIST(name) CFG_STR_CB(name, NULL, CFGF_NODEFAULT | CFGF_LIST, on_value)
#define NAMED (CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES)

static cfg_opt_t states_keys[] = {KEY("pending"),  KEY("busy"),   KEY("match"),
                                  KEY("no_match"), KEY("failed"), CFG_END()};
static cfg_opt_t request_keys[] = {KEY("method"), KEY("path"), KEY("body"), CFG_END()};
static cfg_opt_t map_keys[] = {KEY("from"), KEY("type"),   KEY("max"),
                               KEY("none"), KEY("misfit"), CFG_END()};
static cfg_opt_t provider_keys[] = {KEY("url"),   KEY("rate"),     KEY("slots"), KEY("timeout"),
                                    KEY("token"), LIST("headers"), CFG_END()};
static cfg_opt_t source_keys[] = {
    KEY("provider"),
    KEY("table"),
    KEY("key"),
    KEY("status"),
    KEY("since"),
    KEY("filter"),
    KEY("match"),
    LIST("unsure"),
    KEY("max_attempts"),
    KEY("recheck"),
    KEY("topic"),
    CFG_SEC("states", states_keys, CFGF_MULTI),
    CFG_SEC("request", request_keys, CFGF_MULTI),
    CFG_SEC("map", map_keys, NAMED),
    CFG_END(),
};
static cfg_opt_t file_keys[] = {
    CFG_SEC("provider", provider_keys, NAMED),
    CFG_SEC("source", source_keys, NAMED),
    CFG_END(),
};

static void unknown_key(const cfg_t *cfg, const char *key) {
    bool top = strcmp(cfg->name, "root") == 0;
    const char *best = NULL;
    int least = 0;
    for (const cfg_opt_t *o = cfg->opts; o->name; o++) {
        int d = suggest_distance(key, o->name);
        if (!best || d < least) {
            best = o->name;
            least = d;
        }
    }
    char hint[200] = "; the keys are";
    for (const cfg_opt_t *o = cfg->opts; o->name; o++)
        snprintf(hint + strlen(hint), sizeof hint - strlen(hint), " %s", o->name);
    if (best && suggest_near(key, least))
        snprintf(hint, sizeof hint, "; did you mean %s?", best);
    give_up(plan_bad(loading.r, cfg->line, "%.60s: unknown key%s%s%s", key, top ? "" : " of a ",
                     top ? "" : cfg->name, hint));
}

static const char *advice(const char *text) {
    static const char *const table[][2] = {
        {"missing title", "; give it a name, as in source NAME { ... }"},
        {"missing opening brace", "; a section is written NAME { ... }"},
        {"missing equal sign", "; a value is written KEY = VALUE"},
        {"unexpected token", "; a value is written KEY = VALUE, with quotes where it has blanks"},
        {"premature end", "; the last key has no value"},
        {"unexpected closing brace", "; there is no section open here"},
        {"attempt to append", "; write = instead of +="},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (str_starts(str_of(text), table[i][0]))
            return table[i][1];
    return "";
}

/* The first trouble is the one worth telling. */
PRINTF_LIKE(2, 0) static void on_error(cfg_t *cfg, const char *fmt, va_list ap) {
    if (loading.failed)
        return;
    char raw[256], name[100];
    vsnprintf(raw, sizeof raw, fmt, ap);
    const char *text = plan_text_show(loading.r->a, raw).p;
    if (sscanf(text, "no such option '%99[^']'", name) == 1)
        unknown_key(cfg, name);
    else if (sscanf(text, "found duplicate title '%99[^']'", name) == 1)
        give_up(plan_bad(loading.r, cfg->line,
                         "%s is there already; write it once, or under "
                         "another name",
                         name));
    else
        give_up(plan_bad(loading.r, cfg->line, "%s%s", text, advice(text)));
}

/* ---- from libConfuse's tree to ours */

static void add_section(struct conf_section **list, cfg_t *cfg, int depth);

static void copy_section(struct conf_section *to, cfg_t *cfg, int depth) {
    struct conf_entry **tail = &to->entries;
    for (size_t i = 0; i < loading.n; i++)
        if (loading.seen[i].section == cfg) {
            *tail = arena_alloc(loading.r->a, sizeof **tail);
            **tail = loading.seen[i].entry;
            tail = &(*tail)->next;
        }
    for (const cfg_opt_t *o = cfg->opts; o->name; o++)
        for (unsigned i = 0; o->type == CFGT_SEC && i < o->nvalues; i++)
            add_section(&to->parts, o->values[i]->section, depth + 1);
}

static int line_of_start(int depth, int end) {
    for (size_t i = 0; i < loading.r->n_spans; i++) {
        struct plan_span *b = &loading.r->spans[i];
        if (!b->used && b->depth == depth && b->close == end) {
            b->used = true;
            return b->open;
        }
    }
    return end;
}

static void add_section(struct conf_section **list, cfg_t *cfg, int depth) {
    struct arena *a = loading.r->a;
    struct conf_section *s = arena_zalloc(a, sizeof *s);
    while (*list)
        list = &(*list)->next;
    *list = s;
    s->kind = arena_strdup(a, cfg->name);
    s->title = cfg->title ? plan_text_show(a, cfg->title) : STR_NONE;
    s->line = line_of_start(depth, cfg->line);
    copy_section(s, cfg, depth);
}

static enum verdict parse(struct plan_reader *r, const struct strbuf *text,
                          struct conf_section *ret_root) {
    FILE *file = fmemopen(text->p, text->n, "r");
    if (!file)
        return err_set(r->e, V_FATAL, "config", errno, "%.200s: %s", r->path, strerror(errno));
    cfg_t *cfg = cfg_init(file_keys, CFGF_NONE);
    if (!cfg) {
        fclose(file);
        return err_set(r->e, V_FATAL, "config", 0, "%.200s: no memory to read it", r->path);
    }
    cfg_set_error_function(cfg, on_error);
    int rc = cfg_parse_fp(cfg, file);
    if (rc != CFG_SUCCESS && !loading.failed)
        give_up(plan_bad(r, cfg->line, "cannot be read from here on"));
    if (!loading.failed)
        copy_section(ret_root, cfg, 0);
    cfg_free(cfg);
    fclose(file);
    return loading.failed ? V_INVALID : V_OK;
}

static enum verdict load_marked(struct plan_reader *r, struct str text,
                                struct conf_section *ret_root) {
    struct strbuf marked;
    strbuf_init(&marked, CONF_TEXT_MAX);
    enum verdict v = plan_text_mark(r, text, &marked);
    if (v == V_OK && marked.n > 0) {
        memset(&loading, 0, sizeof loading);
        loading.r = r;
        loading.seen = xcalloc(ENTRIES_MAX, sizeof *loading.seen);
        v = parse(r, &marked, ret_root);
        free(loading.seen);
    }
    strbuf_release(&marked);
    return v;
}

enum verdict plan_file_load(struct plan_reader *r, struct conf_section *ret_root) {
    CLEANUP(free_ptr) char *text = NULL;
    size_t n = 0;
    *ret_root = (struct conf_section){.line = 1};
    enum verdict v = conf_text_read(r->path, &text, &n, r->e);
    if (v != V_OK)
        return v;
    const char *endless = conf_text_blank_comments(text, n);
    if (endless)
        return plan_bad(r, conf_text_line(text, endless), "this %s never ends; close it",
                        *endless == '/' ? "comment" : "quoted text");
    return load_marked(r, (struct str){text, n}, ret_root);
}
