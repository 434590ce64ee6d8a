/* Passwords in database addresses: where they are, and how a text is shown without them. Pure
 * functions over C strings; whatever prints an address, or a text that libpq made of one, goes
 * through here first. */
#ifndef TAIN_DB_SECRET_H
#define TAIN_DB_SECRET_H

#include "base/attr.h"
#include "base/str.h"

/* Whether a PostgreSQL address or connection string carries a password. */
bool secret_is_in(const char *uri);
/* It does, with a character in it that should have been written as %40 or the like: libpq takes
 * such an address apart in the wrong place, and names the pieces when it complains. */
bool secret_is_careless(const char *uri);
/* The address with *** in the place of every password, fit for a log line. */
void secret_redact(const char *uri, struct strbuf *out);
/* Puts *** in the place of every password of the address that the text repeats. */
void secret_hide_all(const char *uri, struct strbuf *text);
/* The same for one text; an empty one is nowhere. */
void secret_hide(struct str secret, struct strbuf *text);

#endif
