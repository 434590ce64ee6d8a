#include "web/search_api_params.h"

#include "hn/search_text.h"

#include <string.h>

#define SHOWN 60                        /* of a wrong value, in a message */
#define PAGE_MAX INT64_C(1000000000000) /* nobody stores so many items */

bool search_api_value(const struct call *c, const char *name, size_t *at, struct str *ret) {
    for (; *at < c->n_params; (*at)++)
        if (str_eqc(c->params[*at].name, name)) {
            *ret = c->params[(*at)++].value;
            return true;
        }
    return false;
}

static enum verdict wrong(struct err *e, const char *name, struct str value, const char *why) {
    bool cut = value.n > SHOWN;
    struct str shown = {value.p, cut ? SHOWN : value.n};
    return err_set(e, V_INVALID, "search", 0, "%s: \"%.*s%s\" %s", name, STR_FMT(shown),
                   cut ? "..." : "", why);
}

static struct str trim_any(struct str s, const char *any) {
    while (s.n && strchr(any, s.p[0]))
        s.p++, s.n--;
    while (s.n && strchr(any, s.p[s.n - 1]))
        s.n--;
    return s;
}

static struct str trim(struct str s) {
    return trim_any(s, " ");
}

/* The piece before the first of these characters; *rest is what follows it, absent at the end. */
static struct str cut_at(struct str s, const char *any, struct str *rest) {
    size_t i = 0;
    while (i < s.n && !strchr(any, s.p[i]))
        i++;
    *rest = i < s.n ? (struct str){s.p + i + 1, s.n - i - 1} : STR_NONE;
    return (struct str){s.p, i};
}

/* Tags ------------------------------------------------------------------------------------------
 */

static const struct {
    const char *name;
    struct search_tag tag;
} named_tags[] = {
    {"story", {.kind = TAG_KIND, .kinds = SEARCH_STORY}},
    {"comment", {.kind = TAG_KIND, .kinds = SEARCH_COMMENT}},
    {"poll", {.kind = TAG_KIND, .kinds = SEARCH_POLL}},
    {"pollopt", {.kind = TAG_KIND, .kinds = SEARCH_POLLOPT}},
    {"job", {.kind = TAG_KIND, .kinds = SEARCH_JOB}},
    {"show_hn", {.kind = TAG_SHOW_HN}},
    {"ask_hn", {.kind = TAG_ASK_HN}},
    {"front_page", {.kind = TAG_FRONT_PAGE}},
};

static bool read_tag(struct str s, struct search_tag *ret) {
    *ret = (struct search_tag){0};
    for (size_t i = 0; i < ARRAY_LEN(named_tags); i++)
        if (str_eqc(s, named_tags[i].name)) {
            *ret = named_tags[i].tag;
            return true;
        }
    if (str_starts(s, "author_") && s.n > 7) {
        ret->kind = TAG_AUTHOR;
        ret->name = (struct str){s.p + 7, s.n - 7};
        return true;
    }
    ret->kind = TAG_STORY;
    return str_starts(s, "story_") && str_to_i64((struct str){s.p + 6, s.n - 6}, &ret->id) &&
           ret->id > 0;
}

/* Kinds of a group are one tag, so that "(story,poll,job)" takes one place. */
static bool add_choice(struct search_group *g, const struct search_tag *tag) {
    if (tag->kind == TAG_KIND)
        for (size_t i = 0; i < g->n; i++)
            if (g->tags[i].kind == TAG_KIND) {
                g->tags[i].kinds |= tag->kinds;
                return true;
            }
    if (g->n == SEARCH_CHOICES)
        return false;
    g->tags[g->n++] = *tag;
    return true;
}

static enum verdict read_group(struct search_query *q, struct str choices, struct err *e) {
    struct search_group *g = &q->groups[q->n_groups];
    struct search_tag tag;
    if (q->n_groups == SEARCH_GROUPS)
        return wrong(e, "tags", choices, "comes after too many other conditions");
    g->n = 0;
    for (struct str rest = choices; rest.p;) {
        struct str one = trim(cut_at(rest, ",", &rest));
        if (!read_tag(one, &tag))
            return wrong(e, "tags", one,
                         "is not story, comment, poll, pollopt, job, show_hn, ask_hn, front_page, "
                         "author_NAME or story_ID");
        if (!add_choice(g, &tag))
            return wrong(e, "tags", one, "is one choice too many between parentheses");
    }
    q->n_groups++;
    return V_OK;
}

/* "a,(b,c)": a comma means and; between parentheses it means or. */
static enum verdict read_tags(struct search_query *q, struct str tags, struct err *e) {
    struct str rest = trim(tags);
    enum verdict v = V_OK;
    while (v == V_OK && rest.n) {
        struct str inside, after;
        if (rest.p[0] == '(') {
            inside = cut_at((struct str){rest.p + 1, rest.n - 1}, ")", &after);
            if (!after.p)
                return wrong(e, "tags", tags, "lacks a closing parenthesis");
            v = read_group(q, inside, e);
            after = trim(after);
            if (v == V_OK && after.n && after.p[0] != ',')
                return wrong(e, "tags", after, "stands where a comma should");
            rest = after.n ? trim((struct str){after.p + 1, after.n - 1}) : after;
        } else {
            v = read_group(q, cut_at(rest, ",", &after), e);
            rest = trim(after);
        }
    }
    return v;
}

/* Numbers ---------------------------------------------------------------------------------------
 */

/* Clients reckon with fractions of a second: a value is its floor, and whether there is more. */
struct bound {
    int64_t floor;
    bool more;
};

static int64_t next_i64(int64_t n) {
    return n == INT64_MAX ? n : n + 1;
}

static int64_t previous_i64(int64_t n) {
    return n <= INT64_MIN + 1 ? INT64_MIN + 1 : n - 1; /* INT64_MIN is I64_NONE */
}

static bool read_bound(struct str s, struct bound *ret) {
    struct str fraction, whole = cut_at(trim(s), ".", &fraction);
    bool negative = str_starts(whole, "-");
    ret->more = false;
    for (size_t i = 0; i < fraction.n; i++) {
        if (fraction.p[i] < '0' || fraction.p[i] > '9')
            return false;
        ret->more = ret->more || fraction.p[i] != '0';
    }
    if (!str_to_i64(whole, &ret->floor))
        return false;
    if (negative && ret->more)
        ret->floor = previous_i64(ret->floor);
    return true;
}

enum op { OP_NONE, OP_LESS, OP_LESS_SAME, OP_SAME, OP_MORE_SAME, OP_MORE };

static enum op read_op(struct str *s) {
    static const struct {
        const char *text;
        enum op op;
    } ops[] = {
        {"<=", OP_LESS_SAME}, {">=", OP_MORE_SAME}, {"<", OP_LESS}, {">", OP_MORE}, {"=", OP_SAME}};
    for (size_t i = 0; i < ARRAY_LEN(ops); i++)
        if (str_starts(*s, ops[i].text)) {
            size_t n = strlen(ops[i].text);
            *s = (struct str){s->p + n, s->n - n};
            return ops[i].op;
        }
    return OP_NONE;
}

static void narrow(int64_t *lo, int64_t *hi, enum op op, struct bound b) {
    int64_t ceiling = b.more ? next_i64(b.floor) : b.floor;
    int64_t at_least = op == OP_MORE ? next_i64(b.floor) : ceiling;
    int64_t at_most = op == OP_LESS && !b.more ? previous_i64(b.floor) : b.floor;
    if (op >= OP_SAME && at_least > *lo)
        *lo = at_least;
    if (op <= OP_SAME && (*hi == I64_NONE || at_most < *hi))
        *hi = at_most;
}

static bool bounds_of(struct search_query *q, struct str name, int64_t **lo, int64_t **hi) {
    if (str_eqc(name, "created_at_i"))
        *lo = &q->time_lo, *hi = &q->time_hi;
    else if (str_eqc(name, "points"))
        *lo = &q->points_lo, *hi = &q->points_hi;
    else if (str_eqc(name, "num_comments"))
        *lo = &q->comments_lo, *hi = &q->comments_hi;
    else
        return false;
    return true;
}

/* "points>=10" */
static enum verdict read_filter(struct search_query *q, struct str one, struct err *e) {
    struct str ignored, name = cut_at(one, "<>=!:", &ignored);
    struct str behind = {one.p + name.n, one.n - name.n};
    struct bound b;
    int64_t *lo, *hi;
    if (!bounds_of(q, trim(name), &lo, &hi))
        return wrong(e, "numericFilters", one, "is not about created_at_i, points or num_comments");
    enum op op = read_op(&behind);
    if (op == OP_NONE)
        return wrong(e, "numericFilters", one, "has none of < <= = > >=");
    if (!read_bound(behind, &b))
        return wrong(e, "numericFilters", one, "has no number that fits");
    narrow(lo, hi, op, b);
    return V_OK;
}

static enum verdict read_filters(struct search_query *q, struct str filters, struct err *e) {
    enum verdict v = V_OK;
    if (!trim(filters).n)
        return V_OK;
    for (struct str rest = filters; v == V_OK && rest.p;)
        v = read_filter(q, trim(cut_at(rest, ",", &rest)), e);
    return v;
}

/* Fields ----------------------------------------------------------------------------------------
 */

static const struct {
    const char *name;
    enum search_api_field field;
    unsigned searched;
} attributes[] = {
    {"title", API_TITLE, SEARCH_IN_TITLE},
    {"url", API_URL, SEARCH_IN_URL},
    {"author", API_AUTHOR, SEARCH_IN_AUTHOR},
    {"story_text", API_STORY_TEXT, SEARCH_IN_TEXT},
    {"comment_text", API_COMMENT_TEXT, SEARCH_IN_TEXT},
};

static enum verdict read_fields(struct search_api_query *s, struct str list, struct err *e) {
    for (struct str rest = list; rest.p;) {
        struct str one = trim_any(cut_at(rest, ",", &rest), " []\""); /* or a JSON list */
        size_t i = 0;
        while (i < ARRAY_LEN(attributes) && !str_eqc(one, attributes[i].name))
            i++;
        if (i == ARRAY_LEN(attributes))
            return wrong(e, "restrictSearchableAttributes", one,
                         "is not title, url, author, story_text or comment_text");
        s->fields |= attributes[i].field;
        s->q.fields |= attributes[i].searched;
    }
    return V_OK;
}

/* Texts of stories and of comments are one field of the index; where only one of them is looked at,
 * the kind of the item says which. 0: it makes no difference, or cannot be said by kinds. */
static unsigned kinds_of(unsigned fields) {
    if (fields == API_COMMENT_TEXT)
        return SEARCH_COMMENT;
    if ((fields & API_STORY_TEXT) && !(fields & (API_COMMENT_TEXT | API_AUTHOR)))
        return SEARCH_ANY & ~(unsigned)SEARCH_COMMENT;
    return 0;
}

static enum verdict split_texts(struct search_api_query *s, struct str list, struct err *e) {
    struct search_group *g = &s->q.groups[s->q.n_groups];
    unsigned kinds = kinds_of(s->fields);
    if (!kinds || !trim(s->q.text).n)
        return V_OK;
    if (s->q.n_groups == SEARCH_GROUPS)
        return wrong(e, "restrictSearchableAttributes", list, "comes with too many tags");
    g->tags[0] = (struct search_tag){.kind = TAG_KIND, .kinds = kinds};
    g->n = 1;
    s->q.n_groups++;
    return V_OK;
}

/* All together ----------------------------------------------------------------------------------
 */

/* An empty value is one that was not given: clients send "page=" for the first one. */
static enum verdict read_int(const struct call *c, const char *name, int64_t max, int64_t otherwise,
                             const char *what, int64_t *ret, struct err *e) {
    struct str value = STR_NONE;
    size_t at = 0;
    *ret = otherwise;
    if (!search_api_value(c, name, &at, &value) || !value.n)
        return V_OK;
    if (!str_to_i64(value, ret) || *ret < 0 || *ret > max)
        return wrong(e, name, value, what);
    return V_OK;
}

static enum verdict refuse_unknown_filters(const struct call *c, struct err *e) {
    static const char *const names[] = {"filters", "facetFilters", "optionalFilters"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct str value;
        size_t at = 0;
        while (search_api_value(c, names[i], &at, &value))
            if (value.n)
                return wrong(e, names[i], value, "is not understood: use tags and numericFilters");
    }
    return V_OK;
}

static enum verdict read_page(const struct call *c, struct search_api_query *s, struct err *e) {
    enum verdict v = read_int(c, "hitsPerPage", SEARCH_API_HITS_MAX, SEARCH_API_HITS,
                              "is not a number from 0 to 1000", &s->per_page, e);
    if (v == V_OK)
        v = read_int(c, "page", PAGE_MAX, 0, "is not the number of a page, from 0", &s->page, e);
    if (v != V_OK)
        return v;
    s->q.offset = s->page * s->per_page;
    s->q.limit = (size_t)s->per_page;
    if (!s->per_page) { /* without hits there is no order, and counting is quickest by date */
        s->q.order = SEARCH_BY_DATE;
        s->q.limit = 1;
        s->q.count_to = SEARCH_API_COUNT;
    }
    return V_OK;
}

enum verdict search_api_params(const struct call *c, enum search_order order,
                               struct search_api_query *ret, struct err *e) {
    struct str value = STR_NONE;
    size_t at = 0;
    search_query_init(&ret->q);
    ret->q.order = order;
    ret->q.fields = ret->fields = 0;
    ret->typed = STR("");
    if (search_api_value(c, "query", &at, &value))
        ret->typed = value;
    ret->q.text = search_text(c->arena, ret->typed);
    search_api_shape(c, &ret->shape);
    enum verdict v = refuse_unknown_filters(c, e);
    if (v == V_OK)
        v = read_page(c, ret, e);
    for (at = 0; v == V_OK && search_api_value(c, "tags", &at, &value);)
        v = read_tags(&ret->q, value, e);
    for (at = 0; v == V_OK && search_api_value(c, "numericFilters", &at, &value);)
        v = read_filters(&ret->q, value, e);
    at = 0;
    if (v == V_OK && search_api_value(c, "restrictSearchableAttributes", &at, &value) && value.n) {
        v = read_fields(ret, value, e);
        if (v == V_OK)
            v = split_texts(ret, value, e);
    } else {
        ret->fields = API_FIELDS;
    }
    return v;
}

void search_api_echo(const struct call *c, struct strbuf *out) {
    static const char *const names[] = {
        "attributesToHighlight",
        "attributesToRetrieve",
        "hitsPerPage",
        "numericFilters",
        "page",
        "query",
        "restrictSearchableAttributes",
        "tags",
    };
    strbuf_adds(out, "advancedSyntax=true&analytics=false");
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct str value;
        for (size_t at = 0; search_api_value(c, names[i], &at, &value);) {
            strbuf_addc(out, '&');
            strbuf_adds(out, names[i]);
            strbuf_addc(out, '=');
            strbuf_add_urlencoded(out, value);
        }
    }
}
