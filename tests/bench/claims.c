/* How many rows of a table can one process claim and finish in a second? The table, a flowsheet
 * with rows 1 to N, is there already and is left without a pending row.
 *
 *     claims sqlite:PATH | postgres://...  TABLE N [BATCH]
 *
 * Prints seconds for claims and for results, and how many rows were finished. */
#include "store/claims.h"
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KEY_BYTES 24
#define VALUES                                                                                    \
    "{\"artwork_url\":\"https://img.example.org/release/R-1234567-1600000000-1234.jpeg\","        \
    "\"discogs_url\":\"https://www.example.org/release/1234567-silver-river\","                   \
    "\"spotify_url\":\"https://open.example.org/album/4aawyAB9vmqN3uQ7FjRGTy\","                  \
    "\"release_year\":1997,\"artist_bio\":\"A band from the north that recorded four albums and " \
    "a number of singles before they turned to other things.\"}"

struct bench {
    struct store *s;
    struct source *src;
    struct arena arena;
    double claiming, finishing;
    long finished;
};

static struct err e;

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void must(enum verdict v, const char *what) {
    if (v == V_OK)
        return;
    fprintf(stderr, "claims: %s: %s: %s\n", what, verdict_name(v), e.msg);
    exit(1);
}

static void open_source(struct bench *b, const char *table) {
    static const struct str inputs[] = {STR("artist_name"), STR("album_title"), STR("track_title")};
    static const struct str outputs[] = {STR("artwork_url"), STR("discogs_url"), STR("spotify_url"),
                                         STR("release_year"), STR("artist_bio")};
    const struct source_spec spec = {
        .name = STR("flowsheet"),
        .table = str_of(table),
        .key = STR("id"),
        .status = STR("metadata_status"),
        .since = STR("enriching_since"),
        .filter = STR("entry_type='track'"),
        .states = {STR("pending"), STR("enriching"), STR("enriched_match"),
                   STR("enriched_no_match"), STR("failed_no_retry")},
        .inputs = inputs,
        .n_inputs = ARRAY_LEN(inputs),
        .outputs = outputs,
        .n_outputs = ARRAY_LEN(outputs),
    };
    const char *field = "";
    size_t index;
    must(store_source_open(b->s, &spec, &b->src, &field, &index, &e), field);
}

static void one_batch(struct bench *b, long first, size_t n) {
    struct str keys[CLAIM_BATCH_MAX];
    char texts[CLAIM_BATCH_MAX][KEY_BYTES];
    struct row_claim claims[CLAIM_BATCH_MAX];
    struct verdict_on_row rows[CLAIM_BATCH_MAX];
    bool done[CLAIM_BATCH_MAX];
    size_t won = 0;
    for (size_t i = 0; i < n; i++) {
        snprintf(texts[i], KEY_BYTES, "%ld", first + (long)i);
        keys[i] = str_of(texts[i]);
    }
    double begin = now_s();
    must(store_claim_rows(b->s, b->src, keys, n, STR("bench"), 60000, &b->arena, claims, &e),
         "claim");
    double between = now_s();
    for (size_t i = 0; i < n; i++)
        if (claims[i].result == CLAIM_WON)
            rows[won++] = (struct verdict_on_row){.key = claims[i].key,
                                                  .token = claims[i].token,
                                                  .state = i % 8 ? ROW_MATCH : ROW_NO_MATCH,
                                                  .values = i % 8 ? STR(VALUES) : STR_NONE};
    must(store_finalize(b->s, b->src, rows, won, done, &e), "finalize");
    b->finishing += now_s() - between;
    b->claiming += between - begin;
    for (size_t i = 0; i < won; i++)
        b->finished += done[i];
    arena_reset(&b->arena);
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: claims DATABASE TABLE N [BATCH]\n");
        return 2;
    }
    struct store_options o = {.uri = argv[1], .clock = &clock_machine};
    struct bench b = {0};
    long n = atol(argv[3]), batch = argc > 4 ? atol(argv[4]) : CLAIM_BATCH_MAX;
    if (batch < 1 || batch > CLAIM_BATCH_MAX)
        return 2;
    arena_init(&b.arena);
    must(store_open(&o, &b.s, &e), "open");
    open_source(&b, argv[2]);
    for (long first = 1; first <= n; first += batch)
        one_batch(&b, first, (size_t)(n - first + 1 < batch ? n - first + 1 : batch));
    printf("%.6f %.6f %ld\n", b.claiming, b.finishing, b.finished);
    store_source_close(b.src);
    store_close(b.s);
    arena_release(&b.arena);
    return 0;
}
