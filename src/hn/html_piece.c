#include "hn/html_int.h"

#include <string.h>
#include <strings.h>

#define REPLACEMENT 0xFFFD
#define HREF_MAX 8192

static const struct {
    const char *name;
    enum html_tag tag;
} tags[] = {{"p", TAG_P}, {"i", TAG_I},     {"b", TAG_B},
            {"a", TAG_A}, {"pre", TAG_PRE}, {"code", TAG_CODE}};

static struct str after(struct str s, size_t n) {
    return (struct str){s.p + n, s.n - n};
}

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_letter(char c) {
    return (c | 32) >= 'a' && (c | 32) <= 'z';
}

/* The length of the tag at the front of `in`, 0 when it is none of ours. A tag ends at the first
 * '>' and holds no '<': so no byte is looked at more than twice, whatever the text. */
static size_t read_tag(struct str in, struct html_piece *ret) {
    size_t end = 1, name;
    while (end < in.n && in.p[end] != '>' && in.p[end] != '<')
        end++;
    if (end == in.n || in.p[end] == '<')
        return 0;
    ret->closing = in.p[1] == '/';
    size_t begin = ret->closing ? 2 : 1;
    for (name = begin; name < end && is_letter(in.p[name]); name++)
        ;
    if (name < end && !is_space(in.p[name]) && in.p[name] != '/')
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(tags); i++) {
        if (strlen(tags[i].name) != name - begin ||
            strncasecmp(tags[i].name, in.p + begin, name - begin) != 0)
            continue;
        ret->tag = tags[i].tag;
        ret->raw = (struct str){in.p + name, end - name};
        return end + 1;
    }
    return 0;
}

bool html_next_piece(struct str *in, struct html_piece *ret) {
    size_t n = 0;
    *ret = (struct html_piece){.raw = *in};
    while (n < in->n) {
        const char *less = memchr(in->p + n, '<', in->n - n);
        n = less ? (size_t)(less - in->p) : in->n;
        struct html_piece tag = {0};
        size_t tag_n = less ? read_tag(after(*in, n), &tag) : 0;
        if (tag_n && n == 0) {
            *ret = tag;
            *in = after(*in, tag_n);
            return true;
        }
        if (tag_n)
            break; /* the text before it comes first */
        n += less != NULL;
    }
    ret->raw.n = n;
    *in = after(*in, n);
    return n > 0;
}

/* Characters ------------------------------------------------------------------------------------
 */

static const struct {
    struct str name;
    uint32_t c;
} entities[] = {
    {STR("amp"), '&'},       {STR("lt"), '<'},       {STR("gt"), '>'},       {STR("quot"), '"'},
    {STR("apos"), '\''},     {STR("nbsp"), 0xA0},    {STR("copy"), 0xA9},    {STR("reg"), 0xAE},
    {STR("deg"), 0xB0},      {STR("middot"), 0xB7},  {STR("laquo"), 0xAB},   {STR("raquo"), 0xBB},
    {STR("times"), 0xD7},    {STR("ndash"), 0x2013}, {STR("mdash"), 0x2014}, {STR("lsquo"), 0x2018},
    {STR("rsquo"), 0x2019},  {STR("ldquo"), 0x201C}, {STR("rdquo"), 0x201D}, {STR("bull"), 0x2022},
    {STR("hellip"), 0x2026}, {STR("trade"), 0x2122}, {STR("euro"), 0x20AC},
};

#define ENTITY_MAX 12 /* bytes between '&' and ';' that are looked at */

static uint32_t fit_for_text(uint32_t c) {
    if (c == '\r')
        return '\n';
    if ((c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7F && c < 0xA0) ||
        (c >= 0xD800 && c <= 0xDFFF) || c > 0x10FFFF)
        return REPLACEMENT;
    return c;
}

static bool read_number(struct str digits, int base, uint32_t *ret) {
    uint32_t v = 0;
    if (digits.n == 0)
        return false;
    for (size_t i = 0; i < digits.n; i++) {
        int c = (unsigned char)digits.p[i], d = 99;
        if (c >= '0' && c <= '9')
            d = c - '0';
        else if (is_letter((char)c))
            d = (c | 32) - 'a' + 10;
        if (d >= base)
            return false;
        if (v <= 0x10FFFF)
            v = v * (uint32_t)base + (uint32_t)d;
    }
    *ret = fit_for_text(v);
    return true;
}

/* `in` begins with '&'. Answers the length of the entity, 0 when it is none that we know. */
static size_t read_entity(struct str in, uint32_t *ret) {
    size_t most = in.n < ENTITY_MAX + 2 ? in.n : ENTITY_MAX + 2;
    const char *semicolon = memchr(in.p, ';', most);
    if (!semicolon)
        return 0;
    struct str name = {in.p + 1, (size_t)(semicolon - in.p) - 1};
    if (name.n > 1 && name.p[0] == '#') {
        bool hex = name.p[1] == 'x' || name.p[1] == 'X';
        return read_number(after(name, hex ? 2 : 1), hex ? 16 : 10, ret) ? name.n + 2 : 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(entities); i++) {
        if (str_eq(name, entities[i].name)) {
            *ret = entities[i].c;
            return name.n + 2;
        }
    }
    return 0;
}

static uint32_t decode_utf8(const unsigned char *p, size_t n) {
    static const unsigned char first[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    uint32_t c = p[0] & first[n];
    for (size_t i = 1; i < n; i++)
        c = c << 6 | (p[i] & 0x3F);
    return c;
}

uint32_t html_next_char(struct str *in) {
    const unsigned char *p = (const unsigned char *)in->p;
    uint32_t c;
    size_t n = p[0] == '&' ? read_entity(*in, &c) : 0;
    if (n == 0 && p[0] == '\r') {
        n = in->n > 1 && p[1] == '\n' ? 2 : 1;
        c = '\n';
    } else if (n == 0) {
        n = utf8_len(p, in->n);
        c = n ? fit_for_text(decode_utf8(p, n)) : REPLACEMENT;
        n = n ? n : 1;
    }
    *in = after(*in, n);
    return c;
}

size_t html_plain_run(struct str in) {
    size_t n = 0;
    for (; n < in.n; n++) {
        char c = in.p[n];
        if (c < ' ' || c > '~' || c == '&' || c == '<' || c == '>' || c == '"' || c == '\'')
            break; /* bytes above ASCII are negative, or above '~' */
    }
    return n;
}

void html_put_utf8(struct strbuf *out, uint32_t c) {
    char b[4];
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char mark[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = n; i-- > 1; c >>= 6)
        b[i] = (char)(0x80 | (c & 0x3F));
    b[0] = (char)(mark[n] | c);
    strbuf_add(out, b, n);
}

/* Links -----------------------------------------------------------------------------------------
 */

static void skip_spaces(struct str *s) {
    while (s->n && (is_space(s->p[0]) || s->p[0] == '/'))
        *s = after(*s, 1);
}

static struct str take_value(struct str *s) {
    size_t n = 0;
    char quote = s->n && (s->p[0] == '"' || s->p[0] == '\'') ? s->p[0] : '\0';
    if (quote)
        *s = after(*s, 1);
    while (n < s->n && (quote ? s->p[n] != quote : !is_space(s->p[n])))
        n++;
    struct str value = {s->p, n};
    *s = after(*s, quote && n < s->n ? n + 1 : n);
    return value;
}

/* One attribute off the front; false at the end. */
static bool take_attribute(struct str *s, struct str *ret_name, struct str *ret_value) {
    size_t n = 0;
    skip_spaces(s);
    if (s->n == 0)
        return false;
    while (n < s->n && !is_space(s->p[n]) && s->p[n] != '=' && s->p[n] != '/')
        n++;
    *ret_name = (struct str){s->p, n};
    *ret_value = STR_NONE;
    *s = after(*s, n);
    struct str rest = *s;
    while (rest.n && is_space(rest.p[0]))
        rest = after(rest, 1);
    if (rest.n && rest.p[0] == '=') {
        rest = after(rest, 1);
        while (rest.n && is_space(rest.p[0]))
            rest = after(rest, 1);
        *ret_value = take_value(&rest);
        *s = rest;
    }
    return true;
}

/* A scheme that only leads somewhere, and something behind it. */
static bool may_be_followed(struct str url) {
    static const char *const schemes[] = {"http://", "https://", "mailto:"};
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
        size_t n = strlen(schemes[i]);
        if (url.n > n && strncasecmp(url.p, schemes[i], n) == 0)
            return true;
    }
    return false;
}

static bool put_address(struct str value, struct strbuf *ret) {
    while (value.n && is_space(value.p[0]))
        value = after(value, 1);
    while (value.n && is_space(value.p[value.n - 1]))
        value.n--;
    while (value.n) {
        uint32_t c = html_next_char(&value);
        if (c < ' ' || c == REPLACEMENT)
            return false; /* browsers would guess; we do not */
        if (c == ' ')
            strbuf_adds(ret, "%20");
        else
            html_put_utf8(ret, c);
    }
    return !ret->overflow && may_be_followed(strbuf_str(ret));
}

bool html_href(struct str attributes, struct strbuf *ret) {
    struct str name, value;
    ret->max = HREF_MAX;
    while (take_attribute(&attributes, &name, &value))
        if (name.n == 4 && strncasecmp(name.p, "href", 4) == 0 && value.p)
            return put_address(value, ret);
    return false;
}
