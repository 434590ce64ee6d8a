/* One rule for the question whether a stored item is what the upstream says now, asked by
 * 'tain verify --sample' and 'tain import --verify-sample'. The upstream goes on living, so a
 * difference is not a contradiction by itself; only what never changes there is. Pure. */
#ifndef TAIN_MIRROR_SAMPLE_COMPARE_H
#define TAIN_MIRROR_SAMPLE_COMPARE_H

#include "hn/item.h"

enum sample_verdict {
    SAMPLE_EQUAL,
    SAMPLE_NEWER,       /* score, descendants or kids moved on, and nothing else */
    SAMPLE_DIFFERS,     /* a version of its own: an edit, a moderator's hand, or damage */
    SAMPLE_CONTRADICTS, /* another type; another time, and nothing else that would explain it */
};

#define SAMPLE_DIFFERENCES 20
struct sample_difference {
    int64_t id;
    bool contradicts;
    char fields[120]; /* "title, text": those that differ, except score, descendants and kids */
};

struct sample_report {
    int64_t asked, equal, newer, differs, contradicts;
    int64_t gone;       /* stored here, null there; what is stored is kept */
    int64_t unanswered; /* no verdict */
    char trouble[200];  /* class and words of the last one without an answer */
    uint64_t seed;      /* 0 where ids are drawn without one */
    struct sample_difference differences[SAMPLE_DIFFERENCES]; /* the first ones */
    size_t n_differences;
};

/* Compares field by field: hashes are not looked at. */
enum sample_verdict sample_compare(const struct item *ours, const struct item *theirs,
                                   struct sample_difference *ret);
/* The same, and counts it into the report. */
enum sample_verdict sample_take(struct sample_report *r, const struct item *ours,
                                const struct item *theirs, struct sample_difference *ret);
void sample_no_answer(struct sample_report *r, const char *cls, const char *detail);
/* Is there anything that a person has to look at? */
bool sample_is_fine(const struct sample_report *r);

#endif
