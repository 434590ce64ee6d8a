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
    const char *name;
    json_t *value, *body = json_object_get(entry, "body");
    struct strbuf b;
    struct heard h = heard(
        (long)json_integer_value(json_object_get(json_object_get(entry, "status"), "code")), NULL);
    strbuf_init(&b, 1 << 20);
    json_object_foreach(json_object_get(entry, "headers"), name, value)
        strbuf_addf(&b, "%s: %s\r\n", name, json_string_value(value));
    h.headers = arena_str(a, strbuf_str(&b));
    strbuf_release(&b);
    char *text = json_is_string(body) ? NULL : json_dumps(body, JSON_ENCODE_ANY);
    h.body = arena_str(a, str_of(text ? text : json_string_value(body)));
    free(text);
    return h;
}

#endif
