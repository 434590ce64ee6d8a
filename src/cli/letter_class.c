#include "cli/letter_class.h"

#include "base/suggest.h"
#include "mirror/outcome.h"

#include <string.h>

/* The classes are numbered without a gap; the first one is success. */
#define FIRST (FAIL_NONE + 1)

bool letter_class_is_known(const char *text) {
    for (int c = FIRST; c < FAIL_N; c++)
        if (strcmp(fail_class_name((enum fail_class)c), text) == 0)
            return true;
    return false;
}

void letter_class_complaint(const char *text, struct strbuf *out) {
    const char *best = fail_class_name((enum fail_class)FIRST);
    for (int c = FIRST; c < FAIL_N; c++) {
        const char *name = fail_class_name((enum fail_class)c);
        if (suggest_distance(text, name) < suggest_distance(text, best))
            best = name;
    }
    strbuf_addf(out, "--class: '%.60s' is no failure class", text);
    if (suggest_near(text, suggest_distance(text, best)))
        strbuf_addf(out, "; did you mean %s?", best);
    strbuf_adds(out, "\nThere are:");
    for (int c = FIRST; c < FAIL_N; c++)
        strbuf_addf(out, "%s %s", c == FIRST ? "" : ",", fail_class_name((enum fail_class)c));
}
