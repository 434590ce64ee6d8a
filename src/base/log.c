#include "base/log.h"

#include "base/str.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static enum log_level min_level = LOG_INFO;
static enum log_format out_format = LOG_TEXT;
static void (*screen_clear)(void), (*screen_redraw)(void);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const char *const level_names[] = {"debug", "info", "warn", "error"};

void log_setup(enum log_level level, enum log_format format) {
    min_level = level;
    out_format = format;
}

bool log_enabled(enum log_level level) {
    return level >= min_level;
}

void log_set_screen(void (*clear)(void), void (*redraw)(void)) {
    pthread_mutex_lock(&lock);
    screen_clear = clear;
    screen_redraw = redraw;
    pthread_mutex_unlock(&lock);
}

static void add_time(struct strbuf *b) {
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    struct tm tm;
    gmtime_r(&ts.tv_sec, &tm);
    char text[40];
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
    strbuf_addf(b, "%s.%03ldZ", text, ts.tv_nsec / 1000000);
}

static bool needs_quotes(const char *s) {
    return *s == '\0' || s[strcspn(s, " =\"\\\t\r\n")] != '\0';
}

static void add_logfmt(struct strbuf *b, const struct log_field *f) {
    strbuf_addf(b, " %s=", f->key);
    if (!f->text)
        strbuf_addf(b, "%" PRId64, f->number);
    else if (needs_quotes(f->text))
        strbuf_add_json(b, str_of(f->text));
    else
        strbuf_adds(b, f->text);
}

static void add_json(struct strbuf *b, const struct log_field *f) {
    strbuf_addf(b, ",\"%s\":", f->key);
    if (f->text)
        strbuf_add_json(b, str_of(f->text));
    else
        strbuf_addf(b, "%" PRId64, f->number);
}

static void format_line(struct strbuf *b, enum log_level level, const char *msg,
                        const struct log_field *fields, size_t n) {
    bool json = out_format == LOG_JSON;
    strbuf_adds(b, json ? "{\"time\":\"" : "time=");
    add_time(b);
    strbuf_addf(b, json ? "\",\"level\":\"%s\",\"msg\":" : " level=%s msg=", level_names[level]);
    strbuf_add_json(b, str_of(msg));
    for (size_t i = 0; i < n; i++)
        (json ? add_json : add_logfmt)(b, &fields[i]);
    strbuf_adds(b, json ? "}\n" : "\n");
}

void log_write(enum log_level level, const char *msg, const struct log_field *fields, size_t n) {
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, 16 * 1024);
    format_line(&b, level, msg, fields, n);
    pthread_mutex_lock(&lock);
    if (screen_clear)
        screen_clear();
    if (write(STDERR_FILENO, b.p, b.n) < 0) {
        /* nowhere left to say so */
    }
    if (screen_redraw)
        screen_redraw();
    pthread_mutex_unlock(&lock);
}
