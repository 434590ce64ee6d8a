#include "cli/search_report.h"

#include "base/shown.h"
#include "cli/format.h"
#include "hn/html.h"
#include "hn/search_text.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#define SNIPPET_BYTES 320
#define MARKS_MAX 64
#define TEXT_BYTES ((size_t)1 << 20)

/* With what was found in bold. */
static void add_marked(struct strbuf *b, const struct search_words *w, struct str s, bool color) {
    struct search_mark marks[MARKS_MAX];
    size_t n = color ? search_marks(w, s, marks, MARKS_MAX) : 0, at = 0;
    for (size_t i = 0; i < n; i++) {
        strbuf_add_shown(b, (struct str){s.p + at, marks[i].at - at});
        strbuf_adds(b, "\033[1;33m");
        strbuf_add_shown(b, (struct str){s.p + marks[i].at, marks[i].n});
        strbuf_adds(b, "\033[0m");
        at = marks[i].at + marks[i].n;
    }
    strbuf_add_shown(b, (struct str){s.p + at, s.n - at});
}

static void add_date(struct strbuf *b, int64_t seconds) {
    time_t t = (time_t)seconds;
    struct tm tm;
    char day[32];
    if (seconds != I64_NONE && gmtime_r(&t, &tm) && strftime(day, sizeof day, "%Y-%m-%d", &tm))
        strbuf_addf(b, ", %s", day);
}

static void add_number(struct strbuf *b, int64_t n, const char *one, const char *many) {
    char a[FORMAT_MAX];
    if (n != I64_NONE)
        strbuf_addf(b, "%s %s, ", format_count(a, n), n == 1 ? one : many);
}

static void add_about(struct strbuf *b, const struct item *it) {
    add_number(b, it->score, "point", "points");
    add_number(b, it->descendants, "comment", "comments");
    strbuf_add_shown(b, it->type.p ? it->type : STR("item"));
    strbuf_adds(b, it->dead || it->deleted ? " (dead)" : "");
    if (it->by.p) {
        strbuf_adds(b, " by ");
        strbuf_add_shown(b, it->by);
    }
    add_date(b, it->time);
    strbuf_addf(b, ", https://news.ycombinator.com/item?id=%" PRId64, it->id);
}

static void add_title(struct strbuf *b, const struct search_words *w, const struct search_hit *h,
                      bool color) {
    const struct item *it = &h->it.item;
    if (it->title.p) {
        add_marked(b, w, it->title, color);
        if (it->domain.n) {
            strbuf_adds(b, " (");
            add_marked(b, w, it->domain, color);
            strbuf_addc(b, ')');
        }
    } else if (h->story_title.p) {
        strbuf_adds(b, "Re: ");
        strbuf_add_shown(b, h->story_title);
    } else {
        strbuf_adds(b, "Re: a story that is not stored");
    }
}

static struct str plain_of(const struct item *it, struct strbuf *plain) {
    strbuf_clear(plain);
    return it->text.n && html_text(it->text, plain) ? strbuf_str(plain) : STR_NONE;
}

static void print_hit(FILE *out, const struct search_report *r, const struct search_words *w,
                      size_t i, struct strbuf *b, struct strbuf *plain) {
    const struct search_hit *h = &r->answer->hits[i];
    strbuf_clear(b);
    strbuf_addf(b, "%3" PRId64 ". ", r->offset + (int64_t)i + 1);
    add_title(b, w, h, r->color);
    strbuf_adds(b, "\n     ");
    add_about(b, &h->it.item);
    struct str text = plain_of(&h->it.item, plain);
    struct str shown = text.p ? search_snippet(w, text, SNIPPET_BYTES) : STR_NONE;
    if (shown.n) {
        strbuf_adds(b, shown.p > text.p ? "\n     ... " : "\n     ");
        add_marked(b, w, shown, r->color);
        strbuf_adds(b, shown.p + shown.n < text.p + text.n ? " ..." : "");
    }
    fprintf(out, "%s\n", b->p);
}

static void print_end(FILE *out, const struct search_report *r) {
    char a[FORMAT_MAX], b[FORMAT_MAX];
    const struct search_answer *answer = r->answer;
    if (answer->total == 0)
        fprintf(out, "nothing found");
    else
        fprintf(out, "%s%s hit%s, page %" PRId64, answer->exact ? "" : "at least ",
                format_count(a, answer->total), answer->total == 1 ? "" : "s", r->page);
    fprintf(out, ", %" PRId64 " ms\n", r->took_ms);
    if (r->waiting)
        fprintf(out, "%s ids wait to be indexed: 'tain search --index' does it\n",
                format_count(b, r->waiting));
}

void search_print(FILE *out, const struct search_report *r) {
    struct arena a;
    struct search_words words;
    CLEANUP(strbuf_release) struct strbuf b, plain;
    strbuf_init(&b, TEXT_BYTES);
    strbuf_init(&plain, TEXT_BYTES);
    arena_init(&a);
    search_words_of(&a, search_text(&a, r->text), &words);
    for (size_t i = 0; i < r->answer->n; i++)
        print_hit(out, r, &words, i, &b, &plain);
    print_end(out, r);
    arena_release(&a);
}

/* For programs ----------------------------------------------------------------------------------
 */

static void add_text_field(struct strbuf *b, const char *name, struct str s) {
    if (!s.p)
        return;
    strbuf_addf(b, ",\"%s\":", name);
    strbuf_add_json(b, s);
}

static void add_int_field(struct strbuf *b, const char *name, int64_t n) {
    if (n != I64_NONE)
        strbuf_addf(b, ",\"%s\":%" PRId64, name, n);
}

static void add_hit(struct strbuf *b, const struct search_hit *h, struct strbuf *plain) {
    const struct item *it = &h->it.item;
    strbuf_addf(b, "{\"id\":%" PRId64, it->id);
    add_text_field(b, "type", it->type);
    add_text_field(b, "by", it->by);
    add_int_field(b, "time", it->time);
    add_text_field(b, "title", it->title);
    add_text_field(b, "url", it->url);
    add_int_field(b, "points", it->score);
    add_int_field(b, "comments", it->descendants);
    add_int_field(b, "parent", it->parent);
    add_int_field(b, "story_id", h->it.story_id);
    add_text_field(b, "story_title", h->story_title);
    add_text_field(b, "text", plain_of(it, plain));
    strbuf_addf(b, ",\"dead\":%s}", it->dead || it->deleted ? "true" : "false");
}

void search_print_json(FILE *out, const struct search_report *r) {
    CLEANUP(strbuf_release) struct strbuf b, plain;
    strbuf_init(&b, TEXT_BYTES);
    strbuf_init(&plain, TEXT_BYTES);
    strbuf_adds(&b, "{\"query\":");
    strbuf_add_json(&b, r->text);
    strbuf_addf(&b, ",\"total\":%" PRId64 ",\"exact\":%s,\"page\":%" PRId64, r->answer->total,
                r->answer->exact ? "true" : "false", r->page);
    strbuf_addf(&b, ",\"took_ms\":%" PRId64 ",\"waiting\":%" PRId64 ",\"hits\":[", r->took_ms,
                r->waiting);
    fputs(b.p, out);
    for (size_t i = 0; i < r->answer->n; i++) {
        strbuf_clear(&b);
        strbuf_adds(&b, i ? ",\n" : "\n");
        add_hit(&b, &r->answer->hits[i], &plain);
        fputs(b.p, out);
    }
    fputs("]}\n", out);
}
