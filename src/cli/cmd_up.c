#include "base/log.h"
#include "cli/archive.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/format.h"
#include "cli/linking.h"
#include "cli/progress.h"
#include "cli/serving.h"
#include "cli/updating.h"
#include "mirror/metrics.h"

#include <stdio.h>
#include <stdlib.h>

#define STUCK_MS 300000 /* a server whose threads have not moved for so long is of no use */

/* The whole of it, as its ticks see it. */
struct up {
    const struct settings *s;
    struct stop_token stop;
    struct monitor monitor;
    struct notify notify;
    struct updating updating;
    struct serving serving;
    struct linking linking;
    struct progress *progress; /* NULL: not on a terminal */
    bool stuck;
};

/* The line that scripts wait for. */
static void announce(const struct up *u) {
    CLEANUP(strbuf_release) struct strbuf url;
    strbuf_init(&url, 400);
    serving_url(&u->serving, &url);
    printf("tain is up at %s\n", url.p);
    fflush(stdout);
}

static void add_recent(struct strbuf *note, const struct settings *s) {
    double days = (double)metric_get(&m_recent_age, 0) / 86400;
    if (!metric_known(&m_recent_age, 0))
        strbuf_adds(note, "looking for the newest items");
    else if (s->recent_days > 0 && days < s->recent_days)
        strbuf_addf(note, "the last %.1f of %.3g days are here", days, s->recent_days);
    else
        strbuf_addf(note, "the last %.*f days are here", days < 10 ? 1 : 0, days);
}

static void show(const struct up *u, const struct updater_view *v) {
    char number[FORMAT_MAX];
    CLEANUP(strbuf_release) struct strbuf note;
    strbuf_init(&note, 400);
    bool standby = v->role == UPDATER_STANDBY, through = v->total && v->covered >= v->total;
    if (standby)
        strbuf_adds(&note, "another updater is active; serving what it stores");
    else
        add_recent(&note, u->s);
    if (!standby && metric_get(&m_index_lag_ids, 0) > 0)
        strbuf_addf(&note, ", %s to be indexed",
                    format_count(number, metric_get(&m_index_lag_ids, 0)));
    if (!standby)
        strbuf_addf(&note, ", %s", v->connected ? "following the stream" : "no stream yet");
    progress_update(u->progress, &(struct progress_view){
                                     .total_ids = v->total ? v->total : -1,
                                     .done_ids = v->covered,
                                     .phase = standby   ? "standing by"
                                              : through ? "up to date"
                                                        : "filling",
                                     .note = note.p,
                                     .paused = v->illness != NULL,
                                     .pause_reason = v->illness,
                                 });
}

/* The updater's view, with what the server adds to it. */
static void tick(void *arg, const struct updater_view *v) {
    struct up *u = arg;
    struct updater_view both = *v;
    int64_t web_down = web_db_down_ms(u->serving.web), web_silence = web_silence_ms(u->serving.web);
    both.db_down_ms = v->db_down_ms > web_down ? v->db_down_ms : web_down;
    both.silence_ms = v->silence_ms > web_silence ? v->silence_ms : web_silence;
    monitor_feed(&u->monitor, u->serving.web);
    updating_tick(&u->updating, &both);
    if (u->progress)
        show(u, v);
    struct err e = {0};
    if (linking_tend(&u->linking, &e) != V_OK && !u->stuck) {
        u->stuck = true;
        log_error("the work on links has ended", LE(&e));
        stop_raise(&u->stop);
    }
    if (web_silence > STUCK_MS && !u->stuck) {
        u->stuck = true;
        log_error("the server is stuck", LI("for_ms", web_silence));
        stop_raise(&u->stop);
    }
}

/* Event streams and the feed hear of what was written without waiting for the next look. */
static void wrote(void *web) {
    web_wrote(web);
}

static struct progress *make_progress(const struct settings *s) {
    struct progress_options o = progress_options_for(stderr, (enum progress_mode)s->progress,
                                                     s->log_format == LOG_JSON, &clock_machine);
    if (s->progress == PROGRESS_AUTO && o.mode == PROGRESS_LINE)
        return NULL; /* whoever keeps a log has the metrics */
    return o.mode == PROGRESS_NONE ? NULL : progress_new(&o);
}

static int mirror(struct up *u, struct store *store) {
    struct updater_options options = updating_options(u->s, store, &u->stop, &u->updating);
    options.tick = tick;
    options.tick_arg = u;
    options.wrote = wrote;
    options.wrote_arg = u->serving.web;
    struct err e = {0};
    enum verdict v = updater_run(&options, &e);
    if (v == V_OK && u->stuck)
        v = err_set(&e, V_FATAL, "web", 0, "the server, or the work on links, is stuck");
    if (v == V_OK)
        return EXIT_DONE;
    complain(u->s, e.msg);
    notify_stopping(&u->notify, e.msg);
    return EXIT_FAILED;
}

static int start_links(struct up *u) {
    struct err e = {0};
    enum verdict v = linking_start(&u->linking, u->s, &e);
    if (v == V_OK)
        return 0;
    complain(u->s, e.msg);
    return v == V_INVALID ? EXIT_USAGE : EXIT_FAILED;
}

static int run(struct up *u, struct store *store) {
    int code = serving_start(&u->serving, u->s, &u->monitor, &u->notify);
    if (code)
        return code;
    code = start_links(u);
    if (code == 0) {
        announce(u);
        u->progress = make_progress(u->s);
        code = mirror(u, store);
        progress_free(u->progress);
    }
    linking_stop(&u->linking);
    web_stop(u->serving.web);
    if (code == EXIT_DONE) {
        notify_stopping(&u->notify, "stopped; everything is written");
        log_info("stopped; everything is written");
    }
    return code;
}

int cmd_up(struct settings *s) {
    struct up u = {.s = s};
    struct err e;
    if (stop_init(&u.stop, &e) != V_OK) {
        complain(s, e.msg);
        return EXIT_FAILED;
    }
    signals_to(&u.stop);
    signals_allow(UPDATING_STOP_SECONDS,
                  "tain up: the database hangs; stopped without it. What was stored is safe, but "
                  "ids that were named and not fetched yet could not be written down.\n",
                  EXIT_FAILED);
    struct store *store = NULL;
    u.updating = (struct updating){.notify = &u.notify, .monitor = &u.monitor};
    notify_init(&u.notify, &clock_machine);
    notify_status(&u.notify, "opening the database");
    int code = archive_open(s, s->no_migrate ? SCHEMA_REQUIRE : SCHEMA_MIGRATE, &store);
    if (code == 0)
        code = monitor_start(&u.monitor, s);
    if (code == 0)
        code = run(&u, store);
    monitor_stop(&u.monitor);
    store_close(store);
    stop_release(&u.stop);
    return code;
}
