/* The controls that change something: they read their arguments and leave the rest to steer.c. */
#include "demo/control_int.h"
#include "demo/frames.h"

#include <string.h>

#define QUIET_IS "quiet is 0 or 1"

enum MHD_Result control_maxitem(struct request *r) {
    int64_t value;
    bool quiet;
    if (!control_number(r, "value", 0, CORPUS_MAX_ID, -1, &value) || value < 0)
        return control_bad(r, "value is not a possible maxitem");
    if (!control_flag(r, "quiet", &quiet))
        return control_bad(r, QUIET_IS);
    demo_set_maxitem(r->demo, value, quiet);
    return CONTROL_FIGURES(r, {"maxitem", value});
}

static bool change_named(const char *name, enum corpus_change *ret) {
    static const char *const NAMES[] = {"any", "edit", "score", "dead", "delete", "restore"};
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++)
        if (strcmp(name ? name : "any", NAMES[i]) == 0) {
            *ret = (enum corpus_change)i;
            return true;
        }
    return false;
}

/* The part that both ways to mutate have in common. */
static enum MHD_Result mutate(struct request *r, int64_t lo, int64_t hi, int64_t *ret_changed) {
    enum corpus_change how;
    bool quiet;
    struct err e;
    if (!change_named(control_argument(r, "how"), &how))
        return control_bad(r, "how names no change");
    if (!control_flag(r, "quiet", &quiet))
        return control_bad(r, QUIET_IS);
    enum verdict v = demo_mutate(r->demo, lo, hi, how, quiet, ret_changed, &e);
    if (v != V_OK)
        return control_refuse(r, v, &e);
    if (lo < hi)
        return CONTROL_FIGURES(r, {"changed", *ret_changed});
    return CONTROL_FIGURES(r, {"id", lo}, {"version", corpus_version(r->demo->corpus, lo)});
}

enum MHD_Result control_mutate(struct request *r) {
    int64_t id, changed;
    if (!str_to_i64(str_of(control_argument(r, "id")), &id))
        return control_bad(r, "id is not a number");
    return mutate(r, id, id, &changed);
}

enum MHD_Result control_mutate_range(struct request *r) {
    int64_t lo, hi, changed;
    if (!control_number(r, "lo", 1, CORPUS_MAX_ID, -1, &lo) || lo < 1 ||
        !control_number(r, "hi", lo, CORPUS_MAX_ID, -1, &hi) || hi < lo)
        return control_bad(r, "lo and hi are not possible ids");
    return mutate(r, lo, hi, &changed);
}

enum MHD_Result control_mutate_user(struct request *r) {
    const char *name = control_argument(r, "name");
    bool quiet;
    struct err e;
    if (!name)
        return control_bad(r, "name is missing");
    if (!control_flag(r, "quiet", &quiet))
        return control_bad(r, QUIET_IS);
    enum verdict v = demo_mutate_user(r->demo, name, quiet, &e);
    return v == V_OK ? CONTROL_FIGURES(r, {"changed", 1}) : control_refuse(r, v, &e);
}

enum MHD_Result control_mention(struct request *r) {
    struct mentions m;
    int64_t per_frame, spread_ms;
    struct err e;
    if (!control_number(r, "from", 1, CORPUS_MAX_ID, -1, &m.first) || m.first < 1 ||
        !control_number(r, "n", 1, CORPUS_MAX_ID, 1, &m.n) ||
        !control_number(r, "repeat", 1, INT64_MAX, 1, &m.repeat) ||
        !control_number(r, "per_frame", 1, FRAME_IDS, MENTIONS_PER_FRAME, &per_frame) ||
        !control_number(r, "spread_ms", 0, INT32_MAX, 0, &spread_ms))
        return control_bad(r, "from, n, repeat, per_frame or spread_ms makes no sense");
    m.per_frame = (int)per_frame;
    m.spread_ms = (int)spread_ms;
    enum verdict v = demo_mention(r->demo, &m, &e);
    return v == V_OK ? CONTROL_FIGURES(r, {"mentions", m.n * m.repeat}) : control_refuse(r, v, &e);
}

enum MHD_Result control_stream(struct request *r) {
    enum stream_deed deed;
    const char *name = control_argument(r, "do");
    if (!stream_deed_named(str_of(name), &deed))
        return control_bad(r, "do names nothing that can be done to a stream");
    int64_t open = r->demo->stats.streams_open;
    demo_stream_do(r->demo, deed);
    return CONTROL_FIGURES(r, {"streams_open", open});
}

enum MHD_Result control_down(struct request *r) {
    int64_t value;
    if (!control_number(r, "value", 0, 1, -1, &value) || value < 0)
        return control_bad(r, "value is 0 or 1");
    demo_set_down(r->demo, value == 1);
    return CONTROL_FIGURES(r, {"down", value});
}
