/* Threads, the stop token, and which identities name a process that is gone. */
#include "base/thread.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool readable(int fd) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

static void the_stop_token_stays_raised(void **state UNUSED) {
    struct stop_token s;
    struct err e;
    assert_int_equal(stop_init(&s, &e), V_OK);
    assert_false(stop_raised(&s));
    assert_false(readable(s.fd));
    for (int i = 0; i < 3; i++) {
        stop_raise(&s);
        assert_true(stop_raised(&s));
        assert_true(readable(s.fd));
    }
    stop_release(&s);
    assert_int_equal(s.fd, -1);
    stop_release(&s);
}

struct seen {
    char name[16];
    bool blocked;
};

static void *look_around(void *arg) {
    struct seen *seen = arg;
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    seen->blocked = sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGINT) == 1;
    return arg;
}

static void a_thread_sees_no_signals(void **state UNUSED) {
    struct seen seen = {0};
    struct err e;
    pthread_t t;
    void *result;
    assert_int_equal(thread_start(&t, "looker", look_around, &seen, &e), V_OK);
    assert_int_equal(pthread_join(t, &result), 0);
    assert_ptr_equal(result, &seen);
    assert_true(seen.blocked);
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    assert_int_equal(sigismember(&mask, SIGTERM), 0); /* the starter's mask is as before */
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *read_own_name(void *arg) {
    struct seen *seen = arg;
    pthread_mutex_lock(&gate);
    pthread_getname_np(pthread_self(), seen->name, sizeof seen->name);
    pthread_mutex_unlock(&gate);
    return NULL;
}

static void a_thread_has_its_name(void **state UNUSED) {
    static const struct {
        const char *given, *want;
    } cases[] = {{"fetch", "fetch"}, {"a-name-that-is-too-long", "a-name-that-is-"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct seen seen = {0};
        struct err e;
        pthread_t t;
        pthread_mutex_lock(&gate);
        assert_int_equal(thread_start(&t, cases[i].given, read_own_name, &seen, &e), V_OK);
        pthread_mutex_unlock(&gate);
        pthread_join(t, NULL);
        assert_string_equal(seen.name, cases[i].want);
    }
}

/* The identity of a child that waits for its end of the pipe to close. */
static pid_t child_identity(char *out, size_t size, int *ret_leash) {
    int up[2], leash[2];
    assert_int_equal(pipe(up), 0);
    assert_int_equal(pipe(leash), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char mine[256] = "", byte;
        close(leash[1]);
        process_identity(mine, sizeof mine);
        if (write(up[1], mine, sizeof mine) != sizeof mine)
            _exit(1);
        _exit(read(leash[0], &byte, 1) == 0 ? 0 : 2);
    }
    close(up[1]);
    close(leash[0]);
    char theirs[256];
    assert_int_equal(read(up[0], theirs, sizeof theirs), sizeof theirs);
    close(up[0]);
    snprintf(out, size, "%s", theirs);
    *ret_leash = leash[1];
    return pid;
}

static void an_identity_has_its_parts(void **state UNUSED) {
    char mine[256], again[256];
    process_identity(mine, sizeof mine);
    process_identity(again, sizeof again);
    assert_string_equal(mine, again);
    int colons = 0;
    for (const char *p = mine; (p = strchr(p, ':')) != NULL; p++)
        colons++;
    assert_int_equal(colons, 4);
    char pid[32];
    snprintf(pid, sizeof pid, ":%ld:", (long)getpid());
    assert_non_null(strstr(mine, pid));
}

static void the_living_are_not_dead(void **state UNUSED) {
    char mine[256], theirs[256];
    process_identity(mine, sizeof mine);
    assert_false(process_identity_is_dead(mine));
    int leash;
    pid_t pid = child_identity(theirs, sizeof theirs, &leash);
    assert_string_not_equal(mine, theirs);
    assert_false(process_identity_is_dead(theirs));
    close(leash);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(process_identity_is_dead(theirs)); /* and now it is gone */
    assert_false(process_identity_is_dead(mine));
}

static void a_reused_pid_is_another_process(void **state UNUSED) {
    char mine[256], host[64], rest[96], older[300];
    long pid;
    unsigned long long started;
    process_identity(mine, sizeof mine);
    assert_int_equal(sscanf(mine, "%63[^:]:%ld:%llu:%95s", host, &pid, &started, rest), 4);
    snprintf(older, sizeof older, "%s:%ld:%llu:%s", host, pid, started - 1, rest);
    assert_true(process_identity_is_dead(older));
    snprintf(older, sizeof older, "%s:%ld:0:%s", host, pid, rest); /* start not known */
    assert_false(process_identity_is_dead(older));
}

static void what_cannot_be_judged_is_not_dead(void **state UNUSED) {
    char theirs[256], wrong[2048], part[5][64];
    int leash, status;
    pid_t pid = child_identity(theirs, sizeof theirs, &leash);
    close(leash);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(sscanf(theirs, "%63[^:]:%63[^:]:%63[^:]:%63[^:]:%63s", part[0], part[1],
                            part[2], part[3], part[4]),
                     5);
    assert_true(process_identity_is_dead(theirs));
    static const struct {
        int part; /* host, pid, start, boot, namespace */
        const char *instead;
    } cases[] = {
        {0, "elsewhere"}, {0, ""}, {1, "-5"}, {1, "0"}, {1, "99999999999"}, {1, "x"},
        {3, "00000000"},  {3, ""}, {4, "1"},  {4, ""},  {2, "x"},           {4, "1 junk"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *p[5];
        for (int k = 0; k < 5; k++)
            p[k] = k == cases[i].part ? cases[i].instead : part[k];
        snprintf(wrong, sizeof wrong, "%s:%s:%s:%s:%s", p[0], p[1], p[2], p[3], p[4]);
        if (process_identity_is_dead(wrong))
            fail_msg("%s", wrong);
    }
    snprintf(wrong, sizeof wrong, "%s junk", theirs);
    assert_false(process_identity_is_dead(wrong));
    static const char *const garbage[] = {"", ":", "::::", "garbage", "a:b:c:d:e", "host:1:2:x:3"};
    for (size_t i = 0; i < ARRAY_LEN(garbage); i++)
        assert_false(process_identity_is_dead(garbage[i]));
}

static void a_shortened_identity_is_not_dead(void **state UNUSED) {
    char theirs[256];
    int leash, status;
    pid_t pid = child_identity(theirs, sizeof theirs, &leash);
    close(leash);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(process_identity_is_dead(theirs));
    for (size_t n = strlen(theirs) - 1; n > 0; n--) {
        theirs[n] = '\0';
        assert_false(process_identity_is_dead(theirs));
    }
}

/* Without a free descriptor nothing can be read about others: they must not look dead. */
static void no_free_descriptor_kills_nobody(void **state UNUSED) {
    char theirs[256];
    int leash;
    pid_t pid = child_identity(theirs, sizeof theirs, &leash);
    struct rlimit old, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    none = (struct rlimit){0, old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    bool dead = process_identity_is_dead(theirs);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_false(dead);
    close(leash);
    waitpid(pid, NULL, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_stop_token_stays_raised),
        cmocka_unit_test(a_thread_sees_no_signals),
        cmocka_unit_test(a_thread_has_its_name),
        cmocka_unit_test(an_identity_has_its_parts),
        cmocka_unit_test(the_living_are_not_dead),
        cmocka_unit_test(a_reused_pid_is_another_process),
        cmocka_unit_test(what_cannot_be_judged_is_not_dead),
        cmocka_unit_test(a_shortened_identity_is_not_dead),
        cmocka_unit_test(no_free_descriptor_kills_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
