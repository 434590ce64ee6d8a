#include "hn/search_text.h"

#include <string.h>
#include <strings.h>

static size_t prefix(struct str s, const char *word) {
    size_t n = strlen(word);
    return s.n >= n && strncasecmp(s.p, word, n) == 0 ? n : 0;
}

/* Bytes at the front that the index does not have. Alone they are what is looked for. */
static size_t in_front(struct str s) {
    size_t n = prefix(s, "https://");
    if (!n)
        n = prefix(s, "http://");
    n += prefix((struct str){s.p + n, s.n - n}, "www.");
    return n < s.n && s.p[n] != ' ' && s.p[n] != '"' ? n : 0;
}

/* A word begins at the front, behind a blank, a quote, or the minus that leaves it out. */
static bool begins(struct str s, size_t at) {
    if (at && s.p[at - 1] == '-')
        at--;
    return at == 0 || s.p[at - 1] == ' ' || s.p[at - 1] == '"';
}

struct str search_text(struct arena *a, struct str typed) {
    char *out = NULL;
    size_t n = 0;
    for (size_t i = 0; i < typed.n; i++) {
        size_t skip = begins(typed, i) ? in_front((struct str){typed.p + i, typed.n - i}) : 0;
        if (skip && !out) {
            out = arena_alloc(a, typed.n);
            memcpy(out, typed.p, i);
        }
        i += skip;
        if (out)
            out[n] = typed.p[i];
        n++;
    }
    return out ? (struct str){out, n} : typed;
}
