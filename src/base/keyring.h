/* A bounded ring of text keys between threads. It never blocks: when it is full the oldest key
 * makes room for the new one, and the caller is told, so that what is dropped is counted. For what
 * can be found again elsewhere; what must not be lost goes through base/keyqueue.h. Any thread. */
#ifndef TAIN_BASE_KEYRING_H
#define TAIN_BASE_KEYRING_H

#include "base/str.h"

#define KEYRING_KEY_MAX 8192 /* bytes; a longer key is not taken */

struct keyring;
struct keyring *keyring_new(size_t max);
void keyring_free(struct keyring *r); /* NULL is fine */

enum keyring_pushed { KEYRING_TAKEN, KEYRING_DROPPED_OLDEST, KEYRING_TOO_LONG };
/* `mark` comes back with the key. *ret_dropped is the mark of the key that was dropped for it. */
enum keyring_pushed keyring_push(struct keyring *r, struct str key, int mark, int *ret_dropped);
/* The same where there is room; false: there is none, and nothing happened. */
bool keyring_push_if_room(struct keyring *r, struct str key, int mark);
/* The oldest key, copied and terminated with NUL; its length, or -1: there is none. */
int keyring_pop(struct keyring *r, char out[KEYRING_KEY_MAX + 1], int *ret_mark);
size_t keyring_count(struct keyring *r);
size_t keyring_room(struct keyring *r);

#endif
