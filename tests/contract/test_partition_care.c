/* Making partitions, with care for others: nothing that they made of the tables is lost in silence,
 * no writer ends for it, and nobody may do by it what he may not do himself. */
#include "fixture_partitions.h"

#include "store/partitions.h"

#include <string.h>

static void partition(struct fix *f) {
    struct err e;
    assert_ok(store_partition(f->s, WIDTH, &e));
}

static bool is_begun(struct fix *f) {
    struct partition_state st;
    struct err e;
    assert_ok(store_partition_state(f->s, &st, &e));
    return st.unfinished || st.of[PARTITION_ITEMS].width || st.of[PARTITION_LOG].width;
}

/* %s is the table. */
static const struct obstacle {
    const char *make, *undo, *named;
} obstacles[] = {
    {"CREATE VIEW mine AS SELECT COUNT(*) FROM %s", "DROP VIEW mine", "the view mine"},
    {"ALTER TABLE %s ENABLE ROW LEVEL SECURITY", "ALTER TABLE %s DISABLE ROW LEVEL SECURITY",
     "row level security"},
    {"ALTER TABLE %s FORCE ROW LEVEL SECURITY", "ALTER TABLE %s NO FORCE ROW LEVEL SECURITY",
     "row level security"},
    {"CREATE POLICY mine ON %s USING (true)", "DROP POLICY mine ON %s", "the policy mine"},
    {"ALTER TABLE %s ADD COLUMN own BIGINT, ADD CONSTRAINT mine CHECK (own > 0)",
     "ALTER TABLE %s DROP own", "the constraint mine"},
    {"ALTER TABLE %s ADD COLUMN own TEXT CONSTRAINT mine REFERENCES users (id)",
     "ALTER TABLE %s DROP own", "the constraint mine"},
    {"ALTER TABLE %s ADD COLUMN own TEXT CONSTRAINT mine UNIQUE", "ALTER TABLE %s DROP own",
     "the constraint mine"},
    {"ALTER TABLE %s ADD COLUMN own TEXT, ADD CONSTRAINT mine EXCLUDE USING hash (own WITH =)",
     "ALTER TABLE %s DROP own", "the constraint mine"},
    {"ALTER TABLE %s ADD COLUMN own TEXT; CREATE UNIQUE INDEX mine ON %s (own)",
     "ALTER TABLE %s DROP own", "the unique index mine"},
    {"CREATE INDEX mine ON %s ((1));"
     "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'mine'::regclass",
     "DROP INDEX mine", "the broken index mine"},
    {"CREATE SUBSCRIPTION mine CONNECTION 'dbname=none' PUBLICATION theirs"
     " WITH (connect = false, slot_name = NONE);"
     "INSERT INTO pg_subscription_rel SELECT oid, '%s'::regclass, 'r' FROM pg_subscription",
     "DROP SUBSCRIPTION mine", "the subscription mine"},
    {"ALTER TABLE %s ADD COLUMN own BIGINT GENERATED ALWAYS AS (1) STORED",
     "ALTER TABLE %s DROP own", "the generated column own"},
    {"ALTER TABLE %s ADD COLUMN own BIGINT GENERATED ALWAYS AS IDENTITY", "ALTER TABLE %s DROP own",
     "the identity column own"},
    {"CREATE TRIGGER mine AFTER DELETE ON %s FOR EACH ROW EXECUTE FUNCTION feed_log_items();"
     "ALTER TABLE %s DISABLE TRIGGER mine",
     "DROP TRIGGER mine ON %s", "the trigger mine, which is disabled"},
    {"CREATE TRIGGER mine AFTER DELETE ON %s FOR EACH ROW EXECUTE FUNCTION feed_log_items();"
     "ALTER TABLE %s ENABLE ALWAYS TRIGGER mine",
     "DROP TRIGGER mine ON %s", "the trigger mine, which is not enabled in the usual way"},
    {"ALTER TABLE %s ADD a1 INT, ADD a2 INT; CREATE STATISTICS mine ON a1, a2 FROM %s",
     "DROP STATISTICS mine; ALTER TABLE %s DROP a1, DROP a2", "the statistics mine"},
    {"CREATE FUNCTION mine(%s) RETURNS INT LANGUAGE sql AS 'SELECT 1'", "DROP FUNCTION mine",
     "function mine"},
    {"CREATE FUNCTION mine() RETURNS BIGINT LANGUAGE sql BEGIN ATOMIC SELECT COUNT(*) FROM %s; END",
     "DROP FUNCTION mine", "function mine"},
    {"CREATE TABLE mine (a %s)", "DROP TABLE mine", "column a of table mine"},
    {"CREATE TABLE mine (a %s[])", "DROP TABLE mine", "column a of table mine"},
    {"CREATE TABLE mine () INHERITS (%s)", "DROP TABLE mine", "the table mine, which inherits"},
    {"CREATE TABLE mine (); ALTER TABLE %s INHERIT mine",
     "ALTER TABLE %s NO INHERIT mine; DROP TABLE mine", "what it inherits from mine"},
    {"CREATE RULE mine AS ON DELETE TO %s DO NOTHING", "DROP RULE mine ON %s", "the rule mine"},
    {"CREATE TABLE others (); CREATE RULE mine AS ON DELETE TO others DO INSTEAD DELETE FROM %s",
     "DROP TABLE others", "the rule mine of others"},
    {"CREATE PUBLICATION mine FOR TABLE %s", "DROP PUBLICATION mine", "the publication mine"},
    {"CREATE PUBLICATION mine FOR TABLES IN SCHEMA CURRENT_SCHEMA", "DROP PUBLICATION mine",
     "the publication mine"},
    {"CREATE PUBLICATION mine FOR ALL TABLES", "DROP PUBLICATION mine", "the publication mine"},
    {"ALTER TABLE %s ADD own INT; GRANT SELECT (own) ON %s TO PUBLIC", "ALTER TABLE %s DROP own",
     "rights on its column own"},
};

/* With the table for each %s. */
static void run_for(struct fix *f, const char *sql, const char *table) {
    struct strbuf out;
    strbuf_init(&out, 1000);
    for (const char *at; (at = strstr(sql, "%s")); sql = at + 2) {
        strbuf_add(&out, sql, (size_t)(at - sql));
        strbuf_adds(&out, table);
    }
    strbuf_adds(&out, sql);
    x(f, "%.*s", (int)strbuf_str(&out).n, strbuf_str(&out).p);
    strbuf_release(&out);
}

static void nothing_is_lost_in_silence(void **state) {
    static const char *const tables[] = {"items", "change_log"};
    struct fix *f = *state;
    struct err e;
    ELSEWHERE_ONLY;
    put(f, 1);
    for (size_t i = 0; i < ARRAY_LEN(obstacles); i++)
        for (size_t t = 0; t < ARRAY_LEN(tables); t++) {
            run_for(f, obstacles[i].make, tables[t]);
            enum verdict v = store_partition(f->s, WIDTH, &e);
            if (v != V_CONFLICT || !strstr(e.msg, obstacles[i].named) || is_begun(f))
                fail_msg("%s, of %s: %s", obstacles[i].named, tables[t], v == V_OK ? "" : e.msg);
            run_for(f, obstacles[i].undo, tables[t]);
        }
    partition(f);
}

static enum verdict try_put(struct fix *f, int64_t id) {
    struct batch *b = wide_batch(f);
    char json[60];
    snprintf(json, sizeof json, "{'id':%lld,'type':'story'}", (long long)id);
    put_item(b, T0, json);
    return apply_verdict(f->s, b);
}

/* Who converts lives, and then no more: a row beyond the edge waits, and goes on at once. */
static void writers_wait_at_the_edge(void **state) {
    struct fix *f = *state;
    struct err e;
    ELSEWHERE_ONLY;
    put(f, 1);
    struct store *other = fix_open(f);
    fault_setup("partition_step:1:fail");
    assert_int_equal(store_partition(other, WIDTH, &e), V_FATAL);
    fault_setup(NULL);
    assert_int_equal(try_put(f, 99), V_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(try_put(f, 100), V_RETRY);
    assert_q("1", f,
             "SELECT bool_and(pg_terminate_backend(pid, 60000)) FROM pg_locks"
             " WHERE locktype = 'advisory' AND classid = 7496945"
             " AND database = (SELECT oid FROM pg_database"
             "                 WHERE datname = current_database())");
    assert_int_equal(try_put(f, 100), V_OK);
    assert_false(is_begun(f));
    partition(f);
    assert_q("1 99 100", f, "SELECT id FROM items ORDER BY id");
}

/* A CHECK of others is another matter. */
static void others_may_refuse(void **state) {
    struct fix *f = *state;
    ELSEWHERE_ONLY;
    x(f, "ALTER TABLE items ADD CONSTRAINT mine CHECK (id < 100)");
    assert_int_equal(try_put(f, 100), V_FATAL);
}

/* Between the look for the newest id and the constraint: by a trigger here. */
static void a_row_that_was_faster_moves_the_edge(void **state) {
    struct fix *f = *state;
    struct err e;
    ELSEWHERE_ONLY;
    put(f, 1);
    x(f,
      "CREATE FUNCTION faster() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN"
      " IF NOT EXISTS (SELECT 1 FROM %s.items WHERE id = 5000) THEN"
      " INSERT INTO %s.items (id, content_hash, kids_hash, first_seen_at, last_fetched_at,"
      " last_changed_at) VALUES (5000, 1, 1, 1, 1, 1); END IF; END $$",
      f->schema, f->schema);
    x(f, "CREATE EVENT TRIGGER faster ON ddl_command_start WHEN TAG IN ('ALTER TABLE')"
         " EXECUTE FUNCTION faster()");
    assert_int_equal(store_partition(f->s, WIDTH, &e), V_RETRY);
    x(f, "DROP EVENT TRIGGER faster");
    partition(f);
    assert_q("items_first", f, "SELECT tableoid::regclass FROM items WHERE id = 5000");
}

/* The functions run with the rights of their owner, for those who have rights on the tables. */
static void strangers_make_and_drop_nothing(void **state) {
    struct fix *f = *state;
    char role[100];
    ELSEWHERE_ONLY;
    partition(f);
    for (int i = 0; i < 12; i++)
        log_changes(f, 100, 1, T0);
    number_all(f);
    fix_advance(f, 2000);
    snprintf(role, sizeof role, "%s_stranger", f->copy);
    x(f, "CREATE ROLE %s", role);
    x(f, "GRANT USAGE ON SCHEMA %s TO %s", f->schema, role);
    const char *before = q(f, "SELECT name FROM partition_list ORDER BY name");
    x(f, "SET SESSION AUTHORIZATION %s", role);
    assert_q("0", f, "SELECT partition_cover('items', 100)");
    assert_q("0", f, "SELECT partition_cover('change_log', 100)");
    assert_q("0", f, "SELECT partition_prune(1000, 1)");
    x(f, "RESET SESSION AUTHORIZATION");
    assert_q(before, f, "SELECT name FROM partition_list ORDER BY name");
    assert_q("12", f, "SELECT SUM(n) FROM change_log");
    x(f, "GRANT INSERT ON items TO %s", role);
    x(f, "GRANT DELETE ON change_log TO %s", role);
    x(f, "SET SESSION AUTHORIZATION %s", role);
    assert_q("1", f, "SELECT partition_cover('items', 100)");
    assert_q("4", f, "SELECT partition_prune(1000, 1)");
    x(f, "RESET SESSION AUTHORIZATION");
    x(f, "DROP OWNED BY %s", role);
    x(f, "DROP ROLE %s", role);
}

static void changes_of_a_row_stay_in_order(void **state) {
    struct fix *f = *state;
    ELSEWHERE_ONLY;
    put(f, 1);
    number_all(f);
    for (int score = 11; score <= 15; score++)
        x(f, "UPDATE items SET score = %d WHERE id = 1", score);
    partition(f);
    for (int score = 16; score <= 18; score++)
        x(f, "UPDATE items SET score = %d WHERE id = 1", score);
    number_all(f);
    assert_q("11 12 13 14 15 16 17 18", f,
             "SELECT data::json->>'score' FROM changes WHERE action = 'update' ORDER BY pos");
}

/* Positions that are still elsewhere are older than partitions behind them: nothing goes before. */
static void no_hole_before_the_last_resort(void **state) {
    struct fix *f = *state;
    struct feed_state st;
    struct err e;
    int64_t n;
    ELSEWHERE_ONLY;
    partition(f);
    for (int i = 0; i < 28; i++)
        log_changes(f, 100, 1, T0);
    x(f, "BEGIN; LOCK TABLE change_log_other IN ACCESS SHARE MODE"); /* no partition can be made */
    number_all(f);
    x(f, "COMMIT");
    assert_q("10 28", f, "SELECT unnest(ARRAY[MIN(pos), MAX(pos)]) FROM change_log_other");
    fix_advance(f, 2000);
    assert_ok(store_feed_prune(f->s, 1000, 1, &n, &e));
    assert_int_equal(n, 0);
    assert_ok(store_feed_state(f->s, &st, &e));
    assert_int_equal(st.oldest, 1);
    fix_advance(f, 120000);
    log_changes(f, 100, 1, T0);
    number_all(f); /* who does so tends, too */
    assert_ok(store_feed_prune(f->s, 1000, 1, &n, &e));
    assert_int_equal(n, 4);
}

int partition_care_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(nothing_is_lost_in_silence),
        CASE(writers_wait_at_the_edge),
        CASE(others_may_refuse),
        CASE(a_row_that_was_faster_moves_the_edge),
        CASE(strangers_make_and_drop_nothing),
        CASE(changes_of_a_row_stay_in_order),
        CASE(no_hole_before_the_last_resort),
    };
    return cmocka_run_group_tests_name("partition care", tests, NULL, NULL);
}
