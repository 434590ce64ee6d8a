/* "/search": stories and comments together, a form of filters that works without script, and what
 * was found with the words marked. The form is the address: a search can be kept and passed on. */
#include "hn/html.h"
#include "hn/search_text.h"
#include "store/search.h"
#include "web/page.h"
#include "web/page_routes.h"
#include "web/server.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define PER_PAGE 20
#define PAGES_MAX 100000
#define SNIPPET 320
#define MARKS_MAX 64
#define TEXT_MAX ((size_t)1024 * 1024) /* plain text of one hit; what is longer is not marked */

/* What the form holds, as it came. */
struct form {
    struct str q, type, author, since, until, points, sort;
    int64_t page;
};

static const struct choice {
    const char *value, *words;
    enum search_tag_kind tag;
    unsigned kinds;
} types[] = {
    {"", "everything", TAG_KIND, 0},
    {"story", "stories", TAG_KIND, SEARCH_STORY | SEARCH_JOB | SEARCH_POLL},
    {"comment", "comments", TAG_KIND, SEARCH_COMMENT},
    {"ask", "Ask HN", TAG_ASK_HN, 0},
    {"show", "Show HN", TAG_SHOW_HN, 0},
    {"job", "jobs", TAG_KIND, SEARCH_JOB},
    {"poll", "polls", TAG_KIND, SEARCH_POLL},
};

static const char *const sorts[][2] = {{"", "best match"}, {"date", "newest first"}};

static struct str given(const struct call *c, const char *name) {
    struct str s = call_param(c, name);
    return s.p ? s : STR("");
}

/* 2026-01-31, at its first or its last second. */
static enum verdict read_day(const char *name, struct str text, bool last, int64_t *ret,
                             struct err *e) {
    int year, month, day, used = 0;
    char copy[16];
    *ret = I64_NONE;
    if (!text.n)
        return V_OK;
    snprintf(copy, sizeof copy, "%.*s", STR_FMT(text));
    if (text.n != 10 || sscanf(copy, "%4d-%2d-%2d%n", &year, &month, &day, &used) != 3 ||
        used != 10 || year < 1970 || month < 1 || month > 12 || day < 1 || day > 31)
        return err_set(e, V_INVALID, "page", 0, "%s: '%.*s' is no day like 2026-01-31", name,
                       STR_FMT(text));
    struct tm tm = {.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day};
    *ret = (int64_t)timegm(&tm) + (last ? 24 * 3600 - 1 : 0);
    return V_OK;
}

static enum verdict read_type(struct str type, struct search_query *q, struct err *e) {
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        if (!str_eqc(type, types[i].value))
            continue;
        if (*types[i].value)
            q->groups[q->n_groups++] = (struct search_group){
                .tags = {{.kind = types[i].tag, .kinds = types[i].kinds}}, .n = 1};
        return V_OK;
    }
    return err_set(e, V_INVALID, "page", 0,
                   "type: '%.*s' is none of story, comment, ask, show, job and poll",
                   STR_FMT(type));
}

static enum verdict read_form(const struct call *c, struct form *f, struct search_query *q,
                              struct err *e) {
    *f = (struct form){.q = given(c, "q"),
                       .type = given(c, "type"),
                       .author = given(c, "author"),
                       .since = given(c, "since"),
                       .until = given(c, "until"),
                       .points = given(c, "points"),
                       .sort = given(c, "sort")};
    search_query_init(q);
    q->text = search_text(c->arena, f->q);
    q->limit = PER_PAGE;
    q->order = str_eqc(f->sort, "date") ? SEARCH_BY_DATE : SEARCH_BY_RELEVANCE;
    enum verdict v = call_param_int(c, "p", 1, PAGES_MAX, 1, &f->page, e);
    if (v == V_OK && f->sort.n && !str_eqc(f->sort, "date"))
        v = err_set(e, V_INVALID, "page", 0, "sort: it can be 'date', or be left out");
    if (v == V_OK)
        v = read_type(f->type, q, e);
    if (v == V_OK)
        v = read_day("since", f->since, false, &q->time_lo, e);
    if (v == V_OK)
        v = read_day("until", f->until, true, &q->time_hi, e);
    if (v == V_OK && f->points.n) /* an empty field of the form is none */
        v = call_param_int(c, "points", 0, INT32_MAX, 0, &q->points_lo, e);
    if (v == V_OK && f->author.n)
        q->groups[q->n_groups++] =
            (struct search_group){.tags = {{.kind = TAG_AUTHOR, .name = f->author}}, .n = 1};
    q->offset = (f->page - 1) * PER_PAGE;
    return v;
}

/* Is anything asked for? An empty form shows itself only. */
static bool is_empty(const struct form *f) {
    return !f->q.n && !f->type.n && !f->author.n && !f->since.n && !f->until.n && !f->points.n;
}

static void option(struct strbuf *b, const char *value, const char *words, struct str chosen) {
    strbuf_addf(b, "<option value=\"%s\"%s>%s</option>", value,
                str_eqc(chosen, value) ? " selected" : "", words);
}

static void field(struct strbuf *b, const char *label, const char *name, const char *more,
                  struct str value) {
    strbuf_addf(b, "<label><span>%s</span><input name=\"%s\" %s value=\"", label, name, more);
    strbuf_add_html(b, value);
    strbuf_adds(b, "\"></label>");
}

static void show_form(struct strbuf *b, const struct form *f) {
    strbuf_adds(b, "<form class=\"filters\" action=\"/search\" method=\"get\">");
    field(b, "Words", "q", "type=\"search\" maxlength=\"400\" autocomplete=\"off\"", f->q);
    strbuf_adds(b, "<label><span>In</span><select name=\"type\">");
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        option(b, types[i].value, types[i].words, f->type);
    strbuf_adds(b, "</select></label>");
    field(b, "By", "author", "maxlength=\"64\" autocomplete=\"off\" autocapitalize=\"none\"",
          f->author);
    field(b, "Since", "since", "type=\"date\"", f->since);
    field(b, "Until", "until", "type=\"date\"", f->until);
    field(b, "Points from", "points", "type=\"number\" min=\"0\" inputmode=\"numeric\"", f->points);
    strbuf_adds(b, "<label><span>Order</span><select name=\"sort\">");
    for (size_t i = 0; i < ARRAY_LEN(sorts); i++)
        option(b, sorts[i][0], sorts[i][1], f->sort);
    strbuf_adds(b, "</select></label><button>Search</button></form>\n");
}

/* The text with <mark> around what was looked for; ellipses where it was cut out of `whole`. */
static void marked(struct strbuf *b, const struct search_words *w, struct str text,
                   struct str whole) {
    struct search_mark marks[MARKS_MAX];
    size_t n = search_marks(w, text, marks, MARKS_MAX), at = 0;
    if (text.p > whole.p)
        strbuf_adds(b, "… ");
    for (size_t i = 0; i < n; i++) {
        strbuf_add_html(b, (struct str){text.p + at, marks[i].at - at});
        strbuf_adds(b, "<mark>");
        strbuf_add_html(b, (struct str){text.p + marks[i].at, marks[i].n});
        strbuf_adds(b, "</mark>");
        at = marks[i].at + marks[i].n;
    }
    strbuf_add_html(b, (struct str){text.p + at, text.n - at});
    if (text.p + text.n < whole.p + whole.n)
        strbuf_adds(b, " …");
}

static void snippet(struct strbuf *b, const struct search_words *w, struct str html) {
    if (!html.n)
        return;
    CLEANUP(strbuf_release) struct strbuf plain;
    strbuf_init(&plain, TEXT_MAX);
    if (!html_text(html, &plain))
        return;
    struct str whole = strbuf_str(&plain);
    strbuf_adds(b, "<p class=\"snippet\">");
    marked(b, w, search_snippet(w, whole, SNIPPET), whole);
    strbuf_adds(b, "</p>");
}

static void story_hit(struct strbuf *b, const struct search_words *w, const struct search_hit *hit,
                      int64_t now) {
    const struct item *it = &hit->it.item;
    strbuf_adds(b, "<h2><a ");
    page_item_href(b, it->id);
    strbuf_addc(b, '>');
    if (it->title.n)
        marked(b, w, it->title, it->title);
    else
        page_title(b, &hit->it);
    strbuf_adds(b, "</a>");
    if (page_may_link(it->url)) {
        strbuf_adds(b, " <a class=\"site\" ");
        page_outside_href(b, it->url);
        strbuf_addc(b, '>');
        strbuf_add_html(b, hit->it.item.domain.n ? hit->it.item.domain : it->url);
        strbuf_adds(b, "</a>");
    }
    strbuf_adds(b, "</h2>");
    page_byline_open(b, &hit->it, now);
    if (it->descendants > 0) {
        strbuf_adds(b, "<span>");
        page_count(b, it->descendants, "comment");
        strbuf_adds(b, "</span>");
    }
    strbuf_adds(b, "</p>");
    snippet(b, w, it->text);
}

static void comment_hit(struct strbuf *b, const struct search_words *w,
                        const struct search_hit *hit, int64_t now) {
    const struct item *it = &hit->it.item;
    strbuf_adds(b, "<p class=\"meta\">");
    page_person(b, it->by);
    strbuf_adds(b, " <a ");
    page_item_href(b, it->id);
    strbuf_addc(b, '>');
    page_time(b, it->time, now);
    strbuf_adds(b, "</a>");
    if (hit->story_title.n) {
        strbuf_adds(b, " on <a ");
        page_item_href(b, hit->it.story_id);
        strbuf_addc(b, '>');
        strbuf_add_html(b, hit->story_title);
        strbuf_adds(b, "</a>");
    }
    strbuf_addc(b, ' ');
    page_marks(b, &hit->it);
    strbuf_adds(b, "</p>");
    snippet(b, w, it->text);
}

static void hits(struct strbuf *b, const struct search_words *w, const struct search_answer *found,
                 int64_t now) {
    strbuf_adds(b, "<ol class=\"hits\">\n");
    for (size_t i = 0; i < found->n; i++) {
        const struct search_hit *hit = &found->hits[i];
        bool root = item_is_root(&hit->it.item);
        strbuf_addf(b, "<li class=\"hit%s\">", root ? "" : " reply");
        (root ? story_hit : comment_hit)(b, w, hit, now);
        strbuf_adds(b, "</li>\n");
    }
    strbuf_adds(b, "</ol>\n");
}

static void link_to_page(struct call *c, const struct form *f, int64_t page) {
    const struct {
        const char *name;
        struct str value;
    } fields[] = {{"q", f->q},         {"type", f->type},   {"author", f->author},
                  {"since", f->since}, {"until", f->until}, {"points", f->points},
                  {"sort", f->sort}};
    CLEANUP(strbuf_release) struct strbuf href;
    strbuf_init(&href, CALL_QUERY_MAX);
    strbuf_addf(&href, "/search?p=%lld", (long long)page);
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        if (!fields[i].value.n)
            continue;
        strbuf_addf(&href, "&%s=", fields[i].name);
        strbuf_add_urlencoded(&href, fields[i].value);
    }
    if (!href.overflow)
        page_more(&c->body, strbuf_str(&href), "More");
}

static void how_many(struct strbuf *b, const struct search_answer *found, int64_t ms) {
    strbuf_adds(b, "<p class=\"note\">");
    if (!found->exact)
        strbuf_adds(b, "at least ");
    page_count(b, found->total, "result");
    strbuf_addf(b, ", %lld ms</p>", (long long)ms);
}

static enum verdict results(struct call *c, const struct form *f, const struct search_query *q,
                            struct err *e) {
    struct search_answer found;
    struct search_words words;
    int64_t begun = clock_mono(web_clock(c->web));
    enum verdict v = store_search(c->store, c->arena, q, &found, e);
    if (v != V_OK)
        return v;
    search_words_of(c->arena, q->text, &words);
    how_many(&c->body, &found, clock_mono(web_clock(c->web)) - begun);
    if (found.n)
        hits(&c->body, &words, &found, page_now(c) / 1000);
    else
        strbuf_adds(&c->body, "<p class=\"empty\">Nothing was found. Fewer words, or fewer "
                              "filters, find more.</p>\n");
    if (found.n && q->offset + PER_PAGE < found.total) /* a page may be short, and not the last */
        link_to_page(c, f, f->page + 1);
    return V_OK;
}

static enum verdict page_search(struct call *c, struct err *e) {
    struct form form;
    struct search_query q;
    enum verdict v = read_form(c, &form, &q, e);
    if (v != V_OK)
        return v;
    page_open(c, &(struct page_head){.title = form.q.n ? form.q : STR("Search"),
                                     .here = "/search",
                                     .query = form.q,
                                     .no_index = true});
    strbuf_adds(&c->body, "<div class=\"headline\"><h1>Search</h1></div>\n");
    show_form(&c->body, &form);
    if (is_empty(&form))
        strbuf_adds(&c->body, "<p class=\"note\">Words, a \"phrase in quotes\", -without; all "
                              "stories and comments of the mirror are looked through.</p>\n");
    else
        v = results(c, &form, &q, e);
    if (v == V_OK)
        v = page_index_note(c, e);
    return v == V_OK ? page_close(c, e) : v;
}

static const struct route routes[] = {
    {"/search", page_search, ROUTE_QUERY, DIALECT_PAGE},
};

const struct route_table page_search_routes = {routes, ARRAY_LEN(routes)};
