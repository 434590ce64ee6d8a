#include "base/shown.h"

#include <string.h>

static size_t strange_len(const unsigned char *p, size_t n) {
    size_t len = utf8_len(p, n);
    if (len == 0)
        return 1;
    if (len == 2)
        return p[0] == 0xc2 && p[1] < 0xa0 ? 2 : 0; /* U+0080 to U+009F */
    if (len != 3 || p[0] != 0xe2)
        return 0;
    bool line_or_order = p[1] == 0x80 && p[2] >= 0xa8 && p[2] <= 0xae; /* U+2028 to U+202E */
    bool isolate = p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9;       /* U+2066 to U+2069 */
    return line_or_order || isolate ? 3 : 0;
}

size_t unshown_len(const char *p, size_t n) {
    unsigned char c = (unsigned char)*p;
    if (c < 0x20 || c == 0x7f)
        return 1;
    return c < 0x80 ? 0 : strange_len((const unsigned char *)p, n);
}

/* To the next character, when the one at p may be shown. */
static size_t step(const char *p, size_t n) {
    return (unsigned char)*p < 0x80 ? 1 : utf8_len((const unsigned char *)p, n);
}

void strbuf_add_shown(struct strbuf *b, struct str s) {
    for (size_t i = 0, len; i < s.n; i += len) {
        len = unshown_len(s.p + i, s.n - i);
        if (len) {
            strbuf_adds(b, s.p[i] == '\n' || s.p[i] == '\t' ? " " : "\xef\xbf\xbd");
            continue;
        }
        len = step(s.p + i, s.n - i);
        strbuf_add(b, s.p + i, len);
    }
}

void shown_in_place(char *text) {
    size_t n = strlen(text);
    for (size_t i = 0, len; i < n; i += len) {
        len = text[i] == '\n' || text[i] == '\t' ? 0 : unshown_len(text + i, n - i);
        memset(text + i, '?', len);
        len = len ? len : step(text + i, n - i);
    }
}
