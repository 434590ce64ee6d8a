/* An address of a database, whatever it is: no crash, and no password is left where one was seen.
 * The input is the address; then it is the password of one that is written as it should be, which
 * must be gone from the address and from a text that repeats it. */
#include "db/secret.h"
#include "fuzz_target.h"

#include <string.h>

#define MAX 100000

static bool is_sound(const char *p, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$", p[i]))
            return false;
    return n >= 8 && !strstr("postgresql://", p); /* or it stands in the rest of the address */
}

static void redact(const char *uri, const char *password) {
    CLEANUP(strbuf_release) struct strbuf clean, said;
    strbuf_init(&clean, MAX);
    strbuf_init(&said, MAX);
    secret_redact(uri, &clean);
    FUZZ_REQUIRE(!clean.overflow);
    if (secret_is_in(uri))
        FUZZ_REQUIRE(strstr(clean.p, "***"));
    strbuf_addf(&said, "cannot connect: \"%s\" was refused", password ? password : uri);
    secret_hide_all(uri, &said);
    if (!password)
        return;
    FUZZ_REQUIRE(secret_is_in(uri) && !secret_is_careless(uri));
    FUZZ_REQUIRE(!strstr(clean.p, password) && !strstr(said.p, password));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const forms[] = {"postgres://u:%s@h:5/d", "postgresql://h/d?password=%s&x=1",
                                        "host=h password=%s dbname=d"};
    char *text = malloc(size + 1);
    FUZZ_REQUIRE(text);
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    redact(text, NULL);
    for (size_t i = 0; i < ARRAY_LEN(forms) && is_sound(text, strlen(text)); i++) {
        if (strstr(forms[i], text))
            continue;
        size_t n = size + 100;
        char *uri = malloc(n), *at = strstr(forms[i], "%s");
        FUZZ_REQUIRE(uri);
        snprintf(uri, n, "%.*s%s%s", (int)(at - forms[i]), forms[i], text, at + 2);
        redact(uri, text);
        free(uri);
    }
    free(text);
    return 0;
}
