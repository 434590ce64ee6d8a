#include "policy/health.h"

#define FIRST_PROBE_MS 500
#define MAX_PROBE_MS 15000

void health_init(struct health *h) {
    *h = (struct health){0};
}

static int64_t probe_wait_ms(int failed) {
    int64_t wait = FIRST_PROBE_MS;
    while (failed-- > 0 && wait < MAX_PROBE_MS)
        wait *= 2;
    return wait < MAX_PROBE_MS ? wait : MAX_PROBE_MS;
}

static bool rules(const struct health *h, int cls) {
    return h->by_class[cls] * 2 > h->n;
}

/* The class that makes the upstream ill, 0 when none does. Beyond the minimum only the class just
 * noted can have gained a share; at the minimum all of them are judged for the first time. */
static int ruling_class(const struct health *h, int noted) {
    if (h->n < HEALTH_MIN_RESULTS)
        return 0;
    if (h->n > HEALTH_MIN_RESULTS)
        return rules(h, noted) ? noted : 0;
    for (int cls = 1; cls < HEALTH_MAX_CLASSES; cls++)
        if (rules(h, cls))
            return cls;
    return 0;
}

static void fall_ill(struct health *h, int cls, int64_t now_ms, int64_t probe_in_ms) {
    h->ill = true;
    h->ill_class = (uint8_t)cls;
    h->ill_since_ms = now_ms;
    h->next_probe_ms = now_ms + probe_in_ms;
    h->probes = 0;
}

void health_suspect(struct health *h, int cls, int64_t now_ms) {
    if (!h->ill)
        fall_ill(h, cls, now_ms, 0);
}

bool health_note(struct health *h, int64_t id, int cls, int64_t now_ms) {
    if (h->ill)
        return false;
    if (cls < 0 || cls >= HEALTH_MAX_CLASSES)
        cls = HEALTH_MAX_CLASSES - 1;
    if (h->n == HEALTH_WINDOW)
        h->by_class[h->ring[h->next].cls]--;
    else
        h->n++;
    h->ring[h->next].id = id;
    h->ring[h->next].cls = (uint8_t)cls;
    h->by_class[cls]++;
    h->next = h->next + 1 < HEALTH_WINDOW ? h->next + 1 : 0;

    int ruling = ruling_class(h, cls);
    if (ruling == 0)
        return false;
    fall_ill(h, ruling, now_ms, probe_wait_ms(0));
    return true;
}

bool health_probe_due(const struct health *h, int64_t now_ms) {
    return h->ill && now_ms >= h->next_probe_ms;
}

void health_probe_failed(struct health *h, int64_t now_ms) {
    if (!h->ill)
        return;
    h->probes++;
    h->next_probe_ms = now_ms + probe_wait_ms(h->probes);
}

void health_recovered(struct health *h) {
    health_init(h);
}

int64_t health_ill_for_ms(const struct health *h, int64_t now_ms) {
    return h->ill && now_ms > h->ill_since_ms ? now_ms - h->ill_since_ms : 0;
}
