/* What the files that read share. Private to the room. */
#ifndef TAIN_STORE_READ_INT_H
#define TAIN_STORE_READ_INT_H

#include "store/read.h"
#include "store/store_int.h"

/* Columns of every statement that reads items; what else one brings comes behind them. */
enum { READ_COLUMNS = 20 };

/* Reads the first READ_COLUMNS columns; no kids. */
void read_item_of_row(struct arena *a, const struct db_row *row, struct read_item *ret);

#endif
