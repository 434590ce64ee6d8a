/* visit_page ALLOW URL [IDLE [CA]]: visits the URL as a stranger's, reads the article, and prints
 * what became of it as JSON. For tests. ALLOW is HOST:PORT, or "" for none. Time is no matter, but
 * for IDLE seconds of silence. CA is a file with certificates to be believed. */
#include "hn/article.h"
#include "net/http.h"

#include <stdio.h>
#include <stdlib.h>

static bool done;

static void print_field(struct strbuf *out, const char *name, struct str value) {
    strbuf_addf(out, ",\"%s\":", name);
    if (value.p)
        strbuf_add_json(out, value);
    else
        strbuf_adds(out, "null");
}

static void on_done(void *ctx, const struct http_result *r) {
    struct strbuf out;
    struct arena a;
    struct article article = {0};
    struct err e = {0};
    (void)ctx;
    done = true;
    arena_init(&a);
    strbuf_init(&out, (size_t)1 << 20);
    strbuf_addf(&out, "{\"class\":\"%s\",\"rule\":\"%s\",\"status\":%ld",
                visit_class_name(r->visit->cls), guard_rule_name(r->visit->rule), r->status);
    print_field(&out, "detail", str_of(r->detail));
    print_field(&out, "url", str_of(r->visit->url));
    enum verdict v = V_NOT_FOUND;
    if (r->visit->cls == VISIT_OK)
        v = article_read(r->body, str_of(r->visit->content_type), &a, &article, &e);
    print_field(&out, "article", r->visit->cls == VISIT_OK ? str_of(verdict_name(v)) : STR_NONE);
    print_field(&out, "title", article.title);
    print_field(&out, "text", article.text);
    print_field(&out, "charset", str_of(article.charset));
    printf("%s}\n", out.p);
    strbuf_release(&out);
    arena_release(&a);
}

int main(int argc, char **argv) {
    struct guard *g = NULL;
    struct http_client *c = NULL;
    struct err e = {0};
    if (argc < 3)
        return 2;
    const struct guard_options o = {
        .allow = argv[1], .timeout_ms = 600000, .idle_seconds = argc > 3 ? atol(argv[3]) : 600};
    const struct http_options h = {.clock = &clock_machine,
                                   .max_connections = 4,
                                   .user_agent = "tain-test",
                                   .ca_file = argc > 4 ? argv[4] : NULL,
                                   .connect_timeout_ms = 600000,
                                   .timeout_ms = 600000,
                                   .max_body = 1000};
    if (guard_new(&o, &g, &e) != V_OK || http_new(&h, &c, &e) != V_OK) {
        fprintf(stderr, "%s\n", e.msg);
        return 2;
    }
    const struct http_request r = {.url = argv[2], .guard = g};
    if (http_send(c, &r, NULL, &e) == V_OK) {
        while (!done)
            http_step(c, NO_DEADLINE, on_done, NULL);
    } else {
        printf("{\"class\":\"refused\",\"rule\":\"%s\"}\n",
               guard_rule_name((enum guard_rule)e.code));
    }
    http_free(c);
    guard_free(g);
    return 0;
}
