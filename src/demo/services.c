/* Which service a request is for, how long it takes, and when it goes wrong. */
#include "base/rng.h"
#include "demo/services_int.h"

#include <string.h>

#define BASE "/services"
#define SLOW_MS 4000

/* `ill_every`: each so many-th call is answered with that status instead. */
static const struct service {
    const char *prefix;
    enum MHD_Result (*answer)(struct request *r, const char *path);
    int delay_ms, spread_ms;
    int ill_every, ill_status, retry_after;
} SERVICES[DEMO_SERVICES] = {
    {BASE "/reddit", reddit_answer, 300, 900, 9, 503, -1},
    {BASE "/hn", hn_answer, 150, 450, 12, 429, 5},
    {BASE "/anthropic", anthropic_answer, 1200, 2600, 8, 529, 3},
};

static bool is_site(const struct request *r) {
    const char *host = service_header(r, MHD_HTTP_HEADER_HOST);
    return host && strstr(host, ".localhost");
}

static const struct service *service_of(const char *path) {
    for (size_t i = 0; i < DEMO_SERVICES; i++) {
        size_t n = strlen(SERVICES[i].prefix);
        if (strncmp(path, SERVICES[i].prefix, n) == 0 && path[n] == '/')
            return &SERVICES[i];
    }
    return NULL;
}

bool services_route(const struct request *r, const char *path) {
    return corpus_sites(r->demo->corpus) && (is_site(r) || service_of(path));
}

static enum MHD_Result site_answer(struct request *r, const char *path) {
    struct strbuf page;
    int64_t number = article_of_path(str_of(path));
    strbuf_init(&page, ARTICLE_PAGE_MAX);
    if (!number || article_kind(number) == ARTICLE_GONE) {
        strbuf_adds(&page, "<!doctype html>\n<title>Not here</title>\n<h1>Not here</h1>\n"
                           "<p>This page has moved on and left no address.</p>\n");
        return reply_page(r->connection, MHD_HTTP_NOT_FOUND, "text/html; charset=utf-8", &page);
    }
    if (article_kind(number) == ARTICLE_PDF) {
        strbuf_adds(&page, "%PDF-1.4\n%%EOF\n");
        return reply_page(r->connection, MHD_HTTP_OK, "application/pdf", &page);
    }
    article_page(r->demo->corpus, number, &page);
    return reply_page(r->connection, MHD_HTTP_OK, "text/html; charset=utf-8", &page);
}

/* The first time: it is counted, and what becomes of it is decided. */
static int begin(struct request *r, const struct service *s, const char *path) {
    struct demo *d = r->demo;
    r->begun = true;
    r->endpoint = EP_SERVICE;
    stats_count(&d->stats.requests[EP_SERVICE]);
    if (!s)
        return article_kind(article_of_path(str_of(path))) == ARTICLE_SLOW ? SLOW_MS : 100;
    int64_t n = atomic_fetch_add(&d->service_calls[s - SERVICES], 1) + 1;
    r->service_ill = n % s->ill_every == 0;
    return s->delay_ms + (int)(rng_mix((uint64_t)n) % (uint64_t)s->spread_ms);
}

enum MHD_Result services_answer(struct request *r, const char *path) {
    const struct service *s = is_site(r) ? NULL : service_of(path);
    if (!r->begun) {
        int delay_ms = begin(r, s, path);
        if (waker_suspend(&r->demo->waker, r->connection, delay_ms))
            return MHD_YES; /* the library calls again when the time has come */
    }
    if (!s)
        return site_answer(r, path);
    if (r->service_ill)
        return reply_status(r->connection, (unsigned)s->ill_status, s->retry_after);
    return s->answer(r, path + strlen(s->prefix));
}

/* --- what is worth trying --- */

struct finds {
    int64_t article, story, gone, pdf;
};

static void look_around(const struct corpus *c, struct finds *ret) {
    int64_t hi = corpus_maxitem(c), lo = hi > 20000 ? hi - 20000 : 0;
    *ret = (struct finds){0};
    for (int64_t id = hi; id > lo; id--) {
        int64_t number = article_of_story(c, id);
        int64_t *to = NULL;
        if (!number)
            continue;
        if (article_kind(number) == ARTICLE_GONE)
            to = &ret->gone;
        else if (article_kind(number) == ARTICLE_PDF)
            to = &ret->pdf;
        else if (article_kind(number) == ARTICLE_PAGE && article_posts(c, number) >= 2)
            to = ret->article ? NULL : &ret->article;
        if (to && !*to)
            *to = number;
        else if (article_kind(number) == ARTICLE_PAGE && number != ret->article && !ret->story)
            ret->story = id;
        if (ret->article && ret->story && ret->gone && ret->pdf)
            return;
    }
}

static void tell_article(const struct corpus *c, int64_t number, const char *what, FILE *out) {
    CLEANUP(strbuf_release) struct strbuf url;
    if (!number)
        return;
    strbuf_init(&url, ARTICLE_URL_MAX);
    article_url(c, number, &url);
    fprintf(out, "# %s: %.*s\n", what, STR_FMT(strbuf_str(&url)));
}

static void tell_finds(const struct corpus *c, FILE *out) {
    struct finds f;
    char id[POST_ID_MAX];
    look_around(c, &f);
    tell_article(c, f.article, "an article", out);
    if (f.article) {
        post_id(f.article, 0, id);
        fprintf(out, "# a thread of Reddit about it: https://old.reddit.com/r/%s/comments/%s/\n",
                post_subreddit(f.article, 0), id);
        post_id(f.article, 1, id);
        fprintf(out, "# a share link of Reddit to it: https://www.reddit.com/r/%s/s/Demo%s\n",
                post_subreddit(f.article, 1), id);
        post_id(f.article, ARTICLE_TALK, id);
        fprintf(out, "# a thread without an article: https://redd.it/%s\n", id);
    }
    if (f.story)
        fprintf(out, "# a story of HN: https://news.ycombinator.com/item?id=%lld\n",
                (long long)f.story);
    tell_article(c, f.gone, "an article that is gone", out);
    tell_article(c, f.pdf, "a file that is no page", out);
}

void demo_services_tell(struct demo *d, FILE *out) {
    int port = demo_port(d);
    fprintf(out,
            "export TAIN_REDDIT_URL=http://127.0.0.1:%d" BASE "/reddit\n"
            "export TAIN_REDDIT_CLIENT_ID=" DEMO_KEY " TAIN_REDDIT_CLIENT_SECRET=" DEMO_KEY "\n"
            "export TAIN_HN_SEARCH_URL=http://127.0.0.1:%d" BASE "/hn\n"
            "export TAIN_ANTHROPIC_URL=http://127.0.0.1:%d" BASE "/anthropic\n"
            "export ANTHROPIC_API_KEY=" DEMO_KEY "\nexport TAIN_FETCH_ALLOW=",
            port, port, port);
    for (size_t i = 0; i < article_n_hosts; i++)
        fprintf(out, "%s%s:%d", i ? "," : "", article_hosts[i], port);
    fputc('\n', out);
    tell_finds(d->corpus, out);
    fputs("# ready\n", out);
}
