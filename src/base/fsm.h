/* A state machine as data: which state may follow which. Checked at run time wherever a state is
 * about to be written, and printed into the docs. */
#ifndef TAIN_BASE_FSM_H
#define TAIN_BASE_FSM_H

#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

struct fsm {
    const char *name;
    const char *const *states; /* n of them; the index is the state */
    const uint32_t *next;      /* n bit masks: bit t of next[s] allows s -> t */
    int n;
};

/* V_FATAL with both names when the step is not in the table. */
MUST_CHECK enum verdict fsm_check(const struct fsm *f, int from, int to, struct err *e);
int fsm_state(const struct fsm *f, struct str name);     /* -1 when unknown */
void fsm_print(const struct fsm *f, struct strbuf *out); /* a Markdown table */

#endif
