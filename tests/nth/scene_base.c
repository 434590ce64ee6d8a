/* What is beneath all rooms: stop tokens, files of settings, who a process is, what it says of
 * itself. */
#include "scenarios.h"

#include "base/conf_text.h"
#include "base/log.h"
#include "base/thread.h"
#include "web/process_metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void base_stop(void) {
    struct stop_token s;
    struct err e = {0};
    nth_on();
    enum verdict v = stop_init(&s, &e);
    if (!nth_judge("stop_init", v, &e, s.fd >= 0))
        nth_check(stop_init(&s, &e) == V_OK, "%s", e.msg);
    stop_raise(&s);
    nth_check(stop_raised(&s), "raised, and nobody sees it");
    stop_release(&s);
    nth_off();
    nth_check(s.fd < 0, "released, and still there");
}

void base_settings(void) {
    struct err e = {0};
    char path[300], *text = NULL;
    size_t n = 0;
    snprintf(path, sizeof path, "%s/conf", nth_folder());
    FILE *f = fopen(path, "w");
    nth_check(f && fputs("rps = 7\n", f) >= 0 && fclose(f) == 0, "%s", path);
    nth_on();
    enum verdict v = conf_text_read(path, &text, &n, &e);
    nth_off();
    if (!nth_judge("conf_text_read", v, &e, text && strcmp(text, "rps = 7\n") == 0))
        nth_check(conf_text_read(path, &text, &n, &e) == V_OK, "%s", e.msg);
    free(text);
}

/* One who lives is never called dead, whatever cannot be read of it; then its work would be taken
 * from it. */
void base_identity(void) {
    char mine[300];
    nth_on();
    process_identity(mine, sizeof mine);
    bool dead = process_identity_is_dead(mine);
    nth_off();
    nth_check(!dead, "%s lives", mine);
}

/* A figure that cannot be had has no line, and a line of the log that cannot be written stops
 * nobody. */
void base_figures(void) {
    CLEANUP(strbuf_release) struct strbuf page;
    strbuf_init(&page, 1 << 16);
    nth_on();
    process_metrics_render(&page);
    log_error("a line");
    nth_off();
    nth_check(strstr(page.p, "process_cpu_seconds_total "), "%s", page.p);
}
