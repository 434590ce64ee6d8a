/* The inside of verify_run(): pages are judged by pure functions, which give a list of faults; what
 * is to be mended is mended page by page. Private to the room. */
#ifndef TAIN_MIRROR_VERIFY_INT_H
#define TAIN_MIRROR_VERIFY_INT_H

#include "mirror/verify.h"
#include "net/http.h"
#include "store/verify.h"

struct fault {
    enum finding_kind kind;
    int64_t id, end_id;
    const struct stored_item *item;   /* in the page; NULL where it is not about one */
    const struct stored_exception *x; /* the same */
    char detail[160];
};
struct fault_list {
    struct fault *rows;
    size_t n, cap;
};
struct fault *fault_add(struct fault_list *l, enum finding_kind kind, int64_t id, const char *fmt,
                        ...) PRINTF_LIKE(4, 5);

/* What the segments claim to have scanned. */
struct claimed {
    struct range *scanned; /* ascending, disjoint */
    size_t n;
    int64_t frontier;
};
struct claimed claimed_of(const struct segment_facts_list *l, int64_t frontier);

struct page_counts {
    int64_t ids, missing, unresolved;
};
/* Judges a page. The arena is for the moment. */
void judge_page(const struct verify_page *p, const struct claimed *c, struct arena *a,
                struct page_counts *counts, struct fault_list *out);
/* Judges what updater_state says: `excused`, if the frontier fell because an id is to be tried
 * again by hand, which the next plan step writes down. */
void judge_state(const struct archive_state *st, const struct segment_facts_list *l,
                 const struct frontier *now, bool excused, struct fault_list *out);
/* Judges segments that touch the range. */
void judge_segments(const struct segment_facts_list *l, struct range bounds,
                    struct fault_list *out);

/* Ids that need a segment, in ranges of at most VERIFY_SPAN_IDS. */
#define VERIFY_SPAN_IDS 1000
struct spans {
    struct range *rows;
    size_t n, cap;
    int64_t reach; /* ids that far apart share a range */
    int64_t ids;
};
/* Only ids that come in ascending order can share a range. */
void spans_add(struct spans *s, int64_t id);

struct verify {
    const struct verify_options *o;
    struct verify_report *r;
    struct verify_page page;
    struct arena arena;
    struct fault_list faults;
    struct claimed claimed;
    struct spans gaps, rescans; /* of the page, or of the sample */
    int64_t first, last;        /* ids to look at */
    int64_t lowest;             /* where the mirror's segments begin; 0: there are none */
    int64_t end;                /* the highest id that anything is known of */
};

/* Counts the faults into the report and empties the list. */
void verify_take(struct verify *v);
/* Waits a moment after V_RETRY, and gets the connection back. False: enough of it. */
bool verify_again(struct verify *v, enum verdict verdict, int *tries, struct err *e);

/* Mends the page's faults and makes the segments they need, in one transaction. */
MUST_CHECK enum verdict verify_mend_page(struct verify *v, bool *ret_stories, struct err *e);
/* Makes segments of what the sample wants to be fetched again. */
MUST_CHECK enum verdict verify_mend_sample(struct verify *v, struct err *e);
/* Mends segments and what updater_state says of them. */
MUST_CHECK enum verdict verify_mend_segments(struct verify *v, struct err *e);

MUST_CHECK enum verdict verify_sample(struct verify *v, struct err *e);

#endif
