#include "base/suggest.h"

#include <string.h>

#define WORD_MAX 63

static int min3(int a, int b, int c) {
    int m = a < b ? a : b;
    return m < c ? m : c;
}

/* Three rows of the usual table are enough: a swap looks two rows back. */
int suggest_distance(const char *a, const char *b) {
    size_t na = strlen(a), nb = strlen(b);
    if (na > WORD_MAX || nb > WORD_MAX)
        return WORD_MAX;
    int rows[3][WORD_MAX + 1];
    for (size_t j = 0; j <= nb; j++)
        rows[0][j] = (int)j;
    for (size_t i = 1; i <= na; i++) {
        int *row = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
        row[0] = (int)i;
        for (size_t j = 1; j <= nb; j++) {
            int change = a[i - 1] == b[j - 1] ? 0 : 1;
            row[j] = min3(above[j] + 1, row[j - 1] + 1, above[j - 1] + change);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = min3(row[j], row[j], two_above[j - 2] + 1);
        }
    }
    return rows[na % 3][nb];
}

bool suggest_near(const char *typed, int distance) {
    int third = (int)strlen(typed) / 3;
    int most = third < 1 ? 1 : third > 4 ? 4 : third;
    return distance <= most;
}
