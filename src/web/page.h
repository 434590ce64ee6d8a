/* What all pages are made of: head, navigation and foot of a page, and the small parts of it
 * (times, names, links, counts). Everything that comes from outside is escaped here, or passes the
 * whitelist of hn/html.h. No inline script and no inline style: the policy of the server forbids
 * both. The clock is passed in. Pure functions but for those that take a call,
 * which run on the thread of their call. */
#ifndef TAIN_WEB_PAGE_H
#define TAIN_WEB_PAGE_H

#include "store/read.h"
#include "web/call.h"

/* Where an item or a person is at the upstream; the id or the name follows. */
#define PAGE_HN_ITEM "https://news.ycombinator.com/item?id="
#define PAGE_HN_USER "https://news.ycombinator.com/user?id="

struct page_head {
    struct str title;   /* of the window; absent: the name of the program alone */
    const char *here;   /* path of the entry of the navigation that this page is; NULL: none */
    struct str query;   /* what stands in the search box */
    bool no_index;      /* search engines shall not keep this page */
    const char *script; /* a file of assets/ besides tain.js; NULL: none */
    int again_s; /* without script it is asked for again after so many seconds; 0: it is not */
};

/* Begins the page, up to and with <main>. */
void page_begin(struct strbuf *b, const struct page_head *h);
/* Ends it; the foot says how fresh the mirror is. state NULL: nothing is known of it. */
void page_end(struct strbuf *b, const struct archive_state *state, int64_t now_ms);
/* A whole page that says what went wrong: in a few words of ours, and in a message in plain text,
 * which may be empty. */
void page_error(struct strbuf *b, int status, const char *words, struct str message);

/* The same for a call: page_close() reads the state of the archive for the foot. */
void page_open(struct call *c, const struct page_head *h);
MUST_CHECK enum verdict page_close(struct call *c, struct err *e);
/* A whole page with status 404 about something that the archive lacks and that may be elsewhere:
 * `message` is a sentence of ours, `original` its address at the upstream. */
MUST_CHECK enum verdict page_missing(struct call *c, const char *message, struct str original,
                                     struct err *e);
/* A note on what is not in the search index yet, where there is something: it cannot be found. */
MUST_CHECK enum verdict page_index_note(struct call *c, struct err *e);
/* Now in unix milliseconds, by the clock of the server. */
int64_t page_now(const struct call *c);

/* Small parts --------------------------------------------------------------------------------- */

/* A decimal number, plain or with a comma at each thousand. */
void page_int(struct strbuf *b, int64_t n);
void page_number(struct strbuf *b, int64_t n);
/* "1 comment", "1,234 comments": the word is for one, and takes an s for more. */
void page_count(struct strbuf *b, int64_t n, const char *word);

/* A <time> element: how long ago in words, the instant itself in its title. Seconds; what is
 * missing, or further ahead of now than clocks err, is said as it is. */
void page_time(struct strbuf *b, int64_t at, int64_t now);
/* The words alone: "3 hours ago". */
void page_ago(struct strbuf *b, int64_t at, int64_t now);

/* A link to the page of a person; the name alone where it holds control characters. Nothing for an
 * absent name. */
void page_person(struct strbuf *b, struct str name);
/* href="/item?id=N" */
void page_item_href(struct strbuf *b, int64_t id);
/* Whether an address may be followed from a page of ours: http and https only, and no blanks. */
bool page_may_link(struct str url);
/* href="..." and what keeps a foreign page at a distance; call it only where page_may_link(). */
void page_outside_href(struct strbuf *b, struct str url);

/* HN's own HTML through the whitelist, in a <div class="text">. Nothing for an absent text. */
void page_text(struct strbuf *b, struct str html);

/* "[dead]", "[deleted]" or "[not in the archive]" as marks; nothing for a plain item. */
void page_marks(struct strbuf *b, const struct read_item *it);

/* What to call a story: its title, or what it is when it has none any more. */
void page_title(struct strbuf *b, const struct read_item *it);
/* The title as a heading's content: linked to the article or, without one, to its page here; and
 * the site behind it. */
void page_headline(struct strbuf *b, const struct read_item *it);
/* Points, author and time of a story, for below its title; and the same as the beginning of a line
 * that the caller ends with </p>. */
void page_byline_open(struct strbuf *b, const struct read_item *it, int64_t now);
void page_byline(struct strbuf *b, const struct read_item *it, int64_t now);

/* One story of a list, as an <li>. */
void page_story(struct strbuf *b, const struct read_item *it, int64_t rank, int64_t now);
/* The link to the next page of a list; `href` is ours and escaped. */
void page_more(struct strbuf *b, struct str href, const char *words);

#endif
