/* Where a text holds what is looked for, by the same reading of words as the index. */
#include "store/search_words_int.h"

#include <string.h>

enum { SNIPPET_MARKS = 256 };

static struct str first_word(struct str words) {
    const char *space = memchr(words.p, ' ', words.n);
    return (struct str){words.p, space ? (size_t)(space - words.p) : words.n};
}

/* Where the term ends that begins with the word just read, 0 when it is not there. */
static size_t match_at(struct word_reader r, const struct word *first, struct str words) {
    struct str want = first_word(words);
    struct word w;
    const struct word *have = first;
    for (;;) {
        if (!str_eq(want, (struct str){have->folded, have->len}))
            return 0;
        size_t end = have->at + have->n, used = (size_t)(want.p - words.p) + want.n;
        if (used == words.n)
            return end;
        want = first_word((struct str){words.p + used + 1, words.n - used - 1});
        if (!word_next(&r, &w))
            return 0;
        have = &w;
    }
}

bool search_holds(struct str text, struct str words) {
    struct word_reader r = {.text = text};
    struct word w;
    while (word_next(&r, &w))
        if (match_at(r, &w, words))
            return true;
    return false;
}

size_t search_marks(const struct search_words *s, struct str text, struct search_mark *out,
                    size_t max) {
    struct word_reader r = {.text = text};
    struct word w;
    size_t n = 0;
    while (n < max && word_next(&r, &w)) {
        size_t best = 0, which = 0;
        for (size_t i = 0; i < s->n; i++) {
            size_t end = match_at(r, &w, s->words[i]);
            if (end > best) {
                best = end;
                which = i;
            }
        }
        if (best) {
            out[n++] = (struct search_mark){w.at, best - w.at, which};
            r.at = best;
        }
    }
    return n;
}

/* Different words count more than one word often. */
static size_t worth(const struct search_mark *marks, size_t from, size_t n, size_t width) {
    size_t points = 0;
    uint32_t seen = 0;
    _Static_assert(SEARCH_WORDS_MAX <= 32, "one bit per word");
    for (size_t i = from; i < n && marks[i].at + marks[i].n <= marks[from].at + width; i++) {
        uint32_t bit = UINT32_C(1) << marks[i].word;
        points += seen & bit ? 1 : 8;
        seen |= bit;
    }
    return points;
}

static bool is_gap(char c) {
    return c == ' ' || c == '\n';
}

static size_t cut_before(struct str t, size_t at) {
    while (at > 0 && at < t.n && !is_gap(t.p[at - 1]))
        at--;
    return at;
}

static size_t cut_behind(struct str t, size_t from, size_t at) {
    if (at >= t.n)
        return t.n;
    size_t end = at;
    while (end > from && !is_gap(t.p[end]))
        end--;
    if (end > from)
        return end;
    while (at > from && ((unsigned char)t.p[at] & 0xc0) == 0x80) /* one word without an end */
        at--;
    return at;
}

struct str search_snippet(const struct search_words *w, struct str text, size_t width) {
    if (text.n <= width)
        return text;
    struct search_mark marks[SNIPPET_MARKS];
    size_t n = search_marks(w, text, marks, SNIPPET_MARKS), best = 0, most = 0;
    for (size_t i = 0; i < n; i++) {
        size_t points = worth(marks, i, n, width * 3 / 4);
        if (points > most) {
            most = points;
            best = i;
        }
    }
    size_t from = 0;
    if (n && marks[best].at > width / 4) {
        from = cut_before(text, marks[best].at - width / 4);
        if (marks[best].at - from > width / 2) /* a word as long as a line stands before it */
            from = marks[best].at;
    }
    while (from < text.n && is_gap(text.p[from]))
        from++;
    size_t end = cut_behind(text, from, from + width);
    return (struct str){text.p + from, end - from};
}
