/* What is shown of a link: its head, the state of each task, its summary and who discusses it.
 * Everything that comes from outside is escaped here. Pure functions but for link_view_read(),
 * which runs on the thread of its call. */
#ifndef TAIN_WEB_LINK_PARTS_H
#define TAIN_WEB_LINK_PARTS_H

#include "store/lanes.h"
#include "store/links.h"

struct link_view {
    struct link link;
    struct str domain; /* of its URL; absent: not known */
    bool has_tasks;
    struct link_processing tasks;             /* where there are */
    struct link_place places[LINK_TASKS];     /* of those that are pending */
    const struct lane_row *lanes[LINK_TASKS]; /* of the same; NULL: nobody has opened it yet */
    const struct link_discussion *talks;
    const bool *here; /* of each: a story of HN that the mirror has */
    size_t n_talks;
    bool may_ask; /* whoever reads this may write: there are buttons */
    int64_t now;  /* unix milliseconds */
};

struct call;
/* Reads what belongs to a link; v->link was read before, the rest is filled in, and with `places`
 * also where its tasks stand. */
MUST_CHECK enum verdict link_view_read(struct call *c, bool places, struct link_view *v,
                                       struct err *e);

/* Is any task still to be done? */
bool link_is_pending(const struct link_view *v);
/* What to call it: its title, or its URL without the scheme. */
struct str link_name(const struct link *l);
/* Plain text of somebody else's; empty lines part its paragraphs. */
void link_prose(struct strbuf *b, struct str text);
/* Its discussions on one site: how many, and as a list; nothing where there are none. */
size_t link_count_talks(const struct link_view *v, enum link_site site);
void link_talks(struct strbuf *b, const struct link_view *v, enum link_site site);
/* The whole of it, as an <article>. */
void link_article(struct strbuf *b, const struct link_view *v);
/* One link of a list, as an <li>. */
void link_item(struct strbuf *b, const struct link_entry *l, struct str domain, int64_t now);
/* Beside a story of the mirror: what there is of its link but this story itself. */
void link_beside(struct strbuf *b, const struct link_view *v, int64_t story);

/* How long something takes: "a few seconds", "about 2 minutes". */
void link_duration(struct strbuf *b, int64_t ms);

#endif
