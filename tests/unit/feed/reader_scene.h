/* The reader with a clock that is moved by hand, over a database in memory; one at a time. */
#ifndef TAIN_TESTS_READER_SCENE_H
#define TAIN_TESTS_READER_SCENE_H

#include "fake_log.h"

#include "feed/feed_metrics.h"
#include "feed/reader_int.h"

#define EPOCH 1000

extern struct clock now;
extern struct feed_hub *hub;
extern struct feed_reader *reader;
extern struct feed_client *client; /* from now on, of everything; `bell` counts */
extern int bell;

int begin(void **state); /* before each test, and after it */
int end(void **state);
/* The reader, with these options; NULL: none. */
void set_up(const struct feed_options *extra);
int step(void); /* answers how long it waits */
/* Steps and waits as the thread does, for so long. */
void live(int64_t ms);
void receives(int64_t pos);
void gets_nothing(void);
/* Of a diary of the log: how often, and what came first. */
size_t times(const char *diary, char what);
void assert_before(const char *diary, char first, char second);

#endif
