#include "web/ws_door.h"

#include "web/feed_key.h"
#include "web/routes.h"
#include "web/topics.h"
#include "web/visitors.h"
#include "web/web_metrics.h"
#include "web/ws.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define KEY_CHARS 24 /* sixteen bytes in base64 */

enum ws_refusal { REFUSED_KEY, REFUSED_REQUEST, REFUSED_FULL };

static enum verdict filter_of(const struct call *c, struct feed_filter *ret, struct err *e) {
    if (call_param(c, "topics").p)
        return err_set(e, V_INVALID, "feed", 0, "topics: they are called tables here");
    return feed_filter_read(call_param(c, "tables"), call_param(c, "actions"), ret, e);
}

/* Who has no key, or asks for nonsense, learns so without the database. */
static bool must_check(const struct call *c) {
    struct feed_filter f;
    struct err e;
    return feed_key_of(c) == FEED_KEY_RIGHT && filter_of(c, &f, &e) == V_OK &&
           !topics_are_known(web_topics(c->web), &f);
}

static enum verdict check(struct call *c, struct err *e) {
    struct feed_filter f;
    enum verdict v = filter_of(c, &f, e);
    if (v == V_OK)
        v = topics_check(web_topics(c->web), c->store, &f, "tables", e);
    if (v == V_INVALID)
        metric_add(&m_ws_refused, REFUSED_REQUEST, 1);
    return v;
}

static const struct route routes[] = {{.pattern = "/cdc",
                                       .kind = ROUTE_SOCKET,
                                       .dialect = DIALECT_API,
                                       .must_check = must_check,
                                       .check = check}};
const struct route_table cdc_routes = {routes, ARRAY_LEN(routes), AREA_FEED};

/* What waits for the upgrade. */
struct socket_place {
    struct ws_ask ask;
};

bool ws_door_exists(const struct web *w) {
    return w->hall != NULL;
}

bool ws_accept_of(struct str key, char out[WS_ACCEPT_MAX]) {
    static const char suffix[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"; /* RFC 6455 */
    unsigned char text[KEY_CHARS + sizeof suffix], bytes[KEY_CHARS], digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    if (key.n != KEY_CHARS || !str_ends(key, "==") || key.p[KEY_CHARS - 3] == '=')
        return false;
    if (EVP_DecodeBlock(bytes, (const unsigned char *)key.p, KEY_CHARS) < 0)
        return false;
    memcpy(text, key.p, KEY_CHARS);
    memcpy(text + KEY_CHARS, suffix, sizeof suffix - 1);
    if (EVP_Digest(text, KEY_CHARS + sizeof suffix - 1, digest, &n, EVP_sha1(), NULL) != 1)
        return false;
    EVP_EncodeBlock((unsigned char *)out, digest, (int)n);
    return true;
}

/* Is `word` one of the comma-separated words of this header? */
static bool header_has(const struct request *r, const char *name, const char *word) {
    struct str text = call_header(&r->call, name);
    size_t n = strlen(word);
    for (const char *p = text.p; p && *p;) {
        p += strspn(p, " \t,");
        size_t len = strcspn(p, " \t,");
        if (len == n && strncasecmp(p, word, n) == 0)
            return true;
        p += len;
    }
    return false;
}

static void refuse(struct request *r, enum ws_refusal why, int status, const char *text) {
    metric_add(&m_ws_refused, (int)why, 1);
    answer_error(r, status, text);
}

static void refuse_key(struct request *r) {
    metric_add(&m_ws_refused, REFUSED_KEY, 1);
    r->call.status = MHD_HTTP_FORBIDDEN;
    r->call.type = NULL;
    r->call.cache = "no-store";
    strbuf_clear(&r->call.body);
    reply_whole(r);
}

static void want_upgrade(struct request *r, const char *text) {
    refuse(r, REFUSED_REQUEST, MHD_HTTP_UPGRADE_REQUIRED, text);
    (void)MHD_add_response_header(r->response, MHD_HTTP_HEADER_UPGRADE, "websocket");
    (void)MHD_add_response_header(r->response, MHD_HTTP_HEADER_SEC_WEBSOCKET_VERSION, "13");
}

/* Does it ask for a WebSocket as it should? Else there is a response. */
static bool shape_is_right(struct request *r, char accept[WS_ACCEPT_MAX]) {
    if (r->head || r->http_1_0) {
        refuse(r, REFUSED_REQUEST, MHD_HTTP_BAD_REQUEST,
               "A WebSocket begins with a GET of HTTP/1.1.");
    } else if (!header_has(r, MHD_HTTP_HEADER_UPGRADE, "websocket") ||
               !header_has(r, MHD_HTTP_HEADER_CONNECTION, "upgrade")) {
        want_upgrade(r, "This is a WebSocket; ask with Upgrade: websocket.");
    } else if (!header_has(r, MHD_HTTP_HEADER_SEC_WEBSOCKET_VERSION, "13")) {
        want_upgrade(r, "Sec-WebSocket-Version must be 13.");
    } else if (!ws_accept_of(call_header(&r->call, MHD_HTTP_HEADER_SEC_WEBSOCKET_KEY), accept)) {
        refuse(r, REFUSED_REQUEST, MHD_HTTP_BAD_REQUEST,
               "Sec-WebSocket-Key must be 16 bytes in base64.");
    } else {
        return true;
    }
    return false;
}

static const struct sockaddr *address_of(struct request *r) {
    return MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
}

/* The HTTP library would hold its connection, and 16 KiB with it, for as long as the socket is
 * open, and must not be stopped before. So the hall gets a descriptor of its own, and the library
 * is done with it. */
static void upgraded(void *arg UNUSED, struct MHD_Connection *connection UNUSED, void *request,
                     const char *early, size_t n_early, MHD_socket fd,
                     struct MHD_UpgradeResponseHandle *handle) {
    struct request *r = request;
    struct web *w = r->loop->web;
    unsigned char address[16];
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own >= 0) {
        struct ws_ask ask = r->socket->ask;
        free(r->socket);
        r->socket = NULL;
        (void)fcntl(own, F_SETFL, fcntl(own, F_GETFL) | O_NONBLOCK);
        bool counted = crowd_stay(w, address_of(r), address);
        ws_hall_adopt(w->hall, &ask, own, (struct str){early, n_early}, counted ? address : NULL);
    }
    (void)MHD_upgrade_action(handle, MHD_UPGRADE_ACTION_CLOSE);
}

void ws_door_answer(struct request *r) {
    const struct call *c = &r->call;
    struct ws_ask ask;
    struct err e;
    char accept[WS_ACCEPT_MAX];
    if (feed_key_of(c) != FEED_KEY_RIGHT) {
        refuse_key(r);
        return;
    }
    if (!shape_is_right(r, accept))
        return;
    struct feed_filter asked;
    if (filter_of(c, &asked, &e) != V_OK) {
        refuse(r, REFUSED_REQUEST, MHD_HTTP_BAD_REQUEST, e.msg);
        return;
    }
    if (ws_ask_read(call_param(c, "since"), call_param(c, "tables"), call_param(c, "actions"), &ask,
                    &e) != V_OK) {
        refuse(r, REFUSED_REQUEST, MHD_HTTP_BAD_REQUEST, e.msg);
        return;
    }
    if (!ws_hall_reserve(r->loop->web->hall)) {
        ws_ask_release(&ask);
        refuse(r, REFUSED_FULL, MHD_HTTP_SERVICE_UNAVAILABLE,
               "The change feed has as many clients as it may have.");
        return;
    }
    r->socket = xcalloc(1, sizeof *r->socket);
    r->socket->ask = ask;
    r->call.status = MHD_HTTP_SWITCHING_PROTOCOLS;
    r->response = MHD_create_response_for_upgrade(upgraded, NULL);
    (void)MHD_add_response_header(r->response, MHD_HTTP_HEADER_UPGRADE, "websocket");
    (void)MHD_add_response_header(r->response, MHD_HTTP_HEADER_SEC_WEBSOCKET_ACCEPT, accept);
}

void ws_door_forget(struct request *r) {
    if (!r->socket)
        return;
    ws_ask_release(&r->socket->ask);
    free(r->socket);
    r->socket = NULL;
    ws_hall_give_back(r->loop->web->hall);
}
