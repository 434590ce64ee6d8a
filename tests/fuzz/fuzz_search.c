/* What is typed into a search (the first line), and a text that it is marked in (the rest). Words
 * are UTF-8 and not empty; marks lie within the text, in order, and do not overlap; a snippet is a
 * piece of the text. */
#include "fuzz_target.h"
#include "hn/search_text.h"
#include "store/search.h"

#include <string.h>

#define MARKS 64

static void require_marks(const struct search_words *w, struct str text) {
    struct search_mark marks[MARKS];
    size_t n = search_marks(w, text, marks, MARKS), from = 0;
    FUZZ_REQUIRE(n <= MARKS);
    for (size_t i = 0; i < n; i++) {
        FUZZ_REQUIRE(marks[i].at >= from && marks[i].n > 0 && marks[i].n <= text.n);
        FUZZ_REQUIRE(marks[i].at <= text.n - marks[i].n && marks[i].word < w->n);
        from = marks[i].at + marks[i].n;
    }
    struct str piece = search_snippet(w, text, 320);
    FUZZ_REQUIRE(!piece.n || (piece.p >= text.p && piece.p + piece.n <= text.p + text.n));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct str all = {(const char *)data, size};
    for (size_t i = 0, n; i < size;
         i += n) { /* the store has nothing else, and the server neither */
        n = utf8_len(data + i, size - i);
        if (n == 0 || data[i] == 0)
            return 0;
    }
    const char *end = size ? memchr(all.p, '\n', all.n) : NULL;
    struct str typed = {all.p, end ? (size_t)(end - all.p) : all.n};
    struct str text = end ? (struct str){end + 1, all.n - typed.n - 1} : STR("");
    struct arena a;
    struct search_words words;
    arena_init(&a);
    struct str plain = search_text(&a, typed);
    FUZZ_REQUIRE(plain.n <= typed.n);
    search_words_of(&a, plain, &words);
    FUZZ_REQUIRE(words.n <= ARRAY_LEN(words.words));
    for (size_t i = 0; i < words.n; i++)
        FUZZ_REQUIRE(words.words[i].n > 0);
    require_marks(&words, text);
    arena_release(&a);
    return 0;
}
