/* What looks back over many ids: profiles and the story lists. Both walk a bounded stretch of the
 * newest ids; a list is a few hundred microseconds of work, which nobody asks for often. */
#include "demo/corpus_int.h"

#include <stdlib.h>

#define SUBMITTED_WINDOW 20000
#define LIST_WINDOW 30000
#define LIST_MAX 500

static bool author(const struct corpus *c, int64_t id, bool deleted, char out[CORPUS_NAME_MAX]) {
    struct item it;
    corpus_look(c, id, &it);
    out[0] = '\0';
    if (!it.exists || (it.state == STATE_DELETED && !deleted))
        return false;
    text_user_name(c, it.author, out);
    return true;
}

bool corpus_author(const struct corpus *c, int64_t id, char out[CORPUS_NAME_MAX]) {
    return author(c, id, false, out);
}

bool corpus_writer(const struct corpus *c, int64_t id, char out[CORPUS_NAME_MAX]) {
    return author(c, id, true, out);
}

enum verdict corpus_mutate_user(struct corpus *c, struct str name, struct err *e) {
    int user = text_user_find(c, name);
    if (user < 0)
        return err_set(e, V_NOT_FOUND, "demo", 0, "there is no user \"%.*s\"",
                       (int)(name.n < 100 ? name.n : 100), name.p ? name.p : "");
    atomic_fetch_add(&c->user_versions[user], 1U);
    return V_OK;
}

/* Only what stands shortly behind an id of the user's hash is looked at: most of it is not. */
static void add_submitted(const struct corpus *c, int user, struct strbuf *out) {
    int64_t max = corpus_maxitem(c), hashed = max, n = 0;
    int64_t low = max > SUBMITTED_WINDOW ? max - SUBMITTED_WINDOW : 0;
    for (int64_t id = max; id > low; id--) {
        while (hashed > 0 && (hashed > id || corpus_author_of(c, hashed) != user))
            hashed--;
        if (id > hashed + POLL_REACH)
            id = hashed + POLL_REACH;
        if (id <= low)
            break;
        struct item it;
        corpus_look(c, id, &it);
        if (it.exists && it.author == user && it.state != STATE_DELETED)
            strbuf_addf(out, "%s%lld", n++ ? "," : ",\"submitted\":[", (long long)id);
    }
    strbuf_adds(out, n ? "]" : "");
}

void corpus_user(const struct corpus *c, struct str name, struct strbuf *out) {
    int user = text_user_find(c, name);
    if (user < 0) {
        strbuf_adds(out, "null");
        return;
    }
    uint64_t h = corpus_hash(c, SALT_USER, user);
    uint32_t version = atomic_load(&c->user_versions[user]);
    CLEANUP(strbuf_release) struct strbuf about;
    strbuf_init(&about, 4096);
    text_about(c, user, version, &about);
    strbuf_addc(out, '{');
    if (about.n) {
        strbuf_adds(out, "\"about\":");
        strbuf_add_json(out, strbuf_str(&about));
        strbuf_addc(out, ',');
    }
    strbuf_addf(out, "\"created\":%lld,\"id\":", (long long)c->first_time + (long long)(h >> 44));
    strbuf_add_json(out, name);
    strbuf_addf(out, ",\"karma\":%lld", (long long)(h % 20000) + 3 * (long long)version);
    add_submitted(c, user, out);
    strbuf_addc(out, '}');
}

const char *corpus_list_name(enum corpus_list which) {
    static const char *const NAMES[CORPUS_N_LISTS] = {"topstories", "newstories",  "beststories",
                                                      "askstories", "showstories", "jobstories"};
    return NAMES[which];
}

struct listed {
    int64_t id;
    uint64_t weight;
};

static bool belongs(const struct corpus *c, const struct item *it, enum corpus_list which) {
    if (!it->exists || it->state != STATE_ALIVE)
        return false;
    if (which == CORPUS_JOBS || it->kind == KIND_JOB)
        return it->kind == KIND_JOB && (which == CORPUS_JOBS || which == CORPUS_TOP);
    if (it->kind != KIND_STORY && it->kind != KIND_POLL)
        return false;
    enum title_class title = text_title_class(c, it->id);
    return which == CORPUS_ASK    ? title == TITLE_ASK && it->kind == KIND_STORY
           : which == CORPUS_SHOW ? title == TITLE_SHOW && it->kind == KIND_STORY
                                  : true;
}

static int heavier_first(const void *a, const void *b) {
    const struct listed *x = a, *y = b;
    return x->weight != y->weight ? (x->weight < y->weight ? 1 : -1) : x->id < y->id ? 1 : -1;
}

void corpus_list(const struct corpus *c, enum corpus_list which, struct strbuf *out) {
    struct listed found[LIST_MAX] = {0};
    size_t max = which <= CORPUS_BEST ? LIST_MAX : 200, n = 0;
    int64_t newest = corpus_maxitem(c);
    for (int64_t id = newest; id > 0 && id > newest - LIST_WINDOW && n < max; id--) {
        struct item it;
        corpus_look(c, id, &it);
        if (!belongs(c, &it, which))
            continue;
        uint64_t rank = corpus_hash(c, SALT_RANK, id) % 1000;
        found[n].weight = which == CORPUS_BEST  ? (uint64_t)it.score
                          : which == CORPUS_TOP ? (uint64_t)it.score + rank
                                                : (uint64_t)id;
        found[n++].id = id;
    }
    qsort(found, n, sizeof found[0], heavier_first);
    strbuf_addc(out, '[');
    for (size_t i = 0; i < n; i++)
        strbuf_addf(out, "%s%lld", i ? "," : "", (long long)found[i].id);
    strbuf_addc(out, ']');
}
