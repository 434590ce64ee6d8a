/* One long-lived GET: what counts as a stream, how it ends, redirects, holding, waiting. */
#include "net/stream.h"
#include "peer.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define ROUNDS 400 /* of a step, which with a manual clock takes 50 ms at the most */

extern char **environ;

struct rig {
    struct clock clock;
    struct peer peer;
    struct stream_client *c;
    struct strbuf got;
};

static struct stream_options options(const struct clock *clock) {
    return (struct stream_options){.clock = clock,
                                   .user_agent = "tain-test",
                                   .connect_timeout_ms = 120000,
                                   .max_redirects = 3};
}

static void rig_open(struct rig *r) {
    struct err e;
    clock_manual_init(&r->clock, 1000, INT64_C(1700000000000));
    peer_open(&r->peer);
    strbuf_init(&r->got, (size_t)64 << 20);
    struct stream_options o = options(&r->clock);
    assert_int_equal(stream_new(&o, &r->c, &e), V_OK);
}

static void rig_close(struct rig *r) {
    stream_free(r->c);
    strbuf_release(&r->got);
    peer_close(&r->peer);
}

static void on_bytes(void *ctx, struct str bytes) {
    struct rig *r = ctx;
    strbuf_add_str(&r->got, bytes);
}

static enum stream_phase step(struct rig *r, bool hold) {
    return stream_step(r->c, NO_DEADLINE, hold, on_bytes, r);
}

static enum stream_phase look(struct rig *r, bool hold) {
    return stream_step(r->c, clock_mono(&r->clock), hold, on_bytes, r);
}

static void ask_at(struct rig *r, const char *root, const char *path) {
    char url[300];
    struct err e;
    snprintf(url, sizeof url, "%s%s", root, path);
    assert_int_equal(stream_open(r->c, url, &e), V_OK);
}

static void ask(struct rig *r, const char *path) {
    ask_at(r, r->peer.root, path);
}

/* Steps until the peer has the request. */
static void until_called(struct rig *r, struct peer *p) {
    for (int i = 0; i < ROUNDS && !peer_called(p); i++)
        stream_step(r->c, clock_mono(&r->clock) + 1, false, on_bytes, r);
    assert_true(peer_called(p));
}

static void until_phase(struct rig *r, bool hold, enum stream_phase wanted) {
    enum stream_phase is = look(r, hold);
    for (int i = 0; i < ROUNDS && is != wanted; i++)
        is = step(r, hold);
    if (is != wanted)
        fail_msg("phase %d, not %d: %s", is, wanted, stream_end(r->c)->detail);
}

static void until_got(struct rig *r, const char *wanted) {
    for (int i = 0; i < ROUNDS && r->got.n < strlen(wanted); i++)
        step(r, false);
    assert_string_equal(r->got.p ? r->got.p : "", wanted);
}

static void open_stream(struct rig *r) {
    ask(r, "/updates.json");
    until_called(r, &r->peer);
    peer_say(&r->peer, PEER_HEAD);
    until_phase(r, false, STREAM_OPEN);
}

static void bytes_as_they_come(void **state UNUSED) {
    struct rig r;
    rig_open(&r);
    ask(&r, "/v0/updates.json");
    assert_int_equal(look(&r, false), STREAM_OPENING);
    until_called(&r, &r.peer);
    assert_non_null(strstr(r.peer.request, "GET /v0/updates.json HTTP/1.1\r\n"));
    assert_non_null(strstr(r.peer.request, "Accept: text/event-stream\r\n"));
    assert_non_null(strstr(r.peer.request, "User-Agent: tain-test\r\n"));
    assert_null(strstr(r.peer.request, "Accept-Encoding"));
    peer_say(&r.peer, PEER_HEAD);
    until_phase(&r, false, STREAM_OPEN);
    assert_int_equal(r.got.n, 0);
    peer_say(&r.peer, "event: pu");
    until_got(&r, "event: pu");
    peer_say(&r.peer, "t\n\n");
    until_got(&r, "event: put\n\n");
    peer_hang_up(&r.peer);
    until_phase(&r, false, STREAM_ENDED);
    assert_int_equal(stream_end(r.c)->cls, NET_OK);
    assert_int_equal(stream_end(r.c)->status, 200);
    assert_int_equal(look(&r, false), STREAM_ENDED);
    stream_close(r.c);
    assert_int_equal(look(&r, false), STREAM_CLOSED);
    rig_close(&r);
}

#define CHUNKED \
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

static const struct {
    const char *says;
    bool closes;
    enum net_class cls;
    long status;
    int64_t retry_after_ms;
    const char *detail, *body;
} ends[] = {
    {CHUNKED "3\r\n:ab\r\n0\r\n\r\n", false, NET_OK, 200, -1, "the server closed", ":ab"},
    {CHUNKED "3\r\n:ab\r\n", true, NET_TRUNCATED, 200, -1, "truncated: ", ":ab"},
    {CHUNKED "zz\r\n:ab\r\n", true, NET_RESET, 200, -1, "reset: ", ""},
    {"HTTP/1.1 100 Continue\r\n\r\n" PEER_HEAD ":x", true, NET_OK, 200, -1, "the server", ":x"},
    /* these are given up at the end of the head, though the connection stays */
    {"HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 9\r\n\r\n", false, NET_HTTP_5XX, 503,
     7000, "HTTP 503 Service Unavailable", ""},
    {"HTTP/1.1 429 Slow\r\nContent-Type: text/event-stream\r\n\r\n:no", false, NET_HTTP_429, 429,
     -1, "HTTP 429 Too Many Requests", ""},
    {"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n", false, NET_HTTP_401, 401, -1, "HTTP 401", ""},
    {"HTTP/1.1 204 No\r\nContent-Type: text/event-stream\r\n\r\n", false, NET_HTTP_OTHER, 204, -1,
     "HTTP 204 No Content", ""},
    {"HTTP/1.1 307 Off\r\nContent-Length: 0\r\n\r\n", false, NET_HTTP_OTHER, 307, -1,
     "HTTP 307 Temporary Redirect", ""},
    {"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{", false, NET_HTTP_OTHER, 200, -1,
     "HTTP 200 with application/json, not text/event-stream", ""},
    {"HTTP/1.1 200 OK\r\nContent-Type: text/event-streams\r\n\r\n", false, NET_HTTP_OTHER, 200, -1,
     "HTTP 200 with text/event-streams", ""},
    {"HTTP/1.1 200 OK\r\nContent-Type: \001\377odd\r\n\r\n", false, NET_HTTP_OTHER, 200, -1,
     "HTTP 200 with ??odd", ""},
    {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", false, NET_HTTP_OTHER, 200, -1,
     "HTTP 200 with no content type", ""},
    {"this is not HTTP at all\n\n", true, NET_PROTOCOL, 0, -1, "protocol: ", ""},
    {"", true, NET_RESET, 0, -1, "reset: ", ""},
};

static void every_end_has_a_class_and_a_detail(void **state UNUSED) {
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        struct rig r;
        rig_open(&r);
        ask(&r, "/");
        until_called(&r, &r.peer);
        peer_say(&r.peer, "%s", ends[i].says);
        if (ends[i].closes)
            peer_hang_up(&r.peer);
        until_phase(&r, false, STREAM_ENDED);
        const struct stream_end *end = stream_end(r.c);
        if (end->cls != ends[i].cls || !str_starts(str_of(end->detail), ends[i].detail))
            fail_msg("row %zu: %s, %s", i, net_class_name(end->cls), end->detail);
        assert_int_equal(end->status, ends[i].status);
        assert_int_equal(end->retry_after_ms, ends[i].retry_after_ms);
        assert_string_equal(r.got.p ? r.got.p : "", ends[i].body);
        rig_close(&r);
    }
}

static void a_reset_and_nobody_there(void **state UNUSED) {
    struct rig r;
    rig_open(&r);
    open_stream(&r);
    peer_reset(&r.peer);
    until_phase(&r, false, STREAM_ENDED);
    assert_int_equal(stream_end(r.c)->cls, NET_RESET);
    close(r.peer.listen_fd);
    ask(&r, "/");
    until_phase(&r, false, STREAM_ENDED);
    assert_int_equal(stream_end(r.c)->cls, NET_CONNECT);
    assert_int_equal(stream_end(r.c)->status, 0);
    peer_open(&r.peer);
    open_stream(&r); /* and it can be opened again */
    rig_close(&r);
}

static void content_types_that_are_streams(void **state UNUSED) {
    static const char *const types[] = {"text/event-stream", "Text/Event-Stream",
                                        "text/event-stream; charset=utf-8",
                                        "text/event-stream ;charset=utf-8"};
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        struct rig r;
        rig_open(&r);
        ask(&r, "/");
        until_called(&r, &r.peer);
        peer_say(&r.peer, "HTTP/1.1 200 OK\r\ncontent-type: %s\r\n\r\n", types[i]);
        until_phase(&r, false, STREAM_OPEN);
        rig_close(&r);
    }
}

static void redirects_to_wherever_the_balancer_says(void **state UNUSED) {
    static const int statuses[] = {301, 302, 303, 307, 308};
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
        struct rig r;
        struct peer other;
        rig_open(&r);
        peer_open(&other);
        ask(&r, "/v0/updates.json");
        until_called(&r, &r.peer);
        /* the body never ends, and is nobody's business */
        peer_say(&r.peer, "HTTP/1.1 %d Off\r\nLocation: /here?ns=1\r\n\r\n:not this", statuses[i]);
        peer_hang_up(&r.peer);
        until_called(&r, &r.peer);
        assert_non_null(strstr(r.peer.request, "GET /here?ns=1 HTTP/1.1\r\n"));
        peer_say(&r.peer, "HTTP/1.1 %d Off\r\nLocation: %s/there\r\n\r\n", statuses[i], other.root);
        until_called(&r, &other);
        assert_non_null(strstr(other.request, "GET /there HTTP/1.1\r\n"));
        assert_non_null(strstr(other.request, "Accept: text/event-stream\r\n"));
        assert_true(peer_left(&r.peer));
        peer_say(&other, PEER_HEAD ":yes");
        until_got(&r, ":yes");
        peer_close(&other);
        rig_close(&r);
    }
}

static void redirects_have_limits(void **state UNUSED) {
    static const struct {
        const char *location, *detail;
        int hops;
    } rows[] = {
        {"/again", "more than 3 redirects, the last to http://127.0.0.1", 4},
        {"file:///etc/passwd", "redirect to file:///etc/passwd: only http://", 1},
        {"gopher://old.invalid/", "redirect to gopher://old.invalid/: only http://", 1},
        {"http://", "redirect to something that is not a URL", 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rig r;
        rig_open(&r);
        ask(&r, "/");
        for (int hop = 0; hop < rows[i].hops; hop++) {
            until_called(&r, &r.peer);
            peer_say(&r.peer, "HTTP/1.1 307 Off\r\nLocation: %s\r\n\r\n", rows[i].location);
            peer_hang_up(&r.peer);
        }
        until_phase(&r, false, STREAM_ENDED);
        assert_int_equal(stream_end(r.c)->cls, NET_REDIRECT);
        if (!str_starts(str_of(stream_end(r.c)->detail), rows[i].detail))
            fail_msg("%s", stream_end(r.c)->detail);
        rig_close(&r);
    }
}

/* Opened under hold: the head is read, and not a byte of the body is given out until it is let go,
 * though libcurl has some already. */
static void a_held_stream_opens_and_says_nothing(void **state UNUSED) {
    static const char *const heads[] = {PEER_HEAD ":one\n", CHUNKED "5\r\n:one\n\r\n"};
    static const char *const mores[] = {":two\n", "5\r\n:two\n\r\n"};
    for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
        struct rig r;
        rig_open(&r);
        ask(&r, "/");
        until_called(&r, &r.peer);
        peer_say(&r.peer, "%s", heads[i]);
        until_phase(&r, true, STREAM_OPEN);
        peer_say(&r.peer, "%s", mores[i]);
        peer_hang_up(&r.peer); /* its end is seen when reading goes on */
        for (int k = 0; k < 20; k++)
            assert_int_equal(look(&r, true), STREAM_OPEN);
        assert_int_equal(r.got.n, 0);
        until_phase(&r, false, STREAM_ENDED);
        assert_string_equal(r.got.p, ":one\n:two\n");
        rig_close(&r);
    }
}

static void holding_back_is_felt_by_the_sender(void **state UNUSED) {
    struct rig r;
    rig_open(&r);
    open_stream(&r);
    size_t sent = peer_pour(&r.peer, 100);
    for (int i = 0; i < ROUNDS && r.got.n < sent; i++)
        step(&r, false);
    size_t before = r.got.n, most = (size_t)60 << 20, more = 1;
    for (int i = 0; i < 100 && more; i++)
        sent += more = peer_pour(&r.peer, most - sent);
    assert_true(sent < most); /* the kernel took what it could */
    for (int i = 0; i < 100; i++)
        assert_int_equal(look(&r, true), STREAM_OPEN);
    assert_int_equal(r.got.n, before);
    more = peer_pour(&r.peer, most - sent); /* nobody has made room */
    assert_true(more < 65536);
    sent += more;
    for (int i = 0; i < 20000 && r.got.n < sent; i++)
        look(&r, false);
    assert_int_equal(r.got.n, sent);
    assert_false(r.got.overflow);
    rig_close(&r);
}

static void opening_again_drops_what_was_under_way(void **state UNUSED) {
    struct rig r;
    rig_open(&r);
    open_stream(&r);
    assert_false(peer_left(&r.peer));
    ask(&r, "/second");
    assert_true(peer_left(&r.peer));
    until_called(&r, &r.peer);
    assert_non_null(strstr(r.peer.request, "GET /second "));
    stream_close(r.c);
    assert_true(peer_left(&r.peer));
    rig_close(&r);
}

static void what_is_not_a_url(void **state UNUSED) {
    static const char *const urls[] = {"", "nonsense", "file:///etc/passwd", "http://",
                                       "http://a b/"};
    struct rig r;
    rig_open(&r);
    for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
        struct err e;
        assert_int_equal(stream_open(r.c, urls[i], &e), V_INVALID);
        assert_int_equal(look(&r, false), STREAM_CLOSED);
    }
    struct stream_client *none = NULL;
    struct err e;
    struct stream_options o = options(&r.clock);
    o.ca_file = "/nowhere/ca.pem";
    assert_int_equal(stream_new(&o, &none, &e), V_INVALID);
    o = options(NULL);
    assert_int_equal(stream_new(&o, &none, &e), V_INVALID);
    assert_null(none);
    stream_free(NULL);
    rig_close(&r);
}

static void *wake_it(void *client) {
    stream_wakeup(client);
    return NULL;
}

static void a_wakeup_ends_a_step(void **state UNUSED) {
    struct rig r;
    rig_open(&r);
    struct stream_client *real = NULL;
    struct err e;
    struct stream_options o = options(&clock_machine);
    assert_int_equal(stream_new(&o, &real, &e), V_OK);
    pthread_t thread;
    /* before the step or within it; nothing under way, opening, held open: all of them wait */
    assert_int_equal(pthread_create(&thread, NULL, wake_it, real), 0);
    assert_int_equal(stream_step(real, NO_DEADLINE, false, on_bytes, &r), STREAM_CLOSED);
    pthread_join(thread, NULL);
    char url[60];
    snprintf(url, sizeof url, "%s/", r.peer.root);
    assert_int_equal(stream_open(real, url, &e), V_OK);
    assert_int_equal(pthread_create(&thread, NULL, wake_it, real), 0);
    assert_int_equal(stream_step(real, NO_DEADLINE, false, on_bytes, &r), STREAM_OPENING);
    pthread_join(thread, NULL);
    for (int i = 0; i < ROUNDS && !peer_called(&r.peer); i++)
        stream_step(real, clock_mono(&clock_machine) + 1, true, on_bytes, &r);
    peer_say(&r.peer, PEER_HEAD ":x");
    assert_int_equal(stream_step(real, NO_DEADLINE, true, on_bytes, &r), STREAM_OPEN);
    stream_wakeup(real);
    stream_wakeup(real);
    assert_int_equal(stream_step(real, NO_DEADLINE, true, on_bytes, &r), STREAM_OPEN);
    /* both were one: this one waits for its deadline */
    int64_t until = clock_mono(&clock_machine) + 20;
    assert_int_equal(stream_step(real, until, true, on_bytes, &r), STREAM_OPEN);
    assert_true(clock_mono(&clock_machine) >= until);
    stream_free(real);
    rig_close(&r);
}

static void a_manual_clock_waits_little(void **state UNUSED) {
    struct rig r;
    rig_open(&r);
    int64_t before = clock_mono(&clock_machine);
    assert_int_equal(step(&r, false), STREAM_CLOSED);
    open_stream(&r);
    assert_int_equal(step(&r, false), STREAM_OPEN);
    assert_int_equal(step(&r, true), STREAM_OPEN);
    assert_true(clock_mono(&clock_machine) - before < 120000);
    rig_close(&r);
}

/* openssl as a server that sends what stands in its standard input to whoever comes. */
struct tls_peer {
    pid_t pid;
    int in; /* stays open: at its end the server would leave */
    FILE *out;
    char dir[40], cert[60], key[60], root[40];
};

static bool run(char **argv, int in, int out, pid_t *ret_pid) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    if (in >= 0)
        posix_spawn_file_actions_adddup2(&actions, in, 0);
    if (out >= 0)
        posix_spawn_file_actions_adddup2(&actions, out, 1);
    bool ran = posix_spawnp(ret_pid, argv[0], &actions, NULL, argv, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    return ran;
}

static bool make_certificate(struct tls_peer *t) {
    int status = -1;
    snprintf(t->cert, sizeof t->cert, "%s/cert.pem", t->dir);
    snprintf(t->key, sizeof t->key, "%s/key.pem", t->dir);
    char *argv[] = {"openssl",
                    "req",
                    "-x509",
                    "-newkey",
                    "ec",
                    "-pkeyopt",
                    "ec_paramgen_curve:prime256v1",
                    "-nodes",
                    "-keyout",
                    t->key,
                    "-out",
                    t->cert,
                    "-days",
                    "2",
                    "-subj",
                    "/CN=localhost",
                    "-addext",
                    "subjectAltName=IP:127.0.0.1",
                    NULL};
    return run(argv, -1, -1, &t->pid) && waitpid(t->pid, &status, 0) == t->pid && status == 0;
}

/* It says ACCEPT once it listens, so nothing here has to guess how long that takes. */
static bool tls_start(struct tls_peer *t, const char *says) {
    int in[2], out[2];
    struct peer unused;
    char address[24], line[200] = "";
    *t = (struct tls_peer){.dir = "/tmp/tain-test-stream-XXXXXX"};
    assert_non_null(mkdtemp(t->dir));
    if (!make_certificate(t))
        return false;
    peer_open(&unused);
    snprintf(t->root, sizeof t->root, "https://127.0.0.1:%d", unused.port);
    snprintf(address, sizeof address, "127.0.0.1:%d", unused.port);
    peer_close(&unused);
    char *argv[] = {"openssl", "s_server", "-accept", address, "-cert",
                    t->cert,   "-key",     t->key,    NULL};
    assert_int_equal(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(write(in[1], says, strlen(says)), strlen(says));
    bool ran = run(argv, in[0], out[1], &t->pid);
    close(in[0]);
    close(out[1]);
    t->in = in[1];
    t->out = fdopen(out[0], "r");
    while (ran && !strstr(line, "ACCEPT") && fgets(line, sizeof line, t->out))
        ;
    return ran;
}

static void tls_stop(struct tls_peer *t) {
    if (t->out) {
        kill(t->pid, SIGKILL);
        waitpid(t->pid, NULL, 0);
        fclose(t->out);
        close(t->in);
    }
    unlink(t->cert);
    unlink(t->key);
    rmdir(t->dir);
}

static void never_from_https_to_http(void **state UNUSED) {
    struct rig r;
    struct tls_peer t;
    char says[200];
    rig_open(&r);
    snprintf(says, sizeof says, "HTTP/1.1 307 Off\r\nLocation: %s/plain\r\n\r\n", r.peer.root);
    if (tls_start(&t, says)) {
        struct stream_options o = options(&r.clock);
        struct err e;
        o.ca_file = t.cert;
        stream_free(r.c);
        assert_int_equal(stream_new(&o, &r.c, &e), V_OK);
        ask_at(&r, t.root, "/");
        until_phase(&r, false, STREAM_ENDED);
        if (!str_starts(str_of(stream_end(r.c)->detail), "redirect from https to http://127."))
            fail_msg("%s", stream_end(r.c)->detail);
        assert_int_equal(stream_end(r.c)->cls, NET_REDIRECT);
        assert_false(peer_called(&r.peer));
    } else {
        print_message("no openssl: skipped\n");
    }
    tls_stop(&t);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_as_they_come),
        cmocka_unit_test(every_end_has_a_class_and_a_detail),
        cmocka_unit_test(a_reset_and_nobody_there),
        cmocka_unit_test(content_types_that_are_streams),
        cmocka_unit_test(redirects_to_wherever_the_balancer_says),
        cmocka_unit_test(redirects_have_limits),
        cmocka_unit_test(a_held_stream_opens_and_says_nothing),
        cmocka_unit_test(holding_back_is_felt_by_the_sender),
        cmocka_unit_test(opening_again_drops_what_was_under_way),
        cmocka_unit_test(what_is_not_a_url),
        cmocka_unit_test(a_wakeup_ends_a_step),
        cmocka_unit_test(a_manual_clock_waits_little),
        cmocka_unit_test(never_from_https_to_http),
    };
    return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}
