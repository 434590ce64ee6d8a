#include "web/link_json.h"

#include "hn/item.h"
#include "web/json_fields.h"

#include <stdio.h>

static int64_t or_null(int64_t n) {
    return n ? n : I64_NONE;
}

static void add_when(struct strbuf *out, const char *key, int64_t ms) {
    if (ms)
        json_when(out, key, ms / 1000);
    else
        json_num(out, key, I64_NONE);
}

static struct str status_of(const struct link_processing *p, enum link_task t) {
    return str_of(link_status_name(p->tasks[t].status));
}

void link_json_processing(struct strbuf *out, const struct link_processing *p) {
    char key[80];
    strbuf_addc(out, '{');
    for (int i = LINK_REVERSE + 1; i < LINK_TASKS; i++) {
        enum link_task t = (enum link_task)i;
        snprintf(key, sizeof key, "\"%s\":{\"status\":", link_task_name(t));
        json_str(out, key, status_of(p, t));
        snprintf(key, sizeof key, ",\"%s\":", link_task_stamp(t));
        add_when(out, key, p->tasks[t].at);
        strbuf_adds(out, "},");
    }
    json_str(out, "\"reverse_lookup\":{\"status\":", status_of(p, LINK_REVERSE));
    json_num(out, ",\"target_id\":", or_null(p->target_id));
    strbuf_adds(out, "}}");
}

static void add_discussion(struct strbuf *out, const struct link_discussion *d) {
    json_str(out, "{\"platform\":", str_of(link_site_name(d->site)));
    json_str(out, ",\"external_id\":", d->external_id);
    json_str(out, ",\"url\":", d->external_url);
    json_str(out, ",\"title\":", d->title);
    json_num(out, ",\"score\":", d->score);
    json_num(out, ",\"num_comments\":", d->num_comments);
    json_str(out, ",\"subreddit\":", d->subreddit);
    add_when(out, ",\"created_at\":", d->external_created_at);
    strbuf_addc(out, '}');
}

static void add_link(struct strbuf *out, const struct link *l) {
    json_num(out, "{\"id\":", l->id);
    json_str(out, ",\"url\":", l->url);
    json_str(out, ",\"title\":", l->title);
    json_str(out, ",\"description\":", l->description);
    json_str(out, ",\"summary\":", l->summary);
    json_str(out, ",\"source\":", l->source);
    json_num(out, ",\"parent_id\":", or_null(l->parent_id));
    add_when(out, ",\"created_at\":", l->created_at);
    strbuf_addc(out, '}');
}

void link_json_known(struct strbuf *out, const struct link_known *k) {
    json_str(out, "{\"url\":", k->url);
    json_str(out, ",\"key\":", k->key);
    strbuf_adds(out, k->link ? ",\"found\":true" : ",\"found\":false");
    json_num(out, ",\"id\":", k->link ? k->link->id : I64_NONE);
    strbuf_adds(out, ",\"link\":");
    if (k->link)
        add_link(out, k->link);
    else
        strbuf_adds(out, "null");
    strbuf_adds(out, ",\"processing\":");
    if (k->processing)
        link_json_processing(out, k->processing);
    else
        strbuf_adds(out, "null");
    strbuf_adds(out, ",\"discussions\":[");
    for (size_t i = 0; i < k->n_discussions; i++) {
        if (i)
            strbuf_addc(out, ',');
        add_discussion(out, &k->discussions[i]);
    }
    strbuf_adds(out, "]}");
}
