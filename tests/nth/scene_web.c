/* The server starts whole or not at all, and leaves nothing behind. */
#include "scenarios.h"

#include "web/server.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static bool answers(int port) {
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    static const char ask[] = "GET /robots.txt HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    char said[20] = "";
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool ok = connect(fd, (struct sockaddr *)&a, sizeof a) == 0 &&
              send(fd, ask, sizeof ask - 1, MSG_NOSIGNAL) > 0 &&
              recv(fd, said, sizeof said - 1, MSG_WAITALL) > 0;
    close(fd);
    return ok && strncmp(said, "HTTP/1.1 ", 9) == 0;
}

void web_start_up(void) {
    struct err e = {0};
    struct store *s = NULL;
    struct web *w = NULL;
    char uri[300];
    snprintf(uri, sizeof uri, "sqlite:%s/t.db", nth_folder());
    const struct store_options store = {.uri = uri, .clock = &clock_machine};
    nth_check(store_open(&store, &s, &e) == V_OK, "%s", e.msg);
    store_close(s);
    const struct web_options o = {.listen = "127.0.0.1:0",
                                  .store = store,
                                  .write_store = store,
                                  .query_threads = 2,
                                  .feed_key = "0123456789abcdef0123456789abcdef",
                                  .clock = &clock_machine};
    nth_on();
    enum verdict v = web_start(&o, &w, &e);
    nth_off();
    if (!nth_judge("web_start", v, &e, w && answers(web_port(w))))
        nth_check(web_start(&o, &w, &e) == V_OK && answers(web_port(w)), "%s", e.msg);
    nth_on();
    web_stop(w);
    nth_off();
}
