/* HTTP/2 over TLS against nghttpd, with a certificate made for the occasion. Skipped where nghttpd
 * or openssl is missing. */
#include "fetch.h"
#include "server.h"

#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define FILES 500

extern char **environ;

static struct {
    bool up;
    pid_t pid;
    char dir[40], cert[80], key[80], root[40];
} peer;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static void make_files(void) {
    char path[120];
    for (int i = 0; i < FILES; i++) {
        snprintf(path, sizeof path, "%s/%d", peer.dir, i);
        FILE *f = fopen(path, "w");
        fprintf(f, "%d", i);
        fclose(f);
    }
}

static bool make_certificate(void) {
    char *argv[] = {"openssl",
                    "req",
                    "-x509",
                    "-newkey",
                    "ec",
                    "-pkeyopt",
                    "ec_paramgen_curve:prime256v1",
                    "-nodes",
                    "-keyout",
                    peer.key,
                    "-out",
                    peer.cert,
                    "-days",
                    "2",
                    "-subj",
                    "/CN=localhost",
                    "-addext",
                    "subjectAltName=IP:127.0.0.1",
                    NULL};
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0);
    pid_t pid;
    int status = -1;
    bool ran = posix_spawnp(&pid, "openssl", &quiet, NULL, argv, environ) == 0 &&
               waitpid(pid, &status, 0) == pid;
    posix_spawn_file_actions_destroy(&quiet);
    return ran && status == 0;
}

/* It says "listen" once it does, so nothing here has to guess how long that takes. */
static bool start_nghttpd(void) {
    char port[12];
    int out[2];
    snprintf(port, sizeof port, "%d", server_free_port());
    snprintf(peer.root, sizeof peer.root, "https://127.0.0.1:%s", port);
    char *argv[] = {"nghttpd", "-v", "-a",     "127.0.0.1", "-d",
                    peer.dir,  port, peer.key, peer.cert,   NULL};
    if (pipe(out) != 0)
        return false;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    posix_spawn_file_actions_addclose(&actions, out[0]);
    posix_spawn_file_actions_addclose(&actions, out[1]);
    bool ran = posix_spawnp(&peer.pid, "nghttpd", &actions, NULL, argv, environ) == 0 ||
               posix_spawn(&peer.pid, "/usr/sbin/nghttpd", &actions, NULL, argv, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    char line[200] = "";
    FILE *f = fdopen(out[0], "r");
    while (ran && !strstr(line, "listen"))
        if (!fgets(line, sizeof line, f))
            break;
    peer.up = ran && strstr(line, "listen");
    fclose(f); /* it goes on talking, and must not mind that nobody listens */
    return peer.up;
}

static int start(void **state) {
    (void)state;
    strcpy(peer.dir, "/tmp/tain-test-http2-XXXXXX");
    if (!mkdtemp(peer.dir))
        return 1;
    snprintf(peer.cert, sizeof peer.cert, "%s/cert.pem", peer.dir);
    snprintf(peer.key, sizeof peer.key, "%s/key.pem", peer.dir);
    make_files();
    if (!make_certificate() || !start_nghttpd())
        print_message("no nghttpd or no openssl: skipped\n");
    return 0;
}

static int stop(void **state) {
    (void)state;
    if (peer.pid > 0) {
        kill(peer.pid, SIGKILL);
        waitpid(peer.pid, NULL, 0);
    }
    return nftw(peer.dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

struct crowd {
    struct http_client *c;
    intptr_t next;
    int done, right;
    bool seen[FILES];
};

static void submit_next(struct crowd *w) {
    char url[100];
    struct err e;
    snprintf(url, sizeof url, "%s/%d", peer.root, (int)w->next);
    assert_int_equal(http_submit(w->c, url, (void *)w->next, &e), V_OK);
    w->next++;
}

static void on_done(void *ctx, const struct http_result *r) {
    struct crowd *w = ctx;
    intptr_t i = (intptr_t)r->tag;
    char want[20];
    snprintf(want, sizeof want, "%d", (int)i);
    w->done++;
    if (r->cls == NET_OK && str_eqc(r->body, want) && !w->seen[i])
        w->right++;
    else
        print_error("%d: %s\n", (int)i, r->detail);
    w->seen[i] = true;
    if (w->next < FILES)
        submit_next(w);
}

static void test_many_streams_over_few_connections(void **state) {
    (void)state;
    if (!peer.up)
        skip();
    struct http_options o = fetch_options(&clock_machine);
    o.max_connections = 256;
    o.ca_file = peer.cert;
    struct crowd w = {.c = fetch_client(&o)};
    while (w.next < 200)
        submit_next(&w);
    for (int steps = 0; http_inflight(w.c) > 0 && steps < 5000; steps++)
        http_step(w.c, clock_mono(&clock_machine) + 5000, on_done, &w);
    assert_int_equal(w.done, FILES);
    assert_int_equal(w.right, FILES);
    struct http_counters k = http_counters(w.c);
    assert_int_equal(k.requests, FILES);
    assert_int_equal(k.http2, FILES);
    assert_in_range(k.connections, 1, 8);
    http_free(w.c);
}

static void test_an_unknown_certificate_is_refused(void **state) {
    (void)state;
    if (!peer.up)
        skip();
    struct http_options o = fetch_options(&clock_machine);
    struct http_client *c = fetch_client(&o);
    struct got g = fetch(c, peer.root, "/1");
    assert_int_equal(g.cls, NET_TLS);
    assert_non_null(strstr(g.detail, "tls: "));
    http_free(c);
}

/* Sound, and of somebody we trust, but for another name. */
static void test_the_certificate_of_another_is_refused(void **state) {
    (void)state;
    if (!peer.up)
        skip();
    char other[sizeof peer.root];
    snprintf(other, sizeof other, "https://localhost%s", strrchr(peer.root, ':'));
    struct http_options o = fetch_options(&clock_machine);
    o.ca_file = peer.cert;
    struct http_client *c = fetch_client(&o);
    assert_int_equal(fetch(c, peer.root, "/1").cls, NET_OK);
    assert_int_equal(fetch(c, other, "/1").cls, NET_TLS);
    http_free(c);
}

static void test_size_limit_and_status(void **state) {
    (void)state;
    if (!peer.up)
        skip();
    struct http_options o = fetch_options(&clock_machine);
    o.ca_file = peer.cert;
    o.max_body = 2;
    struct http_client *c = fetch_client(&o);
    assert_int_equal(fetch(c, peer.root, "/123").cls, NET_TOO_LARGE);
    assert_int_equal(fetch(c, peer.root, "/12").cls, NET_OK);
    o.max_body = 10000;
    struct http_client *roomy = fetch_client(&o);
    struct got g = fetch(roomy, peer.root, "/no-such-file");
    assert_int_equal(g.cls, NET_HTTP_404);
    assert_string_equal(g.detail, "HTTP 404 Not Found");
    http_free(c);
    http_free(roomy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_streams_over_few_connections),
        cmocka_unit_test(test_an_unknown_certificate_is_refused),
        cmocka_unit_test(test_the_certificate_of_another_is_refused),
        cmocka_unit_test(test_size_limit_and_status),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
