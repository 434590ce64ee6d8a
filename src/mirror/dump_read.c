#include "mirror/dump_read.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#define HEAD_BYTES ((size_t)64 * 1024) /* what a dump is known by, at each end */
#define RAW_BYTES ((size_t)256 * 1024)
#define TEXT_BYTES ((size_t)1024 * 1024)
#define MARK_BYTES ((size_t)4096) /* of consumed text that stay in the buffer */
#define TEXT_MAX (DUMP_LINE_MAX + MARK_BYTES + TEXT_BYTES)

struct dump_reader {
    int fd;
    bool own_fd, regular;
    const struct stop_token *stop;
    int64_t total;
    _Atomic int64_t raw_bytes;
    struct sha256 *sha;
    char fingerprint[64];

    unsigned char *raw; /* read and not decoded yet: raw_at .. raw_n */
    size_t raw_at, raw_n;
    bool raw_end;
    ZSTD_DCtx *z; /* NULL: plain text */
    bool in_frame;

    char *text; /* consumed up to at, a line ends not before scanned */
    size_t at, scanned, n, cap;
    int64_t offset; /* of text[at] in the whole */
    bool text_end, dropping;
    char head[DUMP_HEAD_MAX]; /* of the line that is being dropped */
    size_t head_n;
};

/* Reads once, at most n bytes. *ret 0: the end. */
static enum verdict read_raw(struct dump_reader *r, void *to, size_t n, size_t *ret,
                             struct err *e) {
    for (;;) {
        struct pollfd fds[] = {{.fd = r->fd, .events = POLLIN},
                               {.fd = r->stop->fd, .events = POLLIN}};
        bool cut_short = !r->regular && poll(fds, ARRAY_LEN(fds), -1) < 0 && errno == EINTR;
        if (stop_raised(r->stop))
            return err_set(e, V_STOPPED, "dump", 0, "stopped while reading");
        if (cut_short) /* there may be nothing to read, and then no stop would be heard */
            continue;
        ssize_t got = read(r->fd, to, n);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got < 0)
            return err_set(e, V_FATAL, "dump", errno, "cannot read: %s", strerror(errno));
        if (r->sha && got > 0)
            sha256_add(r->sha, to, (size_t)got);
        atomic_fetch_add_explicit(&r->raw_bytes, got, memory_order_relaxed);
        r->raw_end = got == 0;
        *ret = (size_t)got;
        return V_OK;
    }
}

static enum verdict read_head(struct dump_reader *r, struct err *e) {
    enum verdict v = V_OK;
    while (v == V_OK && r->raw_n < HEAD_BYTES && !r->raw_end) {
        size_t got = 0;
        v = read_raw(r, r->raw + r->raw_n, HEAD_BYTES - r->raw_n, &got, e);
        r->raw_n += got;
    }
    return v;
}

static enum verdict take_fingerprint(struct dump_reader *r, struct err *e) {
    uint64_t head = XXH3_64bits(r->raw, r->raw_n);
    if (!r->regular) {
        snprintf(r->fingerprint, sizeof r->fingerprint, "pipe:%016llx", (unsigned long long)head);
        return V_OK;
    }
    unsigned char *tail = xmalloc(HEAD_BYTES);
    int64_t from = r->total > (int64_t)HEAD_BYTES ? r->total - (int64_t)HEAD_BYTES : 0;
    size_t n = 0;
    for (ssize_t got = 1; got != 0 && n < HEAD_BYTES;) {
        got = pread(r->fd, tail + n, HEAD_BYTES - n, from + (int64_t)n);
        if (got < 0 && errno != EINTR) {
            free(tail);
            return err_set(e, V_FATAL, "dump", errno, "cannot read: %s", strerror(errno));
        }
        n += got > 0 ? (size_t)got : 0;
    }
    uint64_t end = XXH3_64bits(tail, n);
    free(tail);
    snprintf(r->fingerprint, sizeof r->fingerprint, "%lld:%016llx:%016llx", (long long)r->total,
             (unsigned long long)head, (unsigned long long)end);
    return V_OK;
}

/* zstd's own magic, or that of the skippable frames some tools put in front. */
static enum verdict choose_form(struct dump_reader *r, struct err *e) {
    const unsigned char *p = r->raw;
    bool zstd = r->raw_n >= 4 && p[0] == 0x28 && p[1] == 0xB5 && p[2] == 0x2F && p[3] == 0xFD;
    bool skippable =
        r->raw_n >= 4 && (p[0] & 0xF0) == 0x50 && p[1] == 0x2A && p[2] == 0x4D && p[3] == 0x18;
    if (r->raw_n >= 2 && p[0] == 0x1F && p[1] == 0x8B)
        return err_set(e, V_INVALID, "dump", 0,
                       "this is gzip, which is not read here; use 'zcat FILE | tain import'");
    if (zstd || skippable)
        r->z = ZSTD_createDCtx();
    return V_OK;
}

static enum verdict open_file(struct dump_reader *r, const char *path, struct err *e) {
    bool standard = !path || strcmp(path, "-") == 0;
    r->fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (r->fd < 0)
        return err_set(e, V_INVALID, "dump", errno, "%.300s: %s", path, strerror(errno));
    r->own_fd = !standard;
    struct stat st;
    if (fstat(r->fd, &st) != 0)
        return err_set(e, V_FATAL, "dump", errno, "%.300s: %s", standard ? "-" : path,
                       strerror(errno));
    if (S_ISDIR(st.st_mode))
        return err_set(e, V_INVALID, "dump", 0, "%.300s: not a file", standard ? "-" : path);
    r->regular = S_ISREG(st.st_mode) && lseek(r->fd, 0, SEEK_CUR) == 0;
    r->total = r->regular ? st.st_size : -1;
    return V_OK;
}

enum verdict dump_open(const struct dump_read_options *o, struct dump_reader **ret, struct err *e) {
    struct dump_reader *r = xcalloc(1, sizeof *r);
    r->stop = o->stop;
    r->fd = -1;
    r->raw = xmalloc(RAW_BYTES);
    r->cap = TEXT_BYTES;
    r->text = xmalloc(r->cap);
    if (o->digest)
        r->sha = sha256_new();
    enum verdict v = open_file(r, o->path, e);
    if (v == V_OK)
        v = read_head(r, e);
    if (v == V_OK)
        v = choose_form(r, e);
    if (v == V_OK)
        v = take_fingerprint(r, e);
    if (v != V_OK) {
        dump_close(r);
        return v;
    }
    *ret = r;
    return V_OK;
}

void dump_close(struct dump_reader *r) {
    if (!r)
        return;
    if (r->own_fd)
        close(r->fd);
    ZSTD_freeDCtx(r->z);
    sha256_free(r->sha);
    free(r->raw);
    free(r->text);
    free(r);
}

const char *dump_fingerprint(const struct dump_reader *r) {
    return r->fingerprint;
}

int64_t dump_raw_total(const struct dump_reader *r) {
    return r->total;
}

int64_t dump_raw_bytes(const struct dump_reader *r) {
    return atomic_load_explicit(&r->raw_bytes, memory_order_relaxed);
}

bool dump_is_compressed(const struct dump_reader *r) {
    return r->z != NULL;
}

static enum verdict fill_plain(struct dump_reader *r, struct err *e) {
    size_t room = r->cap - r->n, got = r->raw_n - r->raw_at;
    if (got == 0) {
        enum verdict v = read_raw(r, r->text + r->n, room, &got, e);
        if (v != V_OK)
            return v;
        r->text_end = r->raw_end;
    } else {
        got = got < room ? got : room;
        memcpy(r->text + r->n, r->raw + r->raw_at, got);
        r->raw_at += got;
    }
    r->n += got;
    return V_OK;
}

static enum verdict decode_some(struct dump_reader *r, size_t *ret_made, struct err *e) {
    ZSTD_inBuffer in = {r->raw, r->raw_n, r->raw_at};
    ZSTD_outBuffer out = {r->text, r->cap, r->n};
    size_t left = ZSTD_decompressStream(r->z, &out, &in);
    if (ZSTD_isError(left))
        return err_set(e, V_INVALID, "dump", 0, "the compressed file is damaged: %s",
                       ZSTD_getErrorName(left));
    if (in.pos != r->raw_at || out.pos != r->n)
        r->in_frame = left != 0;
    *ret_made = out.pos - r->n;
    r->raw_at = in.pos;
    r->n = out.pos;
    return V_OK;
}

/* What the decoder still holds comes out before more is read: it may be all there is. */
static enum verdict fill_decoded(struct dump_reader *r, struct err *e) {
    for (;;) {
        size_t made = 0;
        enum verdict v = decode_some(r, &made, e);
        if (v != V_OK || made)
            return v;
        if (r->raw_at < r->raw_n)
            continue;
        r->raw_at = r->raw_n = 0;
        v = read_raw(r, r->raw, RAW_BYTES, &r->raw_n, e);
        if (v != V_OK)
            return v;
        if (r->raw_n)
            continue;
        r->text_end = true;
        return r->in_frame ? err_set(e, V_INVALID, "dump", 0,
                                     "the file ends in the middle of its compressed data")
                           : V_OK;
    }
}

/* Makes room, keeping the text that is not consumed and the last of what is. */
static void make_room(struct dump_reader *r) {
    size_t drop = r->at > MARK_BYTES ? r->at - MARK_BYTES : 0;
    if (drop > r->cap / 2 || r->n == r->cap) {
        memmove(r->text, r->text + drop, r->n - drop);
        r->at -= drop;
        r->scanned -= drop;
        r->n -= drop;
    }
    if (r->n > r->cap / 2 && r->cap < TEXT_MAX) {
        r->cap = 2 * r->cap < TEXT_MAX ? 2 * r->cap : TEXT_MAX;
        r->text = xrealloc(r->text, r->cap);
    }
}

static enum verdict fill(struct dump_reader *r, struct err *e) {
    make_room(r);
    return r->z ? fill_decoded(r, e) : fill_plain(r, e);
}

static void consume(struct dump_reader *r, size_t up_to) {
    r->offset += (int64_t)(up_to - r->at);
    r->at = r->scanned = up_to;
}

int64_t dump_text_bytes(const struct dump_reader *r) {
    return r->offset;
}

int64_t dump_mark(const struct dump_reader *r) {
    size_t n = r->offset < (int64_t)MARK_BYTES ? (size_t)r->offset : MARK_BYTES;
    return (int64_t)(XXH3_64bits(r->text + r->at - n, n) >> 1);
}

static enum verdict seek_to(struct dump_reader *r, int64_t to, struct err *e) {
    size_t before = to < (int64_t)MARK_BYTES ? (size_t)to : MARK_BYTES;
    if (lseek(r->fd, to - (int64_t)before, SEEK_SET) < 0)
        return err_set(e, V_FATAL, "dump", errno, "cannot seek: %s", strerror(errno));
    r->raw_at = r->raw_n = r->n = 0;
    r->raw_end = false;
    enum verdict v = V_OK;
    while (v == V_OK && r->n < before && !r->raw_end) {
        size_t got = 0;
        v = read_raw(r, r->text + r->n, before - r->n, &got, e);
        r->n += got;
    }
    atomic_store(&r->raw_bytes, to);
    r->at = r->scanned = r->n;
    r->offset = to - (int64_t)before + (int64_t)r->n;
    return v;
}

static enum verdict read_over(struct dump_reader *r, int64_t to, struct err *e) {
    enum verdict v = V_OK;
    while (v == V_OK && r->offset < to && !r->text_end) {
        v = fill(r, e);
        int64_t here = (int64_t)(r->n - r->at), wanted = to - r->offset;
        consume(r, r->at + (size_t)(here < wanted ? here : wanted));
    }
    return v;
}

enum verdict dump_skip_to(struct dump_reader *r, int64_t text_bytes, int64_t mark, struct err *e) {
    bool seeks = r->regular && !r->z && !r->sha;
    enum verdict v = seeks ? seek_to(r, text_bytes, e) : read_over(r, text_bytes, e);
    if (v == V_OK && (r->offset != text_bytes || dump_mark(r) != mark))
        return err_set(e, V_CONFLICT, "dump", 0,
                       "its first %lld bytes are not those that were imported before",
                       (long long)text_bytes);
    return v;
}

static void keep_head(struct dump_reader *r, size_t end) {
    r->head_n = end - r->at < DUMP_HEAD_MAX ? end - r->at : DUMP_HEAD_MAX;
    memcpy(r->head, r->text + r->at, r->head_n);
}

/* A line that is too long is forgotten as it comes, but for its beginning. */
static void drop_long(struct dump_reader *r) {
    if (!r->dropping)
        keep_head(r, r->n);
    r->dropping = true;
    consume(r, r->n);
}

/* Some editors put a mark in front of UTF-8, which belongs to no line. */
static struct str without_bom(const struct dump_reader *r, struct str text) {
    bool bom = r->offset == 0 && str_starts(text, "\xEF\xBB\xBF");
    return bom ? (struct str){text.p + 3, text.n - 3} : text;
}

static void give_line(struct dump_reader *r, size_t end, size_t next, struct dump_line *ret) {
    if (!r->dropping && end - r->at > DUMP_LINE_MAX) {
        keep_head(r, end);
        r->dropping = true;
    }
    ret->too_long = r->dropping;
    ret->text = r->dropping ? (struct str){r->head, r->head_n}
                            : without_bom(r, (struct str){r->text + r->at, end - r->at});
    r->dropping = false;
    consume(r, next);
}

enum verdict dump_next(struct dump_reader *r, struct dump_line *ret, struct err *e) {
    for (;;) {
        const char *newline = memchr(r->text + r->scanned, '\n', r->n - r->scanned);
        if (newline) {
            size_t end = (size_t)(newline - r->text);
            give_line(r, end, end + 1, ret);
            return V_OK;
        }
        r->scanned = r->n;
        if (r->text_end && (r->at < r->n || r->dropping)) {
            give_line(r, r->n, r->n, ret);
            return V_OK;
        }
        if (r->text_end)
            return err_set(e, V_NOT_FOUND, "dump", 0, "the end");
        if (r->n - r->at > DUMP_LINE_MAX)
            drop_long(r);
        enum verdict v = fill(r, e);
        if (v != V_OK)
            return v;
    }
}

void dump_digest(struct dump_reader *r, char ret_hex[SHA256_HEX]) {
    sha256_end(r->sha, ret_hex);
}
