#include "web/page.h"

#include "web/assets.h"

#include <string.h>

#define STALE_MS                                                                    \
    (10 * INT64_C(60000)) /* a mirror that has not looked for longer says so louder \
                           */

static const struct {
    const char *path, *name;
} entries[] = {
    {"/", "top"},      {"/newest", "new"}, {"/best", "best"},   {"/ask", "ask"},
    {"/show", "show"}, {"/jobs", "jobs"},  {"/links", "links"}, {"/add", "add"},
};

/* A hand mirror seen from the front: the glass, and the light on it. */
static const char mark[] =
    "<svg class=\"mark\" viewBox=\"0 0 32 32\" width=\"26\" height=\"26\" aria-hidden=\"true\">"
    "<circle class=\"rim\" cx=\"16\" cy=\"16\" r=\"14\"/>"
    "<circle class=\"glass\" cx=\"16\" cy=\"16\" r=\"11\"/>"
    "<path class=\"glint\" d=\"M9.5 19.5 19.5 9.5M12.5 22.5 22.5 12.5\"/></svg>";

static void navigation(struct strbuf *b, const char *here) {
    strbuf_adds(b, "<nav class=\"lists\" aria-label=\"Lists\"><ul>");
    for (size_t i = 0; i < ARRAY_LEN(entries); i++) {
        bool current = here && strcmp(here, entries[i].path) == 0;
        strbuf_addf(b, "<li><a href=\"%s\"%s>%s</a></li>", entries[i].path,
                    current ? " aria-current=\"page\"" : "", entries[i].name);
    }
    strbuf_adds(b, "</ul></nav>");
}

static void search_box(struct strbuf *b, struct str query) {
    strbuf_adds(b, "<form class=\"find\" role=\"search\" action=\"/search\" method=\"get\">"
                   "<input type=\"search\" name=\"q\" id=\"q\" placeholder=\"Search\" "
                   "aria-label=\"Search stories and comments\" maxlength=\"400\" "
                   "autocomplete=\"off\" enterkeyhint=\"search\" value=\"");
    strbuf_add_html(b, query);
    strbuf_adds(b, "\"></form>");
}

static void banner(struct strbuf *b, const struct page_head *h) {
    bool status = h->here && strcmp(h->here, "/status") == 0;
    strbuf_adds(b, "<header class=\"top\"><div class=\"bar\">"
                   "<a class=\"home\" href=\"/\" aria-label=\"tain, front page\">");
    strbuf_adds(b, mark);
    strbuf_adds(b, "<span class=\"word\">tain</span></a>");
    navigation(b, h->here);
    search_box(b, h->query);
    strbuf_addf(b, "<a class=\"status\" href=\"/status\"%s>status</a></div></header>\n",
                status ? " aria-current=\"page\"" : "");
}

void page_begin(struct strbuf *b, const struct page_head *h) {
    strbuf_adds(b,
                "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>");
    if (h->title.p) {
        strbuf_add_html(b, h->title);
        strbuf_adds(b, " · tain");
    } else {
        strbuf_adds(b, "tain: Hacker News, mirrored");
    }
    strbuf_adds(b, "</title>\n"
                   "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                   "<meta name=\"color-scheme\" content=\"light dark\">\n");
    if (h->no_index)
        strbuf_adds(b, "<meta name=\"robots\" content=\"noindex\">\n");
    if (h->again_s)
        strbuf_addf(b, "<noscript><meta http-equiv=\"refresh\" content=\"%d\"></noscript>\n",
                    h->again_s);
    strbuf_addf(b,
                "<link rel=\"icon\" type=\"image/svg+xml\" href=\"%s\">\n"
                "<link rel=\"stylesheet\" href=\"%s\">\n"
                "<script src=\"%s\"></script>\n",
                asset_url("favicon.svg"), asset_url("tain.css"), asset_url("tain.js"));
    if (h->script)
        strbuf_addf(b, "<script src=\"%s\"></script>\n", asset_url(h->script));
    strbuf_adds(b, "</head>\n<body>\n"
                   "<a class=\"skip\" href=\"#main\">Skip to the content</a>\n");
    banner(b, h);
    strbuf_adds(b, "<main id=\"main\" tabindex=\"-1\">\n");
}

static void freshness(struct strbuf *b, const struct archive_state *state, int64_t now_ms) {
    if (!state || !state->maxitem_at) {
        strbuf_adds(b, "<p class=\"fresh\">This mirror has not looked at the upstream yet.</p>");
        return;
    }
    bool stale = now_ms - state->maxitem_at > STALE_MS;
    strbuf_addf(b, "<p class=\"fresh%s\">A mirror of Hacker News, ", stale ? " stale" : "");
    if (state->frontier_excluding_waiting) {
        strbuf_adds(b, "complete up to item ");
        page_number(b, state->frontier_excluding_waiting);
        strbuf_adds(b, " of ");
        page_number(b, state->maxitem);
    } else {
        strbuf_adds(b, "being filled");
    }
    strbuf_adds(b, "; it last looked ");
    page_time(b, state->maxitem_at / 1000, now_ms / 1000);
    strbuf_adds(b, ".</p>");
}

void page_end(struct strbuf *b, const struct archive_state *state, int64_t now_ms) {
    strbuf_adds(b, "</main>\n<footer class=\"foot\">");
    freshness(b, state, now_ms);
    strbuf_adds(b, "<p class=\"else\"><a href=\"/status\">status</a> "
                   "<a href=\"https://news.ycombinator.com/\" "
                   "rel=\"noopener noreferrer\">Hacker News</a></p></footer>\n</body>\n</html>\n");
}

void page_error(struct strbuf *b, int status, const char *words, struct str message) {
    page_begin(b, &(struct page_head){.title = str_of(words), .no_index = true});
    strbuf_addf(b, "<section class=\"oops\"><p class=\"code\">%d</p><h1>%s</h1>", status, words);
    if (message.n) {
        strbuf_adds(b, "<p>");
        strbuf_add_html(b, message);
        strbuf_adds(b, "</p>");
    }
    strbuf_adds(b, "<p><a href=\"/\">To the front page</a></p></section>\n</main>\n"
                   "</body>\n</html>\n");
}
