#include "base/conf_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum verdict check(const char *path, const char *text, size_t n, int failed, struct err *e) {
    if (failed)
        return err_set(e, V_INVALID, "config", failed, "%.300s: %s", path, strerror(failed));
    if (n > CONF_TEXT_MAX)
        return err_set(e, V_INVALID, "config", 0, "%.300s: larger than 1 MiB", path);
    if (memchr(text, '\0', n))
        return err_set(e, V_INVALID, "config", 0, "%.300s: not a text file", path);
    return V_OK;
}

enum verdict conf_text_read(const char *path, char **ret, size_t *ret_n, struct err *e) {
    FILE *file = fopen(path, "re");
    if (!file)
        return err_set(e, V_INVALID, "config", errno, "%.300s: %s", path, strerror(errno));
    char *text = xmalloc(CONF_TEXT_MAX + 2);
    size_t n = fread(text, 1, CONF_TEXT_MAX + 1, file);
    int failed = ferror(file) ? errno : 0;
    fclose(file);
    text[n] = '\0';
    enum verdict v = check(path, text, n, failed, e);
    if (v != V_OK) {
        free(text);
        return v;
    }
    *ret = text;
    *ret_n = n;
    return V_OK;
}

const char *conf_text_skip_quoted(const char *p, const char *end) {
    char quote = *p++;
    while (p < end && *p != quote)
        p += *p == '\\' && p + 1 < end ? 2 : 1;
    return p < end ? p + 1 : NULL;
}

/* Where the comment at p ends; p itself when there is none, NULL when it does not end. Only # may
 * touch the word before it: an address holds slashes. */
static const char *skip_comment(const char *p, const char *end, bool word_begins) {
    if (*p == '#' || (word_begins && end - p > 1 && p[0] == '/' && p[1] == '/')) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        return newline ? newline : end;
    }
    if (word_begins && end - p > 1 && p[0] == '/' && p[1] == '*') {
        const char *close = memmem(p + 2, (size_t)(end - p - 2), "*/", 2);
        return close ? close + 2 : NULL;
    }
    return p;
}

const char *conf_text_blank_comments(char *text, size_t n) {
    char *end = text + n;
    for (char *p = text; p < end;) {
        bool word_begins = p == text || strchr(" \t\r\n={},+\"'", p[-1]);
        const char *behind = skip_comment(p, end, word_begins);
        bool comment = behind != p;
        if (!comment)
            behind = *p == '"' || *p == '\'' ? conf_text_skip_quoted(p, end) : p + 1;
        if (!behind)
            return p;
        for (; p < behind; p++)
            if (comment && *p != '\n')
                *p = ' ';
    }
    return NULL;
}

int conf_text_line(const char *text, const char *at) {
    int line = 1;
    for (; text < at; text++)
        line += *text == '\n';
    return line;
}
