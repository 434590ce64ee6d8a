#include "fixture_copy.h"

#include "fixture_raw.h"
#include "store/partitions.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_MODELS 4

static const char *server_uri(void) {
    const char *uri = getenv("TAIN_TEST_PG");
    return uri ? uri : "";
}

/* On the server, in whose own database nothing is made. */
PRINTF_LIKE(1, 2)
static void on_server(const char *fmt, ...) {
    static struct raw *server; /* stays open to the end */
    char sql[300];
    va_list ap;
    if (!server)
        server = raw_open(DB_POSTGRES, server_uri(), "pg_catalog");
    va_start(ap, fmt);
    vsnprintf(sql, sizeof sql, fmt, ap);
    va_end(ap);
    if (!raw_run(server, sql, NULL))
        fail_msg("%s: %s", sql, raw_error(server));
}

/* Its name instead of the last part of the address. */
static void be_in(struct fix *f, const char *database) {
    const char *uri = server_uri(), *end = strrchr(uri, '/');
    snprintf(f->uri, sizeof f->uri, "%.*s/%s", (int)(end ? end - uri : 0), uri, database);
    snprintf(f->schema, sizeof f->schema, "contract_%d", (int)getpid());
}

static void make_model(struct fix *f, const char *name, int64_t width) {
    struct store *s;
    struct err e;
    on_server("CREATE DATABASE %s", name);
    be_in(f, name);
    struct store_options o = fix_options(f);
    assert_ok(store_open(&o, &s, &e));
    if (width)
        assert_ok(store_partition(s, width, &e));
    store_close(s);
}

/* The one with partitions so wide; made when it is first asked for. */
static void model_of(struct fix *f, int64_t width, char name[64]) {
    static int64_t widths[MAX_MODELS];
    static int n;
    int i = 0;
    while (i < n && widths[i] != width)
        i++;
    assert_in_range(i, 0, MAX_MODELS - 1);
    snprintf(name, 64, "model_%d_%d", (int)getpid(), i);
    if (i < n)
        return;
    make_model(f, name, width);
    widths[n++] = width;
}

void copy_make(struct fix *f, int64_t width) {
    static int count;
    char model[64];
    model_of(f, width, model);
    snprintf(f->copy, sizeof f->copy, "contract_%d_%d", (int)getpid(), ++count);
    on_server("CREATE DATABASE %s TEMPLATE %s STRATEGY file_copy", f->copy, model);
    be_in(f, f->copy);
}

void copy_drop(struct fix *f) {
    if (f->copy[0])
        on_server("DROP DATABASE %s WITH (FORCE)", f->copy);
}
