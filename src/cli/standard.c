#include "cli/standard.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static bool closed[3];

/* Each is opened the wrong way round, so that reading from the first and writing to the others is
 * an error still and no silent success. The lowest free number is the one that was missing. */
void standard_guard(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        closed[fd] = fcntl(fd, F_GETFD) < 0 && errno == EBADF;
        if (closed[fd] && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            _exit(126); /* no descriptor to be had: nothing would work */
    }
}

bool standard_was_closed(int fd) {
    return closed[fd];
}
