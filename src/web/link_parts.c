#include "web/link_parts.h"

#include "web/page.h"

/* Words of each task. */
static const struct words {
    const char *id, *heading;
    const char *busy;    /* while it is pending */
    const char *done;    /* completed, where there are no discussions to count */
    const char *none;    /* not_found */
    const char *failed;  /* before the message */
    const char *skipped; /* before the reason */
    enum link_site site;
    const char *lane; /* whom it asks, for people */
} words[LINK_TASKS] = {
    [LINK_REVERSE] = {"reverse", "Article", "Finding the article…", "The article was found",
                      "There is no article behind this discussion.",
                      "Error checking the discussion", "Not looked for", LINK_SITE_NONE,
                      "the site of the discussion"},
    [LINK_SUMMARY] = {"summary", "Summary", "Reading the article…", "There is a summary",
                      "There is no summary.", "Error making a summary", "No summary",
                      LINK_SITE_NONE, "the summariser"},
    [LINK_REDDIT] = {"reddit", "Reddit", "Checking Reddit…", NULL, "No discussions found on Reddit",
                     "Error checking Reddit", "Reddit was not checked", LINK_SITE_REDDIT, "Reddit"},
    [LINK_HN] = {"hn", "Hacker News", "Checking HN…", NULL, "No discussions found on HN",
                 "Error checking HN", "HN was not checked", LINK_SITE_HN, "HN"},
};
/* On the page; what is not named here comes behind. */
static const enum link_task order[] = {LINK_REVERSE, LINK_SUMMARY, LINK_REDDIT, LINK_HN};

/* A task without words of its own is called by its name. */
static struct words words_of(enum link_task t) {
    const char *name = link_task_name(t);
    if (words[t].id)
        return words[t];
    return (struct words){
        name,    name,           "Under way…",   "Done",        "There is nothing.",
        "Error", "Not done now", LINK_SITE_NONE, "its provider"};
}

static enum link_status status_of(const struct link_view *v, enum link_task t) {
    return v->has_tasks ? v->tasks.tasks[t].status : LINK_NONE;
}

bool link_is_pending(const struct link_view *v) {
    for (int t = 0; t < LINK_TASKS; t++)
        if (status_of(v, (enum link_task)t) == LINK_PENDING)
            return true;
    return false;
}

void link_duration(struct strbuf *b, int64_t ms) {
    int64_t s = (ms + 999) / 1000;
    if (s < 8) {
        strbuf_adds(b, "a few seconds");
        return;
    }
    strbuf_adds(b, "about ");
    if (s < 90)
        page_count(b, (s + 4) / 5 * 5, "second");
    else if (s < 5400)
        page_count(b, (s + 30) / 60, "minute");
    else if (s < 129600)
        page_count(b, (s + 1800) / 3600, "hour");
    else
        page_count(b, (s + 43200) / 86400, "day");
}

/* Its place in the lane -------------------------------------------------------------------------
 */

static int64_t expected_ms(const struct link_place *p, const struct lane_row *lane) {
    int64_t wait = lane->wait_ms > 0 ? lane->wait_ms : 0;
    if (lane->limits.per_window > 0)
        wait += p->ahead * lane->limits.window_ms / lane->limits.per_window;
    return wait;
}

static void place(struct strbuf *b, const struct link_view *v, enum link_task t) {
    const struct link_place *p = &v->places[t];
    const struct lane_row *lane = v->lanes[t];
    if (p->held) {
        strbuf_adds(b, "under way");
    } else if (t != LINK_REVERSE && status_of(v, LINK_REVERSE) == LINK_PENDING) {
        strbuf_adds(b, "when the article is found");
    } else if (!lane) {
        strbuf_adds(b, "no worker has started yet");
    } else if (lane->why == LANE_PAUSED) {
        strbuf_addf(b, "%s is not asked at the moment", words_of(t).lane);
    } else if (lane->why == LANE_BREAKER) {
        strbuf_addf(b, "%s does not answer; the next attempt is in ", words_of(t).lane);
        link_duration(b, lane->wait_ms);
    } else if (p->not_before > v->now) {
        strbuf_adds(b, "there was a problem; it is tried again in ");
        link_duration(b, p->not_before - v->now);
    } else if (!p->ahead) {
        strbuf_adds(b, "next in line, ");
        link_duration(b, expected_ms(p, lane));
    } else {
        page_number(b, p->ahead);
        strbuf_adds(b, p->ahead >= LINK_AHEAD_MAX ? " or more before it, " : " before it, ");
        link_duration(b, expected_ms(p, lane));
    }
}

/* States ----------------------------------------------------------------------------------------
 */

/* A reason or a message is a sentence without its end. */
static void because(struct strbuf *b, const char *before, struct str why) {
    strbuf_adds(b, before);
    if (why.n) {
        strbuf_adds(b, ": ");
        strbuf_add_html(b, why);
    }
}

static void retry_button(struct strbuf *b, const struct link_view *v, enum link_task t) {
    if (!v->may_ask)
        return;
    strbuf_addf(b,
                " <form class=\"retry\" action=\"/api/link/%lld/retry\" method=\"post\">"
                "<button type=\"submit\" aria-label=\"Try again: %s\">Try again</button></form>",
                (long long)v->link.id, words_of(t).heading);
}

static void state(struct strbuf *b, const struct link_view *v, enum link_task t) {
    const struct words own = words_of(t), *w = &own;
    struct str error = v->has_tasks ? v->tasks.tasks[t].error : STR_NONE;
    switch (status_of(v, t)) {
    case LINK_PENDING:
        strbuf_addf(b,
                    "<p class=\"state busy\"><span class=\"spinner\" aria-hidden=\"true\"></span>"
                    "<span class=\"what\">%s</span> <span class=\"place\">",
                    w->busy);
        place(b, v, t);
        strbuf_adds(b, "</span></p>");
        break;
    case LINK_NOT_FOUND:
        if (!w->site || !link_count_talks(v, w->site))
            strbuf_addf(b, "<p class=\"state none\">%s</p>", w->none);
        break;
    case LINK_FAILED:
        strbuf_adds(b, "<div class=\"state failed\"><p>");
        because(b, w->failed, error);
        strbuf_adds(b, "</p>");
        retry_button(b, v, t);
        strbuf_adds(b, "</div>");
        break;
    case LINK_SKIPPED:
        strbuf_adds(b, "<p class=\"state skipped\">");
        because(b, w->skipped, error);
        strbuf_adds(b, "</p>");
        break;
    case LINK_NONE:
    case LINK_COMPLETED:
    case LINK_STATUSES:
        break;
    }
}

/* What a screen reader is told when the state of a task is another one. */
static void announcement(struct strbuf *b, const struct link_view *v, enum link_task t) {
    const struct words own = words_of(t), *w = &own;
    size_t n = w->site ? link_count_talks(v, w->site) : 0;
    enum link_status s = status_of(v, t);
    switch (s == LINK_NOT_FOUND && n ? LINK_COMPLETED : s) {
    case LINK_PENDING:
        strbuf_adds(b, w->busy);
        break;
    case LINK_COMPLETED:
        if (w->site)
            strbuf_addf(b, "%s: %zu discussion%s", w->heading, n, n == 1 ? "" : "s");
        else
            strbuf_adds(b, w->done);
        break;
    case LINK_NOT_FOUND:
        strbuf_adds(b, w->none);
        break;
    case LINK_FAILED:
        strbuf_adds(b, w->failed);
        break;
    case LINK_SKIPPED:
        strbuf_adds(b, w->skipped);
        break;
    case LINK_NONE:
    case LINK_STATUSES:
        break;
    }
}

static void part_open(struct strbuf *b, const struct link_view *v, enum link_task t) {
    const struct words own = words_of(t), *w = &own;
    const char *status = link_status_name(status_of(v, t));
    size_t n = link_count_talks(v, w->site);
    strbuf_addf(b,
                "<section class=\"part\" id=\"%s\" tabindex=\"-1\" aria-labelledby=\"%s-h\" "
                "data-state=\"%s\" "
                "data-say=\"",
                w->id, w->id, status ? status : "");
    announcement(b, v, t);
    strbuf_addf(b, "\"><h2 id=\"%s-h\">%s", w->id, w->heading);
    if (w->site && n)
        strbuf_addf(b, " <span class=\"n\">%zu</span>", n);
    strbuf_adds(b, "</h2>");
}

static void part(struct strbuf *b, const struct link_view *v, enum link_task t) {
    enum link_status s = status_of(v, t);
    bool text = t == LINK_SUMMARY && v->link.summary.n;
    if (s == LINK_NONE && !text && !(words_of(t).site && link_count_talks(v, words_of(t).site)))
        return;
    part_open(b, v, t);
    if (text)
        link_prose(b, v->link.summary);
    state(b, v, t);
    if (words_of(t).site)
        link_talks(b, v, words_of(t).site);
    strbuf_adds(b, "</section>\n");
}

/* The whole -------------------------------------------------------------------------------------
 */

static void head(struct strbuf *b, const struct link_view *v) {
    const struct link *l = &v->link;
    bool outside = page_may_link(l->url);
    strbuf_adds(b, "<h1>");
    if (outside) {
        strbuf_adds(b, "<a class=\"title\" ");
        page_outside_href(b, l->url);
        strbuf_addc(b, '>');
    }
    strbuf_add_html(b, link_name(l));
    strbuf_adds(b, outside ? "</a></h1>" : "</h1>");
    strbuf_adds(b, "<p class=\"meta\">");
    if (l->title.n || !outside) {
        strbuf_adds(b, "<span class=\"address\">");
        strbuf_add_html(b, l->url);
        strbuf_adds(b, "</span> ");
    }
    strbuf_adds(b, "<span>added ");
    page_time(b, l->created_at / 1000, v->now / 1000);
    strbuf_adds(b, "</span></p>\n");
    if (l->description.n && !l->summary.n)
        link_prose(b, l->description);
}

void link_article(struct strbuf *b, const struct link_view *v) {
    bool pending = link_is_pending(v);
    strbuf_addf(b, "<article class=\"link\" id=\"link\" data-link=\"%lld\"%s%s>",
                (long long)v->link.id, pending ? " data-pending=\"yes\"" : "",
                pending && v->may_ask ? " data-wait=\"yes\"" : "");
    head(b, v);
    for (size_t i = 0; i < ARRAY_LEN(order); i++)
        part(b, v, order[i]);
    for (int t = 0; t < LINK_TASKS; t++)
        if (!words[t].id)
            part(b, v, (enum link_task)t);
    strbuf_adds(b, "</article>\n");
}
