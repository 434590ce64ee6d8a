#include "base/fault.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool fault_armed;

static struct {
    char name[48];
    long countdown;
    bool kill, call;
} points[16];
static int n_points;
static void (*to_call)(void *arg);
static void *call_arg;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void fault_setup(const char *spec) {
    n_points = 0;
    while (spec && *spec && n_points < (int)ARRAY_LEN(points)) {
        char action[16] = "";
        int used = 0;
        if (sscanf(spec, "%47[^:,]:%ld:%15[a-z]%n", points[n_points].name,
                   &points[n_points].countdown, action, &used) == 3) {
            points[n_points].kill = strcmp(action, "kill") == 0;
            points[n_points].call = strcmp(action, "call") == 0;
            n_points++;
        }
        spec = strchr(spec + used, ',');
        spec = spec ? spec + 1 : NULL;
    }
    fault_armed = n_points > 0;
}

void fault_set_call(void (*fn)(void *arg), void *arg) {
    to_call = fn;
    call_arg = arg;
}

/* The linker makes these for the section; without a point there is none. Between names there may be
 * padding. */
extern const char first_point[] __asm__("__start_tain_faults") __attribute__((weak));
extern const char end_of_points[] __asm__("__stop_tain_faults") __attribute__((weak));

const char *fault_next(const char *previous) {
    const char *p = previous ? previous + strlen(previous) : first_point;
    while (p < end_of_points && !*p)
        p++;
    return p < end_of_points ? p : NULL;
}

bool fault_hit_slow(const char *name) {
    bool hit = false;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < n_points; i++) {
        if (strcmp(points[i].name, name) != 0 || --points[i].countdown != 0)
            continue;
        if (points[i].kill)
            kill(getpid(), SIGKILL);
        if (points[i].call && to_call)
            to_call(call_arg);
        hit = !points[i].call;
    }
    pthread_mutex_unlock(&lock);
    return hit;
}
