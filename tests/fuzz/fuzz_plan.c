/* Whatever stands in a file of sources and providers: it is read, or refused with the file's name
 * and without what the environment holds; and what was read makes sound requests. */
#include "enrich/plan.h"
#include "fuzz_target.h"
#include "hn/json_read.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SECRET "s3cret-v4lue"

static const char *env(const char *name) {
    return strncmp(name, "NO", 2) == 0 ? NULL : SECRET;
}

static void require_json(struct str text, struct arena *a) {
    struct json_read r;
    json_read_init(&r, a, text);
    json_skip(&r);
    FUZZ_REQUIRE(json_at_end(&r));
}

/* A row with every column that the request names, each with something nasty. */
static struct str row_for(const struct plan_source *s, struct arena *a) {
    struct strbuf b;
    strbuf_init(&b, 100000);
    strbuf_addc(&b, '{');
    for (size_t i = 0; i < s->spec.n_inputs; i++) {
        strbuf_adds(&b, i ? "," : "");
        strbuf_add_json(&b, s->spec.inputs[i]);
        strbuf_adds(&b, i % 2 ? ":null" : ":\"\\\"}],\\u0000\xFF{x}\"");
    }
    strbuf_addc(&b, '}');
    struct str row = arena_str(a, strbuf_str(&b));
    strbuf_release(&b);
    return row;
}

static void require_source(const struct enrich_plan *p, const struct plan_source *s,
                           struct arena *a) {
    struct str path, body;
    struct err e;
    FUZZ_REQUIRE(s->provider >= p->providers && s->provider < p->providers + p->n_providers);
    FUZZ_REQUIRE(s->spec.n_outputs == s->answer.n_map && s->max_attempts > 0);
    enum verdict v = request_fill(&s->request, row_for(s, a), a, &path, &body, &e);
    FUZZ_REQUIRE(v == V_OK || v == V_LIMIT || v == V_INVALID);
    if (v != V_OK)
        return;
    FUZZ_REQUIRE(path.n > 0 && path.p[0] == '/' && strlen(path.p) == path.n);
    for (size_t i = 0; i < path.n; i++)
        FUZZ_REQUIRE(path.p[i] > ' ' && path.p[i] <= '~');
    if (body.p)
        require_json(body, a);
}

static void require_plan(const struct enrich_plan *p, struct arena *a) {
    FUZZ_REQUIRE(p->n_sources > 0);
    for (size_t i = 0; i < p->n_providers; i++)
        for (size_t h = 0; h < p->providers[i].n_headers; h++)
            FUZZ_REQUIRE(!memchr(p->providers[i].headers[h].p, '\n', p->providers[i].headers[h].n));
    for (size_t i = 0; i < p->n_sources; i++)
        require_source(p, &p->sources[i], a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct enrich_plan plan;
    static int fd = -1;
    char path[64];
    struct arena a;
    struct err e = {0};
    if (fd < 0)
        fd = memfd_create("plan", MFD_CLOEXEC);
    FUZZ_REQUIRE(fd >= 0 && ftruncate(fd, 0) == 0);
    FUZZ_REQUIRE(pwrite(fd, data, size, 0) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    arena_init(&a);
    enum verdict v = plan_read(path, env, &a, &plan, &e);
    if (v == V_OK) {
        require_plan(&plan, &a);
    } else {
        FUZZ_REQUIRE(v == V_INVALID && strncmp(e.msg, path, strlen(path)) == 0);
        FUZZ_REQUIRE(!strstr(e.msg, "s3cr") || memmem(data, size, "s3cr", 4));
        for (const char *p = e.msg; *p; p++)
            FUZZ_REQUIRE((unsigned char)*p >= ' ' && *p != 0x7F);
    }
    arena_release(&a);
    return 0;
}
