/* The body of a POST: who may send one, what it may be, and its way into the call. On the loop
 * thread of its request. */
#include "web/server_int.h"

#include "web/origin.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define READ_ON ((size_t)1024 * 1024) /* of what is too large anyway, to be able to say so */

static const char *header(struct request *r, const char *name) {
    return MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
}

static int refuse(struct err *e, int status, const char *text) {
    (void)err_set(e, V_INVALID, "http", 0, "%s", text);
    return status;
}

static int too_large(struct err *e) {
    (void)err_set(e, V_LIMIT, "http", 0, "What is sent here has %zu KiB at most.",
                  CALL_UPLOAD_MAX / 1024);
    return MHD_HTTP_CONTENT_TOO_LARGE;
}

/* "application/json; charset=utf-8" is application/json. */
static bool is_type(const char *header, const char *type) {
    size_t n = strlen(type);
    return strncasecmp(header, type, n) == 0 && strchr("; \t", header[n]);
}

static bool has_body(struct request *r) {
    const char *length = header(r, MHD_HTTP_HEADER_CONTENT_LENGTH);
    return header(r, MHD_HTTP_HEADER_TRANSFER_ENCODING) || (length && strcmp(length, "0") != 0);
}

static int check_type(struct request *r, struct err *e) {
    const char *type = header(r, MHD_HTTP_HEADER_CONTENT_TYPE);
    if (header(r, MHD_HTTP_HEADER_CONTENT_ENCODING))
        return refuse(e, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, "Send it without Content-Encoding.");
    r->call.json = type && is_type(type, "application/json");
    if (r->call.json || (type && is_type(type, "application/x-www-form-urlencoded")) ||
        !has_body(r))
        return 0;
    return refuse(e, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE,
                  "Content-Type: application/x-www-form-urlencoded or application/json.");
}

int upload_check(struct request *r, struct err *e) {
    if (!origin_is_ours(str_of(header(r, "Sec-Fetch-Site")),
                        str_of(header(r, MHD_HTTP_HEADER_ORIGIN)),
                        str_of(header(r, MHD_HTTP_HEADER_HOST))))
        return refuse(e, MHD_HTTP_FORBIDDEN,
                      "This came from a page of another site; only the pages of this server may "
                      "write here.");
    if (r->route->kind != ROUTE_STATIC && !r->loop->web->o.write_store.uri)
        return refuse(e, MHD_HTTP_FORBIDDEN,
                      "This server reads a copy of the archive (--read-db) and writes nothing.");
    int status = check_type(r, e);
    if (status)
        return status;
    const char *length = header(r, MHD_HTTP_HEADER_CONTENT_LENGTH);
    if (length && strtoull(length, NULL, 10) > CALL_UPLOAD_MAX)
        return too_large(e);
    strbuf_init(&r->upload, CALL_UPLOAD_MAX);
    return 0;
}

bool upload_take(struct request *r, const char *bytes, size_t n) {
    r->uploaded += n;
    if (r->uploaded <= CALL_UPLOAD_MAX)
        strbuf_add(&r->upload, bytes, n);
    return r->uploaded <= READ_ON;
}

int upload_finish(struct request *r, struct err *e) {
    struct call *c = &r->call;
    if (r->uploaded > CALL_UPLOAD_MAX)
        return too_large(e);
    c->upload = strbuf_str(&r->upload);
    if (c->json || c->upload.n == 0)
        return 0;
    return parse_form(c, r->upload.p, r->upload.n, e) == V_OK ? 0 : MHD_HTTP_BAD_REQUEST;
}
