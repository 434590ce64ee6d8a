/* What someone typed into a search, made ready for the index: an address is looked for by what the
 * index has of one, which is everything but the scheme and "www.". Pure. */
#ifndef TAIN_HN_SEARCH_TEXT_H
#define TAIN_HN_SEARCH_TEXT_H

#include "base/arena.h"
#include "base/str.h"

/* The text without "http://", "https://" and "www." in front of its words and phrases; the text
 * itself where there are none. An address within an address keeps its own. */
struct str search_text(struct arena *a, struct str typed);

#endif
