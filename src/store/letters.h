/* Dead letters as a person sees and decides about them. An exception in the state dead_letter is
 * the truth; ingest_dlq_items is its queue, and alone knows those of the live stream. Runs on the
 * thread that owns the store. */
#ifndef TAIN_STORE_LETTERS_H
#define TAIN_STORE_LETTERS_H

#include "store/segments.h"

struct letter_choice {
    int64_t lo, hi;
    const char *cls; /* NULL: every failure class */
};

#define LETTER_ERROR_MAX 320
struct letter {
    int64_t id, attempts, at, segment_id; /* segment_id 0: only in the queue */
    char origin[16];                      /* purpose of the segment, or source */
    char cls[40], error[LETTER_ERROR_MAX];
};

typedef void letter_fn(void *ctx, const struct letter *l);
/* Calls fn for at most `max` of them, by id. */
MUST_CHECK enum verdict store_letters(struct store *s, const struct letter_choice *c, int64_t max,
                                      letter_fn *fn, void *ctx, struct err *e);
/* Ids with a dead letter. */
MUST_CHECK enum verdict store_count_letters(struct store *s, const struct letter_choice *c,
                                            int64_t *ret, struct err *e);

/* Makes them pending with fresh attempts, and wakes their segments. Answers how many ids. What
 * stands in replay segments is claimed by a run whose window reaches it: *ret_lo and *ret_hi say
 * where, or 0. */
MUST_CHECK enum verdict store_replay_letters(struct store *s, const struct letter_choice *c,
                                             int64_t *ret_n, int64_t *ret_lo, int64_t *ret_hi,
                                             struct err *e);

/* Makes them terminal_missing, with "accepted by operator: reason" as last_error and their class
 * kept, resolves the queue and settles the segments. Those whose item is stored lose their
 * exception and keep the item as it is. Answers how many ids, and how many of them are stored. */
MUST_CHECK enum verdict store_accept_letters(struct store *s, const struct letter_choice *c,
                                             const char *reason, int64_t *ret_n,
                                             int64_t *ret_stored, struct err *e);

/* Everything that is known of an id, row by row: the table it is from, and its columns by name.
 * V_NOT_FOUND: nothing is. */
struct known_field {
    const char *name;
    bool number, instant; /* instant: unix milliseconds */
    int64_t value;        /* DB_NULL: none */
    struct str text;      /* valid during the call */
};
typedef void known_fn(void *ctx, const char *table, const struct known_field *fields, size_t n);
MUST_CHECK enum verdict store_known(struct store *s, int64_t id, known_fn *fn, void *ctx,
                                    struct err *e);

#endif
