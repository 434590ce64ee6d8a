/* What `tain serve` and `tain up` share: the server from the settings. Main thread only. */
#ifndef TAIN_CLI_SERVING_H
#define TAIN_CLI_SERVING_H

#include "cli/feed_secret.h"
#include "cli/monitor.h"
#include "cli/notify.h"
#include "cli/settings.h"
#include "web/server.h"

/* Lives as long as its server. */
struct serving {
    struct web_options options;
    struct web *web;
    char feed_key[FEED_SECRET_MAX + 1]; /* "": there is none */
    char links_token[FEED_SECRET_MAX + 1];
};

/* Starts the server with the monitor's metrics and health. Answers an exit code, 0 when it runs;
 * has said what is wrong otherwise. */
int serving_start(struct serving *v, const struct settings *s, const struct monitor *m,
                  struct notify *n);

/* The address for a browser on this machine: "http://127.0.0.1:8080/". */
void serving_url(const struct serving *v, struct strbuf *out);

#endif
