/* Recorded real data, where there is any: in $TAIN_SHARED_DATA, or in ../shared/data beside the
 * checkout. A test that finds none passes without it. */
#ifndef TAIN_TESTS_HN_SHARED_DATA_H
#define TAIN_TESTS_HN_SHARED_DATA_H

#include "base/attr.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Runs `command` (such as "gzip -dc") with the first file that fits `name`, a glob pattern, as its
 * input. NULL when there is none. Close with pclose(). */
static inline FILE *shared_data_open(const char *command, const char *name) {
    const char *folder = getenv("TAIN_SHARED_DATA");
    char pattern[1024], line[2048];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/%s", folder ? folder : TAIN_SOURCE_ROOT "/../shared/data",
             name);
    if (glob(pattern, 0, NULL, &found) != 0)
        return NULL;
    snprintf(line, sizeof line, "%s < '%s'", command, found.gl_pathv[0]);
    globfree(&found);
    return popen(line, "r");
}

#endif
