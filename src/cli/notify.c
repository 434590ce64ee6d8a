#include "cli/notify.h"

#include "cli/format.h"
#include "mirror/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#define STATUS_EVERY_MS 2000
#define DB_SLOW_MS 5000
#define BEATS 4 /* within the time that the watchdog waits */

/* A listener that went away costs nobody anything. */
static void send_to_systemd(const char *state) {
    (void)sd_notify(0, state);
}

void notify_init(struct notify *n, const struct clock *clock) {
    const char *socket = getenv("NOTIFY_SOCKET");
    uint64_t usec = 0;
    *n = (struct notify){.clock = clock};
    if (!socket || !*socket)
        return;
    n->send = send_to_systemd;
    if (sd_watchdog_enabled(0, &usec) > 0)
        n->watchdog_ms = usec < 1000 ? 1 : (int64_t)(usec / 1000);
}

/* A status is one line, whatever an error message holds. */
static void keep_status(struct notify *n, const char *text) {
    snprintf(n->status, sizeof n->status, "%s", text);
    for (char *p = n->status; *p; p++)
        if ((unsigned char)*p < 0x20)
            *p = ' ';
}

static void send_status(struct notify *n, const char *before, const char *text) {
    char state[NOTIFY_STATUS_MAX + 40];
    keep_status(n, text);
    snprintf(state, sizeof state, "%sSTATUS=%s", before, n->status);
    n->next_status = clock_mono(n->clock) + STATUS_EVERY_MS;
    n->send(state);
}

void notify_ready(struct notify *n) {
    if (!n->send || n->ready || n->stopping)
        return;
    n->ready = true;
    n->send("READY=1");
}

void notify_status(struct notify *n, const char *text) {
    if (!n->send || n->stopping || clock_mono(n->clock) < n->next_status)
        return;
    if (strncmp(text, n->status, sizeof n->status - 1) != 0)
        send_status(n, "", text);
}

void notify_alive(struct notify *n, int64_t silence_ms) {
    int64_t now = clock_mono(n->clock);
    if (!n->send || !n->watchdog_ms || !n->ready || n->stopping || now < n->next_beat)
        return;
    if (silence_ms > n->watchdog_ms / 2)
        return;
    n->next_beat = now + n->watchdog_ms / BEATS;
    n->send("WATCHDOG=1");
}

void notify_patience(struct notify *n) {
    if (!n->send || !n->watchdog_ms || !n->ready || n->patience || n->stopping)
        return;
    n->patience = true;
    n->send("WATCHDOG_USEC=3600000000");
}

void notify_stopping(struct notify *n, const char *text) {
    if (!n->send || (n->stopping && strcmp(text, n->status) == 0))
        return;
    send_status(n, n->stopping ? "" : "STOPPING=1\n", text);
    n->stopping = true;
}

static void add_for(struct strbuf *out, const char *what, int64_t ms) {
    char duration[FORMAT_MAX];
    strbuf_addf(out, "; %s for %s", what, format_duration(duration, ms));
}

static void add_stuck(struct strbuf *out, const struct notify *n, int64_t silence_ms) {
    if (n->watchdog_ms && silence_ms > n->watchdog_ms / 2)
        add_for(out, "a thread has not moved", silence_ms);
}

/* Only with what is wrong does the line grow. */
static void add_troubles(struct strbuf *out, const struct notify *n, const struct updater_view *v) {
    if (v->db_down_ms > DB_SLOW_MS)
        add_for(out, "the database does not answer", v->db_down_ms);
    if (v->illness)
        strbuf_addf(out, "; the upstream is ill: %s", v->illness);
    add_stuck(out, n, v->silence_ms);
}

static void updater_status(struct strbuf *out, const struct updater_view *v) {
    char frontier[FORMAT_MAX], lag[FORMAT_MAX], queued[FORMAT_MAX];
    if (v->role == UPDATER_STANDBY) {
        strbuf_adds(out, v->db_down_ms ? "standby" : "standby: another updater is active");
        return;
    }
    strbuf_addf(out, "active: frontier %s, ",
                format_count(frontier, metric_get(&m_frontier_waiting, 0)));
    if (metric_known(&m_frontier_lag, 0))
        strbuf_addf(out, "%s behind", format_count(lag, metric_get(&m_frontier_lag, 0)));
    else
        strbuf_adds(out, "the upstream was not heard of yet");
    strbuf_addf(out, "; stream %s; %s queued; %d of %d workers", v->connected ? "up" : "down",
                format_count(queued, metric_get(&m_queue_depth, 0)), v->workers_alive, v->workers);
}

void notify_updater(struct notify *n, const struct updater_view *v) {
    if (!n->send)
        return;
    if (v->stopping) {
        notify_stopping(n, "stopping: writing down what is left");
        return;
    }
    if (v->role == UPDATER_ACTIVE || v->db_down_ms == 0)
        notify_ready(n);
    CLEANUP(strbuf_release) struct strbuf text;
    strbuf_init(&text, 1024);
    updater_status(&text, v);
    add_troubles(&text, n, v);
    notify_status(n, text.p);
    notify_alive(n, v->silence_ms);
}

void notify_catchup(struct notify *n, const struct progress_view *v, int64_t silence_ms) {
    if (!n->send)
        return;
    CLEANUP(strbuf_release) struct strbuf text;
    char share[FORMAT_MAX], rate[FORMAT_MAX], left[FORMAT_MAX], frontier[FORMAT_MAX];
    strbuf_init(&text, 1024);
    strbuf_addf(&text, "%s: %s, %s", v->phase ? v->phase : "working",
                format_percent(share, v->done_ids, v->total_ids), format_rate(rate, v->rate_per_s));
    if (v->eta_s > 0)
        strbuf_addf(&text, ", %s left", format_duration(left, v->eta_s * 1000));
    strbuf_addf(&text, "; frontier %s", format_count(frontier, v->frontier));
    if (v->dead_letters)
        strbuf_addf(&text, "; dead letters: %lld", (long long)v->dead_letters);
    if (v->paused)
        strbuf_addf(&text, "; paused: %s", v->pause_reason ? v->pause_reason : "yes");
    add_stuck(&text, n, silence_ms);
    notify_ready(n);
    notify_status(n, text.p);
    notify_alive(n, silence_ms);
}
