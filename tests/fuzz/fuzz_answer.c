/* Whatever a provider answers: a known kind, and of a match sound JSON whose values fit their
 * columns. */
#include "enrich/answer.h"
#include "fuzz_target.h"
#include "hn/json_read.h"

#include <string.h>

static const struct map_rule map[] = {
    {.column = STR("text"),
     .from = STR("results[0].artwork.artist_bio"),
     .type = MAP_TEXT,
     .max = 20,
     .misfit = MISFIT_CUT},
    {.column = STR("url"), .from = STR("results[0].artwork.artwork_url"), .type = MAP_URL},
    {.column = STR("year"),
     .from = STR("results[0].artwork.release_year"),
     .type = MAP_INT,
     .none = STR("0"),
     .misfit = MISFIT_NULL},
    {.column = STR("real"), .from = STR("results[0].artwork.confidence"), .type = MAP_REAL},
    {.column = STR("bool"), .from = STR("timeout"), .type = MAP_BOOL, .misfit = MISFIT_NULL},
    {.column = STR("json"), .from = STR("results[0]"), .type = MAP_JSON, .misfit = MISFIT_NULL},
};
static const struct source_column columns[] = {
    {.type = COLUMN_TEXT, .max_chars = 512},
    {.type = COLUMN_TEXT, .max_chars = 512},
    {.type = COLUMN_INT, .min = -32768, .max = 32767},
    {.type = COLUMN_REAL},
    {.type = COLUMN_BOOL},
    {.type = COLUMN_JSON},
};
static const struct str unsure[] = {STR("timeout"), STR("degraded")};
static const struct answer_rules rules = {.match = STR("results[0].artwork"),
                                          .unsure = unsure,
                                          .n_unsure = 2,
                                          .map = map,
                                          .n_map = ARRAY_LEN(map)};

static const struct source_column *column(void *ctx, size_t i) {
    (void)ctx;
    return &columns[i];
}

static void require_text(struct str s, size_t most) {
    size_t chars = 0;
    for (size_t i = 0, n; i < s.n; i += n, chars++) {
        n = utf8_len((const unsigned char *)s.p + i, s.n - i);
        FUZZ_REQUIRE(n > 0 && s.p[i] != '\0');
    }
    FUZZ_REQUIRE(chars <= most);
}

static void require_value(size_t i, struct json_read *r) {
    struct str s;
    int64_t n;
    enum json_kind kind = json_peek(r);
    if (kind == JSON_NULL || map[i].type == MAP_JSON) {
        json_skip(r);
    } else if (map[i].type == MAP_TEXT || map[i].type == MAP_URL) {
        FUZZ_REQUIRE(json_text(r, &s));
        require_text(s, map[i].type == MAP_TEXT ? 20 : 512);
        FUZZ_REQUIRE(map[i].type == MAP_TEXT || (s.p[0] | 32) == 'h');
    } else if (map[i].type == MAP_BOOL) {
        FUZZ_REQUIRE(kind == JSON_TRUE || kind == JSON_FALSE);
        json_skip(r);
    } else {
        FUZZ_REQUIRE(json_raw_number(r, &s));
        if (map[i].type == MAP_INT)
            FUZZ_REQUIRE(json_integer_of(s, &n) && n != 0 && n >= -32768 && n <= 32767);
    }
}

static void require_values(struct str values, struct arena *a) {
    struct json_read r;
    struct str key;
    bool first = true;
    size_t n = 0;
    json_read_init(&r, a, values);
    FUZZ_REQUIRE(json_peek(&r) == JSON_OBJECT);
    json_enter(&r);
    for (; json_next_member(&r, &first, &key); n++) {
        FUZZ_REQUIRE(n < ARRAY_LEN(map) && str_eq(key, map[n].column));
        require_value(n, &r);
    }
    FUZZ_REQUIRE(n == ARRAY_LEN(map) && json_at_end(&r));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena a;
    struct answer got;
    arena_init(&a);
    answer_read(&rules, (struct str){(const char *)data, size}, column, NULL, &a, &got);
    FUZZ_REQUIRE(got.kind <= ANSWER_MISFIT);
    FUZZ_REQUIRE((got.values.p != NULL) == (got.kind == ANSWER_MATCH));
    if (got.kind == ANSWER_MATCH)
        require_values(got.values, &a);
    for (size_t i = 0; i < got.error.n; i++)
        FUZZ_REQUIRE((unsigned char)got.error.p[i] >= ' ');
    arena_release(&a);
    return 0;
}
