#include "web/thread_api.h"

#include "web/json_fields.h"

/* Marks of an item that is not simply there. */
static void add_state(struct strbuf *out, const struct read_item *it) {
    if (!it->stored)
        strbuf_adds(out, ",\"stored\":false");
    if (it->item.deleted)
        strbuf_adds(out, ",\"deleted\":true");
    if (it->item.dead)
        strbuf_adds(out, ",\"dead\":true");
}

static void add_root(struct strbuf *out, const struct read_item *it) {
    const struct item *i = &it->item;
    json_num(out, "{\"id\":", i->id);
    json_str(out, ",\"type\":", i->type);
    json_str(out, ",\"by\":", i->by);
    json_num(out, ",\"time\":", i->time);
    json_str(out, ",\"title\":", i->title);
    json_str(out, ",\"url\":", i->url);
    json_str(out, ",\"text\":", i->text);
    json_num(out, ",\"score\":", i->score);
    json_num(out, ",\"descendants\":", i->descendants);
    json_num(out, ",\"parent\":", i->parent);
    json_num(out, ",\"story\":", it->story_id);
    json_num(out, ",\"fetched_at\":", fetched_seconds(it->last_fetched_at));
    add_state(out, it);
}

/* Where the walk stands at one depth. */
struct level {
    int64_t id;   /* of the newest node here */
    int64_t rank; /* of it */
};

static struct level *make_levels(struct arena *a, int64_t root, const struct thread *t) {
    int deepest = 0;
    for (size_t i = 0; i < t->n; i++)
        if (t->nodes[i].depth > deepest)
            deepest = t->nodes[i].depth;
    struct level *l = arena_zalloc(a, ((size_t)deepest + 3) * sizeof *l);
    l[0].id = root;
    return l + 1; /* the root is at depth -1 */
}

static void add_comment(struct strbuf *out, const struct thread_node *n, const struct level *l) {
    const struct item *i = &n->it.item;
    json_num(out, "{\"id\":", i->id);
    json_num(out, ",\"parent\":", l[-1].id);
    json_num(out, ",\"depth\":", n->depth);
    json_num(out, ",\"rank\":", l->rank);
    json_num(out, ",\"below\":", (int64_t)n->below);
    if (n->it.stored) {
        json_str(out, ",\"by\":", i->by);
        json_num(out, ",\"time\":", i->time);
        json_str(out, ",\"text\":", i->text);
        json_num(out, ",\"fetched_at\":", fetched_seconds(n->it.last_fetched_at));
    }
    add_state(out, &n->it);
    strbuf_addc(out, '}');
}

void thread_api_tree(struct strbuf *out, struct arena *a, const struct read_item *root,
                     const struct thread *t) {
    struct level *levels = make_levels(a, root->item.id, t);
    add_root(out, root);
    json_num(out, ",\"count\":", (int64_t)t->n);
    strbuf_adds(out, t->cut ? ",\"cut\":true" : ",\"cut\":false");
    strbuf_adds(out, ",\"comments\":[");
    for (size_t i = 0; i < t->n; i++) {
        struct level *l = &levels[t->nodes[i].depth];
        l->id = t->nodes[i].it.item.id;
        l->rank++;
        l[1].rank = 0;
        if (i)
            strbuf_addc(out, ',');
        add_comment(out, &t->nodes[i], l);
    }
    strbuf_adds(out, "]}");
}

void thread_api_discussions(struct strbuf *out, struct str url, struct str key,
                            const struct read_items *found) {
    json_str(out, "{\"url\":", url);
    json_str(out, ",\"key\":", key);
    json_num(out, ",\"count\":", (int64_t)found->n);
    strbuf_adds(out, ",\"discussions\":[");
    for (size_t i = 0; i < found->n; i++) {
        const struct read_item *it = &found->items[i];
        json_num(out, i ? ",{\"id\":" : "{\"id\":", it->item.id);
        json_str(out, ",\"type\":", it->item.type);
        json_str(out, ",\"title\":", it->item.title);
        json_str(out, ",\"url\":", it->item.url);
        json_str(out, ",\"by\":", it->item.by);
        json_num(out, ",\"score\":", it->item.score);
        json_num(out, ",\"descendants\":", it->item.descendants);
        json_num(out, ",\"time\":", it->item.time);
        json_num(out, ",\"fetched_at\":", fetched_seconds(it->last_fetched_at));
        add_state(out, it);
        strbuf_addc(out, '}');
    }
    strbuf_adds(out, "]}");
}
