/* What a process says of itself, against what it can find out otherwise. */
#include "web/process_metrics.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct metric *find(const char *name) {
    for (size_t i = 0; i < process_n_metrics; i++)
        if (strcmp(process_metrics[i]->name, name) == 0)
            return process_metrics[i];
    fail_msg("there is no %s", name);
    return NULL;
}

static int64_t now_of(const char *name) {
    process_metrics_read();
    assert_true(metric_known(find(name), 0));
    return metric_get(find(name), 0);
}

static void everything_is_known(void **state UNUSED) {
    process_metrics_read();
    for (size_t i = 0; i < process_n_metrics; i++)
        if (!metric_known(process_metrics[i], 0))
            fail_msg("%s is not known", process_metrics[i]->name);
    assert_true(now_of("process_resident_memory_bytes") > 100000);
    assert_true(now_of("process_virtual_memory_bytes") > now_of("process_resident_memory_bytes"));
    assert_int_equal(now_of("tain_build_info"), 1);
}

static void open_files_count_one_by_one(void **state UNUSED) {
    int64_t before = now_of("process_open_fds");
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(now_of("process_open_fds"), before + 1);
    close(fd);
    assert_int_equal(now_of("process_open_fds"), before);
    assert_true(now_of("process_max_fds") >= before);
}

static void *wait_for_lock(void *lock) {
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
    return NULL;
}

static void threads_count_one_by_one(void **state UNUSED) {
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    pthread_t first, second; /* a sanitizer adds a thread of its own to the first */
    assert_int_equal(pthread_create(&first, NULL, wait_for_lock, &lock), 0);
    int64_t before = now_of("process_threads");
    assert_true(before >= 2);
    assert_int_equal(pthread_create(&second, NULL, wait_for_lock, &lock), 0);
    assert_int_equal(now_of("process_threads"), before + 1);
    pthread_mutex_unlock(&lock);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
}

static void time_that_is_spent(void **state UNUSED) {
    int64_t before = now_of("process_cpu_seconds_total");
    clock_t until = clock() + CLOCKS_PER_SEC / 100;
    while (clock() < until)
        ;
    int64_t after = now_of("process_cpu_seconds_total");
    assert_in_range(after - before, 10000, 60000000); /* microseconds */
}

static void it_was_started_just_now_and_that_stays(void **state UNUSED) {
    int64_t start = now_of("process_start_time_seconds"), now = (int64_t)time(NULL) * 1000;
    assert_in_range(start, now - 600000, now + 60000);
    assert_int_equal(now_of("process_start_time_seconds"), start);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_known),
        cmocka_unit_test(open_files_count_one_by_one),
        cmocka_unit_test(threads_count_one_by_one),
        cmocka_unit_test(time_that_is_spent),
        cmocka_unit_test(it_was_started_just_now_and_that_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
