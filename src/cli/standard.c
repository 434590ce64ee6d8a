#include "cli/standard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
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

/* In the file of core(5): only the headers of programs and libraries, by which they are told. What
 * else a core has are registers, and which files were mapped where. */
#define HEADERS_ONLY "0x10"

void standard_bare_core(void) {
    const char *asked = getenv("TAIN_CORE");
    if (asked && strcmp(asked, "full") == 0)
        return;
    int fd = open("/proc/self/coredump_filter", O_WRONLY | O_CLOEXEC);
    bool set = fd >= 0 && write(fd, HEADERS_ONLY, strlen(HEADERS_ONLY)) > 0;
    if (fd >= 0)
        close(fd);
    if (!set) /* then none at all */
        (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
}

bool standard_was_closed(int fd) {
    return closed[fd];
}
