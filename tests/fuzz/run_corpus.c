/* run_corpus FOLDER [N]: gives every file of the folder to the fuzz target, whole, cut off at N
 * places, and with N small changes drawn from a fixed seed. A target that fails aborts; the last
 * file named is the one it was given. */
#include "base/rng.h"
#include "fuzz_target.h"

#include <dirent.h>
#include <string.h>

#define FILE_MAX ((size_t)1 << 20)

/* A heap copy of the exact size, so that a sanitizer sees a read past its end. */
static void run(const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        abort();
    memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static void run_changed(struct rng *r, uint8_t *data, size_t size) {
    static const char likely[] = "{}[]\",:\\/?#&%=.u0 \xC3\xFF<>;'\r\n";
    size_t at = rng_below(r, size), n = 1 + rng_below(r, 8);
    switch (rng_below(r, 4)) {
    case 0:
        data[at] = (uint8_t)rng_next(r);
        break;
    case 1:
        data[at] = (uint8_t)likely[rng_below(r, sizeof likely - 1)];
        break;
    case 2: /* drop some bytes */
        n = n < size - at ? n : size - at;
        memmove(data + at, data + at + n, size - at - n);
        size -= n;
        break;
    default: /* repeat some bytes over what follows */
        n = n < (size - at) / 2 ? n : (size - at) / 2;
        memmove(data + at + n, data + at, n);
    }
    run(data, size);
}

static void run_file(const uint8_t *data, size_t size, unsigned long changes) {
    static uint8_t work[FILE_MAX];
    struct rng r = {.state = size};
    run(data, size);
    for (unsigned long i = 0; i < changes && size > 0; i++) {
        run(data, size * i / changes);
        memcpy(work, data, size);
        run_changed(&r, work, size);
    }
}

static int run_path(const char *path, unsigned long changes) {
    static uint8_t data[FILE_MAX];
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        return 1;
    }
    size_t size = fread(data, 1, sizeof data, f);
    fclose(f);
    fprintf(stderr, "%s\n", path);
    run_file(data, size, changes);
    return 0;
}

int main(int argc, char **argv) {
    struct dirent *entry;
    DIR *folder = argc > 1 ? opendir(argv[1]) : NULL;
    int files = 0, failed = 0;
    if (!folder) {
        fprintf(stderr, "usage: %s FOLDER [N]\n", argv[0]);
        return 2;
    }
    while ((entry = readdir(folder))) {
        char path[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
        failed |= run_path(path, argc > 2 ? strtoul(argv[2], NULL, 10) : 0);
        files++;
    }
    closedir(folder);
    return failed || files == 0;
}
