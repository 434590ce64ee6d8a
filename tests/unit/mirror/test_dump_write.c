/* A dump gets its name when it is whole, and what was cut off can be gone on with. */
#include "place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct dump_writer *create(struct place *p, bool compress, bool resume) {
    struct err e;
    struct dump_writer *w;
    const struct dump_write_options o = {
        .path = p->path, .compress = compress, .level = 3, .resume = resume, .stop = &p->stop};
    assert_ok(dump_create(&o, &w, &e));
    return w;
}

static void put_ids(struct dump_writer *w, int lo, int hi) {
    struct err e;
    CLEANUP(strbuf_release) struct strbuf lines;
    strbuf_init(&lines, 1 << 20);
    for (int id = lo; id <= hi; id++)
        strbuf_addf(&lines, "{\"id\":%d}\n", id);
    assert_ok(dump_put(w, strbuf_str(&lines), &e));
}

static void finish(struct place *p, struct dump_writer *w) {
    struct err e;
    char hex[SHA256_HEX], wanted[SHA256_HEX];
    assert_ok(dump_finish(w, hex, &e));
    dump_writer_free(w);
    struct dump_reader *r = place_open(p, true);
    CLEANUP(strbuf_release) struct strbuf out;
    strbuf_init(&out, 1 << 20);
    read_rest(r, &out, V_NOT_FOUND);
    dump_digest(r, wanted);
    dump_close(r);
    assert_string_equal(hex, wanted);
    assert_ok(checksum_of(p->path, wanted, &e));
    assert_string_equal(hex, wanted);
}

static void assert_ids(struct place *p, int lo, int hi) {
    struct dump_reader *r = place_open(p, false);
    CLEANUP(strbuf_release) struct strbuf out, wanted;
    strbuf_init(&out, 1 << 20);
    strbuf_init(&wanted, 1 << 20);
    for (int id = lo; id <= hi; id++)
        strbuf_addf(&wanted, "[{\"id\":%d}]", id);
    read_rest(r, &out, V_NOT_FOUND);
    assert_string_equal(strbuf_str(&out).p, strbuf_str(&wanted).p);
    dump_close(r);
}

static void a_name_comes_with_the_end(void **state) {
    struct place *p = *state;
    size_t n;
    for (int compress = 0; compress < 2; compress++) {
        unlink(p->path);
        struct dump_writer *w = create(p, compress, false);
        assert_int_equal(dump_last_id(w), 0);
        put_ids(w, 1, 100);
        assert_null(slurp(p->path, "", &n));
        finish(p, w);
        assert_null(slurp(p->path, ".part", &n));
        assert_ids(p, 1, 100);
    }
}

static void an_interrupted_one_is_gone_on_with(void **state) {
    struct place *p = *state;
    for (int compress = 0; compress < 2; compress++) {
        struct dump_writer *w = create(p, compress, false);
        put_ids(w, 1, 100);
        dump_suspend(w);
        dump_writer_free(w);
        w = create(p, compress, true);
        assert_int_equal(dump_last_id(w), 100);
        put_ids(w, 101, 150);
        finish(p, w);
        assert_ids(p, 1, 150);
        w = create(p, compress, true); /* a whole one grows */
        assert_int_equal(dump_last_id(w), 150);
        put_ids(w, 151, 160);
        finish(p, w);
        assert_ids(p, 1, 160);
        w = create(p, compress, false); /* and is made anew when nobody asks for it */
        put_ids(w, 7, 9);
        finish(p, w);
        assert_ids(p, 7, 9);
    }
}

/* A dump of ids 1 to LAST_ID in the parts that are kept or given up as a whole: a line of plain
 * text, a frame of ten lines. */
#define LAST_ID 60

struct parts {
    char bytes[8000];
    size_t n, n_parts;
    struct {
        size_t end;
        int last_id;
    } part[LAST_ID];
};

static void parts_make(struct parts *ret, bool compress) {
    *ret = (struct parts){0};
    for (int id = 1; id <= LAST_ID;) {
        char text[200];
        size_t n = 0;
        for (int last = compress ? id + 9 : id; id <= last; id++)
            n += (size_t)sprintf(text + n, "{\"id\":%d}\n", id);
        if (compress)
            ret->n += pack(text, n, n, ret->bytes + ret->n, sizeof ret->bytes - ret->n);
        else
            ret->n += (size_t)sprintf(ret->bytes + ret->n, "%s", text);
        ret->part[ret->n_parts].end = ret->n;
        ret->part[ret->n_parts++].last_id = id - 1;
    }
}

/* Cut anywhere, as a kill or a power cut leaves it: every whole part is kept, and nothing else. */
static void what_is_kept_of_a_torn_dump(void **state) {
    (void)state;
    static struct parts d;
    for (int compress = 0; compress < 2; compress++) {
        parts_make(&d, compress);
        size_t whole = 0; /* parts */
        for (size_t cut = 0; cut <= d.n; cut++) {
            struct err e;
            struct dump_rest rest;
            char *bytes = malloc(cut ? cut : 1); /* of this size, for the address sanitizer */
            memcpy(bytes, d.bytes, cut);
            assert_ok(dump_find_rest(bytes, cut, compress, &rest, &e));
            free(bytes);
            whole += d.part[whole].end == cut;
            assert_int_equal(rest.bytes, whole ? d.part[whole - 1].end : 0);
            assert_int_equal(rest.last_id, whole ? d.part[whole - 1].last_id : 0);
        }
        assert_int_equal(whole, d.n_parts);
    }
}

/* At a few places only: every finished dump waits for the disk several times. */
static void torn_files(void **state) {
    struct place *p = *state;
    static struct parts d;
    char part[200];
    snprintf(part, sizeof part, "%s.part", p->path);
    for (int compress = 0; compress < 2; compress++) {
        parts_make(&d, compress);
        for (size_t eighths = 0; eighths <= 8; eighths++) {
            spit(part, d.bytes, d.n * eighths / 8);
            struct dump_writer *w = create(p, compress, true);
            int last = (int)dump_last_id(w);
            put_ids(w, last + 1, LAST_ID + 1);
            finish(p, w);
            assert_ids(p, 1, LAST_ID + 1);
            unlink(p->path);
        }
    }
}

/* Lines of megabytes, which come out of the decoder in many pieces. */
static void the_last_line_of_a_long_frame(void **state) {
    (void)state;
    size_t line = (size_t)7 << 20, n = 5 * line, cap = (size_t)1 << 20;
    char *text = malloc(n), *packed = malloc(cap), head[40];
    memset(text, 'x', n);
    for (size_t i = 0; i < 5; i++) {
        int k = snprintf(head, sizeof head, "{\"id\":%zu,\"text\":\"", i + 3);
        memcpy(text + i * line, head, (size_t)k);
        memcpy(text + (i + 1) * line - 3, "\"}\n", 3);
    }
    size_t m = pack(text, n, n, packed, cap);
    struct err e;
    struct dump_rest rest;
    assert_ok(dump_find_rest(packed, m, true, &rest, &e));
    assert_int_equal(rest.bytes, m);
    assert_int_equal(rest.last_id, 7);
    free(text);
    free(packed);
}

static void zeros_of_a_power_cut(void **state) {
    struct place *p = *state;
    char part[200];
    snprintf(part, sizeof part, "%s.part", p->path);
    spit(part, "{\"id\":1}\n{\"id\":2}\n{\"i\0\0\0\0\0\n{\"id\":9}\n", 36);
    struct dump_writer *w = create(p, false, true);
    assert_int_equal(dump_last_id(w), 2);
    dump_writer_free(w);
}

static void what_cannot_be_gone_on_with(void **state) {
    static const struct {
        const char *bytes;
        size_t n;
        bool compress;
    } cases[] = {
        {"hello\n", 6, false},
        {"{\"id\":1}\n", 9, true},
        {"\x28\xB5\x2F\xFD....", 8, false},
        {"{\"id\":1}\nhello\n{\"id\":3}\n", 24, false},      /* junk in the middle */
        {"{\"id\":1}\n{\"id\":7}\n{\"id\":7}\n", 27, false}, /* not by id */
        {"{\"id\":2}\n{\"id\":1}\n", 18, false},
    };
    struct place *p = *state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err e;
        struct dump_writer *w;
        size_t n;
        char part[200];
        snprintf(part, sizeof part, "%s.part", p->path);
        spit(part, cases[i].bytes, cases[i].n);
        const struct dump_write_options o = {
            .path = p->path, .compress = cases[i].compress, .resume = true, .stop = &p->stop};
        assert_int_equal(dump_create(&o, &w, &e), V_INVALID);
        char *kept = slurp(p->path, ".part", &n); /* and nothing is lost of it */
        assert_int_equal(n, cases[i].n);
        free(kept);
    }
}

/* The same in frames that are whole: no checksum of zstd speaks of the lines. */
static void frames_of_nonsense(void **state) {
    static const char *const texts[] = {"{\"id\":1}\nhello\n{\"id\":3}\n",
                                        "{\"id\":4}\n{\"id\":3}\n"};
    struct place *p = *state;
    char part[200], packed[400];
    snprintf(part, sizeof part, "%s.part", p->path);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        for (size_t frame = 5; frame < 40; frame += 5) {
            struct err e;
            struct dump_writer *w;
            spit(part, packed, pack(texts[i], strlen(texts[i]), frame, packed, sizeof packed));
            const struct dump_write_options o = {
                .path = p->path, .compress = true, .resume = true, .stop = &p->stop};
            assert_int_equal(dump_create(&o, &w, &e), V_INVALID);
        }
}

/* Whoever finds that a finished dump is not the one that is wanted leaves it as it was. */
static void a_name_is_given_back(void **state) {
    struct place *p = *state;
    size_t n;
    for (int compress = 0; compress < 2; compress++) {
        struct dump_writer *w = create(p, compress, false);
        put_ids(w, 5, 9);
        finish(p, w);
        w = create(p, compress, true);
        assert_int_equal(dump_first_id(w), 5);
        assert_null(slurp(p->path, "", &n));
        dump_writer_free(w);
        assert_null(slurp(p->path, ".part", &n));
        assert_ids(p, 5, 9);
    }
    spit(p->path, "hello\n", 6);
    struct err e;
    struct dump_writer *w;
    const struct dump_write_options o = {.path = p->path, .resume = true, .stop = &p->stop};
    assert_int_equal(dump_create(&o, &w, &e), V_INVALID);
    char *kept = slurp(p->path, "", &n);
    assert_int_equal(n, 6);
    free(kept);
}

static void what_is_no_file(void **state) {
    struct place *p = *state;
    struct err e;
    struct dump_writer *w;
    struct dump_write_options o = {.path = p->dir, .stop = &p->stop};
    assert_int_equal(dump_create(&o, &w, &e), V_INVALID);
    assert_non_null(strstr(e.msg, "is a folder"));
    o.path = "/dev/null";
    assert_int_equal(dump_create(&o, &w, &e), V_INVALID);
    assert_non_null(strstr(e.msg, "standard output"));
}

static void only_one_writes_it(void **state) {
    struct place *p = *state;
    struct err e;
    struct dump_writer *other;
    struct dump_writer *w = create(p, false, false);
    put_ids(w, 1, 5);
    const struct dump_write_options o = {.path = p->path, .stop = &p->stop};
    assert_int_equal(dump_create(&o, &other, &e), V_CONFLICT);
    finish(p, w);
    assert_ids(p, 1, 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_name_comes_with_the_end),
        CASE(an_interrupted_one_is_gone_on_with),
        cmocka_unit_test(what_is_kept_of_a_torn_dump),
        CASE(torn_files),
        cmocka_unit_test(the_last_line_of_a_long_frame),
        CASE(zeros_of_a_power_cut),
        CASE(what_cannot_be_gone_on_with),
        CASE(frames_of_nonsense),
        CASE(a_name_is_given_back),
        CASE(what_is_no_file),
        CASE(only_one_writes_it),
    };
    return cmocka_run_group_tests_name("dump_write", tests, NULL, NULL);
}
