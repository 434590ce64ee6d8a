/* Private to the server: what its files share. One struct request lives from the first call of
 * the HTTP library for a request to the last, on one HTTP thread. */
#ifndef TAIN_DEMO_SERVER_INT_H
#define TAIN_DEMO_SERVER_INT_H

#include "demo/burst.h"
#include "demo/faults.h"
#include "demo/server.h"
#include "demo/stats.h"
#include "demo/stream.h"
#include "demo/waker.h"

#include <microhttpd.h>
#include <pthread.h>

#define CONTROL_BODY_MAX (256 * 1024)
#define DEMO_SERVICES 3

struct demo {
    struct MHD_Daemon *mhd;
    int port;
    struct corpus *corpus;
    const struct clock *clock;
    uint64_t seed;
    struct stats stats;
    struct waker waker;
    struct hub hub;
    struct burst burst;
    pthread_rwlock_t faults_lock;
    struct faults *faults;
    pthread_mutex_t steer; /* whoever moves maxitem; taken before the hub's lock */
    double grow_per_second;
    int64_t grow_from, grow_since_ms;
    int keep_alive_ms;
    int64_t next_keep_alive_ms; /* of the waker thread */
    _Atomic int64_t service_calls[DEMO_SERVICES];
};

struct request {
    struct demo *demo;
    struct MHD_Connection *connection;
    enum endpoint endpoint;
    int64_t id;            /* item */
    enum corpus_list list; /* list */
    enum channel channel;  /* stream */
    struct str name;       /* user: points into the URL, which lives as long */
    struct fault_action action;
    bool begun;         /* counted, and its fault taken */
    bool service_ill;   /* of a service: it will not answer well */
    struct strbuf body; /* of a POST */
};

/* Under the steering lock: moves maxitem and tells the streams. */
void demo_move_maxitem(struct demo *d, int64_t to, bool quiet);
/* Answers a request below /demo/. */
enum MHD_Result control_answer(struct request *r, const char *path, bool post);
/* Answers a request below /v0/, faults included; false when the path names nothing. */
bool api_route(struct request *r, const char *path);
enum MHD_Result api_answer(struct request *r);

#endif
