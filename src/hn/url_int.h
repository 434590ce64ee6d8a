/* Private to the hn room: what the files behind url_key() share. A round takes a text apart into a
 * `struct url`, lets the rules change it, and puts it together again; rounds go on until nothing
 * changes any more, which is why the key of a key is that key. */
#ifndef TAIN_HN_URL_INT_H
#define TAIN_HN_URL_INT_H

#include "base/str.h"

#include <string.h>

#define URL_MAX 4096
#define URL_HOST_MAX 253

struct url {
    char host[URL_HOST_MAX + 3]; /* lower-case ASCII, not NUL-terminated */
    size_t host_n;
    unsigned port;          /* 0: the usual one */
    char path[URL_MAX + 1]; /* empty or begins with a slash; not NUL-terminated */
    size_t path_n;
    struct str query, fragment; /* views of the text, or of made_query */
    char made_query[32];
};

/* A fixed buffer that is written from the front. Once `full`, the URL is given up. */
struct url_out {
    char *p;
    size_t n, max;
    bool full;
};
void url_put(struct url_out *o, struct str bytes);

static inline struct str url_host(const struct url *u) {
    return (struct str){u->host, u->host_n};
}
static inline struct str url_path(const struct url *u) {
    return (struct str){u->path, u->path_n};
}
/* Both answer false and change nothing when the new value is too long. */
bool url_set_host(struct url *u, struct str host);
bool url_set_path(struct url *u, struct str path);

/* url_host.c: reads "host:port" into u: lower-case, IDN to ASCII, usual ports, trailing dots, www
 * and amp labels dropped. False when it names no host. */
bool url_read_host(struct str authority, struct url *u);

/* True for the domain itself and for every host below it. */
static inline bool url_host_under(struct str host, struct str domain) {
    return host.n >= domain.n && (host.n == domain.n || host.p[host.n - domain.n - 1] == '.') &&
           memcmp(host.p + host.n - domain.n, domain.p, domain.n) == 0;
}

/* url_query.c: appends the parameters that matter, sorted by name, with a '?' before them. */
void url_put_query(const struct url *u, struct url_out *out);
/* The same in the order in which they came. */
void url_put_said(const struct url *u, struct url_out *out);

/* url_rules.c, the tables. url_site_noise() answers what url_param_is_noise() wants to know of the
 * host; the other functions say where a page with this host or path really lives. */
const char *url_site_noise(struct str host);
bool url_param_is_noise(const char *of_site, struct str param);
extern const char *const url_noise_names[]; /* sorted */
extern const size_t url_n_noise_names;
void url_alias_host(struct url *u);
void url_alias_path(struct url *u);
bool url_amp_is_a_name(struct str host);
/* The URL inside one of an AMP cache; false when it is none. The view ends with the path. */
bool url_amp_inner(const struct url *u, struct str *ret_inner);

/* url_sites.c: sites that show one thing under several paths. False: no rule fits. */
bool url_apply_site(struct url *u);

#endif
