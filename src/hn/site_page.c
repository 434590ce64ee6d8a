#include "hn/site_page.h"

#include <string.h>
#include <strings.h>

#define ID_DIGITS 18 /* a number that fits */

static bool drop(struct str *s, const char *word) {
    size_t n = strlen(word);
    if (s->n < n || strncasecmp(s->p, word, n) != 0)
        return false;
    *s = (struct str){s->p + n, s->n - n};
    return true;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_name(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
}

static size_t run_of(struct str s, bool (*fits)(char)) {
    size_t n = 0;
    while (n < s.n && fits(s.p[n]))
        n++;
    return n;
}

/* "8863" or "8863#9224" */
static bool is_item(struct str s) {
    size_t n = run_of(s, is_digit);
    if (n == 0 || n > ID_DIGITS || n == s.n)
        return n > 0 && n <= ID_DIGITS;
    struct str anchor = {s.p + n + 1, s.n - n - 1};
    return s.p[n] == '#' && anchor.n > 0 && run_of(anchor, is_digit) == anchor.n;
}

bool site_page(struct str url, struct str *ret) {
    struct str s = url;
    if ((!drop(&s, "https://") && !drop(&s, "http://")) || !drop(&s, "news.ycombinator.com"))
        return false;
    bool found = false;
    if (str_starts(s, "/item?id="))
        found = is_item((struct str){s.p + 9, s.n - 9});
    else if (str_starts(s, "/user?id="))
        found = s.n > 9 && run_of((struct str){s.p + 9, s.n - 9}, is_name) == s.n - 9;
    if (found)
        *ret = s;
    return found;
}
