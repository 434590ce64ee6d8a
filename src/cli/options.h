/* The one table in which options are described. Flags, environment, configuration file, help,
 * the manual page and the doctor all come out of it; no command parses anything itself.
 * Everything here runs on the main thread before any other is started. */
#ifndef TAIN_CLI_OPTIONS_H
#define TAIN_CLI_OPTIONS_H

#include "base/attr.h"
#include "base/err.h"
#include "cli/settings.h"

enum option_type {
    OPTION_BOOL,     /* bool */
    OPTION_INT,      /* int64_t */
    OPTION_ID,       /* int64_t; an item id, 1 or more */
    OPTION_DOUBLE,   /* double */
    OPTION_DURATION, /* int64_t, milliseconds */
    OPTION_BYTES,    /* int64_t */
    OPTION_STRING,   /* char * */
    OPTION_LIST,     /* struct string_list; the flag may be repeated */
    OPTION_ENUM,     /* int: the place in `choices` */
};

enum option_flag {
    OPTION_SECRET = 1 << 0,  /* may hold a password: never echoed */
    OPTION_NO_ENV = 1 << 1,  /* not read from the environment */
    OPTION_NO_FILE = 1 << 2, /* not read from the configuration file */
    OPTION_COMMON = 1 << 3,  /* help lists it behind the command's own options */
};

struct option_def {
    const char *name; /* without dashes in front: "segment-width" */
    enum option_type type;
    size_t offset;                     /* of its field in struct settings */
    unsigned commands;                 /* enum command_id bits */
    const char *fallback;              /* the default, as a user would write it; NULL: none */
    double min, max;                   /* numbers, in stored units; both are allowed values */
    const char *choices;               /* OPTION_ENUM: "all|content|none" */
    bool (*accepts)(const char *text); /* OPTION_STRING: its shape; may be NULL */
    const char *allowed;               /* what `accepts` wants, behind "give ..." */
    const char *metavar;
    const char *help; /* sentences for --help */
    unsigned flags;   /* enum option_flag bits */
};

const struct option_def *option_table(size_t *ret_n);
/* By name over the whole table; NULL: there is none. */
const struct option_def *option_find(const char *name);
size_t option_index(const struct option_def *d);

#define OPTION_NAME_MAX 64
/* "segment-width" as TAIN_SEGMENT_WIDTH and as segment_width. */
void option_env_name(const struct option_def *d, char out[OPTION_NAME_MAX]);
void option_file_key(const struct option_def *d, char out[OPTION_NAME_MAX]);
/* The name that switches the other way: "json" and "no-json", "no-migrate" and "migrate". */
void option_negated(const struct option_def *d, char out[OPTION_NAME_MAX]);

/* What may be given, to stand behind "give": "a whole number from 1 to 100000". */
void option_allowed(const struct option_def *d, struct strbuf *out);

/* Reads `text` into the option's field and notes its origin. `label` is how the giver named the
 * option. V_INVALID: label, value (unless it may be secret) and what is allowed; the field is
 * unchanged. A list starts over when its origin changes, and grows otherwise. */
MUST_CHECK enum verdict option_set(struct settings *s, const struct option_def *d, const char *text,
                                   enum origin origin, const char *label, struct err *e);

struct option_source {
    int argc; /* the arguments behind the command's name */
    char *const *argv;
    const char *(*env)(const char *name); /* getenv, or a test's own */
};

/* Fills `s` for a command from all four places. With *ret_help set the user asked for help, and
 * nothing else counts. On V_INVALID the message is ready to be shown. `s` needs no preparation
 * and must be released either way. */
MUST_CHECK enum verdict settings_load(struct settings *s, enum command_id command,
                                      const char *command_name, const struct option_source *from,
                                      bool *ret_help, struct err *e);

/* Reads the configuration file; every key of the table may stand in it, whatever the command.
 * V_INVALID says "FILE:LINE: key: what is wrong". Uses one static context: not reentrant. */
MUST_CHECK enum verdict config_file_load(struct settings *s, const char *path, struct err *e);

/* The option of these commands whose name is nearest to `name`; NULL: none is near. */
const struct option_def *option_nearest(const char *name, unsigned commands);

#endif
