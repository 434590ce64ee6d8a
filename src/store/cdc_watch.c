/* Changes that no trigger has seen: it was switched off or gone for a while, a partition came, went
 * or was truncated. The catalogue shows that something of the kind has happened, not what; so a
 * note without a key is left, and healing tells readers to read the table again. */
#include "store/cdc_int.h"

enum verdict store_cdc_watch(struct store *s, struct err *e) {
    return store_is_shared(s) ? db_run(s->db, SQL_CDC_WATCH, DB_NO_VALS, NULL, NULL, e) : V_OK;
}

enum verdict cdc_remark(struct store *s, int number, int gone, struct err *e) {
    if (!store_is_shared(s))
        return V_OK;
    return db_run(s->db, SQL_CDC_REMARK, DB_VALS(DBI(number), DBI(gone)), NULL, NULL, e);
}
