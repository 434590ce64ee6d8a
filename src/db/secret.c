#include "db/secret.h"

#include <ctype.h>
#include <string.h>

#define LEAST_SECRET 3 /* hiding every a of a text would say more than the text does */

/* What stands behind "postgres://" or "postgresql://"; NULL when it is neither. */
static const char *behind_scheme(const char *uri) {
    if (str_starts(str_of(uri), "postgres://"))
        return uri + strlen("postgres://");
    if (str_starts(str_of(uri), "postgresql://"))
        return uri + strlen("postgresql://");
    return NULL;
}

static int hex_value(char digit) {
    int c = tolower((unsigned char)digit);
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One character of a word in which %77 stands for w, in lower case; moves p behind it. */
static char decoded(const char **p) {
    char c = *(*p)++;
    if (c == '%' && **p != '\0') {
        int high = hex_value((*p)[0]);
        int low = high < 0 ? -1 : hex_value((*p)[1]);
        if (low >= 0) {
            *p += 2;
            c = (char)(high * 16 + low);
        }
    }
    return (char)tolower((unsigned char)c);
}

/* Where the value begins when `p` stands at "password=" or "sslpassword ="; NULL otherwise. */
static const char *password_value(const char *p) {
    static const char *const keys[] = {"password", "sslpassword"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const char *at = p, *key = keys[i];
        while (*key && *at && decoded(&at) == *key)
            key++;
        if (*key)
            continue;
        at += strspn(at, " \t\n");
        if (*at == '=')
            return at + 1;
    }
    return NULL;
}

/* The next "password=" that begins a word, in a query or a connection string. */
static const char *next_password_value(const char *start, const char *from) {
    for (const char *p = from; *p; p++) {
        bool begins = p == start || strchr("?& \t\n", p[-1]);
        const char *value = begins ? password_value(p) : NULL;
        if (value)
            return value;
    }
    return NULL;
}

/* ":5432,b:5432" up to a / or ?: ports, and further hosts behind them. */
static bool is_host_list(const char *colon) {
    const char *p = colon;
    while (*p == ':') {
        p += 1 + strspn(p + 1, "0123456789");
        if (strchr("/?", *p))
            return true;
        if (*p != ',')
            return false;
        p++;
        p += *p == '[' ? strcspn(p, "]/?@") : strcspn(p, ":,/?@");
        p += *p == ']';
        while (*p == ',') /* one without a port */
            p += 1 + strcspn(p + 1, ":,/?@");
    }
    return strchr("/?", *p);
}

/* The first colon, / or ? that is not of an address in brackets. */
static const char *first_mark(const char *start) {
    const char *p = start;
    for (; !strchr(":/?", *p); p++)
        if (*p == '[' && (p == start || strchr("@,", p[-1])))
            p += strcspn(p, "]/?@") - 1;
    return p;
}

/* The password between user: and @host. What follows the first colon may also be a port; what is
 * none, with no host behind it, is a password whose host was forgotten. */
static struct str userinfo_password(const char *uri) {
    const char *start = behind_scheme(uri);
    if (!start)
        return STR_NONE;
    const char *colon = first_mark(start), *at = strchr(start, '@');
    if (*colon != ':' || is_host_list(colon))
        return STR_NONE;
    if (at && at < colon) /* of the user's name, or behind it: USER@HOST:PORT */
        at = strchr(colon, '@');
    if (!at)
        return (struct str){colon + 1, strlen(colon + 1)};
    /* A careless one may hold what should have been encoded: then the last @ ends it. */
    if (colon + 1 + strcspn(colon + 1, "@/?") != at)
        at = strrchr(colon, '@');
    else
        at = memrchr(at, '@', strcspn(at, "?"));
    return (struct str){colon + 1, (size_t)(at - colon - 1)};
}

bool secret_is_in(const char *uri) {
    if (str_starts(str_of(uri), "sqlite:"))
        return false;
    return userinfo_password(uri).n > 0 || next_password_value(uri, uri);
}

static bool is_escape(const char *p, const char *end) {
    return end - p > 2 && isxdigit((unsigned char)p[1]) && isxdigit((unsigned char)p[2]);
}

static bool is_careless(struct str s) {
    for (size_t i = 0; i < s.n; i++)
        if (strchr("@/?", s.p[i]) || (s.p[i] == '%' && !is_escape(s.p + i, s.p + s.n)))
            return true;
    return false;
}

bool secret_is_careless(const char *uri) {
    if (is_careless(userinfo_password(uri)))
        return true;
    for (const char *value = uri; (value = next_password_value(uri, value));) {
        struct str s = {value, strcspn(value, "&")};
        for (const char *p = s.p; p < s.p + s.n; p++)
            if (*p == '%' && !is_escape(p, s.p + s.n))
                return true;
    }
    return false;
}

/* A value ends at the next parameter; in a connection string a quoted one may hold blanks. */
static size_t value_length(const char *value) {
    if (*value != '\'')
        return strcspn(value, "& \t\n");
    const char *p = value + 1;
    while (*p && *p != '\'')
        p += p[0] == '\\' && p[1] ? 2 : 1;
    return (size_t)(p - value) + (*p == '\'');
}

void secret_redact(const char *uri, struct strbuf *out) {
    if (str_starts(str_of(uri), "sqlite:")) {
        strbuf_adds(out, uri);
        return;
    }
    const char *rest = uri;
    struct str password = userinfo_password(uri);
    if (password.n > 0) {
        strbuf_add(out, uri, (size_t)(password.p - uri));
        strbuf_adds(out, "***");
        rest = password.p + password.n;
    }
    for (const char *value; (value = next_password_value(uri, rest));) {
        value += strspn(value, " \t\n");
        strbuf_add(out, rest, (size_t)(value - rest));
        strbuf_adds(out, "***");
        rest = value + value_length(value);
    }
    strbuf_adds(out, rest);
}

void secret_hide(struct str secret, struct strbuf *text) {
    if (secret.n == 0 || text->n == 0)
        return;
    CLEANUP(strbuf_release) struct strbuf clean;
    strbuf_init(&clean, text->max);
    const char *p = text->p, *end = text->p + text->n, *found;
    for (; (found = memmem(p, (size_t)(end - p), secret.p, secret.n)); p = found + secret.n) {
        strbuf_add(&clean, p, (size_t)(found - p));
        strbuf_adds(&clean, "***");
    }
    strbuf_add(&clean, p, (size_t)(end - p));
    strbuf_clear(text);
    strbuf_add_str(text, strbuf_str(&clean));
}

/* As it stands in the address, and as it is meant. */
static void hide_both(struct str secret, struct strbuf *text) {
    CLEANUP(strbuf_release) struct strbuf meant;
    strbuf_init(&meant, secret.n + 1);
    for (const char *p = secret.p, *end = p + secret.n; p < end; p++) {
        bool escape = *p == '%' && is_escape(p, end);
        strbuf_addc(&meant, escape ? (char)(hex_value(p[1]) * 16 + hex_value(p[2])) : *p);
        p += escape ? 2 : 0;
    }
    if (meant.n < LEAST_SECRET)
        return;
    secret_hide(secret, text);
    secret_hide(strbuf_str(&meant), text);
}

void secret_hide_all(const char *uri, struct strbuf *text) {
    if (str_starts(str_of(uri), "sqlite:"))
        return;
    struct str password = userinfo_password(uri);
    if (password.n > 0)
        hide_both(password, text);
    for (const char *value = uri; (value = next_password_value(uri, value));) {
        value += strspn(value, " \t\n");
        hide_both((struct str){value, value_length(value)}, text);
    }
}
