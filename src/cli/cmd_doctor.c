#include "base/shown.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/doctor.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char *const level_names[] = {"ok", "warn", "fail"};

struct check *check_add(struct checkup *c, enum check_level level, const char *name,
                        const char *fmt, ...) {
    static struct check spare;
    struct check *row = c->n < CHECKS_MAX ? &c->rows[c->n++] : &spare;
    *row = (struct check){.level = level};
    snprintf(row->name, sizeof row->name, "%s", name);
    va_list args;
    va_start(args, fmt);
    vsnprintf(row->text, sizeof row->text, fmt, args);
    va_end(args);
    for (char *p = row->text; *p; p++) /* a library may say it in several lines */
        if ((unsigned char)*p < ' ')
            *p = ' ';
    shown_in_place(row->text);
    return row;
}

void check_advise(struct check *c, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(c->advice, sizeof c->advice, fmt, args);
    va_end(args);
}

enum check_level checkup_worst(const struct checkup *c) {
    enum check_level worst = CHECK_OK;
    for (size_t i = 0; i < c->n; i++)
        worst = c->rows[i].level > worst ? c->rows[i].level : worst;
    return worst;
}

void checkup_print(FILE *out, const struct checkup *c) {
    for (size_t i = 0; i < c->n; i++) {
        const struct check *row = &c->rows[i];
        fprintf(out, "%-4s  %-12s  %s%s%s\n", level_names[row->level], row->name, row->text,
                row->advice[0] ? "; " : "", row->advice);
    }
}

void checkup_print_json(FILE *out, const struct checkup *c) {
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, (size_t)1 << 20);
    strbuf_addf(&b, "{\"command\":\"doctor\",\"level\":\"%s\",\"checks\":[",
                level_names[checkup_worst(c)]);
    for (size_t i = 0; i < c->n; i++) {
        strbuf_addf(&b, "%s{\"level\":\"%s\",\"name\":\"%s\",\"text\":", i ? "," : "",
                    level_names[c->rows[i].level], c->rows[i].name);
        strbuf_add_json(&b, str_of(c->rows[i].text));
        strbuf_adds(&b, ",\"advice\":");
        if (c->rows[i].advice[0])
            strbuf_add_json(&b, str_of(c->rows[i].advice));
        else
            strbuf_adds(&b, "null");
        strbuf_addc(&b, '}');
    }
    strbuf_adds(&b, "]}\n");
    fwrite(b.p, 1, b.n, out);
}

int cmd_doctor(struct settings *s) {
    CLEANUP(free_ptr) struct checkup *c = xcalloc(1, sizeof *c);
    c->s = s;
    doctor_database(c);
    doctor_upstream(c);
    doctor_services(c);
    doctor_machine(c);
    doctor_libraries(c);
    doctor_configuration(c);
    if (s->json)
        checkup_print_json(stdout, c);
    else
        checkup_print(stdout, c);
    return checkup_worst(c) == CHECK_FAIL ? EXIT_FAILED : EXIT_DONE;
}
