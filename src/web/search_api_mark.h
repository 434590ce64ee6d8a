/* Fields of a hit with the words of the query marked, as _highlightResult has them: HTML that may
 * stand in a page (plain text is escaped, HN's HTML passes its whitelist) with <em> around what was
 * found. Never inside of a tag or an entity; a phrase that spans tags is marked in pieces. */
#ifndef TAIN_WEB_SEARCH_API_MARK_H
#define TAIN_WEB_SEARCH_API_MARK_H

#include "store/search.h"

#define MARKS_MAX 2000 /* of one field; what is found beyond is not marked */

enum mark_form { MARK_PLAIN, MARK_HTML };

/* Room that is used again for each field. */
struct marker {
    const struct search_words *words;
    struct strbuf safe, plain, value;
    uint32_t *from; /* for each byte of plain, where it comes from in safe */
    size_t from_cap;
    struct search_mark *marks;
};

/* `words` stays the caller's, and must outlive it. */
void marker_init(struct marker *m, const struct search_words *words);
void marker_release(struct marker *m);
/* Appends {"value":...,"matchLevel":...,"matchedWords":[...]}; the words are looked for when
 * `searched`. */
void marker_add(struct marker *m, struct strbuf *out, struct str field, enum mark_form form,
                bool searched);

#endif
