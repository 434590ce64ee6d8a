/* The worker of links dies: as a process of its own that kills itself at a fault point, in the
 * fixture's time. Whoever comes after it finishes every task, as often as without a death; nothing
 * is held for ever, no discussion is there twice, and of the money no more is lost than was set
 * aside for the one call of which nobody knows.
 *
 * A point is tried at its first passage, on SQLite at its third as well and in each chore of the
 * upkeep; with CRASH_ROUNDS set (`make crash`) at every passage up to so many. */
#include "fixture_link_engine.h"
#include "fixture_raw.h"

#include "hn/url_key.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MINUTE INT64_C(60000)
#define TICK 400
#define SUMMARY_COST 200
#define RESERVE_MAX 30000

/* What outlives a process. */
struct ledger {
    size_t n[WEB_WHOS];
    bool hn_waited, reddit_failed;
};

static void count_and_answer(void *ctx, const struct web_call *c, struct web_answer *ret) {
    struct ledger *l = ctx;
    web_kind(NULL, c, ret);
    l->n[c->who]++;
    if (c->who == WEB_HN && !l->hn_waited) {
        l->hn_waited = true;
        ret->status = 429;
        ret->retry_after_ms = 3000;
    } else if (c->who == WEB_REDDIT && !l->reddit_failed &&
               memmem(c->path.p, c->path.n, "api/info", 8)) {
        l->reddit_failed = true;
        ret->status = 500;
    }
}

/* --- what there is to do --- */

static const char *const names[LINK_TASKS] = {"reverse_lookup", "reddit", "hn", "summary"};

/* Notes each time that a task ends. */
static void watch_ends(struct fix *f) {
    x(f, "CREATE TABLE ends (link_id BIGINT, task TEXT)");
    if (fix_kind == DB_POSTGRES)
        x(f,
          "CREATE FUNCTION ends_add() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO "
          "\"%s\".ends VALUES (new.link_id, TG_ARGV[0]); RETURN NULL; END $$",
          f->schema);
    for (size_t t = 0; t < LINK_TASKS; t++) {
        const char *n = names[t];
        if (fix_kind == DB_POSTGRES)
            x(f,
              "CREATE TRIGGER ends_%s AFTER UPDATE ON link_processing FOR EACH ROW WHEN "
              "(old.%s_status = 'pending' AND new.%s_status <> 'pending') EXECUTE FUNCTION "
              "ends_add('%s')",
              n, n, n, n);
        else
            x(f,
              "CREATE TRIGGER ends_%s AFTER UPDATE ON link_processing WHEN old.%s_status = "
              "'pending' AND new.%s_status <> 'pending' BEGIN INSERT INTO ends VALUES "
              "(new.link_id, '%s'); END",
              n, n, n, n);
    }
}

static void wipe(struct fix *f) {
    static const char *const tables[] = {
        "external_discussions", "link_aliases", "link_processing", "links",
        "link_turns",           "claims",       "providers",       "ends",
    };
    for (size_t i = 0; i < ARRAY_LEN(tables); i++)
        x(f, "DELETE FROM %s", tables[i]);
}

/* A link all of whose tasks were done, whatever its key says. */
static void put_done(struct fix *f, const char *name, const char *key, int version,
                     const char *summary_status, const char *summary_error) {
    long long now = clock_real(&f->clock);
    x(f,
      "INSERT INTO links (url, url_key, source, submitted_by, summary, created_at, key_version) "
      "VALUES ('https://example.com/%s', '%s', 'agent', 'ann', %s, %lld, %d)",
      name, key, summary_error[0] ? "NULL" : "'Known.'", now - 70 * MINUTE, version);
    x(f,
      "INSERT INTO link_processing (link_id, reddit_status, hn_status, summary_status, "
      "summary_error, created_at, submitter, rescans, rescan_at) SELECT id, 'not_found', "
      "'not_found', '%s', NULLIF('%s', ''), created_at, 'ann', 0, CASE WHEN url_key = "
      "'example.com/r-again' THEN %lld END FROM links WHERE url_key = '%s'",
      summary_status, summary_error, now - 10 * MINUTE, key);
}

/* Something for each of the chores. */
static void put_chores(struct fix *f) {
    x(f,
      "INSERT INTO links (url, url_key, source, submitted_by, created_at, key_version) VALUES "
      "('https://example.com/bare', 'example.com/bare', 'agent', 'ann', %lld, %d)",
      (long long)clock_real(&f->clock), URL_KEY_VERSION);
    put_done(f, "r-again", "example.com/r-again", URL_KEY_VERSION, "completed", "");
    put_done(f, "nokey", "example.com/nokey", URL_KEY_VERSION, "skipped", LINK_WHY_NO_KEY);
    put_done(f, "one", "example.com/one", URL_KEY_VERSION, "completed", "");
    put_done(f, "one/?utm_source=x", "of older rules", 0, "completed", "");
    x(f,
      "INSERT INTO claims (source, key, token, state, holder, lease_until, attempts, updated_at) "
      "SELECT 'links:reddit', CAST(id AS TEXT), 5, 'held', 'dead', %lld, 1, 1 FROM links WHERE "
      "url_key = 'example.com/swept'",
      (long long)clock_real(&f->clock) - 20 * MINUTE);
    int64_t lost = add_link(f, "https://news.ycombinator.com/item?id=7", "ann", false);
    x(f,
      "UPDATE link_processing SET reverse_lookup_status = 'completed', reddit_status = 'skipped', "
      "hn_status = 'skipped', summary_status = 'skipped' WHERE link_id = %lld",
      (long long)lost);
    x(f, "UPDATE links SET source = 'discussion-ref' WHERE id = %lld", (long long)lost);
    x(f, "DELETE FROM ends");
}

static void prepare(struct fix *f) {
    wipe(f);
    add_page(f, "r1", "ann", true);
    add_page(f, "h1", "bob", false);
    add_page(f, "swept", "bob", false);
    add_link(f, "https://www.reddit.com/r/x/comments/abc/on_reddit/", "ann", true);
    add_link(f, "https://www.reddit.com/r/x/s/Go1", "bob", true);
    add_link(f, "https://redd.it/self", "ann", false);
    add_link(f, "https://news.ycombinator.com/item?id=9", "ann", false);
    put_chores(f);
}

/* --- processes --- */

/* Of a connection that is open over a fork, both sides think that it is theirs. */
static void disconnect(struct fix *f) {
    for (int i = 0; i < f->n_stores; i++)
        store_close(f->all[i]);
    f->n_stores = 0;
    raw_close(f->raw);
}

static void connect_again(struct fix *f) {
    f->raw = raw_open(fix_kind, f->uri, f->schema);
    f->s = fix_open(f);
}

static struct web *worker(struct fix *f, struct ledger *l) {
    struct web *w = web_new(f, count_and_answer, l);
    w->oauth = true;
    w->budget.monthly = 10000000;
    web_engine(w);
    return w;
}

static _Noreturn void live_and_die(struct fix *f, struct ledger *l, const char *fault) {
    struct err e;
    setenv("CMOCKA_TEST_ABORT", "1", 1); /* no assertion leads back to the parent's tests */
    connect_again(f);
    struct web *w = worker(f, l);
    fault_setup(fault);
    web_drain(w, 20 * MINUTE, TICK);
    _exit(link_engine_stop(w->engines[0], &e) == V_OK ? 0 : 1);
}

/* True: it was killed there. */
static bool life(struct fix *f, struct ledger *l, const char *fault) {
    int status;
    disconnect(f);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        live_and_die(f, l, fault);
    assert_int_equal(waitpid(child, &status, 0), child);
    connect_again(f);
    bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (!killed && !(WIFEXITED(status) && WEXITSTATUS(status) == 0))
        fail_msg("%s: the worker ended with %d", fault, status);
    return killed;
}

/* --- what must be --- */

/* Everything that does not depend on when it came about. */
static const char *outcome(struct fix *f) {
    static const char *const questions[] = {
        "SELECT l.url_key, l.title, l.summary, l.source, p.url_key FROM links l LEFT JOIN links p "
        "ON p.id = l.parent_link_id ORDER BY l.url_key",
        "SELECT l.url_key, p.reverse_lookup_status, p.reddit_status, p.hn_status, "
        "p.summary_status, p.reddit_error, p.hn_error, p.summary_error, t.url_key FROM "
        "link_processing p JOIN links l ON l.id = p.link_id LEFT JOIN links t ON t.id = "
        "p.reverse_lookup_target_id ORDER BY l.url_key",
        "SELECT l.url_key, d.platform, d.external_id, d.title FROM external_discussions d JOIN "
        "links l ON l.id = d.link_id ORDER BY 1, 2, 3",
        "SELECT l.url_key, e.task, COUNT(*) FROM ends e JOIN links l ON l.id = e.link_id GROUP BY "
        "1, 2 ORDER BY 1, 2",
        "SELECT l.url_key FROM link_aliases a JOIN links l ON l.id = a.link_id",
    };
    CLEANUP(strbuf_release) struct strbuf all;
    strbuf_init(&all, (size_t)1 << 20);
    for (size_t i = 0; i < ARRAY_LEN(questions); i++)
        strbuf_addf(&all, "%s\n", q(f, "%s", questions[i]));
    return arena_strdup(&f->arena, all.p);
}

/* At every instant. */
static void check_whole(struct fix *f) {
    assert_int_equal(
        qi(f, "SELECT COUNT(*) FROM link_processing p JOIN links l ON l.id = p.link_id WHERE "
              "(p.reverse_lookup_status = 'completed' AND l.parent_link_id IS NULL AND l.url_key "
              "NOT LIKE '%%id=7') OR (p.summary_status = 'completed' AND l.summary IS NULL) OR "
              "(p.reddit_status = 'completed' AND NOT EXISTS (SELECT 1 FROM external_discussions d "
              "WHERE d.link_id = p.link_id AND d.platform = 'reddit'))"),
        0);
}

static void check_money(struct fix *f, const struct ledger *l, const char *fault) {
    int64_t done = qi(f, "SELECT COUNT(*) FROM links WHERE summary = 'In short.'");
    int64_t more = qi(f, "SELECT spent FROM providers WHERE name = 'anthropic'");
    more -= SUMMARY_COST * done;
    bool lost_a_call = (int64_t)l->n[WEB_ANTHROPIC] > done ||
                       str_starts(str_of(fault), "links_r") ||
                       str_starts(str_of(fault), "links_before_call");
    if (more < 0 || more > (lost_a_call ? RESERVE_MAX : 0))
        fail_msg("%s: %lld too much is spent", fault, (long long)more);
}

static void check_calls(const struct ledger *l, const struct ledger *usual, const char *fault) {
    static const size_t more[WEB_WHOS] = {
        [WEB_REDDIT] = 3, /* a token, and both of a share link */
        [WEB_HN] = 2,     /* a comment, and its story */
        [WEB_ANTHROPIC] = 1,
        [WEB_PAGE] = LINK_PREPARED_MAX,
    };
    for (size_t i = 0; i < WEB_WHOS; i++)
        if (l->n[i] > usual->n[i] + more[i])
            fail_msg("%s: %zu calls to %zu instead of %zu", fault, l->n[i], i, usual->n[i]);
}

static void recover(struct fix *f, struct ledger *l, const char *fault) {
    check_whole(f);
    fix_advance(f, LINK_LEASE_MS + SWEEP_GRACE_MS + 1);
    struct web *w = worker(f, l);
    web_drain(w, 20 * MINUTE, TICK);
    struct err e;
    assert_ok(link_engine_stop(w->engines[0], &e));
    web_free(w);
    check_whole(f);
    if (qi(f, "SELECT COUNT(*) FROM claims WHERE state = 'held'") != 0 ||
        qi(f, "SELECT MAX(attempts) FROM claims") > 3)
        fail_msg("%s: %s", fault,
                 q(f, "SELECT source, key, state, attempts FROM claims WHERE state = 'held' OR "
                      "attempts > 3"));
}

struct deaths {
    struct fix *f;
    struct ledger *ledger, usual;
    const char *expected;
};

/* False: a whole life passes the point less often. */
static bool dies_at(struct deaths *d, const char *point, int passage) {
    char fault[80];
    snprintf(fault, sizeof fault, "%s:%d:kill", point, passage);
    *d->ledger = (struct ledger){0};
    prepare(d->f);
    if (!life(d->f, d->ledger, fault))
        return false;
    recover(d->f, d->ledger, fault);
    const char *got = outcome(d->f);
    if (strcmp(got, d->expected) != 0)
        fail_msg("%s:\n%s\n-- and not --\n%s", fault, got, d->expected);
    check_money(d->f, d->ledger, fault);
    check_calls(d->ledger, &d->usual, fault);
    return true;
}

static bool is_passed(const char *point) {
    static const char *const others[] = {"db_before_commit", "db_after_commit",
                                         "enrich_turns_taken", "enrich_lane_told"};
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (strcmp(point, others[i]) == 0)
            return true;
    return str_starts(str_of(point), "links_");
}

static void try_point(struct deaths *d, const char *point) {
    const char *rounds = getenv("CRASH_ROUNDS");
    bool lite = fix_kind == DB_SQLITE, chore = strstr(point, "after_chore");
    int most = rounds ? atoi(rounds) : !lite ? 1 : chore ? LINK_CHORES : 3;
    for (int n = 1; n <= most; n++) {
        if (!rounds && n == 2 && !chore)
            continue;
        if (dies_at(d, point, n))
            continue;
        if (n == 1)
            fail_msg("no life passes %s: add what does", point);
        break;
    }
}

static void worker_dies_at_every_point(void **state) {
    struct fix *f = *state;
    struct deaths d = {.f = f};
    size_t n = 0;
    d.ledger =
        mmap(NULL, sizeof *d.ledger, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(d.ledger != MAP_FAILED);
    watch_ends(f);
    prepare(f);
    assert_false(life(f, d.ledger, "")); /* undisturbed */
    d.expected = outcome(f);
    d.usual = *d.ledger;
    check_money(f, d.ledger, "none");
    assert_null(strstr(d.expected, "pending"));
    assert_null(strstr(d.expected, "failed"));
    for (const char *p = fault_next(NULL), *last = ""; p; last = p, p = fault_next(p))
        if (is_passed(p) && strcmp(p, last) != 0) {
            try_point(&d, p);
            n++;
        }
    assert_true(n >= 20);
    munmap(d.ledger, sizeof *d.ledger);
}

int link_death_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(worker_dies_at_every_point),
    };
    return cmocka_run_group_tests_name("deaths of the worker of links", tests, NULL, NULL);
}
