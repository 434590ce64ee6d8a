/* The drawings of /status. Inline SVG; colours come from the style sheet by class, since the policy
 * of the server forbids styles in the page. Every drawing says in words what it shows. */
#include "web/page.h"
#include "web/status.h"

#include <inttypes.h>
#include <stdio.h>

#define MINUTE INT64_C(60000)
#define EVENT_LATE_MS (5 * MINUTE)
#define LAG_LARGE 50000
#define FEED_LATE_MS 10000
#define LANES_SHOWN 32
#define BAR_WIDTH 1000.0
#define CHART_WIDTH 600.0
#define CHART_HEIGHT 120.0

static void card(struct strbuf *b, const char *id, const char *name, bool bad) {
    strbuf_addf(b, "<div class=\"card%s\" id=\"s-%s\"><dt>%s</dt><dd>", bad ? " bad" : "", id,
                name);
}

static void card_end(struct strbuf *b, const char *remark) {
    strbuf_addf(b, "</dd><dd class=\"note\">%s</dd></div>\n", remark);
}

static void number_card(struct strbuf *b, const char *id, const char *name, int64_t n, bool bad,
                        const char *remark) {
    card(b, id, name, bad);
    page_number(b, n);
    card_end(b, remark);
}

static void instant_card(struct strbuf *b, const char *id, const char *name, int64_t at,
                         int64_t now, bool bad, const char *remark) {
    card(b, id, name, bad);
    if (at)
        page_time(b, at / 1000, now / 1000);
    else
        strbuf_adds(b, "never");
    card_end(b, remark);
}

/* Ids that wait for a recheck hold the frontier up, and nothing else does: the lag counts from
 * where it would be without them. */
static void frontier_card(struct strbuf *b, const struct archive_state *a) {
    card(b, "frontier", "Frontier", false);
    page_number(b, a->frontier_id);
    if (a->frontier_excluding_waiting > a->frontier_id) {
        strbuf_adds(b, "</dd><dd class=\"note\">proved up to here; but for ids that are looked at "
                       "again, up to ");
        page_number(b, a->frontier_excluding_waiting);
        strbuf_adds(b, "</dd></div>\n");
    } else {
        card_end(b, "every id up to here is stored or confirmed missing");
    }
}

/* A mirror that has the newest ids and fills history behind them is not late. */
static bool has_newest(const struct status *s) {
    return s->n_ranges && s->state.maxitem - s->ranges[s->n_ranges - 1].hi <= LAG_LARGE;
}

static void mirror_cards(struct strbuf *b, const struct status *s) {
    const struct archive_state *a = &s->state;
    int64_t lag = a->maxitem - a->frontier_excluding_waiting;
    bool large = lag > LAG_LARGE;
    frontier_card(b, a);
    if (a->maxitem_at) {
        number_card(b, "maxitem", "Newest upstream", a->maxitem, false, "the largest id there is");
    } else {
        card(b, "maxitem", "Newest upstream", false);
        strbuf_adds(b, "unknown");
        card_end(b, "nobody has looked yet");
    }
    number_card(b, "lag", "Lag", lag > 0 ? lag : 0, large && !has_newest(s),
                large && has_newest(s) ? "ids of history, which is being filled"
                                       : "ids from the frontier to the newest");
    number_card(b, "dead", "Dead letters", s->counts.dead_letters, s->counts.dead_letters > 0,
                s->counts.dead_letters ? "tain dead-letter list says why" : "nothing was given up");
}

static void live_cards(struct strbuf *b, const struct status *s) {
    const struct updater_row *u = &s->updater;
    bool active = u->holder[0] && u->lease_left_ms > 0;
    bool late = u->last_sse_event_at && s->now - u->last_sse_event_at > EVENT_LATE_MS;
    card(b, "updater", "Updater", !active);
    strbuf_adds(b, active ? "active" : "not running");
    card_end(b, !active ? "start one: tain updater, or tain up"
                : late  ? "the event stream is silent"
                        : "following the event stream");
    instant_card(b, "event", "Last event", u->last_sse_event_at, s->now, active && late,
                 "of the live stream");
    instant_card(b, "rescan", "Last rescan", u->last_rescan_at, s->now, false,
                 "of what may have changed");
    if (s->queue != METRIC_NONE)
        number_card(b, "queue", "Queue", s->queue, s->queue > 2000, "ids named and not fetched");
    number_card(b, "aside", "Put aside", s->failed, false, "failed, will be tried again");
    number_card(b, "rechecks", "Rechecks", s->rechecks, false, "young nulls and delayed texts");
    number_card(b, "index", "Search index", s->index_waits, false,
                s->index_waits ? "ids behind the mirror" : "ids behind: it is up to date");
}

static void feed_cards(struct strbuf *b, const struct status *s) {
    int64_t last = 0;
    for (int i = STATUS_MINUTES - 5; i < STATUS_MINUTES; i++)
        last += s->changes[i];
    card(b, "feed", "Change feed", false);
    page_number(b, s->feed.head);
    strbuf_addf(b, "</dd><dd class=\"note\">changes in order, %.1f items a minute; ",
                (double)last / 5);
    page_number(b, s->feed.head - s->feed.oldest + 1);
    card_end(b, " are kept");
    number_card(b, "listeners", "Listeners", s->feed_clients, false,
                "clients of the change feed at this server");
    bool waits = s->feed_waits_ms >= 0;
    card(b, "unordered", "Not in order yet", s->feed_waits_ms > FEED_LATE_MS);
    strbuf_addf(b, "%.1f s", waits ? (double)s->feed_waits_ms / 1000 : 0.0);
    card_end(b, waits ? "the oldest change that no client can hear of"
                      : "every change is in the feed");
}

/* Names are letters, digits and dashes where a file declared them; whatever else is escaped. */
static void lane_card(struct strbuf *b, const struct lane_row *r) {
    static const char *const words[LANE_WHYS] = {
        [LANE_GO] = "ready",           [LANE_PACED] = "busy",      [LANE_FULL] = "busy",
        [LANE_NOT_BEFORE] = "waiting", [LANE_BREAKER] = "waiting", [LANE_PAUSED] = "paused"};
    bool refused = r->state.pause == LANE_PAUSED_AUTH, ill = r->state.breaker != BREAKER_CLOSED;
    strbuf_addf(b, "<div class=\"card%s\"><dt>", refused || ill ? " bad" : "");
    strbuf_add_html(b, r->name);
    strbuf_addf(b, "</dt><dd>%s", words[r->why]);
    card_end(b, refused                       ? "the provider refuses us"
                : r->state.pause != LANE_RUNS ? "a provider that is not asked, by hand"
                : ill                         ? "the provider is ill"
                : r->why == LANE_NOT_BEFORE   ? "the provider asked to wait"
                                              : "a provider of enrichment");
}

static void segment_cards(struct strbuf *b, const struct status *s) {
    int said = 0;
    strbuf_adds(b, "<p class=\"note\" id=\"s-segments\">Segments: ");
    for (int i = 0; i < SEG_N; i++) {
        if (!s->counts.segments[i])
            continue;
        strbuf_adds(b, said++ ? ", " : "");
        page_number(b, s->counts.segments[i]);
        strbuf_addf(b, " %s", segment_fsm.states[i]);
    }
    strbuf_adds(b, said ? ".</p>\n" : "none.</p>\n");
}

/* Coverage: which ids have an outcome, from the floor to the newest. */
static void coverage(struct strbuf *b, const struct status *s) {
    int64_t lo = s->state.floor_id ? s->state.floor_id : 1, hi = s->state.maxitem;
    if (hi < lo)
        return;
    double scale = BAR_WIDTH / (double)(hi - lo + 1);
    int64_t covered = ranges_count(s->ranges, s->n_ranges);
    double share = 100.0 * (double)covered / (double)(hi - lo + 1);
    strbuf_addf(b, "<figure class=\"coverage\"><figcaption>Coverage <span>%.1f %% of the ids from ",
                share > 100 ? 100 : share);
    page_number(b, lo);
    strbuf_adds(b, " to ");
    page_number(b, hi);
    strbuf_adds(b, " have been looked at</span></figcaption>"
                   "<svg viewBox=\"0 0 1000 18\" preserveAspectRatio=\"none\" role=\"img\" "
                   "aria-label=\"Coverage of the ids\"><rect class=\"rail\" width=\"1000\" "
                   "height=\"18\"/>");
    for (size_t i = 0; i < s->n_ranges; i++) {
        double x = (double)(s->ranges[i].lo - lo) * scale;
        double w = (double)(s->ranges[i].hi - s->ranges[i].lo + 1) * scale;
        strbuf_addf(b, "<rect class=\"full\" x=\"%.2f\" width=\"%.2f\" height=\"18\"/>",
                    x > 0 ? x : 0, w > 1 ? w : 1);
    }
    strbuf_adds(b, "</svg></figure>\n");
}

static void column(struct strbuf *b, size_t i, size_t n, int64_t value, int64_t most,
                   const char *title) {
    double step = CHART_WIDTH / (double)n;
    double h = most ? (CHART_HEIGHT - 2) * (double)value / (double)most : 0;
    if (value && h < 1.5)
        h = 1.5; /* one is not none */
    strbuf_addf(b,
                "<rect class=\"col\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\">"
                "<title>%s</title></rect>",
                (double)i * step + 0.5, CHART_HEIGHT - h, step - 1, h, title);
}

static int64_t largest(const int64_t *values, size_t n) {
    int64_t most = 0;
    for (size_t i = 0; i < n; i++)
        most = values[i] > most ? values[i] : most;
    return most;
}

static void chart_begin(struct strbuf *b, const char *id, const char *name) {
    strbuf_addf(b, "<figure class=\"chart\" id=\"s-%s\"><figcaption>%s <span>", id, name);
}

static void chart_svg(struct strbuf *b, const char *label) {
    strbuf_addf(b,
                "</span></figcaption><svg viewBox=\"0 0 600 120\" preserveAspectRatio=\"none\" "
                "role=\"img\" aria-label=\"%s\">",
                label);
}

static void chart_end(struct strbuf *b, const char *left, const char *right) {
    strbuf_addf(b, "</svg><p class=\"axis\"><span>%s</span><span>%s</span></p></figure>\n", left,
                right);
}

static void changes(struct strbuf *b, const struct status *s) {
    int64_t most = largest(s->changes, STATUS_MINUTES), last = 0;
    for (int i = STATUS_MINUTES - 5; i < STATUS_MINUTES; i++)
        last += s->changes[i];
    chart_begin(b, "changes", "Changes per minute");
    if (most) {
        strbuf_addf(b, "%.1f in the last five, at most ", (double)last / 5);
        page_number(b, most);
    } else {
        strbuf_adds(b, "none in the last hour");
    }
    chart_svg(b, "Changes of items per minute over the last hour");
    for (size_t i = 0; i < STATUS_MINUTES; i++) {
        char title[64];
        size_t ago = STATUS_MINUTES - 1 - i;
        if (ago)
            snprintf(title, sizeof title, "%zu minute%s ago: %" PRId64, ago, ago == 1 ? "" : "s",
                     s->changes[i]);
        else
            snprintf(title, sizeof title, "this minute: %" PRId64, s->changes[i]);
        column(b, i, STATUS_MINUTES, s->changes[i], most, title);
    }
    chart_end(b, "an hour ago", "now");
}

/* "90 s", "5 min", "3 h", "2 d" */
static void span_words(char *out, size_t size, int64_t seconds) {
    if (seconds < 120)
        snprintf(out, size, "%" PRId64 " s", seconds);
    else if (seconds < 7200)
        snprintf(out, size, "%" PRId64 " min", seconds / 60);
    else if (seconds < 172800)
        snprintf(out, size, "%" PRId64 " h", seconds / 3600);
    else
        snprintf(out, size, "%" PRId64 " d", seconds / 86400);
}

static void quantile(struct strbuf *b, const struct ages *a, const char *name, double share) {
    char words[32];
    int64_t seconds = ages_quantile(a, share);
    if (seconds == INT64_MAX)
        snprintf(words, sizeof words, "over a year");
    else
        span_words(words, sizeof words, seconds);
    strbuf_addf(b, "%s %s, ", name, words);
}

static void update_ages(struct strbuf *b, const struct status *s) {
    int64_t n = ages_count(&s->ages), most = largest(s->ages.n, AGES_BOUNDS + 1);
    int days = ages_recommend_days(&s->ages);
    chart_begin(b, "ages", "Age of what is updated");
    if (n) {
        quantile(b, &s->ages, "half younger than", 0.5);
        quantile(b, &s->ages, "95 of 100 younger than", 0.95);
        page_count(b, n, "update");
    } else {
        strbuf_adds(b, "no updates yet");
    }
    if (days)
        strbuf_addf(b, "; a rescan window of %d day%s catches %d of 100", days,
                    days == 1 ? "" : "s", (int)(100 * ages_share(&s->ages, days)));
    chart_svg(b, "How old items are when an update of them arrives");
    for (size_t i = 0; i <= AGES_BOUNDS; i++) {
        char below[32], title[96];
        span_words(below, sizeof below, ages_bounds[i < AGES_BOUNDS ? i : AGES_BOUNDS - 1]);
        snprintf(title, sizeof title, "%s %s: %" PRId64, i < AGES_BOUNDS ? "below" : "above", below,
                 s->ages.n[i]);
        column(b, i, AGES_BOUNDS + 1, s->ages.n[i], most, title);
    }
    chart_end(b, "seconds", "a year and more");
}

void status_render(struct strbuf *b, const struct status *s) {
    strbuf_adds(b, "<dl class=\"cards\">\n");
    mirror_cards(b, s);
    live_cards(b, s);
    feed_cards(b, s);
    for (size_t i = 0; i < s->n_lanes && i < LANES_SHOWN; i++)
        lane_card(b, &s->lanes[i]);
    strbuf_adds(b, "</dl>\n");
    coverage(b, s);
    strbuf_adds(b, "<div class=\"charts\">\n");
    changes(b, s);
    update_ages(b, s);
    strbuf_adds(b, "</div>\n");
    segment_cards(b, s);
}
