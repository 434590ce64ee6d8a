/* Private to enrich: steps through an answer, and values on their way to columns. Pure. */
#ifndef TAIN_ENRICH_ANSWER_INT_H
#define TAIN_ENRICH_ANSWER_INT_H

#include "enrich/answer.h"
#include "hn/json_read.h"

struct path_step {
    struct str name; /* absent: an index */
    size_t index;
};

/* Takes the next step off the front of *rest. False at the end, and, with something left in *rest,
 * where there is no step. `first`: no dot stands before a name. */
bool path_next(struct str *rest, bool first, struct path_step *ret);

enum path_found {
    PATH_THERE,  /* *ret stands before the value */
    PATH_ABSENT, /* a member or an element is not there, or something on the way is null */
    PATH_ASTRAY, /* a step leads into what is neither: a text, a number, the other kind of list */
};
/* From the value that *from stands before. The document is known to be sound. */
enum path_found path_find(const struct json_read *from, struct str path, struct json_read *ret);

/* Not null, false, 0 or empty. */
bool json_counts(struct json_read r);

/* Adds the value of rule->from (`value` stands before it; NULL: absent) as JSON that fits the
 * column. False: it does not fit, and *ret_error says how. */
bool value_add(const struct map_rule *rule, const struct json_read *value,
               const struct source_column *column, struct strbuf *out, struct str *ret_error);

#endif
