/* What systemd is told while a command runs: that it is up, how it stands, that it is alive, that
 * it stops. Goes through libsystemd to the socket in NOTIFY_SOCKET; without one nothing happens.
 * Main thread only: the commands call it from their ticks, at any pace. */
#ifndef TAIN_CLI_NOTIFY_H
#define TAIN_CLI_NOTIFY_H

#include "base/clock.h"
#include "cli/progress.h"
#include "mirror/updater.h"

#define NOTIFY_STATUS_MAX 300

struct notify {
    const struct clock *clock;
    void (*send)(const char *state); /* NULL: nobody listens */
    int64_t watchdog_ms;             /* silence after which systemd ends the process; 0: never */
    bool ready, patience, stopping;  /* each is told once */
    int64_t next_status, next_beat;
    char status[NOTIFY_STATUS_MAX]; /* the last one told */
};

/* From the environment: who listens, and how patient the watchdog is. */
void notify_init(struct notify *n, const struct clock *clock);
/* What follows is the work, not the way to it. */
void notify_ready(struct notify *n);
/* One line for `systemctl status`. The same again is not told again, another one at most every two
 * seconds; the last one before an end may go untold. */
void notify_status(struct notify *n, const char *text);
/* Feeds the watchdog, four times as often as it asks for, unless a thread has not moved for half of
 * what the watchdog bears: then it is left to do its work. Nothing before notify_ready(). */
void notify_alive(struct notify *n, int64_t silence_ms);
/* What comes now may keep the main thread for long, and is no reason to be ended: the watchdog is
 * asked for an hour. */
void notify_patience(struct notify *n);
/* The end is on its way; told at once, with `text` as the status, which a later call may replace.
 * Nothing else is told after it. */
void notify_stopping(struct notify *n, const char *text);

/* All of this for one tick of a command. The updater is ready when its threads run or when it has
 * found another one active; a database that is away before either keeps it from being ready. */
void notify_updater(struct notify *n, const struct updater_view *v);
void notify_catchup(struct notify *n, const struct progress_view *v, int64_t silence_ms);

#endif
