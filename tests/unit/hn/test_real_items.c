/* The recorded items, where they are at hand: all are read, go round unchanged, and keep their
 * hashes. */
#include "hn/item.h"
#include "item_same.h"
#include "shared_data.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define LINES_MAX 50000

static struct arena arena;
static struct strbuf out;

static void check_line(struct str line) {
    struct item it, again;
    arena_reset(&arena);
    strbuf_clear(&out);
    if (item_parse(&arena, line, 0, &it) != ITEM_OK)
        fail_msg("does not parse: %.*s", STR_FMT(line));
    item_derive(&arena, &it);
    item_render(&it, &out);
    if (item_parse(&arena, strbuf_str(&out), it.id, &again) != ITEM_OK)
        fail_msg("does not come back: %s", out.p);
    item_derive(&arena, &again);
    const char *field = item_difference(&it, &again);
    if (field)
        fail_msg("%s changes in %s", field, out.p);
    if (it.content_hash != again.content_hash || it.kids_hash != again.kids_hash ||
        !str_eq(it.url_key, again.url_key) || !str_eq(it.domain, again.domain))
        fail_msg("derived values change in %s", out.p);
}

static void check_file(const char *command, const char *name) {
    FILE *f = shared_data_open(command, name);
    char *line = NULL;
    size_t cap = 0, count = 0;
    if (!f)
        return;
    arena_init(&arena);
    strbuf_init(&out, 1 << 24);
    for (ssize_t n; count < LINES_MAX && (n = getline(&line, &cap, f)) > 0; count++)
        check_line((struct str){line, (size_t)n});
    print_message("%zu items of %s\n", count, name);
    free(line);
    pclose(f);
    strbuf_release(&out);
    arena_release(&arena);
}

static void a_run_of_ids(void **state) {
    (void)state;
    check_file("gzip -dc", "items_run_*.ndjson.gz");
}

static void rare_kinds(void **state) {
    (void)state;
    check_file("cat", "items_rare.ndjson");
}

/* Without zstd the pipe is empty, and so is the test. */
static void stories_of_all_years(void **state) {
    (void)state;
    check_file("zstd -dcq --long=27 2>/dev/null", "items.ndjson.zst");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_of_ids),
        cmocka_unit_test(rare_kinds),
        cmocka_unit_test(stories_of_all_years),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
