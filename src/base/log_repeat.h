/* Which log lines are held back because the same thing was said too often. A bounded table of what
 * was said lately; pure bookkeeping without a lock, owned by log.c, which holds its own around it.
 * Of one kind of line the first LOG_BURST of an interval are written. The rest is counted, and the
 * last of them is kept until the interval is over. Nothing is lost without a number. */
#ifndef TAIN_BASE_LOG_REPEAT_H
#define TAIN_BASE_LOG_REPEAT_H

#include "base/attr.h"
#include "base/str.h"

#define LOG_BURST 10
#define LOG_INTERVAL_MS 60000
#define LOG_KINDS 64

struct log_kind {
    uint64_t key;       /* 0: the place is free */
    int64_t began;      /* mono ms of the first line of the interval */
    int64_t written;    /* in this interval */
    int64_t held;       /* not written: the last one is in `last`, and stands for all */
    struct strbuf last; /* without its end */
};

struct log_repeat {
    struct log_kind kinds[LOG_KINDS];
};

/* Called with a line that stands for `held` of them, to be written now. */
typedef void log_emit(void *arg, const struct strbuf *line, int64_t held);

/* True: write the line. False: it was kept, or counted. The line comes without its end; the key is
 * not 0. Lines of other kinds that have to make room are emitted first. */
bool log_repeat_take(struct log_repeat *r, uint64_t key, const struct strbuf *line, int64_t now,
                     log_emit *emit, void *arg);
/* Emits what is held by intervals that are over, or, with `all`, by any; these are forgotten. */
void log_repeat_flush(struct log_repeat *r, int64_t now, bool all, log_emit *emit, void *arg);

#endif
