/* JSON as the HN API prints it when asked for `print=pretty`: objects over several lines, two
 * blanks to a level, " : " behind a key, arrays of plain values on one line. Pure. */
#ifndef TAIN_WEB_JSON_PRETTY_H
#define TAIN_WEB_JSON_PRETTY_H

#include "base/str.h"

/* Appends the document, which must be valid JSON without white space outside of strings, and a line
 * feed. */
void json_pretty(struct str compact, struct strbuf *out);

#endif
