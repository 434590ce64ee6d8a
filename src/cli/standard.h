/* The three standard streams. A program that is started with one of them closed would get its next
 * file under that number: a database could be written to by a message, a socket read as a dump.
 * Called by the main thread before anything is opened. */
#ifndef TAIN_CLI_STANDARD_H
#define TAIN_CLI_STANDARD_H

#include "base/attr.h"

/* Puts something harmless on each that is closed: to use it fails, as before. */
void standard_guard(void);

/* True when `fd` (0, 1 or 2) was closed at the start. */
bool standard_was_closed(int fd);

#endif
