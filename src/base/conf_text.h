/* The text of a configuration file, made ready for libConfuse, which trips over some of what people
 * write: it ends the process when a read fails, counts the lines of comments more than once, and
 * takes texts that never end in silence. Pure but for the reading. */
#ifndef TAIN_BASE_CONF_TEXT_H
#define TAIN_BASE_CONF_TEXT_H

#include "base/err.h"

#define CONF_TEXT_MAX ((size_t)1 << 20)

/* The whole file, NUL-terminated, to be freed. V_INVALID: "PATH: cannot be read, too large, not
 * text". */
MUST_CHECK enum verdict conf_text_read(const char *path, char **ret, size_t *ret_n, struct err *e);

/* Comments (#, //, and the kind that this is) become blanks, lines stay where they are. Answers
 * NULL, or where a comment or a quoted text begins that never ends. */
const char *conf_text_blank_comments(char *text, size_t n);

/* The end of the quoted text that begins at p; NULL when its closing quote is missing. */
const char *conf_text_skip_quoted(const char *p, const char *end);

/* From 1 on. */
int conf_text_line(const char *text, const char *at);

#endif
