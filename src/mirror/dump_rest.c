/* What an interrupted export left: the last whole line of a plain file, the last whole frame of a
 * compressed one. */
#include "mirror/dump_write.h"

#include "hn/item.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define ZSTD_MAGIC "\x28\xB5\x2F\xFD"
#define TAIL_MAX ((size_t)16 * 1024 * 1024) /* more than the longest line */
#define TAIL_FIRST ((size_t)64 * 1024)

static enum verdict id_of_last_line(const char *p, size_t n, int64_t *ret, struct err *e) {
    struct arena a;
    struct item it;
    arena_init(&a);
    const char *before = n > 1 ? memrchr(p, '\n', n - 1) : NULL;
    const char *line = before ? before + 1 : p;
    enum item_shape shape = item_parse(&a, (struct str){line, (size_t)(p + n - line)}, 0, &it);
    *ret = shape == ITEM_OK ? it.id : 0;
    arena_release(&a);
    if (shape == ITEM_OK)
        return V_OK;
    return err_set(e, V_INVALID, "dump", 0, "its last line is no item");
}

/* A power cut may leave zeros where bytes were to be; no line of ours holds one. */
static enum verdict rest_of_text(const char *p, size_t n, struct dump_rest *ret, struct err *e) {
    const char *zero = n ? memchr(p, '\0', n) : NULL;
    size_t good = zero ? (size_t)(zero - p) : n;
    const char *newline = good ? memrchr(p, '\n', good) : NULL;
    if (!newline)
        return V_OK;
    ret->bytes = newline - p + 1;
    return id_of_last_line(p, (size_t)ret->bytes, &ret->last_id, e);
}

/* The end of a text that comes in pieces; grows with it, up to 2 * TAIL_MAX. */
struct tail {
    char *p;
    size_t n, cap;
};

static void tail_make_room(struct tail *t) {
    if (t->n < t->cap)
        return;
    if (t->cap < 2 * TAIL_MAX) {
        t->cap = t->cap ? 2 * t->cap : TAIL_FIRST;
        t->p = xrealloc(t->p, t->cap);
    } else {
        memmove(t->p, t->p + TAIL_MAX, TAIL_MAX);
        t->n = TAIL_MAX;
    }
}

/* The end of what a frame holds, at least TAIL_MAX of it or all. False: the frame is damaged. */
static bool tail_of_frame(const char *frame, size_t n, struct tail *t) {
    ZSTD_DCtx *z = ZSTD_createDCtx();
    ZSTD_inBuffer in = {frame, n, 0};
    size_t left = 1;
    t->n = 0;
    while (left != 0) {
        tail_make_room(t);
        ZSTD_outBuffer out = {t->p, t->cap, t->n};
        left = ZSTD_decompressStream(z, &out, &in);
        if (ZSTD_isError(left) || (left && in.pos == in.size && out.pos == t->n))
            break;
        t->n = out.pos;
    }
    ZSTD_freeDCtx(z);
    return left == 0;
}

struct frames {
    size_t *starts;
    size_t n, cap, end;
};

static void find_frames(const char *p, size_t n, struct frames *f) {
    while (f->end < n) {
        size_t size = ZSTD_findFrameCompressedSize(p + f->end, n - f->end);
        if (ZSTD_isError(size))
            return;
        if (f->n == f->cap) {
            f->cap = f->cap ? 2 * f->cap : 64;
            f->starts = xrealloc(f->starts, f->cap * sizeof *f->starts);
        }
        f->starts[f->n++] = f->end;
        f->end += size;
    }
}

/* The last frame that is whole and ends with a line; those behind it are given up. */
static enum verdict rest_of_frames(const char *p, size_t n, struct dump_rest *ret, struct err *e) {
    struct frames f = {0};
    find_frames(p, n, &f);
    struct tail tail = {0};
    enum verdict v = V_OK;
    for (; f.n > 0; f.n--) {
        size_t start = f.starts[f.n - 1];
        if (tail_of_frame(p + start, f.end - start, &tail) && tail.n &&
            tail.p[tail.n - 1] == '\n') {
            ret->bytes = (int64_t)f.end;
            v = id_of_last_line(tail.p, tail.n, &ret->last_id, e);
            break;
        }
        f.end = start;
    }
    free(tail.p);
    free(f.starts);
    return v;
}

enum verdict dump_find_rest(const void *bytes, size_t n, bool compressed, struct dump_rest *ret,
                            struct err *e) {
    *ret = (struct dump_rest){0};
    bool is_zstd = n >= 4 && memcmp(bytes, ZSTD_MAGIC, 4) == 0;
    if (n >= 4 && is_zstd != compressed)
        return err_set(e, V_INVALID, "dump", 0, "it is %scompressed, and --compress says otherwise",
                       is_zstd ? "" : "not ");
    return compressed ? rest_of_frames(bytes, n, ret, e) : rest_of_text(bytes, n, ret, e);
}
