#include "mirror/digest.h"

#include <ctype.h>
#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIDECAR_LINES_MAX 10000

struct sha256 {
    EVP_MD_CTX *ctx;
};

/* The library fails here only for want of memory, or of SHA-256 itself. */
static void demand(int ok) {
    if (ok == 1)
        return;
    fputs("tain: the cryptographic library has no SHA-256\n", stderr);
    abort();
}

struct sha256 *sha256_new(void) {
    struct sha256 *s = xcalloc(1, sizeof *s);
    s->ctx = EVP_MD_CTX_new();
    demand(s->ctx != NULL);
    demand(EVP_DigestInit_ex(s->ctx, EVP_sha256(), NULL));
    return s;
}

void sha256_free(struct sha256 *s) {
    if (!s)
        return;
    EVP_MD_CTX_free(s->ctx);
    free(s);
}

void sha256_add(struct sha256 *s, const void *bytes, size_t n) {
    demand(EVP_DigestUpdate(s->ctx, bytes, n));
}

void sha256_end(struct sha256 *s, char ret_hex[SHA256_HEX]) {
    unsigned char raw[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    demand(EVP_DigestFinal_ex(s->ctx, raw, &n));
    for (unsigned i = 0; i < (SHA256_HEX - 1) / 2; i++)
        snprintf(ret_hex + 2 * i, 3, "%02x", raw[i]);
}

const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void checksum_line(struct strbuf *out, const char *path, const char *hex) {
    strbuf_addf(out, "%s  %s\n", hex, base_name(path));
}

/* "HEX  NAME" or "HEX *NAME"; a bare "HEX" is good for any name. */
static bool line_is_for(char *line, const char *name, char ret_hex[SHA256_HEX]) {
    line[strcspn(line, "\r\n")] = '\0';
    size_t n = strspn(line, "0123456789abcdefABCDEF");
    if (n != SHA256_HEX - 1)
        return false;
    const char *named = line + n + strspn(line + n, " *");
    if (*named && (named == line + n || strcmp(base_name(named), name) != 0))
        return false;
    for (size_t i = 0; i < n; i++)
        ret_hex[i] = (char)tolower((unsigned char)line[i]);
    ret_hex[n] = '\0';
    return true;
}

enum verdict checksum_of(const char *path, char ret_hex[SHA256_HEX], struct err *e) {
    char sidecar[4200], line[4500];
    if ((size_t)snprintf(sidecar, sizeof sidecar, "%s.sha256", path) >= sizeof sidecar)
        return err_set(e, V_NOT_FOUND, "checksum", 0, "the path is too long");
    FILE *file = fopen(sidecar, "re");
    if (!file && errno == ENOENT)
        return err_set(e, V_NOT_FOUND, "checksum", ENOENT, "there is no %.300s", sidecar);
    if (!file)
        return err_set(e, V_INVALID, "checksum", errno, "%.300s: %s", sidecar, strerror(errno));
    bool found = false;
    for (int i = 0; i < SIDECAR_LINES_MAX && !found && fgets(line, sizeof line, file); i++)
        found = line_is_for(line, base_name(path), ret_hex);
    fclose(file);
    return found ? V_OK
                 : err_set(e, V_INVALID, "checksum", 0, "%.300s has no checksum for %.100s",
                           sidecar, base_name(path));
}
