/* How far a run is: a bar drawn in place on a terminal, or a line every 10 s elsewhere, on
 * standard error; and the summary at its end. Fed with plain snapshots by one thread; only that
 * thread calls progress_*. Log lines may come from any thread: the bar steps aside for them by
 * log_set_screen(), and holds its one lock while a line is being written. */
#ifndef TAIN_CLI_PROGRESS_H
#define TAIN_CLI_PROGRESS_H

#include "base/attr.h"
#include "base/clock.h"
#include "base/str.h"

#include <stdio.h>

/* In the order of the choices of --progress. */
enum progress_mode { PROGRESS_AUTO, PROGRESS_BAR, PROGRESS_LINE, PROGRESS_NONE };

struct progress_view {
    int64_t total_ids, done_ids; /* of the window; done: stored or settled; total -1: unknown */
    bool bytes;                  /* the two are bytes of a file */
    int64_t fetched, missing, retries, waiting, dead_letters;
    int64_t frontier, maxitem;
    double rate_per_s; /* filled by progress_update(): ids done per second over some 10 s */
    int64_t eta_s;     /* filled by progress_update(); -1: unknown */
    int inflight, window;
    bool paused;
    const char *pause_reason; /* may be NULL */
    const char *phase;        /* "catching up"; may be NULL */
    const char *note; /* of a command that fetches nothing: in place of the figures; or NULL */
};

struct progress_style {
    int width; /* columns; 0: ask the terminal at each drawing, 80 if it does not say */
    bool color, unicode;
};

struct progress_options {
    enum progress_mode mode; /* AUTO: decided by what `out` is */
    FILE *out;
    bool json_lines; /* write the lines of LINE mode as JSON, as the log does */
    struct progress_style style;
    const struct clock *clock;
};

/* For standard error on this machine: width and colour from the terminal, TERM, NO_COLOR and the
 * locale. AUTO becomes BAR on a terminal that can move its cursor, LINE elsewhere. */
struct progress_options progress_options_for(FILE *out, enum progress_mode mode, bool json_lines,
                                             const struct clock *clock);

struct progress;
struct progress *progress_new(const struct progress_options *o);
/* May be called at any pace: a bar is drawn at most 10 times a second, a line each 10 s. */
void progress_update(struct progress *p, const struct progress_view *v);
/* The last state as it would be drawn now, rate and ETA filled in. */
struct progress_view progress_last(const struct progress *p);
/* Wipes the bar and frees. NULL is fine. */
void progress_free(struct progress *p);

/* The two lines of the bar, with '\n' between them; only one on a narrow terminal. No line is
 * wider than the style says. */
void progress_render_bar(struct strbuf *out, const struct progress_view *v,
                         const struct progress_style *style);
/* One line without its '\n'. */
void progress_render_line(struct strbuf *out, const struct progress_view *v, bool json);

/* What a run did, for people and for programs. */
struct summary {
    const char *command;      /* "catchup" */
    int64_t start_id, end_id; /* the window; 0 when there was nothing to do */
    int64_t total_ids, done_ids;
    int64_t fetched, stored, changed, unchanged, stale, missing, skipped;
    int64_t retries, waiting, dead_letters;
    int64_t frontier, frontier_excluding_waiting, maxitem;
    int64_t duration_ms;
    bool stopped;               /* by a signal or an outage, before the end */
    const char *stop_reason;    /* may be NULL */
    const char *resume_command; /* may be NULL: no hint then */
};

/* Totals, speed, and what to do next. */
void progress_summary(FILE *out, const struct summary *s);
/* The same as one JSON object on one line. */
void progress_summary_json(FILE *out, const struct summary *s);
/* The same as a line of the log: an error when there is a reason why it stopped. */
void progress_summary_log(const struct summary *s);

#endif
