/* What the files of the services share. A service is a function that answers a request whose delay
 * is over; an HTTP thread calls it. */
#ifndef TAIN_DEMO_SERVICES_INT_H
#define TAIN_DEMO_SERVICES_INT_H

#include "demo/articles.h"
#include "demo/reply.h"
#include "demo/server_int.h"
#include "demo/services.h"

#define SERVICE_BODY_MAX (256 * 1024)

/* Is it for one of the services? */
bool services_route(const struct request *r, const char *path);
enum MHD_Result services_answer(struct request *r, const char *path);

/* `path` is what stands behind the base URL of the service. */
enum MHD_Result reddit_answer(struct request *r, const char *path);
enum MHD_Result hn_answer(struct request *r, const char *path);
enum MHD_Result anthropic_answer(struct request *r, const char *path);

/* Posts of Reddit by article and number among its posts: the id that Reddit shows, and back. */
#define POST_ID_MAX 16
void post_id(int64_t article, int post, char out[POST_ID_MAX]);
const char *post_subreddit(int64_t article, int post);

static inline const char *service_query(const struct request *r, const char *name) {
    return MHD_lookup_connection_value(r->connection, MHD_GET_ARGUMENT_KIND, name);
}
static inline const char *service_header(const struct request *r, const char *name) {
    return MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
}

#endif
