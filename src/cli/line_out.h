/* Lines on a descriptor, gathered and written in large pieces, by someone who must also hear a stop
 * while the other end does not read. Main thread. */
#ifndef TAIN_CLI_LINE_OUT_H
#define TAIN_CLI_LINE_OUT_H

#include "base/str.h"
#include "base/thread.h"

struct line_out {
    int fd;
    const struct stop_token *stop;
    size_t piece; /* what one write may take without blocking */
    struct strbuf waiting;
};

void line_out_init(struct line_out *o, int fd, const struct stop_token *stop);
void line_out_release(struct line_out *o);
/* V_NOT_FOUND: nobody reads any more. V_STOPPED: the token was raised before all was written.
 * V_FATAL: it cannot be written, e.g. the disk is full. The same for all three. */
MUST_CHECK enum verdict line_out_add(struct line_out *o, struct str line, struct err *e);
MUST_CHECK enum verdict line_out_flush(struct line_out *o, struct err *e);

#endif
