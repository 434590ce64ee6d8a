/* Private to enrich: the configuration file as a tree with lines, and what reads values from it.
 * libConfuse is behind plan_file.c alone. One thread, at start. */
#ifndef TAIN_ENRICH_PLAN_INT_H
#define TAIN_ENRICH_PLAN_INT_H

#include "enrich/plan.h"

struct conf_entry { /* a list has one for each of its values */
    const char *key;
    struct str text;  /* with variables filled in */
    struct str shown; /* as it stands in the file, for messages */
    int line;         /* where the value begins */
    struct conf_entry *next;
};

struct conf_section {
    const char *kind; /* "provider", "source", "states", "request", "map"; NULL: the file */
    struct str title; /* absent where the kind has none */
    int line;
    struct conf_entry *entries;
    struct conf_section *parts, *next; /* sections in it, in their order */
};

#define PLAN_SPANS_MAX 4096

/* A section from its { to its }, or a quoted text over several lines (depth 0): libConfuse knows
 * the line where they end. */
struct plan_span {
    int depth, open, close; /* close 0: still open */
    bool used;              /* as a section; lists are from the start */
};

/* What every function of the plan's reading is handed. */
struct plan_reader {
    const char *path;
    const char *(*env)(const char *name);
    struct arena *a;
    struct enrich_plan *plan;
    struct err *e;
    struct plan_span *spans;
    size_t n_spans;
};

/* plan_file.c */
MUST_CHECK enum verdict plan_file_load(struct plan_reader *r, struct conf_section *ret_root);

/* plan_text.c: before libConfuse, ${NAME} becomes a mark that it leaves alone, and $${ another. */
#define MARK_OPEN '\x01'
#define MARK_CLOSE '\x02'
#define MARK_DOLLAR '\x03'
MUST_CHECK enum verdict plan_text_mark(struct plan_reader *r, struct str text, struct strbuf *out);
/* Marks of a value: filled in from the environment, and as they were written. */
MUST_CHECK enum verdict plan_text_fill(struct plan_reader *r, const char *marked, int line,
                                       struct str *ret_text, struct str *ret_shown);
struct str plan_text_show(struct arena *a, const char *marked);

/* plan_value.c: a value by its type. Each is V_INVALID with file, line and key, and what is
 * expected there. A missing value leaves *ret alone (V_OK), unless `example` says how to write it.
 */
PRINTF_LIKE(3, 4)
enum verdict plan_bad(struct plan_reader *r, int line, const char *fmt, ...);
const struct conf_entry *conf_get(const struct conf_section *s, const char *key);
MUST_CHECK enum verdict plan_get_text(struct plan_reader *r, const struct conf_section *s,
                                      const char *key, size_t max, const char *example,
                                      struct str *ret);
MUST_CHECK enum verdict plan_get_count(struct plan_reader *r, const struct conf_section *s,
                                       const char *key, int64_t min, int64_t max, int64_t *ret);
/* `word` stands for 0. */
MUST_CHECK enum verdict plan_get_duration(struct plan_reader *r, const struct conf_section *s,
                                          const char *key, const char *word, int64_t min_ms,
                                          int64_t max_ms, int64_t *ret);
MUST_CHECK enum verdict plan_get_word(struct plan_reader *r, const struct conf_section *s,
                                      const char *key, const char *const *words, size_t n,
                                      int *ret);
MUST_CHECK enum verdict plan_get_path(struct plan_reader *r, const struct conf_entry *entry);
/* Letters, digits, _ and -, at most 40: names go into tables and labels. */
MUST_CHECK enum verdict plan_check_name(struct plan_reader *r, const struct conf_section *s);

/* plan_provider.c, plan_source.c, plan_request.c */
MUST_CHECK enum verdict plan_read_provider(struct plan_reader *r, const struct conf_section *s,
                                           struct provider *ret);
MUST_CHECK enum verdict plan_read_source(struct plan_reader *r, const struct conf_section *s,
                                         struct plan_source *ret);
MUST_CHECK enum verdict plan_read_request(struct plan_reader *r, const struct conf_section *s,
                                          struct plan_source *ret);
MUST_CHECK enum verdict plan_read_answer(struct plan_reader *r, const struct conf_section *s,
                                         struct plan_source *ret);

#endif
