/* The corpus as it is at this moment, past all counters and faults. */
#include "demo/reply.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK (64 * 1024)

struct truth {
    const struct corpus *corpus;
    int64_t next, hi;
    struct strbuf line;
    size_t sent; /* of the line */
};

static void free_truth(void *cls) {
    struct truth *t = cls;
    strbuf_release(&t->line);
    free(t);
}

static ssize_t read_truth(void *cls, uint64_t pos UNUSED, char *buf, size_t max) {
    struct truth *t = cls;
    size_t n = 0;
    while (n < max) {
        if (t->sent == t->line.n) {
            if (t->next > t->hi)
                break;
            strbuf_clear(&t->line);
            t->sent = 0;
            corpus_item(t->corpus, t->next++, &t->line);
            strbuf_addc(&t->line, '\n');
        }
        size_t left = t->line.n - t->sent, fits = left < max - n ? left : max - n;
        memcpy(buf + n, t->line.p + t->sent, fits);
        t->sent += fits;
        n += fits;
    }
    return n ? (ssize_t)n : MHD_CONTENT_READER_END_OF_STREAM;
}

enum MHD_Result reply_truth(struct MHD_Connection *c, const struct corpus *corpus, int64_t lo,
                            int64_t hi) {
    struct truth *t = xcalloc(1, sizeof *t);
    *t = (struct truth){.corpus = corpus, .next = lo, .hi = hi};
    strbuf_init(&t->line, CORPUS_ITEM_MAX + 1);
    struct MHD_Response *r =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_truth, t, free_truth);
    if (!r) {
        free_truth(t);
        return MHD_NO;
    }
    MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, "application/x-ndjson");
    enum MHD_Result queued = MHD_queue_response(c, MHD_HTTP_OK, r);
    MHD_destroy_response(r);
    return queued;
}
