/* The visit of a transfer that has a guard: what is set on its handle, what is looked at while it
 * runs, what became of it. Private to the room. */
#ifndef TAIN_NET_VISIT_INT_H
#define TAIN_NET_VISIT_INT_H

#include "net/transfer_int.h"

/* V_INVALID: the guard refuses the URL, or the request has what a visit must not have. */
MUST_CHECK enum verdict visit_check(const struct http_request *r, struct err *e);
/* The transfer is new, its URL stands and was checked. */
void visit_begin(struct transfer *t, const struct http_request *r);
void visit_end(struct transfer *t); /* harmless without a visit */
/* The write function's part: answers as it must. */
size_t visit_body(struct transfer *t, const char *bytes, size_t n);
/* As transfer_redirect(). */
enum redirect visit_redirect(struct transfer *t, char why[TRANSFER_DETAIL]);
/* Fills what of the result is another matter for a visit; `detail` unless it is NET_OK. `refused`
 * is the text of a refused redirect or NULL. */
void visit_result(struct transfer *t, CURLcode code, const char *refused,
                  char detail[TRANSFER_DETAIL], struct http_result *ret);

#endif
