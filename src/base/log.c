#include "base/log.h"

#include "base/log_repeat.h"
#include "base/shown.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_LINE_BYTES ((size_t)16 * 1024)
#define MAX_TEXT_BYTES 2048 /* six times that, escaped, still fits the line */
#define END_BYTES 64        /* on top, so that a line that is too long ends like any other */

static enum log_level min_level = LOG_INFO;
static enum log_format out_format = LOG_TEXT;
static void (*screen_clear)(void), (*screen_redraw)(void);
static const struct clock *log_clock = &clock_machine;
static char run_id[16];
static struct log_repeat repeat; /* under the lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const char *const level_names[] = {"debug", "info", "warn", "error"};

void log_setup(enum log_level level, enum log_format format) {
    min_level = level;
    out_format = format;
}

void log_set_clock(const struct clock *clock) {
    log_clock = clock;
}

void log_set_run(const char *id) {
    snprintf(run_id, sizeof run_id, "%s", id);
}

const char *log_run(void) {
    return run_id;
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
    int64_t now = clock_real(log_clock);
    time_t seconds = (time_t)(now / 1000);
    struct tm tm;
    gmtime_r(&seconds, &tm);
    char text[40];
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
    strbuf_addf(b, "%s.%03dZ", text, (int)(now % 1000));
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

static void add_escape(struct strbuf *b, const char *p, size_t len) {
    const unsigned char *c = (const unsigned char *)p;
    unsigned code = len == 1   ? c[0]
                    : len == 2 ? (c[0] & 0x1fu) << 6 | (c[1] & 0x3fu)
                               : (c[0] & 0x0fu) << 12 | (c[1] & 0x3fu) << 6 | (c[2] & 0x3fu);
    strbuf_addf(b, "\\u%04x", code);
}

/* As JSON, which leaves some characters alone that a terminal obeys. They are rare. */
static void add_quoted(struct strbuf *b, const char *s) {
    CLEANUP(strbuf_release) struct strbuf json;
    strbuf_init(&json, MAX_LINE_BYTES);
    strbuf_add_json(&json, shown(s));
    size_t from = 0;
    for (size_t i = 0, len; i < json.n; i += len) {
        size_t hidden = unshown_len(json.p + i, json.n - i);
        len = hidden ? hidden : utf8_len((const unsigned char *)json.p + i, json.n - i);
        if (!hidden)
            continue;
        strbuf_add(b, json.p + from, i - from);
        add_escape(b, json.p + i, len);
        from = i + len;
    }
    strbuf_add(b, json.p + from, json.n - from);
}

static void add_logfmt(struct strbuf *b, const struct log_field *f) {
    strbuf_addf(b, " %s=", f->key);
    if (!f->text)
        strbuf_addf(b, "%" PRId64, f->number);
    else if (needs_quotes(f->text))
        add_quoted(b, f->text);
    else
        strbuf_add_str(b, shown(f->text));
}

static void add_json(struct strbuf *b, const struct log_field *f) {
    strbuf_addf(b, ",\"%s\":", f->key);
    if (f->text)
        add_quoted(b, f->text);
    else
        strbuf_addf(b, "%" PRId64, f->number);
}

static void add_field(struct strbuf *b, const struct log_field *f) {
    if (out_format == LOG_JSON)
        add_json(b, f);
    else
        add_logfmt(b, f);
}

/* All but the end of the line: it may be kept for a while and told how often it came. */
static void format_line(struct strbuf *b, enum log_level level, const char *msg,
                        const struct log_field *fields, size_t n) {
    bool json = out_format == LOG_JSON;
    strbuf_adds(b, json ? "{\"time\":\"" : "time=");
    add_time(b);
    strbuf_addf(b, json ? "\",\"level\":\"%s\"" : " level=%s", level_names[level]);
    if (*run_id)
        add_field(b, &LS("run", run_id));
    strbuf_adds(b, json ? ",\"msg\":" : " msg=");
    add_quoted(b, msg);
    for (size_t i = 0; i < n && !b->overflow; i++) {
        size_t whole = b->n;
        add_field(b, &fields[i]);
        if (b->overflow)
            b->n = whole;
    }
    bool cut = b->overflow;
    b->overflow = false;
    b->max += END_BYTES;
    if (cut)
        add_field(b, &LI("truncated", 1));
}

static void add_end(struct strbuf *b, int64_t repeated) {
    if (repeated)
        add_field(b, &LI("repeated", repeated));
    strbuf_adds(b, out_format == LOG_JSON ? "}\n" : "\n");
}

static void put(const struct strbuf *b) {
    if (screen_clear)
        screen_clear();
    if (write(STDERR_FILENO, b->p, b->n) < 0) {
        /* nowhere left to say so */
    }
    if (screen_redraw)
        screen_redraw();
}

static void put_held(void *arg UNUSED, const struct strbuf *line, int64_t held) {
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, line->max + END_BYTES);
    strbuf_add_str(&b, strbuf_str(line));
    add_end(&b, held);
    put(&b);
}

static uint64_t hash_text(uint64_t h, const char *text) {
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001B3ULL;
    return h * 0x100000001B3ULL; /* "ab", "c" is not "a", "bc" */
}

static bool is_news(const char *key) {
    return strcmp(key, "class") == 0 || strcmp(key, "reason") == 0;
}

/* Messages are constant texts, so the text tells the place; another class or reason is news. */
static uint64_t key_of(enum log_level level, const char *msg, const struct log_field *fields,
                       size_t n) {
    uint64_t h = hash_text(0xCBF29CE484222325ULL ^ (uint64_t)level, msg);
    for (size_t i = 0; i < n; i++)
        if (fields[i].text && is_news(fields[i].key))
            h = hash_text(h, fields[i].text);
    return h ? h : 1;
}

void log_write(enum log_level level, const char *msg, const struct log_field *fields, size_t n) {
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, MAX_LINE_BYTES);
    format_line(&b, level, msg, fields, n);
    uint64_t key = key_of(level, msg, fields, n);
    pthread_mutex_lock(&lock);
    if (level == LOG_DEBUG || /* who asks for these wants to see each */
        log_repeat_take(&repeat, key, &b, clock_mono(log_clock), put_held, NULL)) {
        add_end(&b, 0);
        put(&b);
    }
    pthread_mutex_unlock(&lock);
}

void log_write_always(enum log_level level, const char *msg, const struct log_field *fields,
                      size_t n) {
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, MAX_LINE_BYTES);
    format_line(&b, level, msg, fields, n);
    add_end(&b, 0);
    pthread_mutex_lock(&lock);
    put(&b);
    pthread_mutex_unlock(&lock);
}

static void flush(bool all) {
    pthread_mutex_lock(&lock);
    log_repeat_flush(&repeat, clock_mono(log_clock), all, put_held, NULL);
    pthread_mutex_unlock(&lock);
}

void log_tick(void) {
    flush(false);
}

void log_flush(void) {
    flush(true);
}
