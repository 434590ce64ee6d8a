/* This machine, the libraries, and what the options say. */
#include "cli/doctor.h"
#include "cli/services_env.h"

#include "cli/options.h"
#include "mirror/libraries.h"
#include "web/metrics_http.h"

#include <curl/curl.h>
#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <libpq-fe.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define MIB ((uint64_t)1 << 20)
#define DISK_WARN (1024 * MIB)
#define DISK_FAIL (64 * MIB)
#define FILES_BESIDE 64 /* the database, logs, the rest */

static void check_disk(struct checkup *c) {
    if (strncmp(c->s->db, "sqlite:", 7) != 0) {
        check_add(c, CHECK_OK, "disk", "the database server's own; not looked at from here");
        return;
    }
    CLEANUP(free_ptr) char *path = xstrdup(c->s->db + 7);
    const char *folder = dirname(path);
    struct statvfs fs;
    if (statvfs(folder, &fs) != 0) {
        check_advise(check_add(c, CHECK_FAIL, "disk", "%s: %s", folder, strerror(errno)),
                     "make the folder, or name another by --db");
        return;
    }
    uint64_t unused = (uint64_t)fs.f_bavail * fs.f_frsize;
    enum check_level level = unused < DISK_FAIL   ? CHECK_FAIL
                             : unused < DISK_WARN ? CHECK_WARN
                                                  : CHECK_OK;
    if (access(folder, W_OK) != 0)
        check_advise(check_add(c, CHECK_FAIL, "disk", "%s: %s", folder, strerror(errno)),
                     "the database writes files beside its own; make the folder writable");
    struct check *row =
        check_add(c, level, "disk", "%" PRIu64 " MiB free at %s", unused / MIB, folder);
    if (level != CHECK_OK)
        check_advise(row, "all of Hacker News takes some 50 GiB; free some, or move the archive");
}

static void check_files(struct checkup *c) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        check_add(c, CHECK_WARN, "files", "the limit cannot be read: %s", strerror(errno));
        return;
    }
    int64_t needed = c->s->concurrency + FILES_BESIDE;
    if (limit.rlim_cur != RLIM_INFINITY && (int64_t)limit.rlim_cur < needed)
        check_advise(check_add(c, CHECK_WARN, "files",
                               "%" PRIu64 " open files allowed, --concurrency %" PRId64
                               " may want %" PRId64,
                               (uint64_t)limit.rlim_cur, c->s->concurrency, needed),
                     "raise it with 'ulimit -n %" PRId64 "' or lower --concurrency", needed);
    else
        check_add(c, CHECK_OK, "files", "%" PRIu64 " open files allowed, %" PRId64 " wanted",
                  (uint64_t)limit.rlim_cur, needed);
}

void doctor_machine(struct checkup *c) {
    check_disk(c);
    check_files(c);
}

void doctor_libraries(struct checkup *c) {
    const curl_version_info_data *curl = curl_version_info(CURLVERSION_NOW);
    bool http2 = curl->features & CURL_VERSION_HTTP2;
    int pq = PQlibVersion();
    struct check *row = check_add(
        c, http2 ? CHECK_OK : CHECK_WARN, "libraries",
        "tain %s, libcurl %s (%s), SQLite %s, libpq %d.%d, libmicrohttpd %s, zstd %s", TAIN_VERSION,
        curl->version, curl->ssl_version ? curl->ssl_version : "no TLS", sqlite3_libversion(),
        pq / 10000, pq % 10000, metrics_http_library(), mirror_zstd_version());
    if (!http2)
        check_advise(row, "this libcurl has no HTTP/2: https will need many connections");
}

static void check_option(struct checkup *c, const struct option_def *d) {
    if (settings_origin(c->s, d->name) == ORIGIN_DEFAULT)
        return;
    CLEANUP(strbuf_release) struct strbuf value;
    strbuf_init(&value, 1024);
    settings_value(c->s, d->name, &value);
    char label[160];
    settings_label(c->s, d->name, label, sizeof label);
    check_add(c, CHECK_OK, "option", "%s = %.*s, from %s", d->name, STR_FMT(strbuf_str(&value)),
              label);
}

static bool is_known_variable(const char *name, size_t n) {
    static const char *const others[] = {"TAIN_FAULT", "TAIN_CONFIG", "TAIN_CDC_KEY",
                                         "TAIN_LINKS_TOKEN"};
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (strlen(others[i]) == n && strncmp(others[i], name, n) == 0)
            return true;
    if (is_service_var(name, n))
        return true;
    size_t count;
    const struct option_def *table = option_table(&count);
    for (size_t i = 0; i < count; i++) {
        char own[OPTION_NAME_MAX];
        option_env_name(&table[i], own);
        if (!(table[i].flags & OPTION_NO_ENV) && strlen(own) == n && strncmp(own, name, n) == 0)
            return true;
    }
    return false;
}

void doctor_configuration(struct checkup *c) {
    size_t n;
    const struct option_def *table = option_table(&n);
    for (size_t i = 0; i < n; i++)
        check_option(c, &table[i]);
    for (char **p = environ; *p; p++) {
        size_t length = strcspn(*p, "=");
        bool ours = strncmp(*p, "TAIN_", 5) == 0 && strncmp(*p, "TAIN_TEST_", 10) != 0;
        if (ours && !is_known_variable(*p, length))
            check_advise(
                check_add(c, CHECK_WARN, "environment", "%.*s is no option", (int)length, *p),
                "correct its name, or unset it");
    }
}
