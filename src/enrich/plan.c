#include "enrich/plan.h"

#include "enrich/plan_int.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define REDACTED_MAX (4 * REQUEST_MAX)
#define SECRET_MIN 4 /* hiding every shorter one would say more than the text does */
#define CUT_MIN 6    /* of its beginning, at the end of a text */
#define WORD_MIN 8   /* of a header that has several */

static const char *from_process(const char *name) {
    return getenv(name);
}

static enum verdict read_providers(struct plan_reader *r, const struct conf_section *root) {
    struct enrich_plan *plan = r->plan;
    for (const struct conf_section *s = root->parts; s; s = s->next) {
        if (strcmp(s->kind, "provider") != 0)
            continue;
        if (plan->n_providers == PLAN_PROVIDERS_MAX)
            return plan_bad(r, s->line, "more than %d providers", PLAN_PROVIDERS_MAX);
        enum verdict v = plan_read_provider(r, s, &plan->providers[plan->n_providers]);
        if (v != V_OK)
            return v;
        plan->n_providers++;
    }
    return V_OK;
}

static enum verdict read_sources(struct plan_reader *r, const struct conf_section *root) {
    struct enrich_plan *plan = r->plan;
    for (const struct conf_section *s = root->parts; s; s = s->next) {
        if (strcmp(s->kind, "source") != 0)
            continue;
        if (plan->n_sources == PLAN_SOURCES_MAX)
            return plan_bad(r, s->line, "more than %d sources", PLAN_SOURCES_MAX);
        enum verdict v = plan_read_source(r, s, &plan->sources[plan->n_sources]);
        if (v != V_OK)
            return v;
        plan->n_sources++;
    }
    return V_OK;
}

enum verdict plan_read(const char *path, const char *(*env)(const char *name), struct arena *a,
                       struct enrich_plan *ret, struct err *e) {
    struct plan_reader r = {
        .path = path, .env = env ? env : from_process, .a = a, .plan = ret, .e = e};
    struct conf_section root;
    *ret = (struct enrich_plan){.path = arena_str(a, str_of(path))};
    enum verdict v = plan_file_load(&r, &root);
    if (v == V_OK)
        v = read_providers(&r, &root);
    if (v == V_OK)
        v = read_sources(&r, &root);
    if (v == V_OK && ret->n_sources == 0)
        v = plan_bad(&r, 1, "there is no source in it; write source NAME { ... }");
    return v;
}

/* In place where it is shorter; what no longer fits behind it is cut. */
static void replace(char *text, size_t size, struct str old, struct str name) {
    for (char *at = text; (at = strstr(at, old.p));) {
        struct strbuf b;
        strbuf_init(&b, size * 2 + 256);
        strbuf_add(&b, text, (size_t)(at - text));
        strbuf_addf(&b, "${%s}", name.p);
        size_t behind = b.n;
        strbuf_adds(&b, at + old.n);
        size_t n = b.n < size - 1 ? b.n : size - 1;
        memcpy(text, strbuf_str(&b).p, n);
        text[n] = '\0';
        at = text + (behind < n ? behind : n);
        strbuf_release(&b);
    }
}

void plan_redact(const struct enrich_plan *p, struct err *e) {
    for (size_t i = 0; e && i < p->n_variables; i++)
        if (p->variables[i].value.n >= SECRET_MIN)
            replace(e->msg, sizeof e->msg, p->variables[i].value, p->variables[i].name);
}

/* How many bytes here are the secret, or its beginning where the text was cut off. */
static size_t bytes_of(struct str rest, struct str secret) {
    bool cut = rest.n < secret.n;
    size_t n = cut ? rest.n : secret.n;
    return n >= (cut ? CUT_MIN : SECRET_MIN) && memcmp(rest.p, secret.p, n) == 0 ? n : 0;
}

/* The last word of a text up to `end`; *ret_rest is where the text before it ends. */
static struct str word_before(struct str text, size_t end, const char *between, size_t *ret_rest) {
    size_t from = end;
    while (from > 0 && !strchr(between, text.p[from - 1]))
        from--;
    *ret_rest = from > 0 ? from - 1 : 0;
    return (struct str){text.p + from, end - from};
}

/* How many bytes here are of the value of a header: of its last word, behind the scheme of a token,
 * or of another that is too long to be one; none of those that say what is liked. */
static size_t bytes_of_header(struct str rest, struct str header) {
    size_t end, n, best;
    if (strncasecmp(header.p, "Accept", 6) == 0)
        return 0;
    const char *colon = memchr(header.p, ':', header.n);
    if (colon)
        header = (struct str){colon, header.n - (size_t)(colon - header.p)};
    best = bytes_of(rest, word_before(header, header.n, " \t:", &end));
    for (end = header.n; end > 0;) {
        struct str word = word_before(header, end, " \t:;,=", &end);
        if (word.n >= WORD_MIN && (n = bytes_of(rest, word)) > best)
            best = n;
    }
    return best;
}

/* The longest that stands here. *ret_name is that of its variable, NULL when it has none. */
static size_t secret_at(const struct enrich_plan *p, struct str rest, const char **ret_name) {
    size_t best = 0, n;
    *ret_name = NULL;
    for (size_t i = 0; i < p->n_variables; i++)
        if ((n = bytes_of(rest, p->variables[i].value)) > best) {
            best = n;
            *ret_name = p->variables[i].name.p;
        }
    for (size_t i = 0; i < p->n_providers; i++)
        for (size_t k = 0; k < p->providers[i].n_headers; k++)
            if ((n = bytes_of_header(rest, p->providers[i].headers[k])) > best) {
                best = n;
                *ret_name = NULL;
            }
    return best;
}

struct str plan_redacted(const struct enrich_plan *p, struct str text, struct arena *a) {
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, REDACTED_MAX);
    for (size_t at = 0, n; at < text.n; at += n) {
        const char *name;
        n = secret_at(p, (struct str){text.p + at, text.n - at}, &name);
        if (n == 0)
            strbuf_add(&b, text.p + at, n = 1);
        else if (name)
            strbuf_addf(&b, "${%s}", name);
        else
            strbuf_adds(&b, "(a secret)");
    }
    return arena_str(a, strbuf_str(&b));
}
