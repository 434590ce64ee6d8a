#include "base/log.h"
#include "web/page.h"
#include "web/server_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void clear(struct call *c) {
    strbuf_clear(&c->body);
    c->status = MHD_HTTP_OK;
    c->type = "text/html; charset=utf-8";
    c->cache = NULL;
    c->location = STR_NONE;
    c->set_cookie = STR_NONE;
    c->retry_after = 0;
    c->unknown = false;
    c->stream = (struct call_stream){0};
}

static const char *status_words(int status) {
    switch (status) {
    case 400:
        return "That request makes no sense";
    case 403:
        return "That is not allowed";
    case 404:
        return "There is nothing here";
    case 405:
        return "Not in this way";
    case 413:
        return "That is too large";
    case 414:
        return "That address is too long";
    case 415:
        return "Not in this form";
    case 421:
        return "Not a name of this server";
    case 429:
        return "Too much at once";
    case 503:
        return "Not right now";
    default:
        return "Something went wrong";
    }
}

/* A path that is none, or that could not be read, is an answer of the API all the same: its client
 * wants to read why. */
bool request_is_api(const struct request *r) {
    if (r->route)
        return r->route->dialect == DIALECT_API;
    return r->call.path.p ? path_is_api(r->call.path) : r->api_line;
}

void answer_error(struct request *r, int status, const char *text) {
    struct call *c = &r->call;
    if (c->stream.close)
        c->stream.close(c->stream.arg);
    clear(c);
    c->status = status;
    c->cache = "no-store";
    if (request_is_api(r)) {
        c->type = "application/json; charset=utf-8";
        strbuf_adds(&c->body, "{\"message\":");
        strbuf_add_json(&c->body, str_of(*text ? text : status_words(status)));
        strbuf_adds(&c->body, "}");
    } else {
        page_error(&c->body, status, status_words(status), str_of(text));
    }
    reply_whole(r);
}

static void answer_verdict(struct request *r, enum verdict v, const struct err *e) {
    if (r->call.post && v != V_STOPPED && store_is_read_only(e)) {
        log_warn("nothing can be written", LS("route", r->route->pattern), LE(e));
        answer_error(r, 503,
                     "The database of this server can only be read now (a standby, or a protected "
                     "file); nothing was written.");
        return;
    }
    switch (v) {
    case V_INVALID:
        answer_error(r, 400, e->msg);
        break;
    case V_NOT_FOUND:
        answer_error(r, 404, e->msg);
        break;
    case V_LIMIT:
        answer_error(r, 413, e->msg);
        break;
    case V_RETRY:
        log_warn("the archive did not answer", LE(e));
        answer_error(r, 503, "The archive does not answer; try again in a moment.");
        break;
    case V_STOPPED:
        answer_error(r, 503, "The server is stopping.");
        break;
    default:
        log_error("a request failed", LS("route", r->route ? r->route->pattern : ""), LE(e));
        answer_error(r, 500, "The log of the server says more.");
    }
}

void answer_conclude(struct request *r, enum verdict v, const struct err *e) {
    struct call *c = &r->call;
    if (r->pipe) {
        if (v != V_OK)
            log_warn("an answer was cut short", LS("route", r->route->pattern), LE(e));
        call_finish_flow(c, v == V_OK);
    } else if (v != V_OK) {
        answer_verdict(r, v, e);
    } else if (c->body.overflow) {
        log_error("an answer is too large", LS("route", r->route->pattern));
        answer_error(r, 500, "The answer is too large.");
    } else if (c->stream.read && !c->head) {
        reply_flowing(r, false);
    } else {
        if (c->stream.close)
            c->stream.close(c->stream.arg);
        c->stream = (struct call_stream){0};
        reply_whole(r);
    }
}

static void sit(struct request *r, struct desk *d) {
    r->desk = d;
    r->call.arena = &d->arena;
    r->call.store = d->store;
}

/* No response: nothing is wrong, and the loop thread goes on with it. */
static void check(struct request *r, struct desk *d) {
    struct err e = {0};
    enum verdict v = desk_store(d, &e);
    sit(r, d);
    if (v == V_OK)
        v = r->route->check(&r->call, &e);
    if (v == V_RETRY && d->store && desk_recover(d))
        v = r->route->check(&r->call, &e);
    if (v != V_OK)
        answer_conclude(r, v, &e);
    r->desk = NULL;
    arena_reset(&d->arena);
}

void answer(struct request *r, struct desk *d) {
    struct err e = {0};
    if (r->checking) {
        check(r, d);
        return;
    }
    call_fn *fn = r->call.post ? r->route->post : r->streams ? r->route->stream : r->route->fn;
    bool no_store = r->streams || r->route->kind == ROUTE_STATIC;
    enum verdict v = no_store ? V_OK : desk_store(d, &e);
    sit(r, d);
    if (!no_store)
        desk_hold(d);
    if (v == V_OK)
        v = fn(&r->call, &e);
    if (v == V_RETRY && !no_store && !r->pipe && d->store && desk_recover(d)) {
        clear(&r->call);
        arena_reset(&d->arena);
        v = fn(&r->call, &e);
    }
    answer_conclude(r, v, &e);
    r->desk = NULL;
    arena_reset(&d->arena);
}

static bool any_retry(const struct call_result *results, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (results[i].v == V_RETRY)
            return true;
    return false;
}

static void run_batch(struct request **all, size_t n, struct call_result *results) {
    struct call *calls[CALL_BATCH_MAX];
    for (size_t i = 0; i < n; i++) {
        calls[i] = &all[i]->call;
        clear(calls[i]);
        results[i].v = V_OK;
    }
    all[0]->route->batch(calls, n, results);
}

void answer_batch(struct request **all, size_t n, struct desk *d) {
    static _Thread_local struct call_result results[CALL_BATCH_MAX];
    enum verdict v = desk_store(d, &results[0].e);
    for (size_t i = 0; i < n; i++)
        sit(all[i], d);
    if (v == V_OK) {
        run_batch(all, n, results);
        if (any_retry(results, n) && desk_recover(d)) {
            arena_reset(&d->arena);
            run_batch(all, n, results);
        }
    }
    for (size_t i = 0; i < n; i++) {
        answer_conclude(all[i], v == V_OK ? results[i].v : v,
                        v == V_OK ? &results[i].e : &results[0].e);
        all[i]->desk = NULL;
    }
    arena_reset(&d->arena);
}
