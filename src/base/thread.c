#include "base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define HOST_BYTES 64

enum verdict stop_init(struct stop_token *s, struct err *e) {
    atomic_init(&s->raised, false);
    s->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s->fd < 0)
        return err_set(e, V_FATAL, "system", errno, "eventfd: %s", strerror(errno));
    return V_OK;
}

void stop_release(struct stop_token *s) {
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
}

void stop_raise(struct stop_token *s) {
    int saved = errno;
    atomic_store(&s->raised, true);
    uint64_t one = 1;
    if (write(s->fd, &one, sizeof one) < 0) {
        /* the counter is full: it is readable already */
    }
    errno = saved;
}

enum verdict thread_start(pthread_t *ret, const char *name, void *(*fn)(void *), void *arg,
                          struct err *e) {
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int rc = pthread_create(ret, NULL, fn, arg);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc != 0)
        return err_set(e, V_FATAL, "system", rc, "cannot start thread %s: %s", name, strerror(rc));
    char short_name[16]; /* a longer one would be refused */
    snprintf(short_name, sizeof short_name, "%.15s", name);
    pthread_setname_np(*ret, short_name);
    return V_OK;
}

static void read_line(const char *path, char *out, size_t size) {
    out[0] = '\0';
    FILE *f = fopen(path, "re");
    if (!f)
        return;
    if (!fgets(out, (int)size, f))
        out[0] = '\0';
    fclose(f);
    out[strcspn(out, "\n")] = '\0';
}

/* Field 22 of /proc/PID/stat, counted behind the command name, which may hold anything. */
static unsigned long long start_time_of(long pid) {
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    read_line(path, line, sizeof line);
    char *p = strrchr(line, ')');
    if (!p)
        return 0;
    for (int field = 2; field < 22; field++) {
        p = strchr(p + 1, ' ');
        if (!p)
            return 0;
    }
    unsigned long long start = 0;
    return sscanf(p, " %llu", &start) == 1 ? start : 0;
}

/* What tells this host, boot and pid namespace from every other. False: it cannot be known here. */
static bool host_tail(char *out, size_t size) {
    char boot[64], ns[64];
    read_line("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    boot[8] = '\0';
    ssize_t n = readlink("/proc/self/ns/pid", ns, sizeof ns - 1);
    ns[n > 0 ? n : 0] = '\0';
    unsigned long inode = 0;
    if (sscanf(ns, "pid:[%lu]", &inode) != 1)
        inode = 0;
    snprintf(out, size, "%s:%lu", boot, inode);
    return boot[0] != '\0' && inode != 0;
}

static void host_name(char out[static HOST_BYTES]) {
    if (gethostname(out, HOST_BYTES) != 0 || out[0] == '\0')
        snprintf(out, HOST_BYTES, "localhost");
    out[HOST_BYTES - 1] = '\0';
    for (char *p = out; *p; p++)
        if (*p == ':')
            *p = '_';
}

void process_identity(char *out, size_t size) {
    char host[HOST_BYTES], tail[96];
    host_name(host);
    host_tail(tail, sizeof tail);
    snprintf(out, size, "%s:%ld:%llu:%s", host, (long)getpid(), start_time_of((long)getpid()),
             tail);
}

bool process_identity_is_dead(const char *identity) {
    char host[HOST_BYTES], tail[96], my_host[HOST_BYTES], my_tail[96];
    long pid;
    unsigned long long start;
    if (sscanf(identity, "%63[^:]:%ld:%llu:%95[^\n]", host, &pid, &start, tail) != 4)
        return false;
    if (pid <= 0 || pid > INT_MAX)
        return false;
    host_name(my_host);
    if (!host_tail(my_tail, sizeof my_tail) || strcmp(host, my_host) != 0 ||
        strcmp(tail, my_tail) != 0)
        return false;
    unsigned long long now = start_time_of(pid);
    if (now != 0 && start != 0)
        return now != start;
    /* /proc may hide other users' processes, and opening it may have failed, now or when the
     * identity was made: ask the kernel itself. */
    return kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}
