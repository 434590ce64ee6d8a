/* Private to enrich: what the modules of the providers share. Pure. */
#ifndef TAIN_ENRICH_ASK_INT_H
#define TAIN_ENRICH_ASK_INT_H

#include "enrich/answer_int.h"
#include "enrich/ask.h"

/* ---- asks */

/* `url`, or `real` when it is absent or empty, without slashes at its end. */
struct str ask_base(struct str url, const char *real);
/* "NAME: VALUE" among the headers; an empty value is left out. False: bytes that no header has. */
bool ask_header(struct ask *q, struct arena *a, const char *name, struct str value);
/* Takes what was written as the path. V_LIMIT: it is longer than a path may be. */
MUST_CHECK enum verdict ask_path(struct ask *q, struct arena *a, struct strbuf *path,
                                 struct err *e);

/* ---- answers */

/* The error is one line of printable text, cut to ASK_ERROR_MAX. */
void told_say(struct told_why *ret, struct arena *a, enum told told, const char *err_class,
              const char *fmt, ...) PRINTF_LIKE(5, 6);
/* A body that is not what it should be. */
void told_garbage(struct told_why *ret, struct arena *a, const char *what);
/* An answer that is none of success, by what every provider means with its status. */
void told_of_call(struct told_why *ret, struct arena *a, const struct heard *h);
/* What the provider itself says of its refusal; absent: nothing that we understand. */
struct str heard_words(const struct heard *h, struct arena *a);

/* The whole body as JSON; *ret stands before it. False: it is none, or is too large or too deep. */
bool heard_json(const struct heard *h, struct arena *a, struct json_read *ret);
/* A status of 404 that the service itself speaks, in JSON; not that of something in between. */
bool heard_no_such(const struct heard *h, struct arena *a);

/* Members, by path. Absent, or `none`, where there is none or it is of another kind. A number loses
 * what stands behind its point. */
struct str json_text_at(const struct json_read *from, const char *path);
int64_t json_int_at(const struct json_read *from, const char *path, int64_t none);
bool json_true_at(const struct json_read *from, const char *path);

/* A text cut to at most `max` bytes, between characters. */
struct str text_cut(struct str s, size_t max);

/* Is it a URL of the page with this key? */
bool url_has_key(struct str url, struct str key, struct arena *a);

/* Takes what a post was submitted with as the article behind it: FOUND, or NONE where it is no page
 * (or the post itself). */
void article_set(struct found_article *ret, struct arena *a, struct str url);

#endif
