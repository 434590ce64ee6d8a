#include "hn/url_int.h"
#include "hn/url_key.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define VIDEO "dQw4w9WgXcQ"

struct key_case {
    const char *url, *key; /* key NULL: not a URL of ours */
};

static const struct key_case general[] = {
    {"http://example.com/a", "example.com/a"},
    {"https://example.com/a", "example.com/a"},
    {"HTTPS://Example.COM/A", "example.com/A"},
    {"example.com/a", "example.com/a"},
    {"//example.com/a", "example.com/a"},
    {"http:/example.com/a", "example.com/a"},
    {" \t http://example.com/a \n", "example.com/a"},
    {"http://example.com", "example.com"},
    {"http://example.com/", "example.com"},
    {"http://example.com/?", "example.com"},
    {"http://example.com?a=b", "example.com?a=b"},
    {"http://example.com/?a=b", "example.com?a=b"},
    {"http://user:pw@example.com/a", "example.com/a"},
    {"http://a@b@example.com/a", "example.com/a"},
    {"http://other.example\\@example.com/a", NULL}, /* browsers go to the other one */
    {"http://other.example\\a@example.com/a", NULL},
    /* other schemes, no host, no sense */
    {"ftp://example.com/a", NULL},
    {"com.example.app://example.com", NULL},
    {"mailto:me@example.com", NULL},
    {"me@example.com", NULL},
    {"javascript:alert(1)", NULL},
    {"javascript:a.b(1)", NULL},
    {"data:text/html,x.y", NULL},
    {"tel:911", NULL},
    {"http:example.com", NULL},
    {"http://http://example.com", NULL},
    {"http://", NULL},
    {"http:///a", NULL},
    {"http://?a", NULL},
    {"http://#a", NULL},
    {"", NULL},
    {"   ", NULL},
    {"/a/b", NULL},
    {"hello", NULL},
    {"http://hello/a", NULL},
    {"http://exa\x01mple.com/", NULL},
    {"http://example.com/a\nb", NULL},
    {"http://example.com/a\x7F", NULL},
};

static const struct key_case hosts[] = {
    {"http://www.example.com/", "example.com"},
    {"http://www2.example.com/", "example.com"},
    {"http://www.www2.www.example.com/", "example.com"},
    {"http://WWW.example.com/", "example.com"},
    {"http://www.com/", "www.com"},
    {"http://www2.com/", "www2.com"},
    {"http://www3.example.com/", "www3.example.com"},
    {"http://wwwx.example.com/", "wwwx.example.com"},
    {"http://example.com./a", "example.com/a"},
    {"http://example.com...:80/a", "example.com/a"},
    {"http://example.com:80/", "example.com"},
    {"https://example.com:443/", "example.com"},
    {"https://example.com:/", "example.com"},
    {"http://example.com:8080/a", "example.com:8080/a"},
    {"example.com:8080", "example.com:8080"},
    {"http://example.com:0080/", "example.com"},
    {"http://example.com:65536/", NULL},
    {"http://example.com:99999999999999/", NULL},
    {"http://example.com:0/", NULL},
    {"http://example.com:8o/", NULL},
    {"http://b\u00fccher.example/", "xn--bcher-kva.example"},
    {"http://B\u00dcCHER.example/", "xn--bcher-kva.example"},
    {"http://www.xn--bcher-kva.example/", "xn--bcher-kva.example"},
    {"http://\u4f8b\u3048\u3002jp/", "xn--r8jz45g.jp"},
    {"http://a\u2100b.com/", NULL}, /* its mapping holds a slash */
    {"http://\u00e9\xFF.com/", NULL},
    {"http://a..b.com/", NULL},
    {"http://.example.com/", NULL},
    {"http://exa mple.com/", NULL},
    {"http://exa%6Dple.com/", NULL},
    {"http://example.com\\a", NULL},
    {"http://my_blog.example.com/", "my_blog.example.com"},
    {"http://127.0.0.1:8000/a", "127.0.0.1:8000/a"},
    {"http://localhost:8000/a", "localhost:8000/a"},
    {"http://[::1]:80/a", "[::1]/a"},
    {"http://[2001:DB8:0:0::1]:8080/a", "[2001:db8::1]:8080/a"},
    {"http://[::1", NULL},
    {"http://[::1]x/", NULL},
    {"http://[]/", NULL},
    {"http://[1.2.3.4]/", NULL},
    {"http://"
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.com/",
     NULL}, /* a label of 64 */
};

static const struct key_case paths[] = {
    {"http://example.com/a/", "example.com/a"},
    {"http://example.com/a///", "example.com/a"},
    {"http://example.com//a", "example.com//a"},
    {"http://example.com/index.html", "example.com"},
    {"http://example.com/a/index.html?b=c", "example.com/a?b=c"},
    {"http://example.com/a//index.html/index.html/", "example.com/a"},
    {"http://example.com/a/index.htm", "example.com/a/index.htm"},
    {"http://example.com/a/index.php", "example.com/a/index.php"},
    {"http://example.com/myindex.html", "example.com/myindex.html"},
    {"http://example.com/a/./b/../c", "example.com/a/c"},
    {"http://example.com/../../a", "example.com/a"},
    {"http://example.com/a/b/..", "example.com/a"},
    {"http://example.com/a/.", "example.com/a"},
    {"http://example.com/.hidden/..a/b..", "example.com/.hidden/..a/b.."},
    {"http://example.com/%2e%2E/a", "example.com/a"},
    {"http://example.com/%7euser/%c3%a9", "example.com/~user/%C3%A9"},
    {"http://example.com/\u00e9", "example.com/%C3%A9"},
    {"http://example.com/a b\"<>`{}", "example.com/a%20b%22%3C%3E%60%7B%7D"},
    {"http://example.com/a%2Fb%3f", "example.com/a%2Fb%3F"},
    {"http://example.com/100%", "example.com/100%25"},
    {"http://example.com/%zz%4", "example.com/%25zz%254"},
    {"http://example.com/%%34%31", "example.com/%2541"},
    {"http://example.com/(a),b;c=d@e:f!$&'*+|^[]\\", "example.com/(a),b;c=d@e:f!$&'*+|^[]\\"},
    /* fragments: places within a page, or pages of an application */
    {"http://example.com/a#top", "example.com/a"},
    {"http://example.com/a#", "example.com/a"},
    {"http://example.com/a#.x7yz", "example.com/a"},
    {"http://example.com/#!/page", "example.com#!/page"},
    {"http://example.com/#!page", "example.com#!page"},
    {"http://example.com/#/page?b=c", "example.com#/page?b=c"},
    {"http://example.com/#!", "example.com"},
    {"http://example.com/#/", "example.com"},
    {"http://example.com/#/a b ", "example.com#/a%20b"},
};

static const struct key_case queries[] = {
    {"http://example.com/?b=2&a=1", "example.com?a=1&b=2"},
    {"http://example.com/?b=2&a=2&a=1", "example.com?a=2&a=1&b=2"},
    {"http://example.com/?ab=1&a=2&a-b=3", "example.com?a=2&a-b=3&ab=1"},
    {"http://example.com/?&a=1&&b", "example.com?a=1&b"},
    {"http://example.com/?a=%7e%c3+x%zz&B=\u00e9", "example.com?B=\u00e9&a=%7e%c3+x%zz"},
    {"http://example.com/?b=1 &a=2 3", "example.com?a=2%203&b=1%20"},
    {"http://example.com/?a=b?c=d", "example.com?a=b?c=d"},
    {"http://example.com/?a=/b/", "example.com?a=/b/"},
    {"http://example.com/?", "example.com"},
    {"http://example.com/?12345", "example.com?12345"},
    {"http://example.com/?utm_source=x&utm_medium=y&UTM_Campaign=z&id=1", "example.com?id=1"},
    {"http://example.com/?utm_source&utm_=", "example.com"},
    {"http://example.com/?utmost=1", "example.com?utmost=1"},
    {"http://example.com/?gclid=1&fbclid=2&msclkid=3&mc_eid=4&igshid=5&_gl=6&gbraid=7&wbraid=8",
     "example.com"},
    {"http://example.com/?FBCLID=1&gclid2=2&gcli=3", "example.com?gcli=3&gclid2=2"},
    {"http://example.com/?a=1&amp;utm_source=x&amp;b=2", "example.com?a=1&amp;b=2"},
    {"http://example.com/?amp;amp;utm_source=x", "example.com"},
    {"http://example.com/?WT.mc_id=1&wt=2", "example.com?wt=2"},
    /* words that mean something elsewhere go only where they are known to say nothing */
    {"http://example.com/?ref=hn", "example.com?ref=hn"},
    {"http://www.nytimes.com/a.html?ref=technology&_r=0&x=1", "nytimes.com/a.html?x=1"},
    {"http://bits.blogs.nytimes.com/a/?ref=technology", "bits.blogs.nytimes.com/a"},
    {"http://notnytimes.com/?ref=technology", "notnytimes.com?ref=technology"},
    {"http://nytimes.com.example.com/?ref=1", "nytimes.com.example.com?ref=1"},
    {"https://github.com/a/b?tab=readme-ov-file", "github.com/a/b"},
    {"https://github.com/a?tab=repositories", "github.com/a?tab=repositories"},
    {"https://www.theatlantic.com/a/?single_page=true&amp;single_page=true", "theatlantic.com/a"},
    {"https://news.ycombinator.com/item?id=1", "news.ycombinator.com/item?id=1"},
    {"https://twitter.com/a/status/1?s=20&t=x", "twitter.com/a/status/1"},
    {"https://medium.com/@a/b-1?source=friends_link&sk=2#.x", "medium.com/@a/b-1"},
};

static const struct key_case amp[] = {
    {"https://www.google.com/amp/s/www.example.com/a/amp/?b=c", "example.com/a?b=c"},
    {"https://www.google.co.uk/amp/example.com/a", "example.com/a"},
    {"https://google.com/amp/s/google.com/amp/s/example.com/a", "example.com/a"},
    {"https://www.bing.com/amp/s/example.com/a", "example.com/a"},
    {"https://www-example-com.cdn.ampproject.org/c/s/www.example.com/a/amp/?usqp=1&amp_js_v=2",
     "example.com/a"},
    {"https://cdn.ampproject.org/v/example.com/a", "example.com/a"},
    {"https://www.google.com.au/amp/s/example.com/a", "example.com/a"},
    {"https://google.de/amp/s/example.com/a", "example.com/a"},
    /* not Google's: nobody may pass for the pages of others */
    {"https://google.example.com/amp/s/other.com/a", "google.example.com/amp/s/other.com/a"},
    {"https://google.com.x.de/amp/s/other.com/a", "google.com.x.de/amp/s/other.com/a"},
    {"https://google.co.uk.de/amp/s/other.com/a", "google.co.uk.de/amp/s/other.com/a"},
    {"https://google.x.de/amp/s/other.com/a", "google.x.de/amp/s/other.com/a"},
    {"https://google.community/amp/s/other.com/a", "google.community/amp/s/other.com/a"},
    {"https://www.google.com/amp/s/nothing", "google.com/amp/s/nothing"},
    {"https://www.google.com/amp", "google.com/amp"},
    {"https://example.com/amp/s/other.com/a", "example.com/amp/s/other.com/a"},
    {"https://example.com/story/amp", "example.com/story"},
    {"https://example.com/story/amp/amp/", "example.com/story"},
    {"https://example.com/story.html/amp", "example.com/story.html"},
    {"https://example.com/a/index.html/amp", "example.com/a"},
    {"https://example.com/amp", "example.com/amp"},
    {"https://example.com/a/camp", "example.com/a/camp"},
    {"https://github.com/someone/amp", "github.com/someone/amp"},
    {"https://example.com/story.amp.html", "example.com/story.html"},
    {"https://example.com/story?amp=1", "example.com/story"},
    {"https://example.com/story?amp&b=1", "example.com/story?b=1"},
    {"https://example.com/story?amp=5", "example.com/story?amp=5"},
    {"https://example.com/story?outputType=amp", "example.com/story"},
    {"https://amp.example.com/story", "example.com/story"},
    {"https://www.amp.example.com/story", "example.com/story"},
    {"https://amp.dev/story", "amp.dev/story"},
    {"https://www.theverge.com/platform/amp/2018/1/a", "theverge.com/2018/1/a"},
    {"https://www.wsj.com/amp/articles/a-1", "wsj.com/articles/a-1"},
    {"https://www.bbc.co.uk/news/amp/world-1", "bbc.co.uk/news/world-1"},
};

static const struct key_case sites[] = {
    {"https://www.youtube.com/watch?v=" VIDEO, "youtube.com/watch?v=" VIDEO},
    {"http://youtube.com/watch?feature=share&v=" VIDEO "&t=5s#t=1", "youtube.com/watch?v=" VIDEO},
    {"https://www.youtube.com/watch?v=" VIDEO "?", "youtube.com/watch?v=" VIDEO},
    {"https://m.youtube.com/watch?v=" VIDEO "&list=PL1", "youtube.com/watch?v=" VIDEO},
    {"https://youtu.be/" VIDEO "?t=281", "youtube.com/watch?v=" VIDEO},
    {"https://www.youtube.com/embed/" VIDEO, "youtube.com/watch?v=" VIDEO},
    {"https://www.youtube-nocookie.com/embed/" VIDEO "/", "youtube.com/watch?v=" VIDEO},
    {"https://www.youtube.com/shorts/" VIDEO, "youtube.com/watch?v=" VIDEO},
    {"https://www.youtube.com/live/" VIDEO "?si=x", "youtube.com/watch?v=" VIDEO},
    {"https://www.youtube.com/v/" VIDEO, "youtube.com/watch?v=" VIDEO},
    {"https://www.youtube.com/embed/videoseries?list=PL1",
     "youtube.com/embed/videoseries?list=PL1"},
    {"https://www.youtube.com/playlist?list=PL1&si=x", "youtube.com/playlist?list=PL1"},
    {"https://www.youtube.com/watch?v=short", "youtube.com/watch?v=short"},
    {"https://www.youtube.com/@someone", "youtube.com/@someone"},
    {"https://www.youtube.com/watch", "youtube.com/watch"},
    {"https://arxiv.org/abs/2401.01234", "arxiv.org/abs/2401.01234"},
    {"https://arxiv.org/pdf/2401.01234", "arxiv.org/abs/2401.01234"},
    {"http://arxiv.org/pdf/2401.01234v2.pdf", "arxiv.org/abs/2401.01234"},
    {"https://arxiv.org/html/2401.01234v12", "arxiv.org/abs/2401.01234"},
    {"https://export.arxiv.org/abs/0706.1234v1?context=cs", "arxiv.org/abs/0706.1234"},
    {"https://www.arxiv.org/pdf/math/0605779v3", "arxiv.org/abs/math/0605779"},
    {"https://ar5iv.labs.arxiv.org/html/2401.01234", "arxiv.org/abs/2401.01234"},
    {"https://arxiv.org/list/cs/new", "arxiv.org/list/cs/new"},
    {"https://arxiv.org/abs/v2", "arxiv.org/abs/v2"},
    {"https://arxiv.org/pdf/2401.0123456", "arxiv.org/pdf/2401.0123456"},
    {"https://old.reddit.com/r/C_Programming/", "reddit.com/r/C_Programming"},
    {"https://www.reddit.com/r/a/comments/5cz1fz/some_title/", "reddit.com/comments/5cz1fz"},
    {"https://np.reddit.com/r/a/comments/5cz1fz/", "reddit.com/comments/5cz1fz"},
    {"https://m.reddit.com/comments/5cz1fz?st=1&sh=2", "reddit.com/comments/5cz1fz"},
    {"https://new.reddit.com/user/me/comments/5cz1fz/t", "reddit.com/comments/5cz1fz"},
    {"https://redd.it/5cz1fz", "reddit.com/comments/5cz1fz"},
    {"https://www.reddit.com/gallery/5cz1fz", "reddit.com/comments/5cz1fz"},
    {"https://www.reddit.com/r/a/comments/5cz1fz/some_title/egpmh9o/?context=3",
     "reddit.com/comments/5cz1fz/comment/egpmh9o"},
    {"https://www.reddit.com/r/a/comments/5cz1fz/comment/egpmh9o/",
     "reddit.com/comments/5cz1fz/comment/egpmh9o"},
    {"https://www.reddit.com/r/a/s/jss3hBEOuT", "reddit.com/r/a/s/jss3hBEOuT"},
    {"https://www.reddit.com/r/a/wiki/comments/x", "reddit.com/r/a/wiki/comments/x"},
    {"https://i.redd.it/5cz1fz.png", "i.redd.it/5cz1fz.png"},
    {"https://www.reddit.com/r/a/comments", "reddit.com/r/a/comments"},
    {"https://en.m.wikipedia.org/wiki/AMP", "en.wikipedia.org/wiki/AMP"},
    {"https://mobile.twitter.com/a/status/1", "twitter.com/a/status/1"},
    {"https://m.signalvnoise.com/a", "m.signalvnoise.com/a"},
};

static void check(const struct key_case *c, size_t n) {
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < n; i++) {
        struct str key, domain, again;
        bool ok = url_key(&a, str_of(c[i].url), &key, &domain);
        if (ok != (c[i].key != NULL) || !str_eqc(key, c[i].key))
            fail_msg("%s gave %s", c[i].url, key.p ? key.p : "nothing");
        if (!ok) {
            assert_null(domain.p);
            continue;
        }
        if (key.p[key.n] || domain.p[domain.n] || !str_starts(key, domain.p))
            fail_msg("%s: %s, domain %s", c[i].url, key.p, domain.p);
        if (!url_key(&a, key, &again, &domain) || !str_eq(key, again))
            fail_msg("the key of %s is not %s", key.p, again.p ? again.p : "there");
    }
    arena_release(&a);
}

#define TABLE_TEST(table)                             \
    static void table##_table(void **state) {         \
        (void)state;                                  \
        check(table, sizeof table / sizeof table[0]); \
    }
TABLE_TEST(general)
TABLE_TEST(hosts)
TABLE_TEST(paths)
TABLE_TEST(queries)
TABLE_TEST(amp)
TABLE_TEST(sites)

static void domain_has_no_port(void **state) {
    (void)state;
    struct arena a;
    struct str key, domain;
    arena_init(&a);
    assert_true(url_key(&a, STR("http://www.example.com:8080/a"), &key, &domain));
    assert_string_equal(domain.p, "example.com");
    assert_true(url_key(&a, STR("https://youtu.be/" VIDEO), &key, &domain));
    assert_string_equal(domain.p, "youtube.com");
    assert_true(url_key(&a, STR("https://google.com/amp/s/www.example.com/a"), &key, &domain));
    assert_string_equal(domain.p, "example.com");
    assert_false(url_key(&a, STR_NONE, &key, &domain));
    arena_release(&a);
}

static bool has_key(struct str url) {
    struct arena a;
    struct str key, domain;
    arena_init(&a);
    bool ok = url_key(&a, url, &key, &domain);
    arena_release(&a);
    return ok;
}

static void length_has_a_limit(void **state) {
    (void)state;
    static char text[URL_MAX + 2];
    memset(text, 'a', sizeof text);
    memcpy(text, "http://x.com/", 13);
    assert_true(has_key((struct str){text, URL_MAX}));
    assert_false(has_key((struct str){text, URL_MAX + 1}));
    memset(text + 13, '<', sizeof text - 13); /* a key three times as long */
    assert_true(has_key((struct str){text, 1000}));
    assert_false(has_key((struct str){text, 2000}));
    memset(text + 13, '&', sizeof text - 13);
    for (size_t i = 13; i < sizeof text; i += 2)
        text[i] = i == 13 ? '?' : "zyxwv"[i % 5];
    assert_true(has_key((struct str){text, URL_MAX}));
}

static void a_whole_url_has_scheme_and_no_blanks(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"https://example.com/a", "https://example.com/a"},
        {"HTTP://Example.com/a?b=c#d", "http://Example.com/a?b=c#d"},
        {"example.com/a", "https://example.com/a"},
        {"//example.com/a", "https://example.com/a"},
        {"http:/example.com/a", "http://example.com/a"},
        {"example.com/a?next=https://other.example/",
         "https://example.com/a?next=https://other.example/"},
        {"example.com:8080", "https://example.com:8080"},
        {" \t https://example.com/a b\tc \n", "https://example.com/a%20b%09c"},
        {"ftp://example.com/a", "ftp://example.com/a"},
        {"", "https://"},
    };
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str whole = url_whole(&a, str_of(cases[i][0]));
        if (!str_eqc(whole, cases[i][1]))
            fail_msg("%s became %.*s", cases[i][0], STR_FMT(whole));
        assert_int_equal(whole.p[whole.n], '\0');
    }
    arena_release(&a);
}

static void a_shared_url_is_as_others_submit_it(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"https://www.example.com/a/?b=1&a=2", "https://www.example.com/a/?b=1&a=2"},
        {"http://example.com/index.html", "http://example.com/index.html"},
        {"example.com/a", "https://example.com/a"},
        {"https://example.com/a?utm_source=x&utm_medium=y", "https://example.com/a"},
        {"https://example.com/a?z=1&fbclid=x&b=2#top", "https://example.com/a?z=1&b=2"},
        {"https://example.com/#!/page?utm_source=x", "https://example.com/#!/page?utm_source=x"},
        {"https://www.nytimes.com/a.html?_r=0&smid=tw", "https://www.nytimes.com/a.html"},
        {"https://mobile.nytimes.com/a.html?_r=0", "https://nytimes.com/a.html"},
        {"https://amp.example.com/a", "https://example.com/a"},
        {"https://example.com/a/amp/", "https://example.com/a"},
        {"https://www.google.com/amp/s/example.com/a", "https://example.com/a"},
        {"https://youtu.be/" VIDEO "?t=4", "https://youtube.com/watch?v=" VIDEO},
        {"https://www.youtube.com/watch?t=4&v=" VIDEO, "https://youtube.com/watch?v=" VIDEO},
        {"https://arxiv.org/pdf/2401.01234v2.pdf", "https://arxiv.org/abs/2401.01234"},
        {"https://user:secret@example.com/a", "https://example.com/a"},
        {"https://example.com:8080/a?gclid=1", "https://example.com:8080/a"},
        {"ftp://example.com/a", "ftp://example.com/a"},
    };
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str shared = url_shared(&a, str_of(cases[i][0]));
        if (!str_eqc(shared, cases[i][1]))
            fail_msg("%s became %.*s", cases[i][0], STR_FMT(shared));
    }
    arena_release(&a);
}

static void every_name_in_the_list_is_found(void **state) {
    (void)state;
    for (size_t i = 0; i < url_n_noise_names; i++) {
        const char *name = url_noise_names[i];
        if (i && strcmp(url_noise_names[i - 1], name) >= 0)
            fail_msg("%s is out of order", name);
        if (!url_param_is_noise("", str_of(name)))
            fail_msg("%s is not found", name);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(general_table),
        cmocka_unit_test(hosts_table),
        cmocka_unit_test(paths_table),
        cmocka_unit_test(queries_table),
        cmocka_unit_test(amp_table),
        cmocka_unit_test(sites_table),
        cmocka_unit_test(domain_has_no_port),
        cmocka_unit_test(length_has_a_limit),
        cmocka_unit_test(a_whole_url_has_scheme_and_no_blanks),
        cmocka_unit_test(a_shared_url_is_as_others_submit_it),
        cmocka_unit_test(every_name_in_the_list_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
