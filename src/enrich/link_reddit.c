/* The lane of Reddit: submissions of a URL, and the article behind a post. Where there are
 * credentials, a token is called for first; it is the lane's, not a task's. */
#include "enrich/link_int.h"
#include "hn/url_key.h"

#define CALL_MS 20000
#define TOKEN_EARLY_MS 30000 /* a token is not used in its last moments */

static int per_minute(const struct link_engine *g) {
    return reddit_has_oauth(&g->o.reddit) ? LINK_REDDIT_PER_MINUTE
                                          : LINK_REDDIT_ANONYMOUS_PER_MINUTE;
}

static bool wants_token(const struct link_engine *g) {
    return reddit_has_oauth(&g->o.reddit) && (!g->token.p || link_now(g) >= g->token_until);
}

static void forget_token(struct link_engine *g) {
    g->token = STR_NONE;
    arena_reset(&g->token_arena);
}

static void keep_token(struct link_engine *g, const struct reddit_token *t) {
    int64_t early = t->expires_in_ms > 2 * TOKEN_EARLY_MS ? TOKEN_EARLY_MS : 0;
    forget_token(g);
    g->token = arena_str(&g->token_arena, t->token);
    g->token_until = link_now(g) + t->expires_in_ms - early;
}

void reverse_begin(struct link_engine *g, struct job *j) {
    bool hn = j->lane->lane == LINK_LANE_HN;
    if (!discussion_of_key(j->task.url_key, &j->discussion) ||
        (j->discussion.site == DISCUSSION_HN) != hn)
        job_save(j, LINK_FAILED, STR("this is not the URL of a discussion"));
    else if (hn)
        job_ready(g, j, STEP_ITEM);
    else
        job_ready(g, j, j->discussion.kind == DISCUSSION_SHARE ? STEP_SHARE : STEP_POST);
}

void reverse_found(struct link_engine *g UNUSED, struct job *j) {
    if (j->why.told == TOLD_FOUND)
        job_land(j, &j->article);
    else
        job_save(j, LINK_NOT_FOUND, STR_NONE);
}

static enum verdict begin(struct link_engine *g, struct job *j, struct err *e UNUSED) {
    if (j->task.task == LINK_REVERSE)
        reverse_begin(g, j);
    else
        job_ready(g, j, STEP_URL);
    return V_OK;
}

static enum verdict ask(struct link_engine *g, struct job *j, struct ask *ret, struct err *e) {
    const struct reddit_conf *c = &g->o.reddit;
    switch (j->step) {
    case STEP_TOKEN:
        return reddit_ask_token(c, &j->arena, ret, e);
    case STEP_SHARE:
        return reddit_ask_share(c, &j->discussion, &j->arena, ret, e);
    case STEP_POST:
        return reddit_ask_post(c, g->token, &j->discussion, &j->arena, ret, e);
    default:
        return reddit_ask_url(c, g->token, url_shared(&j->arena, j->task.url), &j->arena, ret, e);
    }
}

/* A token that is old is no refusal yet: another one is called for, once. */
static void read_old_token(struct job *j) {
    j->renewed = true;
    j->why = (struct told_why){.told = TOLD_NEXT, .wait_ms = -1};
}

static void read(struct link_engine *g, struct job *j) {
    struct reddit_share share;
    struct reddit_rate rate = reddit_read_rate(&j->heard);
    j->rest_ms = reddit_rate_wait_ms(&rate);
    bool with_token = g->token.p && (j->step == STEP_URL || j->step == STEP_POST);
    if (with_token && !j->renewed && reddit_token_is_old(&j->heard)) {
        read_old_token(j);
        return;
    }
    switch (j->step) {
    case STEP_TOKEN:
        reddit_read_token(&j->heard, &j->arena, &j->token);
        j->why = j->token.why;
        break;
    case STEP_SHARE:
        reddit_read_share(&j->heard, &j->arena, &share);
        j->why = share.why;
        if (share.why.told == TOLD_NEXT)
            j->discussion = share.leads_to;
        break;
    case STEP_POST:
        reddit_read_post(&j->heard, &j->discussion, &j->arena, &j->article);
        j->why = j->article.why;
        break;
    default:
        reddit_read_url(&j->heard, j->task.url_key, &j->arena, &j->list);
        j->why = j->list.why;
        break;
    }
}

static void found(struct link_engine *g, struct job *j) {
    if (j->step == STEP_TOKEN) {
        g->token_called = false;
        if (j->why.told == TOLD_FOUND)
            keep_token(g, &j->token);
        job_forget(j);
    } else if (j->why.told == TOLD_NEXT && j->step != STEP_SHARE) {
        forget_token(g);
        job_ready(g, j, j->step);
    } else if (j->why.told == TOLD_NEXT) {
        job_ready(g, j, STEP_POST);
    } else if (j->task.task == LINK_REVERSE) {
        reverse_found(g, j);
    } else {
        job_found(j, LINK_SITE_REDDIT, &j->list);
    }
}

const struct link_lane_kind link_reddit = {.call_ms = CALL_MS,
                                           .per_minute = per_minute,
                                           .begin = begin,
                                           .ask = ask,
                                           .read = read,
                                           .found = found,
                                           .wants_token = wants_token};
