#include "fixture_enrich.h"

#include "db/db.h"
#include "net/classify.h"

#include <stdlib.h>
#include <string.h>

static const struct str inputs[] = {{"id", 2}}, outputs[] = {{"url", 3}, {"year", 4}};
static const struct str unsure[] = {{"degraded", 8}};
static const struct map_rule map[] = {
    {.column = {"url", 3}, .from = {"results[0].url", 14}, .type = MAP_URL},
    {.column = {"year", 4}, .from = {"results[0].year", 15}, .type = MAP_INT, .none = {"0", 1}}};

static enum verdict start(struct caller *c, const struct provider *p UNUSED,
                          struct str method UNUSED, struct str path, struct str body UNUSED,
                          void *tag, struct err *e) {
    struct script_caller *s = (struct script_caller *)c;
    struct world *w = s->world;
    int64_t now = clock_mono(&w->f->clock);
    if (w->n_calls == WORLD_CALLS)
        return err_set(e, V_LIMIT, "test", 0, "more calls than a test has room for");
    struct script_answer answer = {200, NO_MATCH, 0, -1};
    w->script(w->script_ctx, path, &answer);
    if (answer.status < 0)
        return err_set(e, V_INVALID, "test", 0, "as the script says");
    size_t i = s->n_flying++;
    s->flying[i].tag = tag;
    s->flying[i].call = w->n_calls;
    s->flying[i].answer = answer;
    w->calls[w->n_calls++] =
        (struct script_call){.started = now, .ends = now + s->flying[i].answer.takes_ms};
    if (++w->at_once > w->most_at_once)
        w->most_at_once = w->at_once;
    return V_OK;
}

static enum net_class class_of(long status) {
    return status ? net_classify(0, status) : NET_CONNECT;
}

static int step(struct caller *c, int64_t deadline UNUSED, call_done_fn *done, void *ctx) {
    struct script_caller *s = (struct script_caller *)c;
    struct world *w = s->world;
    int n = 0;
    for (size_t i = 0; i < s->n_flying;) {
        struct script_call *call = &w->calls[s->flying[i].call];
        if (call->ends > clock_mono(&w->f->clock)) {
            i++;
            continue;
        }
        const struct script_answer *a = &s->flying[i].answer;
        struct call_result r = {.tag = s->flying[i].tag,
                                .cls = class_of(a->status),
                                .status = a->status,
                                .body = str_of(a->body),
                                .retry_after_ms = a->retry_after_ms,
                                .elapsed_ms = call->ends - call->started,
                                .detail = "as the script says"};
        call->over = true;
        w->at_once--;
        s->flying[i] = s->flying[--s->n_flying];
        done(ctx, &r);
        n++;
    }
    return n;
}

static void wake(struct caller *c UNUSED) {
}

static void cancel_all(struct caller *c) {
    struct script_caller *s = (struct script_caller *)c;
    s->world->at_once -= s->n_flying;
    s->n_flying = 0;
}

/* A source is not in the schema of the archive: on PostgreSQL the user's tables have their own, in
 * which the questions of the tests look first. */
static void make_table(struct fix *f) {
    bool pg = fix_kind == DB_POSTGRES;
    if (pg) {
        x(f, "CREATE SCHEMA %s_own", f->schema);
        x(f, "SET search_path = %s_own, %s", f->schema, f->schema);
    }
    x(f,
      "CREATE TABLE tracks (id BIGINT PRIMARY KEY, kind TEXT NOT NULL DEFAULT 'track', "
      "status TEXT NOT NULL DEFAULT 'pending', since %s, url VARCHAR(64), year SMALLINT, "
      "CHECK (year IS NULL OR year < 3000))",
      pg ? "TIMESTAMPTZ" : "BIGINT");
}

struct str world_table(struct world *w, const char *name) {
    char text[120];
    snprintf(text, sizeof text, fix_kind == DB_POSTGRES ? "%s_own.%s" : "%.0s%s", w->f->schema,
             name);
    return str_of(arena_strdup(&w->f->arena, text));
}

struct world *world_new(struct fix *f, script_fn *script, void *ctx) {
    struct world *w = xcalloc(1, sizeof *w);
    w->f = f;
    w->script = script;
    w->script_ctx = ctx;
    w->store = fix_options(f);
    make_table(f);
    w->plan.n_providers = w->plan.n_sources = 1;
    w->plan.providers[0] = (struct provider){.name = STR("lookup"),
                                             .url = STR("http://127.0.0.1:1"),
                                             .limits = {.window_ms = 60000},
                                             .timeout_ms = 20000};
    struct plan_source *s = &w->plan.sources[0];
    *s =
        (struct plan_source){.provider = &w->plan.providers[0],
                             .request = {.method = STR("GET"), .path = STR("/t/{id}")},
                             .answer = {.match = STR("results[0]"), unsure, 1, map, ARRAY_LEN(map)},
                             .max_attempts = 5};
    s->spec = (struct source_spec){.name = STR("tracks"),
                                   .table = world_table(w, "tracks"),
                                   .key = STR("id"),
                                   .status = STR("status"),
                                   .since = STR("since"),
                                   .filter = STR("kind = 'track'"),
                                   .states = {STR("pending"), STR("enriching"), STR("matched"),
                                              STR("unmatched"), STR("failed")},
                                   .inputs = inputs,
                                   .n_inputs = ARRAY_LEN(inputs),
                                   .outputs = outputs,
                                   .n_outputs = ARRAY_LEN(outputs)};
    return w;
}

static void forget_store(struct fix *f, const struct store *s) {
    for (int i = 0; i < f->n_stores; i++)
        if (f->all[i] == s)
            f->all[i] = f->all[--f->n_stores];
}

void world_kill(struct world *w, size_t i) {
    if (!w->engines[i])
        return;
    cancel_all(&w->callers[i].head);
    forget_store(w->f, w->engines[i]->store);
    engine_free(w->engines[i]);
    w->engines[i] = NULL;
}

void world_free(struct world *w) {
    for (size_t i = 0; i < w->n_engines; i++)
        world_kill(w, i);
    if (fix_kind == DB_POSTGRES)
        x(w->f, "DROP SCHEMA %s_own CASCADE", w->f->schema);
    else
        x(w->f, "DROP TABLE tracks");
    free(w);
}

void world_rows(struct world *w, int first, int last) {
    for (int i = first; i <= last; i += 500) {
        CLEANUP(strbuf_release) struct strbuf b;
        strbuf_init(&b, 1 << 20);
        for (int k = i; k <= last && k < i + 500; k++)
            strbuf_addf(&b, "%s(%d)", k > i ? "," : "", k);
        x(w->f, "INSERT INTO tracks (id) VALUES %s", b.p);
    }
}

size_t world_engine(struct world *w) {
    struct err e;
    size_t i = w->n_engines++;
    struct script_caller *c = &w->callers[i];
    *c = (struct script_caller){
        .head = {.start = start, .step = step, .wake = wake, .cancel_all = cancel_all}, .world = w};
    snprintf(w->holders[i], sizeof w->holders[i], "host-%zu", i);
    const struct engine_options o = {.plan = &w->plan,
                                     .store = &w->store,
                                     .clock = &w->f->clock,
                                     .caller = &c->head,
                                     .ring = w->ring,
                                     .holder = w->holders[i]};
    assert_ok(engine_new(&o, &w->engines[i], &e));
    assert_true(w->f->n_stores < MAX_STORES);
    w->f->all[w->f->n_stores++] = w->engines[i]->store;
    fix_advance(w->f, 0);
    return i;
}

void world_step(struct world *w) {
    struct err e;
    for (size_t i = 0; i < w->n_engines; i++)
        if (w->engines[i])
            assert_ok(engine_step(w->engines[i], clock_mono(&w->f->clock), &e));
}

void world_run(struct world *w, int64_t ms, int64_t tick) {
    for (int64_t spent = 0; spent < ms; spent += tick) {
        world_step(w);
        fix_advance(w->f, tick);
    }
    world_step(w);
}

void world_drain(struct world *w, int64_t most, int64_t tick) {
    for (int64_t spent = 0; spent < most; spent += tick) {
        world_step(w);
        if (world_count(w, "pending") + world_count(w, "enriching") == 0)
            return;
        fix_advance(w->f, tick);
    }
    fail_msg("%lld pending, %lld enriching after %lld ms", (long long)world_count(w, "pending"),
             (long long)world_count(w, "enriching"), (long long)most);
}

int64_t world_count(struct world *w, const char *status) {
    return qi(w->f, "SELECT COUNT(*) FROM tracks WHERE kind = 'track' AND status = '%s'", status);
}

size_t world_most_in(const struct world *w, int64_t window_ms) {
    size_t most = 0;
    for (size_t i = 0, first = 0; i < w->n_calls; i++) {
        while (w->calls[i].started - w->calls[first].started >= window_ms)
            first++;
        if (i - first + 1 > most)
            most = i - first + 1;
    }
    return most;
}

void script_parity(void *ctx UNUSED, struct str path, struct script_answer *ret) {
    bool even = (path.p[path.n - 1] - '0') % 2 == 0;
    *ret = (struct script_answer){200, even ? MATCH : NO_MATCH, 10, -1};
}
