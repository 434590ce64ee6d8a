/* Private to the corpus: the plan of a block (who answers whom) and what one item is about to be
 * rendered from. Everything here is a pure function of the corpus and an id, apart from the
 * changes, which corpus.c guards with a lock. */
#ifndef TAIN_DEMO_CORPUS_INT_H
#define TAIN_DEMO_CORPUS_INT_H

#include "base/rng.h"
#include "demo/corpus.h"
#include "demo/corpus_words.h"

#include <pthread.h>
#include <stdatomic.h>

/* Ids come in blocks. A comment answers something in its own block or in one of the REACH blocks
 * before it, so kids and descendants of an item are found in its own block and the next REACH. */
#define BLOCK_IDS 64
#define BLOCK_REACH 3

enum kind { KIND_STORY, KIND_COMMENT, KIND_JOB, KIND_POLL, KIND_POLLOPT };
enum state { STATE_ALIVE, STATE_DEAD, STATE_DELETED };

struct slot {
    uint8_t kind;
    bool missing;
    bool native;                      /* its root stands in the same block */
    uint8_t parent_back, parent_slot; /* comment: parent; pollopt: poll. `back` counts blocks */
    uint8_t root_back, root_slot;
    uint8_t pick; /* which slot of a block further back, before it is resolved */
};

struct plan {
    uint64_t owner; /* which corpus; 0: nothing here */
    int64_t block;
    bool linked; /* parents in other blocks are resolved */
    struct slot slots[BLOCK_IDS];
};

struct change {
    int64_t id; /* 0: free */
    uint32_t version, edits, bumps;
    int8_t state; /* -1: as the seed says */
    bool restored;
};

#define CORPUS_USERS 4096

struct corpus {
    uint64_t key;   /* the seed, mixed */
    uint64_t owner; /* unique in this process, so that cached plans are never mistaken */
    int64_t first_time;
    struct corpus_rates rates;
    _Atomic int64_t maxitem;
    _Atomic int sites; /* the port of the articles' sites; 0: there are none */
    _Atomic size_t n_changes;
    _Atomic uint32_t user_versions[CORPUS_USERS];
    pthread_rwlock_t lock;
    struct change *changes; /* open addressing, allocated with the first change */
};

/* What hash() is asked for; one number per trait keeps them independent. */
enum salt {
    SALT_PLAN = 1,
    SALT_STATE,
    SALT_AUTHOR,
    SALT_TEXT,
    SALT_TITLE,
    SALT_URL,
    SALT_SCORE,
    SALT_ODD,
    SALT_RANK,
    SALT_DELAYED,
    SALT_CHANGE,
    SALT_USER,
    SALT_ARTICLE,
    SALT_POST,
};

static inline uint64_t corpus_hash(const struct corpus *c, enum salt salt, int64_t id) {
    return rng_mix(c->key ^ rng_mix((uint64_t)id * 0x9E3779B97F4A7C15ULL + (uint64_t)salt));
}

/* True with probability p. */
static inline bool chance(uint64_t hash, double p) {
    return (double)(hash >> 11) * 0x1p-53 < p;
}

static inline int64_t block_of(int64_t id) {
    return (id - 1) / BLOCK_IDS;
}
static inline int slot_of(int64_t id) {
    return (int)((id - 1) % BLOCK_IDS);
}
static inline int64_t id_at(int64_t block, int slot) {
    return block * BLOCK_IDS + slot + 1;
}

/* The linked plan of a block, from this thread's cache. Plans of blocks less than 32 apart may be
 * held at the same time. */
const struct plan *corpus_plan(const struct corpus *c, int64_t block);

/* Everything about an item except its words. */
struct item {
    int64_t id, parent, root, poll;
    enum kind kind;
    enum state state;
    struct change change;
    int64_t score;
    int author;
    bool exists; /* within 1..maxitem and not missing */
};
void corpus_look(const struct corpus *c, int64_t id, struct item *ret);
/* Who wrote it, by a hash alone; an option has the author of its poll, one of the POLL_REACH ids
 * before it. */
int corpus_author_of(const struct corpus *c, int64_t id);
#define POLL_REACH 7

#define ITEM_MAX_KIDS (BLOCK_IDS * (BLOCK_REACH + 1))
/* Kids in rank order; how many. */
int corpus_kids(const struct corpus *c, const struct item *it, int64_t *ret);
/* Comments below a story or poll. */
int corpus_descendants(const struct corpus *c, const struct item *it);
int corpus_parts(const struct corpus *c, const struct item *it, int64_t *ret);
bool corpus_find_change(const struct corpus *c, int64_t id, struct change *ret);

/* corpus_text.c: raw text (not JSON), HTML as the site stores it. */
enum title_class { TITLE_LINK, TITLE_ASK, TITLE_SHOW };
enum title_class text_title_class(const struct corpus *c, int64_t id);
void text_title(const struct corpus *c, const struct item *it, struct strbuf *out);
void text_url(const struct corpus *c, const struct item *it, struct strbuf *out);
void text_body(const struct corpus *c, const struct item *it, struct strbuf *out);
/* The number of the article that a story names; 0: it names none. See demo/articles.h. */
int64_t text_article(const struct corpus *c, const struct item *it);
#define ARTICLES_POPULAR 300 /* 1 to this one are submitted again and again */
#define ARTICLES_OWN 1000    /* and the id of the only story that names it */
/* One of the templates, filled, with a capital; any template. */
void text_line(const struct corpus *c, struct rng *r, const struct words *w, struct strbuf *out);
void text_expand(const struct corpus *c, struct rng *r, const char *template, struct strbuf *out);
/* articles.c: the article's URL as this story has it, with whatever a newsletter added to it. */
void article_submitted_url(const struct corpus *c, int64_t number, int64_t story,
                           struct strbuf *out);

void text_user_name(const struct corpus *c, int user, char out[CORPUS_NAME_MAX]);
int text_user_find(const struct corpus *c, struct str name); /* -1: nobody */
void text_about(const struct corpus *c, int user, uint32_t version, struct strbuf *out);

#endif
