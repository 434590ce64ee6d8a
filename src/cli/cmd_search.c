#include "base/log.h"
#include "cli/archive.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/format.h"
#include "cli/options.h"
#include "cli/search_report.h"
#include "cli/shapes.h"
#include "hn/search_text.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QUERY_BYTES ((size_t)16 * 1024)
#define STEP_ITEMS 2000
#define DEFAULT_LIMIT 20

/* --index -------------------------------------------------------------------------------------- */

static void show(struct progress *p, int64_t total, int64_t left, int64_t indexed) {
    char a[FORMAT_MAX], note[80];
    snprintf(note, sizeof note, "%s items", format_count(a, indexed));
    const struct progress_view view = {
        .total_ids = total,
        .done_ids = total > left ? total - left : 0,
        .phase = "indexing",
        .note = note,
    };
    progress_update(p, &view);
}

/* Writers may add to what waits meanwhile: the end is when nothing does. */
static enum verdict work_off(struct store *store, struct progress *p, const struct stop_token *stop,
                             int64_t *ret_indexed, struct err *e) {
    int64_t total = 0, left = 0, since, done = 1;
    *ret_indexed = 0;
    enum verdict v = store_index_lag(store, &total, &since, e);
    while (v == V_OK && done > 0 && !stop_raised(stop)) {
        v = store_index_step(store, STEP_ITEMS, &done, e);
        *ret_indexed += done;
        if (v == V_OK)
            v = store_index_lag(store, &left, &since, e);
        if (left > total)
            total = left;
        if (v == V_OK)
            show(p, total, left, *ret_indexed);
    }
    return v == V_OK && stop_raised(stop) ? V_STOPPED : v;
}

static int run_index(const struct settings *s, struct store *store, const struct stop_token *stop) {
    const struct progress_options look = progress_options_for(
        stderr, (enum progress_mode)s->progress, s->log_format == LOG_JSON, &clock_machine);
    struct progress *progress = progress_new(&look);
    struct err e = {0};
    int64_t indexed;
    enum verdict v = work_off(store, progress, stop, &indexed, &e);
    progress_free(progress);
    char a[FORMAT_MAX];
    if (v == V_STOPPED)
        return signal_received() == SIGINT ? EXIT_SIGINT : EXIT_SIGTERM;
    if (v != V_OK) {
        complain(s, e.msg);
        return EXIT_FAILED;
    }
    if (s->words.n == 0 && s->json)
        printf("{\"indexed\":%lld}\n", (long long)indexed);
    else if (s->words.n == 0)
        printf("%s items indexed, nothing waits\n", format_count(a, indexed));
    return 0;
}

/* The query ------------------------------------------------------------------------------------ */

static struct search_tag *add_group(struct search_query *q) {
    struct search_group *g = &q->groups[q->n_groups++];
    *g = (struct search_group){.n = 1};
    return &g->tags[0];
}

/* "story,ask_hn": one of these must hold. The option's shape was checked. */
static void add_types(struct search_query *q, const char *text) {
    struct search_group *g = &q->groups[q->n_groups++];
    *g = (struct search_group){0};
    while (*text && g->n < SEARCH_CHOICES) {
        size_t n = strcspn(text, ",");
        struct search_tag *t = &g->tags[g->n++];
        unsigned kind = shape_item_kind(text, n);
        if (kind == SHAPE_KIND_ASK || kind == SHAPE_KIND_SHOW)
            t->kind = kind == SHAPE_KIND_ASK ? TAG_ASK_HN : TAG_SHOW_HN;
        else
            *t = (struct search_tag){.kind = TAG_KIND, .kinds = kind};
        text += n + (text[n] == ',');
    }
}

static int64_t seconds_of(const char *instant) {
    int64_t ms;
    return instant && shape_parse_instant(instant, &ms) ? ms / 1000 : I64_NONE;
}

static size_t limit_of(const struct settings *s) {
    return s->limit ? (size_t)s->limit : DEFAULT_LIMIT;
}

static void make_query(const struct settings *s, struct str text, struct search_query *q) {
    search_query_init(q);
    q->text = text;
    q->limit = limit_of(s);
    q->offset = (s->page - 1) * (int64_t)q->limit;
    q->order = s->by_date ? SEARCH_BY_DATE : SEARCH_BY_RELEVANCE;
    q->time_lo = seconds_of(s->since);
    q->time_hi = seconds_of(s->until);
    if (settings_origin(s, "min-points") != ORIGIN_DEFAULT)
        q->points_lo = s->min_points;
    if (s->type)
        add_types(q, s->type);
    if (s->author)
        *add_group(q) = (struct search_tag){.kind = TAG_AUTHOR, .name = str_of(s->author)};
}

static bool has_color(void) {
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

static int run_query(const struct settings *s, struct store *store) {
    CLEANUP(strbuf_release) struct strbuf text;
    strbuf_init(&text, QUERY_BYTES);
    for (size_t i = 0; i < s->words.n; i++)
        strbuf_addf(&text, "%s%s", i ? " " : "", s->words.items[i]);
    struct search_query q;
    struct search_answer answer;
    struct err e;
    struct arena a;
    arena_init(&a);
    make_query(s, search_text(&a, strbuf_str(&text)), &q);
    struct search_report r = {.text = strbuf_str(&text),
                              .answer = &answer,
                              .page = s->page,
                              .offset = q.offset,
                              .color = has_color()};
    int64_t began = clock_mono(&clock_machine), since;
    enum verdict v = store_search(store, &a, &q, &answer, &e);
    r.took_ms = clock_mono(&clock_machine) - began;
    if (v == V_OK)
        v = store_index_lag(store, &r.waiting, &since, &e);
    if (v != V_OK)
        complain(s, e.msg);
    else if (s->json)
        search_print_json(stdout, &r);
    else
        search_print(stdout, &r);
    arena_release(&a);
    return v == V_OK ? EXIT_DONE : v == V_INVALID ? EXIT_USAGE : EXIT_FAILED;
}

static bool asks(const struct settings *s) {
    return s->words.n || s->author || s->type || s->since || s->until || s->by_date ||
           settings_origin(s, "min-points") != ORIGIN_DEFAULT;
}

int cmd_search(struct settings *s) {
    struct err e;
    struct stop_token stop;
    if (!asks(s) && !s->index) {
        fprintf(stderr, "tain search: what for? Name words, or an option such as --author\n");
        return EXIT_USAGE;
    }
    if (s->since && !shape_instant(s->since)) {
        fprintf(stderr, "tain search: --since: '%.60s' is no time\n", s->since);
        return EXIT_USAGE;
    }
    if (limit_of(s) > 1000) {
        fprintf(stderr, "tain search: --limit: at most 1000 hits on a page; --page turns it\n");
        return EXIT_USAGE;
    }
    if (stop_init(&stop, &e) != V_OK) {
        complain(s, e.msg);
        return EXIT_FAILED;
    }
    signals_to(&stop);
    struct store *store = NULL;
    int code = archive_open(s, SCHEMA_REQUIRE, &store);
    if (code == 0 && s->index)
        code = run_index(s, store, &stop);
    if (code == 0 && asks(s))
        code = run_query(s, store);
    store_close(store);
    stop_release(&stop);
    return code;
}
