#include "cli/linking.h"

#include "base/log.h"
#include "cli/services_env.h"
#include "net/guard.h"

#define USER_AGENT "tain/" TAIN_VERSION " (self-hosted mirror of Hacker News)"
#define SUMMARY_TOKENS 400
#define MILLIONTHS 1e6

static enum verdict make(void *arg, int index UNUSED, void **ret_worker, struct err *e UNUSED) {
    *ret_worker = arg;
    return V_OK;
}

static enum verdict step(void *worker, struct err *e) {
    struct linking *w = worker;
    if (stop_raised(&w->stop))
        return V_STOPPED;
    return link_engine_step(w->engine, NO_DEADLINE, e);
}

static void unmake(void *worker, bool died UNUSED) {
    struct linking *w = worker;
    struct err e;
    w->gave_back = link_engine_stop(w->engine, &e) == V_OK;
    if (!w->gave_back)
        log_warn("tasks of links could not be given back; the sweep will free them", LE(&e));
}

static enum verdict start_thread(struct linking *w, struct err *e) {
    const struct crew_kind kind = {.name = "links",
                                   .n = 1,
                                   .make = make,
                                   .step = step,
                                   .unmake = unmake,
                                   .arg = w,
                                   .clock = &clock_machine};
    return crew_start(&kind, &w->crew, e);
}

static enum verdict start_engine(struct linking *w, const struct settings *s, struct err *e) {
    const struct guard_options guard = {.allow = service_var(VAR_FETCH_ALLOW).p};
    struct str agent = STR(USER_AGENT);
    enum verdict v = services_env_check(e);
    if (v == V_OK)
        v = guard_new(&guard, &w->guard, e);
    if (v == V_OK)
        v = caller_http_new(&clock_machine, USER_AGENT, w->guard, &w->caller, e);
    if (v != V_OK)
        return v;
    struct link_engine_options o = {
        .store = &w->store,
        .clock = &clock_machine,
        .caller = w->caller,
        .holder = w->holder,
        .anthropic = {.url = service_var(VAR_ANTHROPIC_URL),
                      .key = service_var(VAR_ANTHROPIC_API_KEY),
                      .model = str_of(s->summary_model),
                      .max_tokens = SUMMARY_TOKENS,
                      .user_agent = agent},
        .stories = (enum link_follow)s->link_stories,
        .budget = {.monthly = (int64_t)(s->summary_budget * MILLIONTHS),
                   .per_million_in = (int64_t)(s->summary_price_in * MILLIONTHS),
                   .per_million_out = (int64_t)(s->summary_price_out * MILLIONTHS)},
    };
    reddit_conf_init(&o.reddit, service_var(VAR_REDDIT_URL), service_var(VAR_REDDIT_CLIENT_ID),
                     service_var(VAR_REDDIT_CLIENT_SECRET), agent);
    hn_search_conf_init(&o.hn, service_var(VAR_HN_SEARCH_URL), agent, &w->arena);
    return link_engine_new(&o, &w->engine, e);
}

enum verdict linking_start(struct linking *w, const struct settings *s, struct err *e) {
    *w = (struct linking){.stop = {.fd = -1}};
    arena_init(&w->arena);
    w->store = (struct store_options){.uri = s->db,
                                      .schema = s->schema,
                                      .clock = &clock_machine,
                                      .schema_rule = SCHEMA_REQUIRE,
                                      .must_exist = true};
    process_identity(w->holder, sizeof w->holder);
    enum verdict v = stop_init(&w->stop, e);
    if (v == V_OK)
        v = start_engine(w, s, e);
    return v == V_OK ? start_thread(w, e) : v;
}

enum verdict linking_tend(struct linking *w, struct err *e) {
    if (crew_tend(w->crew, NULL, NULL) == CREW_WORKING)
        return V_OK;
    *e = *crew_error(w->crew);
    return V_FATAL;
}

int64_t linking_silence_ms(const struct linking *w) {
    return crew_silence_ms(w->crew);
}

int64_t linking_down_ms(const struct linking *w) {
    return link_engine_down_ms(w->engine);
}

const char *linking_refused(const struct linking *w) {
    return link_engine_refused(w->engine);
}

void linking_stop(struct linking *w) {
    if (w->crew) {
        stop_raise(&w->stop);
        link_engine_wake(w->engine);
        crew_join(w->crew);
        crew_free(w->crew);
    }
    link_engine_free(w->engine);
    caller_http_free(w->caller);
    guard_free(w->guard);
    if (w->stop.fd > 0)
        stop_release(&w->stop);
    arena_release(&w->arena);
}
