/* A configuration file: it is read, or refused with its name and words; no crash, nothing leaks,
 * and no password of it is in the words. */
#include "cli/options.h"
#include "fuzz_target.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *no_environment(const char *name UNUSED) {
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64];
    int fd = memfd_create("tain.conf", MFD_CLOEXEC);
    FUZZ_REQUIRE(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    char *words[] = {(char *)"--config", path};
    const struct option_source from = {2, words, no_environment};
    struct settings s;
    struct err e = {0};
    bool help = false;
    if (settings_load(&s, CMD_SERVE, "serve", &from, &help, &e) != V_OK) {
        FUZZ_REQUIRE(e.msg[0] && strstr(e.msg, path));
        FUZZ_REQUIRE(!strstr(e.msg, "://u:hunter2@"));
    }
    settings_release(&s);
    close(fd);
    return 0;
}
