/* Who may write what concerns links. A server that listens on loopback only believes whoever can
 * reach it; one that others reach wants the token: as a bearer, as the field `token` of a form, or
 * as the cookie that a form with the right one gets, so that it is typed once. And each client has
 * so many turns a minute. Thread of writing; what pages ask on any. */
#ifndef TAIN_WEB_LINK_GATE_H
#define TAIN_WEB_LINK_GATE_H

#include "web/call.h"

#define LINK_TURNS 30 /* in a minute, of one address; this machine itself has no limit */
#define LINK_TOKEN_FIELD "token"

/* Does a form on this page need a field for the token? */
bool link_gate_asks(const struct call *c);
/* May whoever reads this page write, and needs nothing more for it? Where neither is so, nobody can
 * write by a page of this server. */
bool link_gate_is_open(const struct call *c);
/* 0: it may write. Else the status of the refusal, and why in e; of 429 it sets retry_after. */
int link_gate_pass(struct call *c, struct err *e);
/* The same for programs, which always need the token and have no limit. */
int link_gate_token(const struct call *c, struct err *e);

#endif
