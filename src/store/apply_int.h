/* The inside of store_apply: one piece of work per item, and the steps that share it.
 * Order of the steps: compare with what is stored, find the stories, write items, settle
 * exceptions, move the segment. Private to the room. */
#ifndef TAIN_STORE_APPLY_INT_H
#define TAIN_STORE_APPLY_INT_H

#include "store/batch.h"
#include "store/store_int.h"

enum action { ACT_INSERT, ACT_UPDATE, ACT_TOUCH, ACT_STALE };

struct work {
    const struct item *item;
    int64_t fetched_at;
    enum action action;
    int64_t story_id; /* DB_NULL while unknown */
    /* the row that is there, when action is not ACT_INSERT */
    int64_t old_content, old_kids, old_score, old_descendants, old_fetched_at, old_story;
};

struct apply {
    struct store *s;
    struct batch *b;
    struct apply_stats *stats;
    struct work *works; /* by id, ascending */
    size_t n;
    int64_t lo, hi;                     /* ids of the works */
    struct batch_exception *exceptions; /* a copy: a batch that is tried again is still whole */
    size_t n_exceptions;
    int64_t now_ms; /* the database's, read with the fence */
    /* There is no segment: an id may come twice, and what a later fetch has overtaken settles
     * nothing. */
    bool loose;
    /* An import: the fence is the row of the dump, and the threads of a batch whose ids lie far
     * apart are put together at its end. */
    const struct import_step *import;
    struct err *e;
};

typedef enum verdict apply_step(struct apply *a);

/* Runs the steps over the batch in one transaction. The first one is the fence: its V_CONFLICT is
 * an answer, that of a later one a contradiction. */
MUST_CHECK enum verdict apply_in_transaction(struct apply *a, apply_step *const *steps, size_t n);

enum verdict apply_compare(struct apply *a);
enum verdict apply_find_stories(struct apply *a);
enum verdict apply_write_items(struct apply *a);
/* Notes for the search index what is new or says something else. */
enum verdict apply_note_index(struct apply *a);
enum verdict apply_adopt(struct apply *a);
enum verdict apply_exceptions(struct apply *a);
/* The part of apply_exceptions() that removes every trouble of what is stored now. */
enum verdict apply_clear_stored(struct apply *a);

/* Around the steps of a batch that may be history: what they insert stays out of the change log if
 * all of it is. What changes a row that was there is news, unless it is imported: readers may have
 * been told of that row. */
enum verdict apply_hush(struct apply *a);
enum verdict apply_speak(struct apply *a);

/* Writes into the batch what became of its items; after the commit. */
void apply_tell_items(struct apply *a);

/* Room for n values of a column, in the store's scratch arena. */
int64_t *apply_ints(struct apply *a, size_t n);
struct str *apply_texts(struct apply *a, size_t n);

/* The work of an id, or NULL. */
struct work *apply_work_of(const struct apply *a, int64_t id);

/* Are the ids close enough together for one range query? */
bool apply_is_dense(const struct apply *a);

#endif
