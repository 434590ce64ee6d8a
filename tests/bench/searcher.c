/* How long a search takes, from the call to the answer:
 *   searcher DATABASE QUERIES PASSES
 * asks every line of QUERIES by relevance and by date, PASSES times and once before that, which is
 * not counted. A line per answer: milliseconds, of these the CPU of this process, hits, order,
 * query. */
#include "store/search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define QUERIES_MAX 1000

static double now_ms(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void die(const char *what, const struct err *e) {
    fprintf(stderr, "searcher: %s: %s\n", what, e->msg);
    exit(1);
}

static size_t read_queries(const char *path, char **out) {
    FILE *f = fopen(path, "r");
    char line[256];
    size_t n = 0;
    if (!f) {
        perror(path);
        exit(1);
    }
    while (n < QUERIES_MAX && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        if (*line)
            out[n++] = xstrdup(line);
    }
    fclose(f);
    return n;
}

static void ask(struct store *s, struct arena *a, const char *text, enum search_order order,
                bool counted) {
    struct search_query q;
    struct search_answer answer;
    struct err e;
    search_query_init(&q);
    q.text = str_of(text);
    q.order = order;
    arena_reset(a);
    double began = now_ms(CLOCK_MONOTONIC), cpu = now_ms(CLOCK_PROCESS_CPUTIME_ID);
    if (store_search(s, a, &q, &answer, &e) != V_OK)
        die(text, &e);
    double took = now_ms(CLOCK_MONOTONIC) - began;
    cpu = now_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    if (counted)
        printf("%.3f\t%.3f\t%lld\t%s\t%s\n", took, cpu, (long long)answer.total,
               order == SEARCH_BY_DATE ? "date" : "relevance", text);
}

int main(int argc, char **argv) {
    static char *queries[QUERIES_MAX];
    struct store *s = NULL;
    struct err e;
    struct arena a;
    if (argc != 4) {
        fprintf(stderr, "usage: searcher DATABASE QUERIES PASSES\n");
        return 2;
    }
    const struct store_options o = {
        .uri = argv[1], .schema_rule = SCHEMA_REQUIRE, .must_exist = true};
    if (store_open(&o, &s, &e) != V_OK)
        die("open", &e);
    size_t n = read_queries(argv[2], queries);
    arena_init(&a);
    for (int pass = 0; pass <= atoi(argv[3]); pass++)
        for (size_t i = 0; i < n; i++)
            for (int order = SEARCH_BY_RELEVANCE; order <= SEARCH_BY_DATE; order++)
                ask(s, &a, queries[i], (enum search_order)order, pass > 0);
    for (size_t i = 0; i < n; i++)
        free(queries[i]);
    arena_release(&a);
    store_close(s);
    return 0;
}
