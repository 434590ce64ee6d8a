/* "/events": the change feed as an event stream. Whoever listens stands at a position of the feed
 * (feed/hub.h) and takes from there as its socket takes bytes; a slow one falls back to pages,
 * which query threads read for it, and loses nothing. This keeps the list of them, for signs of
 * life and for those that hung up. One lock, never held while the feed is called. */
#ifndef TAIN_WEB_EVENTS_H
#define TAIN_WEB_EVENTS_H

#include "web/call.h"

#define EVENTS_RETRY_MS 2000 /* what a client waits before it comes back */

struct events;

struct events *events_new(struct web *w);
void events_free(struct events *x); /* all have left; NULL is fine */

size_t events_count(struct events *x); /* those that listen; any thread */
/* A sign of life for everyone to whom nothing else is said. Any thread. */
void events_beat(struct events *x);
/* Ends the streams of those that hung up, and lets those try again whose page could not be read.
 * Any thread, every few seconds. */
void events_sweep(struct events *x);

extern const struct route_table events_routes;

#endif
