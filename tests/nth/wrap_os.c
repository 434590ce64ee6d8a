/* Calls to the system: a full disk, a sick one, a signal in between, half of the bytes, no more
 * descriptors or threads. Only those that our sources make: libraries go on undisturbed. */
#include "nth.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define WRAP(type, name, ...)        \
    type __real_##name(__VA_ARGS__); \
    type __wrap_##name(__VA_ARGS__); \
    type __wrap_##name(__VA_ARGS__)

static int fail(void) {
    switch (nth_kind()) {
    case OS_ENOSPC:
        errno = ENOSPC;
        break;
    case OS_EINTR:
        errno = EINTR;
        break;
    case OS_EMFILE:
        errno = EMFILE;
        break;
    default:
        errno = EIO;
    }
    return -1;
}

WRAP(ssize_t, write, int fd, const void *p, size_t n) {
    unsigned kinds = OS_ENOSPC | OS_EIO | OS_EINTR | (n > 1 ? OS_SHORT : 0);
    if (n == sizeof(uint64_t)) /* an eventfd: it rings, or is ringing */
        return __real_write(fd, p, n);
    if (!HIT(kinds, write))
        return __real_write(fd, p, n);
    return nth_kind() == OS_SHORT ? __real_write(fd, p, n / 2) : fail();
}

WRAP(ssize_t, read, int fd, void *p, size_t n) {
    if (n == sizeof(uint64_t) || !HIT(OS_EIO | OS_EINTR | (n > 1 ? OS_SHORT : 0), read))
        return __real_read(fd, p, n);
    return nth_kind() == OS_SHORT ? __real_read(fd, p, n / 2) : fail();
}

WRAP(ssize_t, pread64, int fd, void *p, size_t n, off64_t at) {
    if (!HIT(OS_EIO | OS_EINTR | OS_SHORT, pread64))
        return __real_pread64(fd, p, n, at);
    return nth_kind() == OS_SHORT ? __real_pread64(fd, p, n / 2, at) : fail();
}

WRAP(int, fsync, int fd) {
    return HIT(OS_EIO | OS_ENOSPC, fsync) ? fail() : __real_fsync(fd);
}

WRAP(int, fdatasync, int fd) {
    return HIT(OS_EIO | OS_ENOSPC, fdatasync) ? fail() : __real_fdatasync(fd);
}

WRAP(int, open64, const char *path, int flags, ...) {
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    unsigned kinds = OS_EMFILE | OS_EIO | (flags & O_CREAT ? OS_ENOSPC : 0);
    return HIT(kinds, open64) ? fail() : __real_open64(path, flags, mode);
}

/* Closed it is in any case. */
WRAP(int, close, int fd) {
    return HIT(OS_EIO, close) ? __real_close(fd), fail() : __real_close(fd);
}

WRAP(int, rename, const char *from, const char *to) {
    return HIT(OS_ENOSPC | OS_EIO, rename) ? fail() : __real_rename(from, to);
}

WRAP(int, unlink, const char *path) {
    return HIT(OS_EIO, unlink) ? fail() : __real_unlink(path);
}

WRAP(int, ftruncate64, int fd, off64_t n) {
    return HIT(OS_EIO | OS_ENOSPC, ftruncate64) ? fail() : __real_ftruncate64(fd, n);
}

WRAP(off64_t, lseek64, int fd, off64_t n, int whence) {
    return HIT(OS_EIO, lseek64) ? fail() : __real_lseek64(fd, n, whence);
}

WRAP(int, fstat64, int fd, struct stat64 *st) {
    return HIT(OS_EIO, fstat64) ? fail() : __real_fstat64(fd, st);
}

WRAP(int, stat64, const char *path, struct stat64 *st) {
    return HIT(OS_EIO, stat64) ? fail() : __real_stat64(path, st);
}

WRAP(int, flock, int fd, int how) {
    return HIT(OS_EINTR, flock) ? fail() : __real_flock(fd, how);
}

WRAP(void *, mmap64, void *at, size_t n, int prot, int flags, int fd, off64_t from) {
    if (!HIT(OS_EIO, mmap64))
        return __real_mmap64(at, n, prot, flags, fd, from);
    fail();
    return MAP_FAILED;
}

WRAP(FILE *, fopen64, const char *path, const char *mode) {
    if (!HIT(OS_EMFILE | OS_EIO, fopen64))
        return __real_fopen64(path, mode);
    fail();
    return NULL;
}

WRAP(int, poll, struct pollfd *fds, nfds_t n, int ms) {
    return HIT(OS_EINTR, poll) ? fail() : __real_poll(fds, n, ms);
}

WRAP(int, eventfd, unsigned n, int flags) {
    return HIT(OS_EMFILE, eventfd) ? fail() : __real_eventfd(n, flags);
}

WRAP(int, epoll_create1, int flags) {
    return HIT(OS_EMFILE, epoll_create1) ? fail() : __real_epoll_create1(flags);
}

WRAP(int, epoll_ctl, int set, int how, int fd, struct epoll_event *ev) {
    return HIT(OS_ENOSPC, epoll_ctl) ? fail() : __real_epoll_ctl(set, how, fd, ev);
}

WRAP(int, epoll_wait, int set, struct epoll_event *evs, int n, int ms) {
    return HIT(OS_EINTR, epoll_wait) ? fail() : __real_epoll_wait(set, evs, n, ms);
}

WRAP(int, socket, int family, int type, int protocol) {
    return HIT(OS_EMFILE, socket) ? fail() : __real_socket(family, type, protocol);
}

WRAP(int, pthread_create, pthread_t *ret, const pthread_attr_t *attr, void *(*fn)(void *),
     void *arg) {
    return HIT(OS_EMFILE, pthread_create) ? EAGAIN : __real_pthread_create(ret, attr, fn, arg);
}
