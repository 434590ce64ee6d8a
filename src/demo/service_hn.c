/* HN Search: stories by the URL of their article, a story by its id, and items. */
#include "demo/corpus_int.h"
#include "demo/services_int.h"

#include <string.h>

static const char *const TYPES[] = {"story", "comment", "job", "poll", "pollopt"};

/* The members that hits and items have in common, without the braces. */
static void add_story(const struct corpus *c, const struct item *it, struct strbuf *out) {
    CLEANUP(strbuf_release) struct strbuf title, url;
    char author[CORPUS_NAME_MAX];
    bool top = it->kind != KIND_COMMENT && it->kind != KIND_POLLOPT;
    int64_t created = c->first_time + it->id * CORPUS_SECONDS_PER_ID;
    strbuf_init(&title, 1024);
    strbuf_init(&url, ARTICLE_URL_MAX);
    if (top) {
        text_title(c, it, &title);
        text_url(c, it, &url);
    }
    text_user_name(c, it->author, author);
    strbuf_addf(out, "\"author\":\"%s\",\"created_at_i\":%lld,\"points\":%lld,\"num_comments\":%d",
                author, (long long)created, (long long)it->score,
                top ? corpus_descendants(c, it) : 0);
    strbuf_adds(out, ",\"title\":");
    if (title.n)
        strbuf_add_json(out, strbuf_str(&title));
    else
        strbuf_adds(out, "null");
    strbuf_adds(out, ",\"url\":");
    if (url.n)
        strbuf_add_json(out, strbuf_str(&url));
    else
        strbuf_adds(out, "null");
}

static enum MHD_Result answer_hits(struct request *r, const int64_t *ids, size_t n) {
    const struct corpus *c = r->demo->corpus;
    struct strbuf out;
    size_t hits = 0;
    strbuf_init(&out, SERVICE_BODY_MAX);
    strbuf_adds(&out, "{\"hits\":[");
    for (size_t i = 0; i < n; i++) {
        struct item it;
        corpus_look(c, ids[i], &it);
        if (!it.exists || it.state != STATE_ALIVE)
            continue;
        strbuf_addf(&out, "%s{\"objectID\":\"%lld\",", hits++ ? "," : "", (long long)it.id);
        add_story(c, &it, &out);
        strbuf_addc(&out, '}');
    }
    strbuf_addf(&out,
                "],\"nbHits\":%zu,\"page\":0,\"nbPages\":%d,\"hitsPerPage\":100,"
                "\"exhaustiveNbHits\":true}",
                hits, hits ? 1 : 0);
    return reply_json(r->connection, MHD_HTTP_OK, &out);
}

static enum MHD_Result answer_search(struct request *r) {
    const char *tags = service_query(r, "tags"), *story = tags ? strstr(tags, ",story_") : NULL;
    int64_t ids[ARTICLE_STORIES_MAX];
    size_t n = 0;
    int64_t article = article_of_url(str_of(service_query(r, "query")));
    if (story)
        n = str_to_i64(str_of(story + 7), &ids[0]);
    else if (article)
        n = article_stories(r->demo->corpus, article, ids);
    return answer_hits(r, ids, n);
}

static enum MHD_Result answer_item(struct request *r, struct str id) {
    const struct corpus *c = r->demo->corpus;
    struct strbuf out;
    struct item it = {0};
    int64_t number;
    if (str_to_i64(id, &number))
        corpus_look(c, number, &it);
    if (!it.exists || it.state != STATE_ALIVE)
        return reply_error(r->connection, MHD_HTTP_NOT_FOUND, "Not Found");
    strbuf_init(&out, SERVICE_BODY_MAX);
    strbuf_addf(&out, "{\"id\":%lld,\"type\":\"%s\",", (long long)it.id, TYPES[it.kind]);
    if (it.kind == KIND_COMMENT)
        strbuf_addf(&out, "\"parent_id\":%lld,\"story_id\":%lld,", (long long)it.parent,
                    (long long)it.root);
    else if (it.kind == KIND_POLLOPT)
        strbuf_addf(&out, "\"parent_id\":%lld,", (long long)it.poll);
    add_story(c, &it, &out);
    strbuf_adds(&out, ",\"children\":[]}");
    return reply_json(r->connection, MHD_HTTP_OK, &out);
}

enum MHD_Result hn_answer(struct request *r, const char *path) {
    struct str p = str_of(path);
    if (str_eqc(p, "/search"))
        return answer_search(r);
    if (str_starts(p, "/items/"))
        return answer_item(r, (struct str){p.p + 7, p.n - 7});
    return reply_error(r->connection, MHD_HTTP_NOT_FOUND, "Not Found");
}
