#include "nth.h"

#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_CALLS (1 << 20)
#define SPREAD 4     /* of the calls between, how many are tried without NTH=all */
#define MOST_WRONG 5 /* of one kind; then it is enough */
#define PATIENCE 600 /* seconds, after which a scenario hangs */

/* What a child leaves to its parent. */
struct told {
    bool fired, repeated; /* repeated: what failed was judged so, and done again */
    char function[64];
    const void *place; /* of the call that failed */
    size_t at;         /* its number */
    size_t n;          /* calls that could have failed */
    const void *places[MOST_CALLS];
};

static struct told *told;
static enum nth_kind kind;
static size_t fail_at;         /* 0: only count */
static const void *fail_place; /* instead: the first call of this place */
static _Thread_local bool on;
static char folder[200];

static const struct {
    enum nth_kind kind;
    const char *name, *words; /* words: what a message says of it, separated by | */
} kinds[] = {
    {SQL_NOMEM, "sqlite-nomem", "out of memory"},
    {SQL_FULL, "sqlite-full", "full"},
    {SQL_IOERR, "sqlite-ioerr", "I/O error"},
    {SQL_BUSY, "sqlite-busy", "locked"},
    {SQL_CORRUPT, "sqlite-corrupt", "malformed"},
    {PQ_NOMEM, "pq-nomem", "out of memory|connection pointer is NULL"},
    {PQ_CUT, "pq-cut", "connection|server"},
    {PQ_LOST, "pq-lost", "connection|server"},
    {PQ_FULL, "pq-full", "53100|25P02"},
    {PQ_SERIAL, "pq-serial", "40001|25P02"},
    {PQ_CANCEL, "pq-cancel", "57014|25P02"},
    {CURL_NOMEM, "curl-nomem", "out of memory|cannot be set up"},
    {CURL_BROKEN, "curl-broken", ""},
    {OS_ENOSPC, "os-enospc", "No space left"},
    {OS_EIO, "os-eio", "Input/output error"},
    {OS_EINTR, "os-eintr", "Interrupted"},
    {OS_SHORT, "os-short", ""},
    {OS_EMFILE, "os-emfile", "Too many open files|temporarily unavailable"},
};

void nth_on(void) {
    on = true;
}

void nth_off(void) {
    on = false;
}

bool nth_fired(void) {
    return told->fired;
}

enum nth_kind nth_kind(void) {
    return kind;
}

const char *nth_folder(void) {
    return folder;
}

bool nth_hit(unsigned which, const char *function, const void *place) {
    if (!on || !(which & kind))
        return false;
    if (told->n < MOST_CALLS)
        told->places[told->n] = place;
    bool due = ++told->n == fail_at || (place == fail_place && !told->fired);
    if (!due)
        return false;
    told->fired = true;
    told->place = place;
    told->at = told->n;
    snprintf(told->function, sizeof told->function, "%s", function);
    return true;
}

void nth_wrong(const char *file, int line, const char *what, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    on = false;
    fprintf(stderr, "%s:%d: not so: %s: ", file, line, what);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
    fflush(stderr);
    _exit(1);
}

static const char *words_of(enum nth_kind k) {
    size_t i = 0;
    while (kinds[i].kind != k)
        i++;
    return kinds[i].words;
}

static bool names_cause(const char *msg) {
    char words[100], *rest = words;
    snprintf(words, sizeof words, "%s", words_of(kind));
    for (const char *word; (word = strsep(&rest, "|"));)
        if (strcasestr(msg, word))
            return true;
    return false;
}

bool nth_judge(const char *call, enum verdict v, const struct err *e, bool effect) {
    bool was_on = on;
    on = false;
    bool unsynced =
        strcmp(told->function, "fsync") == 0 || strcmp(told->function, "fdatasync") == 0;
    if (v == V_OK && unsynced && !told->repeated)
        nth_check(false, "%s says it is done, and it is not on the disk", call);
    if (v == V_OK)
        nth_check(effect, "%s says it is done, and it is not", call);
    else {
        nth_check(!(kind & (OS_SHORT | OS_EINTR)), "%s: half is no failure: %s", call, e->msg);
        nth_check(told->fired, "%s failed by itself: %s: %s", call, verdict_name(v), e->msg);
        nth_check(v > V_OK && v <= V_STOPPED, "%s: verdict %d", call, (int)v);
        nth_check(e->domain && e->domain[0], "%s: an error of nobody: %s", call, e->msg);
        nth_check(names_cause(e->msg), "%s: what is the cause? '%s'", call, e->msg);
        told->repeated = true;
    }
    on = was_on;
    return v == V_OK;
}

static void make_folder(void) {
    const char *place = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.150s/tain-nth-XXXXXX", place ? place : "/tmp");
    if (!mkdtemp(folder)) {
        perror(folder);
        exit(2);
    }
}

static int remove_one(const char *path, const struct stat *st UNUSED, int what UNUSED,
                      struct FTW *at UNUSED) {
    return remove(path);
}

/* One run in a child, whose n-th call fails or the first of a place. Its exit status; what it said
 * is in `said`. */
static int run_one(const struct nth_scenario *s, size_t n, const void *place, char *said,
                   size_t size) {
    FILE *out = tmpfile();
    make_folder();
    told->fired = told->repeated = false;
    told->n = told->at = 0;
    told->function[0] = '\0';
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fileno(out), STDOUT_FILENO);
        dup2(fileno(out), STDERR_FILENO);
        alarm(PATIENCE);
        fail_at = n;
        fail_place = place;
        s->run();
        on = false;
        exit(0);
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    rewind(out);
    said[fread(said, 1, size - 1, out)] = '\0';
    fclose(out);
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return status;
}

/* Without memory for libcurl the program ends (base/attr.h: it never runs on without), and says so.
 */
static bool ended_well(int status, const char *said) {
    if (WIFEXITED(status))
        return WEXITSTATUS(status) == 0;
    return kind == CURL_NOMEM && told->fired && WTERMSIG(status) == SIGABRT &&
           strstr(said, "tain: ") && strcasestr(said, "out of memory");
}

static bool every_call(void) {
    const char *all = getenv("NTH");
    return all && strcmp(all, "all") == 0;
}

/* The function that failed, and where it would have returned to in the file of the program. */
static void note_fired(void) {
    extern const char __executable_start[];
    const char *path = getenv("NTH_FIRED");
    FILE *f = path ? fopen(path, "a") : NULL;
    if (f) {
        fprintf(f, "%s %zx\n", told->function,
                (size_t)((const char *)told->place - __executable_start));
        fclose(f);
    }
}

/* A scenario with one kind of failures. */
struct trial {
    const struct nth_scenario *s;
    const char *name; /* of the kind */
    int tried, wrong;
    char said[20000];
};

static void report(struct trial *t, int status) {
    printf("not ok %s, %s, call %zu (%s): %s %d\n%s\n", t->s->name, t->name, told->at,
           told->function, WIFSIGNALED(status) ? "signal" : "exit",
           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), t->said);
    t->wrong++;
}

/* Whether something failed. */
static bool try_one(struct trial *t, size_t n, const void *place) {
    int status = run_one(t->s, n, place, t->said, sizeof t->said);
    bool fired = told->fired;
    if (fired) {
        t->tried++;
        note_fired();
    }
    if (!ended_well(status, t->said))
        report(t, status);
    return fired;
}

static bool is_among(const void *place, const void *const *places, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (places[i] == place)
            return true;
    return false;
}

/* The first call of each place in the code, and some between. By place, not by number: where
 * sockets are waited for, the numbers differ from one run to the next. */
static void try_some(struct trial *t, size_t total) {
    size_t n = total < MOST_CALLS ? total : MOST_CALLS, different = 0;
    const void **places = calloc(n + 1, sizeof *places);
    for (size_t i = 0; i < n; i++)
        if (!is_among(told->places[i], places, different))
            places[different++] = told->places[i];
    for (size_t i = 0; i < different && t->wrong < MOST_WRONG; i++)
        try_one(t, 0, places[i]);
    for (size_t i = 1; i <= SPREAD && total > different + SPREAD && t->wrong < MOST_WRONG; i++)
        try_one(t, 1 + (total - 1) * i / SPREAD, NULL);
    free(places);
}

static int run_kind(const struct nth_scenario *s, const char *name) {
    static struct trial t;
    t.s = s;
    t.name = name;
    t.tried = t.wrong = 0;
    try_one(&t, 0, NULL);
    size_t total = told->n;
    if (t.wrong == 0 && !every_call())
        try_some(&t, total);
    bool fired = total > 0 && every_call();
    for (size_t n = 1; t.wrong < MOST_WRONG && (fired || (every_call() && n <= total)); n++)
        fired = try_one(&t, n, NULL);
    printf("%s %s, %s: %d of %zu calls failed in turn\n", t.wrong ? "not ok" : "ok", s->name, name,
           t.tried, total);
    fflush(stdout);
    return t.wrong;
}

int nth_main(int argc, char **argv, const struct nth_scenario *all, size_t n) {
    int wrong = 0;
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (told == MAP_FAILED)
        return 2;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
            kind = kinds[k].kind;
            char name[100];
            snprintf(name, sizeof name, "%s %s", all[i].name, kinds[k].name);
            unsigned wanted = every_call() ? all[i].kinds : all[i].quick;
            if ((wanted & kind) && (argc < 2 || strstr(name, argv[1])))
                wrong += run_kind(&all[i], kinds[k].name);
        }
    return wrong ? 1 : 0;
}
