/* What can befall an open event stream: deeds (it is closed, cut, falls silent, ...), done by a
 * rule after a while or by a control at once, and forms, which change how every frame looks on the
 * wire. Pure functions over text; the hub (demo/stream.h) does the deeds. */
#ifndef TAIN_DEMO_STREAM_FAULTS_H
#define TAIN_DEMO_STREAM_FAULTS_H

#include "base/attr.h"
#include "base/str.h"

enum stream_deed {
    DEED_NONE,
    DEED_DROP,           /* closed in good order after the frame that is under way */
    DEED_RESET,          /* RST */
    DEED_SILENCE,        /* not another frame, no keep-alive; the connection stays open */
    DEED_WAKE,           /* ends a silence: what was held back is sent */
    DEED_KEEP_ALIVE,     /* that event, now */
    DEED_CANCEL,         /* that event, then closed */
    DEED_AUTH_REVOKED,   /* likewise */
    DEED_GARBAGE,        /* something that is no event or no JSON, now */
    DEED_MIDFRAME,       /* the next frame is cut in the middle; then silence */
    DEED_MIDFRAME_CLOSE, /* the same, then closed */
    N_DEEDS
};

enum stream_form {
    FORM_CRLF = 1,
    FORM_BOM = 2,      /* before the first frame */
    FORM_COMMENTS = 4, /* before each frame and inside it */
    FORM_SPLIT = 8,    /* a few bytes at a time */
    FORM_GARBAGE = 16, /* after each frame */
    FORM_REDIRECT = 32 /* the stream is to be had under another host name and path only */
};

struct stream_fault {
    enum stream_deed deed; /* DEED_NONE: it just goes on */
    int64_t after_ms;      /* counted from when the stream was opened */
    unsigned forms;        /* of enum stream_form */
};

/* "drop", "keep-alive", ...: as the control names them. False: there is no such deed. */
bool stream_deed_named(struct str name, enum stream_deed *ret);

/* Appends one frame in the wanted forms. `turn` picks the kind of garbage. */
void stream_dress(unsigned forms, uint64_t turn, struct str frame, struct strbuf *out);
/* Only the garbage, in the same line endings. */
void stream_garbage(unsigned forms, uint64_t turn, struct strbuf *out);

#endif
