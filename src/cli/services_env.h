/* The services behind links as the environment names them: their addresses, their credentials, and
 * where pages may be fetched from beside the public Internet. They stand in the environment only,
 * since what is on a command line can be seen by everyone. Values are views of it: main thread. */
#ifndef TAIN_CLI_SERVICES_ENV_H
#define TAIN_CLI_SERVICES_ENV_H

#include "base/err.h"
#include "base/str.h"

enum service_var {
    VAR_REDDIT_URL,
    VAR_REDDIT_CLIENT_ID,
    VAR_REDDIT_CLIENT_SECRET,
    VAR_HN_SEARCH_URL,
    VAR_ANTHROPIC_URL,
    VAR_ANTHROPIC_API_KEY,
    VAR_FETCH_ALLOW,
    N_SERVICE_VARS
};

const char *service_var_name(enum service_var v);
const char *service_var_about(enum service_var v); /* a sentence for the manual page */
/* Absent when it is not set, or is empty. */
struct str service_var(enum service_var v);
bool is_service_var(const char *name, size_t n);
/* V_INVALID: it is malformed; what is wrong with it, without its value. Not set is fine. */
MUST_CHECK enum verdict service_var_check(enum service_var v, struct err *e);
/* Of all of them, and of those that belong together. */
MUST_CHECK enum verdict services_env_check(struct err *e);

#endif
