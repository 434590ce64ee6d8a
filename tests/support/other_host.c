/* A program under test on a host of its own, by LD_PRELOAD: its wall clock goes wrong by as many
 * milliseconds as the 8 bytes of the file HOST_CLOCK say at that moment (a signed number, in the
 * order of this machine), and its host is called HOST_NAME. CLOCK_MONOTONIC and all sleeping are
 * left alone, as a step of a real clock leaves them. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

typedef int (*clock_fn)(clockid_t, struct timespec *);
typedef int (*name_fn)(char *, size_t);

static clock_fn real_clock;
static const volatile int64_t *skew_ms;

__attribute__((constructor)) static void begin(void) {
    real_clock = (clock_fn)dlsym(RTLD_NEXT, "clock_gettime");
    const char *path = getenv("HOST_CLOCK");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *seen = mmap(NULL, sizeof *skew_ms, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (seen != MAP_FAILED)
        skew_ms = seen;
}

int clock_gettime(clockid_t id, struct timespec *ts) {
    if (!real_clock) /* before the constructor */
        real_clock = (clock_fn)dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real_clock(id, ts);
    if (failed || !skew_ms || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE))
        return failed;
    int64_t ns = ts->tv_nsec + *skew_ms % 1000 * 1000000, whole = 1000000000;
    ts->tv_sec += *skew_ms / 1000 + (ns < 0 ? -1 : ns >= whole);
    ts->tv_nsec = (ns + whole) % whole;
    return 0;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone) {
    (void)zone;
    struct timespec ts;
    if (clock_gettime(CLOCK_REALTIME, &ts) != 0)
        return -1;
    tv->tv_sec = ts.tv_sec;
    tv->tv_usec = ts.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *at) {
    struct timespec ts;
    if (clock_gettime(CLOCK_REALTIME, &ts) != 0)
        return -1;
    if (at)
        *at = ts.tv_sec;
    return ts.tv_sec;
}

int gethostname(char *name, size_t size) {
    const char *other = getenv("HOST_NAME");
    if (!other)
        return ((name_fn)dlsym(RTLD_NEXT, "gethostname"))(name, size);
    snprintf(name, size, "%s", other);
    return 0;
}
