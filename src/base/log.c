#include "base/log.h"

#include "base/str.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_LINE_BYTES ((size_t)16 * 1024)
#define MAX_TEXT_BYTES 2048 /* six times that, escaped, still fits the line */
#define END_BYTES 32        /* on top, so that a line that is too long ends like any other */

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

/* Whatever is not plain ASCII goes through the JSON writer, which lets no control byte and no
 * broken UTF-8 reach a terminal. */
static bool needs_quotes(const char *s) {
    if (*s == '\0')
        return true;
    for (; *s; s++)
        if (*s <= ' ' || *s > '~' || *s == '=' || *s == '"' || *s == '\\')
            return true;
    return false;
}

/* At most MAX_TEXT_BYTES of it, cut between two characters. */
static struct str shown(const char *s) {
    struct str text = {s, strnlen(s, MAX_TEXT_BYTES + 1)};
    if (text.n > MAX_TEXT_BYTES)
        for (text.n = MAX_TEXT_BYTES; text.n && ((unsigned char)s[text.n] & 0xC0) == 0x80;)
            text.n--;
    return text;
}

static void add_logfmt(struct strbuf *b, const struct log_field *f) {
    strbuf_addf(b, " %s=", f->key);
    if (!f->text)
        strbuf_addf(b, "%" PRId64, f->number);
    else if (needs_quotes(f->text))
        strbuf_add_json(b, shown(f->text));
    else
        strbuf_add_str(b, shown(f->text));
}

static void add_json(struct strbuf *b, const struct log_field *f) {
    strbuf_addf(b, ",\"%s\":", f->key);
    if (f->text)
        strbuf_add_json(b, shown(f->text));
    else
        strbuf_addf(b, "%" PRId64, f->number);
}

static void format_line(struct strbuf *b, enum log_level level, const char *msg,
                        const struct log_field *fields, size_t n) {
    bool json = out_format == LOG_JSON;
    strbuf_adds(b, json ? "{\"time\":\"" : "time=");
    add_time(b);
    strbuf_addf(b, json ? "\",\"level\":\"%s\",\"msg\":" : " level=%s msg=", level_names[level]);
    strbuf_add_json(b, shown(msg));
    void (*add)(struct strbuf *, const struct log_field *) = json ? add_json : add_logfmt;
    for (size_t i = 0; i < n && !b->overflow; i++) {
        size_t whole = b->n;
        add(b, &fields[i]);
        if (b->overflow)
            b->n = whole;
    }
    bool cut = b->overflow;
    b->overflow = false;
    b->max += END_BYTES;
    if (cut)
        add(b, &LI("truncated", 1));
    strbuf_adds(b, json ? "}\n" : "\n");
}

void log_write(enum log_level level, const char *msg, const struct log_field *fields, size_t n) {
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, MAX_LINE_BYTES);
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
