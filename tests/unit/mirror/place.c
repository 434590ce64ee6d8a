#include "place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

int place_make(void **state) {
    struct err e;
    struct place *p = calloc(1, sizeof *p);
    strcpy(p->dir, "/tmp/tain-dump-XXXXXX");
    assert_non_null(mkdtemp(p->dir));
    snprintf(p->path, sizeof p->path, "%s/d", p->dir);
    assert_ok(stop_init(&p->stop, &e));
    *state = p;
    return 0;
}

int place_remove(void **state) {
    static const char *const ends[] = {"", ".part", ".sha256", ".sha256.part"};
    struct place *p = *state;
    char path[200];
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        snprintf(path, sizeof path, "%s%s", p->path, ends[i]);
        unlink(path);
    }
    rmdir(p->dir);
    stop_release(&p->stop);
    free(p);
    return 0;
}

void spit(const char *path, const void *bytes, size_t n) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
}

char *slurp(const char *path, const char *end, size_t *ret_n) {
    char full[200];
    snprintf(full, sizeof full, "%s%s", path, end);
    FILE *f = fopen(full, "r");
    if (!f)
        return NULL;
    char *bytes = malloc(16 << 20);
    *ret_n = fread(bytes, 1, (16 << 20) - 1, f);
    bytes[*ret_n] = '\0';
    fclose(f);
    return bytes;
}

size_t pack(const char *text, size_t n, size_t frame, char *out, size_t cap) {
    ZSTD_CCtx *z = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1);
    size_t made = 0;
    for (size_t at = 0; at < n; at += frame) {
        size_t part = n - at < frame ? n - at : frame;
        made += ZSTD_compress2(z, out + made, cap - made, text + at, part);
        assert_true(made <= cap);
    }
    ZSTD_freeCCtx(z);
    return made;
}

struct dump_reader *place_open(struct place *p, bool digest) {
    struct err e;
    struct dump_reader *r;
    const struct dump_read_options o = {.path = p->path, .digest = digest, .stop = &p->stop};
    assert_ok(dump_open(&o, &r, &e));
    return r;
}

void read_rest(struct dump_reader *r, struct strbuf *out, enum verdict end) {
    struct err e;
    struct dump_line line;
    enum verdict v;
    while ((v = dump_next(r, &line, &e)) == V_OK)
        strbuf_addf(out, "[%s%.*s]", line.too_long ? "too long" : "", STR_FMT(line.text));
    assert_int_equal(v, end);
}
