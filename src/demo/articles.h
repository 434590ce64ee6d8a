/* The articles that stories name, once the corpus has sites (corpus_set_sites()): each is a number,
 * from which its URL, its title and its text are computed, as items are from their ids. The sites
 * are names below .localhost, which browsers and libcurl take to be this machine. Any thread. */
#ifndef TAIN_DEMO_ARTICLES_H
#define TAIN_DEMO_ARTICLES_H

#include "demo/corpus.h"

#define ARTICLE_URL_MAX 512
#define ARTICLE_PAGE_MAX (64 * 1024)
#define ARTICLE_STORIES_MAX 50

extern const char *const article_hosts[];
extern const size_t article_n_hosts;

enum article_kind {
    ARTICLE_PAGE,
    ARTICLE_GONE, /* 404 */
    ARTICLE_PDF,  /* not a page */
    ARTICLE_SLOW, /* a page that takes seconds */
};
enum article_kind article_kind(int64_t number);

/* Of a live story; 0: it names none. */
int64_t article_of_story(const struct corpus *c, int64_t id);
/* By its URL, or the path of it; 0: it is none of ours. */
int64_t article_of_url(struct str url);
int64_t article_of_path(struct str path);
void article_url(const struct corpus *c, int64_t number, struct strbuf *out);
void article_title(const struct corpus *c, int64_t number, struct strbuf *out);
/* Appends a page of HTML: navigation, the article, a footer. */
void article_page(const struct corpus *c, int64_t number, struct strbuf *out);
/* Live stories that name it, among the newest 30,000 ids; how many. */
size_t article_stories(const struct corpus *c, int64_t number, int64_t ret[ARTICLE_STORIES_MAX]);

/* What was posted on Reddit about it: 0 to 3 posts with a link, and a fourth that only talks. */
#define ARTICLE_TALK 3
int article_posts(const struct corpus *c, int64_t number);

#endif
