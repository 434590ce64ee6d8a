#include "web/search_api_mark.h"

#include "hn/html.h"
#include "web/call.h"

#include <stdlib.h>
#include <string.h>

#define FIELD_MAX ((size_t)16 * 1024 * 1024) /* safe HTML of one field; an item is far smaller */

void marker_init(struct marker *m, const struct search_words *words) {
    *m = (struct marker){.words = words};
    strbuf_init(&m->safe, FIELD_MAX);
    strbuf_init(&m->plain, FIELD_MAX);
    strbuf_init(&m->value, 2 * FIELD_MAX);
    m->marks = xmalloc(MARKS_MAX * sizeof *m->marks);
}

void marker_release(struct marker *m) {
    strbuf_release(&m->safe);
    strbuf_release(&m->plain);
    strbuf_release(&m->value);
    free(m->from);
    free(m->marks);
}

/* Plain text with its origin ---------------------------------------------------------------------
 */

static void put(struct marker *m, char c, size_t from) {
    if (m->plain.n == m->from_cap) {
        m->from_cap = m->from_cap ? 2 * m->from_cap : 4096;
        m->from = xrealloc(m->from, m->from_cap * sizeof *m->from);
    }
    m->from[m->plain.n] = (uint32_t)from;
    strbuf_addc(&m->plain, c);
}

/* The entities that safe HTML has. Answers the length, 0 when there is none. */
static size_t entity(struct str s, char *ret) {
    static const struct {
        const char *text;
        char c;
    } known[] = {
        {"&amp;", '&'},  {"&lt;", '<'},    {"&gt;", '>'},
        {"&quot;", '"'}, {"&#x27;", '\''}, {"&#39;", '\''},
    };
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (str_starts(s, known[i].text)) {
            *ret = known[i].c;
            return strlen(known[i].text);
        }
    return 0;
}

static size_t tag_length(struct str s) {
    size_t n = 0;
    while (n < s.n && s.p[n] != '>')
        n++;
    return n < s.n ? n + 1 : n;
}

static void make_plain(struct marker *m) {
    struct str all = strbuf_str(&m->safe);
    strbuf_clear(&m->plain);
    for (size_t i = 0; i < all.n;) {
        struct str s = {all.p + i, all.n - i};
        char c = s.p[0];
        size_t n = 1;
        if (c == '<') {
            n = tag_length(s);
            if (str_starts(s, "<p") || str_starts(s, "</p"))
                put(m, '\n', i); /* paragraphs and <pre> part words, the other tags do not */
        } else if (c == '&' && (n = entity(s, &c))) {
            put(m, c, i);
        } else {
            n = 1;
            put(m, c, i);
        }
        i += n;
    }
}

/* Marked HTML ------------------------------------------------------------------------------------
 */

/* Where in safe HTML the source of this byte of plain ends. */
static size_t source_end(const struct marker *m, size_t plain) {
    size_t at = m->from[plain];
    struct str s = {m->safe.p + at, m->safe.n - at};
    char c;
    size_t n = s.p[0] == '&' ? entity(s, &c) : s.p[0] == '<' ? tag_length(s) : 1;
    return at + (n ? n : 1);
}

static void add_marked(struct strbuf *out, struct str s) {
    while (s.n) {
        bool tag = s.p[0] == '<';
        size_t n = 1;
        if (tag)
            n = tag_length(s);
        else
            while (n < s.n && s.p[n] != '<')
                n++;
        if (!tag)
            strbuf_adds(out, "<em>");
        strbuf_add(out, s.p, n);
        if (!tag)
            strbuf_adds(out, "</em>");
        s = (struct str){s.p + n, s.n - n};
    }
}

static void make_value(struct marker *m, size_t n_marks) {
    size_t done = 0;
    strbuf_clear(&m->value);
    for (size_t i = 0; i < n_marks; i++) {
        size_t begin = m->from[m->marks[i].at];
        size_t end = source_end(m, m->marks[i].at + m->marks[i].n - 1);
        strbuf_add(&m->value, m->safe.p + done, begin - done);
        add_marked(&m->value, (struct str){m->safe.p + begin, end - begin});
        done = end;
    }
    strbuf_add(&m->value, m->safe.p + done, m->safe.n - done);
}

static bool is_word(char c) {
    unsigned char u = (unsigned char)c;
    return (u >= '0' && u <= '9') || (u >= 'a' && u <= 'z') || (u >= 'A' && u <= 'Z') || u >= 0x80;
}

/* Whether nothing but punctuation is left outside of the marks. */
static bool fully(const struct marker *m, size_t n_marks) {
    for (size_t i = 0, mark = 0; i < m->plain.n; i++) {
        while (mark < n_marks && m->marks[mark].at + m->marks[mark].n <= i)
            mark++;
        bool inside = mark < n_marks && i >= m->marks[mark].at;
        if (!inside && is_word(m->plain.p[i]))
            return false;
    }
    return true;
}

static void add_found(struct marker *m, struct strbuf *out, size_t n_marks) {
    bool found[SEARCH_WORDS_MAX] = {false};
    size_t n = 0;
    for (size_t i = 0; i < n_marks; i++) {
        n += !found[m->marks[i].word];
        found[m->marks[i].word] = true;
    }
    strbuf_adds(out, n == m->words->n ? ",\"matchLevel\":\"full\"" : ",\"matchLevel\":\"partial\"");
    strbuf_adds(out,
                fully(m, n_marks) ? ",\"fullyHighlighted\":true" : ",\"fullyHighlighted\":false");
    strbuf_adds(out, ",\"matchedWords\":[");
    for (size_t i = 0, written = 0; i < m->words->n; i++)
        if (found[i]) {
            if (written++)
                strbuf_addc(out, ',');
            strbuf_add_json(out, m->words->words[i]);
        }
    strbuf_adds(out, "]}");
}

void marker_add(struct marker *m, struct strbuf *out, struct str field, enum mark_form form,
                bool searched) {
    size_t n = 0;
    strbuf_clear(&m->safe);
    if (form == MARK_PLAIN || !html_safe(field, &m->safe))
        strbuf_add_html(&m->safe, field);
    strbuf_adds(out, "{\"value\":");
    if (searched && m->words->n) {
        make_plain(m);
        n = search_marks(m->words, strbuf_str(&m->plain), m->marks, MARKS_MAX);
    }
    if (!n) {
        strbuf_add_json(out, strbuf_str(&m->safe));
        strbuf_adds(out, ",\"matchLevel\":\"none\",\"matchedWords\":[]}");
        return;
    }
    make_value(m, n);
    strbuf_add_json(out, strbuf_str(&m->value));
    add_found(m, out, n);
}
