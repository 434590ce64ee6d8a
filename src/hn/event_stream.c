#include "hn/event_stream.h"

#include <string.h>

void event_stream_init(struct event_stream *s, size_t max, stream_event_fn *on_event,
                       void *context) {
    *s =
        (struct event_stream){.on_event = on_event, .context = context, .max = max, .retry_ms = -1};
    strbuf_init(&s->line, max);
    strbuf_init(&s->data, max + 1); /* the LF behind the last line is taken off again */
    strbuf_init(&s->type, max);
    strbuf_init(&s->id, max);
}

void event_stream_release(struct event_stream *s) {
    strbuf_release(&s->line);
    strbuf_release(&s->data);
    strbuf_release(&s->type);
    strbuf_release(&s->id);
}

void event_stream_restart(struct event_stream *s) {
    strbuf_clear(&s->line);
    strbuf_clear(&s->data);
    strbuf_clear(&s->type);
    s->any_line = s->after_cr = s->over = false;
}

/* An event without a data line is none, whatever else it says. */
static void dispatch(struct event_stream *s) {
    if (s->data.n > 0) {
        struct stream_event event = {
            .type = s->type.n ? strbuf_str(&s->type) : STR("message"),
            .data = {s->data.p, s->data.n - 1},
            .id = strbuf_str(&s->id),
        };
        s->on_event(s->context, &event);
    }
    strbuf_clear(&s->data);
    strbuf_clear(&s->type);
}

static void set(struct strbuf *b, struct str value) {
    strbuf_clear(b);
    strbuf_add_str(b, value);
}

/* Digits alone count; a wait that fits no int64 is as good as none. */
static void set_retry(struct event_stream *s, struct str value) {
    int64_t ms;
    for (size_t i = 0; i < value.n; i++)
        if (value.p[i] < '0' || value.p[i] > '9')
            return;
    if (str_to_i64(value, &ms))
        s->retry_ms = ms;
}

static void field(struct event_stream *s, struct str name, struct str value) {
    if (str_eqc(name, "data")) {
        strbuf_add_str(&s->data, value);
        strbuf_addc(&s->data, '\n');
    } else if (str_eqc(name, "event")) {
        set(&s->type, value);
    } else if (str_eqc(name, "id")) {
        if (!memchr(value.p, '\0', value.n))
            set(&s->id, value);
    } else if (str_eqc(name, "retry")) {
        set_retry(s, value);
    }
}

static void line_done(struct event_stream *s, struct str line) {
    if (!s->any_line && str_starts(line, "\xEF\xBB\xBF"))
        line = (struct str){line.p + 3, line.n - 3};
    s->any_line = true;
    if (line.n == 0) {
        dispatch(s);
        return;
    }
    const char *colon = memchr(line.p, ':', line.n);
    if (colon == line.p)
        return; /* a comment */
    struct str name = {line.p, colon ? (size_t)(colon - line.p) : line.n};
    size_t skip = colon ? name.n + 1 : name.n;
    if (colon && skip < line.n && line.p[skip] == ' ')
        skip++;
    field(s, name, (struct str){line.p + skip, line.n - skip});
    s->over |= s->data.overflow;
}

/* The bytes up to the next line end, or all that are left. */
static size_t line_length(const char *p, size_t n) {
    size_t len = 0;
    while (len < n && p[len] != '\n' && p[len] != '\r')
        len++;
    return len;
}

/* Takes one line, or the beginning of one, off the front; answers how many bytes that were. */
static size_t take_line(struct event_stream *s, const char *p, size_t n) {
    size_t len = line_length(p, n);
    bool whole = len < n;
    if (whole && s->line.n == 0) { /* the usual case needs no copy */
        s->over = len > s->max;
        if (!s->over)
            line_done(s, (struct str){p, len});
    } else {
        strbuf_add(&s->line, p, len);
        s->over = s->line.overflow;
        if (whole && !s->over) {
            line_done(s, strbuf_str(&s->line));
            strbuf_clear(&s->line);
        }
    }
    s->after_cr = whole && p[len] == '\r';
    return whole ? len + 1 : len;
}

enum verdict event_stream_push(struct event_stream *s, struct str bytes, struct err *e) {
    size_t at = 0;
    while (at < bytes.n && !s->over) {
        if (s->after_cr && bytes.p[at] == '\n') {
            s->after_cr = false;
            at++;
        } else {
            at += take_line(s, bytes.p + at, bytes.n - at);
        }
    }
    if (s->over)
        return err_set(e, V_LIMIT, "stream", 0, "a line or an event of more than %zu bytes",
                       s->max);
    return V_OK;
}
