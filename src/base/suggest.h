/* "Did you mean": how far two words are apart, counted in typing mistakes. Pure functions. */
#ifndef TAIN_BASE_SUGGEST_H
#define TAIN_BASE_SUGGEST_H

#include "base/attr.h"

/* Letters added, lost, changed or swapped with a neighbour. Words over 63 bytes are far apart. */
int suggest_distance(const char *a, const char *b);

/* True when `distance` is small enough for a word like `typed` to be worth proposing. */
bool suggest_near(const char *typed, int distance);

#endif
