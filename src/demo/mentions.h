/* Ids to be named on the streams of updates without having changed. */
#ifndef TAIN_DEMO_MENTIONS_H
#define TAIN_DEMO_MENTIONS_H

#include "base/attr.h"

#define MENTIONS_PER_FRAME 500

/* Names first, first + 1, ... (n of them), and that `repeat` times over. */
struct mentions {
    int64_t first, n, repeat; /* repeat 0: once */
    int per_frame;            /* ids in one frame; 0: MENTIONS_PER_FRAME */
    int spread_ms;            /* real milliseconds over which they come; 0: as fast as they can */
};

#endif
