/* The text of items and profiles is HTML of a small kind: paragraphs that are not closed, <i>,
 * <b>, <a>, <pre><code> and entities. Here it becomes HTML that may stand in a page of ours, or
 * plain text for search and terminals. Time and space grow with the length of the text. No I/O,
 * no threads.
 *
 * Nothing of a tag is passed on: the six known ones are written anew, without attributes but for
 * the address of a link (http, https or mailto), and all are closed in order. A link to anywhere
 * else keeps its words only; every other tag shows as text. Control characters and broken UTF-8
 * become U+FFFD. */
#ifndef TAIN_HN_HTML_H
#define TAIN_HN_HTML_H

#include "base/str.h"

#define HTML_GROWTH 6      /* safe HTML is at most so many times as long as its source */
#define HTML_TEXT_GROWTH 3 /* and plain text */

/* Append to `out`. False when its maximum was reached: what was there before is left, and nothing
 * is added, so that no half of a tag can get out. The safe form of a safe text is that text. */
MUST_CHECK bool html_safe(struct str html, struct strbuf *out);
/* The same for a page of this mirror: a link to the page of an item or a person at Hacker News
 * leads to the one here (hn/site_page.h). */
MUST_CHECK bool html_page(struct str html, struct strbuf *out);

/* Paragraphs are separated by an empty line; a link that the site has cut short is written out,
 * and one with other words is followed by its address in brackets. */
MUST_CHECK bool html_text(struct str html, struct strbuf *out);

#endif
