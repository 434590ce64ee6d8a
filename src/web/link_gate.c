#include "web/link_gate.h"

#include "web/feed_key.h"
#include "web/server.h"
#include "web/turnstile.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COOKIE "tain_links"
#define COOKIE_YEAR_S 31536000
#define DIGEST_N 32

static struct str token_of(const struct call *c) {
    return str_of(web_options(c->web)->links_token);
}

/* What the cookie holds in the token's place: who reads it cannot add links as a program. */
static void make_ticket(struct str token, char out[2 * DIGEST_N + 1]) {
    static const char digits[] = "0123456789abcdef", purpose[] = "tain links cookie ";
    unsigned char text[sizeof purpose + WEB_TOKEN_MAX], hash[EVP_MAX_MD_SIZE];
    size_t n = sizeof purpose - 1, more = token.n < WEB_TOKEN_MAX ? token.n : WEB_TOKEN_MAX;
    memcpy(text, purpose, n);
    memcpy(text + n, token.p, more);
    if (!EVP_Digest(text, n + more, hash, NULL, EVP_sha256(), NULL))
        abort();
    for (int i = 0; i < DIGEST_N; i++) {
        out[2 * i] = digits[hash[i] >> 4];
        out[2 * i + 1] = digits[hash[i] & 15];
    }
    out[2 * DIGEST_N] = '\0';
    explicit_bzero(text, sizeof text);
}

static bool has_ticket(const struct call *c, struct str token) {
    char ticket[2 * DIGEST_N + 1];
    struct str given = call_cookie(c, COOKIE);
    if (!given.p)
        return false;
    make_ticket(token, ticket);
    return feed_key_equals(str_of(ticket), given);
}

static void give_ticket(struct call *c, struct str token) {
    char ticket[2 * DIGEST_N + 1], text[200];
    bool secure = str_eqc(call_header(c, "X-Forwarded-Proto"), "https");
    make_ticket(token, ticket);
    snprintf(text, sizeof text, COOKIE "=%s; Path=/; Max-Age=%d; HttpOnly; SameSite=Lax%s", ticket,
             COOKIE_YEAR_S, secure ? "; Secure" : "");
    c->set_cookie = arena_str(c->arena, str_of(text));
}

static bool has_bearer(const struct call *c, struct str token) {
    return feed_key_equals(token, bearer_of(call_header(c, "Authorization")));
}

bool link_gate_asks(const struct call *c) {
    struct str token = token_of(c);
    const struct web_options *o = web_options(c->web);
    return o->write_store.uri && o->exposed && token.p && !has_ticket(c, token);
}

bool link_gate_is_open(const struct call *c) {
    struct str token = token_of(c);
    const struct web_options *o = web_options(c->web);
    return o->write_store.uri && (!o->exposed || (token.p && has_ticket(c, token)));
}

static int refuse(struct err *e, int status, const char *text) {
    (void)err_set(e, V_INVALID, "http", 0, "%s", text);
    return status;
}

static int check_token(struct call *c, struct err *e) {
    struct str token = token_of(c), typed = call_param(c, LINK_TOKEN_FIELD);
    if (!web_options(c->web)->exposed)
        return 0;
    if (!token.p)
        return refuse(e, 403,
                      "This server can be reached from other machines, so adding links needs a "
                      "token: start it with TAIN_LINKS_TOKEN, or --links-token-file FILE.");
    if (has_bearer(c, token) || has_ticket(c, token))
        return 0;
    if (feed_key_equals(token, typed)) {
        give_ticket(c, token);
        return 0;
    }
    return refuse(e, 403,
                  typed.n ? "That is not the token of this server."
                          : "Adding links here needs the token of this server; /add asks for it.");
}

static int check_turn(struct call *c, struct err *e) {
    unsigned char client[16];
    if (!call_client(c, client))
        return 0;
    int64_t wait = turnstile_pass(web_turns(c->web), client, clock_mono(web_clock(c->web)));
    if (wait == 0)
        return 0;
    c->retry_after = (int)((wait + 999) / 1000);
    (void)err_set(e, V_LIMIT, "http", 0,
                  "%d a minute are enough for one address; try again in %d s.", LINK_TURNS,
                  c->retry_after);
    return 429;
}

int link_gate_pass(struct call *c, struct err *e) {
    int status = check_token(c, e);
    return status ? status : check_turn(c, e);
}

int link_gate_token(const struct call *c, struct err *e) {
    struct str token = token_of(c);
    if (!token.p)
        return refuse(e, 403,
                      "Programs may add links here when the server has a token: start it with "
                      "TAIN_LINKS_TOKEN, or --links-token-file FILE.");
    if (!has_bearer(c, token))
        return refuse(e, 401, "Send the token of this server: Authorization: Bearer TOKEN");
    return 0;
}
