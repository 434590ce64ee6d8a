/* Types: what a column of the user's can hold, by PostgreSQL's catalogue or by SQLite's rules for
 * declared types. */
#include "store/claims_int.h"

#include <ctype.h>
#include <string.h>

enum {
    OID_BOOL = 16,
    OID_INT8 = 20,
    OID_INT2 = 21,
    OID_INT4 = 23,
    OID_TEXT = 25,
    OID_JSON = 114,
    OID_REAL = 700,
    OID_DOUBLE = 701,
    OID_BPCHAR = 1042,
    OID_VARCHAR = 1043,
    OID_TIMESTAMP = 1114,
    OID_TIMESTAMPTZ = 1184,
    OID_NUMERIC = 1700,
    OID_UUID = 2950,
    OID_JSONB = 3802,
};

static void describe_pg(const struct source_field *f, struct source_column *ret) {
    static const struct {
        int64_t id;
        int type;
        int64_t min, max;
    } types[] = {
        {OID_BOOL, COLUMN_BOOL, 0, 0},
        {OID_INT2, COLUMN_INT, INT16_MIN, INT16_MAX},
        {OID_INT4, COLUMN_INT, INT32_MIN, INT32_MAX},
        {OID_INT8, COLUMN_INT, INT64_MIN, INT64_MAX},
        {OID_TEXT, COLUMN_TEXT, 0, 0},
        {OID_VARCHAR, COLUMN_TEXT, 0, 0},
        {OID_BPCHAR, COLUMN_TEXT, 0, 0},
        {OID_REAL, COLUMN_REAL, 0, 0},
        {OID_DOUBLE, COLUMN_REAL, 0, 0},
        {OID_NUMERIC, COLUMN_REAL, 0, 0},
        {OID_JSON, COLUMN_JSON, 0, 0},
        {OID_JSONB, COLUMN_JSON, 0, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (types[i].id == f->type_id) {
            ret->type = types[i].type;
            ret->min = types[i].min;
            ret->max = types[i].max;
        }
    if (ret->type == COLUMN_TEXT && f->modifier > 4) /* it counts its own four bytes */
        ret->max_chars = f->modifier - 4;
}

static bool says(struct str type, const char *word) {
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= type.n; i++) {
        size_t k = 0;
        while (k < n && toupper((unsigned char)type.p[i + k]) == word[k])
            k++;
        if (k == n)
            return true;
    }
    return false;
}

/* SQLite's order of rules, with two of the names that it takes for numbers before them. */
static void describe_sqlite(const struct source_field *f, struct source_column *ret) {
    static const struct {
        const char *word;
        int type;
    } words[] = {
        {"BOOL", COLUMN_BOOL}, {"JSON", COLUMN_JSON}, {"INT", COLUMN_INT},   {"CHAR", COLUMN_TEXT},
        {"CLOB", COLUMN_TEXT}, {"TEXT", COLUMN_TEXT}, {"REAL", COLUMN_REAL}, {"FLOA", COLUMN_REAL},
        {"DOUB", COLUMN_REAL}, {"NUM", COLUMN_REAL},  {"DEC", COLUMN_REAL},
    };
    for (size_t i = 0; i < ARRAY_LEN(words) && ret->type == COLUMN_OTHER; i++)
        if (says(f->type, words[i].word))
            ret->type = words[i].type;
    if (ret->type == COLUMN_INT) {
        ret->min = INT64_MIN;
        ret->max = INT64_MAX;
    }
    const char *open = f->type.n ? memchr(f->type.p, '(', f->type.n) : NULL;
    if (ret->type != COLUMN_TEXT || !open)
        return;
    for (const char *p = open + 1; p < f->type.p + f->type.n && isdigit((unsigned char)*p); p++)
        ret->max_chars = ret->max_chars < INT32_MAX ? ret->max_chars * 10 + (*p - '0') : INT32_MAX;
}

void source_describe(enum db_kind kind, const struct source_field *f, struct source_column *ret) {
    *ret = (struct source_column){.type = COLUMN_OTHER, .type_name = f->type};
    if (kind == DB_POSTGRES)
        describe_pg(f, ret);
    else
        describe_sqlite(f, ret);
}

bool source_key_kind(enum db_kind kind, struct source *src, const struct source_field *f) {
    struct source_column c;
    source_describe(kind, f, &c);
    src->key_nullable = f->nullable;
    src->key_min = c.min;
    src->key_max = c.max;
    if (kind == DB_POSTGRES && f->type_id == OID_UUID)
        src->key_kind = KEY_UUID;
    else if (c.type == COLUMN_INT)
        src->key_kind = KEY_INT;
    else if (c.type == COLUMN_TEXT && (kind == DB_SQLITE || f->type_id != OID_BPCHAR))
        src->key_kind = KEY_TEXT;
    else
        return false;
    return true;
}

bool source_since_kind(enum db_kind kind, struct source *src, const struct source_field *f) {
    struct source_column c;
    source_describe(kind, f, &c);
    bool ms = kind == DB_POSTGRES ? f->type_id == OID_INT8 : c.type == COLUMN_INT;
    bool time = kind == DB_POSTGRES ? f->type_id == OID_TIMESTAMP || f->type_id == OID_TIMESTAMPTZ
                                    : c.type == COLUMN_OTHER || c.type == COLUMN_TEXT;
    src->since_kind = ms ? SINCE_MS : SINCE_TIME;
    return ms || time;
}
