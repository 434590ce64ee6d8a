/* A dump is written, gone on with and read, on a disk that fails. */
#include "scenarios.h"

#include "mirror/dump_read.h"
#include "mirror/dump_write.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LO 1000
#define HI 3000

static char path[300];
static struct stop_token stop;

static void set_up(void) {
    struct err e;
    snprintf(path, sizeof path, "%s/d", nth_folder());
    nth_check(stop_init(&stop, &e) == V_OK, "%s", e.msg);
}

/* Up to LO they are long: what is written over them without need leaves some of them behind. */
static int line_of(int id, bool old, char out[200]) {
    return snprintf(out, 200, "{\"id\":%d%*s}", id, old && id <= LO ? 150 : 0, "");
}

static bool in_old_form; /* of the ids up to LO */

static enum verdict put_ids(struct dump_writer *w, int lo, int hi, struct err *e) {
    CLEANUP(strbuf_release) struct strbuf lines;
    strbuf_init(&lines, 1 << 20);
    for (int id = lo; id <= hi; id++) {
        char text[200];
        line_of(id, in_old_form, text);
        strbuf_addf(&lines, "%s\n", text);
    }
    return dump_put(w, strbuf_str(&lines), e);
}

static enum verdict write_ids(bool compress, bool resume, int hi, struct err *e) {
    struct dump_writer *w = NULL;
    char hex[SHA256_HEX];
    const struct dump_write_options o = {
        .path = path, .compress = compress, .level = 1, .resume = resume, .stop = &stop};
    enum verdict v = dump_create(&o, &w, e);
    if (v != V_OK)
        return v;
    v = put_ids(w, (int)dump_last_id(w) + 1, hi, e);
    if (v == V_OK)
        v = dump_finish(w, hex, e);
    else
        dump_suspend(w);
    dump_writer_free(w);
    return v;
}

/* How many ids the dump has: 1, 2, 3 ...; -1: it is not there, or they are not these. */
static int read_ids(struct err *e, enum verdict *ret, bool with_sum) {
    struct dump_reader *r = NULL;
    struct dump_line line;
    char hex[SHA256_HEX], wanted[SHA256_HEX] = "";
    const struct dump_read_options o = {.path = path, .digest = true, .stop = &stop};
    int n = 0;
    *ret = dump_open(&o, &r, e);
    if (*ret != V_OK)
        return -1;
    while ((*ret = dump_next(r, &line, e)) == V_OK) {
        char text[200];
        size_t old = (size_t)line_of(++n, true, text), new = (size_t)line_of(n, false, text);
        nth_check((line.text.n == old || line.text.n == new) &&
                      memcmp(line.text.p, text, strcspn(text, "}")) == 0,
                  "line %d is '%.*s'", n, STR_FMT(line.text));
    }
    if (*ret == V_NOT_FOUND)
        *ret = V_OK;
    dump_digest(r, hex);
    dump_close(r);
    if (*ret == V_OK && with_sum) {
        *ret = checksum_of(path, wanted, e);
        nth_check(*ret != V_OK || strcmp(hex, wanted) == 0, "the checksum is not that of the file");
    }
    return n;
}

/* Judges one writing; a failed one is repeated, going on with what is there. */
static void write_until(bool compress, bool resume, int hi) {
    struct err e = {0};
    enum verdict v, seen;
    for (int tries = 0; tries < 2; tries++) {
        v = write_ids(compress, resume || tries, hi, &e);
        nth_off();
        struct err why = {0};
        int there = read_ids(&why, &seen, v == V_OK);
        nth_judge("the dump", v, &e, seen == V_OK && there == hi);
        char part[320];
        snprintf(part, sizeof part, "%s.part", path);
        nth_check(v != V_OK || access(part, F_OK) != 0, "a part is left");
        if (v == V_OK)
            return;
    }
    nth_check(false, "it cannot be gone on with: %s", e.msg);
}

/* Where a reading stood behind a line, and what the line says. */
struct stand {
    int64_t bytes, mark;
    char text[200];
};

/* The line behind `from`; NULL: the first. */
static enum verdict read_behind(const struct stand *from, struct stand *ret, struct err *e) {
    struct dump_reader *r = NULL;
    struct dump_line line;
    const struct dump_read_options o = {.path = path, .stop = &stop};
    enum verdict v = dump_open(&o, &r, e);
    if (v != V_OK)
        return v;
    if (from)
        v = dump_skip_to(r, from->bytes, from->mark, e);
    if (v == V_OK)
        v = dump_next(r, &line, e);
    if (v == V_OK) {
        *ret = (struct stand){.bytes = dump_text_bytes(r), .mark = dump_mark(r)};
        snprintf(ret->text, sizeof ret->text, "%.*s", STR_FMT(line.text));
    }
    dump_close(r);
    return v;
}

/* An import that was cut off goes on behind the line it had. */
void dump_skip(void) {
    struct err e = {0};
    struct stand first, second = {0};
    char wanted[200];
    set_up();
    write_until(false, false, LO);
    nth_check(read_behind(NULL, &first, &e) == V_OK, "%s", e.msg);
    line_of(2, false, wanted);
    nth_on();
    enum verdict v = read_behind(&first, &second, &e);
    nth_off();
    if (!nth_judge("dump_skip_to", v, &e, strcmp(second.text, wanted) == 0))
        nth_check(read_behind(&first, &second, &e) == V_OK, "%s", e.msg);
    nth_check(strcmp(second.text, wanted) == 0, "'%s', not '%s'", second.text, wanted);
    stop_release(&stop);
    unlink(path);
}

void dump_new(void) {
    for (int compress = 0; compress < 2; compress++) {
        set_up();
        nth_on();
        write_until(compress, false, HI);
        nth_off();
        stop_release(&stop);
        unlink(path);
    }
}

void dump_resume(void) {
    for (int compress = 0; compress < 2; compress++) {
        set_up();
        in_old_form = true;
        write_until(compress, false, LO);
        in_old_form = false;
        nth_on();
        write_until(compress, true, HI);
        nth_off();
        stop_release(&stop);
        unlink(path);
    }
}

void dump_lines(void) {
    for (int compress = 0; compress < 2; compress++) {
        set_up();
        write_until(compress, false, HI);
        struct err e = {0};
        enum verdict v;
        nth_on();
        int n = read_ids(&e, &v, true);
        nth_off();
        nth_judge("reading", v, &e, n == HI);
        n = read_ids(&e, &v, true);
        nth_check(v == V_OK && n == HI, "%d: %s", n, e.msg);
        stop_release(&stop);
        unlink(path);
    }
}

/* Between the file of a dump and a standard descriptor, which is a pipe meanwhile. */
struct pipeline {
    pthread_t thread;
    int from, to;
    int standard, before; /* which one, and what it was */
    char path[sizeof path];
};

static void *pour(void *ctx) {
    struct pipeline *p = ctx;
    char some[5000];
    for (ssize_t n; (n = read(p->from, some, sizeof some)) > 0;)
        if (write(p->to, some, (size_t)n) != n)
            abort();
    close(p->from);
    close(p->to);
    return NULL;
}

static void pipe_begin(struct pipeline *p, int standard) {
    bool out = standard == STDOUT_FILENO;
    int ends[2], file = open(path, out ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY, 0600);
    p->standard = standard;
    p->before = dup(standard);
    nth_check(file >= 0 && pipe(ends) == 0 && dup2(ends[out], standard) >= 0, "no pipe");
    close(ends[out]);
    p->from = out ? ends[0] : file;
    p->to = out ? file : ends[1];
    nth_check(pthread_create(&p->thread, NULL, pour, p) == 0, "no thread");
    memcpy(p->path, path, sizeof path);
    snprintf(path, sizeof path, "-");
}

static void pipe_end(struct pipeline *p) {
    char rest[5000];
    while (p->standard == STDIN_FILENO && read(STDIN_FILENO, rest, sizeof rest) > 0)
        ;
    dup2(p->before, p->standard);
    close(p->before);
    pthread_join(p->thread, NULL);
    memcpy(path, p->path, sizeof path);
}

static enum verdict write_to_pipe(struct err *e) {
    struct pipeline p;
    pipe_begin(&p, STDOUT_FILENO);
    nth_on();
    enum verdict v = write_ids(false, false, HI, e);
    nth_off();
    pipe_end(&p);
    return v;
}

static int read_from_pipe(struct err *e, enum verdict *ret) {
    struct pipeline p;
    pipe_begin(&p, STDIN_FILENO);
    nth_on();
    int n = read_ids(e, ret, false);
    nth_off();
    pipe_end(&p);
    return n;
}

/* What failed in a pipe is not gone on with, but done anew. */
void dump_pipe(void) {
    struct err e = {0}, why = {0};
    enum verdict v = V_RETRY, seen;
    set_up();
    for (int tries = 0; tries < 2 && v != V_OK; tries++) {
        v = write_to_pipe(&e);
        nth_judge("the dump", v, &e, v != V_OK || read_ids(&why, &seen, false) == HI);
    }
    nth_check(v == V_OK, "%s", e.msg);
    int n = read_from_pipe(&e, &v);
    if (!nth_judge("reading", v, &e, n == HI))
        n = read_from_pipe(&e, &v);
    nth_check(v == V_OK && n == HI, "%d: %s", n, e.msg);
    stop_release(&stop);
    unlink(path);
}
