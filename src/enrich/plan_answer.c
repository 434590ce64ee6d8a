#include "enrich/plan_int.h"

#include <string.h>

#define TEXT_MAX 10000000 /* characters of a mapped text */

static enum verdict read_unsure(struct plan_reader *r, const struct conf_section *s,
                                struct answer_rules *rules) {
    struct str *paths = arena_alloc(r->a, ANSWER_UNSURE_MAX * sizeof *paths);
    rules->unsure = paths;
    for (const struct conf_entry *c = s->entries; c; c = c->next) {
        if (strcmp(c->key, "unsure") != 0)
            continue;
        if (rules->n_unsure == ANSWER_UNSURE_MAX)
            return plan_bad(r, c->line, "unsure: more than %d paths", ANSWER_UNSURE_MAX);
        enum verdict v = plan_get_path(r, c);
        if (v != V_OK)
            return v;
        paths[rules->n_unsure++] = c->text;
    }
    return V_OK;
}

/* Limits and cutting are of texts; an address that was cut would lead elsewhere. */
static enum verdict check_rule(struct plan_reader *r, const struct conf_section *s,
                               const struct map_rule *m) {
    const struct conf_entry *max = conf_get(s, "max"), *misfit = conf_get(s, "misfit");
    if (max && m->type != MAP_TEXT && m->type != MAP_URL)
        return plan_bad(r, max->line, "max: counts characters, for type = text or url only");
    if (misfit && m->misfit == MISFIT_CUT && m->type != MAP_TEXT)
        return plan_bad(r, misfit->line, "misfit: only type = text can be cut; write null or fail");
    return V_OK;
}

static enum verdict read_rule(struct plan_reader *r, const struct conf_section *s,
                              struct map_rule *m) {
    static const char *const types[] = {"text", "url", "int", "real", "bool", "json"};
    static const char *const misfits[] = {"fail", "null", "cut"};
    int type = MAP_TEXT, misfit = MISFIT_FAIL;
    *m = (struct map_rule){.column = s->title, .line = s->line};
    if (s->title.n == 0 || s->title.n > 200)
        return plan_bad(r, s->line, "map: name the column, as in map artwork_url { ... }");
    enum verdict v = plan_get_text(r, s, "from", 1000, "\"results[0].url\"", &m->from);
    if (v == V_OK)
        v = plan_get_path(r, conf_get(s, "from"));
    if (v == V_OK)
        v = plan_get_word(r, s, "type", types, ARRAY_LEN(types), &type);
    if (v == V_OK)
        v = plan_get_count(r, s, "max", 1, TEXT_MAX, &m->max);
    if (v == V_OK)
        v = plan_get_word(r, s, "misfit", misfits, ARRAY_LEN(misfits), &misfit);
    m->type = (enum map_type)type;
    m->misfit = (enum map_misfit)misfit;
    const struct conf_entry *none = conf_get(s, "none");
    m->none = none ? none->text : STR_NONE; /* an empty one is a value too */
    return v == V_OK ? check_rule(r, s, m) : v;
}

static enum verdict read_map(struct plan_reader *r, const struct conf_section *s,
                             struct plan_source *src) {
    struct map_rule *map = arena_alloc(r->a, SOURCE_COLUMNS_MAX * sizeof *map);
    struct str *outputs = arena_alloc(r->a, SOURCE_COLUMNS_MAX * sizeof *outputs);
    size_t n = 0;
    for (const struct conf_section *p = s->parts; p; p = p->next) {
        if (strcmp(p->kind, "map") != 0)
            continue;
        if (n == SOURCE_COLUMNS_MAX)
            return plan_bad(r, p->line, "map: more than %d columns", SOURCE_COLUMNS_MAX);
        enum verdict v = read_rule(r, p, &map[n]);
        if (v != V_OK)
            return v;
        outputs[n] = map[n].column;
        n++;
    }
    src->answer.map = map;
    src->answer.n_map = n;
    src->spec.outputs = outputs;
    src->spec.n_outputs = n;
    return V_OK;
}

enum verdict plan_read_answer(struct plan_reader *r, const struct conf_section *s,
                              struct plan_source *ret) {
    enum verdict v = plan_get_text(r, s, "match", 1000, "\"results[0]\"", &ret->answer.match);
    if (v == V_OK)
        v = plan_get_path(r, conf_get(s, "match"));
    if (v == V_OK)
        v = read_unsure(r, s, &ret->answer);
    return v == V_OK ? read_map(r, s, ret) : v;
}
