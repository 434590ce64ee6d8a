/* Whatever is posted: no crash. What is taken for a link has a URL and a source, fits its limits,
 * and is UTF-8 without a NUL; the parameters of a form are UTF-8 without control characters, and
 * lie within the body. */
#include "fuzz_target.h"
#include "web/link_body.h"
#include "web/server_int.h"

#include <string.h>

static void require_text(struct str s, size_t max, unsigned char least) {
    FUZZ_REQUIRE(s.n <= max);
    for (size_t i = 0, n; i < s.n; i += n) {
        n = utf8_len((const unsigned char *)s.p + i, s.n - i);
        FUZZ_REQUIRE(n > 0 && (unsigned char)s.p[i] >= least);
    }
}

static void read_json(struct str body) {
    struct arena a;
    struct link_add add;
    struct err e = {0};
    arena_init(&a);
    if (link_body_read(&a, body, &add, &e) == V_OK) {
        FUZZ_REQUIRE(add.url.n && add.source.n && !add.waiting);
        require_text(add.url, LINK_URL_MAX, 1);
        require_text(add.title, LINK_BODY_TITLE_MAX, 1);
        require_text(add.description, LINK_BODY_DESCRIPTION_MAX, 1);
        require_text(add.submitted_by, LINK_BODY_NAME_MAX, 1);
        require_text(add.source, LINK_BODY_SOURCE_MAX, '-');
    } else {
        FUZZ_REQUIRE(e.msg[0]);
    }
    arena_release(&a);
}

static void read_form(struct str body) {
    static struct call c;
    struct err e = {0};
    char *text = malloc(body.n + 1);
    FUZZ_REQUIRE(text);
    if (body.n)
        memcpy(text, body.p, body.n);
    text[body.n] = '\0';
    if (parse_form(&c, text, body.n, &e) == V_OK) {
        FUZZ_REQUIRE(c.n_params <= CALL_PARAMS_MAX);
        for (size_t i = 0; i < c.n_params; i++) {
            struct str name = c.params[i].name, value = c.params[i].value;
            FUZZ_REQUIRE(name.p >= text && value.p + value.n <= text + body.n);
            require_text(name, body.n, ' ');
            require_text(value, body.n, ' ');
        }
    } else {
        FUZZ_REQUIRE(e.msg[0]);
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct str body = {(const char *)data, size};
    read_json(body);
    read_form(body);
    return 0;
}
