#include "db/db_int.h"

#include <ctype.h>
#include <string.h>

/* A code of five characters, or a class of two. The first match counts. */
static const struct {
    const char *code;
    enum verdict v;
} table[] = {
    {"08", V_RETRY},       /* connection exceptions */
    {"40", V_RETRY},       /* serialization failure, deadlock: the transaction may be repeated */
    {"55P03", V_RETRY},    /* lock not available */
    {"53300", V_RETRY},    /* too many connections */
    {"53200", V_RETRY},    /* out of memory */
    {"57014", V_RETRY},    /* statement time-out, or cancelled by an administrator */
    {"57P01", V_RETRY},    /* admin shutdown, terminated backend */
    {"57P02", V_RETRY},    /* crash shutdown */
    {"57P03", V_RETRY},    /* starting up */
    {"57P05", V_RETRY},    /* idle session time-out */
    {"25006", V_RETRY},    /* read-only: a standby that may be promoted */
    {"22", V_INVALID},     /* a value that the type cannot hold: that row's fault */
    {"23", V_CONFLICT},    /* integrity constraint */
    {"P0001", V_CONFLICT}, /* RAISE in a trigger: the table does not want it so */
    {"53100", V_FATAL},    /* disk full: a person has to make room */
    {"54000", V_LIMIT},    /* program limit exceeded */
};

enum verdict pg_verdict(const char *sqlstate) {
    if (!sqlstate || !*sqlstate)
        return V_RETRY; /* no answer: the connection broke */
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (strncmp(sqlstate, table[i].code, strlen(table[i].code)) == 0)
            return table[i].v;
    return V_FATAL;
}

/* Does a line, up to its end, have these words? */
static bool line_has(struct str line, const char *words) {
    return memmem(line.p, line.n, words, strlen(words)) != NULL;
}

bool pg_is_hopeless(const char *text) {
    static const char *const words[] = {"authentication failed", "does not exist",
                                        "no password supplied", "no pg_hba.conf"};
    bool any = false;
    for (const char *p = text, *end; *p; p = end + (*end == '\n')) {
        end = p + strcspn(p, "\n");
        struct str line = {p, (size_t)(end - p)};
        bool never = false;
        for (size_t i = 0; i < ARRAY_LEN(words); i++)
            never |= line_has(line, words[i]);
        any |= never;
        /* of several hosts each has a line, and one that may come back is enough */
        if (!never && str_starts(line, "connection to server"))
            return false;
    }
    return any;
}

/* A word of the address that libpq does not know: it has not tried to connect. */
bool pg_is_misspelt(const char *text) {
    return strncmp(text, "invalid ", 8) == 0 && strstr(text, " value: \"") != NULL;
}

int pg_code(const char *sqlstate) {
    int code = 0;
    for (const char *p = sqlstate; p && *p; p++) {
        if (*p < '0' || *p > '9')
            return 0;
        code = code * 10 + (*p - '0');
    }
    return code;
}

bool pg_is_other_session(const char *sqlstate, bool suspect) {
    static const char *const lost[] = {"26000"};                     /* what we prepared */
    static const char *const hidden[] = {"42P01", "42883", "3F000"}; /* table, function, schema */
    for (size_t i = 0; i < ARRAY_LEN(lost); i++)
        if (strcmp(sqlstate, lost[i]) == 0)
            return true;
    for (size_t i = 0; i < ARRAY_LEN(hidden); i++)
        if (suspect && strcmp(sqlstate, hidden[i]) == 0)
            return true;
    return false;
}

bool pg_is_read_only(int code) {
    return code == 25006;
}

static bool is_of_name(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

bool pg_is_duplicate(int code, const char *said, const char *of) {
    const char *end = "_pkey", *at = strstr(said, end);
    if (code != 23505 || !at || is_of_name(at[strlen(end)]))
        return false;
    while (at > said && is_of_name(at[-1]))
        at--;
    size_t n = strlen(of);
    return strncmp(at, of, n) == 0 && at[n] == '_';
}

bool pg_is_refused(int code, const char *said, const char *check) {
    size_t n = strlen(check);
    if (code != 23514)
        return false;
    for (const char *at = said; (at = strstr(at, check)); at++)
        if ((at == said || !is_of_name(at[-1])) && !is_of_name(at[n]))
            return true;
    return false;
}
