/* Lines out of a dump of any form, places that are found again, and checksums. */
#include "place.h"

#include "base/rng.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BOM "\xEF\xBB\xBF" /* in front of the text it is no part of it */

static void lines_of_every_shape(void **state) {
    static const struct {
        const char *text, *lines;
    } cases[] = {
        {"", ""},           {"\n", "[]"},
        {"a", "[a]"},       {"a\n", "[a]"},
        {"a\nb", "[a][b]"}, {"a\r\n\n\nb\n", "[a\r][][][b]"},
        {BOM, "[]"},        {BOM "a\n" BOM "b", "[a][" BOM "b]"},
    };
    struct place *p = *state;
    char packed[200];
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (int form = 0; form < 3; form++) {
            size_t n = strlen(cases[i].text);
            if (form == 0)
                spit(p->path, cases[i].text, n);
            else
                spit(p->path, packed, pack(cases[i].text, n, form == 1 ? 100 : 2, packed, 200));
            struct dump_reader *r = place_open(p, false);
            assert_int_equal(dump_is_compressed(r), form > 0 && n > 0);
            CLEANUP(strbuf_release) struct strbuf out;
            strbuf_init(&out, 1000);
            read_rest(r, &out, V_NOT_FOUND);
            assert_string_equal(strbuf_str(&out).p, cases[i].lines);
            assert_int_equal(dump_text_bytes(r), n);
            dump_close(r);
        }
}

static void a_line_without_end_is_read_over(void **state) {
    struct place *p = *state;
    size_t n = 0;
    char *text = malloc(40 << 20);
    memcpy(text, "before\n", 7);
    memset(text + 7, 'x', DUMP_LINE_MAX);
    n = 7 + DUMP_LINE_MAX;
    memcpy(text + n, "\nbetween\n", 9); /* exactly as long as it may be */
    n += 9;
    memset(text + n, 'y', 3 * DUMP_LINE_MAX);
    memcpy(text + n, "{\"id\":77,", 9);
    n += 3 * DUMP_LINE_MAX;
    memcpy(text + n, "\nafter\n", 7);
    n += 7;
    spit(p->path, text, n);
    struct dump_reader *r = place_open(p, false);
    struct err e;
    struct dump_line line;
    static const struct {
        size_t length;
        bool too_long;
    } wanted[] = {
        {6, false}, {DUMP_LINE_MAX, false}, {7, false}, {DUMP_HEAD_MAX, true}, {5, false}};
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        assert_ok(dump_next(r, &line, &e));
        assert_int_equal(line.text.n, wanted[i].length);
        assert_int_equal(line.too_long, wanted[i].too_long);
        if (line.too_long) /* what a person finds it by */
            assert_memory_equal(line.text.p, "{\"id\":77,yy", 11);
    }
    assert_int_equal(dump_next(r, &line, &e), V_NOT_FOUND);
    assert_int_equal(dump_text_bytes(r), n);
    dump_close(r);
    free(text);
}

/* Many lines of many lengths, the same for the same seed. */
static size_t make_text(char *text, size_t lines, uint64_t seed) {
    struct rng rng = {seed};
    size_t n = 0;
    for (size_t i = 0; i < lines; i++) {
        n += (size_t)sprintf(text + n, "%zu:", i);
        size_t more = rng_below(&rng, 20) == 0 ? rng_below(&rng, 20000) : rng_below(&rng, 100);
        memset(text + n, 'a' + (int)(i % 26), more);
        n += more;
        text[n++] = '\n';
    }
    return n;
}

/* Stops after some lines, comes back by a seek, by decompressing, and by reading for a checksum. */
static void a_place_is_found_again(void **state) {
    struct place *p = *state;
    char *text = malloc(8 << 20), *packed = malloc(8 << 20);
    size_t n = make_text(text, 3000, 7), m = pack(text, n, 100000, packed, 8 << 20);
    for (int form = 0; form < 3; form++) {
        spit(p->path, form == 1 ? packed : text, form == 1 ? m : n);
        for (int stop_after = 0; stop_after <= 3000; stop_after += 750) {
            struct err e;
            struct dump_line line;
            struct dump_reader *first = place_open(p, false), *again = place_open(p, form == 2);
            for (int i = 0; i < stop_after; i++)
                assert_ok(dump_next(first, &line, &e));
            assert_string_equal(dump_fingerprint(first), dump_fingerprint(again));
            assert_ok(dump_skip_to(again, dump_text_bytes(first), dump_mark(first), &e));
            assert_int_equal(dump_text_bytes(again), dump_text_bytes(first));
            assert_int_equal(dump_mark(again), dump_mark(first));
            CLEANUP(strbuf_release) struct strbuf a, b;
            strbuf_init(&a, 16 << 20);
            strbuf_init(&b, 16 << 20);
            read_rest(first, &a, V_NOT_FOUND);
            read_rest(again, &b, V_NOT_FOUND);
            assert_string_equal(strbuf_str(&a).p, strbuf_str(&b).p);
            dump_close(first);
            dump_close(again);
        }
    }
    free(text);
    free(packed);
}

static void another_text_is_told_apart(void **state) {
    struct place *p = *state;
    char *text = malloc(8 << 20), *packed = malloc(8 << 20);
    size_t n = make_text(text, 2000, 7);
    struct err e;
    struct dump_line line;
    spit(p->path, text, n);
    struct dump_reader *r = place_open(p, false);
    for (int i = 0; i < 1000; i++)
        assert_ok(dump_next(r, &line, &e));
    int64_t bytes = dump_text_bytes(r), mark = dump_mark(r);
    dump_close(r);
    text[bytes - 10] ^= 1;
    for (int form = 0; form < 3; form++) {
        if (form == 1)
            spit(p->path, packed, pack(text, n, n, packed, 8 << 20));
        else
            spit(p->path, text, form == 0 ? n : (size_t)bytes - 100); /* shorter than the place */
        r = place_open(p, false);
        assert_int_equal(dump_skip_to(r, bytes, mark, &e), V_CONFLICT);
        dump_close(r);
    }
    free(text);
    free(packed);
}

static void damage_is_named(void **state) {
    struct place *p = *state;
    char text[5000], packed[5000];
    memset(text, 'a', sizeof text);
    for (size_t i = 99; i < sizeof text; i += 100)
        text[i] = '\n';
    size_t m = pack(text, sizeof text, 1000, packed, sizeof packed);
    spit(p->path, packed, m - 5); /* cut off in the last frame */
    CLEANUP(strbuf_release) struct strbuf out;
    strbuf_init(&out, 1 << 20);
    struct dump_reader *r = place_open(p, false);
    read_rest(r, &out, V_INVALID);
    assert_true(dump_text_bytes(r) >= 4000);
    dump_close(r);
    packed[m / 2] ^= 0x55;
    spit(p->path, packed, m);
    r = place_open(p, false);
    read_rest(r, &out, V_INVALID);
    dump_close(r);
}

static void what_is_not_a_dump(void **state) {
    struct place *p = *state;
    struct err e;
    struct dump_reader *r;
    struct dump_read_options o = {.path = p->path, .stop = &p->stop};
    assert_int_equal(dump_open(&o, &r, &e), V_INVALID);
    assert_non_null(strstr(e.msg, "No such file"));
    spit(p->path, "\x1f\x8b\x08", 3);
    assert_int_equal(dump_open(&o, &r, &e), V_INVALID);
    assert_non_null(strstr(e.msg, "zcat"));
    o.path = p->dir;
    assert_int_equal(dump_open(&o, &r, &e), V_INVALID);
}

static void a_stop_ends_the_wait_for_a_pipe(void **state) {
    struct place *p = *state;
    struct err e;
    struct dump_reader *r;
    assert_int_equal(mkfifo(p->path, 0600), 0);
    int writer = open(p->path, O_RDWR); /* so that nobody waits for the other end */
    stop_raise(&p->stop);
    const struct dump_read_options o = {.path = p->path, .stop = &p->stop};
    assert_int_equal(dump_open(&o, &r, &e), V_STOPPED);
    close(writer);
}

/* Checksums ---------------------------------------------------------------------------------- */

#define SUM_OF_ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

static void digest_of_what_was_read(void **state) {
    struct place *p = *state;
    char hex[SHA256_HEX];
    CLEANUP(strbuf_release) struct strbuf out;
    strbuf_init(&out, 100);
    spit(p->path, "abc", 3);
    struct dump_reader *r = place_open(p, true);
    read_rest(r, &out, V_NOT_FOUND);
    dump_digest(r, hex);
    assert_string_equal(hex, SUM_OF_ABC);
    dump_close(r);
}

static void the_file_beside_it(void **state) {
    static const struct {
        const char *text;
        enum verdict v;
    } cases[] = {
        {SUM_OF_ABC "  d\n", V_OK},
        {SUM_OF_ABC " *d\n", V_OK},
        {SUM_OF_ABC "  some/where/d\n", V_OK},
        {SUM_OF_ABC, V_OK},
        {"0000000000000000000000000000000000000000000000000000000000000000  other\n" SUM_OF_ABC
         "  d\r\n",
         V_OK},
        {SUM_OF_ABC "  e\n", V_INVALID},
        {"abc  d\n", V_INVALID},
        {"", V_INVALID},
    };
    struct place *p = *state;
    char sidecar[200], hex[SHA256_HEX];
    struct err e;
    assert_int_equal(checksum_of(p->path, hex, &e), V_NOT_FOUND);
    snprintf(sidecar, sizeof sidecar, "%s.sha256", p->path);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        spit(sidecar, cases[i].text, strlen(cases[i].text));
        assert_int_equal(checksum_of(p->path, hex, &e), cases[i].v);
        if (cases[i].v == V_OK)
            assert_string_equal(hex, SUM_OF_ABC);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(lines_of_every_shape),
        CASE(a_line_without_end_is_read_over),
        CASE(a_place_is_found_again),
        CASE(another_text_is_told_apart),
        CASE(damage_is_named),
        CASE(what_is_not_a_dump),
        CASE(a_stop_ends_the_wait_for_a_pipe),
        CASE(digest_of_what_was_read),
        CASE(the_file_beside_it),
    };
    return cmocka_run_group_tests_name("dump_read", tests, NULL, NULL);
}
