#include "web/json_fields.h"

#include "hn/item.h"

#define LAST_SECOND INT64_C(253402300799) /* of the year 9999 */
#define DAY_S 86400
#define FIRST_FETCH_MS INT64_C(1000000000000) /* of the year 2001: no fetch is older */

static void add_i64(struct strbuf *b, int64_t n) {
    char digit[24];
    size_t at = sizeof digit;
    uint64_t u = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
    do {
        digit[--at] = (char)('0' + u % 10);
        u /= 10;
    } while (u);
    if (n < 0)
        digit[--at] = '-';
    strbuf_add(b, digit + at, sizeof digit - at);
}

void json_num(struct strbuf *b, const char *key, int64_t n) {
    strbuf_adds(b, key);
    if (n == I64_NONE)
        strbuf_adds(b, "null");
    else
        add_i64(b, n);
}

void json_str(struct strbuf *b, const char *key, struct str s) {
    strbuf_adds(b, key);
    if (s.p)
        strbuf_add_json(b, s);
    else
        strbuf_adds(b, "null");
}

static void two_digits(char *p, int64_t n) {
    p[0] = (char)('0' + n / 10);
    p[1] = (char)('0' + n % 10);
}

/* The Gregorian calendar by arithmetic: a tree has thousands of dates, and gmtime_r() takes the
 * lock of the time zone for each. Years begin in March, so that the leap day is the last of its
 * year. */
static void add_day(char *text, int64_t days) {
    int64_t from_0000 = days + 719468, era = from_0000 / 146097, in_era = from_0000 % 146097;
    int64_t year_of_era =
        (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365; /* 0 .. 399 */
    int64_t in_year = in_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month = (5 * in_year + 2) / 153; /* 0: March */
    int64_t year = year_of_era + era * 400 + (month >= 10);
    two_digits(text, year / 100);
    two_digits(text + 2, year % 100);
    two_digits(text + 5, month < 10 ? month + 3 : month - 9);
    two_digits(text + 8, in_year - (153 * month + 2) / 5 + 1);
}

void json_when(struct strbuf *b, const char *key, int64_t seconds) {
    char text[] = "0000-00-00T00:00:00Z";
    int64_t in_day = seconds % DAY_S;
    strbuf_adds(b, key);
    if (seconds < 0 || seconds > LAST_SECOND) {
        strbuf_adds(b, "null");
        return;
    }
    add_day(text, seconds / DAY_S);
    two_digits(text + 11, in_day / 3600);
    two_digits(text + 14, in_day / 60 % 60);
    two_digits(text + 17, in_day % 60);
    strbuf_addc(b, '"');
    strbuf_add(b, text, sizeof text - 1);
    strbuf_addc(b, '"');
}

int64_t fetched_seconds(int64_t fetched_at_ms) {
    return fetched_at_ms < FIRST_FETCH_MS ? I64_NONE : fetched_at_ms / 1000;
}
