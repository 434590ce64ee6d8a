/* One line per event on stderr, logfmt or JSON: log_info("segment done", LI("segment", id)).
 * Called by worker loops, the supervisor and commands only. Thread-safe: one write per line. A text
 * is cut at 2 KiB; fields that no longer fit a line of 16 KiB give way to truncated=1.
 * Of lines with the same level, message and class (a field of that name) ten are written in a
 * minute; the rest comes as one line with repeated=N when the minute is over. Not so at debug. */
#ifndef TAIN_BASE_LOG_H
#define TAIN_BASE_LOG_H

#include "base/attr.h"
#include "base/clock.h"
#include "base/err.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR, LOG_OFF };
enum log_format { LOG_TEXT, LOG_JSON };

struct log_field {
    const char *key;
    const char *text; /* NULL: the number counts */
    int64_t number;
};

#define LI(key, value) ((struct log_field){(key), NULL, (int64_t)(value)})
#define LS(key, value) ((struct log_field){(key), (value), 0})
#define LE(e) LS("error", (e)->msg)

void log_setup(enum log_level level, enum log_format format);
/* The machine's unless a test has its own. */
void log_set_clock(const struct clock *clock);
/* Every line from here on carries run=ID; of at most 15 characters. "": none. Before any thread. */
void log_set_run(const char *id);
const char *log_run(void); /* "" when there is none */
bool log_enabled(enum log_level level);
/* To be called now and then: writes what was held back and whose minute is over. */
void log_tick(void);
void log_flush(void); /* writes all that was held back: before the process ends */
/* Called before and after a line is written, so that a progress bar can step aside. May be NULL. */
void log_set_screen(void (*clear)(void), void (*redraw)(void));
void log_write(enum log_level level, const char *msg, const struct log_field *fields, size_t n);
/* A line of a journal, each of which counts: whatever the level, and never held back. */
void log_write_always(enum log_level level, const char *msg, const struct log_field *fields,
                      size_t n);

#define LOG_AT(level, msg, ...)                                                 \
    do {                                                                        \
        if (log_enabled(level)) {                                               \
            const struct log_field log_fields_[] = {{0}, ##__VA_ARGS__};        \
            log_write(level, msg, log_fields_ + 1, ARRAY_LEN(log_fields_) - 1); \
        }                                                                       \
    } while (0)
#define log_debug(msg, ...) LOG_AT(LOG_DEBUG, msg, ##__VA_ARGS__)
#define log_info(msg, ...) LOG_AT(LOG_INFO, msg, ##__VA_ARGS__)
#define log_warn(msg, ...) LOG_AT(LOG_WARN, msg, ##__VA_ARGS__)
#define log_error(msg, ...) LOG_AT(LOG_ERROR, msg, ##__VA_ARGS__)

#endif
