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
};

static void add_marked_fields(struct strbuf *out, struct desk *d, const struct search_hit *h,
                              bool comment) {
    const struct item *i = &h->it.item;
    const struct marked_field fields[] = {
        {"\"title\":", i->title, MARK_PLAIN, API_TITLE},
        {"\"url\":", i->url, MARK_PLAIN, API_URL},
        {"\"author\":", i->by, MARK_PLAIN, API_AUTHOR},
        {"\"story_text\":", comment ? STR_NONE : i->text, MARK_HTML, API_STORY_TEXT},
        {"\"comment_text\":", comment ? i->text : STR_NONE, MARK_HTML, API_COMMENT_TEXT},
        {"\"story_title\":", comment ? h->story_title : STR_NONE, MARK_PLAIN, API_STORY_TITLE},
        {"\"story_url\":", comment ? h->story_url : STR_NONE, MARK_PLAIN, API_STORY_URL},
    };
    size_t written = 0;
    strbuf_adds(out, ",\"_highlightResult\":{");
    for (size_t f = 0; f < ARRAY_LEN(fields); f++) {
        if (!fields[f].value.p)
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

static void add_hit(struct strbuf *out, struct desk *d, const struct search_hit *h) {
    const struct item *i = &h->it.item;
    bool root = item_is_root(i), comment = str_eqc(i->type, "comment");
    json_when(out, "{\"created_at\":", i->time);
    json_str(out, ",\"title\":", i->title);
    json_str(out, ",\"url\":", i->url);
    json_str(out, ",\"author\":", i->by);
    json_num(out, ",\"points\":", i->score);
    json_str(out, ",\"story_text\":", comment ? STR_NONE : i->text);
    json_str(out, ",\"comment_text\":", comment ? i->text : STR_NONE);
    json_num(out, ",\"num_comments\":", comments_of(i));
    json_num(out, ",\"story_id\":", root ? I64_NONE : h->it.story_id);
    json_str(out, ",\"story_title\":", root ? STR_NONE : h->story_title);
    json_str(out, ",\"story_url\":", root ? STR_NONE : h->story_url);
    json_num(out, ",\"parent_id\":", i->parent != I64_NONE ? i->parent : i->poll);
    json_num(out, ",\"created_at_i\":", i->time);
    json_when(out, ",\"fetched_at\":", fetched_seconds(h->it.last_fetched_at));
    json_num(out, ",\"fetched_at_i\":", fetched_seconds(h->it.last_fetched_at));
    add_tags(out, d, &h->it);
    json_num(out, ",\"objectID\":\"", i->id);
    strbuf_addc(out, '"');
    add_marked_fields(out, d, h, comment);
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
