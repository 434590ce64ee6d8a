#include "cli/progress.h"

#include "base/log.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define BAR_EVERY_MS 100
#define LINE_EVERY_MS 10000
#define SAMPLE_EVERY_MS 200
#define SMOOTH_MS 10000.0
#define OUT_MAX 4096

struct progress {
    struct progress_options o;
    struct progress_view view;
    struct strbuf frame; /* what is on the screen, to be put back behind a log line */
    int lines;           /* that it takes; 0: nothing is drawn */
    bool drawn_once;
    int64_t next_at;
    /* the smoothed rate: weight grows towards 1, so that the first seconds are not too low */
    bool sampled;
    int64_t sample_at, sample_done;
    double rate, weight;
};

/* log_set_screen() passes no pointer, and there is one terminal: one bar per process. */
static pthread_mutex_t screen = PTHREAD_MUTEX_INITIALIZER;
static struct progress *on_screen;

static void wipe(struct progress *p) {
    if (p->lines == 0)
        return;
    fputs(p->lines > 1 ? "\r\033[1A\033[J" : "\r\033[J", p->o.out);
    p->lines = 0;
}

static void put_frame(struct progress *p) {
    if (p->frame.n == 0)
        return;
    fwrite(p->frame.p, 1, p->frame.n, p->o.out);
    p->lines = strchr(p->frame.p, '\n') ? 2 : 1;
    fflush(p->o.out);
}

/* The lock is held from clear to redraw: no frame may be drawn between the two. */
static void screen_clear(void) {
    pthread_mutex_lock(&screen);
    if (on_screen) {
        wipe(on_screen);
        fflush(on_screen->o.out);
    }
}

static void screen_redraw(void) {
    if (on_screen)
        put_frame(on_screen);
    pthread_mutex_unlock(&screen);
}

static bool env_says_utf8(void) {
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

struct progress_options progress_options_for(FILE *out, enum progress_mode mode, bool json_lines,
                                             const struct clock *clock) {
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
    bool terminal = isatty(fileno(out)) && term && *term && strcmp(term, "dumb") != 0;
    if (mode == PROGRESS_AUTO)
        mode = terminal ? PROGRESS_BAR : PROGRESS_LINE;
    return (struct progress_options){
        .mode = mode,
        .out = out,
        .json_lines = json_lines,
        .style = {.color = terminal && !(no_color && *no_color), .unicode = env_says_utf8()},
        .clock = clock,
    };
}

struct progress *progress_new(const struct progress_options *o) {
    struct progress *p = xcalloc(1, sizeof *p);
    p->o = *o;
    if (p->o.mode == PROGRESS_AUTO)
        p->o.mode = isatty(fileno(o->out)) ? PROGRESS_BAR : PROGRESS_LINE;
    p->view.eta_s = -1;
    p->next_at = clock_mono(o->clock) + (p->o.mode == PROGRESS_LINE ? LINE_EVERY_MS : 0);
    strbuf_init(&p->frame, OUT_MAX);
    if (p->o.mode == PROGRESS_BAR) {
        pthread_mutex_lock(&screen);
        on_screen = p;
        pthread_mutex_unlock(&screen);
        log_set_screen(screen_clear, screen_redraw);
    }
    return p;
}

/* An exponentially weighted mean without exp(): a sample that took dt has the share
 * dt / (10 s + dt). Dividing by the weight seen so far takes out the zero it started from. */
static void take_sample(struct progress *p, int64_t now, int64_t done) {
    if (!p->sampled) {
        p->sampled = true;
        p->sample_at = now;
        p->sample_done = done;
        return;
    }
    int64_t dt = now - p->sample_at;
    if (dt < SAMPLE_EVERY_MS)
        return;
    double share = (double)dt / (SMOOTH_MS + (double)dt);
    double speed = (double)(done - p->sample_done) * 1000.0 / (double)dt;
    p->rate += share * ((speed > 0 ? speed : 0) - p->rate);
    p->weight += share * (1 - p->weight);
    p->sample_at = now;
    p->sample_done = done;
}

static void fill_rate(struct progress *p) {
    struct progress_view *v = &p->view;
    v->rate_per_s = p->weight > 0 ? p->rate / p->weight : 0;
    int64_t left = v->total_ids - v->done_ids;
    if (v->total_ids >= 0 && left <= 0)
        v->eta_s = 0;
    else if (v->total_ids < 0 || v->paused || v->rate_per_s < 0.01)
        v->eta_s = -1;
    else
        v->eta_s = (int64_t)((double)left / v->rate_per_s + 0.5);
}

static int terminal_width(const struct progress *p) {
    struct winsize size;
    if (p->o.style.width > 0)
        return p->o.style.width;
    return ioctl(fileno(p->o.out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

static void draw_bar(struct progress *p) {
    struct progress_style style = p->o.style;
    style.width = terminal_width(p);
    pthread_mutex_lock(&screen);
    wipe(p);
    strbuf_clear(&p->frame);
    progress_render_bar(&p->frame, &p->view, &style);
    put_frame(p);
    pthread_mutex_unlock(&screen);
}

static void write_line(struct progress *p) {
    CLEANUP(strbuf_release) struct strbuf line;
    strbuf_init(&line, OUT_MAX);
    progress_render_line(&line, &p->view, p->o.json_lines);
    strbuf_addc(&line, '\n');
    fwrite(line.p, 1, line.n, p->o.out);
    fflush(p->o.out);
}

void progress_update(struct progress *p, const struct progress_view *v) {
    int64_t now = clock_mono(p->o.clock);
    log_tick();
    p->view = *v;
    take_sample(p, now, v->done_ids);
    fill_rate(p);
    if (p->o.mode == PROGRESS_NONE || now < p->next_at)
        return;
    p->next_at = now + (p->o.mode == PROGRESS_BAR ? BAR_EVERY_MS : LINE_EVERY_MS);
    if (p->o.mode == PROGRESS_BAR)
        draw_bar(p);
    else
        write_line(p);
}

struct progress_view progress_last(const struct progress *p) {
    return p->view;
}

void progress_free(struct progress *p) {
    if (!p)
        return;
    if (p->o.mode == PROGRESS_BAR) {
        log_set_screen(NULL, NULL);
        pthread_mutex_lock(&screen);
        on_screen = NULL;
        wipe(p);
        fflush(p->o.out);
        pthread_mutex_unlock(&screen);
    }
    strbuf_release(&p->frame);
    free(p);
}
