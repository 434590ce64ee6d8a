#include "mirror/sample_compare.h"

#include <stdio.h>
#include <string.h>

static bool same_ids(const int64_t *a, size_t n, const int64_t *b, size_t m) {
    return n == m && (n == 0 || memcmp(a, b, n * sizeof *a) == 0);
}

static void name_field(struct sample_difference *d, const char *name) {
    size_t n = strlen(d->fields);
    snprintf(d->fields + n, sizeof d->fields - n, "%s%s", n ? ", " : "", name);
}

/* An author's name may be changed, a title, a url, a parent; a text is edited, taken away or put
 * back. In recorded versions of real items type and time never differed; a moderator who puts a
 * story up again resets its time, and is seen to have touched the story. */
static bool contradicts(const struct item *ours, const struct item *theirs, bool other_time,
                        size_t n_others) {
    if (ours->type.p && theirs->type.p && !str_eq(ours->type, theirs->type))
        return true;
    return other_time && n_others == 0;
}

enum sample_verdict sample_compare(const struct item *ours, const struct item *theirs,
                                   struct sample_difference *ret) {
    *ret = (struct sample_difference){.id = ours->id};
    bool other_time = ours->time != theirs->time;
    const struct {
        const char *name;
        bool same;
    } lasting[] = {
        {"by", str_eq(ours->by, theirs->by)},
        {"dead", ours->dead == theirs->dead},
        {"deleted", ours->deleted == theirs->deleted},
        {"parent", ours->parent == theirs->parent},
        {"parts", same_ids(ours->parts, ours->n_parts, theirs->parts, theirs->n_parts)},
        {"poll", ours->poll == theirs->poll},
        {"text", str_eq(ours->text, theirs->text)},
        {"title", str_eq(ours->title, theirs->title)},
        {"type", str_eq(ours->type, theirs->type)},
        {"url", str_eq(ours->url, theirs->url)},
    };
    size_t others = 0;
    for (size_t i = 0; i < ARRAY_LEN(lasting); i++) {
        others += !lasting[i].same;
        if (!lasting[i].same)
            name_field(ret, lasting[i].name);
    }
    if (other_time)
        name_field(ret, "time");
    ret->contradicts = contradicts(ours, theirs, other_time, others);
    if (ret->contradicts)
        return SAMPLE_CONTRADICTS;
    if (*ret->fields)
        return SAMPLE_DIFFERS;
    bool moved = ours->score != theirs->score || ours->descendants != theirs->descendants ||
                 !same_ids(ours->kids, ours->n_kids, theirs->kids, theirs->n_kids);
    return moved ? SAMPLE_NEWER : SAMPLE_EQUAL;
}

enum sample_verdict sample_take(struct sample_report *r, const struct item *ours,
                                const struct item *theirs, struct sample_difference *ret) {
    enum sample_verdict v = sample_compare(ours, theirs, ret);
    r->equal += v == SAMPLE_EQUAL;
    r->newer += v == SAMPLE_NEWER;
    r->differs += v == SAMPLE_DIFFERS;
    r->contradicts += v == SAMPLE_CONTRADICTS;
    if (*ret->fields && r->n_differences < SAMPLE_DIFFERENCES)
        r->differences[r->n_differences++] = *ret;
    return v;
}

void sample_no_answer(struct sample_report *r, const char *cls, const char *detail) {
    r->unanswered++;
    if (detail && *detail)
        snprintf(r->trouble, sizeof r->trouble, "%s: %s", cls, detail);
    else
        snprintf(r->trouble, sizeof r->trouble, "%s", cls);
}

bool sample_is_fine(const struct sample_report *r) {
    return r->contradicts == 0 && r->gone == 0 && r->unanswered == 0;
}
