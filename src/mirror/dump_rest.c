/* What an interrupted export left: everything up to the last whole line of a plain file, up to the
 * last whole frame of a compressed one. All of it is looked at: a dump that is gone on with gets a
 * checksum, which would vouch for whatever stood in it. */
#include "mirror/dump_write.h"

#include "hn/item.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define ZSTD_MAGIC "\x28\xB5\x2F\xFD"
#define REST_LINE_MAX ((size_t)16 * 1024 * 1024) /* more than the longest one we write */
#define PIECE ((size_t)1024 * 1024)

/* Reads lines as an export writes them: items, by id. */
struct proof {
    struct arena arena;
    struct strbuf piece; /* of a line that goes on in the next bytes */
    int64_t lines, first_id, last_id;
};

static void proof_init(struct proof *p) {
    *p = (struct proof){0};
    arena_init(&p->arena);
    strbuf_init(&p->piece, REST_LINE_MAX);
}

static void proof_release(struct proof *p) {
    arena_release(&p->arena);
    strbuf_release(&p->piece);
}

static enum verdict prove_line(struct proof *p, struct str line, struct err *e) {
    struct item it;
    p->lines++;
    arena_reset(&p->arena);
    if (item_parse(&p->arena, line, 0, &it) != ITEM_OK)
        return err_set(e, V_INVALID, "dump", 0, "its line %lld is no item", (long long)p->lines);
    if (it.id <= p->last_id)
        return err_set(e, V_INVALID, "dump", 0,
                       "its line %lld has item %lld, which does not come behind %lld",
                       (long long)p->lines, (long long)it.id, (long long)p->last_id);
    if (p->lines == 1)
        p->first_id = it.id;
    p->last_id = it.id;
    return V_OK;
}

static enum verdict prove(struct proof *p, const char *bytes, size_t n, struct err *e) {
    enum verdict v = V_OK;
    for (const char *end = bytes + n, *newline; v == V_OK && bytes < end; bytes = newline + 1) {
        newline = memchr(bytes, '\n', (size_t)(end - bytes));
        struct str line = {bytes, (size_t)((newline ? newline : end) - bytes)};
        if (p->piece.n || !newline) {
            strbuf_add_str(&p->piece, line);
            line = strbuf_str(&p->piece);
        }
        if (p->piece.overflow)
            return err_set(e, V_INVALID, "dump", 0, "its line %lld has no end",
                           (long long)p->lines + 1);
        if (!newline)
            break;
        v = prove_line(p, line, e);
        strbuf_clear(&p->piece);
    }
    return v;
}

static void keep(const struct proof *p, size_t bytes, struct dump_rest *ret) {
    *ret = (struct dump_rest){(int64_t)bytes, p->first_id, p->last_id};
}

/* A power cut may leave zeros where bytes were to be; no line of ours holds one. */
static enum verdict rest_of_text(struct proof *p, const char *bytes, size_t n,
                                 struct dump_rest *ret, struct err *e) {
    const char *zero = n ? memchr(bytes, '\0', n) : NULL;
    size_t good = zero ? (size_t)(zero - bytes) : n;
    const char *newline = good ? memrchr(bytes, '\n', good) : NULL;
    if (!newline)
        return V_OK;
    good = (size_t)(newline - bytes) + 1;
    enum verdict v = prove(p, bytes, good, e);
    if (v == V_OK)
        keep(p, good, ret);
    return v;
}

/* V_NOT_FOUND: the frame is damaged. */
static enum verdict prove_frame(struct proof *p, ZSTD_DCtx *z, const char *frame, size_t n,
                                char *buffer, struct err *e) {
    ZSTD_inBuffer in = {frame, n, 0};
    enum verdict v = V_OK;
    for (size_t left = 1; left != 0 && v == V_OK;) {
        ZSTD_outBuffer out = {buffer, PIECE, 0};
        left = ZSTD_decompressStream(z, &out, &in);
        if (ZSTD_isError(left) || (left && in.pos == in.size && out.pos == 0))
            return V_NOT_FOUND;
        v = prove(p, buffer, out.pos, e);
    }
    return v;
}

/* The frames that are whole and end with a line; those behind them are given up. */
static enum verdict rest_of_frames(struct proof *p, const char *bytes, size_t n,
                                   struct dump_rest *ret, struct err *e) {
    ZSTD_DCtx *z = ZSTD_createDCtx();
    char *buffer = xmalloc(PIECE);
    enum verdict v = V_OK;
    size_t size;
    for (size_t at = 0; at < n && v == V_OK; at += size) {
        size = ZSTD_findFrameCompressedSize(bytes + at, n - at);
        if (ZSTD_isError(size))
            break;
        ZSTD_DCtx_reset(z, ZSTD_reset_session_only);
        v = prove_frame(p, z, bytes + at, size, buffer, e);
        if (v == V_OK && p->piece.n == 0)
            keep(p, at + size, ret);
    }
    free(buffer);
    ZSTD_freeDCtx(z);
    return v == V_NOT_FOUND ? V_OK : v;
}

enum verdict dump_find_rest(const void *bytes, size_t n, bool compressed, struct dump_rest *ret,
                            struct err *e) {
    *ret = (struct dump_rest){0};
    bool is_zstd = n >= 4 && memcmp(bytes, ZSTD_MAGIC, 4) == 0;
    if (n >= 4 && is_zstd != compressed)
        return err_set(e, V_INVALID, "dump", 0, "it is %scompressed, and --compress says otherwise",
                       is_zstd ? "" : "not ");
    struct proof p;
    proof_init(&p);
    enum verdict v =
        compressed ? rest_of_frames(&p, bytes, n, ret, e) : rest_of_text(&p, bytes, n, ret, e);
    proof_release(&p);
    return v;
}
