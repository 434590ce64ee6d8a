#include "feed/event.h"
#include "feed/feed_int.h"
#include "feed/link_topic.h"

/* The text up to the next comma, without blanks around it; *rest goes on behind the comma. False:
 * nothing is left. */
static bool next_word(struct str *rest, struct str *ret) {
    if (!rest->p)
        return false;
    size_t n = 0;
    while (n < rest->n && rest->p[n] != ',')
        n++;
    struct str word = {rest->p, n};
    *rest = n < rest->n ? (struct str){rest->p + n + 1, rest->n - n - 1} : STR_NONE;
    while (word.n && word.p[0] == ' ')
        word = (struct str){word.p + 1, word.n - 1};
    while (word.n && word.p[word.n - 1] == ' ')
        word.n--;
    *ret = word;
    return true;
}

static enum verdict read_tables(struct str rest, struct feed_filter *ret, struct err *e) {
    struct str word;
    while (next_word(&rest, &word)) {
        if (word.n == 0)
            return err_set(e, V_INVALID, "feed", 0,
                           "tables: a name is empty; TABLE or SCHEMA.TABLE, separated by commas");
        if (ret->n_tables == FEED_FILTER_TABLES)
            return err_set(e, V_INVALID, "feed", 0, "tables: more than %d are named",
                           FEED_FILTER_TABLES);
        ret->tables[ret->n_tables++] = word;
    }
    return V_OK;
}

static enum verdict read_actions(struct str rest, struct feed_filter *ret, struct err *e) {
    struct str word;
    while (next_word(&rest, &word)) {
        int a = 0;
        while (a < FEED_ACTIONS && !str_eqc(word, feed_action_name((enum feed_action)a)))
            a++;
        if (a == FEED_ACTIONS)
            return err_set(e, V_INVALID, "feed", 0,
                           "actions: \"%.*s\" is none; they are insert, update, delete, truncate "
                           "and resync, separated by commas",
                           word.n > 40 ? 40 : (int)word.n, word.p);
        ret->actions |= 1u << a;
    }
    return V_OK;
}

enum verdict feed_filter_read(struct str tables, struct str actions, struct feed_filter *ret,
                              struct err *e) {
    struct feed_filter f = {0};
    enum verdict v = read_tables(tables, &f, e);
    if (v == V_OK)
        v = read_actions(actions, &f, e);
    if (v == V_OK)
        *ret = f;
    return v;
}

/* "table" or "schema.table". A dot in a name is no trouble: both readings are tried. */
bool feed_table_is(struct str asked, struct str schema, struct str name) {
    if (str_eq(asked, name))
        return true;
    return asked.n == schema.n + 1 + name.n && asked.p[schema.n] == '.' &&
           str_eq((struct str){asked.p, schema.n}, schema) &&
           str_eq((struct str){asked.p + schema.n + 1, name.n}, name);
}

bool feed_marks_have(const struct str *names, size_t n, struct str name) {
    for (size_t i = 0; i < n; i++)
        if (link_topic_fits(name, names[i]))
            return true;
    return false;
}

static bool is_of_a_link(const struct str *topics, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (str_starts(topics[i], "link:"))
            return true;
    return false;
}

bool feed_filter_wants(const struct feed_filter *f, struct str schema, struct str name,
                       enum feed_action action, bool is_public, const struct str *topics,
                       size_t n_topics) {
    if (f->public_only && !is_public)
        return false;
    if (f->no_links && is_of_a_link(topics, n_topics))
        return false;
    if (f->actions && !(f->actions & 1u << action))
        return false;
    for (size_t i = 0; i < f->n_tables; i++)
        if (feed_table_is(f->tables[i], schema, name) ||
            feed_marks_have(topics, n_topics, f->tables[i]))
            return true;
    return f->n_tables == 0;
}

bool feed_filter_takes(const struct feed_filter *f, const struct feed_event *ev) {
    return feed_filter_wants(f, ev->schema, ev->name, ev->action, ev->is_public, ev->topics,
                             ev->n_topics);
}

struct str feed_filter_topic(const struct feed_filter *f, const struct feed_event *ev) {
    for (size_t i = 0; i < f->n_tables && ev->n_topics; i++)
        if (feed_marks_have(ev->topics, ev->n_topics, f->tables[i]))
            return f->tables[i];
    return STR_NONE;
}
