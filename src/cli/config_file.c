#include "base/conf_text.h"
#include "cli/options.h"

#include <confuse.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* libConfuse hands its callbacks no pointer of ours, so what they fill stands here while a file
 * is being read. */
static struct {
    struct settings *settings;
    const char *path;
    struct err *e;
    bool failed;
    unsigned seen[SETTINGS_OPTIONS_MAX]; /* the line that gave the key; 0: none yet */
} loading;

static const struct option_def *find_key(const char *key) {
    size_t n;
    const struct option_def *table = option_table(&n);
    for (size_t i = 0; i < n; i++) {
        char name[OPTION_NAME_MAX];
        option_file_key(&table[i], name);
        if (strcmp(name, key) == 0)
            return &table[i];
    }
    return NULL;
}

static int on_value(cfg_t *cfg, cfg_opt_t *opt, const char *value, void *result) {
    const struct option_def *d = find_key(opt->name);
    char label[512];
    snprintf(label, sizeof label, "%.400s:%d: %s", loading.path, cfg->line, opt->name);
    *(const char **)result = value;
    unsigned *seen = &loading.seen[option_index(d)];
    if (*seen && d->type != OPTION_LIST) {
        loading.failed = true;
        err_set(loading.e, V_INVALID, "config", 0, "%s: already given in line %u; give it once",
                label, *seen);
        return -1;
    }
    *seen = (unsigned)cfg->line;
    if (option_set(loading.settings, d, value, ORIGIN_FILE, label, loading.e) == V_OK)
        return 0;
    loading.failed = true;
    return -1;
}

/* Underscores in the key, dashes in the name: one mistake less to count. */
static const struct option_def *nearest_to_key(const char *key) {
    char name[OPTION_NAME_MAX];
    snprintf(name, sizeof name, "%s", key);
    for (char *p = name; *p; p++)
        if (*p == '_')
            *p = '-';
    return option_nearest(name, ~0U);
}

/* What does not look like a key may be the rest of a password that was written without quotes. */
static bool looks_like_key(const char *key) {
    return key[strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")] ==
           0;
}

/* The library repeats what it stumbled over: after a quote too many that is half of the file. */
static void drop_foreign_words(char *text) {
    char *from = strchr(text, '\''), *end = from ? strrchr(text, '\'') : NULL;
    if (!from)
        return;
    bool whole = end > from;
    if (whole)
        *end = '\0';
    if (!whole || !looks_like_key(from + 1)) {
        while (from > text && from[-1] == ' ')
            from--;
        *from = '\0';
    } else {
        *end = '\'';
    }
}

static void unknown_key(int line, const char *key) {
    if (!looks_like_key(key)) {
        err_set(loading.e, V_INVALID, "config", 0,
                "%.300s:%d: unknown key; a value with blanks in it stands in double quotes",
                loading.path, line);
        return;
    }
    const struct option_def *near = nearest_to_key(key);
    char right[OPTION_NAME_MAX] = "";
    if (near && !(near->flags & OPTION_NO_FILE))
        option_file_key(near, right);
    err_set(loading.e, V_INVALID, "config", 0, "%.300s:%d: %.60s: unknown key%s%s%s", loading.path,
            line, key, *right ? "; did you mean " : "; the keys are the options with _ for -",
            right, *right ? "?" : "");
}

/* The first trouble is the one worth telling. */
PRINTF_LIKE(2, 0) static void on_error(cfg_t *cfg, const char *fmt, va_list ap) {
    if (loading.failed)
        return;
    loading.failed = true;
    char text[256], key[OPTION_NAME_MAX];
    vsnprintf(text, sizeof text, fmt, ap);
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < 0x20 || (unsigned char)*p > 0x7E)
            *p = '?'; /* a file of bytes must not drive the terminal */
    if (sscanf(text, "no such option '%63[^']'", key) == 1) {
        unknown_key(cfg->line, key);
    } else {
        drop_foreign_words(text);
        err_set(loading.e, V_INVALID, "config", 0, "%.300s:%d: %s", loading.path, cfg->line, text);
    }
}

/* Every option is a string to libConfuse; on_value() knows the types. The names live in `keys`. */
static size_t make_options(cfg_opt_t *opts, char (*keys)[OPTION_NAME_MAX]) {
    size_t n, used = 0;
    const struct option_def *table = option_table(&n);
    for (size_t i = 0; i < n; i++) {
        if (table[i].flags & OPTION_NO_FILE)
            continue;
        option_file_key(&table[i], keys[used]);
        cfg_flag_t flags = CFGF_NODEFAULT | (table[i].type == OPTION_LIST ? CFGF_LIST : CFGF_NONE);
        opts[used] = (cfg_opt_t)CFG_STR_CB(keys[used], NULL, flags, on_value);
        used++;
    }
    opts[used] = (cfg_opt_t)CFG_END();
    return used;
}

static enum verdict parse(FILE *file, struct err *e) {
    cfg_opt_t opts[SETTINGS_OPTIONS_MAX + 1];
    char keys[SETTINGS_OPTIONS_MAX][OPTION_NAME_MAX];
    make_options(opts, keys);
    cfg_t *cfg = cfg_init(opts, CFGF_NONE);
    if (!cfg)
        return err_set(e, V_FATAL, "config", 0, "%.300s: no memory to read it", loading.path);
    cfg_set_error_function(cfg, on_error);
    int rc = cfg_parse_fp(cfg, file);
    cfg_free(cfg);
    if (rc != CFG_SUCCESS && !loading.failed)
        return err_set(e, V_INVALID, "config", 0, "%.300s: cannot be read", loading.path);
    return loading.failed ? V_INVALID : V_OK;
}

enum verdict config_file_load(struct settings *s, const char *path, struct err *e) {
    CLEANUP(free_ptr) char *buffer = NULL;
    size_t n = 0;
    enum verdict v = conf_text_read(path, &buffer, &n, e);
    if (v != V_OK || n == 0)
        return v;
    const char *endless = conf_text_blank_comments(buffer, n);
    if (endless)
        return err_set(e, V_INVALID, "config", 0, "%.300s:%d: this %s never ends", path,
                       conf_text_line(buffer, endless),
                       *endless == '/' ? "comment" : "quoted text");
    FILE *file = fmemopen(buffer, n, "r");
    if (!file)
        return err_set(e, V_FATAL, "config", errno, "%.300s: %s", path, strerror(errno));
    memset(&loading, 0, sizeof loading);
    loading.settings = s;
    loading.path = path;
    loading.e = e;
    v = parse(file, e);
    fclose(file);
    return v;
}
