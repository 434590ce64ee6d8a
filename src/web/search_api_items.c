#include "web/search_api_items.h"

#include "web/json_fields.h"

/* Up to where its children begin. */
static void open_item(struct strbuf *out, const struct read_item *it) {
    const struct item *i = &it->item;
    json_num(out, "{\"id\":", i->id);
    json_when(out, ",\"created_at\":", i->time);
    json_num(out, ",\"created_at_i\":", i->time);
    json_str(out, ",\"type\":", i->type);
    json_str(out, ",\"author\":", i->by);
    json_str(out, ",\"title\":", i->title);
    json_str(out, ",\"url\":", i->url);
    json_str(out, ",\"text\":", i->text);
    json_num(out, ",\"points\":", i->score);
    json_num(out, ",\"parent_id\":", i->parent != I64_NONE ? i->parent : i->poll);
    json_num(out, ",\"story_id\":", item_is_root(i) ? I64_NONE : it->story_id);
    json_when(out, ",\"fetched_at\":", fetched_seconds(it->last_fetched_at));
    json_num(out, ",\"fetched_at_i\":", fetched_seconds(it->last_fetched_at));
    if (i->deleted)
        strbuf_adds(out, ",\"deleted\":true");
    if (i->dead)
        strbuf_adds(out, ",\"dead\":true");
    strbuf_adds(out, ",\"children\":[");
}

#define CLOSE_ITEM "],\"options\":[]}"

static void add_options(struct strbuf *out, const struct read_items *options) {
    strbuf_adds(out, "],\"options\":[");
    for (size_t i = 0; i < options->n; i++) {
        if (i)
            strbuf_addc(out, ',');
        open_item(out, &options->items[i]);
        strbuf_adds(out, CLOSE_ITEM);
    }
    strbuf_addc(out, ']');
}

static bool is_living(const struct thread_node *n) {
    return n->it.stored && !n->it.item.dead && !n->it.item.deleted;
}

/* living[i]: how many living nodes come before node i. */
static const size_t *count_living(struct arena *a, const struct thread *t) {
    size_t *living = arena_alloc(a, (t->n + 1) * sizeof *living);
    living[0] = 0;
    for (size_t i = 0; i < t->n; i++)
        living[i + 1] = living[i] + is_living(&t->nodes[i]);
    return living;
}

void search_api_tree(struct strbuf *out, struct arena *a, const struct search_api_tree *t) {
    const size_t *living = count_living(a, &t->below);
    int open = 0; /* nodes of which the children are being written: those on the way to this one */
    open_item(out, &t->root);
    for (size_t i = 0; i < t->below.n; i++) {
        const struct thread_node *n = &t->below.nodes[i];
        if (living[i + n->below + 1] == living[i])
            continue;
        bool sibling = open > n->depth; /* one that was written before it */
        for (; open > n->depth; open--)
            strbuf_adds(out, CLOSE_ITEM);
        if (sibling)
            strbuf_addc(out, ',');
        open_item(out, &n->it);
        open++;
    }
    for (; open; open--)
        strbuf_adds(out, CLOSE_ITEM);
    add_options(out, &t->options);
    if (t->below.cut)
        strbuf_adds(out, ",\"cut\":true");
    strbuf_addc(out, '}');
}
