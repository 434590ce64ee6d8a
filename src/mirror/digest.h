/* SHA-256 of a file as it passes by, and the FILE.sha256 beside it, in the form that sha256sum
 * writes and checks. One object, one thread. */
#ifndef TAIN_MIRROR_DIGEST_H
#define TAIN_MIRROR_DIGEST_H

#include "base/err.h"
#include "base/str.h"

#define SHA256_HEX 65 /* with the NUL */

struct sha256;

struct sha256 *sha256_new(void);
void sha256_free(struct sha256 *s); /* NULL is fine */
void sha256_add(struct sha256 *s, const void *bytes, size_t n);
/* Ends it: nothing may be added afterwards. */
void sha256_end(struct sha256 *s, char ret_hex[SHA256_HEX]);

/* The checksum that FILE.sha256 gives for FILE. V_NOT_FOUND: there is no FILE.sha256. V_INVALID: it
 * has no line for FILE. */
MUST_CHECK enum verdict checksum_of(const char *path, char ret_hex[SHA256_HEX], struct err *e);

/* The line that `sha256sum FILE` prints in FILE's folder. */
void checksum_line(struct strbuf *out, const char *path, const char *hex);

/* The part of a path behind its last slash. */
const char *base_name(const char *path);

#endif
