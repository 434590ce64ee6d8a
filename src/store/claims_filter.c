/* The filter is the operator's own SQL, put in parentheses among ours: it must be one expression
 * whose end is where it seems to be. What it means, the database checks. */
#include "store/claims_int.h"

#include <string.h>

struct scan {
    const char *p, *end;
    enum db_kind kind;
    int depth;
    const char *wrong;
};

/* Behind the closing mark; a doubled one stands for itself. */
static void skip_quoted(struct scan *s, char closing, bool slashes) {
    for (s->p++; s->p < s->end; s->p++) {
        bool more = s->p + 1 < s->end;
        bool hides = more && slashes && *s->p == '\\';
        bool doubled = more && *s->p == closing && s->p[1] == closing;
        if (hides || doubled)
            s->p++;
        else if (*s->p == closing)
            return;
    }
    s->wrong = "a quote that is not closed";
}

/* E'...' of PostgreSQL, where a backslash hides what follows. */
static bool is_slashed(const struct scan *s, const char *begin) {
    if (s->kind != DB_POSTGRES || s->p == begin || (s->p[-1] != 'e' && s->p[-1] != 'E'))
        return false;
    char before = s->p - 1 > begin ? s->p[-2] : ' ';
    return !(before == '_' || (before >= '0' && before <= '9') ||
             (before >= 'a' && before <= 'z') || (before >= 'A' && before <= 'Z'));
}

static void scan_one(struct scan *s, const char *begin) {
    char next = s->p + 1 < s->end ? s->p[1] : '\0';
    bool lite = s->kind == DB_SQLITE;
    switch (*s->p) {
    case '\'':
        skip_quoted(s, '\'', is_slashed(s, begin));
        break;
    case '"':
        skip_quoted(s, '"', false);
        break;
    case '`':
    case '[':
        if (lite)
            skip_quoted(s, *s->p == '[' ? ']' : '`', false);
        break;
    case '(':
        s->depth++;
        break;
    case ')':
        if (--s->depth < 0)
            s->wrong = "a parenthesis that was not opened";
        break;
    case ';':
        s->wrong = "a semicolon";
        break;
    case '-':
    case '/':
        if (next == (*s->p == '-' ? '-' : '*'))
            s->wrong = "a comment";
        break;
    case '$':
        s->wrong = "a dollar sign outside of quotes";
        break;
    case '?':
    case ':':
    case '@':
        if (lite)
            s->wrong = "a place for a parameter";
        break;
    case '\0':
        s->wrong = "a NUL character";
        break;
    default:
        break;
    }
}

enum verdict source_filter_check(enum db_kind kind, struct str filter, struct err *e) {
    struct scan s = {.p = filter.p, .end = filter.p + filter.n, .kind = kind};
    bool blank = true;
    for (; s.p < s.end && !s.wrong; s.p++) {
        blank = blank && strchr(" \t\r\n", *s.p);
        scan_one(&s, filter.p);
    }
    if (!s.wrong && s.depth)
        s.wrong = "a parenthesis that is not closed";
    if (!s.wrong && blank)
        s.wrong = "nothing";
    if (!s.wrong && filter.n > SOURCE_FILTER_MAX)
        s.wrong = "too much text";
    return s.wrong ? err_set(e, V_INVALID, "source", 0, "it has %s in it", s.wrong) : V_OK;
}
