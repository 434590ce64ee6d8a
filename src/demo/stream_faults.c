#include "demo/stream_faults.h"

#include <string.h>

static const char *const DEED_NAMES[N_DEEDS] = {
    "none",   "drop",         "reset",   "silence",  "wake",           "keep-alive",
    "cancel", "auth_revoked", "garbage", "midframe", "midframe-close",
};

/* One that is no event at all, JSON that ends too early, what a proxy says, bytes that are no
 * text, JSON of another shape, an event nobody knows, and one without data. None names an id. */
static const char *const GARBAGE[] = {
    "lorem ipsum\nno-such-field: 1\n\n",
    "event: put\ndata: {\"path\":\"/\",\"data\":{\"items\":[\n\n",
    "event: put\ndata: <html><body><h1>502 Bad Gateway</h1></body></html>\n\n",
    "event: patch\ndata: \xff\xfe\x01{]\n\n",
    "event: put\ndata: {\"path\":\"/\",\"data\":{\"items\":\"none\",\"profiles\":[{}]}}\n\n",
    "event: unheard-of\ndata: {\"path\":\"/elsewhere\",\"data\":true}\n\n",
    "event: put\ndata\n\n",
};

bool stream_deed_named(struct str name, enum stream_deed *ret) {
    for (int i = DEED_DROP; i < N_DEEDS; i++)
        if (str_eqc(name, DEED_NAMES[i])) {
            *ret = (enum stream_deed)i;
            return true;
        }
    return false;
}

static void add_lines(unsigned forms, struct str text, bool comments, struct strbuf *out) {
    const char *eol = forms & FORM_CRLF ? "\r\n" : "\n";
    for (size_t at = 0; at < text.n;) {
        const char *end = memchr(text.p + at, '\n', text.n - at);
        size_t n = end ? (size_t)(end - text.p) - at : text.n - at;
        strbuf_add(out, text.p + at, n);
        if (!end)
            return;
        strbuf_adds(out, eol);
        if (comments && at == 0) { /* between the event and its data */
            strbuf_adds(out, ":data: 1");
            strbuf_adds(out, eol);
        }
        at += n + 1;
    }
}

void stream_garbage(unsigned forms, uint64_t turn, struct strbuf *out) {
    add_lines(forms, str_of(GARBAGE[turn % ARRAY_LEN(GARBAGE)]), false, out);
}

void stream_dress(unsigned forms, uint64_t turn, struct str frame, struct strbuf *out) {
    bool comments = forms & FORM_COMMENTS;
    if (!(forms & (FORM_CRLF | FORM_COMMENTS | FORM_GARBAGE))) {
        strbuf_add_str(out, frame);
        return;
    }
    if (comments)
        add_lines(forms, STR(": all is well\n:\n\n"), false, out);
    add_lines(forms, frame, comments, out);
    if (forms & FORM_GARBAGE)
        stream_garbage(forms, turn, out);
}
