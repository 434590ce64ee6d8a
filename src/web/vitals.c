#include "web/vitals.h"

#include <stdarg.h>
#include <stdio.h>

#define MAX_REASONS (VITAL_N + 4)

struct reason {
    const char *check;
    char text[240];
};

struct reasons {
    struct reason rows[MAX_REASONS];
    size_t n;
};

void vitals_init(struct vitals *v, const struct clock *clock, unsigned watched) {
    *v = (struct vitals){.clock = clock, .watched = watched, .beat = clock_mono(clock)};
}

void vitals_post(struct vitals *v, const struct vitals_report *r) {
    atomic_store(&v->standby, r->standby);
    atomic_store(&v->db_down_ms, r->db_down_ms);
    atomic_store(&v->stream_age_ms, r->stream_age_ms);
    atomic_store(&v->lag, r->lag);
    atomic_store(&v->workers_alive, r->workers_alive);
    atomic_store(&v->illness, r->illness);
    atomic_store(&v->refused, r->refused);
    atomic_store(&v->enrich_silence_ms, r->enrich_silence_ms);
    atomic_store(&v->beat, clock_mono(v->clock) + r->leave_ms);
    atomic_store(&v->posted, true);
}

void vitals_post_feed(struct vitals *v, int64_t down_ms, int64_t silence_ms) {
    atomic_store(&v->feed_down_ms, down_ms);
    atomic_store(&v->feed_silence_ms, silence_ms);
}

static void add(struct reasons *r, const char *check, const char *fmt, ...) PRINTF_LIKE(3, 4);
static void add(struct reasons *r, const char *check, const char *fmt, ...) {
    struct reason *x = &r->rows[r->n++];
    x->check = check;
    va_list args;
    va_start(args, fmt);
    vsnprintf(x->text, sizeof x->text, fmt, args);
    va_end(args);
}

static long long in_seconds(int64_t ms) {
    return (long long)(ms / 1000);
}

static void find_stuck(const struct vitals *v, struct reasons *r) {
    int64_t silent = clock_mono(v->clock) - atomic_load(&v->beat);
    if (silent > VITALS_BEAT_MS)
        add(r, "loop", "the main loop has not turned for %lld s", in_seconds(silent));
    int64_t feed = atomic_load(&v->feed_silence_ms);
    if (v->watched & VITAL_BIT(VITAL_FEED) && feed > VITALS_BEAT_MS)
        add(r, "feed", "the thread of the change feed has not moved for %lld s", in_seconds(feed));
    int64_t enrich = atomic_load(&v->enrich_silence_ms);
    if (v->watched & VITAL_BIT(VITAL_ENRICH) && enrich > VITALS_BEAT_MS)
        add(r, "enrich", "the thread that enriches has not moved for %lld s", in_seconds(enrich));
}

static void find_updater(const struct vitals *v, struct reasons *r) {
    int64_t age = atomic_load(&v->stream_age_ms), lag = atomic_load(&v->lag);
    if (v->watched & VITAL_BIT(VITAL_STREAM) && age > VITALS_STREAM_MS)
        add(r, "stream", "no frame of the event stream for %lld s", in_seconds(age));
    if (v->watched & VITAL_BIT(VITAL_LAG) && lag > VITALS_LAG)
        add(r, "lag", "%lld ids behind the upstream", (long long)lag);
    if (v->watched & VITAL_BIT(VITAL_WORKERS) && atomic_load(&v->workers_alive) == 0)
        add(r, "workers", "no realtime worker is alive");
}

static void find_unready(const struct vitals *v, struct reasons *r) {
    find_stuck(v, r);
    if (!atomic_load(&v->posted)) {
        add(r, "start", "it is still starting");
        return;
    }
    int64_t down = atomic_load(&v->db_down_ms);
    if (v->watched & VITAL_BIT(VITAL_DATABASE) && down > VITALS_DATABASE_MS)
        add(r, "database", "the database has not answered for %lld s", in_seconds(down));
    int64_t feed = atomic_load(&v->feed_down_ms);
    if (v->watched & VITAL_BIT(VITAL_FEED) && feed > VITALS_FEED_MS)
        add(r, "feed", "the change feed has had no answer of its database for %lld s",
            in_seconds(feed));
    const char *refused = atomic_load(&v->refused);
    if (v->watched & VITAL_BIT(VITAL_ENRICH) && refused)
        add(r, "lanes", "%s refused our key; with a new one: tain enrich resume %s", refused,
            refused);
    if (atomic_load(&v->standby))
        return;
    find_updater(v, r);
    const char *illness = atomic_load(&v->illness);
    if (v->watched & VITAL_BIT(VITAL_UPSTREAM) && illness)
        add(r, "upstream", "the upstream is ill: %s", illness);
}

static void say_text(const struct reasons *r, const char *well, struct strbuf *out) {
    if (r->n == 0)
        strbuf_addf(out, "%s\n", well);
    for (size_t i = 0; i < r->n; i++)
        strbuf_addf(out, "%s: %s\n", r->rows[i].check, r->rows[i].text);
}

static void say_json(const struct reasons *r, const char *well, struct strbuf *out) {
    strbuf_addf(out, "{\"ok\":%s,\"state\":\"%s\",\"reasons\":[", r->n ? "false" : "true",
                r->n ? "failing" : well);
    for (size_t i = 0; i < r->n; i++) {
        strbuf_addf(out, "%s{\"check\":\"%s\",\"reason\":", i ? "," : "", r->rows[i].check);
        strbuf_add_json(out, str_of(r->rows[i].text));
        strbuf_addc(out, '}');
    }
    strbuf_adds(out, "]}\n");
}

static bool say(const struct reasons *r, const char *well, bool json, struct strbuf *out) {
    if (json)
        say_json(r, well, out);
    else
        say_text(r, well, out);
    return r->n == 0;
}

bool vitals_alive(const struct vitals *v, bool json, struct strbuf *out) {
    struct reasons r = {0};
    find_stuck(v, &r);
    return say(&r, "ok", json, out);
}

bool vitals_ready(const struct vitals *v, bool json, struct strbuf *out) {
    struct reasons r = {0};
    find_unready(v, &r);
    return say(&r, atomic_load(&v->standby) ? "standby" : "ready", json, out);
}
