#include "store/search_words_int.h"

#include <string.h>

enum { PHRASE_WORDS = 32 };

static bool is_ascii_word(unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool in_ranges(const struct fold_range *ranges, size_t n, uint32_t cp) {
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (ranges[mid].hi < cp)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < n && ranges[lo].lo <= cp;
}

static const char *fold_of(uint32_t cp) {
    size_t lo = 0, hi = fold_pairs_n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (fold_pairs[mid].cp < cp)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < fold_pairs_n && fold_pairs[lo].cp == cp ? fold_pairs[lo].to : NULL;
}

static uint32_t decode(const unsigned char *p, size_t len) {
    if (len == 1)
        return p[0];
    uint32_t cp = p[0] & (0x7fu >> len);
    for (size_t i = 1; i < len; i++)
        cp = cp << 6 | (p[i] & 0x3f);
    return cp;
}

/* What stands at a place of the text. */
struct glyph {
    enum { GLYPH_OTHER, GLYPH_WORD, GLYPH_SINGLE, GLYPH_APOSTROPHE } kind;
    size_t n; /* bytes */
    uint32_t cp;
};

static struct glyph glyph_at(struct str t, size_t at) {
    const unsigned char *p = (const unsigned char *)t.p + at;
    if (*p < 0x80) {
        struct glyph g = {.kind = is_ascii_word(*p) ? GLYPH_WORD : GLYPH_OTHER, .n = 1, .cp = *p};
        if (*p == '\'')
            g.kind = GLYPH_APOSTROPHE;
        return g;
    }
    size_t len = utf8_len(p, t.n - at);
    if (len == 0)
        return (struct glyph){.kind = GLYPH_OTHER, .n = 1};
    struct glyph g = {.kind = GLYPH_OTHER, .n = len, .cp = decode(p, len)};
    if (g.cp == 0x2019)
        g.kind = GLYPH_APOSTROPHE;
    else if (in_ranges(fold_singles, fold_singles_n, g.cp))
        g.kind = GLYPH_SINGLE;
    else if (in_ranges(fold_words, fold_words_n, g.cp))
        g.kind = GLYPH_WORD;
    return g;
}

static void add_bytes(struct word *w, const char *p, size_t n) {
    if (w->len + n <= WORD_BYTES) {
        memcpy(w->folded + w->len, p, n);
        w->len += n;
    }
}

static void add_glyph(struct word *w, struct str t, size_t at, struct glyph g) {
    if (g.cp < 0x80) {
        char c = (char)(g.cp >= 'A' && g.cp <= 'Z' ? g.cp | 0x20 : g.cp);
        add_bytes(w, &c, 1);
        return;
    }
    const char *to = fold_of(g.cp);
    if (to)
        add_bytes(w, to, strlen(to));
    else
        add_bytes(w, t.p + at, g.n);
}

static bool is_word_at(struct str t, size_t at) {
    return at < t.n && glyph_at(t, at).kind == GLYPH_WORD;
}

/* c++, c#: as good as letters. */
static size_t sign_behind(const struct word *w, struct str t, size_t at) {
    if (at + 1 < t.n && t.p[at] == '+' && t.p[at + 1] == '+')
        return 2;
    return at < t.n && t.p[at] == '#' && w->len <= 2 && !is_word_at(t, at + 1) ? 1 : 0;
}

static size_t read_run(struct str t, size_t at, struct word *w) {
    while (at < t.n) {
        struct glyph g = glyph_at(t, at);
        if (g.kind == GLYPH_WORD)
            add_glyph(w, t, at, g);
        else if (g.kind != GLYPH_APOSTROPHE || !is_word_at(t, at + g.n))
            break;
        at += g.n;
    }
    size_t sign = sign_behind(w, t, at);
    if (sign && w->len)
        add_bytes(w, t.p + at, sign);
    return at + (w->len ? sign : 0);
}

bool word_next(struct word_reader *r, struct word *ret) {
    struct str t = r->text;
    size_t at = r->at;
    while (at < t.n) {
        struct glyph g = glyph_at(t, at);
        if (g.kind != GLYPH_WORD && g.kind != GLYPH_SINGLE) {
            at += g.n;
            continue;
        }
        ret->at = at;
        ret->len = 0;
        if (g.kind == GLYPH_SINGLE) {
            add_glyph(ret, t, at, g);
            at += g.n;
        } else {
            at = read_run(t, at, ret);
        }
        ret->n = at - ret->at;
        if (ret->len) {
            r->at = at;
            return true;
        }
    }
    r->at = at;
    return false;
}

struct str search_url_part(struct str url) {
    static const char *const fronts[] = {"https://", "http://", "www."};
    for (size_t i = 0; i < ARRAY_LEN(fronts); i++)
        if (url.p && str_starts(url, fronts[i])) {
            url.p += strlen(fronts[i]);
            url.n -= strlen(fronts[i]);
        }
    return url;
}

/* A query ------------------------------------------------------------------------------------- */

static void add_term(struct arena *a, struct str chunk, bool without, struct search_terms *ret) {
    if (ret->n == SEARCH_WORDS_MAX)
        return;
    char *words = arena_alloc(a, PHRASE_WORDS * (WORD_BYTES + 1));
    size_t len = 0, n = 0;
    struct word_reader r = {.text = chunk};
    struct word w;
    for (; n < PHRASE_WORDS && word_next(&r, &w); n++) {
        if (n)
            words[len++] = ' ';
        memcpy(words + len, w.folded, w.len);
        len += w.len;
    }
    arena_trim(a, words, len + 1);
    if (n == 0)
        return;
    words[len] = '\0';
    ret->terms[ret->n++] = (struct search_term){{words, len}, n, without};
    ret->n_wanted += !without;
}

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

void search_terms_of(struct arena *a, struct str t, struct search_terms *ret) {
    *ret = (struct search_terms){0};
    for (size_t i = 0; i < t.n;) {
        if (is_space(t.p[i])) {
            i++;
            continue;
        }
        bool without = t.p[i] == '-' && i + 1 < t.n && !is_space(t.p[i + 1]);
        i += without;
        bool quoted = t.p[i] == '"';
        i += quoted;
        size_t from = i;
        while (i < t.n && t.p[i] != '"' && (quoted || !is_space(t.p[i])))
            i++;
        add_term(a, (struct str){t.p + from, i - from}, without, ret);
        i += quoted && i < t.n;
    }
}

void search_words_of(struct arena *a, struct str text, struct search_words *ret) {
    struct search_terms terms;
    search_terms_of(a, text, &terms);
    ret->n = 0;
    for (size_t i = 0; i < terms.n; i++)
        if (!terms.terms[i].without)
            ret->words[ret->n++] = terms.terms[i].words;
}
