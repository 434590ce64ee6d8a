#include "cli/feed_secret.h"

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct kind {
    const char *variable, *option, *noun, *is_short, *is_open;
} kinds[] = {
    [SECRET_CDC_KEY] = {"TAIN_CDC_KEY", "cdc-key-file", "key",
                        "the key of the change feed is so short that it can be guessed",
                        "everyone on this machine can read the key of the change feed"},
    [SECRET_LINKS_TOKEN] = {"TAIN_LINKS_TOKEN", "links-token-file", "token",
                            "the token of those who add links is so short that it can be guessed",
                            "everyone on this machine can read the token of those who add links"},
};

/* Into `out`, once it was found sound. */
static enum verdict take(const struct kind *k, const char *text, const char *label, char *out,
                         struct err *e) {
    size_t n = strlen(text);
    if (n > FEED_SECRET_MAX)
        return err_set(e, V_INVALID, "config", 0, "%s: the %s is longer than %d characters", label,
                       k->noun, FEED_SECRET_MAX);
    for (size_t i = 0; i < n; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return err_set(e, V_INVALID, "config", 0,
                           "%s: the %s holds blanks, or what is no ASCII", label, k->noun);
    if (n < FEED_SECRET_SHORT)
        log_warn(k->is_short, LS("option", label));
    memcpy(out, text, n + 1);
    return V_OK;
}

static void look_at_mode(const struct kind *k, int fd, const char *path) {
    struct stat st;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & S_IROTH))
        log_warn(k->is_open, LS("file", path));
}

/* Up to the end of the file, but for the line break there. */
static ssize_t read_all(int fd, char *out, size_t max) {
    size_t n = 0;
    for (ssize_t got = 1; got != 0 && n < max;) {
        got = read(fd, out + n, max - n);
        if (got < 0 && errno != EINTR)
            return -1;
        n += got > 0 ? (size_t)got : 0;
    }
    while (n && (out[n - 1] == '\n' || out[n - 1] == '\r'))
        n--;
    return (ssize_t)n;
}

static enum verdict from_file(const struct kind *k, const char *path, const char *label, char *out,
                              struct err *e) {
    char text[FEED_SECRET_MAX + 8];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read_all(fd, text, sizeof text - 1);
    int code = errno;
    if (fd >= 0) {
        look_at_mode(k, fd, path);
        close(fd);
    }
    if (n < 0)
        return err_set(e, V_INVALID, "config", code, "%s: %s: %s", label, path, strerror(code));
    text[n] = '\0';
    if (n == 0 || strlen(text) != (size_t)n)
        return err_set(e, V_INVALID, "config", 0, "%s: %s holds no %s", label, path, k->noun);
    enum verdict v = take(k, text, label, out, e);
    explicit_bzero(text, sizeof text);
    return v;
}

static const char *file_of(enum secret which, const struct settings *s) {
    return which == SECRET_CDC_KEY ? s->cdc_key_file : s->links_token_file;
}

enum verdict secret_load(enum secret which, const struct settings *s,
                         const char *(*env)(const char *name), char out[FEED_SECRET_MAX + 1],
                         struct err *e) {
    const struct kind *k = &kinds[which];
    const char *text = env(k->variable), *file = file_of(which, s);
    bool by_flag = file && settings_origin(s, k->option) == ORIGIN_FLAG;
    out[0] = '\0';
    if (text && *text && !by_flag)
        return take(k, text, k->variable, out, e);
    if (!file)
        return V_OK;
    char label[200];
    settings_label(s, k->option, label, sizeof label);
    return from_file(k, file, label, out, e);
}
