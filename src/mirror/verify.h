/* Proves the archive: every id up to the frontier is an item or believed missing, and everything
 * that can be computed twice agrees. Works in short reads of VERIFY_PAGE_IDS ids, so that writers
 * go on meanwhile. With `repair` it writes derived values anew, takes the hash from items that do
 * not fit it, and makes segments of what has to be fetched, page by page in one transaction; the
 * next catch-up does the rest. Runs on the thread that owns the store. */
#ifndef TAIN_MIRROR_VERIFY_H
#define TAIN_MIRROR_VERIFY_H

#include "base/thread.h"
#include "mirror/plan.h"
#include "mirror/sample_compare.h"

enum finding_kind {
    FIND_MISSING,          /* an id without an item and without a word why */
    FIND_UNCONFIRMED,      /* an item that a repair took the hash from, not fetched since */
    FIND_CONTENT,          /* content_hash does not fit the row */
    FIND_KIDS,             /* kids_hash does not fit the kids */
    FIND_STRAY_KIDS,       /* kids of an item that is not there */
    FIND_URL_KEY,          /* url_key or domain does not fit the url */
    FIND_STORY,            /* story_id is not the parent's */
    FIND_EXCEPTION,        /* a stored item that counts as missing or dead */
    FIND_STRAY_EXCEPTION,  /* an exception that no segment holds, or of no state */
    FIND_DEAD_LETTER,      /* dead letters and exceptions disagree */
    FIND_OVERLAP,          /* two mirror segments share ids */
    FIND_CURSOR,           /* a segment at rest whose cursor is not at its end */
    FIND_UNRESOLVED_COUNT, /* unresolved_count is wrong */
    FIND_LEASE,            /* a lease that nobody keeps alive */
    FIND_STATE,            /* floor or frontier as written are not what the segments give */
    FIND_ID,               /* an item whose id cannot be */
    FIND_UPSTREAM,         /* the upstream contradicts what is stored */
    FIND_N
};
extern const char *const finding_names[FIND_N];    /* "missing", "content_hash", ... */
extern const char *const finding_meanings[FIND_N]; /* a line for people */

#define FINDINGS_LISTED 100
struct finding {
    int64_t id, end_id; /* end_id: of a segment's range; else the same as id */
    char detail[160];
};
struct findings {
    int64_t count; /* all of them; the first ones are listed */
    struct finding list[FINDINGS_LISTED];
    size_t n;
};

struct verify_report {
    struct findings found[FIND_N];
    int64_t floor;
    struct frontier frontier;
    struct range range; /* first and last id looked at */
    int64_t ids, items, missing, unresolved, kids, segments, pages;
    int64_t open_repairs; /* gap and rescan segments that wait for a catch-up */
    int64_t dead_repairs; /* those that ended in dead letters */
    struct sample_report sample;
    int64_t mended;              /* rows written */
    int64_t gap_ids, rescan_ids; /* ids in the segments made */
    int64_t gap_segments, rescan_segments;
    int64_t duration_ms;
    bool stopped;
};
/* Findings of all kinds. What a sample left unanswered is none, but no proof either. */
int64_t verify_total(const struct verify_report *r);
/* It came to its end, found nothing, and was answered for the whole sample. */
bool verify_is_fine(const struct verify_report *r);

struct verify_view {
    int64_t total, done, findings;
    bool sampling;
};

struct verify_options {
    const struct clock *clock;
    struct store *store;
    int64_t start_id, end_id; /* 0: not given */
    bool repair;
    int64_t sample; /* ids to ask the upstream for; 0: none */
    uint64_t seed;
    const char *upstream, *user_agent, *ca_file;
    int64_t timeout_ms;
    const struct stop_token *stop;
    void (*tick)(void *arg, const struct verify_view *view); /* after each page */
    void *tick_arg;
};

/* V_OK: it came to its end, or r->stopped says that it was stopped. V_INVALID: there is nothing
 * within the bounds that were given. `ret` is large: on the heap. */
MUST_CHECK enum verdict verify_run(const struct verify_options *o, struct verify_report *ret,
                                   struct err *e);

#endif
