/* What 'tain dead-letter' prints: for people, and as JSON. */
#ifndef TAIN_CLI_DEAD_LETTER_REPORT_H
#define TAIN_CLI_DEAD_LETTER_REPORT_H

#include "base/str.h"
#include "store/letters.h"

#include <stdio.h>

struct letter_list {
    struct letter *rows;
    size_t n, cap;
};
void letter_list_add(void *list, const struct letter *l); /* a letter_fn */
void letter_list_release(struct letter_list *l);
/* `total` may be more than are listed. */
void letters_print(FILE *out, const struct letter_list *l, int64_t total, bool json);

/* Everything known of an id, put together row by row. */
struct known {
    int64_t id;
    bool json;
    struct strbuf text;
    bool stored, dead, waiting, missing;
    size_t rows;
};
void known_init(struct known *k, int64_t id, bool json);
void known_release(struct known *k);
void known_add(void *known, const char *table, const struct known_field *fields, size_t n);
void known_print(FILE *out, struct known *k);

/* What was decided. `next`: the command to run, or NULL. */
void replay_print(FILE *out, int64_t n, const char *next, bool json);
/* Of the n ids, `stored` have an item, which stays as it is. `frontier` 0: not said. */
void accept_print(FILE *out, int64_t n, int64_t stored, int64_t frontier, bool json);

#endif
