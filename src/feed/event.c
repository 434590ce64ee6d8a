#include "feed/event.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FRAME_HEAD_MAX 10
#define HEAD_MAX ((size_t)16 * 1024) /* two names of at most some 64 bytes, escaped */
#define TEXT_FRAME 0x81              /* the last fragment of a text */

/* An event is one block of memory: the struct, its topics, room for the longest head of a frame,
 * the JSON, a newline, and all names. */

#define TAIL_MAX 96

/* A line break in JSON can only stand between its parts (a column of type json keeps what was
 * written to it), where a blank says the same. One event must be one line. And it must be UTF-8,
 * which a database may not have looked at: a client has to break off at the first byte that is not,
 * and would come back to the same event for ever. */
static void flatten(char *p, size_t n) {
    for (size_t i = 0, len = 1; i < n; i += len) {
        len = 1;
        if (p[i] == '\n' || p[i] == '\r')
            p[i] = ' ';
        else if ((unsigned char)p[i] >= 0x80)
            len = utf8_len((const unsigned char *)p + i, n - i);
        if (len == 0) {
            p[i] = '?';
            len = 1;
        }
    }
}

/* What stands in front of the key. */
static void add_head(struct strbuf *b, int64_t epoch, const struct feed_change *c) {
    char id[FEED_ID_MAX];
    feed_id_format((struct feed_id){epoch, c->pos}, id);
    strbuf_adds(b, "{\"id\":\"");
    strbuf_adds(b, id);
    strbuf_adds(b, "\",\"schema\":");
    strbuf_add_json(b, c->schema);
    strbuf_adds(b, ",\"table\":");
    strbuf_add_json(b, c->name);
    strbuf_adds(b, ",\"action\":\"");
    strbuf_adds(b, feed_action_name(c->action));
    strbuf_adds(b, "\",\"key\":");
}

/* What stands behind the data. An insert or update always had some: if it is not there it was too
 * much. */
static struct str make_tail(char out[TAIL_MAX], const struct feed_change *c) {
    bool left_out = !c->data.p && (c->action == FEED_INSERT || c->action == FEED_UPDATE);
    const char *note = left_out ? ",\"too_large\":true" : "";
    int ms = (int)(c->at % 1000);
    if (ms < 0)
        ms += 1000;
    time_t seconds = (time_t)((c->at - ms) / 1000);
    struct tm tm;
    int n;
    if (gmtime_r(&seconds, &tm) && tm.tm_year < 8000)
        n = snprintf(out, TAIL_MAX, "%s,\"timestamp\":\"%04d-%02d-%02dT%02d:%02d:%02d.%03dZ\"}",
                     note, tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min,
                     tm.tm_sec, ms);
    else /* no calendar of four digits has such a year */
        n = snprintf(out, TAIL_MAX, "%s,\"timestamp\":null}", note);
    return (struct str){out, (size_t)n};
}

/* Writes the head of a frame so that it ends at `end`; answers where it begins. */
static char *frame_head(char *end, size_t n) {
    unsigned char head[FRAME_HEAD_MAX] = {TEXT_FRAME};
    size_t len = n < 126 ? 2 : n <= 0xffff ? 4 : 10;
    head[1] = n < 126 ? (unsigned char)n : n <= 0xffff ? 126 : 127;
    for (size_t i = len; i > 2; i--, n >>= 8)
        head[i - 1] = (unsigned char)n;
    return memcpy(end - len, head, len);
}

static struct str put(char **at, struct str s) {
    if (s.n)
        memcpy(*at, s.p, s.n);
    struct str copy = {*at, s.n};
    *at += s.n;
    return copy;
}

struct feed_event *feed_event_new(int64_t epoch, const struct feed_change *c) {
    static const struct feed_marks none;
    return feed_event_of(epoch, c, &none);
}

static size_t names_size(const struct feed_change *c, const struct feed_marks *marks) {
    size_t n = c->schema.n + c->name.n;
    for (size_t i = 0; i < marks->n; i++)
        n += marks->names[i].n;
    return n;
}

struct feed_event *feed_event_of(int64_t epoch, const struct feed_change *c,
                                 const struct feed_marks *marks) {
    static const struct str null = STR("null"), before_data = STR(",\"data\":");
    char tail_text[TAIL_MAX];
    CLEANUP(strbuf_release) struct strbuf head;
    strbuf_init(&head, HEAD_MAX);
    add_head(&head, epoch, c);
    struct str tail = make_tail(tail_text, c);
    struct str key = c->key.p ? c->key : null, data = c->data.p ? c->data : null;
    size_t n = head.n + key.n + before_data.n + data.n + tail.n;

    struct feed_event *ev = xmalloc(sizeof *ev + marks->n * sizeof(struct str) + FRAME_HEAD_MAX +
                                    n + 1 + names_size(c, marks));
    struct str *topics = (struct str *)(ev + 1);
    char *json = (char *)(topics + marks->n) + FRAME_HEAD_MAX, *at = json;
    put(&at, strbuf_str(&head));
    put(&at, key);
    put(&at, before_data);
    put(&at, data);
    put(&at, tail);
    flatten(json, n);
    *at++ = '\n';
    char *frame = frame_head(json, n);
    *ev = (struct feed_event){
        .refs = 1,
        .id = {epoch, c->pos},
        .table = c->table,
        .action = c->action,
        .is_public = c->is_public,
        .schema = put(&at, c->schema),
        .topics = topics,
        .n_topics = marks->n,
        .json = {json, n},
        .frame = {frame, (size_t)(json - frame) + n},
    };
    ev->name = put(&at, c->name);
    for (size_t i = 0; i < marks->n; i++)
        topics[i] = put(&at, marks->names[i]);
    return ev;
}

struct feed_event *feed_event_keep(struct feed_event *ev) {
    atomic_fetch_add_explicit(&ev->refs, 1, memory_order_relaxed);
    return ev;
}

void feed_event_drop(struct feed_event *ev) {
    if (ev && atomic_fetch_sub_explicit(&ev->refs, 1, memory_order_acq_rel) == 1)
        free(ev);
}
