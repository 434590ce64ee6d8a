#include "cli/lane_words.h"

#include "base/shown.h"
#include "cli/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

const char *lane_limit_words(char out[LANE_WORDS_MAX], const struct lane_limits *l) {
    static const struct {
        int64_t ms;
        const char *name;
    } units[] = {{1000, "s"}, {60000, "min"}, {3600000, "h"}, {86400000, "day"}};
    char window[FORMAT_MAX];
    if (l->per_window == 0) {
        snprintf(out, LANE_WORDS_MAX, "no limit");
        return out;
    }
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (units[i].ms == l->window_ms) {
            snprintf(out, LANE_WORDS_MAX, "%d/%s", l->per_window, units[i].name);
            return out;
        }
    snprintf(out, LANE_WORDS_MAX, "%d in %s", l->per_window, format_duration(window, l->window_ms));
    return out;
}

static const char *instant(char out[FORMAT_MAX], int64_t ms) {
    time_t seconds = (time_t)(ms / 1000);
    struct tm tm;
    if (!gmtime_r(&seconds, &tm) || strftime(out, FORMAT_MAX, "%Y-%m-%d %H:%M:%SZ", &tm) == 0)
        snprintf(out, FORMAT_MAX, "%" PRId64, ms);
    return out;
}

static void paused_words(char out[LANE_WORDS_MAX], const struct lane_row *r) {
    char since[FORMAT_MAX];
    snprintf(out, LANE_WORDS_MAX, "paused%s since %s%s%.*s",
             r->state.pause == LANE_PAUSED_BY_HAND ? " by hand" : "", instant(since, r->paused_at),
             r->paused_why.n ? ": " : "", (int)(r->paused_why.n < 200 ? r->paused_why.n : 200),
             r->paused_why.n ? r->paused_why.p : "");
    shown_in_place(out); /* a provider's words */
}

static void breaker_words(char out[LANE_WORDS_MAX], const struct lane_row *r) {
    char wait[FORMAT_MAX];
    if (r->state.breaker == BREAKER_HALF_OPEN)
        snprintf(out, LANE_WORDS_MAX, "the provider is ill: a probe is under way");
    else
        snprintf(out, LANE_WORDS_MAX, "the provider is ill: a probe goes in %s",
                 format_duration(wait, r->wait_ms));
}

const char *lane_state_words(char out[LANE_WORDS_MAX], const struct lane_row *r) {
    char wait[FORMAT_MAX];
    format_duration(wait, r->wait_ms > 0 ? r->wait_ms : 0);
    switch (r->why) {
    case LANE_PAUSED:
        paused_words(out, r);
        break;
    case LANE_BREAKER:
        breaker_words(out, r);
        break;
    case LANE_NOT_BEFORE:
        snprintf(out, LANE_WORDS_MAX, "the provider asked to wait, %s more", wait);
        break;
    case LANE_FULL:
        snprintf(out, LANE_WORDS_MAX, "as many calls under way as may be");
        break;
    case LANE_PACED:
        snprintf(out, LANE_WORDS_MAX, "ready; the next turn is given out in %s", wait);
        break;
    default:
        snprintf(out, LANE_WORDS_MAX, "%s",
                 r->state.breaker == BREAKER_CLOSED ? "ready"
                                                    : "the provider was ill: the next "
                                                      "call is a probe");
    }
    return out;
}

static void add_text(struct strbuf *b, const char *name, struct str s) {
    strbuf_addf(b, ",\"%s\":", name);
    if (s.p)
        strbuf_add_json(b, s);
    else
        strbuf_adds(b, "null");
}

static void add_instant(struct strbuf *b, const char *name, int64_t ms) {
    strbuf_addf(b, ms > 0 ? ",\"%s\":%" PRId64 : ",\"%s\":null", name, ms);
}

void lane_json(struct strbuf *b, const struct lane_row *r) {
    static const char *const breakers[] = {
        [BREAKER_CLOSED] = "closed", [BREAKER_OPEN] = "open", [BREAKER_HALF_OPEN] = "half_open"};
    static const char *const pauses[] = {
        [LANE_RUNS] = NULL, [LANE_PAUSED_BY_HAND] = "by_hand", [LANE_PAUSED_AUTH] = "auth"};
    strbuf_adds(b, "{\"name\":");
    strbuf_add_json(b, r->name);
    strbuf_addf(b,
                ",\"per_window\":%d,\"window_ms\":%" PRId64 ",\"slots\":%d,\"slots_taken\":%d"
                ",\"state\":\"%s\",\"wait_ms\":%" PRId64 ",\"breaker\":\"%s\",\"failures\":%d",
                r->limits.per_window, r->limits.window_ms, r->limits.slots, r->slots_taken,
                lane_why_name(r->why), r->wait_ms, breakers[r->state.breaker], r->state.failures);
    add_text(b, "paused", str_of(pauses[r->state.pause]));
    add_text(b, "paused_why", r->paused_why);
    add_instant(b, "paused_at", r->paused_at);
    add_instant(b, "not_before", r->state.not_before_ms);
    strbuf_addc(b, '}');
}
