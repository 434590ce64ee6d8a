#include "web/ws_wire.h"

#include "web/web_metrics.h"
#include "web/ws_peer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <wslay/wslay.h>

#define STEP_BYTES 16384 /* read from one peer before others have their turn */
#define CONTROL_FRAME_MAX 127
#define CROWD 16

static ssize_t take_early(struct ws_peer *p, uint8_t *buf, size_t len) {
    size_t left = p->early_n - p->early_at, n = left < len ? left : len;
    memcpy(buf, p->early + p->early_at, n);
    p->early_at += n;
    if (p->early_at == p->early_n) {
        free(p->early);
        p->early = NULL;
        p->early_n = p->early_at = 0;
    }
    return (ssize_t)n;
}

static ssize_t on_recv(wslay_event_context_ptr w, uint8_t *buf, size_t len, int flags UNUSED,
                       void *peer) {
    struct ws_peer *p = peer;
    if (p->early)
        return take_early(p, buf, len);
    if (p->quota == 0 || ws_wire_crowded(w)) {
        wslay_event_set_error(w, WSLAY_ERR_WOULDBLOCK);
        return -1;
    }
    ssize_t n;
    do
        n = recv(p->fd, buf, len < p->quota ? len : p->quota, MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n > 0) {
        p->quota -= (size_t)n;
        p->heard = true;
        return n;
    }
    p->gone = n == 0 || errno != EAGAIN;
    wslay_event_set_error(w, n < 0 && errno == EAGAIN ? WSLAY_ERR_WOULDBLOCK
                                                      : WSLAY_ERR_CALLBACK_FAILURE);
    return -1;
}

/* A frame comes as its head, and then, as announced, its body: the head is only taken where the
 * whole of it has room. */
static ssize_t on_send(wslay_event_context_ptr w, const uint8_t *data, size_t len, int flags,
                       void *peer) {
    struct ws_peer *p = peer;
    size_t room = ws_out_control_room(&p->out);
    if (room < len || (flags & WSLAY_MSG_MORE && room < CONTROL_FRAME_MAX)) {
        wslay_event_set_error(w, WSLAY_ERR_WOULDBLOCK);
        return -1;
    }
    ws_out_control(&p->out, data, len);
    return (ssize_t)len;
}

static void on_message(wslay_event_context_ptr w UNUSED,
                       const struct wslay_event_on_msg_recv_arg *m, void *peer UNUSED) {
    if (!wslay_is_ctrl_frame(m->opcode))
        metric_add(&m_ws_messages, 0, 1);
}

struct wslay_event_context *ws_wire_new(struct ws_peer *p) {
    static const struct wslay_event_callbacks callbacks = {
        .recv_callback = on_recv, .send_callback = on_send, .on_msg_recv_callback = on_message};
    struct wslay_event_context *w;
    if (wslay_event_context_server_init(&w, &callbacks, p) != 0)
        abort(); /* out of memory */
    wslay_event_config_set_max_recv_msg_length(w, WS_MESSAGE_MAX);
    return w;
}

void ws_wire_free(struct wslay_event_context *w) {
    wslay_event_context_free(w);
}

/* wslay answers a head that makes no sense with a goodbye without a code; ours has one. */
static void refuse_head(struct ws_peer *p) {
    static const uint8_t frame[] = {0x80 | WSLAY_CONNECTION_CLOSE, 2,
                                    WSLAY_CODE_PROTOCOL_ERROR >> 8,
                                    WSLAY_CODE_PROTOCOL_ERROR & 0xff};
    wslay_event_shutdown_read(p->wslay);
    wslay_event_shutdown_write(p->wslay);
    if (ws_out_control_room(&p->out) >= sizeof frame)
        ws_out_control(&p->out, frame, sizeof frame);
}

bool ws_wire_read(struct ws_peer *p) {
    p->quota = STEP_BYTES;
    if (wslay_event_recv(p->wslay) != 0 && !p->gone)
        refuse_head(p);
    return !p->gone;
}

bool ws_wire_reads(struct wslay_event_context *w) {
    return wslay_event_get_read_enabled(w) && !wslay_event_get_close_received(w);
}

bool ws_wire_closed(struct wslay_event_context *w) {
    return wslay_event_get_close_received(w);
}

void ws_wire_ping(struct wslay_event_context *w) {
    const struct wslay_event_msg ping = {.opcode = WSLAY_PING};
    (void)wslay_event_queue_msg(w, &ping); /* it says no only behind a close frame */
}

void ws_wire_close(struct wslay_event_context *w, uint16_t code, struct str reason) {
    (void)wslay_event_queue_close(w, code, (const uint8_t *)reason.p, reason.n);
}

void ws_wire_control(struct wslay_event_context *w) {
    (void)wslay_event_send(w);
}

bool ws_wire_pending(struct wslay_event_context *w) {
    return wslay_event_want_write(w);
}

bool ws_wire_crowded(struct wslay_event_context *w) {
    return wslay_event_get_queued_msg_count(w) > CROWD;
}
