/* The services behind links: which are asked, and with credentials or without; never which ones. */
#include "cli/doctor.h"
#include "cli/services_env.h"
#include "enrich/link_engine.h"

static void check_url(struct checkup *c, const char *name, enum service_var v, const char *real) {
    struct err e = {0};
    struct str url = service_var(v);
    if (service_var_check(v, &e) != V_OK)
        check_advise(check_add(c, CHECK_FAIL, "services", "%s", e.msg),
                     "correct it, or unset it: the service is then asked at %s", real);
    else
        check_add(c, CHECK_OK, "services", "%s: %.*s%s%s%s", name,
                  STR_FMT(url.p ? url : str_of(real)), url.p ? " (by " : "",
                  url.p ? service_var_name(v) : "", url.p ? ")" : "");
}

/* False: it was told what is wrong. */
static bool check_secret(struct checkup *c, enum service_var v) {
    struct err e = {0};
    if (service_var_check(v, &e) == V_OK)
        return true;
    check_advise(check_add(c, CHECK_FAIL, "services", "%s", e.msg),
                 "was a line end copied with it? Correct it, or unset it");
    return false;
}

static void check_reddit(struct checkup *c) {
    bool id = service_var(VAR_REDDIT_CLIENT_ID).p, secret = service_var(VAR_REDDIT_CLIENT_SECRET).p;
    bool sound = check_secret(c, VAR_REDDIT_CLIENT_ID);
    sound = check_secret(c, VAR_REDDIT_CLIENT_SECRET) && sound;
    if (!sound)
        return;
    const char *set = service_var_name(id ? VAR_REDDIT_CLIENT_ID : VAR_REDDIT_CLIENT_SECRET);
    const char *unset = service_var_name(id ? VAR_REDDIT_CLIENT_SECRET : VAR_REDDIT_CLIENT_ID);
    if (id != secret)
        check_advise(check_add(c, CHECK_FAIL, "services", "%s is set and %s is not", set, unset),
                     "set both or none: enrich and up do not start like this");
    else if (id)
        check_add(c, CHECK_OK, "services", "Reddit: credentials are set; %d calls a minute",
                  LINK_REDDIT_PER_MINUTE);
    else
        check_advise(check_add(c, CHECK_OK, "services", "Reddit: no credentials; %d calls a minute",
                               LINK_REDDIT_ANONYMOUS_PER_MINUTE),
                     "with %s and %s there are %d", unset, set, LINK_REDDIT_PER_MINUTE);
}

static void check_anthropic(struct checkup *c) {
    if (!check_secret(c, VAR_ANTHROPIC_API_KEY))
        return;
    if (service_var(VAR_ANTHROPIC_API_KEY).p)
        check_add(c, CHECK_OK, "services", "Anthropic: a key is set; summaries are made");
    else
        check_advise(check_add(c, CHECK_OK, "services", "Anthropic: no key; summaries are skipped"),
                     "with %s they are made", service_var_name(VAR_ANTHROPIC_API_KEY));
}

static void check_allow(struct checkup *c) {
    struct err e = {0};
    struct str allow = service_var(VAR_FETCH_ALLOW);
    if (!allow.p)
        return;
    if (service_var_check(VAR_FETCH_ALLOW, &e) != V_OK)
        check_advise(check_add(c, CHECK_FAIL, "services", "%s", e.msg),
                     "give HOST:PORT,HOST:PORT, or unset it");
    else
        check_advise(check_add(c, CHECK_WARN, "services",
                               "%s: pages may be fetched from this machine: %.200s",
                               service_var_name(VAR_FETCH_ALLOW), allow.p),
                     "it is for tests and the demo; unset it on a server");
}

void doctor_services(struct checkup *c) {
    check_url(c, "Reddit", VAR_REDDIT_URL, REDDIT_SITE);
    check_reddit(c);
    check_url(c, "HN Search", VAR_HN_SEARCH_URL, HN_SEARCH_URL);
    check_url(c, "Anthropic", VAR_ANTHROPIC_URL, ANTHROPIC_URL);
    check_anthropic(c);
    check_allow(c);
}
