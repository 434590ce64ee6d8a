#include "store/read_int.h"

struct user_reading {
    struct arena *a;
    struct read_user *ret;
    bool found;
};

static enum verdict read_profile(void *ctx, const struct db_row *row) {
    struct user_reading *r = ctx;
    struct user *u = &r->ret->user;
    *r->ret = (struct read_user){
        .user =
            {
                .id = arena_str(r->a, db_row_text(row, 0)),
                .created = db_row_int(row, 1),
                .karma = db_row_int(row, 2),
                .about = arena_str(r->a, db_row_text(row, 3)),
                .content_hash = db_row_int(row, 7),
            },
        .gone = db_row_int(row, 5) == 1,
        .last_fetched_at = db_row_int(row, 6),
    };
    u->submitted = store_ids_of_text(r->a, db_row_text(row, 4), &u->n_submitted);
    r->found = true;
    return V_OK;
}

enum verdict store_read_user(struct store *s, struct arena *a, struct str name,
                             struct read_user *ret, struct err *e) {
    struct user_reading r = {.a = a, .ret = ret};
    enum verdict v = db_run(s->db, SQL_READ_USER, DB_VALS(DBT(name)), read_profile, &r, e);
    if (v == V_OK && !r.found)
        return err_set(e, V_NOT_FOUND, "store", 0, "there is no such profile");
    return v;
}
