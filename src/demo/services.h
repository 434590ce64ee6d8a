/* The services behind links, made up: Reddit, HN Search, Anthropic, and the sites of articles, in
 * the shapes of the real ones, about the articles that the corpus knows. They take their time, and
 * each is ill now and then, so that whoever watches a link sees all that can become of it. They
 * answer at the demo's own port: below /services, and to names below .localhost. */
#ifndef TAIN_DEMO_SERVICES_H
#define TAIN_DEMO_SERVICES_H

#include "demo/server.h"

#define DEMO_KEY "demo" /* where a program wants credentials; the stand-ins know no other */

/* Prints what `tain up` and `tain enrich` need in their environment to find them, as lines for a
 * shell, and a few addresses that are worth adding, as comments. */
void demo_services_tell(struct demo *d, FILE *out);

#endif
