/* Specs of faults, one a line, as they come by POST to the stand-in upstream: they are refused with
 * words, or strike with sound actions. */
#include "demo/faults.h"
#include "fuzz_target.h"

#include <string.h>

#define SPECS_MAX 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1), *rest = text;
    const char *specs[SPECS_MAX];
    size_t n = 0;
    FUZZ_REQUIRE(text);
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    while (n < SPECS_MAX && rest)
        specs[n++] = strsep(&rest, "\n");
    struct faults *f = NULL;
    struct err e = {0};
    if (faults_new(specs, n, 1, &clock_machine, &f, &e) == V_OK) {
        for (int64_t id = -3; id < 40; id++) {
            struct fault_action a = faults_take(f, id);
            FUZZ_REQUIRE(a.kind < FAULT_N_KINDS && a.delay_ms >= 0);
        }
        faults_free(f);
    } else {
        FUZZ_REQUIRE(e.msg[0]);
    }
    free(text);
    return 0;
}
