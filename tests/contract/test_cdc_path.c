/* Tables of the user's own on PostgreSQL, written in sessions whose names lead astray: functions,
 * operators and types of the user's stand in front of those that the logging function means. It
 * runs with the rights of its owner, so none of them may be called. */
#include "fixture_cdc.h"

#include <string.h>

/* One trap for each of PostgreSQL's own that could be taken for it. */
static void set_traps(struct fix *f) {
    x(f, "CREATE SCHEMA %s_evil", f->schema);
    x(f,
      "DO $$ DECLARE p record; BEGIN "
      "FOR p IN SELECT proname, pg_get_function_identity_arguments(oid) AS args, "
      "prorettype::regtype AS type FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace "
      "AND prokind = 'f' AND NOT 2276 = ANY (proargtypes) AND proname IN ('to_json', "
      "'row_to_json', 'octet_length', 'nextval', 'current_setting', 'set_config', "
      "'pg_trigger_depth', 'split_part', 'extract', 'statement_timestamp', 'clock_timestamp', "
      "'hashtextextended', 'lower', 'left') LOOP "
      "EXECUTE format('CREATE FUNCTION %s_evil.%%I(%%s) RETURNS %%s LANGUAGE plpgsql AS "
      "''BEGIN RAISE EXCEPTION ''''trapped by %%s''''; END''', p.proname, p.args, p.type, "
      "p.proname); END LOOP; "
      "FOR p IN SELECT o.oprname, o.oprleft::regtype AS l, o.oprright::regtype AS r, "
      "o.oprresult::regtype AS type, o.oid FROM pg_operator o WHERE o.oprnamespace = "
      "'pg_catalog'::regnamespace AND o.oprname IN ('=', '<>', '<=', '>', '+', '*', '/', '||') "
      "AND o.oprleft IN (20, 21, 23, 25, 1700) AND o.oprright IN (20, 21, 23, 25, 1700) LOOP "
      "EXECUTE format('CREATE FUNCTION %s_evil.op_%%s(%%s, %%s) RETURNS %%s LANGUAGE plpgsql AS "
      "''BEGIN RAISE EXCEPTION ''''trapped by %%s''''; END''', p.oid, p.l, p.r, p.type, "
      "p.oprname); "
      "EXECUTE format('CREATE OPERATOR %s_evil.%%s (leftarg = %%s, rightarg = %%s, function = "
      "%s_evil.op_%%s)', p.oprname, p.l, p.r, p.oid); END LOOP; END $$",
      f->schema, f->schema, f->schema, f->schema);
    x(f,
      "CREATE FUNCTION %s_evil.concat(text, int, text) RETURNS text LANGUAGE plpgsql AS "
      "'BEGIN RAISE EXCEPTION ''trapped by concat''; END'; "
      "CREATE FUNCTION %s_evil.concat(text, text, int) RETURNS text LANGUAGE plpgsql AS "
      "'BEGIN RAISE EXCEPTION ''trapped by concat''; END'; "
      "CREATE FUNCTION %s_evil.add(int8, int4) RETURNS int8 LANGUAGE plpgsql AS "
      "'BEGIN RAISE EXCEPTION ''trapped by sum''; END'; "
      "CREATE FUNCTION %s_evil.append(text[], text) RETURNS text[] LANGUAGE plpgsql AS "
      "'BEGIN RAISE EXCEPTION ''trapped by array_agg''; END'; "
      "CREATE FUNCTION %s_evil.one_more(int8) RETURNS int8 LANGUAGE plpgsql AS "
      "'BEGIN RAISE EXCEPTION ''trapped by count''; END'",
      f->schema, f->schema, f->schema, f->schema, f->schema);
    x(f,
      "CREATE AGGREGATE %s_evil.sum(int4) (sfunc = %s_evil.add, stype = int8, initcond = 0); "
      "CREATE AGGREGATE %s_evil.sum(int8) (sfunc = int8mi, stype = int8, initcond = 0); "
      "CREATE AGGREGATE %s_evil.array_agg(text) (sfunc = %s_evil.append, stype = text[]); "
      "CREATE AGGREGATE %s_evil.count(*) (sfunc = %s_evil.one_more, stype = int8, initcond = 0)",
      f->schema, f->schema, f->schema, f->schema, f->schema, f->schema, f->schema);
    x(f,
      "CREATE DOMAIN %s_evil.text AS pg_catalog.text CHECK (VALUE = 'trapped by text'); "
      "CREATE DOMAIN %s_evil.int8 AS pg_catalog.int8 CHECK (VALUE = -77); "
      "CREATE DOMAIN %s_evil.int4 AS pg_catalog.int4 CHECK (VALUE = -77); "
      "CREATE DOMAIN %s_evil.bool AS pg_catalog.bool CHECK (VALUE IS NULL); "
      "CREATE COLLATION %s_evil.\"C\" FROM pg_catalog.\"POSIX\"; "
      "CREATE TABLE %s_evil.change_log (batch pg_catalog.int8)",
      f->schema, f->schema, f->schema, f->schema, f->schema, f->schema);
}

static void astray(struct fix *f, bool on) {
    if (on)
        x(f, "SET search_path TO %s_evil, pg_catalog", f->schema);
    else
        x(f, "SET search_path TO %s, pg_catalog", f->schema);
}

static void assert_logged(struct fix *f, const char *what) {
    astray(f, false);
    assert_q("", f, "SELECT COALESCE(string_agg(error, '; '), '') FROM cdc_failures");
    assert_string_equal(logged(f), what);
    astray(f, true);
}

static const char *zoned_table(struct fix *f) {
    const char *t = user_table(f, "zoned");
    x(f, "CREATE TABLE %s (id INTEGER PRIMARY KEY, at TIMESTAMPTZ, v TEXT)", t);
    install(f, t, NULL);
    return t;
}

static void nothing_of_a_session_is_called(void **state) {
    struct fix *f = *state;
    const char *t = zoned_table(f);
    set_traps(f);
    x(f, "SET timezone TO 'UTC'");
    x(f, "SET tain.now_ms TO '5000'");
    astray(f, true);
    x(f, "INSERT INTO %s VALUES (1, NULL, 'a')", t);
    x(f, "UPDATE %s SET v = 'b'", t);
    x(f, "DELETE FROM %s", t);
    assert_logged(f, "insert {\"id\":1} {\"id\":1,\"at\":null,\"v\":\"a\"}; update {\"id\":1} "
                     "{\"id\":1,\"at\":null,\"v\":\"b\"}; delete {\"id\":1} "
                     "{\"id\":1,\"at\":null,\"v\":\"b\"}");
    x(f, "INSERT INTO %s VALUES (1, NULL, 'a'), (2, NULL, 'b')", t);
    x(f, "UPDATE %s SET v = 'c'", t);
    x(f, "UPDATE %s SET id = -id", t);
    x(f, "DELETE FROM %s", t);
    x(f, "TRUNCATE %s", t);
    astray(f, false);
    assert_q("", f, "SELECT COALESCE(string_agg(error, '; '), '') FROM cdc_failures");
    assert_q("insert 4|update 2|delete 4|truncate 1", f,
             "SELECT string_agg(n, '|' ORDER BY place) FROM (SELECT action || ' ' || COUNT(*) AS n,"
             " MIN(batch) AS place FROM changes WHERE batch > 3 GROUP BY action) AS t");
}

/* Triggers within triggers, and a change that can only be noted. */
static void nor_where_it_is_harder(void **state) {
    struct fix *f = *state;
    const char *t = zoned_table(f);
    x(f,
      "CREATE FUNCTION %s_u.again() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
      "UPDATE %s SET v = 'z' WHERE id OPERATOR(pg_catalog.=) NEW.id; RETURN NULL; END $$; "
      "CREATE TRIGGER again AFTER INSERT ON %s FOR EACH ROW EXECUTE FUNCTION %s_u.again()",
      f->schema, t, t, f->schema);
    set_traps(f);
    astray(f, true);
    x(f, "INSERT INTO %s VALUES (1, NULL, 'a')", t);
    assert_logged(f, "update {\"id\":1} {\"id\":1,\"at\":null,\"v\":\"z\"}; insert {\"id\":1} "
                     "{\"id\":1,\"at\":null,\"v\":\"z\"}");
    astray(f, false);
    const char *texts = user_table(f, "texts");
    x(f, "CREATE TABLE %s (k TEXT PRIMARY KEY)", texts);
    install(f, texts, NULL);
    astray(f, true);
    x(f, "INSERT INTO %s VALUES ('x')", texts);
    assert_logged(f, "insert {\"k\":\"x\"} {\"k\":\"x\"}");
    astray(f, false);
    const char *keyless = user_table(f, "keyless");
    x(f, "CREATE TABLE %s (v INTEGER)", keyless);
    install(f, keyless, NULL);
    x(f, "ALTER TABLE change_log ADD CONSTRAINT no CHECK (table_id < 100)");
    astray(f, true);
    x(f, "UPDATE %s SET v = 'y'", t);
    x(f, "DELETE FROM %s", t);
    x(f, "INSERT INTO %s VALUES (7)", keyless);
    astray(f, false);
    assert_q("update {\"id\":1}|delete {\"id\":1}|insert none", f,
             "SELECT string_agg(action || ' ' || COALESCE(key, 'none'), '|' ORDER BY failure_id) "
             "FROM cdc_failures");
}

/* The zone of the session is the same afterwards, whatever it was, and rows do not show it. */
static void a_zone_is_left_as_it_was(void **state) {
    struct fix *f = *state;
    const char *t = zoned_table(f);
    const char *zones[] = {"Asia/Tokyo", "UTC", "Etc/UTC", "<+01>-01"};
    for (size_t i = 0; i < ARRAY_LEN(zones); i++) {
        x(f, "SET timezone TO '%s'", zones[i]);
        x(f, "INSERT INTO %s VALUES (1, timestamptz '2026-01-01 00:00:00+00', NULL)", t);
        assert_string_equal(logged(f),
                            "insert {\"id\":1} {\"id\":1,\"at\":\"2026-01-01T00:00:00+00:00\","
                            "\"v\":null}");
        assert_q(zones[i], f, "SELECT current_setting('timezone')");
        x(f, "BEGIN; SET LOCAL timezone TO 'Asia/Tokyo'; DELETE FROM %s", t);
        assert_q("Asia/Tokyo", f, "SELECT current_setting('timezone')");
        x(f, "COMMIT");
        assert_q(zones[i], f, "SELECT current_setting('timezone')");
        assert_string_equal(logged(f),
                            "delete {\"id\":1} {\"id\":1,\"at\":\"2026-01-01T00:00:00+00:00\","
                            "\"v\":null}");
    }
    x(f, "ALTER TABLE change_log ADD CONSTRAINT no CHECK (table_id < 100)");
    x(f, "SET timezone TO 'Asia/Tokyo'");
    x(f, "INSERT INTO %s VALUES (2, now(), NULL)", t);
    assert_q("Asia/Tokyo", f, "SELECT current_setting('timezone')");
    assert_q("1", f, "SELECT COUNT(*) FROM cdc_failures");
}

int cdc_path_tests(void) {
    const struct CMUnitTest tests[] = {
        CDC_CASE(nothing_of_a_session_is_called),
        CDC_CASE(nor_where_it_is_harder),
        CDC_CASE(a_zone_is_left_as_it_was),
    };
    return fix_kind == DB_POSTGRES
               ? cmocka_run_group_tests_name("cdc and the names of a session", tests, NULL, NULL)
               : 0;
}
