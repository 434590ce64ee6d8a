/* Private to the controls: what their files share. */
#ifndef TAIN_DEMO_CONTROL_INT_H
#define TAIN_DEMO_CONTROL_INT_H

#include "demo/server_int.h"

/* An argument of the query; NULL when it is not there. */
const char *control_argument(struct request *r, const char *name);
/* A number of lo..hi; `otherwise` when it is not there. False: something else is. */
bool control_number(struct request *r, const char *name, int64_t lo, int64_t hi, int64_t otherwise,
                    int64_t *ret);
/* False: it is neither 0 nor 1. Not there: 0. */
bool control_flag(struct request *r, const char *name, bool *ret);

struct control_figure {
    const char *name;
    int64_t value;
};
enum MHD_Result control_figures(struct request *r, const struct control_figure *f, size_t n);
#define CONTROL_FIGURES(r, ...)                                        \
    control_figures((r), (const struct control_figure[]){__VA_ARGS__}, \
                    ARRAY_LEN(((const struct control_figure[]){__VA_ARGS__})))
/* 400, 404 or 409 with the message. */
enum MHD_Result control_refuse(struct request *r, enum verdict v, const struct err *e);
enum MHD_Result control_bad(struct request *r, const char *message);

/* control_steer.c */
enum MHD_Result control_maxitem(struct request *r);
enum MHD_Result control_mutate(struct request *r);
enum MHD_Result control_mutate_range(struct request *r);
enum MHD_Result control_mutate_user(struct request *r);
enum MHD_Result control_mention(struct request *r);
enum MHD_Result control_stream(struct request *r);
enum MHD_Result control_down(struct request *r);

#endif
