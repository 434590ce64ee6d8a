/* The failure classes that --class may name. Pure but for the complaint. */
#ifndef TAIN_CLI_LETTER_CLASS_H
#define TAIN_CLI_LETTER_CLASS_H

#include "base/str.h"

bool letter_class_is_known(const char *text);

/* "'http_50x' is no failure class; did you mean http_5xx? There are: ..." */
void letter_class_complaint(const char *text, struct strbuf *out);

#endif
