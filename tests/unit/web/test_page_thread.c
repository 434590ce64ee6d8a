/* A thread on a page: its nesting, its anchors, what is marked, what is hostile, and how the work
 * grows. */
#include "web/page_thread.h"

#include "web/call.h"

#include "page_check.h"

#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define NOW INT64_C(1800000000)
#define ROOT 100

static struct arena arena;
static struct strbuf b;

static int fresh(void **state UNUSED) {
    arena_init(&arena);
    strbuf_init(&b, CALL_ANSWER_MAX);
    return 0;
}

static int release(void **state UNUSED) {
    arena_release(&arena);
    strbuf_release(&b);
    return 0;
}

/* Comments 101, 102, ... at these depths, all by "x". */
static struct thread make(const int *depths, size_t n) {
    struct thread t = {.nodes = arena_zalloc(&arena, n * sizeof *t.nodes), .n = n};
    for (size_t i = 0; i < n; i++) {
        struct thread_node *node = &t.nodes[i];
        node->depth = depths[i];
        node->it = (struct read_item){.stored = true,
                                      .item = {.id = ROOT + 1 + (int64_t)i,
                                               .type = STR("comment"),
                                               .by = STR("x"),
                                               .text = STR("words"),
                                               .time = NOW - 60}};
        for (size_t k = i + 1; k < n && depths[k] > depths[i]; k++)
            node->below++;
    }
    return t;
}

/* The thread as one text, written in parts of at least `enough` bytes. */
static const char *written(const struct thread *thread, size_t enough, const int64_t *revised,
                           size_t n_revised) {
    struct page_thread t = {.thread = thread,
                            .root = ROOT,
                            .op = STR("op"),
                            .now = NOW,
                            .revised = revised,
                            .n_revised = n_revised};
    CLEANUP(strbuf_release) struct strbuf part;
    bool more = true;
    strbuf_init(&part, CALL_ANSWER_MAX);
    strbuf_clear(&b);
    strbuf_adds(&b, "");
    page_thread_init(&t, &arena);
    while (more) {
        more = page_thread_part(&t, &part, enough);
        strbuf_add_str(&b, strbuf_str(&part));
        strbuf_clear(&part);
    }
    struct page_check k;
    const char *wrong = page_check(&k, strbuf_str(&b));
    if (wrong)
        fail_msg("%s at: %.100s", k.why, wrong);
    return strbuf_str(&b).p;
}

static void one_comment(void **state UNUSED) {
    struct thread t = make((int[]){0}, 1);
    assert_string_equal(
        written(&t, SIZE_MAX, NULL, 0),
        "<article class=\"c d0\" id=\"101\"><header><a class=\"by\" href=\"/user?id=x\">x</a> "
        "<a class=\"when\" href=\"/item?id=101\"><time datetime=\"2027-01-15T07:59:00Z\" "
        "title=\"2027-01-15 07:59:00 UTC\">1 minute ago</time></a> "
        "<span class=\"ways\"><a href=\"#100\">root</a> </span></header>"
        "<details open><summary><span>1 comment</span></summary>"
        "<div class=\"text\">words</div></details></article>\n");
}

/* What the header of a comment leads to, as "parent prev next", 0 where it does not. */
static void leads(const char *html, int64_t id, int64_t parent, int64_t prev, int64_t next) {
    char wanted[300], start[64];
    size_t n = 0;
    snprintf(start, sizeof start, "id=\"%lld\">", (long long)id);
    const char *at = strstr(html, start), *ways = at ? strstr(at, "<span class=\"ways\">") : NULL;
    assert_non_null(ways);
    n += (size_t)snprintf(wanted + n, sizeof wanted - n,
                          "<span class=\"ways\"><a href=\"#100\">root</a> ");
    const struct {
        int64_t to;
        const char *word;
    } all[] = {{parent, "parent"}, {prev, "prev"}, {next, "next"}};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (all[i].to)
            n += (size_t)snprintf(wanted + n, sizeof wanted - n, "<a href=\"#%lld\">%s</a> ",
                                  (long long)all[i].to, all[i].word);
    snprintf(wanted + n, sizeof wanted - n, "</span>");
    assert_memory_equal(ways, wanted, strlen(wanted));
}

static void anchors(void **state UNUSED) {
    struct thread t = make((int[]){0, 1, 2, 1, 0, 1, 2, 2, 0}, 9);
    const char *html = written(&t, SIZE_MAX, NULL, 0);
    leads(html, 101, 0, 0, 105);
    leads(html, 102, 101, 0, 104);
    leads(html, 103, 102, 0, 0);
    leads(html, 104, 101, 102, 0);
    leads(html, 105, 0, 101, 109);
    leads(html, 106, 105, 0, 0); /* no child of 101 is its elder sibling */
    leads(html, 107, 106, 0, 108);
    leads(html, 108, 106, 107, 0);
    leads(html, 109, 0, 105, 0);
    assert_non_null(strstr(html, "<span>4 comments</span>"));
}

static void depth_is_a_class(void **state UNUSED) {
    int depths[14];
    for (int i = 0; i < 14; i++)
        depths[i] = i;
    struct thread t = make(depths, 14);
    const char *html = written(&t, SIZE_MAX, NULL, 0);
    assert_non_null(strstr(html, "<article class=\"c d0\" id=\"101\">"));
    assert_non_null(strstr(html, "<article class=\"c d9\" id=\"110\">"));
    assert_non_null(strstr(html, "<article class=\"c dx\" id=\"111\">"));
    assert_null(strstr(html, "style="));
}

static void in_parts_it_is_the_same(void **state UNUSED) {
    int depths[200] = {0};
    for (int i = 0; i < 200; i++)
        depths[i] = i % 7 == 0 ? 0 : depths[i - 1] + (i % 3 != 0);
    struct thread t = make(depths, 200);
    char *whole = arena_strdup(&arena, written(&t, SIZE_MAX, NULL, 0));
    static const size_t sizes[] = {1, 100, 1000, 5000};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
        assert_string_equal(written(&t, sizes[i], NULL, 0), whole);
}

/* So deep that a browser would lose the nesting: the rest stands side by side, and nothing is lost.
 */
static void very_deep(void **state UNUSED) {
    enum { N = 3000 };
    int *depths = arena_alloc(&arena, N * sizeof *depths);
    for (int i = 0; i < N; i++)
        depths[i] = i;
    struct thread t = make(depths, N);
    const char *html = written(&t, 65536, NULL, 0);
    leads(html, 101 + 2999, 101 + 2998, 0, 0);
    int open = 0, deepest = 0;
    for (const char *p = html; (p = strchr(p, '<')); p++) {
        open += strncmp(p, "<article", 8) == 0;
        open -= strncmp(p, "</article", 9) == 0;
        deepest = open > deepest ? open : deepest;
    }
    assert_int_equal(deepest, PAGE_NEST_MAX + 1);
}

static void marks(void **state UNUSED) {
    struct thread t = make((int[]){0, 0, 0, 0, 0}, 5);
    static const int64_t revised[] = {50, 102, 900};
    t.nodes[0].it.item.dead = true;
    t.nodes[0].it.item.text = STR("[flagged]");
    t.nodes[1].it.item.deleted = true;
    t.nodes[1].it.item.by = t.nodes[1].it.item.text = STR_NONE;
    t.nodes[2].it = (struct read_item){.item = {.id = 103, .time = I64_NONE}};
    t.nodes[3].it.item.by = STR("op");
    t.nodes[4].it.item.time = I64_NONE;
    const char *html = written(&t, SIZE_MAX, revised, 3);
    assert_non_null(strstr(html, "<article class=\"c d0 gone\" id=\"101\">"));
    assert_non_null(strstr(html, "<span class=\"tag\">dead</span>"));
    assert_non_null(strstr(html, "<div class=\"text\">[flagged]</div>"));
    assert_non_null(strstr(html, "<article class=\"c d0 gone\" id=\"102\"><header><a "
                                 "class=\"when\" href=\"/item?id=102\">"));
    assert_non_null(strstr(html, "<span class=\"tag\">deleted</span> <a class=\"was\" "
                                 "href=\"/item/revisions?id=102\">earlier versions</a>"));
    assert_non_null(strstr(html, "<p class=\"absent\">No text.</p>"));
    assert_non_null(strstr(html, "<span class=\"when\">#103</span> "
                                 "<span class=\"tag\">not in the archive</span>"));
    assert_null(strstr(html, "/item?id=103\">")); /* but for the link to the upstream */
    assert_non_null(strstr(html, "https://news.ycombinator.com/item?id=103"));
    assert_non_null(strstr(html, ">op</a><abbr class=\"op\""));
    assert_non_null(strstr(html, "at an unknown time"));
    assert_null(strstr(html, "revisions?id=101"));
}

static void hostile_texts_stay_in_their_comment(void **state UNUSED) {
    static const struct str vectors[] = {
        STR("</div></details></article></section></main><script>alert(1)</script>"),
        STR("<details open ontoggle=alert(1)>"),
        STR("<p></p></p><pre><code></article>"),
        STR("<a href=\"http://e.com\"><i><b><pre>"),
        STR("<article id=\"101\"><summary>"),
        STR("\xFF\xFE\0<i"),
    };
    struct thread t = make((int[]){0, 1, 2, 0, 1, 0}, 6);
    for (size_t i = 0; i < ARRAY_LEN(vectors); i++)
        t.nodes[i].it.item.text = t.nodes[i].it.item.by = vectors[i];
    const char *html = written(&t, SIZE_MAX, NULL, 0);
    assert_null(strstr(html, "<script"));
    assert_null(strstr(html, "ontoggle=\""));
}

static void among(void **state UNUSED) {
    static const int64_t ids[] = {2, 4, 6, 8};
    for (int64_t id = 0; id < 10; id++)
        assert_int_equal(page_among(id, ids, 4), id && id % 2 == 0);
    assert_false(page_among(1, NULL, 0));
}

static void an_empty_thread(void **state UNUSED) {
    struct thread t = {0};
    assert_string_equal(written(&t, SIZE_MAX, NULL, 0), "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_comment),
        cmocka_unit_test(anchors),
        cmocka_unit_test(depth_is_a_class),
        cmocka_unit_test(in_parts_it_is_the_same),
        cmocka_unit_test(very_deep),
        cmocka_unit_test(marks),
        cmocka_unit_test(hostile_texts_stay_in_their_comment),
        cmocka_unit_test(among),
        cmocka_unit_test(an_empty_thread),
    };
    return cmocka_run_group_tests(tests, fresh, release);
}
