/* What the archive knows of a discussion on HN, and the keys of its stories. */
#include "hn/url_key.h"
#include "store/links_follow.h"
#include "store/links_int.h"

#include <stdio.h>

#define STEPS_MAX 200 /* from a comment up to its story */
#define KEY_IDS 2000  /* looked at by one step */

/* --- the story of an item --- */

struct item_reading {
    struct arena *a;
    int64_t id;
    bool there, gone, is_story, is_below;
    struct str url;
    struct link_discussion thread;
    int64_t up;
};

static enum verdict read_item(void *ctx, const struct db_row *row) {
    struct item_reading *r = ctx;
    struct str type = db_row_text(row, 0);
    int64_t time = db_row_int(row, 5);
    r->there = true;
    r->is_story = str_eqc(type, "story") || str_eqc(type, "job") || str_eqc(type, "poll");
    r->is_below = str_eqc(type, "comment") || str_eqc(type, "pollopt");
    r->gone = db_row_int(row, 6) != 0;
    r->up = db_row_int(row, 7);
    if (!r->is_story)
        return V_OK;
    r->url = arena_str(r->a, db_row_text(row, 1));
    r->thread = (struct link_discussion){.site = LINK_SITE_HN,
                                         .title = arena_str(r->a, db_row_text(row, 2)),
                                         .score = db_row_int(row, 3),
                                         .num_comments = db_row_int(row, 4),
                                         .external_created_at = time == DB_NULL ? 0 : time * 1000};
    return V_OK;
}

void link_hn_thread(struct arena *a, int64_t id, struct link_discussion *ret) {
    static const char before[] = "https://news.ycombinator.com/item?id=";
    char *text = arena_alloc(a, sizeof before + 24);
    int n = snprintf(text, sizeof before + 24, "%s%lld", before, (long long)id);
    ret->external_url = (struct str){text, (size_t)n};
    ret->external_id = (struct str){text + sizeof before - 1, (size_t)n - (sizeof before - 1)};
}

enum verdict store_link_hn_item(struct store *s, struct arena *a, int64_t item, enum link_item *ret,
                                struct link_story *ret_story, struct err *e) {
    struct item_reading r = {.up = item};
    *ret = LINK_ITEM_UNKNOWN;
    for (int i = 0; i < STEPS_MAX; i++) {
        int64_t id = r.up;
        r = (struct item_reading){.a = a, .id = id, .up = DB_NULL};
        enum verdict v = db_run(s->db, SQL_LINK_HN_ITEM, DB_VALS(DBI(id)), read_item, &r, e);
        if (v != V_OK || !r.there || r.gone)
            return v;
        if (r.is_story)
            break;
        if (!r.is_below || r.up == DB_NULL || r.up >= id) /* what is above is older */
            return V_OK;
    }
    if (!r.is_story)
        return V_OK;
    link_hn_thread(a, r.id, &r.thread);
    *ret_story = (struct link_story){.url = r.url.n ? r.url : STR_NONE, .thread = r.thread};
    *ret = LINK_ITEM_STORY;
    return V_OK;
}

/* --- keys of older rules --- */

struct walk {
    int64_t version, walking, next, last;
};

static enum verdict read_walk(void *ctx, const struct db_row *row) {
    *(struct walk *)ctx = (struct walk){db_row_int(row, 0), db_row_int(row, 1), db_row_int(row, 2),
                                        db_row_int(row, 3)};
    return V_OK;
}

static enum verdict look(struct store *s, struct walk *ret, struct err *e) {
    *ret = (struct walk){.version = DB_NULL};
    enum verdict v = db_run(s->db, SQL_ITEM_KEYS_GET, DB_NO_VALS, read_walk, ret, e);
    return v == V_OK && ret->version == DB_NULL
               ? err_set(e, V_FATAL, "links", 0, "the state of the items' keys is gone")
               : v;
}

enum verdict store_items_keys(struct store *s, struct item_keys *ret, struct err *e) {
    struct walk w;
    enum verdict v = look(s, &w, e);
    if (v != V_OK)
        return v;
    bool begun = w.walking == URL_KEY_VERSION;
    *ret = (struct item_keys){
        .done = w.version == URL_KEY_VERSION, .next = begun ? w.next : 0, .last = w.last};
    return V_OK;
}

struct keyed {
    int64_t id;
    struct str url, key, domain;
};

struct changing {
    struct arena *a;
    struct keyed *rows;
    size_t n;
};

/* Only those whose key is another now. */
static enum verdict read_keyed(void *ctx, const struct db_row *row) {
    struct changing *c = ctx;
    struct str url = db_row_text(row, 1), key, domain;
    if (!url_key(c->a, url, &key, &domain))
        key = domain = STR_NONE;
    if (str_eq(key, db_row_text(row, 2)) && str_eq(domain, db_row_text(row, 3)))
        return V_OK;
    c->rows[c->n++] = (struct keyed){db_row_int(row, 0), arena_str(c->a, url), key, domain};
    return V_OK;
}

static enum verdict change(struct store *s, const struct walk *w, int64_t to,
                           const struct changing *c, struct err *e) {
    enum verdict v = db_run(s->db, SQL_ITEM_KEYS_MOVE,
                            DB_VALS(DBI(URL_KEY_VERSION), DBI(w->next), DBI(to)), NULL, NULL, e);
    if (v == V_OK && db_changes(s->db) == 0)
        return V_OK; /* a sibling was quicker, with the same step */
    for (size_t i = 0; v == V_OK && i < c->n; i++)
        v = db_run(s->db, SQL_ITEM_KEYS_SET,
                   DB_VALS(DBI(c->rows[i].id), DBT(c->rows[i].url), DBT(c->rows[i].key),
                           DBT(c->rows[i].domain)),
                   NULL, NULL, e);
    return v;
}

static enum verdict step(struct store *s, const struct walk *w, struct item_keys *ret,
                         struct err *e) {
    struct changing c = {.a = &s->scratch};
    int64_t to = DB_NULL;
    enum verdict v = db_run_int(s->db, SQL_ITEM_KEYS_TO,
                                DB_VALS(DBI(w->next), DBI(w->last), DBI(KEY_IDS)), &to, e);
    if (v == V_OK && to == DB_NULL)
        return db_run(s->db, SQL_ITEM_KEYS_DONE, DB_VALS(DBI(URL_KEY_VERSION)), NULL, NULL, e);
    c.rows = arena_alloc(&s->scratch, KEY_IDS * sizeof *c.rows);
    if (v == V_OK)
        v = db_run(s->db, SQL_ITEM_KEYS_THESE, DB_VALS(DBI(w->next), DBI(to)), read_keyed, &c, e);
    if (v == V_OK)
        v = db_begin(s->db, e);
    if (v != V_OK)
        return v;
    v = store_end(s, change(s, w, to, &c, e), e);
    ret->changed = v == V_OK ? c.n : 0;
    return v;
}

enum verdict store_items_rekey(struct store *s, struct item_keys *ret, struct err *e) {
    struct walk w;
    size_t changed = 0;
    arena_reset(&s->scratch);
    *ret = (struct item_keys){0};
    enum verdict v = look(s, &w, e);
    if (v == V_OK && w.version != URL_KEY_VERSION) {
        if (w.walking != URL_KEY_VERSION)
            v = db_run(s->db, SQL_ITEM_KEYS_BEGIN, DB_VALS(DBI(URL_KEY_VERSION)), NULL, NULL, e);
        else
            v = step(s, &w, ret, e);
        changed = ret->changed;
    }
    if (v == V_OK)
        v = store_items_keys(s, ret, e);
    ret->changed = changed;
    return v;
}
