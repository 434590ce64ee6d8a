/* What a client may ask for, and what it gets. */
#include "feed/event.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool takes(const struct feed_filter *f, const char *schema, const char *name,
                  enum feed_action action, bool is_public) {
    struct feed_event ev = {
        .schema = str_of(schema), .name = str_of(name), .action = action, .is_public = is_public};
    return feed_filter_takes(f, &ev);
}

static struct feed_filter filter_of(const char *tables, const char *actions) {
    struct feed_filter f;
    struct err e;
    assert_int_equal(feed_filter_read(str_of(tables), str_of(actions), &f, &e), V_OK);
    return f;
}

static void absent_texts_ask_for_everything(void **state UNUSED) {
    struct feed_filter f = filter_of(NULL, NULL);
    for (int a = 0; a < FEED_ACTIONS; a++)
        assert_true(takes(&f, "any", "thing", (enum feed_action)a, false));
    f.public_only = true;
    assert_false(takes(&f, "any", "thing", FEED_INSERT, false));
    assert_true(takes(&f, "any", "thing", FEED_INSERT, true));
}

static void tables_with_and_without_schema(void **state UNUSED) {
    struct feed_filter f = filter_of("items, wxyc_schema.flowsheet,a.b", NULL);
    assert_true(takes(&f, "tain", "items", FEED_INSERT, false));
    assert_true(takes(&f, "other", "items", FEED_INSERT, false));
    assert_true(takes(&f, "wxyc_schema", "flowsheet", FEED_INSERT, false));
    assert_false(takes(&f, "public", "flowsheet", FEED_INSERT, false));
    assert_true(takes(&f, "a", "b", FEED_INSERT, false));
    assert_true(takes(&f, "x", "a.b", FEED_INSERT, false));
    assert_false(takes(&f, "", "item", FEED_INSERT, false));
    assert_false(takes(&f, "tain", "users", FEED_INSERT, false));
}

static void actions_by_name(void **state UNUSED) {
    struct feed_filter f = filter_of(NULL, "insert,delete");
    assert_true(takes(&f, "s", "t", FEED_INSERT, false));
    assert_false(takes(&f, "s", "t", FEED_UPDATE, false));
    assert_true(takes(&f, "s", "t", FEED_DELETE, false));
    assert_false(takes(&f, "s", "t", FEED_RESYNC, false));
}

static void wrong_texts_are_named(void **state UNUSED) {
    struct feed_filter f;
    struct err e;
    assert_int_equal(feed_filter_read(STR_NONE, STR("insert,upsert"), &f, &e), V_INVALID);
    assert_non_null(strstr(e.msg, "upsert"));
    assert_int_equal(feed_filter_read(STR(""), STR_NONE, &f, &e), V_INVALID);
    assert_int_equal(feed_filter_read(STR("a,,b"), STR_NONE, &f, &e), V_INVALID);
    assert_int_equal(feed_filter_read(STR_NONE, STR(""), &f, &e), V_INVALID);
    char many[2 * (FEED_FILTER_TABLES + 1)];
    for (size_t i = 0; i < sizeof many; i += 2)
        memcpy(many + i, "a,", 2);
    assert_int_equal(feed_filter_read((struct str){many, sizeof many - 1}, STR_NONE, &f, &e),
                     V_INVALID);
    assert_int_equal(feed_filter_read((struct str){many, sizeof many - 3}, STR_NONE, &f, &e), V_OK);
}

static const struct cdc_known known[] = {
    {STR("tain"), STR("items"), .built_in = true, .is_public = true},
    {STR("shop"), STR("orders")},
    {STR("shop"), STR("orders")}, /* with other columns, later */
    {STR("shop"), STR("old"), .removed = true},
};

static const struct feed_names names = {known, ARRAY_LEN(known), NULL, 0};

static void unknown_tables_are_named(void **state UNUSED) {
    struct feed_filter f = filter_of("items,shop.orders,old,tain.items", NULL);
    struct err e;
    assert_true(feed_filter_is_known(&f, &names));
    assert_int_equal(feed_filter_check(&f, &names, "tables", &e), V_OK);
    f.public_only = true;
    assert_false(feed_filter_is_known(&f, &names));
    assert_int_equal(feed_filter_check(&f, &names, "topics", &e), V_INVALID);
    assert_string_equal(e.msg, "topics: there is no public \"shop.orders\"; there are items");
    f = filter_of("items,public.items", NULL);
    assert_int_equal(feed_filter_check(&f, &names, "tables", &e), V_INVALID);
    assert_string_equal(e.msg,
                        "tables: there is no \"public.items\"; there are items, shop.orders");
    f = filter_of(NULL, NULL);
    assert_int_equal(feed_filter_check(&f, &(struct feed_names){0}, "tables", &e), V_OK);
    f = filter_of("a", NULL);
    assert_int_equal(feed_filter_check(&f, &(struct feed_names){0}, "tables", &e), V_INVALID);
    assert_string_equal(e.msg, "tables: there is no \"a\"; there are none");
}

static void a_long_list_of_tables_is_cut(void **state UNUSED) {
    struct cdc_known many[100];
    const struct feed_names all = {many, ARRAY_LEN(many), NULL, 0};
    struct feed_filter f = filter_of("a", NULL);
    struct err e;
    for (size_t i = 0; i < ARRAY_LEN(many); i++)
        many[i] = (struct cdc_known){STR("some_schema"), STR("some_table"), .removed = i == 7};
    many[99].name = STR("other_table");
    assert_int_equal(feed_filter_check(&f, &all, "tables", &e), V_INVALID);
    assert_non_null(strstr(e.msg, "there are some_schema.some_table, some_schema.other_table"));
    for (size_t i = 0; i < ARRAY_LEN(many); i++)
        many[i].name = (struct str){&"abcdefghijklmnopqrstuvwxyz"[i % 20], 6};
    assert_int_equal(feed_filter_check(&f, &all, "tables", &e), V_INVALID);
    assert_non_null(strstr(e.msg, "some_schema.abcdef, "));
    assert_non_null(strstr(e.msg, " and 5 more"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(absent_texts_ask_for_everything),
        cmocka_unit_test(tables_with_and_without_schema),
        cmocka_unit_test(actions_by_name),
        cmocka_unit_test(wrong_texts_are_named),
        cmocka_unit_test(unknown_tables_are_named),
        cmocka_unit_test(a_long_list_of_tables_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
