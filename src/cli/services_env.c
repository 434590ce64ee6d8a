#include "cli/services_env.h"

#include "net/guard.h"

#include <stdlib.h>
#include <string.h>

#define URL_LENGTH_MAX 1024
#define SECRET_LENGTH_MAX 1024

enum var_kind { KIND_URL, KIND_SECRET, KIND_ALLOW };

static const struct {
    const char *name;
    enum var_kind kind;
    const char *about;
} VARS[N_SERVICE_VARS] = {
    [VAR_REDDIT_URL] = {"TAIN_REDDIT_URL", KIND_URL,
                        "Where Reddit is asked; else at its own address."},
    [VAR_REDDIT_CLIENT_ID] = {"TAIN_REDDIT_CLIENT_ID", KIND_SECRET,
                              "With the secret: credentials of an application at Reddit, for 30 "
                              "calls a minute instead of 10."},
    [VAR_REDDIT_CLIENT_SECRET] = {"TAIN_REDDIT_CLIENT_SECRET", KIND_SECRET,
                                  "See above; both or none."},
    [VAR_HN_SEARCH_URL] = {"TAIN_HN_SEARCH_URL", KIND_URL,
                           "Where the HN Search API is asked; else at its own address."},
    [VAR_ANTHROPIC_URL] = {"TAIN_ANTHROPIC_URL", KIND_URL,
                           "Where Anthropic is asked; else at its own address."},
    [VAR_ANTHROPIC_API_KEY] = {"ANTHROPIC_API_KEY", KIND_SECRET,
                               "The key for summaries of links; without it they are skipped."},
    [VAR_FETCH_ALLOW] = {"TAIN_FETCH_ALLOW", KIND_ALLOW,
                         "HOST:PORT,...: pages of links may be fetched there though it is this "
                         "machine. For tests and the demo."},
};

const char *service_var_name(enum service_var v) {
    return VARS[v].name;
}

const char *service_var_about(enum service_var v) {
    return VARS[v].about;
}

struct str service_var(enum service_var v) {
    const char *value = getenv(VARS[v].name);
    return value && *value ? str_of(value) : STR_NONE;
}

bool is_service_var(const char *name, size_t n) {
    for (size_t i = 0; i < N_SERVICE_VARS; i++)
        if (strlen(VARS[i].name) == n && memcmp(VARS[i].name, name, n) == 0)
            return true;
    return false;
}

static bool is_visible(struct str s) {
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] <= ' ' || s.p[i] > '~')
            return false;
    return true;
}

/* What is wrong with it; NULL: nothing. */
static const char *url_fault(struct str s) {
    size_t scheme = str_starts(s, "https://") ? 8 : str_starts(s, "http://") ? 7 : 0;
    if (!scheme || scheme == s.n || s.p[scheme] == '/')
        return "is not of the form https://HOST, with a port or a path perhaps";
    if (s.n > URL_LENGTH_MAX || !is_visible(s))
        return "is too long, or has blanks or other characters that no URL has";
    if (memchr(s.p, '?', s.n) || memchr(s.p, '#', s.n))
        return "has a query or a fragment: it is a base, to which paths are added";
    return memchr(s.p, '@', s.n) ? "has a user or a password in it: credentials have variables of "
                                   "their own"
                                 : NULL;
}

static const char *secret_fault(struct str s) {
    if (s.n > SECRET_LENGTH_MAX)
        return "is too long for a credential";
    return is_visible(s) ? NULL
                         : "has blanks, line ends or other characters that no header may "
                           "have";
}

enum verdict service_var_check(enum service_var v, struct err *e) {
    struct str s = service_var(v);
    const char *fault = NULL;
    if (!s.p)
        return V_OK;
    if (VARS[v].kind == KIND_ALLOW) {
        const struct guard_options o = {.allow = s.p};
        struct guard *g = NULL;
        struct err why = {0};
        if (guard_new(&o, &g, &why) != V_OK)
            return err_set(e, V_INVALID, "config", 0, "%s: %s", VARS[v].name, why.msg);
        guard_free(g);
        return V_OK;
    }
    fault = VARS[v].kind == KIND_URL ? url_fault(s) : secret_fault(s);
    return fault ? err_set(e, V_INVALID, "config", 0, "%s %s", VARS[v].name, fault) : V_OK;
}

enum verdict services_env_check(struct err *e) {
    for (int i = 0; i < N_SERVICE_VARS; i++)
        if (service_var_check((enum service_var)i, e) != V_OK)
            return V_INVALID;
    bool id = service_var(VAR_REDDIT_CLIENT_ID).p, secret = service_var(VAR_REDDIT_CLIENT_SECRET).p;
    return id != secret ? err_set(e, V_INVALID, "config", 0, "%s is set and %s is not",
                                  VARS[id ? VAR_REDDIT_CLIENT_ID : VAR_REDDIT_CLIENT_SECRET].name,
                                  VARS[id ? VAR_REDDIT_CLIENT_SECRET : VAR_REDDIT_CLIENT_ID].name)
                        : V_OK;
}
