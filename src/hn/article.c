#include "hn/article_int.h"

#include <string.h>
#include <strings.h>

/* The markup is at most so many times the text it is made of: a '"' becomes "&quot;". */
#define TAME_GROWTH 6

enum kind { KIND_HTML, KIND_TEXT, KIND_OTHER };

static enum kind kind_of(struct str content_type) {
    static const struct {
        const char *type;
        enum kind kind;
    } rows[] = {
        {"", KIND_HTML},
        {"text/html", KIND_HTML},
        {"application/xhtml+xml", KIND_HTML},
        {"text/plain", KIND_TEXT},
    };
    size_t from = 0, to;
    while (from < content_type.n && (content_type.p[from] == ' ' || content_type.p[from] == '\t'))
        from++;
    for (to = from; to < content_type.n && !strchr("; \t", content_type.p[to]); to++)
        ;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (strlen(rows[i].type) == to - from &&
            (to == from || strncasecmp(rows[i].type, content_type.p + from, to - from) == 0))
            return rows[i].kind;
    return KIND_OTHER;
}

/* Servers call many things text. */
static bool is_binary(struct str b, struct charset c) {
    static const char *const magic[] = {"%PDF-",      "\x89PNG",  "GIF8",       "\xFF\xD8\xFF",
                                        "PK\x03\x04", "\x1F\x8B", "\x7F\x45LF", "7z\xBC\xAF"};
    for (size_t i = 0; i < ARRAY_LEN(magic); i++)
        if (str_starts(b, magic[i]))
            return true;
    size_t at = 0;
    while (at < b.n && (b.p[at] == ' ' || b.p[at] == '\n' || b.p[at] == '\r' || b.p[at] == '\t'))
        at++;
    bool wide = c.codec && strncmp(c.codec, "UTF-16", 6) == 0, markup = at < b.n && b.p[at] == '<';
    return !wide && !markup && memchr(b.p, '\0', b.n < 512 ? b.n : 512);
}

/* At most max bytes, not in the middle of a character. */
static struct str cut(struct str s, size_t max) {
    if (s.n <= max)
        return s;
    size_t n = max;
    while (n > 0 && ((unsigned char)s.p[n] & 0xC0) == 0x80)
        n--;
    return (struct str){s.p, n};
}

static struct str trim(struct str s) {
    while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\n'))
        s.n--;
    while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\n')) {
        s.p++;
        s.n--;
    }
    return s;
}

static struct str keep(struct arena *a, struct str s, size_t max) {
    s = trim(cut(trim(s), max));
    return s.n ? arena_str(a, s) : STR_NONE;
}

static struct str first_of(const struct strbuf *const *fields, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (trim(strbuf_str(fields[i])).n > 0)
            return strbuf_str(fields[i]);
    return STR_NONE;
}

static bool is_url(struct str s) {
    if (s.n > ARTICLE_URL_MAX ||
        (strncasecmp(s.p, "http://", 7) != 0 && strncasecmp(s.p, "https://", 8) != 0))
        return false;
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] <= ' ' || strchr("\"<>\\^`{|}", s.p[i]))
            return false;
    return true;
}

static bool is_language(struct str s) {
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!letter && (i == 0 || !((c >= '0' && c <= '9') || c == '-')))
            return false;
    }
    return s.n >= 2 && s.n <= 35;
}

static void keep_fields(const struct page *p, struct arena *a, struct article *ret) {
    const struct strbuf *titles[] = {&p->og_title, &p->title, &p->h1};
    const struct strbuf *descriptions[] = {&p->og_description, &p->description};
    const struct strbuf *urls[] = {&p->canonical, &p->og_url};
    ret->title = keep(a, first_of(titles, ARRAY_LEN(titles)), ARTICLE_TITLE_MAX);
    ret->description =
        keep(a, first_of(descriptions, ARRAY_LEN(descriptions)), ARTICLE_DESCRIPTION_MAX);
    ret->site = keep(a, strbuf_str(&p->site), ARTICLE_TITLE_MAX);
    for (size_t i = 0; i < ARRAY_LEN(urls) && !ret->canonical.p; i++) {
        struct str url = trim(strbuf_str(urls[i]));
        if (url.n > 0 && is_url(url))
            ret->canonical = arena_str(a, url);
    }
    struct str language = trim(strbuf_str(&p->language));
    if (is_language(language))
        ret->language = arena_str(a, language);
}

static void keep_text(struct str text, struct arena *a, struct article *ret) {
    ret->cut = text.n > ARTICLE_TEXT_MAX;
    ret->text = keep(a, text, ARTICLE_TEXT_MAX);
    if (!ret->text.p)
        ret->text = arena_str(a, STR(""));
}

/* Line ends of every kind become one, and more than an empty line becomes that. */
static void read_text(struct str s, struct arena *a, struct article *ret) {
    struct strbuf out;
    int breaks = 0;
    strbuf_init(&out, s.n);
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '\r' && i + 1 < s.n && s.p[i + 1] == '\n')
            continue;
        char c = (char)(s.p[i] == '\r' || s.p[i] == '\f' ? '\n' : s.p[i]);
        breaks = c == '\n' ? breaks + 1 : 0;
        if (breaks <= 2)
            strbuf_addc(&out, c);
    }
    keep_text(strbuf_str(&out), a, ret);
    strbuf_release(&out);
}

static void read_html(struct str s, struct arena *a, struct article *ret) {
    struct strbuf tame, text;
    struct page page;
    strbuf_init(&tame, TAME_GROWTH * s.n + 1);
    article_tame(s, &tame);
    article_parse(strbuf_str(&tame), &page);
    strbuf_release(&tame);
    strbuf_init(&text, 3 * page.text.n + 1); /* all of it, so that the cut is seen */
    article_pick(&page, &text);
    keep_fields(&page, a, ret);
    keep_text(strbuf_str(&text), a, ret);
    strbuf_release(&text);
    article_page_release(&page);
}

enum verdict article_read(struct str bytes, struct str content_type, struct arena *a,
                          struct article *ret, struct err *e) {
    enum kind kind = kind_of(content_type);
    if (kind == KIND_OTHER)
        return err_set(e, V_INVALID, "article", 0, "not a page but %.100s", content_type.p);
    if (bytes.n > ARTICLE_BYTES_MAX)
        bytes.n = ARTICLE_BYTES_MAX;
    struct charset c = article_charset(bytes, content_type);
    if (is_binary(bytes, c))
        return err_set(e, V_INVALID, "article", 0, "not a page but something binary");
    struct strbuf utf8;
    *ret = (struct article){.charset = c.name};
    strbuf_init(&utf8, ARTICLE_UTF8_MAX);
    article_to_utf8(bytes, c, &utf8);
    if (kind == KIND_TEXT)
        read_text(strbuf_str(&utf8), a, ret);
    else
        read_html(strbuf_str(&utf8), a, ret);
    strbuf_release(&utf8);
    return V_OK;
}
