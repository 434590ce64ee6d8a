#include "enrich/plan_int.h"

#include "base/suggest.h"

#include <stdio.h>
#include <string.h>

#define NAME_MAX_BYTES 200 /* of tables and columns */
#define FILTER_MAX 4000
#define STATE_MAX 100
#define TOPIC_MAX 100
#define MINUTE_MS 60000
#define YEAR_MS (365LL * 86400000)

static const char *const state_keys[ROW_STATES] = {"pending", "busy", "match", "no_match",
                                                   "failed"};

static int line_of(const struct conf_section *s, const char *key) {
    const struct conf_entry *c = conf_get(s, key);
    return c ? c->line : s->line;
}

static enum verdict read_table(struct plan_reader *r, const struct conf_section *s,
                               struct plan_source *src) {
    struct source_spec *spec = &src->spec;
    struct {
        const char *key;
        size_t max;
        const char *example;
        struct str *text;
        int *line;
    } const parts[] = {
        {"table", NAME_MAX_BYTES, "SCHEMA.TABLE", &spec->table, &src->lines.table},
        {"key", NAME_MAX_BYTES, "COLUMN", &spec->key, &src->lines.key},
        {"status", NAME_MAX_BYTES, "COLUMN", &spec->status, &src->lines.status},
        {"since", NAME_MAX_BYTES, NULL, &spec->since, &src->lines.since},
        {"filter", FILTER_MAX, NULL, &spec->filter, &src->lines.filter},
    };
    enum verdict v = V_OK;
    for (size_t i = 0; v == V_OK && i < ARRAY_LEN(parts); i++) {
        v = plan_get_text(r, s, parts[i].key, parts[i].max, parts[i].example, parts[i].text);
        *parts[i].line = line_of(s, parts[i].key);
    }
    return v;
}

/* One section of a kind that has no names. */
static enum verdict only_part(struct plan_reader *r, const struct conf_section *s, const char *kind,
                              const struct conf_section **ret) {
    *ret = NULL;
    for (const struct conf_section *p = s->parts; p; p = p->next) {
        if (strcmp(p->kind, kind) != 0)
            continue;
        if (*ret)
            return plan_bad(r, p->line, "%s: already given in line %d; give it once", kind,
                            (*ret)->line);
        *ret = p;
    }
    return V_OK;
}

/* Two states of one name would make a row that is done look as if it were waiting. */
static enum verdict check_states(struct plan_reader *r, const struct plan_source *src) {
    for (int i = 0; i < ROW_STATES; i++)
        for (int j = 0; j < i; j++)
            if (str_eq(src->spec.states[i], src->spec.states[j]))
                return plan_bad(r, src->lines.states[i],
                                "states: %s and %s are the same; each needs a name of its own",
                                state_keys[j], state_keys[i]);
    return V_OK;
}

static enum verdict read_states(struct plan_reader *r, const struct conf_section *s,
                                struct plan_source *src) {
    static const struct str usual[ROW_STATES] = {STR("pending"), STR("enriching"),
                                                 STR("enriched_match"), STR("enriched_no_match"),
                                                 STR("failed_no_retry")};
    const struct conf_section *states;
    enum verdict v = only_part(r, s, "states", &states);
    for (int i = 0; v == V_OK && i < ROW_STATES; i++) {
        src->spec.states[i] = usual[i];
        src->lines.states[i] = states ? line_of(states, state_keys[i]) : s->line;
        if (states)
            v = plan_get_text(r, states, state_keys[i], STATE_MAX, NULL, &src->spec.states[i]);
    }
    return v == V_OK ? check_states(r, src) : v;
}

static enum verdict find_provider(struct plan_reader *r, const struct conf_section *s,
                                  struct plan_source *src) {
    struct str name;
    const struct provider *near = NULL;
    int least = 0;
    enum verdict v = plan_get_text(r, s, "provider", 200, "NAME", &name);
    if (v != V_OK)
        return v;
    for (size_t i = 0; i < r->plan->n_providers; i++) {
        const struct provider *p = &r->plan->providers[i];
        int d = suggest_distance(name.p, p->name.p);
        if (d == 0) {
            src->provider = p;
            return V_OK;
        }
        if (!near || d < least) {
            near = p;
            least = d;
        }
    }
    const struct conf_entry *c = conf_get(s, "provider");
    bool hint = near && suggest_near(name.p, least);
    return plan_bad(r, c->line, "provider: %.60s: there is none of that name%s%s%s", c->shown.p,
                    hint ? "; did you mean " : "; write provider NAME { ... } too",
                    hint ? near->name.p : "", hint ? "?" : "");
}

static enum verdict read_topic(struct plan_reader *r, const struct conf_section *s,
                               struct plan_source *src) {
    enum verdict v = plan_get_text(r, s, "topic", TOPIC_MAX, NULL, &src->topic);
    for (size_t i = 0; v == V_OK && i < src->topic.n; i++)
        if (src->topic.p[i] <= ' ' || src->topic.p[i] > '~')
            return plan_bad(r, line_of(s, "topic"),
                            "topic: a name without blanks, in ASCII, such as liveFs:update");
    return v;
}

static enum verdict read_rest(struct plan_reader *r, const struct conf_section *s,
                              struct plan_source *src) {
    int64_t attempts = 5;
    enum verdict v = plan_get_count(r, s, "max_attempts", 1, 1000, &attempts);
    src->max_attempts = (int)attempts;
    if (v == V_OK)
        v = plan_get_duration(r, s, "recheck", "never", MINUTE_MS, 10 * YEAR_MS, &src->recheck_ms);
    if (v == V_OK)
        v = read_topic(r, s, src);
    return v;
}

/* What the claim itself writes cannot be a result as well. */
static enum verdict check_outputs(struct plan_reader *r, const struct plan_source *src) {
    const struct source_spec *spec = &src->spec;
    for (size_t i = 0; i < src->answer.n_map; i++) {
        const struct map_rule *m = &src->answer.map[i];
        const char *role = str_eq(m->column, spec->key)      ? "key"
                           : str_eq(m->column, spec->status) ? "status"
                           : str_eq(m->column, spec->since)  ? "since"
                                                             : NULL;
        if (role)
            return plan_bad(r, m->line,
                            "map %s: this is the column of %s, which tain writes itself",
                            m->column.p, role);
    }
    return V_OK;
}

enum verdict plan_read_source(struct plan_reader *r, const struct conf_section *s,
                              struct plan_source *ret) {
    const struct conf_section *request;
    *ret = (struct plan_source){.spec.name = s->title, .lines.source = s->line};
    enum verdict v = plan_check_name(r, s);
    if (v == V_OK)
        v = find_provider(r, s, ret);
    if (v == V_OK)
        v = read_table(r, s, ret);
    if (v == V_OK)
        v = read_states(r, s, ret);
    if (v == V_OK)
        v = only_part(r, s, "request", &request);
    if (v == V_OK && !request)
        return plan_bad(r, s->line,
                        "source %.60s: request is missing; write request { path = \"/...\" ... }",
                        s->title.p);
    if (v == V_OK)
        v = plan_read_request(r, request, ret);
    if (v == V_OK)
        v = plan_read_answer(r, s, ret);
    if (v == V_OK)
        v = read_rest(r, s, ret);
    return v == V_OK ? check_outputs(r, ret) : v;
}
