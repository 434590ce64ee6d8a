/* Links in a few words: to add one, take what is next, and say what came of it. */
#ifndef TAIN_TESTS_CONTRACT_FIXTURE_LINKS_H
#define TAIN_TESTS_CONTRACT_FIXTURE_LINKS_H

#include "fixture.h"

#include "store/links_work.h"

#define LEASE_OF_LINKS INT64_C(60000)

/* Adds a URL that someone (NULL: nobody, 'auto') asked for; answers its id. */
int64_t add_link(struct fix *f, const char *url, const char *by, bool waiting);
/* An article of example.com that is called so. */
int64_t add_page(struct fix *f, const char *name, const char *by, bool waiting);
/* What is next in a lane; id 0: nothing. */
struct link_job take_link(struct fix *f, struct store *s, enum link_lane lane);
/* Its id alone. */
int64_t next_link(struct fix *f, enum link_lane lane);
enum verdict save_link(struct store *s, const struct link_job *job, enum link_status status);
enum verdict save_found(struct store *s, const struct link_job *job, const char *external_id);
enum verdict land_link(struct store *s, const struct link_job *job, const char *article,
                       int64_t *ret_article);
struct link_discussion a_thread(enum link_site site, const char *external_id);
/* "reverse|reddit|hn|summary" of a link. */
const char *states_of(struct fix *f, int64_t id);
/* "source|parent" of a link. */
const char *source_of(struct fix *f, int64_t id);

#endif
