#include "store/search_doc_int.h"

#include "hn/html.h"
#include "store/search_words_int.h"

#include <string.h>
#include <strings.h>

enum { FIELD_GAP = 8, AUTHOR_BYTES = 64, LEXEME_POSITIONS = 16383 };
#define VECTOR_BYTES (DOC_BYTES / 2) /* PostgreSQL takes no more than a MiB */

unsigned search_kind_of(struct str type) {
    static const struct {
        const char *name;
        unsigned kind;
    } kinds[] = {{"story", SEARCH_STORY},
                 {"comment", SEARCH_COMMENT},
                 {"job", SEARCH_JOB},
                 {"poll", SEARCH_POLL},
                 {"pollopt", SEARCH_POLLOPT}};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (str_eqc(type, kinds[i].name))
            return kinds[i].kind;
    return 0;
}

const char *search_kind_lexeme(unsigned kind, bool dead) {
    switch (kind) {
    case SEARCH_STORY:
        return dead ? "_dstory" : "_story";
    case SEARCH_COMMENT:
        return dead ? "_dcomment" : "_comment";
    case SEARCH_JOB:
        return dead ? "_djob" : "_job";
    case SEARCH_POLL:
        return dead ? "_dpoll" : "_poll";
    case SEARCH_POLLOPT:
        return dead ? "_dpollopt" : "_pollopt";
    default:
        return dead ? "_dnone" : "_none";
    }
}

static bool begins(struct str title, const char *front) {
    size_t n = strlen(front);
    return title.n >= n && strncasecmp(title.p, front, n) == 0;
}

bool search_is_show(struct str title) {
    return begins(title, "Show HN");
}

bool search_is_ask(struct str title) {
    return begins(title, "Ask HN");
}

void search_author_lexeme(struct str name, struct strbuf *out) {
    strbuf_adds(out, "_u");
    for (size_t i = 0; i < name.n && i < AUTHOR_BYTES; i++)
        strbuf_addf(out, "%02x", (unsigned char)name.p[i]);
}

void search_range_lexeme(int64_t id, int bits, struct strbuf *out) {
    strbuf_addf(out, "_r%dx%llx", bits, (unsigned long long)id >> bits);
}

static void add_tags(const struct item *it, unsigned kind, const char *before, const char *behind,
                     struct strbuf *out) {
    strbuf_addf(out, "%s%s%s", before, search_kind_lexeme(kind, it->dead || it->deleted), behind);
    if (kind == SEARCH_STORY && search_is_show(it->title))
        strbuf_addf(out, "%s" LEXEME_SHOW "%s", before, behind);
    if (kind == SEARCH_STORY && search_is_ask(it->title))
        strbuf_addf(out, "%s" LEXEME_ASK "%s", before, behind);
    if (it->by.n) {
        strbuf_adds(out, before);
        search_author_lexeme(it->by, out);
        strbuf_adds(out, behind);
    }
}

/* Words with a space between, as FTS5 is fed. */
static struct str column_of(struct arena *a, struct strbuf *b, struct str text) {
    struct word_reader r = {.text = text};
    struct word w;
    strbuf_clear(b);
    while (word_next(&r, &w)) {
        if (b->n)
            strbuf_addc(b, ' ');
        strbuf_add(b, w.folded, w.len);
    }
    return arena_str(a, strbuf_str(b));
}

/* Words with their places, as a tsvector is written: 'word':7A. */
static int vector_add(struct strbuf *b, struct str text, char weight, int at) {
    struct word_reader r = {.text = text};
    struct word w;
    char place[16];
    while (b->n < VECTOR_BYTES && word_next(&r, &w)) {
        if (at < LEXEME_POSITIONS)
            at++;
        size_t n = sizeof place;
        place[--n] = ' ';
        place[--n] = weight;
        for (int d = at; d; d /= 10)
            place[--n] = (char)('0' + d % 10);
        place[--n] = ':';
        place[--n] = '\'';
        strbuf_addc(b, '\'');
        strbuf_add(b, w.folded, w.len);
        strbuf_add(b, place + n, sizeof place - n);
    }
    return at + FIELD_GAP < LEXEME_POSITIONS ? at + FIELD_GAP : LEXEME_POSITIONS;
}

static struct str vector_of(struct arena *a, struct strbuf *b, const struct item *it, unsigned kind,
                            struct str text) {
    strbuf_clear(b);
    add_tags(it, kind, "'", "' ", b);
    static const int bits[] = {RANGE_BITS_LEAST, RANGE_BITS_FINE, RANGE_BITS_WIDE};
    for (size_t i = 0; i < ARRAY_LEN(bits); i++) {
        strbuf_addc(b, '\'');
        search_range_lexeme(it->id, bits[i], b);
        strbuf_adds(b, "' ");
    }
    int at = vector_add(b, it->title, 'A', 0);
    at = vector_add(b, search_url_part(it->url), 'B', at);
    at = vector_add(b, it->by, 'C', at);
    vector_add(b, text, 'D', at);
    return arena_str(a, strbuf_str(b));
}

/* Some that are dead have kept their words; nobody shall find them by these. */
static struct item without_words(const struct item *it) {
    struct item quiet = *it;
    quiet.title = quiet.url = quiet.text = STR_NONE;
    return quiet;
}

void search_doc_of(struct arena *a, const struct item *given, enum db_kind db,
                   struct search_doc *ret) {
    struct item quiet = without_words(given);
    const struct item *it = given->dead || given->deleted ? &quiet : given;
    unsigned kind = search_kind_of(it->type);
    CLEANUP(strbuf_release) struct strbuf plain, b;
    strbuf_init(&plain, DOC_BYTES / 4);
    strbuf_init(&b, DOC_BYTES);
    struct str text = STR_NONE;
    if (it->text.n && html_text(it->text, &plain))
        text = strbuf_str(&plain);
    *ret = (struct search_doc){.id = it->id, .comment = kind == SEARCH_COMMENT};
    if (db == DB_POSTGRES) {
        ret->words = vector_of(a, &b, it, kind, text);
        return;
    }
    ret->title = column_of(a, &b, it->title);
    ret->url = column_of(a, &b, search_url_part(it->url));
    ret->text = column_of(a, &b, text);
    ret->author = column_of(a, &b, it->by);
    strbuf_clear(&b);
    add_tags(it, kind, "", " ", &b);
    ret->tags = arena_str(a, strbuf_str(&b));
}
