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

/* Cut anywhere, as a kill or a power cut leaves it: what is kept is whole, and goes on. */
static void torn_files(void **state) {
    struct place *p = *state;
    char part[200], bytes[4000];
    snprintf(part, sizeof part, "%s.part", p->path);
    for (int compress = 0; compress < 2; compress++) {
        char text[2000];
        size_t n = 0;
        for (int id = 1; id <= 60; id++)
            n += (size_t)sprintf(text + n, "{\"id\":%d}\n", id);
        if (compress)
            n = pack(text, n, 90, bytes, sizeof bytes); /* ten lines of nine bytes at first */
        else
            memcpy(bytes, text, n);
        for (size_t cut = 0; cut <= n; cut++) {
            spit(part, bytes, cut);
            struct dump_writer *w = create(p, compress, true);
            int last = (int)dump_last_id(w);
            assert_in_range(last, 0, 60);
            put_ids(w, last + 1, 61);
            finish(p, w);
            assert_ids(p, 1, 61);
            unlink(p->path);
        }
    }
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
        CASE(torn_files),
        CASE(zeros_of_a_power_cut),
        CASE(what_cannot_be_gone_on_with),
        CASE(frames_of_nonsense),
        CASE(a_name_is_given_back),
        CASE(what_is_no_file),
        CASE(only_one_writes_it),
    };
    return cmocka_run_group_tests_name("dump_write", tests, NULL, NULL);
}
