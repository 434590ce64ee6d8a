/* jansson says where a document breaks, which hn/json_read.h, made for speed, does not. The two
 * name kinds of values alike, so no file includes both. */
#include "enrich/request_int.h"

#include <jansson.h>

enum verdict request_check_json(struct str body, int *ret_line, struct err *e) {
    json_error_t error;
    size_t flags = JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES;
    json_t *root = json_loadb(body.p, body.n, flags, &error);
    if (root) {
        json_decref(root);
        return V_OK;
    }
    *ret_line = error.line > 0 ? error.line - 1 : 0;
    return err_set(e, V_INVALID, "config", 0, "body: not JSON: %s", error.text);
}
