#include "enrich/request_int.h"

#include "enrich/request.h"

#include <string.h>

static struct str behind(struct str s, size_t n) {
    return (struct str){s.p + n, s.n - n};
}

/* A place's name has no brace, no blank at its ends and no control character. */
static bool is_name(struct str s) {
    if (s.n == 0 || s.n > REQUEST_COLUMN_NAME_MAX || s.p[0] == ' ' || s.p[s.n - 1] == ' ')
        return false;
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < ' ' || s.p[i] == '{')
            return false;
    return true;
}

bool piece_next(struct str *rest, struct piece *ret) {
    struct str s = *rest;
    size_t n = 0;
    while (n < s.n && s.p[n] != '{' && s.p[n] != '}')
        n++;
    if (n > 0) {
        *ret = (struct piece){PIECE_TEXT, {s.p, n}};
    } else if (s.n > 1 && s.p[1] == s.p[0]) {
        *ret = (struct piece){PIECE_TEXT, {s.p, 1}};
        n = 2;
    } else {
        const char *close = s.n && s.p[0] == '{' ? memchr(s.p, '}', s.n) : NULL;
        struct str name = {s.p + 1, close ? (size_t)(close - s.p) - 1 : 0};
        if (!close || !is_name(name))
            return false;
        *ret = (struct piece){PIECE_PLACE, name};
        n = name.n + 2;
    }
    *rest = behind(s, n);
    return true;
}
