#include "demo/articles.h"

#include "demo/corpus_int.h"

#include <stdio.h>
#include <string.h>

#define STORIES_SCANNED 30000

const char *const article_hosts[] = {"gazette.localhost", "notebook.localhost", "lab.localhost",
                                     "workshop.localhost", "almanac.localhost"};
const size_t article_n_hosts = ARRAY_LEN(article_hosts);

/* Whole sentences of prose: those of comments are too chatty for an article. */
static const struct str PROSE[] = {
    STR("In %y a %a %n was still something that people had to %v by hand."),
    STR("We began with %d %N, and it took us the better part of a year to see that the %n was "
        "what mattered."),
    STR("Most of what is written about %N assumes a %a %n, and there are few of those."),
    STR("The numbers are not large: of a hundred %N, %d were %a, and the rest had been repaired at "
        "least once."),
    STR("Anyone who has tried to %v a %n knows how quickly the %N get in the way."),
    STR("What changed our minds was %t, which treats every %n as if it were %a."),
    STR("It is tempting to %v everything at once; the older %N show where that leads."),
    STR("A %a %n costs little to build and much to keep, which is why so many of them are "
        "abandoned."),
    STR("We measured each %n for %d days, and then once more with the %N removed."),
    STR("The people who %v %N for a living were not surprised by any of this."),
    STR("There is no trick to it, only patience and a %n that is %a enough."),
    STR("By the end of %y the last of the %N had been replaced, and nobody asked for them back."),
    STR("None of this would matter if the %n were not also the cheapest part."),
    STR("If there is a lesson, it is that %N should be %a before they are anything else."),
};

enum article_kind article_kind(int64_t number) {
    switch (number % 29) {
    case 11:
        return ARTICLE_GONE;
    case 17:
        return ARTICLE_PDF;
    case 23:
        return ARTICLE_SLOW;
    default:
        return ARTICLE_PAGE;
    }
}

int64_t article_of_story(const struct corpus *c, int64_t id) {
    struct item it;
    corpus_look(c, id, &it);
    bool lives = it.exists && it.state == STATE_ALIVE && it.kind == KIND_STORY;
    return lives ? text_article(c, &it) : 0;
}

/* The last number of the path is the article's. */
int64_t article_of_path(struct str path) {
    size_t end = 0, from;
    int64_t number;
    for (size_t i = 0; i < path.n && path.p[i] != '?' && path.p[i] != '#'; i++)
        if (path.p[i] >= '0' && path.p[i] <= '9')
            end = i + 1;
    for (from = end; from > 0 && path.p[from - 1] >= '0' && path.p[from - 1] <= '9';)
        from--;
    if (!str_to_i64((struct str){path.p + from, end - from}, &number))
        return 0;
    bool popular = number > 0 && number <= ARTICLES_POPULAR;
    return popular || (number > ARTICLES_OWN && number <= ARTICLES_OWN + CORPUS_MAX_ID) ? number
                                                                                        : 0;
}

int64_t article_of_url(struct str url) {
    const char *scheme = url.n ? memmem(url.p, url.n, "://", 3) : NULL;
    size_t from = scheme ? (size_t)(scheme + 3 - url.p) : 0;
    const char *slash = from < url.n ? memchr(url.p + from, '/', url.n - from) : NULL;
    if (!slash)
        return 0;
    struct str host = {url.p + from, (size_t)(slash - url.p) - from};
    if (!memmem(host.p, host.n, ".localhost:", 11))
        return 0;
    return article_of_path((struct str){slash, url.n - (size_t)(slash - url.p)});
}

void article_url(const struct corpus *c, int64_t number, struct strbuf *out) {
    static const char *const FORMS[] = {"/%y/%a-%n-%v-", "/posts/%a-%N-and-%N-", "/%N/%a/"};
    struct rng r = {corpus_hash(c, SALT_ARTICLE, number)};
    strbuf_addf(out, "http://%s:%d", article_hosts[rng_below(&r, article_n_hosts)],
                corpus_sites(c));
    text_expand(c, &r, FORMS[rng_below(&r, ARRAY_LEN(FORMS))], out);
    strbuf_addf(out, "%lld", (long long)number);
}

void article_submitted_url(const struct corpus *c, int64_t number, int64_t story,
                           struct strbuf *out) {
    static const char *const ADDED[] = {"?utm_source=newsletter", "#comments",
                                        "?utm_source=hn&utm_medium=social", "?fbclid=IwAR0demo"};
    uint64_t h = corpus_hash(c, SALT_ARTICLE, -story);
    article_url(c, number, out);
    if (h % 5 == 0)
        strbuf_adds(out, ADDED[h / 5 % ARRAY_LEN(ADDED)]);
}

/* That of the story which alone names it; see text_title(). */
void article_title(const struct corpus *c, int64_t number, struct strbuf *out) {
    int64_t id = number > ARTICLES_OWN ? number - ARTICLES_OWN : -number;
    struct rng r = {corpus_hash(c, SALT_TITLE, id) + 1};
    text_line(c, &r, &WORDS_TITLE_LINK, out);
}

static void add_escaped(struct strbuf *out, struct str s) {
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == '&' || s.p[i] == '<' || s.p[i] == '>')
            strbuf_addf(out, "&#%d;", s.p[i]);
        else
            strbuf_addc(out, s.p[i]);
}

static void add_paragraphs(const struct corpus *c, struct rng *r, struct strbuf *out) {
    int paragraphs = 4 + (int)rng_below(r, 6);
    size_t at = rng_below(r, ARRAY_LEN(PROSE));
    for (int i = 0; i < paragraphs; i++) {
        int sentences = 3 + (int)rng_below(r, 4);
        strbuf_adds(out, "<p>");
        for (int k = 0; k < sentences; k++) {
            strbuf_adds(out, k ? " " : "");
            text_expand(c, r, PROSE[at].p, out);
            at = (at + 1 + rng_below(r, 3)) % ARRAY_LEN(PROSE); /* not what was just said */
        }
        strbuf_adds(out, "</p>\n");
    }
}

void article_page(const struct corpus *c, int64_t number, struct strbuf *out) {
    CLEANUP(strbuf_release) struct strbuf title;
    char author[CORPUS_NAME_MAX];
    struct rng r = {corpus_hash(c, SALT_ARTICLE, number) + 1};
    strbuf_init(&title, 1024);
    article_title(c, number, &title);
    text_user_name(c, (int)rng_below(&r, CORPUS_USERS), author);
    strbuf_adds(out, "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>");
    add_escaped(out, strbuf_str(&title));
    strbuf_adds(out, "</title>\n<meta name=\"description\" content=\"");
    text_expand(c, &r, PROSE[rng_below(&r, ARRAY_LEN(PROSE))].p, out);
    strbuf_adds(out, "\">\n<style>body{font:18px/1.6 serif;max-width:38em;margin:2em auto;"
                     "padding:0 1em}nav,footer{color:#777;font-size:80%}</style></head>\n<body>\n"
                     "<nav>Home · Archive · About</nav>\n<article>\n<h1>");
    add_escaped(out, strbuf_str(&title));
    strbuf_addf(out, "</h1>\n<p class=\"byline\">By %s</p>\n", author);
    add_paragraphs(c, &r, out);
    strbuf_adds(out, "</article>\n<footer>Made up by tain demo: no such person, no such thing."
                     "</footer>\n</body>\n</html>\n");
}

size_t article_stories(const struct corpus *c, int64_t number, int64_t ret[ARTICLE_STORIES_MAX]) {
    size_t n = 0;
    if (number > ARTICLES_OWN) {
        ret[0] = number - ARTICLES_OWN;
        return article_of_story(c, ret[0]) == number;
    }
    int64_t hi = corpus_maxitem(c), lo = hi > STORIES_SCANNED ? hi - STORIES_SCANNED : 0;
    for (int64_t id = hi; id > lo && n < ARTICLE_STORIES_MAX; id--)
        if (article_of_story(c, id) == number)
            ret[n++] = id;
    return n;
}

int article_posts(const struct corpus *c, int64_t number) {
    return (int)(corpus_hash(c, SALT_POST, number) % 4);
}
