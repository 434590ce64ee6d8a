/* Recorded answers of providers, where they are at hand. Not together with hn/json_read.h, whose
 * names are also those of jansson. */
#ifndef TAIN_TESTS_ENRICH_RECORDED_H
#define TAIN_TESTS_ENRICH_RECORDED_H

#include "heard.h"
#include "shared_data.h"

#include <jansson.h>

/* A file of recorded data; NULL: not at hand. To be given to json_decref(). */
static inline json_t *recorded(const char *name) {
    FILE *f = shared_data_open("cat", name);
    json_error_t error;
    if (!f)
        return NULL;
    json_t *all = json_loadf(f, 0, &error);
    pclose(f);
    return all;
}

/* One entry of a file of exchanges, its texts in the arena. */
static inline struct heard heard_recorded(const json_t *entry, struct arena *a) {
    json_t *headers = json_object_get(entry, "headers"), *body = json_object_get(entry, "body");
    struct strbuf b;
    struct heard h = heard(
        (long)json_integer_value(json_object_get(json_object_get(entry, "status"), "code")), NULL);
    strbuf_init(&b, 1 << 20);
    for (void *i = json_object_iter(headers); i; i = json_object_iter_next(headers, i))
        strbuf_addf(&b, "%s: %s\r\n", json_object_iter_key(i),
                    json_string_value(json_object_iter_value(i)));
    h.headers = arena_str(a, strbuf_str(&b));
    strbuf_release(&b);
    char *text = json_is_string(body) ? NULL : json_dumps(body, JSON_ENCODE_ANY);
    h.body = arena_str(a, str_of(text ? text : json_string_value(body)));
    free(text);
    return h;
}

#endif
