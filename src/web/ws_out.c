#include "web/ws_out.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define FIRST_CAP 16
#define IOV_N 64
#define TEXT_FRAME 0x81

void ws_out_init(struct ws_out *o, struct feed_id cursor) {
    memset(o, 0, sizeof *o);
    o->cursor = cursor;
}

static struct ws_item *item_at(const struct ws_out *o, size_t i) {
    return &o->items[(o->first + i) & (o->cap - 1)];
}

static void item_release(struct ws_item *x) {
    feed_event_drop(x->event);
    free(x->own);
}

void ws_out_release(struct ws_out *o) {
    for (size_t i = 0; i < o->n; i++)
        item_release(item_at(o, i));
    free(o->items);
    o->items = NULL;
    o->n = o->cap = 0;
}

bool ws_out_room(const struct ws_out *o) {
    return o->n < WS_AHEAD_FRAMES && o->bytes < WS_AHEAD_BYTES;
}

bool ws_out_empty(const struct ws_out *o) {
    return o->n == 0 && o->control_n == 0;
}

static void grow(struct ws_out *o) {
    size_t cap = o->cap ? o->cap * 2 : FIRST_CAP;
    struct ws_item *items = xcalloc(cap, sizeof *items);
    for (size_t i = 0; i < o->n; i++)
        items[i] = *item_at(o, i);
    free(o->items);
    o->items = items;
    o->cap = cap;
    o->first = 0;
}

static void add(struct ws_out *o, struct ws_item x) {
    if (o->n == o->cap)
        grow(o);
    o->n++;
    *item_at(o, o->n - 1) = x;
    o->bytes += x.frame.n;
}

void ws_out_event(struct ws_out *o, struct feed_event *ev) {
    add(o, (struct ws_item){.event = ev, .frame = ev->frame, .after = ev->id});
}

void ws_out_text(struct ws_out *o, struct str text, struct feed_id after) {
    char *own = xmalloc(4 + text.n);
    size_t n = 0;
    own[n++] = (char)TEXT_FRAME;
    if (text.n < 126) {
        own[n++] = (char)text.n;
    } else {
        own[n++] = 126;
        own[n++] = (char)(text.n >> 8);
        own[n++] = (char)(text.n & 0xff);
    }
    memcpy(own + n, text.p, text.n);
    add(o, (struct ws_item){.own = own, .frame = {own, n + text.n}, .after = after});
}

size_t ws_out_control_room(const struct ws_out *o) {
    return WS_CONTROL_MAX - o->control_n;
}

void ws_out_control(struct ws_out *o, const void *bytes, size_t n) {
    memcpy(o->control + o->control_n, bytes, n);
    o->control_n += n;
}

static void add_iov(struct iovec *iov, size_t *n, const char *p, size_t len) {
    iov[(*n)++] = (struct iovec){(void *)p, len};
}

/* In the order of the wire: the rest of what has begun, control frames, the others. */
static size_t gather(const struct ws_out *o, struct iovec *iov) {
    size_t n = 0, i = 0;
    if (o->sent) {
        const struct ws_item *x = item_at(o, i++);
        add_iov(iov, &n, x->frame.p + o->sent, x->frame.n - o->sent);
    }
    if (o->control_n)
        add_iov(iov, &n, o->control + o->control_sent, o->control_n - o->control_sent);
    for (; i < o->n && n < IOV_N; i++)
        add_iov(iov, &n, item_at(o, i)->frame.p, item_at(o, i)->frame.n);
    return n;
}

/* How much of `n` bytes belongs to the first item, which goes when it is through. */
static size_t account_first(struct ws_out *o, size_t n) {
    struct ws_item *x = item_at(o, 0);
    size_t left = x->frame.n - o->sent;
    if (n < left) {
        o->sent += n;
        return n;
    }
    o->cursor = x->after;
    o->bytes -= x->frame.n;
    o->sent = 0;
    o->frames++;
    item_release(x);
    o->first = (o->first + 1) & (o->cap - 1);
    o->n--;
    return left;
}

static size_t account_control(struct ws_out *o, size_t n) {
    size_t left = o->control_n - o->control_sent;
    if (n < left) {
        o->control_sent += n;
        return n;
    }
    o->control_n = o->control_sent = 0;
    return left;
}

static void account(struct ws_out *o, size_t n) {
    if (n && o->sent)
        n -= account_first(o, n);
    if (n && o->control_n)
        n -= account_control(o, n);
    while (n)
        n -= account_first(o, n);
}

enum ws_flush ws_out_flush(struct ws_out *o, int fd, size_t *ret_n) {
    *ret_n = 0;
    while (!ws_out_empty(o)) {
        struct iovec iov[IOV_N];
        struct msghdr m = {.msg_iov = iov, .msg_iovlen = gather(o, iov)};
        ssize_t n = sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN || errno == ENOBUFS ? WS_BLOCKED : WS_BROKEN;
        account(o, (size_t)n);
        *ret_n += (size_t)n;
    }
    return WS_SENT;
}

struct feed_id ws_out_cut(struct ws_out *o) {
    size_t keep = o->sent ? 1 : 0;
    while (o->n > keep) {
        struct ws_item *x = item_at(o, --o->n);
        o->bytes -= x->frame.n;
        item_release(x);
    }
    return keep ? item_at(o, 0)->after : o->cursor;
}
