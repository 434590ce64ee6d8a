/* Answers: the plain ones, and those that go wrong on purpose. Each queues a response on the
 * connection and answers what the HTTP library wants to hear; runs on an HTTP thread. */
#ifndef TAIN_DEMO_REPLY_H
#define TAIN_DEMO_REPLY_H

#include "base/attr.h"
#include "base/str.h"
#include "demo/corpus.h"
#include "demo/waker.h"

#include <microhttpd.h>

/* Takes the buffer's memory; the buffer is empty afterwards. */
enum MHD_Result reply_json(struct MHD_Connection *c, unsigned status, struct strbuf *body);
enum MHD_Result reply_page(struct MHD_Connection *c, unsigned status, const char *type,
                           struct strbuf *body);
/* {"error":"..."} */
enum MHD_Result reply_error(struct MHD_Connection *c, unsigned status, const char *message);
/* {"error":"..."}; retry_after -1: no such header. */
enum MHD_Result reply_status(struct MHD_Connection *c, unsigned status, int retry_after);
enum MHD_Result reply_redirect(struct MHD_Connection *c, unsigned status, const char *location);
/* The body, and the promise of more. Takes the buffer's memory, as do the next two. */
enum MHD_Result reply_truncated(struct MHD_Connection *c, struct strbuf *body);
enum MHD_Result reply_drip(struct MHD_Connection *c, struct waker *w, struct strbuf *body);
/* Not JSON; `n` picks one of several kinds of it. */
enum MHD_Result reply_garbage(struct MHD_Connection *c, struct strbuf *body, unsigned n);
/* An item of `bytes` bytes that is made up while it is sent. */
enum MHD_Result reply_huge(struct MHD_Connection *c, int64_t id, uint64_t bytes, bool chunked);
/* The items lo..hi as lines of JSON, made while they are sent; null for those that are null. */
enum MHD_Result reply_truth(struct MHD_Connection *c, const struct corpus *corpus, int64_t lo,
                            int64_t hi);
/* The peer sees a reset connection. Dissolves it from any thread, as long as the connection lives;
 * only an HTTP thread has use for the answer. */
enum MHD_Result reply_reset(struct MHD_Connection *c);

#endif
