/* What is asked, in the language of FTS5 or of a tsquery. Words and lexemes hold no quote and no
 * backslash, so quoting them is enough. */
#include "store/search_doc_int.h"
#include "store/search_int.h"

#include <string.h>

#define EXPR_BYTES ((size_t)256 * 1024) /* 32 phrases of 32 words are less */

struct writer {
    struct strbuf *b;
    bool pg;
    unsigned fields; /* 0: all */
    bool blind;      /* this index has none of the fields that are asked for */
    int index;
};

static void add_weights(const struct writer *w) {
    if (!w->fields)
        return;
    strbuf_addc(w->b, ':');
    if (w->fields & SEARCH_IN_TITLE)
        strbuf_addc(w->b, 'A');
    if (w->fields & SEARCH_IN_URL)
        strbuf_addc(w->b, 'B');
    if (w->fields & SEARCH_IN_AUTHOR)
        strbuf_addc(w->b, 'C');
    if (w->fields & SEARCH_IN_TEXT)
        strbuf_addc(w->b, 'D');
}

static void add_columns(const struct writer *w) {
    static const struct {
        unsigned field;
        const char *column;
    } columns[] = {{SEARCH_IN_TITLE, "title "},
                   {SEARCH_IN_URL, "url "},
                   {SEARCH_IN_TEXT, "text "},
                   {SEARCH_IN_AUTHOR, "author "}};
    if (!w->fields)
        return;
    strbuf_adds(w->b, "{");
    for (size_t i = 0; i < ARRAY_LEN(columns); i++)
        if (w->fields & columns[i].field)
            strbuf_adds(w->b, columns[i].column);
    strbuf_adds(w->b, "} : ");
}

/* 'a' <-> 'b' or "a b" */
static void add_phrase(const struct writer *w, struct str words) {
    if (!w->pg) {
        add_columns(w);
        strbuf_addf(w->b, "\"%.*s\"", STR_FMT(words));
        return;
    }
    strbuf_addc(w->b, '(');
    for (size_t at = 0; at < words.n;) {
        const char *space = memchr(words.p + at, ' ', words.n - at);
        size_t n = space ? (size_t)(space - words.p) - at : words.n - at;
        strbuf_addf(w->b, "%s'%.*s'", at ? " <-> " : "", (int)n, words.p + at);
        add_weights(w);
        at += n + 1;
    }
    strbuf_addc(w->b, ')');
}

static const char *and_of(const struct writer *w) {
    return w->pg ? " & " : " AND ";
}

static const char *or_of(const struct writer *w) {
    return w->pg ? " | " : " OR ";
}

static void add_lexeme(const struct writer *w, const char *lexeme) {
    strbuf_addf(w->b, w->pg ? "'%s'" : "\"%s\"", lexeme);
}

static const unsigned all_kinds[] = {SEARCH_STORY, SEARCH_COMMENT, SEARCH_POLL, SEARCH_POLLOPT,
                                     SEARCH_JOB};

/* A kind has one lexeme for what is alive and one for what is dead. */
static void add_kinds(const struct writer *w, const struct search *s, unsigned kinds) {
    const char *between = "";
    for (size_t i = 0; i < ARRAY_LEN(all_kinds); i++) {
        if (!(kinds & all_kinds[i]))
            continue;
        for (int dead = 0; dead <= (s->q->with_dead ? 1 : 0); dead++) {
            strbuf_adds(w->b, between);
            add_lexeme(w, search_kind_lexeme(all_kinds[i], dead));
            between = or_of(w);
        }
    }
}

static void add_tag(const struct writer *w, const struct search *s, const struct search_tag *t) {
    CLEANUP(strbuf_release) struct strbuf lexeme;
    strbuf_init(&lexeme, 1024);
    switch (t->kind) {
    case TAG_KIND:
        add_kinds(w, s, t->kinds ? t->kinds : SEARCH_ANY);
        break;
    case TAG_SHOW_HN:
        add_lexeme(w, LEXEME_SHOW);
        break;
    case TAG_ASK_HN:
        add_lexeme(w, LEXEME_ASK);
        break;
    case TAG_AUTHOR:
        search_author_lexeme(t->name, &lexeme);
        add_lexeme(w, lexeme.p);
        break;
    default: /* a set of ids: no word for it */
        break;
    }
}

static bool has_lexeme(const struct search_tag *t) {
    return t->kind != TAG_FRONT_PAGE && t->kind != TAG_STORY;
}

static bool only_kinds(const struct search_group *g) {
    for (size_t i = 0; i < g->n; i++)
        if (g->tags[i].kind != TAG_KIND)
            return false;
    return true;
}

static bool only_lexemes(const struct search_group *g) {
    for (size_t i = 0; i < g->n; i++)
        if (!has_lexeme(&g->tags[i]))
            return false;
    return g->n > 0;
}

/* Groups of kinds alone are in s->kinds already. */
static void add_groups(const struct writer *w, struct search *s) {
    for (size_t i = 0; i < s->q->n_groups; i++) {
        const struct search_group *g = &s->q->groups[i];
        if (only_kinds(g))
            s->group_is_exact[i] = true;
        if (only_kinds(g) || !only_lexemes(g))
            continue;
        s->group_is_exact[i] = true;
        if (w->b->n)
            strbuf_adds(w->b, and_of(w));
        strbuf_addc(w->b, '(');
        for (size_t k = 0; k < g->n; k++) {
            strbuf_adds(w->b, k ? or_of(w) : "");
            add_tag(w, s, &g->tags[k]);
        }
        strbuf_addc(w->b, ')');
    }
}

static void add_wanted(const struct writer *w, const struct search *s) {
    for (size_t i = 0; i < s->terms.n; i++) {
        if (s->terms.terms[i].without)
            continue;
        if (w->b->n)
            strbuf_adds(w->b, and_of(w));
        add_phrase(w, s->terms.terms[i].words);
    }
}

/* Behind all the rest: FTS5 knows "this NOT that" only. */
static void add_unwanted(const struct writer *w, const struct search *s) {
    const char *before = w->pg ? " & !(" : " NOT (";
    bool any = false;
    for (size_t i = 0; i < s->terms.n; i++) {
        if (!s->terms.terms[i].without || w->blind)
            continue;
        strbuf_adds(w->b, any ? or_of(w) : before);
        add_phrase(w, s->terms.terms[i].words);
        any = true;
    }
    if (any)
        strbuf_addc(w->b, ')');
}

static void make_match(struct search *s, const struct writer *w, unsigned kinds_here,
                       unsigned kinds_all) {
    struct search_expr *x = &s->expr[w->index];
    add_wanted(w, s);
    add_groups(w, s);
    /* what is dead has no words in the index, so with words there is no need to ask */
    if (w->b->n == 0 || kinds_here != kinds_all || (s->terms.n_wanted == 0 && !s->q->with_dead)) {
        strbuf_adds(w->b, w->b->n ? and_of(w) : "");
        strbuf_addc(w->b, '(');
        add_kinds(w, s, kinds_here);
        strbuf_addc(w->b, ')');
    }
    if (!w->pg) { /* binds less tightly than NOT */
        CLEANUP(strbuf_release) struct strbuf inner;
        strbuf_init(&inner, EXPR_BYTES);
        strbuf_add_str(&inner, strbuf_str(w->b));
        strbuf_clear(w->b);
        strbuf_addf(w->b, "(%s)", inner.p);
    }
    add_unwanted(w, s);
    x->match = arena_str(s->a, strbuf_str(w->b));
}

static void make_title(struct search *s, const struct writer *all) {
    struct writer w = *all;
    w.fields = SEARCH_IN_TITLE;
    strbuf_clear(w.b);
    add_wanted(&w, s);
    if (w.b->n)
        s->expr[w.index].title = arena_str(s->a, strbuf_str(w.b));
}

/* All that is wanted, one behind the other. One term alone is no better for standing in a row. */
static void make_phrase(struct search *s, const struct writer *w) {
    if (s->terms.n_wanted < 2)
        return;
    CLEANUP(strbuf_release) struct strbuf row;
    strbuf_init(&row, EXPR_BYTES);
    for (size_t i = 0; i < s->terms.n; i++) {
        if (s->terms.terms[i].without)
            continue;
        strbuf_adds(&row, row.n ? " " : "");
        strbuf_add_str(&row, s->terms.terms[i].words);
    }
    strbuf_clear(w->b);
    add_phrase(w, strbuf_str(&row));
    s->expr[w->index].phrase = arena_str(s->a, strbuf_str(w->b));
}

static unsigned fields_of(const struct search_query *q) {
    unsigned fields = q->fields & SEARCH_IN_ALL;
    return fields == SEARCH_IN_ALL ? 0 : fields;
}

void search_make_exprs(struct search *s) {
    static const unsigned kinds[N_INDEXES] = {SEARCH_ANY & ~SEARCH_COMMENT, SEARCH_COMMENT};
    static const unsigned known[N_INDEXES] = {SEARCH_IN_ALL, SEARCH_IN_TEXT | SEARCH_IN_AUTHOR};
    unsigned fields = fields_of(s->q);
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, EXPR_BYTES);
    for (int i = 0; i < N_INDEXES; i++) {
        const struct writer w = {.b = &b,
                                 .pg = store_is_shared(s->s),
                                 .fields = fields & known[i],
                                 .blind = fields && !(fields & known[i]),
                                 .index = i};
        s->expr[i].use = (s->kinds & kinds[i]) != 0 && !(w.blind && s->terms.n_wanted);
        if (!s->expr[i].use)
            continue;
        strbuf_clear(&b);
        make_match(s, &w, s->kinds & kinds[i], kinds[i]);
        if (s->q->order != SEARCH_BY_RELEVANCE)
            continue;
        if (i == IN_STORIES && fields != SEARCH_IN_TITLE)
            make_title(s, &w);
        make_phrase(s, &w);
    }
}
