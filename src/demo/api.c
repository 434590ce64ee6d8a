/* /v0/...: the upstream's paths, and what a fault makes of the answer. */
#include "demo/reply.h"
#include "demo/server_int.h"

#include <stdio.h>
#include <string.h>

#define ELSEWHERE "elsewhere/updates" /* where a stream is redirected to */

/* "PREFIXname.json" -> name; absent when the path has another form. */
static struct str between(const char *path, const char *prefix) {
    struct str s = str_of(path);
    size_t n = strlen(prefix);
    if (!str_starts(s, prefix) || !str_ends(s, ".json") || s.n < n + 5)
        return STR_NONE;
    return (struct str){s.p + n, s.n - n - 5};
}

static bool wants_stream(struct request *r) {
    const char *accept =
        MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
    return accept && strstr(accept, "text/event-stream");
}

static void route_stream(struct request *r, enum endpoint plain, enum channel channel) {
    r->endpoint = wants_stream(r) ? EP_STREAM : plain;
    r->channel = channel;
}

bool api_route(struct request *r, const char *path) {
    struct str name = between(path, "/v0/item/");
    if (name.p) {
        r->endpoint = EP_ITEM;
        if (!str_to_i64(name, &r->id) || r->id < 0)
            r->id = 0; /* upstream answers null to any such path */
        return true;
    }
    if ((name = between(path, "/v0/user/")).p) {
        r->endpoint = EP_USER;
        r->name = name;
        return true;
    }
    name = between(path, "/v0/");
    for (int i = 0; i < CORPUS_N_LISTS; i++)
        if (str_eqc(name, corpus_list_name((enum corpus_list)i))) {
            r->endpoint = EP_LIST;
            r->list = (enum corpus_list)i;
            return true;
        }
    if (str_eqc(name, "maxitem"))
        route_stream(r, EP_MAXITEM, CHANNEL_MAXITEM);
    else if (str_eqc(name, "updates") || str_eqc(name, ELSEWHERE))
        route_stream(r, EP_UPDATES, CHANNEL_UPDATES);
    else
        return false;
    return true;
}

static void render_body(struct request *r, struct strbuf *out) {
    struct corpus *c = r->demo->corpus;
    switch (r->endpoint) {
    case EP_ITEM:
        if (r->action.kind == FAULT_DELAYED)
            corpus_item_delayed(c, r->id, out);
        else if (r->action.kind == FAULT_WRONG_ID)
            corpus_item(c, r->id > 1 ? r->id - 1 : r->id + 1, out);
        else
            corpus_item(c, r->id, out);
        break;
    case EP_USER:
        corpus_user(c, r->name, out);
        break;
    case EP_LIST:
        corpus_list(c, r->list, out);
        break;
    default: /* a stream may have been turned into a plain answer by a fault */
        if (r->channel == CHANNEL_UPDATES)
            hub_render(&r->demo->hub, out);
        else
            strbuf_addf(out, "%lld", (long long)corpus_maxitem(c));
    }
}

static const char *query(struct request *r, const char *name) {
    return MHD_lookup_connection_value(r->connection, MHD_GET_ARGUMENT_KIND, name);
}

/* The other host is this very server under another name: whoever follows is counted. */
static enum MHD_Result redirect_away(struct request *r, const char *path) {
    char location[512];
    const char *host =
        MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
    bool local = host && strncmp(host, "localhost", 9) == 0;
    snprintf(location, sizeof location, "http://%s:%d%.300s?r=other",
             local ? "127.0.0.1" : "localhost", r->demo->port, path);
    return reply_redirect(r->connection, MHD_HTTP_TEMPORARY_REDIRECT, location);
}

static enum MHD_Result redirect(struct request *r, const char *path) {
    if (r->action.redirect == REDIRECT_OTHER)
        return redirect_away(r, path);
    char location[512];
    int64_t turn = 0;
    str_to_i64(str_of(query(r, "r")), &turn);
    snprintf(location, sizeof location, "%.300s?r=%lld", path, (long long)turn + 1);
    return reply_redirect(r->connection, MHD_HTTP_TEMPORARY_REDIRECT, location);
}

static const char *request_path(const struct request *r, char *out, size_t size) {
    if (r->endpoint == EP_ITEM)
        snprintf(out, size, "/v0/item/%lld.json", (long long)r->id);
    else if (r->endpoint == EP_USER)
        snprintf(out, size, "/v0/user/%.*s.json", STR_FMT(r->name));
    else if (r->endpoint == EP_LIST)
        snprintf(out, size, "/v0/%s.json", corpus_list_name(r->list));
    else
        snprintf(out, size, "/v0/%s.json", r->channel == CHANNEL_MAXITEM ? "maxitem" : "updates");
    return out;
}

/* Where a redirect led back to its own path, the answer is plain at last. */
static void settle_redirect(struct request *r) {
    const char *turn = query(r, "r");
    if (!turn)
        return;
    if (strcmp(turn, "other") == 0)
        stats_count(&r->demo->stats.foreign_redirects);
    if (r->action.kind == FAULT_REDIRECT && r->action.redirect != REDIRECT_ENDLESS)
        r->action.kind = FAULT_NONE;
    r->action.stream.forms &= ~(unsigned)FORM_REDIRECT;
}

static enum MHD_Result answer_with_body(struct request *r) {
    struct strbuf body;
    strbuf_init(&body, 1 << 20);
    if (r->action.kind == FAULT_NULL)
        strbuf_adds(&body, "null");
    else
        render_body(r, &body);
    switch (r->action.kind) {
    case FAULT_TRUNCATE:
        return reply_truncated(r->connection, &body);
    case FAULT_DRIP:
        return reply_drip(r->connection, &r->demo->waker, &body);
    case FAULT_GARBAGE:
        return reply_garbage(r->connection, &body, (unsigned)r->id);
    default:
        return reply_json(r->connection, MHD_HTTP_OK, &body);
    }
}

static enum MHD_Result answer_faulty(struct request *r) {
    char path[320];
    switch (r->action.kind) {
    case FAULT_STATUS:
        return reply_status(r->connection, (unsigned)r->action.status, r->action.retry_after);
    case FAULT_RESET:
        return reply_reset(r->connection);
    case FAULT_HUGE:
        return reply_huge(r->connection, r->id, r->action.bytes, r->action.chunked);
    case FAULT_REDIRECT:
        return redirect(r, request_path(r, path, sizeof path));
    default:
        return answer_with_body(r);
    }
}

/* What the rules know the request by. */
static int64_t rule_id(const struct request *r) {
    if (r->endpoint == EP_ITEM)
        return r->id;
    return r->endpoint == EP_STREAM && r->channel == CHANNEL_UPDATES ? FAULTS_STREAM
                                                                     : -(int64_t)r->endpoint;
}

static void begin(struct request *r) {
    struct demo *d = r->demo;
    stats_count(&d->stats.requests[r->endpoint]);
    if (r->endpoint == EP_LIST)
        stats_count(&d->stats.lists[r->list]);
    if (r->endpoint == EP_ITEM)
        stats_item_begin(&d->stats, r->id, clock_mono(&clock_machine));
    pthread_rwlock_rdlock(&d->faults_lock);
    r->action = faults_take(d->faults, rule_id(r));
    pthread_rwlock_unlock(&d->faults_lock);
    settle_redirect(r);
    bool away = r->action.stream.forms & FORM_REDIRECT; /* comes before the kind */
    stats_count(&d->stats.faults[away ? FAULT_REDIRECT : r->action.kind]);
    if (r->action.delay_ms)
        stats_count(&d->stats.delays);
    r->begun = true;
}

enum MHD_Result api_answer(struct request *r) {
    if (!r->begun) {
        begin(r);
        if (r->action.delay_ms && waker_suspend(&r->demo->waker, r->connection, r->action.delay_ms))
            return MHD_YES; /* the library calls again when the time has come */
    }
    if (r->action.stream.forms & FORM_REDIRECT)
        return redirect_away(r, "/v0/" ELSEWHERE ".json");
    if (r->endpoint == EP_STREAM &&
        (r->action.kind == FAULT_NONE || r->action.kind == FAULT_STREAM))
        return hub_open(&r->demo->hub, r->connection, r->channel, &r->action.stream);
    return answer_faulty(r);
}
