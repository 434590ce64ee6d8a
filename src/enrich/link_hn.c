/* The lane of HN: stories of a URL, which the mirror knows where it has all of HN, and the HN
 * Search API otherwise; and the article behind an item, which the mirror knows where it has the
 * item and its story. */
#include "enrich/ask_int.h"
#include "enrich/link_int.h"

#include <stdio.h>
#include <string.h>

#define CALL_MS 20000

static int per_minute(const struct link_engine *g UNUSED) {
    return LINK_HN_PER_MINUTE;
}

static bool ahead(const struct link_engine *g, const struct link_lane_state *l) {
    for (size_t i = 0; i < LINK_LANE_JOBS; i++)
        if (l->jobs[i].stage == JOB_READY)
            return false; /* no more than one waits for a turn */
    return g->hn_complete;
}

/* What the archive says, as if the API had said it. */
static void take_story(struct job *j, const struct link_story *st) {
    const struct link_discussion *d = &st->thread;
    j->article = (struct found_article){
        .has_origin = true,
        .origin = {.id = d->external_id,
                   .permalink = d->external_url,
                   .title = d->title.p ? d->title : STR(""),
                   .url = st->url,
                   .score = d->score,
                   .num_comments = d->num_comments,
                   .created_at_ms = d->external_created_at,
                   .is_self = st->url.n == 0},
    };
    article_set(&j->article, &j->arena, st->url);
    j->why = j->article.why;
}

static enum verdict begin_reverse(struct link_engine *g, struct job *j, struct err *e) {
    enum link_item known = LINK_ITEM_UNKNOWN;
    struct link_story story;
    int64_t item;
    enum verdict v = V_OK;
    reverse_begin(g, j);
    if (j->stage == JOB_DECIDED || !str_to_i64(str_of(j->discussion.id), &item))
        return V_OK;
    v = store_link_hn_item(g->store, &j->arena, item, &known, &story, e);
    if (v != V_OK)
        j->stage = JOB_TAKEN; /* it is begun again */
    if (v != V_OK || known == LINK_ITEM_UNKNOWN)
        return v;
    take_story(j, &story);
    reverse_found(g, j);
    return V_OK;
}

static enum verdict begin(struct link_engine *g, struct job *j, struct err *e) {
    if (j->task.task == LINK_REVERSE)
        return begin_reverse(g, j, e);
    bool complete;
    enum verdict v = store_link_hn_local(g->store, &j->arena, j->task.url_key, &j->local,
                                         &j->n_local, &complete, e);
    if (v != V_OK)
        return v;
    g->hn_complete = complete;
    if (complete)
        job_found(j, LINK_SITE_HN, &j->list);
    else
        job_ready(g, j, STEP_URL);
    return V_OK;
}

static enum verdict ask(struct link_engine *g, struct job *j, struct ask *ret, struct err *e) {
    const struct hn_search_conf *c = &g->o.hn;
    if (j->step == STEP_ITEM)
        return hn_ask_item(c, str_of(j->discussion.id), &j->arena, ret, e);
    if (j->step == STEP_STORY)
        return hn_ask_story(c, str_of(j->discussion.id), &j->arena, ret, e);
    return hn_ask_url(c, j->task.url_key, &j->arena, ret, e);
}

static void read(struct link_engine *g UNUSED, struct job *j) {
    struct str id = str_of(j->discussion.id);
    if (j->step == STEP_URL) {
        hn_read_url(&j->heard, j->task.url_key, &j->arena, &j->list);
        j->why = j->list.why;
        return;
    }
    if (j->step == STEP_ITEM)
        hn_read_item(&j->heard, id, &j->arena, &j->article);
    else
        hn_read_story(&j->heard, id, &j->arena, &j->article);
    j->why = j->article.why;
}

static void found(struct link_engine *g, struct job *j) {
    if (j->step == STEP_URL) {
        job_found(j, LINK_SITE_HN, &j->list);
    } else if (j->why.told == TOLD_NEXT) {
        snprintf(j->discussion.id, sizeof j->discussion.id, "%s", j->article.next_id);
        job_ready(g, j, j->article.next_as_story ? STEP_STORY : STEP_ITEM);
    } else {
        reverse_found(g, j);
    }
}

const struct link_lane_kind link_hn = {.call_ms = CALL_MS,
                                       .per_minute = per_minute,
                                       .begin = begin,
                                       .ask = ask,
                                       .read = read,
                                       .found = found,
                                       .ahead = ahead,
                                       .take_known = store_link_take_known};
