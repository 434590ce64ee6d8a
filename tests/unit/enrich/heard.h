/* Answers of providers, for tests: by status, and forms that none of them means. */
#ifndef TAIN_TESTS_ENRICH_HEARD_H
#define TAIN_TESTS_ENRICH_HEARD_H

#include "enrich/ask.h"

/* An answer as the client hands it on. */
static inline struct heard heard(long status, const char *body) {
    return (struct heard){.cls = net_classify(0, status),
                          .status = status,
                          .retry_after_ms = -1,
                          .body = str_of(body)};
}

static inline struct heard heard_cls(enum net_class cls) {
    return (struct heard){.cls = cls, .retry_after_ms = -1, .detail = "it broke"};
}

/* A call that never got an answer, or a whole one. */
static const enum net_class failures[] = {NET_TIMEOUT,   NET_CONNECT,   NET_DNS,      NET_TLS,
                                          NET_RESET,     NET_TRUNCATED, NET_REDIRECT, NET_PROTOCOL,
                                          NET_TOO_LARGE, NET_OTHER};
/* Bodies that no provider means, with a status that says that all is well. */
static const char *const garbage[] = {
    "",
    " ",
    "null",
    "true",
    "17",
    "\"text\"",
    "{}",
    "[]",
    "[{}]",
    "[null]",
    "<html><body>It works!</body></html>",
    "{\"kind\": \"Listing\", \"data\": {\xff\xfe, nothing: [}",
    "{\"notice\": \"moved to another place\", \"items\": []}",
    "{\"message\": \"Internal Server Error\", \"error\": 500}",
    "{\"kind\":\"Listing\",\"data\":{\"children\":[]}",
    "{\"kind\":\"Listing\",\"data\":{\"children\":{}}}",
    "{\"kind\":\"Listing\",\"data\":{\"children\":null}}",
    "{\"kind\":\"Listing\",\"data\":[]}",
    "{\"kind\":\"Listing\",\"data\":null}",
    "{\"kind\":\"more\",\"data\":{\"children\":[]}}",
    "{\"kind\":\"Listing\",\"data\":{\"children\":[{\"kind\":\"t3\",\"data\":{}}]}}",
    "{\"kind\":\"Listing\",\"data\":{\"children\":[{\"kind\":\"t3\",\"data\":null}]}}",
    "{\"kind\":\"Listing\",\"data\":{\"children\":[{\"kind\":\"t3\",\"data\":{\"id\":7}}]}}",
    "{\"hits\":{}}",
    "{\"hits\":null}",
    "{\"hits\":7,\"nbHits\":0}",
    "{\"hits\":[{}]}",
    "{\"hits\":[7]}",
    "{\"hits\":[],\"nbHits\":3}",
    "{\"nbHits\":0}",
    "{\"type\":\"message\",\"content\":[]}",
    "{\"type\":\"message\",\"content\":\"text\"}",
    "{\"type\":\"message\",\"content\":[{\"type\":\"text\"}]}",
    "{\"type\":\"message\",\"content\":[{\"type\":\"text\",\"text\":\" \\n\"}]}",
    "{\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"m\"}}",
};

#endif
