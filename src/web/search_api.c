/* /api/v1/search, /api/v1/search_by_date and /api/v1/users/NAME: the HN Search API, from the local
 * index. Items are in thread_routes.c. */
#include "base/clock.h"
#include "web/json_fields.h"
#include "web/routes.h"
#include "web/search_api_hits.h"
#include "web/server.h"

#define FRONT_PAGE 30
#define JSON_TYPE "application/json; charset=utf-8"
#define ECHO_MAX (3 * CALL_QUERY_MAX + 256)

static enum verdict finish(struct call *c, struct err *e) {
    c->type = JSON_TYPE;
    if (c->body.overflow)
        return err_set(e, V_LIMIT, "http", 0,
                       "the answer is larger than this server gives; ask for fewer hits");
    return V_OK;
}

/* Which stories of an answer are on the front page. */
static enum verdict read_front(struct call *c, struct search_api_answer *a, struct err *e) {
    int64_t seen_at;
    bool any = false;
    for (size_t i = 0; i < a->found->n; i++)
        any = any || item_is_root(&a->found->hits[i].it.item);
    if (!any)
        return V_OK;
    enum verdict v =
        store_read_list(c->store, c->arena, "top", &a->front, &a->n_front, &seen_at, e);
    if (a->n_front > FRONT_PAGE)
        a->n_front = FRONT_PAGE;
    return v;
}

static enum verdict search(struct call *c, enum search_order order, struct err *e) {
    const struct clock *clock = web_clock(c->web);
    int64_t began = clock_mono(clock);
    struct search_api_query *q = arena_zalloc(c->arena, sizeof *q);
    struct search_words words;
    struct search_answer found;
    CLEANUP(strbuf_release) struct strbuf echo;
    strbuf_init(&echo, ECHO_MAX);
    enum verdict v = search_api_params(c, order, q, e);
    if (v == V_OK)
        v = store_search(c->store, c->arena, &q->q, &found, e);
    struct search_api_answer a = {.asked = q, .found = &found, .words = &words};
    if (v == V_OK)
        v = read_front(c, &a, e);
    if (v != V_OK)
        return v;
    search_words_of(c->arena, q->q.text, &words);
    search_api_echo(c, &echo);
    a.params = strbuf_str(&echo);
    a.took_ms = clock_mono(clock) - began;
    search_api_hits(&c->body, &a);
    return finish(c, e);
}

static enum verdict by_relevance(struct call *c, struct err *e) {
    return search(c, SEARCH_BY_RELEVANCE, e);
}

static enum verdict by_date(struct call *c, struct err *e) {
    return search(c, SEARCH_BY_DATE, e);
}

/* How many of these the person wrote, as far as the index knows them. */
static enum verdict count_of(struct call *c, struct str name, unsigned kinds, int64_t *ret,
                             struct err *e) {
    struct search_query *q = arena_alloc(c->arena, sizeof *q);
    struct search_answer found;
    search_query_init(q);
    q->order = SEARCH_BY_DATE;
    q->limit = 1;
    q->count_to = SEARCH_API_COUNT;
    q->groups[0].tags[0] = (struct search_tag){.kind = TAG_AUTHOR, .name = name};
    q->groups[1].tags[0] = (struct search_tag){.kind = TAG_KIND, .kinds = kinds};
    q->groups[0].n = q->groups[1].n = 1;
    q->n_groups = 2;
    enum verdict v = store_search(c->store, c->arena, q, &found, e);
    if (v == V_OK)
        *ret = found.total;
    return v;
}

static enum verdict user(struct call *c, struct err *e) {
    struct read_user u;
    int64_t stories = 0, comments = 0;
    enum verdict v = store_read_user(c->store, c->arena, c->rest, &u, e);
    if (v == V_NOT_FOUND)
        return err_set(e, v, "http", 0, "no profile of '%.*s' is in this archive",
                       (int)(c->rest.n < 40 ? c->rest.n : 40), c->rest.p);
    if (v == V_OK)
        v = count_of(c, u.user.id, SEARCH_STORY | SEARCH_POLL | SEARCH_JOB, &stories, e);
    if (v == V_OK)
        v = count_of(c, u.user.id, SEARCH_COMMENT, &comments, e);
    if (v != V_OK)
        return v;
    struct strbuf *b = &c->body;
    strbuf_adds(b, "{\"id\":null");
    json_str(b, ",\"username\":", u.user.id);
    json_str(b, ",\"about\":", u.user.about);
    json_num(b, ",\"karma\":", u.user.karma);
    json_when(b, ",\"created_at\":", u.user.created);
    strbuf_adds(b, ",\"avg\":null,\"delay\":null");
    json_num(b, ",\"submitted\":", (int64_t)u.user.n_submitted);
    json_when(b, ",\"updated_at\":", fetched_seconds(u.last_fetched_at));
    json_num(b, ",\"submission_count\":", stories);
    json_num(b, ",\"comment_count\":", comments);
    json_num(b, ",\"created_at_i\":", u.user.created);
    json_str(b, ",\"objectID\":", u.user.id);
    json_when(b, ",\"fetched_at\":", fetched_seconds(u.last_fetched_at));
    json_num(b, ",\"fetched_at_i\":", fetched_seconds(u.last_fetched_at));
    strbuf_adds(b, u.gone ? ",\"gone\":true}" : "}");
    return finish(c, e);
}

static const struct route routes[] = {
    {"/api/v1/search", by_relevance, ROUTE_QUERY, DIALECT_API, NULL},
    {"/api/v1/search_by_date", by_date, ROUTE_QUERY, DIALECT_API, NULL},
    {"/api/v1/users/*", user, ROUTE_QUERY, DIALECT_API, NULL},
};
const struct route_table search_api_routes = {routes, ARRAY_LEN(routes), AREA_SEARCH_API};
