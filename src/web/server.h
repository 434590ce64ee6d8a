/* The HTTP server of `tain serve`: a few loop threads that parse and send, and query threads that
 * read the archive, each with a connection of its own. It owns all of them. Started, tended and
 * stopped by the main thread. */
#ifndef TAIN_WEB_SERVER_H
#define TAIN_WEB_SERVER_H

#include "base/metrics.h"
#include "store/store.h"
#include "web/address.h"
#include "web/vitals.h"

struct route_table; /* web/call.h */
struct feed_hub;    /* feed/hub.h */

enum access_log { ACCESS_NONE, ACCESS_ALL, ACCESS_ERRORS };

#define WEB_LOOPS_MAX 8
#define WEB_TOKEN_MAX 1024
#define WEB_QUERY_THREADS_MAX 64

/* All of it must outlive the server. */
struct web_options {
    const char *listen; /* ADDR:PORT; port 0 takes a free one */
    struct host_rule hosts;
    struct store_options store; /* how each thread opens the archive, for reading */
    /* The same for the one that writes; uri NULL: nothing can be written. */
    struct store_options write_store;
    bool shared;              /* it is on PostgreSQL: no loop thread waits for it */
    int loops, query_threads; /* 0: two, four */
    int queue;                /* calls that may wait for a query thread; 0: 256 */
    int max_connections;      /* 0: 1024 */
    int max_per_address;      /* of those, but not from loopback; 0: 256 */
    int keep_alive_ms;        /* between signs of life on event streams; 0: 30 s */
    int64_t idle_ms;          /* a connection that says nothing is closed; 0: 30 s */
    int64_t stop_ms;          /* what runs may go on for so long after web_stop(); 0: 10 s */
    enum access_log access_log;
    int64_t ws_ping_ms, ws_slow_ms; /* of WebSocket clients; 0: 30 s, 10 s */
    int feed_clients;               /* of the change feed at once; 0: 2000 */
    const char *feed_key;           /* who has it hears all of the change feed; NULL: nobody does */
    const char *links_token;        /* programs that have it may add links; NULL: none may */
    bool exposed;                   /* other machines reach it: everyone needs the token to write */
    /* How long the change feed keeps what it said; feed_keep_rows 0: another process prunes it. */
    int64_t feed_keep_ms, feed_keep_rows;
    bool read_only; /* the archive is a copy: the change feed is read, and never written */
    const struct clock *clock;
    /* For /metrics, /healthz and /readyz; NULL: they are not there. */
    const struct vitals *vitals;
    struct metric *const *families;
    size_t n_families;
    /* Looked at before the tables of routes.c; a test has its own. */
    const struct route_table *const *tables;
    size_t n_tables;
    struct feed_hub *feed_hub; /* a test's own, which it fills and frees; NULL: the server's */
};

struct web;

/* V_INVALID: the address is none. V_FATAL: it cannot be bound, or a thread cannot be started. */
MUST_CHECK enum verdict web_start(const struct web_options *o, struct web **ret, struct err *e);
int web_port(const struct web *w);
const struct web_options *web_options(const struct web *w);
const struct clock *web_clock(const struct web *w);
struct stream_hub *web_streams(const struct web *w); /* see web/stream.h */
/* Who listens to the change feed; NULL: there is none without an archive. See feed/hub.h. */
struct feed_hub *web_feed(const struct web *w);
/* A writer of this process has committed: event streams and the feed look now. Any thread. */
void web_wrote(struct web *w);
struct events *web_events(const struct web *w);   /* see web/events.h */
struct topics *web_topics(const struct web *w);   /* see web/topics.h */
struct turnstile *web_turns(const struct web *w); /* of adding links; thread of writing */
/* May one more event stream be opened, so that others than streams find room too? */
bool web_has_room(const struct web *w);
/* Since when the most silent thread has not moved, of the loops, the WebSockets and the feed; each
 * does so about every second. How long a query takes is the database's affair. */
int64_t web_silence_ms(const struct web *w);
/* For how long no thread has been able to reach the archive; 0: it answers. */
int64_t web_db_down_ms(const struct web *w);
/* As feed_down_ms() and feed_silence_ms() say; 0 where there is no feed. */
int64_t web_feed_down_ms(const struct web *w);
int64_t web_feed_silence_ms(const struct web *w);
/* Stops accepting, lets what runs come to its end, then ends every thread. NULL is fine. */
void web_stop(struct web *w);

#endif
