/* How links stand, for 'tain enrich status': tasks by status, the money of this month, what is
 * still to be done in the background. Main thread. */
#ifndef TAIN_CLI_LINKS_REPORT_H
#define TAIN_CLI_LINKS_REPORT_H

#include "base/str.h"
#include "store/links_follow.h"

struct links_report {
    struct link_counts counts;
    struct link_spend spend; /* of summaries */
    struct item_keys keys;
};
MUST_CHECK enum verdict links_report_read(struct store *store, struct links_report *ret,
                                          struct err *e);
void links_report_print(const struct links_report *r);
/* A member of an object: "links":{...}. */
void links_report_json(struct strbuf *b, const struct links_report *r);

#endif
