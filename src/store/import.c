#include "store/import.h"

#include "store/apply_int.h"

static enum verdict read_import(void *ctx, const struct db_row *row) {
    *(struct import_state *)ctx = (struct import_state){
        .bytes = db_row_int(row, 0),
        .mark = db_row_int(row, 1),
        .lines = db_row_int(row, 2),
        .items = db_row_int(row, 3),
        .missing = db_row_int(row, 4),
        .skipped = db_row_int(row, 5),
        .broken = db_row_int(row, 6),
        .finished = db_row_int(row, 7) != 0,
    };
    return V_OK;
}

enum verdict store_import_find(struct store *s, const char *fingerprint, struct import_state *ret,
                               struct err *e) {
    ret->bytes = -1;
    enum verdict v = db_run(s->db, SQL_IMPORT_FIND, DB_VALS(DBC(fingerprint)), read_import, ret, e);
    if (v == V_OK && ret->bytes < 0)
        return err_set(e, V_NOT_FOUND, "import", 0, "no import of this dump was begun");
    return v;
}

enum verdict store_import_begin(struct store *s, const char *fingerprint, const char *source,
                                struct err *e) {
    return db_run(s->db, SQL_IMPORT_BEGIN, DB_VALS(DBC(fingerprint), DBC(source)), NULL, NULL, e);
}

static enum verdict pass_import_fence(struct apply *a) {
    const struct import_step *step = a->import;
    const struct import_state *to = &step->to;
    enum verdict v =
        db_run_int(a->s->db, SQL_IMPORT_STEP,
                   DB_VALS(DBC(step->fingerprint), DBI(step->from_bytes), DBI(to->bytes),
                           DBI(to->mark), DBI(to->lines), DBI(to->items), DBI(to->missing),
                           DBI(to->skipped), DBI(to->broken)),
                   &a->now_ms, a->e);
    if (v == V_NOT_FOUND)
        return err_set(a->e, V_CONFLICT, "import", 0,
                       "another process imports the same dump into this archive");
    return v;
}

enum verdict store_import_batch(struct store *s, struct batch *b, const struct import_step *step,
                                struct apply_stats *ret, struct err *e) {
    static apply_step *const steps[] = {
        pass_import_fence, apply_compare, apply_find_stories,
        apply_write_items, apply_adopt,   apply_exceptions,
    };
    struct apply a = {.s = s, .b = b, .stats = ret, .loose = true, .import = step, .e = e};
    return apply_in_transaction(&a, steps, ARRAY_LEN(steps));
}

enum verdict store_import_finish(struct store *s, const char *fingerprint, struct err *e) {
    return db_run(s->db, SQL_IMPORT_FINISH, DB_VALS(DBC(fingerprint)), NULL, NULL, e);
}

enum verdict store_import_forget(struct store *s, const char *fingerprint, struct err *e) {
    return db_run(s->db, SQL_IMPORT_FORGET, DB_VALS(DBC(fingerprint)), NULL, NULL, e);
}
