#include "base/fsm.h"

static const char *name_of(const struct fsm *f, int s) {
    return s >= 0 && s < f->n ? f->states[s] : "?";
}

enum verdict fsm_check(const struct fsm *f, int from, int to, struct err *e) {
    bool known = from >= 0 && from < f->n && to >= 0 && to < f->n;
    if (known && (f->next[from] & (1u << to)))
        return V_OK;
    return err_set(e, V_FATAL, "state", 0, "%s may not go from %s to %s", f->name, name_of(f, from),
                   name_of(f, to));
}

int fsm_state(const struct fsm *f, struct str name) {
    for (int s = 0; s < f->n; s++)
        if (str_eqc(name, f->states[s]))
            return s;
    return -1;
}

void fsm_print(const struct fsm *f, struct strbuf *out) {
    strbuf_addf(out, "| %s | may become |\n|---|---|\n", f->name);
    for (int s = 0; s < f->n; s++) {
        strbuf_addf(out, "| %s |", f->states[s]);
        const char *separator = " ";
        for (int t = 0; t < f->n; t++)
            if (f->next[s] & (1u << t)) {
                strbuf_addf(out, "%s%s", separator, f->states[t]);
                separator = ", ";
            }
        strbuf_adds(out, " |\n");
    }
}
