#include "mirror/dump_write.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#define FRAME_BYTES ((size_t)64 * 1024 * 1024) /* of text: what a kill can cost */
#define OUT_BYTES ((size_t)256 * 1024)

struct dump_writer {
    int fd;
    bool own_fd, is_pipe;
    char *path, *part; /* NULL: standard output */
    const struct stop_token *stop;
    struct sha256 *sha;
    ZSTD_CCtx *z; /* NULL: plain */
    char *out;
    size_t in_frame; /* bytes of text in the frame that is open */
    int64_t bytes, first_id, last_id;
    bool untouched; /* a finished dump, as it was, under the name of an unfinished one */
};

/* A pipe takes what poll() promised and no more, so that a reader who sleeps does not keep us from
 * hearing of a stop. */
static enum verdict wait_for_pipe(const struct dump_writer *w, struct err *e) {
    struct pollfd fds[] = {{.fd = w->fd, .events = POLLOUT}, {.fd = w->stop->fd, .events = POLLIN}};
    while (poll(fds, ARRAY_LEN(fds), -1) < 0 && errno == EINTR && !stop_raised(w->stop))
        ;
    return stop_raised(w->stop) ? err_set(e, V_STOPPED, "dump", 0, "stopped while writing") : V_OK;
}

static enum verdict write_out(struct dump_writer *w, const char *p, size_t n, struct err *e) {
    w->untouched = false;
    sha256_add(w->sha, p, n);
    while (n) {
        enum verdict v = w->is_pipe ? wait_for_pipe(w, e) : V_OK;
        if (v != V_OK)
            return v;
        size_t most = w->is_pipe && n > PIPE_BUF ? PIPE_BUF : n;
        ssize_t done = write(w->fd, p, most);
        if (done < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (done < 0)
            return err_set(e, V_FATAL, "dump", errno, "cannot write %s: %s",
                           w->part ? w->part : "to standard output", strerror(errno));
        p += done;
        n -= (size_t)done;
        w->bytes += done;
    }
    return V_OK;
}

/* V_OK with *ret_left 0: the library has given everything it had to. */
static enum verdict compress_some(struct dump_writer *w, ZSTD_inBuffer *in, ZSTD_EndDirective how,
                                  size_t *ret_left, struct err *e) {
    ZSTD_outBuffer out = {w->out, OUT_BYTES, 0};
    *ret_left = ZSTD_compressStream2(w->z, &out, in, how);
    if (ZSTD_isError(*ret_left))
        return err_set(e, V_FATAL, "dump", 0, "cannot compress: %s", ZSTD_getErrorName(*ret_left));
    return write_out(w, w->out, out.pos, e);
}

/* What was compressed so far can be gone on with from here; and it is on the disk, so that no later
 * frame can be there without this one. */
static enum verdict end_frame(struct dump_writer *w, struct err *e) {
    if (!w->z || (w->in_frame == 0 && w->bytes > 0)) /* nothing at all is a frame too */
        return V_OK;
    ZSTD_inBuffer none = {NULL, 0, 0};
    enum verdict v = V_OK;
    for (size_t left = 1; left && v == V_OK;)
        v = compress_some(w, &none, ZSTD_e_end, &left, e);
    w->in_frame = 0;
    if (v == V_OK && w->part && fdatasync(w->fd) != 0)
        return err_set(e, V_FATAL, "dump", errno, "cannot write %s: %s", w->part, strerror(errno));
    return v;
}

enum verdict dump_put(struct dump_writer *w, struct str lines, struct err *e) {
    if (!w->z)
        return write_out(w, lines.p, lines.n, e);
    ZSTD_inBuffer in = {lines.p, lines.n, 0};
    enum verdict v = V_OK;
    size_t left;
    while (in.pos < in.size && v == V_OK)
        v = compress_some(w, &in, ZSTD_e_continue, &left, e);
    w->in_frame += lines.n;
    return v == V_OK && w->in_frame >= FRAME_BYTES ? end_frame(w, e) : v;
}

static char *with_suffix(const char *path, const char *suffix) {
    size_t n = strlen(path) + strlen(suffix) + 1;
    char *p = xmalloc(n);
    snprintf(p, n, "%s%s", path, suffix);
    return p;
}

/* Cuts the file behind its last whole part and takes what stays into the checksum. */
static enum verdict keep_rest(struct dump_writer *w, bool compress, struct err *e) {
    struct stat st;
    if (fstat(w->fd, &st) != 0)
        return err_set(e, V_FATAL, "dump", errno, "cannot read %s: %s", w->part, strerror(errno));
    if (st.st_size == 0)
        return V_OK;
    size_t n = (size_t)st.st_size;
    void *map = mmap(NULL, n, PROT_READ, MAP_SHARED, w->fd, 0);
    if (map == MAP_FAILED)
        return err_set(e, V_FATAL, "dump", errno, "cannot read %s: %s", w->part, strerror(errno));
    madvise(map, n, MADV_SEQUENTIAL);
    struct dump_rest rest;
    enum verdict v = dump_find_rest(map, n, compress, &rest, e);
    if (v == V_OK)
        sha256_add(w->sha, map, (size_t)rest.bytes);
    munmap(map, n);
    if (v != V_OK)
        return err_wrap(e, v, "cannot go on with %s", w->part);
    if (rest.bytes != st.st_size)
        w->untouched = false;
    if (ftruncate(w->fd, rest.bytes) != 0 || lseek(w->fd, 0, SEEK_END) < 0)
        return err_set(e, V_FATAL, "dump", errno, "cannot write %s: %s", w->part, strerror(errno));
    w->bytes = rest.bytes;
    w->first_id = rest.first_id;
    w->last_id = rest.last_id;
    return V_OK;
}

/* A finished dump is gone on with under the name of an unfinished one, which it is from now on. */
static void reopen_finished(struct dump_writer *w) {
    struct stat st;
    bool finished = stat(w->part, &st) != 0 && errno == ENOENT && stat(w->path, &st) == 0;
    w->untouched = finished && rename(w->path, w->part) == 0; /* or the dump is made anew */
}

/* Only a file can get the name of another one in the end: said now, not after hours. */
static enum verdict refuse_others(const char *path, struct err *e) {
    struct stat st;
    if (stat(path, &st) != 0 || S_ISREG(st.st_mode))
        return V_OK;
    if (S_ISDIR(st.st_mode))
        return err_set(e, V_INVALID, "dump", 0, "%.300s is a folder; name a file in it", path);
    return err_set(e, V_INVALID, "dump", 0,
                   "%.300s is not a plain file; '-' writes to standard output", path);
}

static enum verdict open_part(struct dump_writer *w, const struct dump_write_options *o,
                              struct err *e) {
    enum verdict v = refuse_others(o->path, e);
    if (v != V_OK)
        return v;
    w->path = xstrdup(o->path);
    w->part = with_suffix(o->path, ".part");
    if (o->resume)
        reopen_finished(w);
    /* No link that somebody laid there leads to another file. */
    w->fd = open(w->part, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (w->fd < 0)
        return err_set(e, V_INVALID, "dump", errno, "cannot make %s: %s", w->part, strerror(errno));
    w->own_fd = true;
    int locked;
    do
        locked = flock(w->fd, LOCK_EX | LOCK_NB);
    while (locked != 0 && errno == EINTR);
    if (locked != 0 && errno == EWOULDBLOCK)
        return err_set(e, V_CONFLICT, "dump", errno, "another process writes %s", w->part);
    if (locked != 0)
        return err_set(e, V_FATAL, "dump", errno, "cannot lock %s: %s", w->part, strerror(errno));
    if (o->resume)
        return keep_rest(w, o->compress, e);
    if (ftruncate(w->fd, 0) != 0)
        return err_set(e, V_FATAL, "dump", errno, "cannot write %s: %s", w->part, strerror(errno));
    return V_OK;
}

static void open_standard(struct dump_writer *w) {
    struct stat st;
    w->fd = STDOUT_FILENO;
    w->is_pipe = fstat(w->fd, &st) == 0 && !S_ISREG(st.st_mode);
}

enum verdict dump_create(const struct dump_write_options *o, struct dump_writer **ret,
                         struct err *e) {
    struct dump_writer *w = xcalloc(1, sizeof *w);
    w->fd = -1;
    w->stop = o->stop;
    w->sha = sha256_new();
    if (o->compress) {
        w->out = xmalloc(OUT_BYTES);
        w->z = ZSTD_createCCtx();
        ZSTD_CCtx_setParameter(w->z, ZSTD_c_compressionLevel, o->level);
        ZSTD_CCtx_setParameter(w->z, ZSTD_c_checksumFlag, 1);
    }
    enum verdict v = V_OK;
    if (!o->path || strcmp(o->path, "-") == 0)
        open_standard(w);
    else
        v = open_part(w, o, e);
    if (v != V_OK) {
        dump_writer_free(w);
        return v;
    }
    *ret = w;
    return V_OK;
}

int64_t dump_first_id(const struct dump_writer *w) {
    return w->first_id;
}

int64_t dump_last_id(const struct dump_writer *w) {
    return w->last_id;
}

int64_t dump_out_bytes(const struct dump_writer *w) {
    return w->bytes;
}

static bool write_whole(int fd, const char *p, size_t n) {
    while (n) {
        ssize_t done = write(fd, p, n);
        if (done < 0 && errno != EINTR)
            return false;
        p += done > 0 ? done : 0;
        n -= done > 0 ? (size_t)done : 0;
    }
    return true;
}

static enum verdict write_sidecar(const char *path, const char *final, const char *hex,
                                  struct err *e) {
    CLEANUP(strbuf_release) struct strbuf line;
    strbuf_init(&line, 8192);
    checksum_line(&line, final, hex);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    bool ok = fd >= 0 && write_whole(fd, line.p, line.n) && fsync(fd) == 0;
    int code = errno;
    if (fd >= 0)
        close(fd);
    return ok ? V_OK
              : err_set(e, V_FATAL, "dump", code, "cannot write %s: %s", path, strerror(code));
}

/* Until then the new names may be gone after a power cut. A folder that may not be read, or of a
 * file system that knows no such thing, is left to the system. */
static enum verdict sync_folder(const char *path, struct err *e) {
    char folder[PATH_MAX];
    const char *name = base_name(path);
    snprintf(folder, sizeof folder, "%.*s", (int)(name - path), path);
    int fd = open(*folder ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = fd >= 0 ? fsync(fd) == 0 || errno == EINVAL : errno == EACCES;
    int code = errno;
    if (fd >= 0)
        close(fd);
    return ok ? V_OK
              : err_set(e, V_FATAL, "dump", code, "cannot keep the name of %s: %s", path,
                        strerror(code));
}

/* At no instant does a checksum stand beside a file that is not its own. */
static enum verdict give_name(struct dump_writer *w, const char *hex, struct err *e) {
    CLEANUP(free_ptr) char *sidecar = with_suffix(w->path, ".sha256");
    CLEANUP(free_ptr) char *sidecar_part = with_suffix(w->path, ".sha256.part");
    enum verdict v = write_sidecar(sidecar_part, w->path, hex, e);
    if (v != V_OK)
        return v;
    unlink(sidecar);
    if (rename(w->part, w->path) != 0 || rename(sidecar_part, sidecar) != 0)
        return err_set(e, V_FATAL, "dump", errno, "cannot give %s its name: %s", w->path,
                       strerror(errno));
    w->untouched = false;
    return sync_folder(w->path, e);
}

enum verdict dump_finish(struct dump_writer *w, char ret_hex[SHA256_HEX], struct err *e) {
    enum verdict v = end_frame(w, e);
    if (v != V_OK)
        return v;
    sha256_end(w->sha, ret_hex);
    if (!w->part)
        return V_OK;
    if (fsync(w->fd) != 0)
        return err_set(e, V_FATAL, "dump", errno, "cannot write %s: %s", w->part, strerror(errno));
    return give_name(w, ret_hex, e);
}

void dump_suspend(struct dump_writer *w) {
    struct err ignored;
    if (w->part && end_frame(w, &ignored) != V_OK) {
        /* the frame is given up when it is gone on with */
    }
}

void dump_writer_free(struct dump_writer *w) {
    if (!w)
        return;
    if (w->untouched && rename(w->part, w->path) != 0) {
        /* it stays an unfinished one, which is no loss */
    }
    if (w->own_fd)
        close(w->fd);
    ZSTD_freeCCtx(w->z);
    sha256_free(w->sha);
    free(w->out);
    free(w->path);
    free(w->part);
    free(w);
}
