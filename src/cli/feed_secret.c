#include "cli/feed_secret.h"

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum verdict check(const char *text, const char *label, struct err *e) {
    size_t n = strlen(text);
    if (n > FEED_SECRET_MAX)
        return err_set(e, V_INVALID, "config", 0, "%s: the key is longer than %d characters", label,
                       FEED_SECRET_MAX);
    for (size_t i = 0; i < n; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return err_set(e, V_INVALID, "config", 0,
                           "%s: the key holds blanks, or what is no ASCII", label);
    if (n < FEED_SECRET_SHORT)
        log_warn("the key of the change feed is so short that it can be guessed",
                 LS("option", label));
    return V_OK;
}

static void look_at_mode(int fd, const char *path) {
    struct stat st;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & S_IROTH))
        log_warn("everyone on this machine can read the key of the change feed", LS("file", path));
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

static enum verdict from_file(const char *path, const char *label, char *out, struct err *e) {
    char text[FEED_SECRET_MAX + 8];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read_all(fd, text, sizeof text - 1);
    int code = errno;
    if (fd >= 0) {
        look_at_mode(fd, path);
        close(fd);
    }
    if (n < 0)
        return err_set(e, V_INVALID, "config", code, "%s: %s: %s", label, path, strerror(code));
    text[n] = '\0';
    if (n == 0 || strlen(text) != (size_t)n)
        return err_set(e, V_INVALID, "config", 0, "%s: %s holds no key", label, path);
    enum verdict v = check(text, label, e);
    if (v == V_OK)
        strcpy(out, text);
    explicit_bzero(text, sizeof text);
    return v;
}

enum verdict feed_secret_load(const struct settings *s, const char *(*env)(const char *name),
                              char out[FEED_SECRET_MAX + 1], struct err *e) {
    const char *text = env("TAIN_CDC_KEY");
    bool by_flag = s->cdc_key_file && settings_origin(s, "cdc-key-file") == ORIGIN_FLAG;
    out[0] = '\0';
    if (text && *text && !by_flag) {
        enum verdict v = check(text, "TAIN_CDC_KEY", e);
        if (v == V_OK)
            strcpy(out, text);
        return v;
    }
    if (!s->cdc_key_file)
        return V_OK;
    char label[200];
    settings_label(s, "cdc-key-file", label, sizeof label);
    return from_file(s->cdc_key_file, label, out, e);
}
