/* Anthropic's Messages API: one question, one text. Requests and answers only (enrich/ask.h): pure,
 * any thread. The key is in the ask's headers and nowhere else. */
#ifndef TAIN_ENRICH_ANTHROPIC_H
#define TAIN_ENRICH_ANTHROPIC_H

#include "enrich/ask.h"

#define ANTHROPIC_URL "https://api.anthropic.com"
#define ANTHROPIC_VERSION "2023-06-01"
#define ANTHROPIC_BODY_MAX ((size_t)1024 * 1024)

struct anthropic_conf {
    struct str url; /* TAIN_ANTHROPIC_URL; absent or empty: the real one */
    struct str key; /* absent or empty: nothing can be asked */
    struct str model;
    int64_t max_tokens;
    struct str user_agent;
};

/* V_INVALID: no key or one with odd bytes, no model, no max_tokens, no text. V_LIMIT: a body over
 * ANTHROPIC_BODY_MAX. `system` may be absent. Bytes that are not UTF-8 become U+FFFD. */
MUST_CHECK enum verdict anthropic_ask(const struct anthropic_conf *c, struct str system,
                                      struct str text, struct arena *a, struct ask *ret,
                                      struct err *e);

struct anthropic_answer {
    struct told_why why;    /* FOUND, ROW, TRANSIENT, WAIT, REFUSED or SPENT */
    struct str text;        /* FOUND: its text blocks, joined and trimmed */
    struct str stop_reason; /* absent: not said */
    bool cut;               /* FOUND: it ran into max_tokens or the end of the window */
    int64_t input_tokens;   /* with what was read from or written to a cache; -1: not said */
    int64_t output_tokens;  /* also of answers that are of no use: they cost as much */
    struct str model;       /* that answered; absent: not said */
};
void anthropic_read(const struct heard *h, struct arena *a, struct anthropic_answer *ret);

#endif
