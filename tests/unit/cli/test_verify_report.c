#include "cli/verify_report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef void print_fn(FILE *out, const struct verify_report *r, const struct verify_asked *asked);

static char *printed(print_fn *print, const struct verify_report *r, struct verify_asked asked) {
    char *text;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    print(out, r, &asked);
    fclose(out);
    return text;
}

static struct verify_report *sound(void) {
    struct verify_report *r = xcalloc(1, sizeof *r);
    r->floor = 1;
    r->frontier = (struct frontier){1000, 1000};
    r->range = (struct range){1, 1000};
    r->ids = 1000;
    r->items = 990;
    r->missing = 10;
    return r;
}

static void a_sound_archive(void **state) {
    (void)state;
    CLEANUP(free_ptr) struct verify_report *r = sound();
    CLEANUP(free_ptr) char *text = printed(verify_print, r, (struct verify_asked){0});
    assert_non_null(strstr(text, "the archive holds what it says\n"));
    assert_null(strstr(text, "repair"));
    assert_null(strstr(text, "sample"));
    CLEANUP(free_ptr) char *json = printed(verify_print_json, r, (struct verify_asked){0});
    assert_non_null(strstr(json, "\"ok\":true"));
    assert_non_null(strstr(json, "\"findings\":{}"));
}

static void findings_and_advice(void **state) {
    (void)state;
    CLEANUP(free_ptr) struct verify_report *r = sound();
    r->found[FIND_MISSING].count = 1234;
    r->found[FIND_MISSING].n = 1;
    r->found[FIND_MISSING].list[0] = (struct finding){7, 7, "gone \"for good\""};
    r->found[FIND_CURSOR].count = 1;
    r->found[FIND_CURSOR].n = 1;
    r->found[FIND_CURSOR].list[0] = (struct finding){1, 1000, "at 500"};
    assert_int_equal(verify_total(r), 1235);
    CLEANUP(free_ptr) char *text = printed(verify_print, r, (struct verify_asked){0});
    assert_non_null(strstr(text, "1,235 findings"));
    assert_non_null(strstr(text, "\nmissing: 1,234 ("));
    assert_non_null(strstr(text, "\n  7  gone \"for good\"\n  and 1,233 more\n"));
    assert_non_null(strstr(text, "\n  1-1000  at 500\n"));
    assert_non_null(strstr(text, "'tain verify --repair'"));
    CLEANUP(free_ptr) char *json = printed(verify_print_json, r, (struct verify_asked){0});
    assert_non_null(strstr(json, "\"ok\":false"));
    assert_non_null(strstr(json, "\"missing\":{\"count\":1234,\"list\":[{\"id\":7,\"end_id\":7,"
                                 "\"detail\":\"gone \\\"for good\\\"\"}]}"));
    r->gap_segments = r->gap_ids = 2;
    CLEANUP(free_ptr) char *after = printed(verify_print, r, (struct verify_asked){.repair = true});
    assert_non_null(strstr(after, "2 to be fetched, in 2 new segments"));
    assert_non_null(strstr(after, "'tain catchup'"));
}

static void a_sample_that_was_not_answered(void **state) {
    (void)state;
    CLEANUP(free_ptr) struct verify_report *r = sound();
    r->sample = (struct sample_report){.asked = 5,
                                       .equal = 2,
                                       .newer = 1,
                                       .unanswered = 2,
                                       .trouble = "connect: refused",
                                       .seed = 9};
    CLEANUP(free_ptr) char *text = printed(verify_print, r, (struct verify_asked){.sample = true});
    assert_non_null(strstr(text, "sample (--seed 9): 5 asked, 2 equal, 1 newer upstream"));
    assert_non_null(strstr(text, "did not answer for 2 of 5 (connect: refused)"));
    assert_null(strstr(text, "the archive holds what it says"));
    CLEANUP(free_ptr)
    char *json = printed(verify_print_json, r, (struct verify_asked){.sample = true});
    assert_non_null(strstr(json, "\"sample\":{\"seed\":9,\"asked\":5"));
    assert_non_null(strstr(json, "\"ok\":false"));
    assert_non_null(strstr(json, "\"trouble\":\"connect: refused\""));
}

/* What is only to be fetched is for a catch-up, not for one more repair. */
static void unconfirmed_and_how_it_goes_on(void **state) {
    (void)state;
    CLEANUP(free_ptr) struct verify_report *r = sound();
    r->found[FIND_UNCONFIRMED].count = 2;
    r->open_repairs = 2;
    r->dead_repairs = 1;
    CLEANUP(free_ptr) char *text = printed(verify_print, r, (struct verify_asked){0});
    assert_null(strstr(text, "--repair"));
    assert_non_null(strstr(text, "1 repair segment waits for 'tain catchup'"));
    assert_non_null(strstr(text, "1 repair segment ended in dead letters"));
    r->open_repairs = r->dead_repairs = 0;
    CLEANUP(free_ptr) char *lost = printed(verify_print, r, (struct verify_asked){0});
    assert_non_null(strstr(lost, "'tain verify --repair'"));
}

static void stopped_half_way(void **state) {
    (void)state;
    CLEANUP(free_ptr) struct verify_report *r = sound();
    r->stopped = true;
    CLEANUP(free_ptr)
    char *text = printed(verify_print, r, (struct verify_asked){.again = "tain verify"});
    assert_non_null(strstr(text, "nothing is off so far"));
    assert_non_null(strstr(text, "To begin anew: tain verify\n"));
    CLEANUP(free_ptr) char *json = printed(verify_print_json, r, (struct verify_asked){0});
    assert_non_null(strstr(json, "\"ok\":false,\"stopped\":true"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sound_archive),
        cmocka_unit_test(findings_and_advice),
        cmocka_unit_test(a_sample_that_was_not_answered),
        cmocka_unit_test(unconfirmed_and_how_it_goes_on),
        cmocka_unit_test(stopped_half_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
