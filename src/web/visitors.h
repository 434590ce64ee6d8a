/* Who is connected: counts connections by address, and ends those that never come to the point.
 * A visitor belongs to the loop thread of its connection, the crowd to all of them. */
#ifndef TAIN_WEB_VISITORS_H
#define TAIN_WEB_VISITORS_H

#include "web/server_int.h"

#define HEARING_MS 60000 /* from the connection, or the last answer, to the end of the headers */
#define ANSWER_MS 600000 /* for taking an answer that is no stream */

struct crowd *crowd_new(int max_per_address);
void crowd_free(struct crowd *c); /* NULL is fine */

/* Callbacks of the HTTP library; the argument is the loop. */
enum MHD_Result visitor_admit(void *loop, const struct sockaddr *address, socklen_t n);
void visitor_notify(void *loop, struct MHD_Connection *connection, void **visitor,
                    enum MHD_ConnectionNotificationCode what);

void visitor_heard(struct MHD_Connection *connection);  /* its headers are complete */
void visitor_served(struct MHD_Connection *connection); /* its answer is sent */
/* A connection that leaves the HTTP library goes on being counted by its address, if it is: then
 * *ret is what crowd_leave() wants when it ends. Any thread. */
bool crowd_stay(struct web *w, const struct sockaddr *address, unsigned char ret[16]);
void crowd_leave(struct web *w, const unsigned char address[16]);
/* Once a second: shuts down whoever is too slow. */
void visitors_tick(struct loop *l);

#endif
