#include "web/search_api_hits.h"

#include "web/json_fields.h"
#include "web/search_api_mark.h"

#include <strings.h>

#define TAG_MAX 4096 /* "author_" and a name */

/* What is written once per answer and used for each hit. */
struct desk {
    struct marker marker;
    struct strbuf tag;
    const struct search_api_answer *a;
};

/* Tags ----------------------------------------------------------------------------------------- */

/* As the index has it. */
static const char *title_tag(struct str title) {
    if (title.n >= 6 && strncasecmp(title.p, "Ask HN", 6) == 0)
        return "ask_hn";
    if (title.n >= 7 && strncasecmp(title.p, "Show HN", 7) == 0)
        return "show_hn";
    return NULL;
}

static bool on_front_page(const struct search_api_answer *a, int64_t id) {
    for (size_t i = 0; i < a->n_front; i++)
        if (a->front[i] == id)
            return true;
    return false;
}

static void add_tags(struct strbuf *out, struct desk *d, const struct read_item *it) {
    const struct item *i = &it->item;
    const char *by_title = str_eqc(i->type, "story") ? title_tag(i->title) : NULL;
    int64_t story = item_is_root(i) ? i->id : it->story_id;
    json_str(out, ",\"_tags\":[", i->type.p ? i->type : STR("story"));
    if (i->by.p) {
        strbuf_clear(&d->tag);
        strbuf_adds(&d->tag, "author_");
        strbuf_add_str(&d->tag, i->by);
        json_str(out, ",", strbuf_str(&d->tag));
    }
    if (story != I64_NONE) {
        json_num(out, ",\"story_", story);
        strbuf_addc(out, '"');
    }
    if (by_title) {
        strbuf_adds(out, ",\"");
        strbuf_adds(out, by_title);
        strbuf_addc(out, '"');
    }
    if (on_front_page(d->a, i->id))
        strbuf_adds(out, ",\"front_page\"");
    strbuf_addc(out, ']');
}

/* Hits ----------------------------------------------------------------------------------------- */

struct marked_field {
    const char *key;
    struct str value;
    enum mark_form form;
    enum search_api_field field;
    enum hit_field name;
};

static void add_marked_fields(struct strbuf *out, struct desk *d, const struct search_hit *h,
                              bool comment) {
    const struct item *i = &h->it.item;
    const struct marked_field fields[] = {
        {"\"title\":", i->title, MARK_PLAIN, API_TITLE, HIT_TITLE},
        {"\"url\":", i->url, MARK_PLAIN, API_URL, HIT_URL},
        {"\"author\":", i->by, MARK_PLAIN, API_AUTHOR, HIT_AUTHOR},
        {"\"story_text\":", comment ? STR_NONE : i->text, MARK_HTML, API_STORY_TEXT,
         HIT_STORY_TEXT},
        {"\"comment_text\":", comment ? i->text : STR_NONE, MARK_HTML, API_COMMENT_TEXT,
         HIT_COMMENT_TEXT},
        {"\"story_title\":", comment ? h->story_title : STR_NONE, MARK_PLAIN, API_STORY_TITLE,
         HIT_STORY_TITLE},
        {"\"story_url\":", comment ? h->story_url : STR_NONE, MARK_PLAIN, API_STORY_URL,
         HIT_STORY_URL},
    };
    unsigned unmarked = d->a->asked->shape.unmarked;
    size_t written = 0;
    if (unmarked == HIT_ALL)
        return;
    strbuf_adds(out, ",\"_highlightResult\":{");
    for (size_t f = 0; f < ARRAY_LEN(fields); f++) {
        if (!fields[f].value.p || unmarked & 1U << fields[f].name)
            continue;
        if (written++)
            strbuf_addc(out, ',');
        strbuf_adds(out, fields[f].key);
        marker_add(&d->marker, out, fields[f].value, fields[f].form,
                   d->a->asked->fields & fields[f].field);
    }
    strbuf_adds(out, "}");
}

static int64_t comments_of(const struct item *i) {
    bool counted = str_eqc(i->type, "story") || str_eqc(i->type, "poll");
    return i->descendants == I64_NONE && counted ? 0 : i->descendants;
}

static bool wants(const struct desk *d, enum hit_field field) {
    return !(d->a->asked->shape.left_out & 1U << field);
}

static void add_num(struct strbuf *out, const struct desk *d, enum hit_field field, const char *key,
                    int64_t n) {
    if (wants(d, field))
        json_num(out, key, n);
}

static void add_str(struct strbuf *out, const struct desk *d, enum hit_field field, const char *key,
                    struct str s) {
    if (wants(d, field))
        json_str(out, key, s);
}

static void add_when(struct strbuf *out, const struct desk *d, enum hit_field field,
                     const char *key, int64_t seconds) {
    if (wants(d, field))
        json_when(out, key, seconds);
}

static void add_fields(struct strbuf *out, const struct desk *d, const struct search_hit *h) {
    const struct item *i = &h->it.item;
    bool root = item_is_root(i), comment = str_eqc(i->type, "comment");
    int64_t parent = i->parent != I64_NONE ? i->parent : i->poll;
    int64_t fetched = fetched_seconds(h->it.last_fetched_at);
    add_when(out, d, HIT_CREATED_AT, ",\"created_at\":", i->time);
    add_str(out, d, HIT_TITLE, ",\"title\":", i->title);
    add_str(out, d, HIT_URL, ",\"url\":", i->url);
    add_str(out, d, HIT_AUTHOR, ",\"author\":", i->by);
    add_num(out, d, HIT_POINTS, ",\"points\":", i->score);
    add_str(out, d, HIT_STORY_TEXT, ",\"story_text\":", comment ? STR_NONE : i->text);
    add_str(out, d, HIT_COMMENT_TEXT, ",\"comment_text\":", comment ? i->text : STR_NONE);
    add_num(out, d, HIT_NUM_COMMENTS, ",\"num_comments\":", comments_of(i));
    add_num(out, d, HIT_STORY_ID, ",\"story_id\":", root ? I64_NONE : h->it.story_id);
    add_str(out, d, HIT_STORY_TITLE, ",\"story_title\":", root ? STR_NONE : h->story_title);
    add_str(out, d, HIT_STORY_URL, ",\"story_url\":", root ? STR_NONE : h->story_url);
    add_num(out, d, HIT_PARENT_ID, ",\"parent_id\":", parent);
    add_num(out, d, HIT_CREATED_AT_I, ",\"created_at_i\":", i->time);
    add_when(out, d, HIT_FETCHED_AT, ",\"fetched_at\":", fetched);
    add_num(out, d, HIT_FETCHED_AT_I, ",\"fetched_at_i\":", fetched);
}

/* Each field brings its comma; the first one's place is that of the brace. */
static void add_hit(struct strbuf *out, struct desk *d, const struct search_hit *h) {
    size_t begin = out->n;
    add_fields(out, d, h);
    if (wants(d, HIT_TAGS))
        add_tags(out, d, &h->it);
    json_num(out, ",\"objectID\":\"", h->it.item.id);
    strbuf_addc(out, '"');
    if (out->n > begin)
        out->p[begin] = '{';
    add_marked_fields(out, d, h, str_eqc(h->it.item.type, "comment"));
    strbuf_addc(out, '}');
}

/* Clients go on until this page: where there is more than was counted, there is at least one more.
 */
static int64_t pages_of(const struct search_api_answer *a) {
    int64_t per_page = a->asked->per_page, total = a->found->total;
    if (!per_page)
        return 0;
    int64_t pages = total / per_page + (total % per_page != 0);
    bool more = !a->found->exact && a->found->n && pages < a->asked->page + 2;
    return more ? a->asked->page + 2 : pages;
}

void search_api_hits(struct strbuf *out, const struct search_api_answer *a) {
    struct desk d = {.a = a};
    int64_t per_page = a->asked->per_page;
    size_t n = per_page ? a->found->n : 0;
    marker_init(&d.marker, a->words);
    strbuf_init(&d.tag, TAG_MAX);
    strbuf_adds(out, "{\"hits\":[");
    for (size_t i = 0; i < n; i++) {
        if (i)
            strbuf_addc(out, ',');
        add_hit(out, &d, &a->found->hits[i]);
    }
    json_num(out, "],\"nbHits\":", a->found->total);
    json_num(out, ",\"page\":", a->asked->page);
    json_num(out, ",\"nbPages\":", pages_of(a));
    json_num(out, ",\"hitsPerPage\":", per_page);
    json_num(out, ",\"processingTimeMS\":", a->took_ms);
    strbuf_adds(out, ",\"exhaustiveNbHits\":");
    strbuf_adds(out, a->found->exact ? "true" : "false");
    json_str(out, ",\"query\":", a->asked->typed);
    json_str(out, ",\"params\":", a->params);
    strbuf_addc(out, '}');
    strbuf_release(&d.tag);
    marker_release(&d.marker);
}
