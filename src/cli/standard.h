/* What a process does before anything else, on its main thread, before anything is opened. The
 * three standard streams: a program that is started with one of them closed would get its next file
 * under that number: a database could be written to by a message, a socket read as a dump. And its
 * core, should it come to one. */
#ifndef TAIN_CLI_STANDARD_H
#define TAIN_CLI_STANDARD_H

#include "base/attr.h"

/* Puts something harmless on each that is closed: to use it fails, as before. */
void standard_guard(void);

/* A core of this process will have no memory in it: passwords, keys and tokens lie in buffers of
 * many libraries, and what is read by whoever gets the core cannot be told. TAIN_CORE=full in the
 * environment leaves it whole. gcore, as it asks the same file, makes no other. */
void standard_bare_core(void);

/* True when `fd` (0, 1 or 2) was closed at the start. */
bool standard_was_closed(int fd);

#endif
