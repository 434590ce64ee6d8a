#include "enrich/plan_int.h"

#include "base/conf_text.h"

#include <ctype.h>
#include <string.h>

#define NAME_MAX_BYTES 100

static bool is_name_char(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* The length of the ${NAME} at p, or 0 when it is none. */
static size_t variable_length(const char *p, const char *end) {
    const char *name = p + 2;
    p = name;
    while (p < end && is_name_char(*p))
        p++;
    size_t n = (size_t)(p - name);
    bool good =
        p < end && *p == '}' && n > 0 && n <= NAME_MAX_BYTES && !isdigit((unsigned char)*name);
    return good ? n + 3 : 0;
}

struct marking {
    struct plan_reader *r;
    const char *text, *p, *end;
    struct strbuf *out;
    char quote;  /* within one; 0: not */
    char before; /* the last character that was no blank */
    int line, depth;
    int quoted; /* the line where the quoted text began */
};

static enum verdict bad_here(struct marking *m, const char *what) {
    return plan_bad(m->r, m->line, "%s", what);
}

static enum verdict mark_variable(struct marking *m) {
    if (m->p[1] == '$') { /* $${ */
        strbuf_addc(m->out, MARK_DOLLAR);
        strbuf_addc(m->out, '{');
        m->p += 3;
        return V_OK;
    }
    size_t n = variable_length(m->p, m->end);
    if (n == 0)
        return bad_here(m, "${ begins the name of an environment variable, as in ${NAME}; "
                           "write $${ for the characters themselves");
    strbuf_addc(m->out, MARK_OPEN);
    strbuf_add(m->out, m->p + 2, n - 3);
    strbuf_addc(m->out, MARK_CLOSE);
    m->p += n;
    return V_OK;
}

/* In double quotes \x41 and \101 would be bytes, among them such as end a text. */
static enum verdict copy_escape(struct marking *m) {
    if (m->quote == '"' && (m->p[1] == 'x' || isdigit((unsigned char)m->p[1])))
        return bad_here(m, "no numbers behind a backslash; write the character itself, or use "
                           "single quotes");
    m->line += m->p[1] == '\n';
    strbuf_add(m->out, m->p, 2);
    m->p += 2;
    return V_OK;
}

static bool starts_variable(const struct marking *m) {
    size_t left = (size_t)(m->end - m->p);
    return (left > 1 && memcmp(m->p, "${", 2) == 0) || (left > 2 && memcmp(m->p, "$${", 3) == 0);
}

static enum verdict add_span(struct marking *m, struct plan_span span) {
    struct plan_reader *r = m->r;
    if (r->n_spans == PLAN_SPANS_MAX)
        return bad_here(m, "too many sections and texts; split the file");
    r->spans[r->n_spans++] = span;
    return V_OK;
}

static struct plan_span *last_open(const struct marking *m) {
    for (size_t i = m->r->n_spans; i > 0; i--)
        if (m->r->spans[i - 1].close == 0)
            return &m->r->spans[i - 1];
    return NULL;
}

static enum verdict end_quote(struct marking *m) {
    m->quote = 0;
    if (m->line == m->quoted)
        return V_OK;
    return add_span(m, (struct plan_span){.open = m->quoted, .close = m->line});
}

static enum verdict follow(struct marking *m) {
    char c = *m->p, before = m->before;
    m->line += c == '\n';
    if (c > ' ' || c < 0)
        m->before = c;
    if (m->quote)
        return c == m->quote ? end_quote(m) : V_OK;
    if (c == '"' || c == '\'') {
        m->quote = c;
        m->quoted = m->line;
    } else if (c == '{') { /* a list, behind = */
        return add_span(m, (struct plan_span){++m->depth, m->line, 0, before == '='});
    } else if (c == '}' && m->depth > 0) {
        last_open(m)->close = m->line;
        m->depth--;
    }
    return V_OK;
}

/* Control characters are ours, and no text file has them; what is not UTF-8 would end up in SQL. */
static enum verdict check_bytes(struct marking *m) {
    for (m->p = m->text; m->p < m->end; m->line += *m->p++ == '\n') {
        unsigned char c = (unsigned char)*m->p;
        size_t n = utf8_len((const unsigned char *)m->p, (size_t)(m->end - m->p));
        if (n == 0)
            return bad_here(m, "not UTF-8; save the file in that encoding");
        if ((c < ' ' && c != '\t' && c != '\n' && c != '\r') || c == 0x7F)
            return bad_here(m, "a control character; is this a text file?");
        m->p += n - 1;
    }
    m->p = m->text;
    m->line = 1;
    return V_OK;
}

/* libConfuse takes a section that is never closed in silence. */
enum verdict plan_text_mark(struct plan_reader *r, struct str text, struct strbuf *out) {
    struct marking m = {.r = r, .text = text.p, .end = text.p + text.n, .out = out, .line = 1};
    r->spans = arena_alloc(r->a, PLAN_SPANS_MAX * sizeof *r->spans);
    r->n_spans = 0;
    enum verdict v = check_bytes(&m);
    while (v == V_OK && m.p < m.end) {
        if (starts_variable(&m)) {
            v = mark_variable(&m);
        } else if (m.quote && *m.p == '\\' && m.end - m.p > 1) {
            v = copy_escape(&m);
        } else {
            v = follow(&m);
            strbuf_addc(out, *m.p++);
        }
    }
    if (v == V_OK && m.depth > 0)
        v = plan_bad(r, last_open(&m)->open,
                     "this { is never closed; add the } that belongs to it");
    return v;
}

struct str plan_text_show(struct arena *a, const char *marked) {
    struct strbuf b;
    strbuf_init(&b, CONF_TEXT_MAX * 2);
    for (const char *p = marked; *p; p++)
        switch (*p) {
        case MARK_OPEN:
            strbuf_adds(&b, "${");
            break;
        case MARK_CLOSE:
            strbuf_addc(&b, '}');
            break;
        case MARK_DOLLAR:
            strbuf_addc(&b, '$');
            break;
        default:
            strbuf_addc(&b, (unsigned char)*p < ' ' ? ' ' : *p);
        }
    struct str s = arena_str(a, strbuf_str(&b));
    strbuf_release(&b);
    return s;
}

static void remember(struct plan_reader *r, struct str name, struct str value) {
    struct enrich_plan *plan = r->plan;
    for (size_t i = 0; i < plan->n_variables; i++)
        if (str_eq(plan->variables[i].name, name))
            return;
    struct plan_variable *all = arena_alloc(r->a, (plan->n_variables + 1) * sizeof *all);
    if (plan->n_variables)
        memcpy(all, plan->variables, plan->n_variables * sizeof *all);
    all[plan->n_variables++] = (struct plan_variable){name, value};
    plan->variables = all;
}

/* p stands at the mark; answers where the text goes on. */
static enum verdict fill_variable(struct plan_reader *r, const char **p, int line,
                                  struct strbuf *out) {
    const char *close = strchr(*p, MARK_CLOSE);
    if (!close)
        return plan_bad(r, line, "a variable that never ends");
    struct str name = arena_str(r->a, (struct str){*p + 1, (size_t)(close - *p) - 1});
    const char *value = r->env(name.p);
    if (!value || !*value)
        return plan_bad(r, line,
                        "the environment variable %s is %s; set it, or write the value here",
                        name.p, value ? "empty" : "not set");
    struct str copy = arena_str(r->a, str_of(value));
    for (size_t i = 0, len; i < copy.n; i += len) {
        len = utf8_len((const unsigned char *)copy.p + i, copy.n - i);
        if (len == 0)
            return plan_bad(r, line, "the environment variable %s is not UTF-8", name.p);
    }
    remember(r, name, copy);
    strbuf_add_str(out, copy);
    *p = close + 1;
    return V_OK;
}

enum verdict plan_text_fill(struct plan_reader *r, const char *marked, int line,
                            struct str *ret_text, struct str *ret_shown) {
    struct strbuf b;
    enum verdict v = V_OK;
    strbuf_init(&b, CONF_TEXT_MAX);
    for (const char *p = marked; v == V_OK && *p;) {
        if (*p == MARK_OPEN)
            v = fill_variable(r, &p, line, &b);
        else
            strbuf_addc(&b, *p == MARK_DOLLAR ? '$' : *p), p++;
    }
    if (v == V_OK && b.overflow)
        v = plan_bad(r, line, "longer than 1 MiB with its variables");
    if (v == V_OK) {
        *ret_text = arena_str(r->a, strbuf_str(&b));
        *ret_shown = plan_text_show(r->a, marked);
    }
    strbuf_release(&b);
    return v;
}
