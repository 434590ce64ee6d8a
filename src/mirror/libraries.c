#include "mirror/libraries.h"

#include <zstd.h>

const char *mirror_zstd_version(void) {
    return ZSTD_versionString();
}
