/* A person: the profile, and what they submitted and said, newest first. */
#include "web/page_routes.h"

#include "store/search.h"
#include "web/page.h"

#include <string.h>

#define PER_PAGE 30
#define PAGES_MAX 100000

enum shown { SHOW_ALL, SHOW_STORIES, SHOW_COMMENTS, SHOW_N };
static const char *const shown_names[] = {"all", "stories", "comments"};
static const char *const shown_words[] = {"everything", "stories", "comments"};

/* One page of what a person wrote. */
struct works {
    struct read_items items, stories; /* stories: those that comments belong to, any order */
    bool more;
    bool by_index; /* what the index does not know yet may be missing */
};

/* The list of the profile is exact and in order; without one, and for one kind alone, the search
 * index knows, and of those it never heard of what waits for it. */
static enum verdict works_by_list(struct call *c, const struct user *u, int64_t page,
                                  struct works *ret, struct err *e) {
    size_t begin = (size_t)(page - 1) * PER_PAGE;
    size_t left = begin < u->n_submitted ? u->n_submitted - begin : 0;
    size_t n = left < PER_PAGE ? left : PER_PAGE;
    ret->more = left > n;
    if (!n)
        return V_OK;
    return store_read_items(c->store, c->arena, u->submitted + begin, n, &ret->items, e);
}

static unsigned kinds_of(enum shown shown) {
    switch (shown) {
    case SHOW_COMMENTS:
        return SEARCH_COMMENT;
    case SHOW_STORIES:
        return SEARCH_STORY | SEARCH_POLL | SEARCH_JOB;
    default:
        return SEARCH_ANY & ~(unsigned)SEARCH_POLLOPT;
    }
}

static enum verdict works_that_wait(struct call *c, struct str name, enum shown shown,
                                    struct works *ret, struct err *e) {
    int64_t ids[PER_PAGE];
    size_t n = 0;
    enum verdict v = store_index_waits_by(c->store, name, kinds_of(shown), ids, PER_PAGE, &n, e);
    return v == V_OK && n ? store_read_items(c->store, c->arena, ids, n, &ret->items, e) : v;
}

static enum verdict works_by_search(struct call *c, struct str name, enum shown shown, int64_t page,
                                    struct works *ret, struct err *e) {
    struct search_query q;
    struct search_answer answer;
    unsigned kinds = kinds_of(shown);
    ret->by_index = true;
    search_query_init(&q);
    q.groups[0] = (struct search_group){.tags = {{.kind = TAG_AUTHOR, .name = name}}, .n = 1};
    q.groups[1] = (struct search_group){.tags = {{.kind = TAG_KIND, .kinds = kinds}}, .n = 1};
    q.n_groups = 2;
    q.order = SEARCH_BY_DATE;
    q.with_dead = true;
    q.offset = (page - 1) * PER_PAGE;
    q.limit = PER_PAGE + 1;
    enum verdict v = store_search(c->store, c->arena, &q, &answer, e);
    if (v != V_OK)
        return v;
    ret->more = answer.n > PER_PAGE;
    ret->items.n = ret->more ? PER_PAGE : answer.n;
    ret->items.items = arena_alloc(c->arena, (answer.n + 1) * sizeof *ret->items.items);
    for (size_t i = 0; i < ret->items.n; i++)
        ret->items.items[i] = answer.hits[i].it;
    return V_OK;
}

static enum verdict read_stories(struct call *c, struct works *w, struct err *e) {
    int64_t ids[PER_PAGE];
    size_t n = 0;
    for (size_t i = 0; i < w->items.n; i++)
        if (!item_is_root(&w->items.items[i].item) && w->items.items[i].story_id != I64_NONE)
            ids[n++] = w->items.items[i].story_id;
    return n ? store_read_items(c->store, c->arena, ids, n, &w->stories, e) : V_OK;
}

/* Writing ---------------------------------------------------------------------------------------
 */

static const struct read_item *story_of(const struct works *w, int64_t id) {
    for (size_t i = 0; i < w->stories.n; i++)
        if (w->stories.items[i].item.id == id)
            return &w->stories.items[i];
    return NULL;
}

static void comment(struct strbuf *b, const struct read_item *it, const struct read_item *story,
                    int64_t now) {
    bool gone = it->item.dead || it->item.deleted;
    strbuf_addf(b, "<li class=\"work%s\"><article><p class=\"meta\"><a class=\"when\" ",
                gone ? " gone" : "");
    page_item_href(b, it->item.id);
    strbuf_addc(b, '>');
    page_time(b, it->item.time, now);
    strbuf_adds(b, "</a> ");
    page_marks(b, it);
    if (story) {
        strbuf_adds(b, " <span class=\"on\">on <a ");
        page_item_href(b, story->item.id);
        strbuf_addc(b, '>');
        page_title(b, story);
        strbuf_adds(b, "</a></span>");
    }
    strbuf_adds(b, "</p>");
    page_text(b, it->item.text);
    strbuf_adds(b, "</article></li>\n");
}

static void works(struct strbuf *b, const struct works *w, int64_t first, int64_t now) {
    if (!w->items.n) {
        strbuf_adds(b, "<p class=\"empty\">Nothing in this archive.</p>\n");
        return;
    }
    strbuf_addf(b, "<ol class=\"stories works\" start=\"%lld\">\n", (long long)first);
    for (size_t i = 0; i < w->items.n; i++) {
        const struct read_item *it = &w->items.items[i];
        if (item_is_root(&it->item))
            page_story(b, it, first + (int64_t)i, now);
        else
            comment(b, it, story_of(w, it->story_id), now);
    }
    strbuf_adds(b, "</ol>\n");
}

static void profile(struct strbuf *b, struct str name, const struct read_user *u, int64_t now) {
    strbuf_adds(b, "<section class=\"person\"><h1>");
    strbuf_add_html(b, name);
    strbuf_adds(b, "</h1>");
    if (!u) {
        strbuf_adds(b, "<p class=\"note\">The profile is not in this archive.</p>");
    } else {
        strbuf_adds(b, "<p class=\"meta\">");
        if (u->user.karma != I64_NONE) {
            strbuf_adds(b, "<span>karma ");
            page_number(b, u->user.karma);
            strbuf_adds(b, "</span> ");
        }
        if (u->user.created != I64_NONE) {
            strbuf_adds(b, "<span>joined ");
            page_time(b, u->user.created, now);
            strbuf_adds(b, "</span> ");
        }
        strbuf_adds(b, u->gone ? "<span class=\"tag\">gone upstream</span></p>" : "</p>");
        page_text(b, u->user.about);
    }
    strbuf_adds(b, "<p class=\"links\"><a href=\"" PAGE_HN_USER);
    strbuf_add_urlencoded(b, name);
    strbuf_adds(b, "\" rel=\"noopener noreferrer\">on Hacker News</a></p></section>\n");
}

static void user_href(struct strbuf *b, struct str name, enum shown shown, int64_t page) {
    strbuf_adds(b, "/user?id=");
    strbuf_add_urlencoded(b, name);
    if (shown != SHOW_ALL)
        strbuf_addf(b, "&show=%s", shown_names[shown]);
    if (page > 1)
        strbuf_addf(b, "&p=%lld", (long long)page);
}

static void tabs(struct strbuf *b, struct str name, enum shown shown) {
    CLEANUP(strbuf_release) struct strbuf href;
    strbuf_init(&href, CALL_QUERY_MAX);
    strbuf_adds(b, "<nav class=\"tabs\" aria-label=\"What to show\"><ul>");
    for (enum shown i = 0; i < SHOW_N; i++) {
        strbuf_clear(&href);
        user_href(&href, name, i, 1);
        strbuf_adds(b, "<li><a href=\"");
        strbuf_add_html(b, strbuf_str(&href));
        strbuf_addf(b, "\"%s>%s</a></li>", i == shown ? " aria-current=\"page\"" : "",
                    shown_words[i]);
    }
    strbuf_adds(b, "</ul></nav>\n");
}

/* The page -----------------------------------------------------------------------------------
 */

static enum verdict shown_of(const struct call *c, enum shown *ret, struct err *e) {
    struct str show = call_param(c, "show");
    *ret = SHOW_ALL;
    if (!show.p)
        return V_OK;
    for (enum shown i = SHOW_ALL; i < SHOW_N; i++)
        if (str_eqc(show, shown_names[i])) {
            *ret = i;
            return V_OK;
        }
    return err_set(e, V_INVALID, "page", 0, "show: it may be all, stories or comments");
}

static enum verdict read_works(struct call *c, struct str name, const struct read_user *u,
                               enum shown shown, int64_t page, struct works *ret, struct err *e) {
    enum verdict v;
    *ret = (struct works){0};
    if (u && shown == SHOW_ALL)
        v = works_by_list(c, &u->user, page, ret, e);
    else
        v = works_by_search(c, name, shown, page, ret, e);
    if (v == V_OK && ret->by_index && !ret->items.n && page == 1)
        v = works_that_wait(c, name, shown, ret, e);
    if (v == V_OK && !u && !ret->items.n && shown == SHOW_ALL)
        return V_NOT_FOUND;
    return v == V_OK ? read_stories(c, ret, e) : v;
}

/* As long as the index is behind, nobody can say that there is no such person. */
static enum verdict missing_person(struct call *c, struct str name, struct err *e) {
    int64_t waiting, since;
    enum verdict v = store_index_lag(c->store, &waiting, &since, e);
    if (v != V_OK)
        return v;
    CLEANUP(strbuf_release) struct strbuf original, message;
    strbuf_init(&message, 1024);
    strbuf_adds(&message, "Nobody of that name has written anything that is kept here");
    if (waiting) {
        strbuf_adds(&message, ", as far as can be told by now: up to ");
        page_number(&message, waiting);
        strbuf_adds(&message, " items are not in the search index yet");
    }
    strbuf_addc(&message, '.');
    strbuf_init(&original, CALL_QUERY_MAX * 3);
    strbuf_adds(&original, PAGE_HN_USER);
    strbuf_add_urlencoded(&original, name);
    return page_missing(c, message.p, strbuf_str(&original), e);
}

static enum verdict page_user(struct call *c, struct err *e) {
    struct str name = call_param(c, "id");
    struct read_user user = {0};
    struct works w = {0};
    enum shown shown = SHOW_ALL;
    int64_t page = 1, now = page_now(c) / 1000;
    if (!name.n)
        return err_set(e, V_INVALID, "page", 0, "id: the name of a person is missing");
    enum verdict v = shown_of(c, &shown, e);
    if (v == V_OK)
        v = call_param_int(c, "p", 1, PAGES_MAX, 1, &page, e);
    if (v == V_OK)
        v = store_read_user(c->store, c->arena, name, &user, e);
    bool known = v == V_OK;
    if (v == V_OK || v == V_NOT_FOUND)
        v = read_works(c, name, known ? &user : NULL, shown, page, &w, e);
    if (v != V_OK)
        return v == V_NOT_FOUND ? missing_person(c, name, e) : v;

    page_open(c, &(struct page_head){.title = name});
    profile(&c->body, name, known ? &user : NULL, now);
    tabs(&c->body, name, shown);
    works(&c->body, &w, (page - 1) * PER_PAGE + 1, now);
    if (w.more) {
        CLEANUP(strbuf_release) struct strbuf href;
        strbuf_init(&href, CALL_QUERY_MAX);
        user_href(&href, name, shown, page + 1);
        page_more(&c->body, strbuf_str(&href), "More");
    }
    v = w.by_index ? page_index_note(c, e) : V_OK;
    return v == V_OK ? page_close(c, e) : v;
}

static const struct route routes[] = {
    {"/user", page_user, ROUTE_QUERY, DIALECT_PAGE},
};

const struct route_table page_user_routes = {routes, ARRAY_LEN(routes)};
