/* An item as Firebase writes it: keys in alphabetical order, absent rather than null, and now and
 * then one of the odd shapes that the real site has been seen to send. */
#include "demo/corpus_int.h"
#include "demo/digits.h"

#include <string.h>

enum odd {
    ODD_TRUE = 1,
    ODD_ARRAY = 2,
    ODD_EMPTY = 4,
    ODD_NO_TYPE = 8,
    ODD_NO_TIME = 16,
    ODD_FUTURE = 32,
    ODD_UNKNOWN = 64,
};

static const char *const KIND_NAMES[] = {"story", "comment", "job", "poll", "pollopt"};

struct writer {
    const struct corpus *c;
    struct strbuf *out;
    struct item it;
    unsigned odd;
    uint64_t form; /* chooses between the eras of a dead or deleted item, and between odd forms */
    bool first;
};

static void key(struct writer *w, const char *name) {
    strbuf_adds(w->out, w->first ? "{\"" : ",\"");
    strbuf_adds(w->out, name);
    strbuf_adds(w->out, "\":");
    w->first = false;
}

static void number_field(struct writer *w, const char *name, int64_t v) {
    key(w, name);
    add_digits(w->out, v);
}

static void text_field(struct writer *w, const char *name, struct str s) {
    key(w, name);
    strbuf_add_json(w->out, s);
}

static void true_field(struct writer *w, const char *name) {
    key(w, name);
    strbuf_adds(w->out, w->odd & ODD_TRUE ? "[true]" : "true");
}

/* "" where an old item carries a field that does not apply to it. */
static void empty_field(struct writer *w, const char *name) {
    if (w->odd & ODD_EMPTY)
        text_field(w, name, STR(""));
}

static void ids_field(struct writer *w, const char *name, const int64_t *ids, int n) {
    if (n == 0)
        return;
    key(w, name);
    bool object = (w->odd & ODD_ARRAY) && n > 1;
    if ((w->odd & ODD_ARRAY) && n == 1) {
        add_digits(w->out, ids[0]);
        return;
    }
    for (int i = 0; i < n; i++) {
        strbuf_addc(w->out, i ? ',' : object ? '{' : '[');
        if (object)
            strbuf_addf(w->out, "\"%d\":", i);
        add_digits(w->out, ids[i]);
    }
    strbuf_addc(w->out, object ? '}' : ']');
}

static unsigned draw_odd(const struct corpus *c, int64_t id) {
    const struct corpus_rates *r = &c->rates;
    struct rng rng = {corpus_hash(c, SALT_ODD, id)};
    const double rates[] = {r->odd_true, r->odd_array,   r->odd_empty,    r->no_type,
                            r->no_time,  r->future_time, r->unknown_field};
    unsigned odd = 0;
    for (size_t i = 0; i < ARRAY_LEN(rates); i++)
        odd |= chance(rng_next(&rng), rates[i]) ? 1U << i : 0;
    return odd;
}

static void time_and_type(struct writer *w, const char *title) {
    int64_t t = w->c->first_time + w->it.id * CORPUS_SECONDS_PER_ID + (int64_t)(w->form % 5);
    if (!(w->odd & ODD_NO_TIME))
        number_field(w, "time", w->odd & ODD_FUTURE ? t + INT64_C(4000000000) : t);
    if (title)
        text_field(w, "title", str_of(title));
    else if (w->it.kind == KIND_COMMENT)
        empty_field(w, "title");
    if (!(w->odd & ODD_NO_TYPE))
        text_field(w, "type", str_of(KIND_NAMES[w->it.kind]));
}

/* What a dead item still says: 2020 kept the words, later years keep a marker or nothing. */
static bool keeps_words(const struct writer *w) {
    return w->it.state == STATE_ALIVE || (w->it.state == STATE_DEAD && w->form % 4 == 0);
}

static void body_field(struct writer *w, bool delayed) {
    const struct item *it = &w->it;
    if (it->state == STATE_DELETED) {
        empty_field(w, "text");
    } else if (it->kind == KIND_COMMENT && !keeps_words(w)) {
        text_field(w, "text", w->form % 3 ? STR("[dead]") : STR("[flagged]"));
    } else if (it->kind == KIND_COMMENT && delayed) {
        text_field(w, "text", STR("[delayed]"));
    } else if (keeps_words(w)) {
        CLEANUP(strbuf_release) struct strbuf text;
        strbuf_init(&text, CORPUS_ITEM_MAX);
        text_body(w->c, it, &text);
        if (text.n)
            text_field(w, "text", strbuf_str(&text));
        else
            empty_field(w, "text");
    }
}

static void numbers(struct writer *w) {
    const struct item *it = &w->it;
    int64_t ids[ITEM_MAX_KIDS];
    bool top = it->kind == KIND_STORY || it->kind == KIND_POLL;
    if (top && it->state == STATE_ALIVE)
        number_field(w, "descendants", corpus_descendants(w->c, it));
    number_field(w, "id", it->id);
    ids_field(w, "kids", ids, corpus_kids(w->c, it, ids));
    if (it->kind == KIND_COMMENT)
        number_field(w, "parent", it->parent);
    if (it->kind == KIND_POLL)
        ids_field(w, "parts", ids, corpus_parts(w->c, it, ids));
    if (it->kind == KIND_POLLOPT)
        number_field(w, "poll", it->poll);
    if (it->kind != KIND_COMMENT && it->state != STATE_DELETED)
        number_field(w, "score", it->score);
}

static void write_item(struct writer *w, bool delayed) {
    const struct item *it = &w->it;
    char name[CORPUS_NAME_MAX];
    if (it->state != STATE_DELETED) {
        text_user_name(w->c, it->author, name);
        text_field(w, "by", str_of(name));
    } else {
        empty_field(w, "by");
    }
    if (it->state == STATE_DEAD || (it->state == STATE_DELETED && w->form % 16 == 0))
        true_field(w, "dead");
    if (it->state == STATE_DELETED)
        true_field(w, "deleted");
    numbers(w);
    body_field(w, delayed);

    bool titled = it->kind != KIND_COMMENT && it->kind != KIND_POLLOPT && keeps_words(w);
    CLEANUP(strbuf_release) struct strbuf title, url;
    strbuf_init(&title, 1024);
    strbuf_init(&url, 2048);
    if (titled) {
        text_title(w->c, it, &title);
        text_url(w->c, it, &url);
    }
    time_and_type(w, titled ? title.p : NULL);
    if (w->odd & ODD_UNKNOWN)
        strbuf_adds(w->out, ",\"unheard_of\":{\"list\":[1,null,\"x\"],\"on\":true}");
    if (url.n)
        text_field(w, "url", strbuf_str(&url));
    else if (titled)
        empty_field(w, "url");
    strbuf_addc(w->out, '}');
}

static bool is_delayed(const struct corpus *c, const struct item *it) {
    return it->change.version == 0 && corpus_maxitem(c) - it->id < c->rates.delayed_window &&
           chance(corpus_hash(c, SALT_DELAYED, it->id), c->rates.delayed);
}

static void render(const struct corpus *c, int64_t id, bool delayed, struct strbuf *out) {
    struct writer w = {.c = c, .out = out, .first = true};
    corpus_look(c, id, &w.it);
    if (!w.it.exists) {
        strbuf_adds(out, "null");
        return;
    }
    w.odd = draw_odd(c, id);
    w.form = corpus_hash(c, SALT_STATE, -id);
    write_item(&w, delayed || is_delayed(c, &w.it));
}

void corpus_item(const struct corpus *c, int64_t id, struct strbuf *out) {
    render(c, id, false, out);
}

void corpus_item_delayed(const struct corpus *c, int64_t id, struct strbuf *out) {
    render(c, id, true, out);
}

void corpus_dump(const struct corpus *c, int64_t lo, int64_t hi, FILE *f) {
    CLEANUP(strbuf_release) struct strbuf line;
    strbuf_init(&line, CORPUS_ITEM_MAX);
    for (int64_t id = lo; id <= hi; id++) {
        strbuf_clear(&line);
        corpus_item(c, id, &line);
        if (str_eqc(strbuf_str(&line), "null"))
            fprintf(f, "{\"id\":%lld,\"missing\":true}\n", (long long)id);
        else
            fprintf(f, "%.*s\n", STR_FMT(strbuf_str(&line)));
    }
}
