/* Between a query thread that makes a long answer and the loop thread that sends it. Holds what is
 * not sent yet. A producer far ahead waits a little for its client; in all no more than
 * PIPE_PATIENCE_MS, so that slow clients cost memory and no threads. */
#ifndef TAIN_WEB_PIPE_H
#define TAIN_WEB_PIPE_H

#include "base/str.h"

#include <pthread.h>

#define PIPE_AHEAD ((size_t)512 * 1024)
#define PIPE_PATIENCE_MS 2000

enum pipe_end { PIPE_OPEN, PIPE_ENDED, PIPE_CUT, PIPE_GONE };

struct pipe {
    pthread_mutex_t lock;
    pthread_cond_t taken;
    struct strbuf kept;
    size_t head; /* of kept: sent up to here */
    int64_t waited_ms, patience_ms;
    enum pipe_end end;
    bool gzip;
    int64_t bytes; /* sent in all */
};

struct pipe *pipe_new(size_t max, bool gzip);
void pipe_free(struct pipe *p); /* NULL is fine */
/* The producer: false when nobody takes it any more. Does not wait. */
bool pipe_put(struct pipe *p, struct str bytes);
void pipe_pause(struct pipe *p); /* waits while it is far ahead */
void pipe_finish(struct pipe *p, enum pipe_end end);
/* The sender: copies up to max bytes. 0 with *ret_end PIPE_OPEN: nothing now. */
size_t pipe_take(struct pipe *p, char *out, size_t max, enum pipe_end *ret_end);

#endif
