#include "web/feed_key.h"

#include "web/server.h"

#include <string.h>
#include <strings.h>

bool feed_key_equals(struct str key, struct str given) {
    if (!key.p || key.n == 0)
        return false;
    unsigned char differ = key.n != given.n;
    for (size_t i = 0; i < given.n; i++)
        differ |= (unsigned char)(given.p[i] ^ key.p[i % key.n]);
    return differ == 0;
}

static bool has_scheme(struct str header, const char *scheme) {
    size_t n = strlen(scheme);
    return header.n >= n && strncasecmp(header.p, scheme, n) == 0;
}

struct str bearer_of(struct str header) {
    static const char scheme[] = "Bearer ";
    size_t n = sizeof scheme - 1;
    if (!has_scheme(header, scheme))
        return STR_NONE;
    while (n < header.n && header.p[n] == ' ')
        n++;
    return (struct str){header.p + n, header.n - n};
}

enum feed_key feed_key_of(const struct call *c) {
    struct str header = call_header(c, "Authorization");
    /* A proxy that asks for a password leaves these to us; they are none of ours. */
    if (has_scheme(header, "Basic ") || has_scheme(header, "Digest "))
        header = STR_NONE;
    struct str given = header.p ? bearer_of(header) : call_param(c, "key");
    if (!header.p && !given.p)
        return FEED_KEY_NONE;
    bool right = given.p && feed_key_equals(str_of(web_options(c->web)->feed_key), given);
    return right ? FEED_KEY_RIGHT : FEED_KEY_WRONG;
}
