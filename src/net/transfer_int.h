/* One reusable easy handle with its body buffer. Private to the room, owned by an http_client.
 * What never changes is set when the handle is made; what depends on the kind of URL only when
 * that changes. The URL is given in parts, because libcurl takes a string apart and puts it
 * together again for each request: a seventh of all it does. */
#ifndef TAIN_NET_TRANSFER_INT_H
#define TAIN_NET_TRANSFER_INT_H

#include "net/dress_int.h"
#include "net/http.h"
#include "net/poller_int.h"
#include "net/url_int.h"

#include <curl/curl.h>
#include <sys/queue.h>

#define TRANSFER_KEEP_BODY ((size_t)64 * 1024) /* a larger buffer goes back after the answer */
#define TRANSFER_DETAIL 400

/* Always on exactly one list of its client, except while its result is being delivered. */
struct transfer {
    TAILQ_ENTRY(transfer) link;
    CURL *easy;
    CURLU *url; /* what the handle will fetch next */
    void *tag;
    struct strbuf body, head; /* head: headers of the answer, where they are wanted */
    struct dress dress;       /* what this request has beyond its URL */
    struct visiting
        *visiting;      /* of a request with a guard; or NULL. Such a one is not used again */
    long timeout_ms;    /* of this request, redirects and all */
    int64_t started_ms; /* by the client's clock; -1 until it is */
    int64_t spent_us;   /* by the redirects before this request, as libcurl measured */
    int redirects;
    unsigned flags;     /* enum url_flags the handle is set up for */
    unsigned origin_id; /* of what is in `url`, when that is origin and path alone; or 0 */
    bool cut_timeout, restarted, want_headers;
    char error[CURL_ERROR_SIZE];
};

TAILQ_HEAD(transfer_list, transfer);

enum redirect { REDIRECT_NONE, REDIRECT_FOLLOW, REDIRECT_REFUSED };

struct transfer *transfer_new(const struct http_options *o, struct poller *poller);
void transfer_free(struct transfer *t);
/* V_INVALID: libcurl does not take the URL. The request was checked (dress_check, visit_check); for
 * one with a guard the transfer is new. */
MUST_CHECK enum verdict transfer_prepare(struct transfer *t, const struct http_options *o,
                                         const struct http_request *r, const struct url_view *view,
                                         void *tag, struct err *e);
/* Lets go of an unusually large body, and of all that belonged to this one request. */
void transfer_rest(struct transfer *t);
/* After an answer that arrived whole. FOLLOW: the handle now stands at the next URL. REFUSED:
 * `why` says what is wrong with the target. */
enum redirect transfer_redirect(struct transfer *t, const struct http_options *o,
                                char why[TRANSFER_DETAIL]);
/* After a failure. True: it was the connection that had died of old age, and the handle is ready to
 * be started again, which happens once. */
bool transfer_restart(struct transfer *t, CURLcode code);
/* `refused` is the text of a refused redirect or NULL; `detail` is where the sentence is put when
 * there is one to make. */
void transfer_result(struct transfer *t, const struct http_options *o, CURLcode code,
                     const char *refused, char detail[TRANSFER_DETAIL], struct http_result *ret);

#endif
