/* Names and connections of a program under test, by LD_PRELOAD: what RESOLVER_NAMES says of a name
 * is what it resolves to, "NAME=ADDRESS,ADDRESS,...;NAME=...", one address after the other at each
 * question and the last one for ever. No connection leaves this machine: at every IPv4 address that
 * is not of loopback there is what listens on port RESOLVER_PUBLIC_PORT here, by the address PUBLIC
 * as far as the program can see; without that variable, nobody. Questions and connections are noted
 * in RESOLVER_LOG, a line for each. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define NAMES_MAX 64
#define FDS_MAX 4096
#define PUBLIC "93.184.216.34"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int asked[NAMES_MAX];

static void note(const char *what, const char *whom, int port) {
    const char *path = getenv("RESOLVER_LOG");
    FILE *f = path ? fopen(path, "ae") : NULL;
    if (!f)
        return;
    fprintf(f, "%s %s %d\n", what, whom, port);
    fclose(f);
}

/* The n-th of a list that ends with ';' or with the text. */
static void pick(const char *list, int n, char *out, size_t size) {
    size_t length = strcspn(list, ",;");
    while (n-- > 0 && list[length] == ',') {
        list += length + 1;
        length = strcspn(list, ",;");
    }
    snprintf(out, size, "%.*s", (int)length, list);
}

static int find(const char *name, char *out, size_t size) {
    const char *at = getenv("RESOLVER_NAMES");
    size_t n = strlen(name);
    for (int i = 0; at && *at && i < NAMES_MAX; i++) {
        if (strncmp(at, name, n) == 0 && at[n] == '=') {
            pthread_mutex_lock(&lock);
            pick(at + n + 1, asked[i]++, out, size);
            pthread_mutex_unlock(&lock);
            return 1;
        }
        at = strchr(at, ';');
        at = at ? at + 1 : NULL;
    }
    return 0;
}

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **ret) {
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    char address[INET6_ADDRSTRLEN + 1];
    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    if (!name || !find(name, address, sizeof address))
        return real(name, service, hints, ret);
    note("name", name, 0);
    return real(address, service, hints, ret);
}

/* A descriptor is what its last connect() made of it. */
static unsigned char is_public[FDS_MAX];

static int connect_public(int fd, const struct sockaddr *to, socklen_t n) {
    int (*real)(int, const struct sockaddr *, socklen_t);
    const char *port = getenv("RESOLVER_PUBLIC_PORT");
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    *(void **)&real = dlsym(RTLD_NEXT, "connect");
    if (fd < FDS_MAX)
        is_public[fd] = 0;
    if (port && fd < FDS_MAX && to->sa_family == AF_INET) {
        in.sin_port = htons((unsigned short)atoi(port));
        is_public[fd] = 1;
        return real(fd, (const struct sockaddr *)&in, sizeof in);
    }
    (void)n;
    errno = ECONNREFUSED;
    return -1;
}

int getpeername(int fd, struct sockaddr *restrict to, socklen_t *restrict n) {
    int (*real)(int, struct sockaddr *, socklen_t *);
    *(void **)&real = dlsym(RTLD_NEXT, "getpeername");
    int failed = real(fd, to, n);
    if (!failed && fd < FDS_MAX && is_public[fd])
        inet_pton(AF_INET, PUBLIC, &((struct sockaddr_in *)(void *)to)->sin_addr);
    return failed;
}

int connect(int fd, const struct sockaddr *to, socklen_t n) {
    int (*real)(int, const struct sockaddr *, socklen_t);
    char text[INET6_ADDRSTRLEN] = "";
    const struct sockaddr_in *in = (const void *)to;
    const struct sockaddr_in6 *in6 = (const void *)to;
    *(void **)&real = dlsym(RTLD_NEXT, "connect");
    if (to->sa_family == AF_INET)
        inet_ntop(AF_INET, &in->sin_addr, text, sizeof text);
    else if (to->sa_family == AF_INET6)
        inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof text);
    if (text[0])
        note("connect", text, ntohs(in->sin_port));
    if (text[0] && strncmp(text, "127.", 4) != 0 && strcmp(text, "::1") != 0)
        return connect_public(fd, to, n);
    if (fd < FDS_MAX)
        is_public[fd] = 0;
    return real(fd, to, n);
}
