/* Who discusses a link, on its page, beside stories of the mirror and in the list of links. */
#include "web/link_parts.h"

#include "web/page.h"

#include <string.h>
#include <strings.h>

#define SNIPPET 240 /* bytes of a summary in a list */
#define BESIDE 12   /* discussions beside a story */

struct str link_name(const struct link *l) {
    static const char *const schemes[] = {"https://", "http://"};
    if (l->title.n)
        return l->title;
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
        size_t n = strlen(schemes[i]);
        if (l->url.n > n && strncasecmp(l->url.p, schemes[i], n) == 0)
            return (struct str){l->url.p + n, l->url.n - n};
    }
    return l->url;
}

void link_prose(struct strbuf *b, struct str text) {
    while (text.n && text.p[text.n - 1] == '\n')
        text.n--;
    strbuf_adds(b, "<div class=\"text\"><p>");
    for (size_t i = 0, n; i < text.n; i += n) {
        const char *end = memmem(text.p + i, text.n - i, "\n\n", 2);
        n = end ? (size_t)(end - text.p) - i : text.n - i;
        strbuf_add_html(b, (struct str){text.p + i, n});
        while (i + n < text.n && text.p[i + n] == '\n')
            n++;
        if (end && i + n < text.n)
            strbuf_adds(b, "</p><p>");
    }
    strbuf_adds(b, "</p></div>");
}

/* Discussions -----------------------------------------------------------------------------------
 */

static void talk_href(struct strbuf *b, const struct link_discussion *d, bool here) {
    if (here) {
        strbuf_adds(b, "href=\"/item?id=");
        strbuf_add_urlencoded(b, d->external_id);
        strbuf_addc(b, '"');
    } else {
        page_outside_href(b, d->external_url);
    }
}

static void talk_title(struct strbuf *b, const struct link_discussion *d, bool here) {
    struct str title = d->title.n ? d->title : STR("A discussion");
    if (!here && !page_may_link(d->external_url)) {
        strbuf_add_html(b, title);
        return;
    }
    strbuf_adds(b, "<a class=\"title\" ");
    talk_href(b, d, here);
    strbuf_addc(b, '>');
    strbuf_add_html(b, title);
    strbuf_adds(b, "</a>");
}

static void talk_meta(struct strbuf *b, const struct link_discussion *d, bool with_site,
                      int64_t now) {
    strbuf_adds(b, "<p class=\"meta\">");
    if (d->subreddit.n) {
        strbuf_adds(b, "<span class=\"where\">r/");
        strbuf_add_html(b, d->subreddit);
        strbuf_adds(b, "</span> ");
    } else if (with_site) {
        strbuf_addf(b, "<span class=\"where\">%s</span> ",
                    d->site == LINK_SITE_HN ? "Hacker News" : "Reddit");
    }
    if (d->score != DB_NULL) {
        strbuf_adds(b, "<span class=\"points\">");
        page_count(b, d->score, "point");
        strbuf_adds(b, "</span> ");
    }
    if (d->external_created_at) {
        strbuf_adds(b, "<span>");
        page_time(b, d->external_created_at / 1000, now / 1000);
        strbuf_adds(b, "</span>");
    }
    strbuf_adds(b, "</p>");
}

/* The number of comments stands at the right, as in lists of stories. */
static void talk_replies(struct strbuf *b, const struct link_discussion *d, bool here) {
    bool linked = here || page_may_link(d->external_url);
    int64_t n = d->num_comments;
    if (n == DB_NULL)
        return;
    strbuf_addf(b, "<%s class=\"replies%s\"", linked ? "a" : "span", n ? "" : " none");
    if (linked) {
        strbuf_addc(b, ' ');
        talk_href(b, d, here);
    }
    strbuf_adds(b, "><span class=\"n\">");
    page_number(b, n);
    strbuf_addf(b, "</span> <span class=\"w\">comment%s</span></%s>", n == 1 ? "" : "s",
                linked ? "a" : "span");
}

static void talk(struct strbuf *b, const struct link_view *v, size_t i, bool with_site) {
    const struct link_discussion *d = &v->talks[i];
    bool here = v->here && v->here[i];
    strbuf_adds(b, "<li class=\"story talk\"><article><h3>");
    talk_title(b, d, here);
    strbuf_adds(b, "</h3>");
    talk_meta(b, d, with_site, v->now);
    strbuf_adds(b, "</article>");
    talk_replies(b, d, here);
    strbuf_adds(b, "</li>\n");
}

size_t link_count_talks(const struct link_view *v, enum link_site site) {
    size_t n = 0;
    for (size_t i = 0; i < v->n_talks; i++)
        n += v->talks[i].site == site;
    return n;
}

void link_talks(struct strbuf *b, const struct link_view *v, enum link_site site) {
    if (!link_count_talks(v, site))
        return;
    strbuf_adds(b, "<ol class=\"talks\">\n");
    for (size_t i = 0; i < v->n_talks; i++)
        if (v->talks[i].site == site)
            talk(b, v, i, false);
    strbuf_adds(b, "</ol>\n");
}

/* In lists --------------------------------------------------------------------------------------
 */

static void counts_of(struct strbuf *b, const struct link_entry *l) {
    static const struct {
        enum link_site site;
        const char *name;
    } sites[] = {{LINK_SITE_REDDIT, "Reddit"}, {LINK_SITE_HN, "HN"}};
    for (size_t i = 0; i < ARRAY_LEN(sites); i++) {
        if (!l->discussions[sites[i].site])
            continue;
        strbuf_adds(b, "<span>");
        page_number(b, l->discussions[sites[i].site]);
        strbuf_addf(b, " on %s</span> ", sites[i].name);
    }
}

static void snippet(struct strbuf *b, struct str text) {
    size_t n = text.n;
    if (!n)
        return;
    if (n > SNIPPET) {
        n = SNIPPET;
        while (n > SNIPPET / 2 && text.p[n] != ' ')
            n--;
        while (n && ((unsigned char)text.p[n] & 0xC0) == 0x80)
            n--;
    }
    strbuf_adds(b, "<p class=\"snippet\">");
    strbuf_add_html(b, (struct str){text.p, n});
    strbuf_adds(b, n < text.n ? " …</p>" : "</p>");
}

void link_item(struct strbuf *b, const struct link_entry *l, struct str domain, int64_t now) {
    int64_t n = l->comments[LINK_SITE_REDDIT] + l->comments[LINK_SITE_HN];
    strbuf_addf(b, "<li class=\"story\"><article><h2><a class=\"title\" href=\"/link/%lld\">",
                (long long)l->link.id);
    strbuf_add_html(b, link_name(&l->link));
    strbuf_adds(b, "</a>");
    if (domain.n && page_may_link(l->link.url)) {
        strbuf_adds(b, " <a class=\"site\" ");
        page_outside_href(b, l->link.url);
        strbuf_addc(b, '>');
        strbuf_add_html(b, domain);
        strbuf_adds(b, "</a>");
    }
    strbuf_adds(b, "</h2><p class=\"meta\"><span>added ");
    page_time(b, l->link.created_at / 1000, now / 1000);
    strbuf_adds(b, "</span> ");
    counts_of(b, l);
    if (l->pending)
        strbuf_adds(b, "<span class=\"tag\">checking…</span>");
    strbuf_adds(b, "</p>");
    snippet(b, l->link.summary.n ? l->link.summary : l->link.description);
    strbuf_addf(b, "</article><a class=\"replies%s\" href=\"/link/%lld\"><span class=\"n\">",
                n ? "" : " none", (long long)l->link.id);
    page_number(b, n);
    strbuf_addf(b, "</span> <span class=\"w\">comment%s</span></a></li>\n", n == 1 ? "" : "s");
}

static bool is_story(const struct link_discussion *d, int64_t story) {
    int64_t id;
    return d->site == LINK_SITE_HN && str_to_i64(d->external_id, &id) && id == story;
}

void link_beside(struct strbuf *b, const struct link_view *v, int64_t story) {
    size_t others = 0, shown = 0;
    for (size_t i = 0; i < v->n_talks; i++)
        others += !is_story(&v->talks[i], story);
    strbuf_adds(b, "<section class=\"beside\" aria-label=\"About the article\">");
    if (v->link.summary.n)
        link_prose(b, v->link.summary);
    if (others)
        strbuf_adds(b, "<h2>Discussed elsewhere</h2><ol class=\"talks\">\n");
    for (size_t i = 0; i < v->n_talks && shown < BESIDE; i++)
        if (!is_story(&v->talks[i], story)) {
            talk(b, v, i, true);
            shown++;
        }
    if (others)
        strbuf_adds(b, "</ol>\n");
    strbuf_adds(b, "<p class=\"links\"><a href=\"/link/");
    page_int(b, v->link.id);
    strbuf_adds(b, "\">");
    if (others > shown)
        strbuf_addf(b, "all %zu discussions", others);
    else
        strbuf_adds(b, "more about this link");
    strbuf_adds(b, "</a>");
    if (link_is_pending(v))
        strbuf_adds(b, " <span>being looked up…</span>");
    strbuf_adds(b, "</p></section>\n");
}
