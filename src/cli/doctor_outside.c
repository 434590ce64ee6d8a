/* The database and the upstream. */
#include "cli/doctor.h"
#include "net/probe.h"
#include "store/health.h"
#include "store/partitions.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SKEW_WARN_MS 5000 /* what a stored stamp may be ahead before it counts as wrong */
#define SKEW_FAIL_MS 60000
#define SLOW_MS 2000
#define DEEP_CHECK_BYTES ((int64_t)512 << 20)
#define PARTITIONS_MANY 1000

/* A difference of clocks; `fuzz` is how coarse the other one is. */
static void check_skew(struct checkup *c, const char *whose, int64_t theirs, int64_t ours,
                       int64_t fuzz) {
    int64_t skew = theirs > ours ? theirs - ours : ours - theirs;
    skew = skew > fuzz ? skew - fuzz : 0;
    enum check_level level = skew > SKEW_FAIL_MS   ? CHECK_FAIL
                             : skew > SKEW_WARN_MS ? CHECK_WARN
                                                   : CHECK_OK;
    struct check *row = level == CHECK_OK
                            ? check_add(c, level, "clock", "%s and this machine agree", whose)
                            : check_add(c, level, "clock", "%s is %" PRId64 " s %s of this machine",
                                        whose, skew / 1000, theirs > ours ? "ahead" : "behind");
    if (level != CHECK_OK)
        check_advise(row, "set the clock by NTP where it is wrong");
}

static int64_t file_size(const char *uri) {
    struct stat st;
    if (strncmp(uri, "sqlite:", 7) != 0 || stat(uri + 7, &st) != 0)
        return 0;
    return (int64_t)st.st_size;
}

/* The version is only a number; whether what it promises is there is another question. */
static void check_content(struct checkup *c, struct store *store, int version) {
    struct schema_damage d;
    struct err e = {0};
    if (store_check_schema(store, &d, &e) != V_OK) {
        check_add(c, CHECK_FAIL, "schema", "%s", e.msg);
        return;
    }
    if (d.n == 0) {
        check_add(c, CHECK_OK, "schema", "version %d, nothing of it is missing", version);
        return;
    }
    CLEANUP(strbuf_release) struct strbuf what;
    strbuf_init(&what, 1024);
    for (size_t i = 0; i < d.n && i < DAMAGES_MAX; i++)
        strbuf_addf(&what, "%s%s", i ? ", " : "", d.what[i]);
    if (d.n > DAMAGES_MAX)
        strbuf_addf(&what, " and %zu more", d.n - DAMAGES_MAX);
    check_advise(check_add(c, CHECK_FAIL, "schema", "version %d, damaged: %s", version, what.p),
                 "restore a copy, or make a new archive and import an export of this one");
}

static bool check_schema(struct checkup *c, struct store *store, const struct store_health *h) {
    if (h->schema == h->schema_wanted)
        check_content(c, store, h->schema);
    else if (h->schema == 0)
        check_advise(check_add(c, CHECK_WARN, "schema", "there is no archive in this database yet"),
                     "'tain catchup' makes one");
    else if (h->schema < h->schema_wanted)
        check_advise(check_add(c, CHECK_WARN, "schema", "version %d, this tain has %d", h->schema,
                               h->schema_wanted),
                     "run 'tain migrate'");
    else
        check_advise(check_add(c, CHECK_FAIL, "schema", "version %d, this tain has only %d",
                               h->schema, h->schema_wanted),
                     "use a newer tain");
    return h->schema != 0;
}

static void check_inside(struct checkup *c, struct store *store) {
    struct err e = {0};
    char said[HEALTH_TEXT_MAX];
    bool deep = file_size(c->s->db) <= DEEP_CHECK_BYTES;
    if (store_try_write(store, &e) == V_OK)
        check_add(c, CHECK_OK, "write", "the archive can be written");
    else
        check_advise(check_add(c, CHECK_FAIL, "write", "%s", e.msg),
                     "grant the right to write, or free the lock");
    if (store_quick_check(store, deep, said, &e) != V_OK)
        check_add(c, CHECK_FAIL, "integrity", "%s", e.msg);
    else if (strcmp(said, "ok") != 0)
        check_advise(check_add(c, CHECK_FAIL, "integrity", "%s", said),
                     "restore a copy, or make a new archive and import an export of this one");
    else if (store_is_shared(store))
        check_add(c, CHECK_OK, "integrity", "a primary, all indexes valid");
    else
        check_add(c, CHECK_OK, "integrity", "quick check of %s",
                  deep ? "the whole file" : "the segments; the file is too large for more");
}

static void check_partitions(struct checkup *c, struct store *store) {
    struct partition_state st;
    struct err e = {0};
    if (store_partition_state(store, &st, &e) != V_OK) {
        check_add(c, CHECK_FAIL, "partitions", "%s", e.msg);
        return;
    }
    int64_t ids = st.of[PARTITION_ITEMS].width, positions = st.of[PARTITION_LOG].width;
    if (st.unfinished || !ids != !positions)
        check_advise(
            check_add(c, CHECK_WARN, "partitions", "a conversion was begun and is not finished"),
            "run 'tain migrate --partitioned' again");
    else if (!ids)
        check_add(c, CHECK_OK, "partitions", "none: items and the change log are one table each");
    else if (st.of[PARTITION_ITEMS].stray || st.of[PARTITION_LOG].stray)
        check_advise(check_add(c, CHECK_WARN, "partitions",
                               "some rows are in none of them but in items_other or "
                               "change_log_other"),
                     "whoever writes moves them within minutes; a long transaction may be in the "
                     "way, or something else: then the log of the server says what");
    else if (st.of[PARTITION_ITEMS].n + st.of[PARTITION_LOG].n > PARTITIONS_MANY)
        check_advise(check_add(c, CHECK_WARN, "partitions", "%lld of items, %lld of the change log",
                               (long long)st.of[PARTITION_ITEMS].n,
                               (long long)st.of[PARTITION_LOG].n),
                     "a statement may lock all of them, and the server has room for some thousands "
                     "of locks: raise max_locks_per_transaction, or import into an archive with "
                     "wider ones");
    else
        check_add(c, CHECK_OK, "partitions",
                  "%lld of items by %lld ids, %lld of the change log by %lld positions",
                  (long long)st.of[PARTITION_ITEMS].n, (long long)ids,
                  (long long)st.of[PARTITION_LOG].n, (long long)positions);
}

static void check_open(struct checkup *c, struct store *store) {
    struct store_health h;
    struct err e = {0};
    int64_t now = 0;
    if (store_health(store, &h, &e) != V_OK) {
        check_add(c, CHECK_FAIL, "database", "%s", e.msg);
        return;
    }
    check_add(c, CHECK_OK, "database", "%s answers", h.version);
    if (!check_schema(c, store, &h))
        return;
    check_inside(c, store);
    if (h.schema == h.schema_wanted) {
        if (store_is_shared(store))
            check_partitions(c, store);
        doctor_feed(c, store);
        doctor_lanes(c, store);
        if (c->s->sources)
            doctor_plan(c, store);
    }
    if (store_is_shared(store) && store_now(store, &now, &e) == V_OK)
        check_skew(c, "the database", now, clock_real(&clock_machine), 0);
}

void doctor_database(struct checkup *c) {
    const struct store_options options = {
        .uri = c->s->db,
        .schema = c->s->schema,
        .clock = &clock_machine,
        .schema_rule = SCHEMA_IGNORE,
        .must_exist = true,
    };
    struct store *store = NULL;
    struct err e = {0};
    enum verdict v = store_open(&options, &store, &e);
    if (v == V_OK)
        check_open(c, store);
    else if (v == V_NOT_FOUND)
        check_advise(check_add(c, CHECK_WARN, "database", "%s", e.msg),
                     "'tain catchup' makes one; --db or TAIN_DB names another");
    else
        check_advise(check_add(c, CHECK_FAIL, "database", "%s", e.msg),
                     "look at --db, the server and its rights");
    store_close(store);
}

static bool is_number(const char *text, int64_t *ret) {
    size_t n = strcspn(text, "\r\n ");
    return str_to_i64((struct str){text, n}, ret) && *ret > 0;
}

void doctor_upstream(struct checkup *c) {
    char url[1024];
    snprintf(url, sizeof url, "%s/maxitem.json", c->s->upstream);
    const struct probe_options o = {url, "tain/" TAIN_VERSION, c->s->ca_file,
                                    (long)c->s->timeout_ms};
    struct probe_result r;
    struct err e = {0};
    int64_t maxitem;
    if (probe_url(&o, &r, &e) != V_OK) {
        check_add(c, CHECK_FAIL, "upstream", "%s", e.msg);
        return;
    }
    if (r.cls != NET_OK) {
        check_advise(check_add(c, CHECK_FAIL, "upstream", "%s: %s", c->s->upstream, r.detail),
                     "look at --upstream, the network and, for https, --ca-file");
        return;
    }
    if (!is_number(r.body, &maxitem)) {
        check_advise(check_add(c, CHECK_FAIL, "upstream", "%s does not answer with a number", url),
                     "--upstream must be the root of the API, which ends in /v0");
        return;
    }
    struct check *row =
        check_add(c, r.elapsed_ms > SLOW_MS ? CHECK_WARN : CHECK_OK, "upstream",
                  "maxitem %" PRId64 " in %" PRId64 " ms over %s", maxitem, r.elapsed_ms, r.http);
    if (r.elapsed_ms > SLOW_MS)
        check_advise(row, "that is slow; a catch-up will be, too");
    if (r.date_ms >= 0) /* whole seconds, and the way back */
        check_skew(c, "the upstream", r.date_ms, clock_real(&clock_machine), 1000 + r.elapsed_ms);
}
