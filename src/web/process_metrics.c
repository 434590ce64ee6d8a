#include "web/process_metrics.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define GAUGE(text_name, of, text, u)                                                              \
    {                                                                                              \
        .name = (text_name), .help = (text), .measure = (of), .type = METRIC_GAUGE, .n_series = 1, \
        .unit = (u), .value = {                                                                    \
            METRIC_NONE                                                                            \
        }                                                                                          \
    }

static struct metric m_cpu = {.name = "process_cpu_seconds_total",
                              .help = "Time that all threads have spent computing.",
                              .measure = "seconds",
                              .type = METRIC_COUNTER,
                              .n_series = 1,
                              .unit = 1e-6};
static struct metric m_resident =
    GAUGE("process_resident_memory_bytes", "bytes", "Memory in use that is not swapped out.", 1);
static struct metric m_virtual =
    GAUGE("process_virtual_memory_bytes", "bytes", "Size of the address space.", 1);
static struct metric m_open_fds = GAUGE("process_open_fds", "descriptors", "Open files.", 1);
static struct metric m_max_fds =
    GAUGE("process_max_fds", "descriptors", "How many files may be open.", 1);
static struct metric m_start =
    GAUGE("process_start_time_seconds", "unix seconds", "When the process was started.", 0.001);
static struct metric m_threads = GAUGE("process_threads", "threads", "Threads.", 1);

static const char *const versions[] = {TAIN_VERSION};
static const char *const compilers[] = {
#ifdef __clang__
    "clang " __clang_version__
#else
    "gcc " __VERSION__
#endif
};
static struct metric m_build = {.name = "tain_build_info",
                                .help = "Always 1: which build this is.",
                                .measure = "1",
                                .type = METRIC_GAUGE,
                                .label = "version",
                                .label_values = versions,
                                .label2 = "compiler",
                                .label2_values = compilers,
                                .n_label2 = 1,
                                .n_series = 1,
                                .value = {1}};

struct metric *const process_metrics[] = {
    &m_build, &m_cpu, &m_resident, &m_virtual, &m_open_fds, &m_max_fds, &m_start, &m_threads,
};
const size_t process_n_metrics = ARRAY_LEN(process_metrics);

static bool slurp(const char *path, char *out, size_t size) {
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(out, 1, size - 1, f) : 0;
    if (f)
        fclose(f);
    out[n] = '\0';
    return n > 0;
}

/* Unix seconds of the boot, 0 when it cannot be had. */
static int64_t boot_time(void) {
    FILE *f = fopen("/proc/stat", "re");
    char line[256];
    long long at = 0;
    while (f && !at && fgets(line, sizeof line, f))
        if (sscanf(line, "btime %lld", &at) != 1)
            at = 0;
    if (f)
        fclose(f);
    return at;
}

/* Once: a clock that is set later must not move it, since a new value means a new process. */
static void note_start(unsigned long long ticks_after_boot) {
    int64_t boot = metric_known(&m_start, 0) ? 0 : boot_time();
    if (boot)
        metric_set(&m_start, 0,
                   boot * 1000 +
                       (int64_t)(ticks_after_boot * 1000 / (unsigned)sysconf(_SC_CLK_TCK)));
}

/* The name of the program, in parentheses, may hold anything: what counts is behind the last one.
 */
static void read_stat(void) {
    char text[2048];
    const char *rest = slurp("/proc/self/stat", text, sizeof text) ? strrchr(text, ')') : NULL;
    long long threads, pages;
    unsigned long long start, size;
    if (!rest || sscanf(rest,
                        ") %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                        "%lld %*s %llu %llu %lld",
                        &threads, &start, &size, &pages) != 4)
        return;
    metric_set(&m_threads, 0, threads);
    metric_set(&m_virtual, 0, (int64_t)size);
    metric_set(&m_resident, 0, pages * sysconf(_SC_PAGESIZE));
    note_start(start);
}

static void read_descriptors(void) {
    DIR *d = opendir("/proc/self/fd");
    int64_t n = 0;
    while (d && readdir(d))
        n++;
    if (d) {
        closedir(d);
        metric_set(&m_open_fds, 0, n - 3); /* without ".", ".." and the folder itself */
    }
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        metric_set(&m_max_fds, 0, (int64_t)limit.rlim_cur);
}

void process_metrics_read(void) {
    struct timespec cpu;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu) == 0)
        metric_set(&m_cpu, 0, (int64_t)cpu.tv_sec * 1000000 + cpu.tv_nsec / 1000);
    read_stat();
    read_descriptors();
}

void process_metrics_render(struct strbuf *out) {
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&one);
    process_metrics_read();
    metrics_render(process_metrics, process_n_metrics, out);
    pthread_mutex_unlock(&one);
}
