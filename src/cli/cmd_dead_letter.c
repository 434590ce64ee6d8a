#include "cli/archive.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/dead_letter_report.h"
#include "cli/format.h"
#include "cli/letter_class.h"
#include "mirror/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_MAX 100000

/* What the command line chose: some ids, or a range. */
struct selection {
    struct letter_choice choices[SETTINGS_LIST_MAX + 1];
    size_t n;
    bool by_id, narrowed; /* narrowed: by anything at all */
};

static int usage(const char *text) {
    fprintf(stderr, "tain dead-letter: %s\nTry 'tain dead-letter --help'.\n", text);
    return EXIT_USAGE;
}

static int fail(enum verdict v, const struct err *e) {
    fprintf(stderr, "tain dead-letter: %s\n", e->msg);
    return v == V_INVALID ? EXIT_USAGE : EXIT_FAILED;
}

static void choose_id(struct selection *sel, int64_t id, const char *cls) {
    sel->choices[sel->n++] = (struct letter_choice){id, id, cls};
    sel->by_id = sel->narrowed = true;
}

/* A class with a typing mistake chooses nothing, which would look like success. */
static int refuse_class(const char *text) {
    CLEANUP(strbuf_release) struct strbuf words;
    strbuf_init(&words, 4096);
    letter_class_complaint(text, &words);
    return usage(words.p);
}

static int select_letters(const struct settings *s, struct selection *sel) {
    if (s->failure_class && !letter_class_is_known(s->failure_class))
        return refuse_class(s->failure_class);
    if (s->id)
        choose_id(sel, s->id, s->failure_class);
    for (size_t i = 1; i < s->words.n; i++) {
        int64_t id;
        if (!str_to_i64(str_of(s->words.items[i]), &id) || id < 1) {
            fprintf(stderr,
                    "tain dead-letter: ID: '%.60s' is not allowed; give an item id, a whole number "
                    "from 1 up\n",
                    word_shown(s->words.items[i]));
            return EXIT_USAGE;
        }
        choose_id(sel, id, s->failure_class);
    }
    bool range = s->start_id || s->end_id;
    if (sel->by_id && (range || s->all))
        return usage("choose by id, or by --start-id, --end-id and --all, not both");
    if (sel->by_id)
        return 0;
    sel->choices[sel->n++] = (struct letter_choice){
        s->start_id ? s->start_id : 1, s->end_id ? s->end_id : INT64_MAX, s->failure_class};
    sel->narrowed = range || s->all || s->failure_class;
    return 0;
}

static int list(const struct settings *s, struct store *store, const struct selection *sel) {
    CLEANUP(letter_list_release) struct letter_list letters = {0};
    int64_t total = 0;
    struct err e = {0};
    enum verdict v = V_OK;
    for (size_t i = 0; i < sel->n && v == V_OK; i++) {
        int64_t n = 0;
        v = store_count_letters(store, &sel->choices[i], &n, &e);
        total += n;
        if (v == V_OK)
            v = store_letters(store, &sel->choices[i], LIST_MAX, letter_list_add, &letters, &e);
    }
    if (v != V_OK)
        return fail(v, &e);
    letters_print(stdout, &letters, total, s->json);
    return EXIT_DONE;
}

static int show(const struct settings *s, struct store *store, const struct selection *sel) {
    struct err e = {0};
    CLEANUP(known_release) struct known known;
    known_init(&known, sel->choices[0].lo, s->json);
    enum verdict v = store_known(store, sel->choices[0].lo, known_add, &known, &e);
    if (v == V_NOT_FOUND) {
        fprintf(stderr, "tain dead-letter: nothing is known of %" PRId64 "\n", sel->choices[0].lo);
        return EXIT_FAILED;
    }
    if (v != V_OK)
        return fail(v, &e);
    known_print(stdout, &known);
    return EXIT_DONE;
}

/* Ids that were named must be dead letters, all of them, before any is touched. */
static int refuse_others(struct store *store, const struct selection *sel) {
    struct err e = {0};
    int refused = 0;
    for (size_t i = 0; i < sel->n && sel->by_id; i++) {
        int64_t n = 0;
        enum verdict v = store_count_letters(store, &sel->choices[i], &n, &e);
        if (v != V_OK)
            return fail(v, &e);
        if (n)
            continue;
        fprintf(stderr, "tain dead-letter: %" PRId64 " is not a dead letter%s%s\n",
                sel->choices[i].lo, sel->choices[i].cls ? " of class " : "",
                sel->choices[i].cls ? sel->choices[i].cls : "");
        refused++;
    }
    if (refused)
        fputs("Nothing was changed. 'tain dead-letter show ID' says what is known.\n", stderr);
    return refused ? EXIT_FAILED : 0;
}

static int replay(const struct settings *s, struct store *store, const struct selection *sel) {
    struct err e = {0};
    int64_t total = 0, lo = 0, hi = 0;
    enum verdict v = V_OK;
    for (size_t i = 0; i < sel->n && v == V_OK; i++) {
        int64_t n = 0, from = 0, to = 0;
        v = store_replay_letters(store, &sel->choices[i], &n, &from, &to, &e);
        total += n;
        lo = from && (lo == 0 || from < lo) ? from : lo;
        hi = to > hi ? to : hi;
    }
    if (v != V_OK)
        return fail(v, &e);
    char command[96] = "tain catchup";
    if (lo)
        snprintf(command, sizeof command, "tain catchup --start-id %" PRId64 " --end-id %" PRId64,
                 lo, hi);
    replay_print(stdout, total, total ? command : NULL, s->json);
    return EXIT_DONE;
}

/* The frontier passes at once, not at the next run. */
static enum verdict settle(struct store *store, struct frontier *ret, struct err *e) {
    enum verdict v = store_reclaim(store, e);
    if (v == V_OK)
        v = store_plan_begin(store, e);
    if (v != V_OK)
        return v;
    v = plan_frontier(store, ret, e);
    if (v == V_OK)
        v = store_set_frontier(store, ret->id, ret->excluding_waiting, e);
    return store_plan_end(store, v, e);
}

static int accept_letters(const struct settings *s, struct store *store,
                          const struct selection *sel) {
    struct err e = {0};
    struct frontier frontier = {0};
    int64_t total = 0, stored = 0;
    enum verdict v = V_OK;
    for (size_t i = 0; i < sel->n && v == V_OK; i++) {
        int64_t n = 0, kept = 0;
        v = store_accept_letters(store, &sel->choices[i], s->reason, &n, &kept, &e);
        total += n;
        stored += kept;
    }
    if (v == V_OK)
        v = settle(store, &frontier, &e);
    if (v != V_OK)
        return fail(v, &e);
    accept_print(stdout, total, stored, frontier.id, s->json);
    return EXIT_DONE;
}

static int run(const struct settings *s, const struct selection *sel) {
    const char *action = s->words.items[0];
    bool decides = strcmp(action, "replay") == 0 || strcmp(action, "accept") == 0;
    if (decides && !sel->narrowed)
        return usage("say which: an ID, --start-id and --end-id, --class, or --all");
    if (s->reason && strcmp(action, "accept") != 0)
        return usage("--reason belongs to accept");
    if (strcmp(action, "show") == 0 && (!sel->by_id || sel->n != 1))
        return usage("show wants one ID");
    struct store *store = NULL;
    int code = archive_open(s, SCHEMA_REQUIRE, &store);
    if (code == 0 && decides)
        code = refuse_others(store, sel);
    if (code == 0 && strcmp(action, "list") == 0)
        code = list(s, store, sel);
    else if (code == 0 && strcmp(action, "show") == 0)
        code = show(s, store, sel);
    else if (code == 0)
        code = (action[0] == 'r' ? replay : accept_letters)(s, store, sel);
    store_close(store);
    return code;
}

int cmd_dead_letter(struct settings *s) {
    CLEANUP(free_ptr) struct selection *sel = xcalloc(1, sizeof *sel);
    int code = select_letters(s, sel);
    return code ? code : run(s, sel);
}
