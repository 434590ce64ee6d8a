#include "cli/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *format_count(char out[FORMAT_MAX], int64_t n) {
    char digits[24];
    bool negative = n < 0;
    uint64_t magnitude = negative ? 0 - (uint64_t)n : (uint64_t)n;
    int len = snprintf(digits, sizeof digits, "%" PRIu64, magnitude);
    char *to = out;
    if (negative)
        *to++ = '-';
    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return out;
}

const char *format_duration(char out[FORMAT_MAX], int64_t ms) {
    int64_t s = ms / 1000;
    if (s < 1)
        snprintf(out, FORMAT_MAX, "%" PRId64 "ms", ms);
    else if (s < 60)
        snprintf(out, FORMAT_MAX, "%" PRId64 "s", s);
    else if (s < 3600)
        snprintf(out, FORMAT_MAX, "%" PRId64 "m %02" PRId64 "s", s / 60, s % 60);
    else if (s < 86400)
        snprintf(out, FORMAT_MAX, "%" PRId64 "h %02" PRId64 "m", s / 3600, s % 3600 / 60);
    else
        snprintf(out, FORMAT_MAX, "%" PRId64 "d %02" PRId64 "h", s / 86400, s % 86400 / 3600);
    return out;
}

const char *format_rate(char out[FORMAT_MAX], double per_second) {
    if (per_second < 10) {
        snprintf(out, FORMAT_MAX, "%.1f/s", per_second);
        return out;
    }
    format_count(out, (int64_t)(per_second + 0.5));
    size_t n = strlen(out);
    snprintf(out + n, FORMAT_MAX - n, "/s");
    return out;
}

const char *format_percent(char out[FORMAT_MAX], int64_t part, int64_t whole) {
    int64_t tenths = 1000;
    if (whole > 0 && part < whole)
        tenths = part <= 0 ? 0 : (int64_t)((__int128)part * 1000 / whole);
    snprintf(out, FORMAT_MAX, "%" PRId64 ".%" PRId64 "%%", tenths / 10, tenths % 10);
    return out;
}
