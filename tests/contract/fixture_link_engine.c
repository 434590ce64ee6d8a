#include "fixture_link_engine.h"

#include <stdlib.h>
#include <string.h>

#define REDDIT "http://reddit.test"
#define HN "http://hn.test/api/v1"
#define ANTHROPIC "http://anthropic.test"

static enum verdict begin(struct caller *c, const struct web_call *call, void *tag, struct err *e) {
    struct web_caller *s = (struct web_caller *)c;
    struct web *w = s->web;
    int64_t now = clock_mono(&w->f->clock);
    struct web_answer answer = {.status = 200, .retry_after_ms = -1};
    if (w->n_calls == WEB_CALLS)
        return err_set(e, V_LIMIT, "test", 0, "more calls than a test has room for");
    w->script(w->ctx, call, &answer);
    w->calls[w->n_calls].who = call->who;
    w->calls[w->n_calls++].started = now;
    w->n[call->who]++;
    snprintf(w->last[call->who], sizeof w->last[0], "%.*s", STR_FMT(call->path));
    size_t i = s->n_flying++;
    s->flying[i].tag = tag;
    s->flying[i].who = call->who;
    s->flying[i].started = now;
    s->flying[i].ends = now + answer.takes_ms;
    s->flying[i].answer = answer;
    return V_OK;
}

static enum verdict ask(struct caller *c, const struct ask *q, int64_t timeout_ms UNUSED, void *tag,
                        struct err *e) {
    struct web_call call = {.path = q->path, .body = q->body};
    call.who = str_eqc(q->base, REDDIT) ? WEB_REDDIT
               : str_eqc(q->base, HN)   ? WEB_HN
                                        : WEB_ANTHROPIC;
    for (size_t i = 0; i < q->n_headers; i++)
        if (str_starts(q->headers[i], "Authorization: "))
            call.auth = (struct str){q->headers[i].p + 15, q->headers[i].n - 15};
    return begin(c, &call, tag, e);
}

static enum verdict visit(struct caller *c, struct str url, void *tag, struct err *e) {
    if (memmem(url.p, url.n, "127.0.0.1", 9))
        return err_set(e, V_INVALID, "guard", GUARD_LOOPBACK, "a loopback address");
    return begin(c, &(struct web_call){.who = WEB_PAGE, .path = url}, tag, e);
}

static void deliver(struct web_caller *s, size_t i, call_done_fn *done, void *ctx) {
    const struct web_answer a = s->flying[i].answer;
    const struct visit seen = {.cls = a.visit, .url = "", .content_type = "text/html"};
    struct call_result r = {.tag = s->flying[i].tag,
                            .cls = a.status ? net_classify(0, a.status) : NET_CONNECT,
                            .status = a.status,
                            .body = str_of(a.body ? a.body : ""),
                            .headers = str_of(a.headers),
                            .visit = s->flying[i].who == WEB_PAGE ? &seen : NULL,
                            .retry_after_ms = a.retry_after_ms,
                            .elapsed_ms = s->flying[i].ends - s->flying[i].started,
                            .detail = "as the script says"};
    s->flying[i] = s->flying[--s->n_flying];
    done(ctx, &r);
}

static int step(struct caller *c, int64_t deadline, call_done_fn *done, void *ctx) {
    struct web_caller *s = (struct web_caller *)c;
    int64_t now = clock_mono(&s->web->f->clock);
    int n = 0;
    s->next = deadline;
    for (size_t i = 0; i < s->n_flying;) {
        if (s->flying[i].ends > now) {
            if (s->flying[i].ends < s->next)
                s->next = s->flying[i].ends;
            i++;
            continue;
        }
        s->next = now;
        deliver(s, i, done, ctx);
        n++;
    }
    return n;
}

static void wake(struct caller *c UNUSED) {
}

static void cancel_all(struct caller *c) {
    ((struct web_caller *)c)->n_flying = 0;
}

struct web *web_new(struct fix *f, web_fn *script, void *ctx) {
    struct web *w = xcalloc(1, sizeof *w);
    w->f = f;
    w->script = script ? script : web_kind;
    w->ctx = ctx;
    w->store = fix_options(f);
    w->budget = (struct link_budget){.per_million_in = 1000000, .per_million_out = 5000000};
    return w;
}

static void forget_store(struct fix *f, const struct store *s) {
    for (int i = 0; i < f->n_stores; i++)
        if (f->all[i] == s)
            f->all[i] = f->all[--f->n_stores];
}

void web_kill(struct web *w, size_t i) {
    if (!w->engines[i])
        return;
    cancel_all(&w->callers[i].head);
    forget_store(w->f, w->engines[i]->store);
    link_engine_free(w->engines[i]);
    w->engines[i] = NULL;
}

void web_free(struct web *w) {
    for (size_t i = 0; i < w->n_engines; i++)
        web_kill(w, i);
    free(w);
}

size_t web_engine(struct web *w) {
    struct err e;
    size_t i = w->n_engines++;
    struct web_caller *c = &w->callers[i];
    *c = (struct web_caller){
        .head = {.ask = ask, .visit = visit, .step = step, .wake = wake, .cancel_all = cancel_all},
        .web = w};
    snprintf(w->holders[i], sizeof w->holders[i], "host-%zu", i);
    struct link_engine_options o = {
        .store = &w->store,
        .clock = &w->f->clock,
        .caller = &c->head,
        .holder = w->holders[i],
        .hn = {.url = STR(HN), .user_agent = STR("tain")},
        .anthropic = {.url = STR(ANTHROPIC),
                      .key = w->no_key ? STR_NONE : STR("key"),
                      .model = STR("small"),
                      .max_tokens = 400},
        .budget = w->budget,
        .stories = w->stories,
    };
    reddit_conf_init(&o.reddit, STR(REDDIT), w->oauth ? STR("id") : STR_NONE,
                     w->oauth ? STR("secret") : STR_NONE, STR("tain"));
    assert_ok(link_engine_new(&o, &w->engines[i], &e));
    assert_true(w->f->n_stores < MAX_STORES);
    w->f->all[w->f->n_stores++] = w->engines[i]->store;
    fix_advance(w->f, 0);
    return i;
}

/* Answers when the first of them has something to do. */
static int64_t step_until(struct web *w, int64_t deadline) {
    struct err e;
    int64_t next = deadline;
    w->first++;
    for (size_t k = 0; k < w->n_engines; k++) {
        size_t i = (w->first + k) % w->n_engines;
        if (!w->engines[i])
            continue;
        assert_ok(link_engine_step(w->engines[i], deadline, &e));
        next = w->callers[i].next < next ? w->callers[i].next : next;
    }
    return next;
}

void web_step(struct web *w) {
    step_until(w, clock_mono(&w->f->clock));
}

void web_run(struct web *w, int64_t ms, int64_t tick) {
    for (int64_t spent = 0; spent < ms; spent += tick) {
        web_step(w);
        fix_advance(w->f, tick);
    }
    web_step(w);
}

int64_t web_pending(struct web *w) {
    return qi(w->f, "SELECT COUNT(*) FROM link_processing WHERE reddit_status = 'pending' OR "
                    "hn_status = 'pending' OR summary_status = 'pending' OR "
                    "reverse_lookup_status = 'pending'");
}

void web_drain(struct web *w, int64_t most, int64_t tick) {
    for (int64_t spent = 0; spent < most; spent += tick) {
        web_step(w);
        if (web_pending(w) == 0)
            return;
        fix_advance(w->f, tick);
    }
    fail_msg("%lld pending after %lld ms", (long long)web_pending(w), (long long)most);
}

/* One leap, not beyond `end`. */
static void leap(struct web *w, int64_t end) {
    int64_t next = step_until(w, end), now = clock_mono(&w->f->clock);
    fix_advance(w->f, next > now ? next - now : 1);
}

void web_leap(struct web *w, int64_t ms) {
    int64_t end = clock_mono(&w->f->clock) + ms;
    while (clock_mono(&w->f->clock) < end)
        leap(w, end);
}

size_t web_most_in(const struct web *w, enum web_who who, int64_t window_ms) {
    size_t most = 0;
    for (size_t i = 0; i < w->n_calls; i++) {
        size_t n = 0;
        for (size_t k = i; k < w->n_calls && w->calls[k].started - w->calls[i].started < window_ms;
             k++)
            n += w->calls[k].who == who;
        if (w->calls[i].who == who && n > most)
            most = n;
    }
    return most;
}

int64_t web_least_between(const struct web *w, enum web_who who) {
    int64_t last = -1, least = INT64_MAX;
    for (size_t i = 0; i < w->n_calls; i++) {
        if (w->calls[i].who != who)
            continue;
        if (last >= 0 && w->calls[i].started - last < least)
            least = w->calls[i].started - last;
        last = w->calls[i].started;
    }
    return least;
}

/* --- the kind web --- */

static bool has(struct str s, const char *what) {
    return memmem(s.p, s.n, what, strlen(what)) != NULL;
}

/* The word behind "example.com/", encoded or not. */
static void word_of(struct str path, char *out, size_t size) {
    const char *p = memmem(path.p, path.n, "example.com", 11), *end = path.p + path.n;
    size_t n = 0;
    if (p) {
        p += 11;
        p += end - p >= 3 && strncmp(p, "%2F", 3) == 0 ? 3 : 1;
        for (; p < end && n + 1 < size && *p != '&'; p++)
            out[n++] = *p;
    }
    out[n] = '\0';
}

#define POST                                                                          \
    "{\"kind\":\"t3\",\"data\":{\"id\":\"%s\",\"title\":\"On Reddit\",\"permalink\":" \
    "\"/r/x/comments/%s/on_reddit/\",\"url\":\"https://example.com/%s\",\"score\":5," \
    "\"num_comments\":2,\"subreddit\":\"x\",\"created_utc\":1600000000.0,\"is_self\":%s}}"
#define LISTING "{\"kind\":\"Listing\",\"data\":{\"children\":[%s]}}"

static const char *kept(const char *text) {
    static char texts[64][2000]; /* a script's answers last as long as calls do */
    static size_t next;
    char *out = texts[next++ % 64];
    snprintf(out, sizeof texts[0], "%s", text);
    return out;
}

static void reddit_says(const struct web_call *c, struct web_answer *ret) {
    char word[200], post[800], text[1000];
    word_of(c->path, word, sizeof word);
    if (has(c->path, "access_token")) {
        ret->body = "{\"access_token\":\"t0ken\",\"token_type\":\"bearer\",\"expires_in\":3600}";
    } else if (has(c->path, "/s/Go1")) {
        ret->status = 302;
        ret->headers = "Location: https://www.reddit.com/r/x/comments/abc/on_reddit/?share=1\r\n";
    } else if (has(c->path, "/comments/")) {
        bool self = has(c->path, "/comments/self");
        const char *id = self ? "self" : "abc";
        snprintf(post, sizeof post, POST, id, id, "r-abc", self ? "true" : "false");
        snprintf(text, sizeof text, "[" LISTING "]", post);
        ret->body = kept(text);
    } else {
        snprintf(post, sizeof post, POST, "abc", "abc", word, "false");
        snprintf(text, sizeof text, LISTING, word[0] == 'r' ? post : "");
        ret->body = kept(text);
    }
}

static void hn_says(const struct web_call *c, struct web_answer *ret) {
    char word[200], text[1000];
    word_of(c->path, word, sizeof word);
    if (has(c->path, "/items/9"))
        ret->body = "{\"id\":9,\"type\":\"comment\",\"story_id\":7,\"parent_id\":7,"
                    "\"children\":[]}";
    else if (has(c->path, "/items/8"))
        ret->body = "{\"id\":8,\"type\":\"story\",\"title\":\"Ask HN\",\"points\":3,"
                    "\"url\":null,\"children\":[]}";
    else if (has(c->path, "/items/"))
        ret->body = "{\"id\":7,\"type\":\"story\",\"title\":\"A story\",\"points\":3,"
                    "\"url\":\"https://example.com/h7\",\"children\":[]}";
    else if (word[0] == 'h') {
        snprintf(text, sizeof text,
                 "{\"hits\":[{\"objectID\":\"7\",\"title\":\"A story\",\"points\":9,"
                 "\"num_comments\":4,\"url\":\"https://example.com/%s\"}],\"nbHits\":1,"
                 "\"nbPages\":1,\"exhaustiveNbHits\":true}",
                 word);
        ret->body = kept(text);
    } else {
        ret->body = "{\"hits\":[],\"nbHits\":0,\"nbPages\":0,\"exhaustiveNbHits\":true}";
    }
}

void web_kind(void *ctx UNUSED, const struct web_call *c, struct web_answer *ret) {
    ret->takes_ms = 20;
    switch (c->who) {
    case WEB_REDDIT:
        reddit_says(c, ret);
        return;
    case WEB_HN:
        hn_says(c, ret);
        return;
    case WEB_ANTHROPIC:
        ret->body = "{\"type\":\"message\",\"role\":\"assistant\",\"model\":\"small\","
                    "\"content\":[{\"type\":\"text\",\"text\":\"In short.\"}],"
                    "\"stop_reason\":\"end_turn\",\"usage\":{\"input_tokens\":100,"
                    "\"output_tokens\":20}}";
        return;
    default:
        ret->body = "<html><head><title>The page</title></head><body><article><p>The valley had "
                    "one bridge, and the bridge had one keeper, who counted the carts by the wheel."
                    "</p><p>When the river rose they found that nobody had counted the water.</p>"
                    "</article></body></html>";
    }
}
