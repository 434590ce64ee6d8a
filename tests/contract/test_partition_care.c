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

/* Positions that are still elsewhere are older than partitions behind them, which wait for them. */
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
    x(f, "SELECT partition_add('change_log', 5, 4)"); /* from 20 to 24; what is before stays */
    for (int i = 0; i < 3; i++)
        assert_ok(store_feed_prune(f->s, 1000, 1, &n, &e));
    assert_int_equal(n, 0);
    assert_ok(store_feed_state(f->s, &st, &e));
    assert_int_equal(st.oldest, 10);
    fix_advance(f, 120000);
    log_changes(f, 100, 1, T0);
    number_all(f); /* who does so tends, too */
    assert_ok(store_feed_prune(f->s, 1000, 1, &n, &e));
    assert_int_equal(n, 5);
}

/* A table that belongs to one, and is written and converted by others. */
static void owners_and_rights_stay(void **state) {
    struct fix *f = *state;
    ELSEWHERE_ONLY;
    put(f, 1);
    x(f, "CREATE ROLE %s_owner", f->copy);
    x(f, "CREATE ROLE %s_writer", f->copy);
    x(f, "GRANT USAGE, CREATE ON SCHEMA %s TO %s_owner", f->schema, f->copy);
    x(f, "GRANT USAGE ON SCHEMA %s TO %s_writer", f->schema, f->copy);
    x(f, "ALTER TABLE items OWNER TO %s_owner", f->copy);
    x(f, "ALTER TABLE change_log OWNER TO %s_owner", f->copy);
    x(f, "GRANT SELECT, INSERT ON items, change_log TO %s_writer", f->copy);
    x(f, "GRANT USAGE ON change_log_batch_seq TO %s_writer", f->copy);
    partition(f); /* as a superuser */
    x(f, "SELECT partition_cover('items', 100)");
    assert_q("0", f,
             "SELECT COUNT(*) FROM pg_class WHERE relnamespace = '%s'::regnamespace AND relkind IN"
             " ('r', 'p', 'S') AND relname ~ '^(items|change_log)(_(other|first|\\d+|batch_seq))*$'"
             " AND relowner::regrole::text <> '%s_owner'",
             f->schema, f->copy);
    x(f, "SET SESSION AUTHORIZATION %s_writer", f->copy);
    x(f, "SELECT nextval('change_log_batch_seq')");
    x(f, "INSERT INTO items (id, first_seen_at, last_fetched_at, last_changed_at, content_hash,"
         " kids_hash)"
         " SELECT 2, 1, last_fetched_at, last_changed_at, content_hash, kids_hash FROM items");
    x(f, "RESET SESSION AUTHORIZATION");
    x(f, "REASSIGN OWNED BY %s_owner TO CURRENT_USER", f->copy);
    x(f, "DROP OWNED BY %s_owner, %s_writer", f->copy, f->copy);
    x(f, "DROP ROLE %s_owner, %s_writer", f->copy, f->copy);
}

static void only_the_owner_may(void **state) {
    struct fix *f = *state;
    struct err e;
    ELSEWHERE_ONLY;
    x(f, "CREATE ROLE %s_other", f->copy);
    x(f, "GRANT USAGE, CREATE ON SCHEMA %s TO %s_other", f->schema, f->copy);
    x(f, "GRANT SELECT ON ALL TABLES IN SCHEMA %s TO %s_other", f->schema, f->copy);
    assert_ok(db_script(f->s->db, q(f, "SELECT 'SET ROLE %s_other'", f->copy), &e));
    assert_int_equal(store_partition(f->s, WIDTH, &e), V_CONFLICT);
    assert_non_null(strstr(e.msg, "the table items belongs to "));
    assert_ok(db_script(f->s->db, "RESET ROLE", &e));
    assert_false(is_begun(f));
    x(f, "DROP OWNED BY %s_other", f->copy);
    x(f, "DROP ROLE %s_other", f->copy);
}

/* Indexes follow whatever they are called, and what has a name of ours keeps it. */
static void names_are_left_to_who_has_them(void **state) {
    struct fix *f = *state;
    struct err e;
    ELSEWHERE_ONLY;
    x(f, "CREATE INDEX foo ON items (score)");
    x(f, "CREATE INDEX a_idx_by ON items (by)");
    x(f, "CREATE INDEX b_idx_by ON items (by)");
    x(f, "CREATE INDEX items_first_score ON items (score)");
    x(f, "CREATE VIEW items_%d AS SELECT 1", 3 * WIDTH);
    x(f, "CREATE TABLE items_other (a INT)");
    assert_int_equal(store_partition(f->s, WIDTH, &e), V_CONFLICT);
    assert_non_null(strstr(e.msg, "table items_other, whose name is needed"));
    assert_false(is_begun(f));
    x(f, "DROP TABLE items_other");
    partition(f);
    assert_q("4", f,
             "SELECT COUNT(*) FROM pg_index WHERE indrelid = 'items'::regclass AND"
             " indexrelid::regclass::text IN"
             " ('foo', 'a_idx_by', 'b_idx_by', 'items_first_score')");
    for (int id = 0; id < 5; id++)
        put(f, id * WIDTH + 1);
    assert_q("0", f, "SELECT COUNT(*) FROM items_other");
    assert_q("5", f, "SELECT COUNT(*) FROM items");
}

/* One that cannot be had does not keep others from theirs. */
static void strays_behind_one_that_fails(void **state) {
    struct fix *f = *state;
    ELSEWHERE_ONLY;
    partition(f);
    x(f,
      "CREATE FUNCTION no() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN IF EXISTS"
      " (SELECT 1 FROM pg_event_trigger_ddl_commands() WHERE object_identity LIKE"
      " '%%items_%d') THEN RAISE EXCEPTION 'not this one'; END IF; END $$",
      4 * WIDTH);
    x(f, "CREATE EVENT TRIGGER no ON ddl_command_end EXECUTE FUNCTION no()");
    x(f,
      "INSERT INTO items (id, first_seen_at, last_fetched_at, last_changed_at, content_hash,"
      " kids_hash)"
      " SELECT g, 1, 1, 1, 1, 0 FROM generate_series(%d, %d) g",
      4 * WIDTH, 8 * WIDTH - 1);
    x(f, "SELECT partition_tend()");
    assert_q("4", f, "SELECT string_agg(DISTINCT (id / %d)::text, ' ') FROM items_other", WIDTH);
    x(f, "DROP EVENT TRIGGER no");
    x(f, "SELECT partition_tend()");
    assert_q("0", f, "SELECT COUNT(*) FROM items_other");
}

/* Whoever died a moment ago may still have the lock. */
static void one_at_a_time(void **state) {
    struct fix *f = *state;
    struct err e;
    ELSEWHERE_ONLY;
    x(f, "SELECT pg_advisory_lock(7496945, hashtext(current_schema()))");
    assert_int_equal(store_partition(f->s, WIDTH, &e), V_RETRY);
    x(f, "SELECT pg_advisory_unlock(7496945, hashtext(current_schema()))");
    partition(f);
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
        CASE(owners_and_rights_stay),
        CASE(only_the_owner_may),
        CASE(names_are_left_to_who_has_them),
        CASE(strays_behind_one_that_fails),
        CASE(one_at_a_time),
    };
    return cmocka_run_group_tests_name("partition care", tests, NULL, NULL);
}
