#include "hn/article_int.h"

#include <errno.h>
#include <iconv.h>
#include <string.h>
#include <strings.h>

#define PRESCAN 4096

/* What pages call them and what iconv does. The list is closed: what stands in a page chooses
 * code to run. Latin-1 means Windows-1252, as everywhere on the web. */
static const struct charset_row {
    const char *label, *name, *codec;
} charsets[] = {
    {"utf-8", "utf-8", NULL},
    {"utf8", "utf-8", NULL},
    {"us-ascii", "windows-1252", "CP1252"},
    {"ascii", "windows-1252", "CP1252"},
    {"iso-8859-1", "windows-1252", "CP1252"},
    {"iso8859-1", "windows-1252", "CP1252"},
    {"latin1", "windows-1252", "CP1252"},
    {"windows-1252", "windows-1252", "CP1252"},
    {"cp1252", "windows-1252", "CP1252"},
    {"iso-8859-2", "iso-8859-2", "ISO-8859-2"},
    {"iso-8859-5", "iso-8859-5", "ISO-8859-5"},
    {"iso-8859-7", "iso-8859-7", "ISO-8859-7"},
    {"iso-8859-9", "windows-1254", "CP1254"},
    {"iso-8859-15", "iso-8859-15", "ISO-8859-15"},
    {"windows-1250", "windows-1250", "CP1250"},
    {"windows-1251", "windows-1251", "CP1251"},
    {"cp1251", "windows-1251", "CP1251"},
    {"windows-1253", "windows-1253", "CP1253"},
    {"windows-1254", "windows-1254", "CP1254"},
    {"windows-1255", "windows-1255", "CP1255"},
    {"windows-1256", "windows-1256", "CP1256"},
    {"windows-1257", "windows-1257", "CP1257"},
    {"windows-1258", "windows-1258", "CP1258"},
    {"windows-874", "windows-874", "CP874"},
    {"koi8-r", "koi8-r", "KOI8-R"},
    {"koi8-u", "koi8-u", "KOI8-U"},
    {"gb2312", "gb18030", "GB18030"},
    {"gbk", "gb18030", "GB18030"},
    {"gb18030", "gb18030", "GB18030"},
    {"big5", "big5", "BIG5-HKSCS"},
    {"euc-jp", "euc-jp", "EUC-JP"},
    {"shift_jis", "shift_jis", "CP932"},
    {"shift-jis", "shift_jis", "CP932"},
    {"sjis", "shift_jis", "CP932"},
    {"windows-31j", "shift_jis", "CP932"},
    {"iso-2022-jp", "iso-2022-jp", "ISO-2022-JP"},
    {"euc-kr", "euc-kr", "CP949"},
    {"ks_c_5601-1987", "euc-kr", "CP949"},
    {"utf-16", "utf-16le", "UTF-16LE"},
    {"utf-16le", "utf-16le", "UTF-16LE"},
    {"utf-16be", "utf-16be", "UTF-16BE"},
};

static bool find(struct str label, struct charset *ret) {
    for (size_t i = 0; i < ARRAY_LEN(charsets); i++)
        if (strlen(charsets[i].label) == label.n &&
            strncasecmp(charsets[i].label, label.p, label.n) == 0) {
            *ret = (struct charset){charsets[i].name, charsets[i].codec, 0};
            return true;
        }
    return false;
}

/* Where the word begins in s, or s.n. */
static size_t seek(struct str s, size_t from, const char *word) {
    size_t n = strlen(word);
    for (; from + n <= s.n; from++)
        if (strncasecmp(s.p + from, word, n) == 0)
            return from;
    return s.n;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

/* The value of name=value, with or without quotes, after `from`. */
static struct str value_of(struct str s, size_t from, const char *name) {
    size_t at = seek(s, from, name);
    if (at == s.n)
        return STR_NONE;
    at += strlen(name);
    while (at < s.n && is_blank(s.p[at]))
        at++;
    if (at == s.n || s.p[at] != '=')
        return STR_NONE;
    at++;
    while (at < s.n && (is_blank(s.p[at]) || s.p[at] == '"' || s.p[at] == '\''))
        at++;
    size_t end = at;
    while (end < s.n && !is_blank(s.p[end]) && !strchr("\"';,>/?", s.p[end]))
        end++;
    return (struct str){s.p + at, end - at};
}

static bool by_mark(struct str b, struct charset *ret) {
    if (b.n >= 3 && memcmp(b.p, "\xEF\xBB\xBF", 3) == 0)
        *ret = (struct charset){"utf-8", NULL, 3};
    else if (b.n >= 2 && memcmp(b.p, "\xFF\xFE", 2) == 0)
        *ret = (struct charset){"utf-16le", "UTF-16LE", 2};
    else if (b.n >= 2 && memcmp(b.p, "\xFE\xFF", 2) == 0)
        *ret = (struct charset){"utf-16be", "UTF-16BE", 2};
    else
        return false;
    return true;
}

/* A page that can be read so far as to say UTF-16 is not. */
static bool found_within(struct str label, struct charset *ret) {
    if (!label.p || !find(label, ret))
        return false;
    if (ret->codec && strncmp(ret->codec, "UTF-16", 6) == 0)
        *ret = (struct charset){"utf-8", NULL, 0};
    return true;
}

static bool by_markup(struct str b, struct charset *ret) {
    struct str head = {b.p, b.n < PRESCAN ? b.n : PRESCAN};
    if (str_starts(head, "<?xml")) {
        struct str declaration = {head.p, seek(head, 0, "?>")};
        if (found_within(value_of(declaration, 0, "encoding"), ret))
            return true;
    }
    for (size_t at = 0; (at = seek(head, at, "<meta")) < head.n; at += 5) {
        struct str tag = {head.p + at, seek(head, at, ">") - at};
        if (found_within(value_of(tag, 0, "charset"), ret))
            return true;
    }
    return false;
}

/* Whether it may be UTF-8. Where the page says so, anything of it that is beyond ASCII proves it;
 * where it does not, most of it must. A stray byte, or a character that was cut, makes no page
 * Latin. */
static bool may_be_utf8(struct str b, bool told) {
    size_t good = 0, bad = 0;
    for (size_t i = 0, n; i < b.n; i += n ? n : 1) {
        n = utf8_len((const unsigned char *)b.p + i, b.n - i);
        good += n > 1;
        bad += n == 0;
    }
    return bad <= good || (told && good > 0);
}

struct charset article_charset(struct str bytes, struct str content_type) {
    struct charset c;
    struct str label = content_type.p ? value_of(content_type, 0, "charset") : STR_NONE;
    if (by_mark(bytes, &c))
        return c;
    bool told = (label.p && find(label, &c)) || by_markup(bytes, &c);
    if (told && c.codec)
        return c;
    return may_be_utf8(bytes, told) ? (struct charset){"utf-8", NULL, 0}
                                    : (struct charset){"windows-1252", "CP1252", 0};
}

#define REPLACEMENT "\xEF\xBF\xBD"

static bool is_control(const unsigned char *p, size_t n) {
    if (n == 1)
        return (*p < ' ' && !is_blank((char)*p)) || *p == 0x7F;
    return n == 2 && p[0] == 0xC2 && p[1] < 0xA0;
}

static void add_utf8(struct str s, struct strbuf *out) {
    const unsigned char *p = (const unsigned char *)s.p;
    for (size_t i = 0, n; i < s.n && !out->overflow; i += n) {
        n = utf8_len(p + i, s.n - i);
        if (n == 0) {
            strbuf_adds(out, REPLACEMENT);
            n = 1;
        } else if (!is_control(p + i, n)) {
            strbuf_add(out, p + i, n);
        }
    }
}

/* True: go on after what iconv could not take. */
static bool step_over(char **in, size_t *left, struct strbuf *out) {
    if (errno == E2BIG)
        return true;
    if (*left == 0)
        return false;
    strbuf_adds(out, REPLACEMENT);
    ++*in;
    --*left;
    return true;
}

static bool convert(struct str s, const char *codec, struct strbuf *out) {
    char piece[4096], *in = (char *)s.p;
    size_t left = s.n;
    iconv_t cd = iconv_open("UTF-8", codec);
    if (cd == (iconv_t)-1)
        return false;
    bool more = true;
    while (more && !out->overflow) {
        char *to = piece;
        size_t room = sizeof piece;
        bool failed = iconv(cd, &in, &left, &to, &room) == (size_t)-1;
        int why = errno;
        add_utf8((struct str){piece, (size_t)(to - piece)}, out);
        errno = why;
        more = failed && step_over(&in, &left, out);
    }
    iconv_close(cd);
    return true;
}

void article_to_utf8(struct str bytes, struct charset c, struct strbuf *out) {
    struct str s = {bytes.p + c.skip, bytes.n - c.skip};
    if (!c.codec || !convert(s, c.codec, out))
        add_utf8(s, out);
}
