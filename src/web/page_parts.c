#include "web/page.h"

#include "hn/html.h"

#include <string.h>
#include <strings.h>
#include <time.h>

#define AHEAD_S 300                       /* so far may the upstream's clock run ahead of ours */
#define LAST_SECOND INT64_C(253402300799) /* of the year 9999 */
#define REL_OUTSIDE " rel=\"nofollow noopener noreferrer ugc\""

/* Numbers --------------------------------------------------------------------------------------
 */

void page_int(struct strbuf *b, int64_t n) {
    char digits[24], *p = digits + sizeof digits;
    uint64_t rest = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
    do
        *--p = (char)('0' + rest % 10);
    while (rest /= 10);
    if (n < 0)
        *--p = '-';
    strbuf_add(b, p, (size_t)(digits + sizeof digits - p));
}

void page_number(struct strbuf *b, int64_t n) {
    char digits[32], *p = digits + sizeof digits;
    uint64_t rest = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
    for (int i = 0; i == 0 || rest; i++, rest /= 10) {
        if (i && i % 3 == 0)
            *--p = ',';
        *--p = (char)('0' + rest % 10);
    }
    if (n < 0)
        *--p = '-';
    strbuf_add(b, p, (size_t)(digits + sizeof digits - p));
}

void page_count(struct strbuf *b, int64_t n, const char *word) {
    page_number(b, n);
    strbuf_addc(b, ' ');
    strbuf_adds(b, word);
    if (n != 1)
        strbuf_addc(b, 's');
}

/* Times ----------------------------------------------------------------------------------------
 */

static bool is_instant(int64_t at) {
    return at >= 0 && at <= LAST_SECOND;
}

static void two_digits(char *p, int n) {
    p[0] = (char)('0' + n / 10);
    p[1] = (char)('0' + n % 10);
}

/* "2026-11-16T03:15:07" in UTC, cut to n characters, with this between day and hour. */
static void add_utc(struct strbuf *b, int64_t at, size_t n, char between) {
    char text[] = "0000-00-00T00:00:00";
    struct tm tm;
    time_t t = (time_t)at;
    gmtime_r(&t, &tm);
    two_digits(text, (tm.tm_year + 1900) / 100);
    two_digits(text + 2, (tm.tm_year + 1900) % 100);
    two_digits(text + 5, tm.tm_mon + 1);
    two_digits(text + 8, tm.tm_mday);
    text[10] = between;
    two_digits(text + 11, tm.tm_hour);
    two_digits(text + 14, tm.tm_min);
    two_digits(text + 17, tm.tm_sec);
    strbuf_add(b, text, n);
}

void page_ago(struct strbuf *b, int64_t at, int64_t now) {
    static const struct {
        int64_t below, unit;
        const char *word;
    } steps[] = {
        {3600, 60, "minute"},
        {86400, 3600, "hour"},
        {60 * INT64_C(86400), 86400, "day"},
        {730 * INT64_C(86400), 30 * INT64_C(86400), "month"},
        {INT64_MAX, 365 * INT64_C(86400) + 20900, "year"},
    };
    int64_t age = now - at;
    size_t i = 0;
    if (age < 60) {
        strbuf_adds(b, "just now");
        return;
    }
    while (age >= steps[i].below)
        i++;
    page_count(b, age / steps[i].unit, steps[i].word);
    strbuf_adds(b, " ago");
}

void page_time(struct strbuf *b, int64_t at, int64_t now) {
    if (!is_instant(at)) {
        strbuf_adds(b, "<span class=\"when\">at an unknown time</span>");
        return;
    }
    strbuf_adds(b, "<time datetime=\"");
    add_utc(b, at, 19, 'T');
    strbuf_adds(b, "Z\" title=\"");
    add_utc(b, at, 19, ' ');
    strbuf_adds(b, " UTC\">");
    if (at > now + AHEAD_S) {
        strbuf_adds(b, "on ");
        add_utc(b, at, 10, ' ');
    } else {
        page_ago(b, at, now);
    }
    strbuf_adds(b, "</time>");
}

/* Links ----------------------------------------------------------------------------------------
 */

/* A name that no request could carry has no page. */
static bool can_be_asked_for(struct str name) {
    for (size_t i = 0; i < name.n; i++)
        if ((unsigned char)name.p[i] < ' ' || name.p[i] == 0x7F)
            return false;
    return name.n > 0;
}

void page_person(struct strbuf *b, struct str name) {
    if (!name.p)
        return;
    if (!can_be_asked_for(name)) {
        strbuf_adds(b, "<span class=\"by\">");
        strbuf_add_html(b, name);
        strbuf_adds(b, "</span>");
        return;
    }
    strbuf_adds(b, "<a class=\"by\" href=\"/user?id=");
    strbuf_add_urlencoded(b, name);
    strbuf_adds(b, "\">");
    strbuf_add_html(b, name);
    strbuf_adds(b, "</a>");
}

void page_item_href(struct strbuf *b, int64_t id) {
    strbuf_adds(b, "href=\"/item?id=");
    page_int(b, id);
    strbuf_addc(b, '"');
}

bool page_may_link(struct str url) {
    for (size_t i = 0; i < url.n; i++)
        if ((unsigned char)url.p[i] <= ' ' || url.p[i] == 0x7F)
            return false; /* browsers drop some of these, and so read another address than we do */
    return (url.n > 7 && strncasecmp(url.p, "http://", 7) == 0) ||
           (url.n > 8 && strncasecmp(url.p, "https://", 8) == 0);
}

void page_outside_href(struct strbuf *b, struct str url) {
    strbuf_adds(b, "href=\"");
    strbuf_add_html(b, url);
    strbuf_adds(b, "\"" REL_OUTSIDE);
}

/* Items ----------------------------------------------------------------------------------------
 */

void page_text(struct strbuf *b, struct str html) {
    if (!html.p)
        return;
    strbuf_adds(b, "<div class=\"text\">");
    if (!html_page(html, b))
        b->overflow = true; /* too long for the page: the server answers with a limit */
    strbuf_adds(b, "</div>");
}

void page_marks(struct strbuf *b, const struct read_item *it) {
    if (!it->stored)
        strbuf_adds(b, "<span class=\"tag\">not in the archive</span>");
    else if (it->item.deleted)
        strbuf_adds(b, "<span class=\"tag\">deleted</span>");
    else if (it->item.dead)
        strbuf_adds(b, "<span class=\"tag\">dead</span>");
}

void page_title(struct strbuf *b, const struct read_item *it) {
    if (it->item.title.p)
        strbuf_add_html(b, it->item.title);
    else if (it->item.deleted)
        strbuf_adds(b, "[deleted]");
    else if (it->item.dead)
        strbuf_adds(b, "[dead]");
    else
        strbuf_adds(b, "[no title]");
}

void page_headline(struct strbuf *b, const struct read_item *it) {
    bool outside = page_may_link(it->item.url);
    strbuf_adds(b, "<a class=\"title\" ");
    if (outside)
        page_outside_href(b, it->item.url);
    else
        page_item_href(b, it->item.id);
    strbuf_addc(b, '>');
    page_title(b, it);
    strbuf_adds(b, "</a>");
    if (outside && it->item.domain.p) {
        strbuf_adds(b, " <span class=\"site\">");
        strbuf_add_html(b, it->item.domain);
        strbuf_adds(b, "</span>");
    }
}

void page_byline_open(struct strbuf *b, const struct read_item *it, int64_t now) {
    const struct item *i = &it->item;
    bool job = str_eqc(i->type, "job");
    strbuf_adds(b, "<p class=\"meta\">");
    if (i->score != I64_NONE && !job) {
        strbuf_adds(b, "<span class=\"points\">");
        page_count(b, i->score, "point");
        strbuf_adds(b, "</span> ");
    }
    if (i->by.p) {
        page_person(b, i->by);
        strbuf_addc(b, ' ');
    }
    strbuf_adds(b, "<a class=\"when\" ");
    page_item_href(b, i->id);
    strbuf_addc(b, '>');
    page_time(b, i->time, now);
    strbuf_adds(b, "</a> ");
    page_marks(b, it);
}

void page_byline(struct strbuf *b, const struct read_item *it, int64_t now) {
    page_byline_open(b, it, now);
    strbuf_adds(b, "</p>");
}

/* The number of comments stands apart, at the right: it is the way to the thread. */
static void replies(struct strbuf *b, const struct read_item *it) {
    int64_t n = it->item.descendants == I64_NONE ? 0 : it->item.descendants;
    if (str_eqc(it->item.type, "job"))
        return;
    strbuf_addf(b, "<a class=\"replies%s\" ", n ? "" : " none");
    page_item_href(b, it->item.id);
    strbuf_adds(b, "><span class=\"n\">");
    page_number(b, n);
    strbuf_adds(b, n == 1 ? "</span> <span class=\"w\">comment</span></a>"
                          : "</span> <span class=\"w\">comments</span></a>");
}

void page_story(struct strbuf *b, const struct read_item *it, int64_t rank, int64_t now) {
    bool gone = it->item.dead || it->item.deleted;
    strbuf_addf(b, "<li class=\"story%s\"><span class=\"rank\">", gone ? " gone" : "");
    page_int(b, rank);
    strbuf_adds(b, "</span><article><h2>");
    page_headline(b, it);
    strbuf_adds(b, "</h2>");
    page_byline(b, it, now);
    strbuf_adds(b, "</article>");
    replies(b, it);
    strbuf_adds(b, "</li>\n");
}

void page_more(struct strbuf *b, struct str href, const char *words) {
    strbuf_adds(b, "<p class=\"more\"><a rel=\"next\" href=\"");
    strbuf_add_html(b, href);
    strbuf_adds(b, "\">");
    strbuf_adds(b, words);
    strbuf_adds(b, "</a></p>\n");
}
