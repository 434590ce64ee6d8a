#include "cli/progress.h"

#include "base/log.h"
#include "cli/format.h"

#include <inttypes.h>
#include <string.h>

#define NARROW 60  /* below this many columns the second line is left out */
#define BAR_MIN 8  /* cells */
#define BAR_MAX 50 /* a longer bar says no more */
#define WIDEST 400 /* nothing is drawn wider than this */

enum tint { PLAIN, DIM, GREEN, YELLOW, RED, BOLD };
static const char *const tints[] = {"", "\033[2m", "\033[32m", "\033[33m", "\033[31m", "\033[1m"};

/* A line that knows how many columns it has left; colours take none. */
struct line {
    struct strbuf *out;
    const struct progress_style *style;
    int left;
};

static int columns(const char *text) {
    int n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xC0) != 0x80;
    return n;
}

/* All of it or nothing, so that no number is ever cut in half. */
static bool put(struct line *l, enum tint tint, const char *text) {
    int n = columns(text);
    if (n > l->left)
        return false;
    bool painted = l->style->color && tint != PLAIN;
    strbuf_adds(l->out, painted ? tints[tint] : "");
    strbuf_adds(l->out, text);
    strbuf_adds(l->out, painted ? "\033[0m" : "");
    l->left -= n;
    return true;
}

/* Control characters in a reason would move the cursor, and a long one would fill the line. */
static void clean(char *out, size_t size, const char *text) {
    size_t n = 0;
    for (; text && *text && n + 1 < size; text++)
        out[n++] = (unsigned char)*text < 0x20 || (unsigned char)*text > 0x7E ? '?' : *text;
    out[n] = '\0';
}

/* Eighths of a cell make the bar move smoothly. */
static void put_cells(struct line *l, const struct progress_view *v, int cells) {
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    int64_t done = v->done_ids < 0 ? 0 : v->done_ids > v->total_ids ? v->total_ids : v->done_ids;
    int64_t filled = v->total_ids > 0 ? (int64_t)((__int128)done * cells * 8 / v->total_ids) : 0;
    CLEANUP(strbuf_release) struct strbuf bar;
    strbuf_init(&bar, WIDEST * 4);
    bool unicode = l->style->unicode;
    int at = 0;
    for (; at < filled / 8; at++)
        strbuf_adds(&bar, unicode ? "█" : "#");
    if (unicode && filled % 8) {
        strbuf_adds(&bar, eighths[filled % 8]);
        at++;
    }
    for (; at < cells; at++)
        strbuf_adds(&bar, unicode ? " " : "-");
    put(l, PLAIN, unicode ? "▕" : "[");
    put(l, v->paused ? YELLOW : GREEN, strbuf_str(&bar).p);
    put(l, PLAIN, unicode ? "▏" : "]");
}

static const char *percent_text(char out[FORMAT_MAX], const struct progress_view *v) {
    if (v->total_ids >= 0)
        return format_percent(out, v->done_ids, v->total_ids);
    snprintf(out, FORMAT_MAX, "--%%");
    return out;
}

static const char *rate_text(char out[FORMAT_MAX], const struct progress_view *v) {
    if (!v->bytes)
        return format_rate(out, v->rate_per_s);
    snprintf(out, FORMAT_MAX, "%.1f MiB/s", v->rate_per_s / 1048576);
    return out;
}

static void eta_text(char *out, size_t size, const struct progress_view *v) {
    char time[FORMAT_MAX];
    if (v->eta_s < 0)
        snprintf(out, size, "ETA --");
    else if (v->eta_s > 99 * 86400)
        snprintf(out, size, "ETA over 99d");
    else
        snprintf(out, size, "ETA %s", v->eta_s ? format_duration(time, v->eta_s * 1000) : "0s");
}

static void render_first(struct line *l, const struct progress_view *v) {
    char phase[32], percent[FORMAT_MAX], rate[FORMAT_MAX], eta[64], tail[160];
    clean(phase, sizeof phase, v->paused ? "paused" : v->phase ? v->phase : "working");
    eta_text(eta, sizeof eta, v);
    snprintf(tail, sizeof tail, " %6s  %9s  %s", percent_text(percent, v), rate_text(rate, v), eta);
    int fixed = columns(phase) + columns(tail) + 3; /* a blank and the two ends of the bar */
    int cells = l->left - fixed;
    if (l->left >= NARROW)
        cells -= 2; /* room for the ETA to grow by without the bar's end jumping */
    put(l, v->paused ? YELLOW : BOLD, phase);
    put(l, PLAIN, " ");
    if (cells >= BAR_MIN)
        put_cells(l, v, cells > BAR_MAX ? BAR_MAX : cells);
    if (put(l, PLAIN, tail))
        return;
    put(l, PLAIN, percent);
}

/* " · 12 retries", left out when there are none unless it is always wanted. */
static void put_field(struct line *l, enum tint tint, const char *text) {
    const char *dot = l->style->unicode ? " · " : " | ";
    if (columns(text) + 3 > l->left)
        return;
    put(l, DIM, dot);
    put(l, tint, text);
}

static void put_number(struct line *l, enum tint tint, int64_t n, const char *word) {
    char number[FORMAT_MAX], text[FORMAT_MAX + 32];
    if (n == 0)
        return;
    snprintf(text, sizeof text, "%s %s", format_count(number, n), word);
    put_field(l, tint, text);
}

/* Trouble first: what does not fit is dropped from the end. */
static void render_second(struct line *l, const struct progress_view *v) {
    char a[FORMAT_MAX], b[FORMAT_MAX], text[160], reason[80];
    if (v->note) {
        clean(text, sizeof text, v->note);
        put(l, PLAIN, text);
        return;
    }
    snprintf(text, sizeof text, "frontier %s of %s", format_count(a, v->frontier),
             format_count(b, v->maxitem));
    put(l, PLAIN, text);
    clean(reason, sizeof reason, v->pause_reason);
    if (v->paused && *reason)
        put_field(l, YELLOW, reason);
    put_number(l, RED, v->dead_letters, v->dead_letters == 1 ? "dead letter" : "dead letters");
    put_number(l, YELLOW, v->waiting, "waiting");
    put_number(l, YELLOW, v->retries, v->retries == 1 ? "retry" : "retries");
    put_number(l, PLAIN, v->missing, "missing");
    snprintf(text, sizeof text, "%d of %d in flight", v->inflight, v->window);
    put_field(l, DIM, text);
}

void progress_render_bar(struct strbuf *out, const struct progress_view *v,
                         const struct progress_style *style) {
    int width = style->width > WIDEST ? WIDEST : style->width > 0 ? style->width : 80;
    /* The last column stays empty: writing into it makes some terminals wrap. */
    struct line l = {out, style, width - 1};
    render_first(&l, v);
    if (width < NARROW)
        return;
    strbuf_addc(out, '\n');
    l.left = width - 1;
    render_second(&l, v);
}

struct line_field {
    const char *key;
    int64_t value;
};

static size_t line_fields(const struct progress_view *v, struct line_field out[16]) {
    size_t n = 0;
    out[n++] = (struct line_field){"done", v->done_ids};
    out[n++] = (struct line_field){"total", v->total_ids};
    out[n++] = (struct line_field){"rate", (int64_t)(v->rate_per_s + 0.5)};
    if (v->eta_s >= 0)
        out[n++] = (struct line_field){"eta_s", v->eta_s};
    if (v->note)
        return n;
    out[n++] = (struct line_field){"frontier", v->frontier};
    out[n++] = (struct line_field){"maxitem", v->maxitem};
    out[n++] = (struct line_field){"fetched", v->fetched};
    out[n++] = (struct line_field){"missing", v->missing};
    out[n++] = (struct line_field){"retries", v->retries};
    out[n++] = (struct line_field){"waiting", v->waiting};
    out[n++] = (struct line_field){"dead_letters", v->dead_letters};
    out[n++] = (struct line_field){"inflight", v->inflight};
    out[n++] = (struct line_field){"window", v->window};
    return n;
}

void progress_render_line(struct strbuf *out, const struct progress_view *v, bool json) {
    struct line_field fields[16];
    size_t n = line_fields(v, fields);
    const char *phase = v->phase ? v->phase : "working";
    char percent[FORMAT_MAX];
    if (json) {
        strbuf_adds(out, "{\"msg\":\"progress\",\"phase\":");
        strbuf_add_json(out, str_of(phase));
    } else {
        strbuf_addf(out, "%s %s", phase, percent_text(percent, v));
    }
    if (*log_run())
        strbuf_addf(out, json ? ",\"run\":\"%s\"" : " run=%s", log_run());
    for (size_t i = 0; i < n; i++)
        strbuf_addf(out, json ? ",\"%s\":%" PRId64 : " %s=%" PRId64, fields[i].key,
                    fields[i].value);
    if (v->note) {
        strbuf_adds(out, json ? ",\"note\":" : " note=");
        strbuf_add_json(out, str_of(v->note));
    }
    if (v->paused) {
        strbuf_adds(out, json ? ",\"paused\":" : " paused=");
        strbuf_add_json(out, str_of(v->pause_reason ? v->pause_reason : "yes"));
    }
    strbuf_adds(out, json ? "}" : "");
}
