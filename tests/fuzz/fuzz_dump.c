/* A dump, plain or compressed: its lines come in order and without their ends, none is longer than
 * promised, and what is broken ends it with words. What the lines hold is for item_json and
 * user. */
#include "fuzz_target.h"
#include "mirror/dump_read.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LINES_MAX 20000 /* of a bomb */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64];
    int fd = memfd_create("dump", MFD_CLOEXEC);
    FUZZ_REQUIRE(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct stop_token stop;
    struct err e = {0};
    struct dump_reader *r = NULL;
    FUZZ_REQUIRE(stop_init(&stop, &e) == V_OK);
    const struct dump_read_options o = {.path = path, .digest = true, .stop = &stop};
    enum verdict v = dump_open(&o, &r, &e);
    struct dump_line line;
    int64_t at = 0;
    for (int i = 0; v == V_OK && i < LINES_MAX; i++) {
        v = dump_next(r, &line, &e);
        if (v != V_OK)
            break;
        FUZZ_REQUIRE(line.text.n <= DUMP_LINE_MAX && !memchr(line.text.p, '\n', line.text.n));
        FUZZ_REQUIRE(dump_text_bytes(r) > at);
        at = dump_text_bytes(r);
    }
    FUZZ_REQUIRE(v == V_OK || v == V_NOT_FOUND || v == V_INVALID);
    FUZZ_REQUIRE(v != V_INVALID || e.msg[0]);
    dump_close(r);
    stop_release(&stop);
    close(fd);
    return 0;
}
