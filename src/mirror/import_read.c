#include "mirror/import_int.h"

#include "base/log.h"
#include "hn/json_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_ITEMS 5000
#define BATCH_ARENA ((size_t)8 * 1024 * 1024)
#define BATCH_TEXT ((int64_t)32 * 1024 * 1024)
#define LARGEST_ID INT64_C(9007199254740991) /* the last one that every JSON reader keeps */

void reservoir_init(struct reservoir *r, size_t cap) {
    *r = (struct reservoir){.cap = cap, .rng = rng_fresh()};
    r->ids = xcalloc(cap ? cap : 1, sizeof *r->ids);
}

void reservoir_release(struct reservoir *r) {
    free(r->ids);
    *r = (struct reservoir){0};
}

void reservoir_offer(struct reservoir *r, int64_t id) {
    if (r->cap == 0)
        return;
    r->seen++;
    if (r->n < r->cap) {
        r->ids[r->n++] = id;
        return;
    }
    uint64_t place = rng_below(&r->rng, (uint64_t)r->seen);
    if (place < r->cap)
        r->ids[place] = id;
}

static void note_broken(struct import_reader *r, const char *cls, struct str text) {
    r->state.broken++;
    if (r->n_broken == IMPORT_BROKEN_KEPT)
        return;
    struct broken_line *b = &r->broken[r->n_broken++];
    b->number = r->state.lines;
    b->cls = cls;
    size_t n = text.n < sizeof b->text - 1 ? text.n : sizeof b->text - 1;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        b->text[i] = c < 0x20 || c > 0x7E ? '?' : (char)c;
    }
    b->text[n] = '\0';
    log_warn("broken line", LI("line", b->number), LS("class", cls), LS("text", b->text));
    if (r->n_broken == IMPORT_BROKEN_KEPT)
        log_warn("further broken lines are only counted");
}

static bool is_blank(struct str s) {
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] != ' ' && s.p[i] != '\t' && s.p[i] != '\r')
            return false;
    return true;
}

/* {"id":1,"missing":true}: the way a dump says that the upstream had nothing. */
static bool says_missing(struct arena *a, const struct item *it, struct str line) {
    if (it->type.p || it->by.p || it->time != I64_NONE || it->deleted || it->dead)
        return false;
    struct json_read r;
    struct str key;
    bool first = true, missing = false;
    json_read_init(&r, a, line);
    if (json_peek(&r) != JSON_OBJECT)
        return false;
    json_enter(&r);
    while (json_next_member(&r, &first, &key)) {
        if (str_eqc(key, "missing"))
            missing = json_peek(&r) == JSON_TRUE;
        json_skip(&r);
    }
    return missing;
}

static bool in_range(const struct import_options *o, int64_t id) {
    return id >= o->start_id && (o->end_id == 0 || id <= o->end_id);
}

/* True: the item stays in the batch. */
static bool take_item(struct import_reader *r, struct item *it, struct str line) {
    struct arena *a = &r->box->batch->arena;
    if (it->id > LARGEST_ID) {
        note_broken(r, "garbage", line);
        return false;
    }
    if (!in_range(r->o, it->id)) {
        r->state.skipped++;
        return false;
    }
    if (says_missing(a, it, line)) {
        r->state.missing++;
        return false;
    }
    item_derive(a, it);
    r->state.items++;
    reservoir_offer(&r->sample, it->id);
    return true;
}

void import_take_line(struct import_reader *r, const struct dump_line *line) {
    struct batch *b = r->box->batch;
    r->state.lines++;
    if (line->too_long) {
        note_broken(r, "too_large", line->text);
        return;
    }
    if (is_blank(line->text))
        return;
    struct batch_item *it = batch_add_item(b);
    it->fetched_at = r->o->as_of_ms;
    bool stays = false;
    switch (item_parse(&b->arena, line->text, 0, &it->item)) {
    case ITEM_OK:
        stays = take_item(r, &it->item, line->text);
        break;
    case ITEM_NULL:
        r->state.missing++;
        break;
    case ITEM_GARBAGE:
    case ITEM_WRONG_ID:
        note_broken(r, "garbage", line->text);
        break;
    }
    if (!stays)
        b->n_items--;
}

/* False: the writer takes no more. */
static bool send_box(struct import_reader *r) {
    r->state.bytes = dump_text_bytes(r->dump);
    if (r->state.bytes == r->sent_bytes)
        return true;
    r->state.mark = dump_mark(r->dump);
    r->box->step = (struct import_step){
        .fingerprint = r->fingerprint, .from_bytes = r->sent_bytes, .to = r->state};
    if (!queue_push(r->boxes, r->box))
        return false;
    r->sent_bytes = r->state.bytes;
    r->box = NULL;
    while (!r->box && !queue_is_closed(r->empty))
        r->box = queue_pop(r->empty, 1000);
    if (r->box)
        batch_reset(r->box->batch);
    return r->box != NULL;
}

static bool is_full(const struct import_reader *r) {
    size_t most = r->o->batch_items ? r->o->batch_items : BATCH_ITEMS;
    const struct batch *b = r->box->batch;
    return b->n_items >= most || arena_used(&b->arena) >= BATCH_ARENA ||
           dump_text_bytes(r->dump) - r->sent_bytes >= BATCH_TEXT;
}

enum verdict import_read_all(struct import_reader *r, struct err *e) {
    struct dump_line line;
    enum verdict v;
    bool wanted = true;
    while (wanted && (v = dump_next(r->dump, &line, e)) == V_OK) {
        import_take_line(r, &line);
        if (is_full(r))
            wanted = send_box(r);
        if (stop_raised(r->o->stop)) {
            v = err_set(e, V_STOPPED, "import", 0, "stopped");
            break;
        }
    }
    if (!wanted)
        return V_OK;
    send_box(r);
    return v == V_NOT_FOUND ? V_OK : v;
}
