#include "store/import.h"

#include "base/thread.h"
#include "store/apply_int.h"

#include <string.h>

#define SILENCE_MS 60000 /* of a process whose end cannot be seen from here */

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

struct holder {
    char name[200]; /* "": nobody */
    int64_t silent_ms;
};

static enum verdict read_holder(void *ctx, const struct db_row *row) {
    struct holder *h = ctx;
    struct str name = db_row_text(row, 0);
    if (name.p && name.n < sizeof h->name) {
        memcpy(h->name, name.p, name.n);
        h->name[name.n] = '\0';
    }
    h->silent_ms = db_row_int(row, 1);
    return V_OK;
}

static bool may_be_taken(const struct holder *h, const char *me) {
    return !*h->name || strcmp(h->name, me) == 0 || h->silent_ms > SILENCE_MS ||
           process_identity_is_dead(h->name);
}

enum verdict store_import_take(struct store *s, const char *fingerprint, const char *source,
                               const char *holder, struct err *e) {
    struct holder h = {0};
    int64_t one;
    enum verdict v =
        db_run(s->db, SQL_IMPORT_RESERVE, DB_VALS(DBC(fingerprint), DBC(source)), NULL, NULL, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_IMPORT_HOLDER, DB_VALS(DBC(fingerprint)), read_holder, &h, e);
    if (v == V_OK && may_be_taken(&h, holder))
        v = db_run_int(s->db, SQL_IMPORT_TAKE, DB_VALS(DBC(fingerprint), DBC(holder), DBC(h.name)),
                       &one, e);
    else if (v == V_OK)
        v = V_NOT_FOUND;
    if (v != V_NOT_FOUND)
        return v;
    return err_set(e, V_CONFLICT, "import", 0,
                   "another process (%s) imports this dump into this archive; wait for its end, or "
                   "stop it and run this again",
                   *h.name ? h.name : "begun at the same time");
}

enum verdict store_import_give_back(struct store *s, const char *fingerprint, const char *holder,
                                    struct err *e) {
    return db_run(s->db, SQL_IMPORT_GIVE_BACK, DB_VALS(DBC(fingerprint), DBC(holder)), NULL, NULL,
                  e);
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
                       "another process took over the import of this dump; what both stored stays");
    return v;
}

enum verdict store_import_batch(struct store *s, struct batch *b, const struct import_step *step,
                                struct apply_stats *ret, struct err *e) {
    static apply_step *const steps[] = {
        pass_import_fence, apply_compare,     apply_find_stories,
        apply_hush,        apply_write_items, apply_speak,
        apply_note_index,  apply_adopt,       apply_exceptions,
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
