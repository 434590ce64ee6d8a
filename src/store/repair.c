/* The hand tools of 'tain verify --repair'. States are changed as the tables of segments.c allow;
 * what is merely derived is written anew. */
#include "store/store_int.h"
#include "store/verify.h"

static enum verdict run_for(struct store *s, int stmt, int64_t id, struct err *e) {
    return db_run(s->db, stmt, DB_VALS(DBI(id)), NULL, NULL, e);
}

enum verdict repair_derived(struct store *s, const struct stored_item *was, const struct item *now,
                            struct err *e) {
    return db_run(
        s->db, SQL_REPAIR_DERIVED,
        DB_VALS(DBI(now->id), DBI(was->last_fetched_at), DBT(now->url_key), DBT(now->domain)), NULL,
        NULL, e);
}

enum verdict repair_unconfirmed(struct store *s, const struct stored_item *was, struct err *e) {
    return db_run(
        s->db, SQL_REPAIR_UNCONFIRMED,
        DB_VALS(DBI(was->item.id), DBI(was->last_fetched_at), DBI(was->item.content_hash)), NULL,
        NULL, e);
}

enum verdict repair_impossible(struct store *s, struct err *e) {
    enum verdict v = db_run(s->db, SQL_REPAIR_IMPOSSIBLE, DB_NO_VALS, NULL, NULL, e);
    return v == V_OK ? db_run(s->db, SQL_REPAIR_IMPOSSIBLE_KIDS, DB_NO_VALS, NULL, NULL, e) : v;
}

enum verdict repair_state(struct store *s, int64_t floor, struct err *e) {
    enum verdict v = db_run(s->db, SQL_REPAIR_STATE, DB_NO_VALS, NULL, NULL, e);
    return v == V_OK && floor > 0 ? store_lower_floor(s, floor, e) : v;
}

enum verdict repair_story(struct store *s, int64_t id, struct err *e) {
    return run_for(s, SQL_REPAIR_STORY, id, e);
}

enum verdict repair_stray_kids(struct store *s, int64_t id, struct err *e) {
    return run_for(s, SQL_REPAIR_STRAY_KIDS, id, e);
}

enum verdict repair_exception(struct store *s, const struct stored_exception *x, struct err *e) {
    const struct db_val key[] = {DBI(x->id), DBI(x->segment_id)};
    enum verdict v = V_OK;
    if (x->state == EXC_N && x->purpose >= 0 && !x->outside)
        return db_run(s->db, SQL_REPAIR_EXCEPTION_STATE, key, 2, NULL, NULL, e);
    if (x->state == EXC_N)
        v = db_run(s->db, SQL_REPAIR_EXCEPTION_STATE, key, 2, NULL, NULL, e);
    if (v == V_OK && (x->purpose < 0 || x->outside))
        v = db_run(s->db, SQL_REPAIR_EXCEPTION_HOME, key, 2, NULL, NULL, e);
    return v == V_OK ? db_run(s->db, SQL_REPAIR_EXCEPTION_DROP, key, 2, NULL, NULL, e) : v;
}

enum verdict repair_letter(struct store *s, int64_t id, const struct stored_exception *x,
                           struct err *e) {
    if (x)
        return db_run(s->db, SQL_REPAIR_LETTER_ADD, DB_VALS(DBI(x->id), DBI(x->segment_id)), NULL,
                      NULL, e);
    return run_for(s, SQL_REPAIR_LETTER_RESOLVE, id, e);
}

enum verdict repair_overlap(struct store *s, const struct segment_facts *a,
                            const struct segment_facts *b, struct err *e) {
    int64_t last = b->end_id < a->end_id ? b->end_id : a->end_id;
    enum verdict v =
        db_run(s->db, SQL_REPAIR_SEGMENT_MOVE,
               DB_VALS(DBI(b->segment_id), DBI(a->segment_id), DBI(last)), NULL, NULL, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_REPAIR_SEGMENT_MOVE_REST, DB_VALS(DBI(b->segment_id), DBI(last)),
                   NULL, NULL, e);
    if (v != V_OK)
        return v;
    if (b->end_id <= a->end_id)
        return run_for(s, SQL_SEGMENT_DELETE, b->segment_id, e);
    return db_run(s->db, SQL_REPAIR_SEGMENT_TRIM,
                  DB_VALS(DBI(b->segment_id), DBI(a->end_id + 1), DBI(a->end_id)), NULL, NULL, e);
}

enum verdict repair_segments(struct store *s, struct err *e) {
    enum verdict v = fsm_check(&segment_fsm, SEG_DONE, SEG_PENDING, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_REPAIR_SEGMENTS_WAKE, DB_NO_VALS, NULL, NULL, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_SEGMENTS_SETTLE, DB_NO_VALS, NULL, NULL, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_REPAIR_SEGMENTS_COUNT, DB_NO_VALS, NULL, NULL, e);
    return v;
}

enum verdict repair_missing_again(struct store *s, int64_t id, struct err *e) {
    enum verdict v = fsm_check(&exception_fsm, EXC_TERMINAL_MISSING, EXC_PENDING, e);
    return v == V_OK ? run_for(s, SQL_REPAIR_MISSING_AGAIN, id, e) : v;
}
