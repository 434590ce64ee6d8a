#include "cli/line_out.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GATHER_BYTES ((size_t)64 * 1024)

void line_out_init(struct line_out *o, int fd, const struct stop_token *stop) {
    struct stat st;
    *o = (struct line_out){.fd = fd, .stop = stop, .piece = PIPE_BUF};
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        o->piece = GATHER_BYTES;
    strbuf_init(&o->waiting, SIZE_MAX / 4); /* emptied whenever GATHER_BYTES are reached */
}

void line_out_release(struct line_out *o) {
    strbuf_release(&o->waiting);
}

/* Until the other end takes a piece, or the stop. */
static enum verdict wait_for_room(const struct line_out *o) {
    struct pollfd p[] = {{.fd = o->fd, .events = POLLOUT}, {.fd = o->stop->fd, .events = POLLIN}};
    while (poll(p, ARRAY_LEN(p), -1) < 0 && errno == EINTR)
        ;
    if (p[0].revents)
        return V_OK; /* what is wrong with it the write will say */
    return V_STOPPED;
}

static enum verdict write_some(const struct line_out *o, struct str *rest, struct err *e) {
    ssize_t n = write(o->fd, rest->p, rest->n < o->piece ? rest->n : o->piece);
    if (n >= 0) {
        *rest = (struct str){rest->p + n, rest->n - (size_t)n};
        return V_OK;
    }
    if (errno == EINTR || errno == EAGAIN)
        return V_OK;
    if (errno == EPIPE || errno == ECONNRESET)
        return err_set(e, V_NOT_FOUND, "output", errno, "nobody reads it any more");
    return err_set(e, V_FATAL, "output", errno, "cannot write: %s", strerror(errno));
}

enum verdict line_out_flush(struct line_out *o, struct err *e) {
    struct str rest = strbuf_str(&o->waiting);
    enum verdict v = V_OK;
    while (rest.n && v == V_OK) {
        v = wait_for_room(o);
        if (v == V_OK)
            v = write_some(o, &rest, e);
    }
    strbuf_clear(&o->waiting);
    if (o->waiting.cap > 16 * GATHER_BYTES) /* after a huge line */
        strbuf_release(&o->waiting);
    return v;
}

enum verdict line_out_add(struct line_out *o, struct str line, struct err *e) {
    strbuf_add_str(&o->waiting, line);
    return o->waiting.n < GATHER_BYTES ? V_OK : line_out_flush(o, e);
}
