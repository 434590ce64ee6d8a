/* One item with everything below it, and what it said before. */
#include "web/page_routes.h"

#include "web/json_fields.h"
#include "web/link_gate.h"
#include "web/link_parts.h"
#include "web/page.h"
#include "web/page_thread.h"

#include <stdio.h>
#include <stdlib.h>

#define THREAD_MAX 20000  /* comments of one page */
#define EARLY 200         /* a thread with more is sent while it is being made */
#define PART (64 * 1024)  /* and in pieces of this size */
#define REVISIONS_MAX 100 /* earlier versions on one page */

/* Around an item: what its page needs to know besides. */
struct around {
    struct read_item it, story; /* story: of a comment; id 0 when it is not stored */
    struct read_items options;  /* of a poll */
    struct link_view link;      /* of a story's URL; id 0 when there is none */
    bool revised, may_write;
    int64_t now; /* unix seconds */
};

/* A mirror that is being filled lacks much that a link may lead to. */
static enum verdict missing_item(struct call *c, int64_t id, struct err *e) {
    char message[80], original[80];
    snprintf(message, sizeof message, "There is no item %lld here.", (long long)id);
    snprintf(original, sizeof original, PAGE_HN_ITEM "%lld", (long long)id);
    return page_missing(c, message, str_of(original), e);
}

static bool has_article(const struct item *i) {
    return item_is_root(i) && page_may_link(i->url) && i->url_key.p;
}

/* What else there is about the article of a story. */
static enum verdict read_link(struct call *c, struct around *x, struct err *e) {
    if (!has_article(&x->it.item))
        return V_OK;
    enum verdict v = store_link_find(c->store, c->arena, x->it.item.url_key, &x->link.link, e);
    if (v == V_NOT_FOUND) {
        x->link.link.id = 0;
        return V_OK;
    }
    return v == V_OK ? link_view_read(c, false, &x->link, e) : v;
}

static enum verdict read_around(struct call *c, int64_t id, struct around *ret, struct err *e) {
    const int64_t *found;
    size_t n;
    *ret = (struct around){.now = page_now(c) / 1000,
                           .may_write = link_gate_is_open(c) || link_gate_asks(c)};
    enum verdict v = store_read_item(c->store, c->arena, id, &ret->it, e);
    const struct item *i = &ret->it.item;
    size_t parts = i->n_parts < READ_IDS_MAX ? i->n_parts : READ_IDS_MAX;
    if (v == V_OK && parts)
        v = store_read_items(c->store, c->arena, i->parts, parts, &ret->options, e);
    if (v == V_OK && !item_is_root(i) && ret->it.story_id != I64_NONE && ret->it.story_id != id) {
        v = store_read_item(c->store, c->arena, ret->it.story_id, &ret->story, e);
        if (v == V_NOT_FOUND) {
            ret->story = (struct read_item){0};
            v = V_OK;
        }
    }
    if (v == V_OK)
        v = store_have_revisions(c->store, c->arena, &id, 1, &found, &n, e);
    ret->revised = v == V_OK && n > 0;
    return v == V_OK ? read_link(c, ret, e) : v;
}

/* The item itself -----------------------------------------------------------------------------
 */

/* A dump without stamps is older than anything that was fetched. */
static void seen(struct strbuf *b, const char *words, int64_t at_ms, int64_t now) {
    int64_t at = fetched_seconds(at_ms);
    if (at == I64_NONE) {
        strbuf_adds(b, "from a dump");
        return;
    }
    strbuf_adds(b, words);
    page_time(b, at, now);
}

static void more_links(struct strbuf *b, const struct around *x) {
    const struct item *i = &x->it.item;
    strbuf_adds(b, "<p class=\"links\">");
    if (page_may_link(i->url) && i->url_key.p) {
        strbuf_adds(b, "<a href=\"/discussions?url=");
        strbuf_add_urlencoded(b, i->url);
        strbuf_adds(b, "\">all discussions of this address</a> ");
    }
    if (x->revised) {
        strbuf_adds(b, "<a class=\"was\" href=\"/item/revisions?id=");
        page_int(b, i->id);
        strbuf_adds(b, "\">earlier versions</a> ");
    }
    strbuf_adds(b, "<a href=\"" PAGE_HN_ITEM);
    page_int(b, i->id);
    strbuf_adds(b, "\" rel=\"noopener noreferrer\">on Hacker News</a> <a href=\"/v0/item/");
    page_int(b, i->id);
    strbuf_adds(b, ".json?print=pretty\">as JSON</a> <span>");
    seen(b, "last looked at ", x->it.last_fetched_at, x->now);
    strbuf_adds(b, "</span></p>");
}

/* A story whose article nobody has looked up yet can be made a link. */
static void add_button(struct strbuf *b, const struct item *i) {
    if (i->dead || i->deleted || i->url.n > LINK_URL_MAX)
        return;
    strbuf_adds(b, "<form class=\"inline\" action=\"/add\" method=\"post\">"
                   "<input type=\"hidden\" name=\"url\" value=\"");
    strbuf_add_html(b, i->url);
    strbuf_adds(b, "\"><button type=\"submit\">add as link</button></form>\n");
}

static void poll_options(struct strbuf *b, const struct read_items *options) {
    int64_t most = 1;
    for (size_t i = 0; i < options->n; i++)
        if (options->items[i].item.score > most)
            most = options->items[i].item.score;
    if (options->n)
        strbuf_adds(b, "<ul class=\"poll\">");
    for (size_t i = 0; i < options->n; i++) {
        const struct item *o = &options->items[i].item;
        int64_t score = o->score == I64_NONE ? 0 : o->score;
        strbuf_adds(b, "<li id=\"");
        page_int(b, o->id);
        strbuf_adds(b, "\">");
        page_text(b, o->text.p ? o->text : STR("[no text]"));
        strbuf_addf(b, "<meter min=\"0\" max=\"%lld\" value=\"%lld\"></meter> <span>",
                    (long long)most, (long long)(score < 0 ? 0 : score));
        page_count(b, score, "point");
        strbuf_adds(b, "</span></li>\n");
    }
    if (options->n)
        strbuf_adds(b, "</ul>\n");
}

static void story_head(struct strbuf *b, const struct around *x) {
    int64_t n = x->it.item.descendants;
    strbuf_adds(b, "<h1>");
    page_headline(b, &x->it);
    strbuf_adds(b, "</h1>");
    page_byline_open(b, &x->it, x->now);
    if (n != I64_NONE) {
        strbuf_adds(b, "<span>");
        page_count(b, n, "comment");
        strbuf_adds(b, "</span>");
    }
    strbuf_adds(b, "</p>");
}

/* Above a comment: what it belongs to. An option of a poll counts as one. */
static void comment_head(struct strbuf *b, const struct around *x) {
    const struct item *i = &x->it.item;
    int64_t parent = i->parent != I64_NONE ? i->parent : i->poll;
    strbuf_adds(b, "<h1 class=\"context\">");
    strbuf_adds(b, str_eqc(i->type, "pollopt") ? "Option" : "Comment");
    if (x->story.item.id) {
        strbuf_adds(b, " on <a ");
        page_item_href(b, x->story.item.id);
        strbuf_addc(b, '>');
        page_title(b, &x->story);
        strbuf_adds(b, "</a>");
    }
    strbuf_adds(b, "</h1>");
    page_byline(b, &x->it, x->now);
    strbuf_adds(b, "<p class=\"links up\">");
    if (parent != I64_NONE && parent != x->story.item.id) {
        strbuf_adds(b, "<a ");
        page_item_href(b, parent);
        strbuf_adds(b, ">parent</a> ");
    }
    if (x->story.item.id) {
        strbuf_adds(b, "<a href=\"/item?id=");
        page_int(b, x->story.item.id);
        strbuf_addc(b, '#');
        page_int(b, i->id);
        strbuf_adds(b, "\">in its thread</a>");
    }
    strbuf_adds(b, "</p>");
}

static void the_item(struct strbuf *b, const struct around *x) {
    const struct item *i = &x->it.item;
    bool gone = i->dead || i->deleted;
    strbuf_addf(b, "<article class=\"item%s\" id=\"%lld\">", gone ? " gone" : "", (long long)i->id);
    if (item_is_root(i))
        story_head(b, x);
    else
        comment_head(b, x);
    page_text(b, i->text);
    poll_options(b, &x->options);
    more_links(b, x);
    if (x->link.link.id)
        link_beside(b, &x->link, i->id);
    else if (has_article(i) && x->may_write)
        add_button(b, i);
    strbuf_adds(b, "</article>\n");
}

static void open_item(struct call *c, const struct around *x) {
    CLEANUP(strbuf_release) struct strbuf title;
    const struct item *i = &x->it.item;
    strbuf_init(&title, 4096);
    if (i->title.p)
        strbuf_add_str(&title, i->title);
    else if (i->by.p)
        strbuf_addf(&title, "Comment by %.*s", STR_FMT(i->by));
    else
        strbuf_addf(&title, "Item %lld", (long long)i->id);
    page_open(c, &(struct page_head){.title = strbuf_str(&title), .no_index = i->dead});
    the_item(&c->body, x);
}

/* The thread ----------------------------------------------------------------------------------
 */

static int ascending(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Which comments have earlier versions. */
static enum verdict read_revised(struct call *c, struct page_thread *t, struct err *e) {
    size_t n = t->thread->n;
    int64_t *ids = arena_alloc(c->arena, (n + 1) * sizeof *ids);
    int64_t *revised = arena_alloc(c->arena, (n + 1) * sizeof *revised);
    for (size_t i = 0; i < n; i++)
        ids[i] = t->thread->nodes[i].it.item.id;
    t->n_revised = 0;
    for (size_t begin = 0; begin < n; begin += READ_IDS_MAX) {
        size_t some = n - begin < READ_IDS_MAX ? n - begin : READ_IDS_MAX, n_found;
        const int64_t *found;
        enum verdict v =
            store_have_revisions(c->store, c->arena, ids + begin, some, &found, &n_found, e);
        if (v != V_OK)
            return v;
        for (size_t i = 0; i < n_found && t->n_revised < n; i++)
            revised[t->n_revised++] = found[i];
    }
    qsort(revised, t->n_revised, sizeof *revised, ascending);
    t->revised = revised;
    return V_OK;
}

static enum verdict the_thread(struct call *c, const struct around *x, struct err *e) {
    const struct item *top = x->story.item.id ? &x->story.item : &x->it.item;
    struct thread thread;
    struct page_thread t = {.thread = &thread, .root = x->it.item.id, .op = top->by, .now = x->now};
    enum verdict v = store_read_thread(c->store, c->arena, x->it.item.id, THREAD_MAX, &thread, e);
    if (v == V_OK)
        v = read_revised(c, &t, e);
    if (v != V_OK)
        return v;
    page_thread_init(&t, c->arena);
    strbuf_adds(&c->body, "<section class=\"thread\" aria-label=\"Comments\">\n");
    if (!thread.n)
        strbuf_adds(&c->body, "<p class=\"empty\">No comments.</p>\n");
    while (page_thread_part(&t, &c->body, PART))
        if (!call_flush(c))
            return V_OK; /* nobody reads on */
    if (thread.cut)
        strbuf_adds(&c->body, "<p class=\"empty\">There are more comments than one page shows; "
                              "each of these leads on to what is below it.</p>\n");
    strbuf_adds(&c->body, "</section>\n");
    return V_OK;
}

static enum verdict page_item(struct call *c, struct err *e) {
    struct around x;
    int64_t id;
    enum verdict v = call_param_int(c, "id", 1, INT64_MAX, 0, &id, e);
    if (v == V_OK && !id)
        v = err_set(e, V_INVALID, "page", 0, "id: the number of an item is missing");
    if (v == V_OK)
        v = read_around(c, id, &x, e);
    if (v != V_OK)
        return v == V_NOT_FOUND ? missing_item(c, id, e) : v;
    open_item(c, &x);
    if (x.it.item.descendants > EARLY && !call_flush(c))
        return V_OK;
    v = the_thread(c, &x, e);
    return v == V_OK ? page_close(c, e) : v;
}

/* What it said before ------------------------------------------------------------------------
 */

static void version(struct strbuf *b, const struct item *i, struct str heading_html) {
    struct read_item it = {.item = *i, .stored = true};
    strbuf_adds(b, "<article class=\"version\"><h2>");
    strbuf_add_str(b, heading_html);
    strbuf_adds(b, "</h2>");
    if (i->title.p || i->url.p) {
        strbuf_adds(b, "<p class=\"said\">");
        page_headline(b, &it);
        strbuf_adds(b, "</p>");
    }
    if (i->by.p || i->dead || i->deleted) { /* whoever it was may have nothing left to lead to */
        strbuf_adds(b, "<p class=\"meta\"><span class=\"by\">");
        strbuf_add_html(b, i->by);
        strbuf_adds(b, "</span> ");
        page_marks(b, &it);
        strbuf_adds(b, "</p>");
    }
    page_text(b, i->text);
    strbuf_adds(b, "</article>\n");
}

static void versions(struct strbuf *b, const struct read_item *it, const struct revision *r,
                     size_t n, int64_t now) {
    CLEANUP(strbuf_release) struct strbuf h;
    strbuf_init(&h, 1024);
    strbuf_adds(&h, "Now, ");
    seen(&h, "since ", it->last_changed_at, now);
    version(b, &it->item, strbuf_str(&h));
    for (size_t i = 0; i < n; i++) {
        strbuf_clear(&h);
        seen(&h, "seen ", r[i].fetched_at, now);
        strbuf_adds(&h, ", replaced ");
        page_time(&h, r[i].replaced_at / 1000, now);
        version(b, &r[i].item, strbuf_str(&h));
    }
    if (!n)
        strbuf_adds(b, "<p class=\"empty\">No earlier version is kept.</p>\n");
}

static enum verdict page_revisions(struct call *c, struct err *e) {
    const struct revision *r;
    struct read_item it;
    int64_t id, now = page_now(c) / 1000;
    size_t n;
    enum verdict v = call_param_int(c, "id", 1, INT64_MAX, 0, &id, e);
    if (v == V_OK && !id)
        v = err_set(e, V_INVALID, "page", 0, "id: the number of an item is missing");
    if (v == V_OK)
        v = store_read_item(c->store, c->arena, id, &it, e);
    if (v == V_NOT_FOUND)
        return missing_item(c, id, e);
    if (v == V_OK)
        v = store_read_revisions(c->store, c->arena, id, REVISIONS_MAX, &r, &n, e);
    if (v != V_OK)
        return v;
    page_open(c, &(struct page_head){.title = STR("Earlier versions"), .no_index = true});
    strbuf_adds(&c->body, "<div class=\"headline\"><h1>What <a ");
    page_item_href(&c->body, id);
    strbuf_addf(&c->body, ">item %lld</a> said before</h1></div>\n", (long long)id);
    versions(&c->body, &it, r, n, now);
    return page_close(c, e);
}

static const struct route routes[] = {
    {"/item", page_item, ROUTE_QUERY, DIALECT_PAGE},
    {"/item/revisions", page_revisions, ROUTE_QUERY, DIALECT_PAGE},
};

const struct route_table page_item_routes = {routes, ARRAY_LEN(routes)};
