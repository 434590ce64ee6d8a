#include "web/stream_http.h"

#include <poll.h>
#include <string.h>

/* The library asks for so much at a time and keeps a buffer of that size for each answer. */
#define BLOCK_BYTES 1024

static void put_to_sleep(void *connection) {
    MHD_suspend_connection(connection);
}

static void wake_up(void *connection) {
    MHD_resume_connection(connection);
}

/* The library does not look at a suspended connection. */
static bool peer_gone(void *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (!info)
        return false;
    struct pollfd p = {.fd = info->connect_fd, .events = POLLRDHUP};
    return poll(&p, 1, 0) == 1 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

struct stream_hub *stream_http_hub(size_t max_clients) {
    const struct stream_door door = {put_to_sleep, wake_up, peer_gone};
    return stream_hub_new(&door, max_clients);
}

bool stream_http_wanted(struct MHD_Connection *connection) {
    const char *accept =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
    return accept && strstr(accept, "text/event-stream");
}

static ssize_t read_stream(void *cls, uint64_t pos UNUSED, char *to, size_t max) {
    ptrdiff_t n = stream_read(cls, to, max);
    return n == STREAM_END ? MHD_CONTENT_READER_END_OF_STREAM : (ssize_t)n;
}

static void leave(void *cls) {
    stream_leave(cls);
}

static enum MHD_Result refuse(struct MHD_Connection *connection) {
    static const char text[] = "{\"message\":\"too many event streams are open\"}";
    struct MHD_Response *r =
        MHD_create_response_from_buffer(sizeof text - 1, (void *)text, MHD_RESPMEM_PERSISTENT);
    MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, "application/json; charset=utf-8");
    MHD_add_response_header(r, MHD_HTTP_HEADER_RETRY_AFTER, "30");
    MHD_add_response_header(r, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_ORIGIN, "*");
    enum MHD_Result queued = MHD_queue_response(connection, MHD_HTTP_SERVICE_UNAVAILABLE, r);
    MHD_destroy_response(r);
    return queued;
}

enum MHD_Result stream_http_open(struct stream_hub *h, struct MHD_Connection *connection,
                                 enum stream_topic topic) {
    struct stream_client *c = stream_join(h, topic, connection);
    if (!c)
        return refuse(connection);
    struct MHD_Response *r =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_stream, c, leave);
    if (!r) {
        stream_leave(c);
        return MHD_NO;
    }
    MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, "text/event-stream; charset=utf-8");
    MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
    MHD_add_response_header(r, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_ORIGIN, "*");
    MHD_add_response_header(r, "X-Accel-Buffering", "no"); /* a proxy must not hold frames back */
    MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close"); /* an end can be seen */
    enum MHD_Result queued = MHD_queue_response(connection, MHD_HTTP_OK, r);
    MHD_destroy_response(r);
    return queued;
}
