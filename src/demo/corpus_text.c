/* Words for items: templates filled from small word lists. The same seed and id always give the
 * same words; an edit only ever adds, so that a version can be told from the one before. */
#include "demo/corpus_int.h"
#include "demo/corpus_words.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static struct str word(struct rng *r, const struct words *w) {
    return w->list[rng_below(r, w->n)];
}

/* "a" in front of a vowel becomes "an". */
static void add_word(struct rng *r, const struct words *w, struct strbuf *out) {
    struct str s = word(r, w);
    bool article = out->n >= 2 && tolower((unsigned char)out->p[out->n - 2]) == 'a' &&
                   out->p[out->n - 1] == ' ' && (out->n == 2 || out->p[out->n - 3] == ' ');
    if (article && (strchr("aeiou", s.p[0]) || str_starts(s, "hon"))) {
        out->n--;
        strbuf_adds(out, "n ");
    }
    strbuf_add_str(out, s);
}

static void add_year_or_number(struct rng *r, char sign, struct strbuf *out) {
    char digits[16];
    int v = sign == 'y' ? 2003 + (int)rng_below(r, 22) : 2 + (int)rng_below(r, 88);
    int n = snprintf(digits, sizeof digits, "%d", v);
    strbuf_add(out, digits, (size_t)n);
}

static void add_sign(const struct corpus *c, struct rng *r, char sign, struct strbuf *out) {
    char name[CORPUS_NAME_MAX];
    switch (sign) {
    case 'n':
        add_word(r, &WORDS_NOUN, out);
        break;
    case 'N':
        add_word(r, &WORDS_PLURAL, out);
        break;
    case 'a':
        add_word(r, &WORDS_ADJECTIVE, out);
        break;
    case 'v':
        add_word(r, &WORDS_VERB, out);
        break;
    case 't':
        add_word(r, &WORDS_TOOL, out);
        break;
    case 'u':
        text_user_name(c, (int)rng_below(r, CORPUS_USERS), name);
        strbuf_adds(out, name);
        break;
    case 'd':
    case 'y':
        add_year_or_number(r, sign, out);
        break;
    default: /* not a sign: it stands for itself */
        strbuf_addc(out, '%');
        strbuf_addc(out, sign);
    }
}

static void expand(const struct corpus *c, struct rng *r, struct str t, struct strbuf *out) {
    const char *p = t.p, *end = t.p + t.n;
    while (p < end) {
        const char *sign = memchr(p, '%', (size_t)(end - p));
        if (!sign || sign + 1 == end) {
            strbuf_add(out, p, (size_t)(end - p));
            return;
        }
        strbuf_add(out, p, (size_t)(sign - p));
        add_sign(c, r, sign[1], out);
        p = sign + 2;
    }
}

static void expand_any(const struct corpus *c, struct rng *r, const struct words *w,
                       struct strbuf *out) {
    expand(c, r, word(r, w), out);
}

/* A template may begin with a word; a title and a sentence begin with a capital. */
static void capitalise(struct strbuf *out, size_t from) {
    if (out->n > from)
        out->p[from] = (char)toupper((unsigned char)out->p[from]);
}

void text_line(const struct corpus *c, struct rng *r, const struct words *w, struct strbuf *out) {
    size_t from = out->n;
    expand_any(c, r, w, out);
    capitalise(out, from);
}

void text_expand(const struct corpus *c, struct rng *r, const char *template, struct strbuf *out) {
    expand(c, r, str_of(template), out);
}

static void add_sentence(const struct corpus *c, struct rng *r, struct strbuf *out) {
    size_t from = out->n;
    expand_any(c, r, &WORDS_SENTENCE, out);
    capitalise(out, from);
    if (chance(rng_next(r), c->rates.unicode)) {
        strbuf_addc(out, ' ');
        strbuf_add_str(out, word(r, &WORDS_UNICODE));
    }
}

/* The site writes the slashes of a link as entities and cuts the visible part short. */
static void add_link(struct rng *r, struct strbuf *out) {
    struct str noun = word(r, &WORDS_NOUN), host = word(r, &WORDS_TOOL);
    int n = (int)rng_below(r, 9000);
    strbuf_adds(out, "<a href=\"https:&#x2F;&#x2F;www.");
    for (size_t i = 0; i < host.n; i++)
        strbuf_addc(out, (char)tolower((unsigned char)host.p[i]));
    strbuf_addf(out, ".example&#x2F;%.*s&#x2F;%d?a=1&amp;b=2\" rel=\"nofollow\">", STR_FMT(noun),
                n);
    strbuf_addf(out, "https:&#x2F;&#x2F;www.example&#x2F;%.*s&#x2F;...</a>", STR_FMT(noun));
}

static void add_paragraph(const struct corpus *c, struct rng *r, struct strbuf *out) {
    uint64_t form = rng_below(r, 100);
    if (form < 4) {
        strbuf_adds(out, "<pre><code>    ");
        strbuf_add_str(out, word(r, &WORDS_CODE));
        strbuf_adds(out, "\n</code></pre>\n");
        return;
    }
    if (form < 12) {
        strbuf_adds(out, "&gt; <i>");
        add_sentence(c, r, out);
        strbuf_adds(out, "</i><p>");
    }
    int sentences = 1 + (int)rng_below(r, 5);
    for (int i = 0; i < sentences; i++) {
        if (i)
            strbuf_addc(out, ' ');
        add_sentence(c, r, out);
    }
    if (form >= 92) {
        strbuf_adds(out, "<p>[1] ");
        add_link(r, out);
    }
}

static void add_prose(const struct corpus *c, struct rng *r, struct strbuf *out) {
    static const uint8_t lengths[] = {1, 1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 4};
    int paragraphs = lengths[rng_below(r, ARRAY_LEN(lengths))];
    if (rng_below(r, 250) == 0)
        paragraphs = 12 + (int)rng_below(r, 20);
    for (int i = 0; i < paragraphs; i++) {
        if (i)
            strbuf_adds(out, "<p>");
        add_paragraph(c, r, out);
    }
}

/* A NUL after the first word: PostgreSQL text cannot hold it, and C strings end at it. */
static void insert_nul(struct strbuf *out) {
    char *space = out->p ? memchr(out->p, ' ', out->n) : NULL;
    if (space)
        *space = '\0';
    else
        strbuf_addc(out, '\0');
}

static bool has_body(const struct corpus *c, const struct item *it) {
    uint64_t h = corpus_hash(c, SALT_TITLE, -it->id);
    switch (it->kind) {
    case KIND_STORY:
        switch (text_title_class(c, it->id)) {
        case TITLE_ASK:
            return true;
        case TITLE_SHOW:
            return h % 2;
        default:
            return false;
        }
    case KIND_JOB:
        return h % 3 == 0;
    case KIND_POLL:
        return h % 2;
    default:
        return true;
    }
}

void text_body(const struct corpus *c, const struct item *it, struct strbuf *out) {
    if (!has_body(c, it))
        return;
    struct rng r = {corpus_hash(c, SALT_TEXT, it->id)};
    bool nul = chance(rng_next(&r), c->rates.nul);
    if (it->kind == KIND_POLLOPT)
        expand_any(c, &r, &WORDS_OPTION, out);
    else if (it->kind == KIND_JOB)
        for (size_t i = 0; i < WORDS_JOB.n; i++) {
            strbuf_adds(out, i ? "<p>" : "");
            expand(c, &r, WORDS_JOB.list[i], out);
        }
    else
        add_prose(c, &r, out);
    if (nul)
        insert_nul(out);
    for (uint32_t i = 1; i <= it->change.edits && i <= 20; i++) {
        strbuf_addf(out, "<p>Edit %u: ", i);
        add_sentence(c, &r, out);
    }
    if (it->change.edits > 20)
        strbuf_addf(out, "<p>Edited %u times.", it->change.edits);
}

enum title_class text_title_class(const struct corpus *c, int64_t id) {
    uint64_t h = corpus_hash(c, SALT_TITLE, id) % 100;
    return h < 8 ? TITLE_ASK : h < 16 ? TITLE_SHOW : TITLE_LINK;
}

void text_title(const struct corpus *c, const struct item *it, struct strbuf *out) {
    static const struct words *const BY_CLASS[] = {&WORDS_TITLE_LINK, &WORDS_TITLE_ASK,
                                                   &WORDS_TITLE_SHOW};
    struct rng r = {corpus_hash(c, SALT_TITLE, it->id) + 1};
    expand_any(c, &r,
               it->kind == KIND_JOB    ? &WORDS_TITLE_JOB
               : it->kind == KIND_POLL ? &WORDS_TITLE_POLL
                                       : BY_CLASS[text_title_class(c, it->id)],
               out);
    capitalise(out, 0);
    if (chance(rng_next(&r), c->rates.unicode)) {
        strbuf_adds(out, " – ");
        strbuf_add_str(out, word(&r, &WORDS_UNICODE));
    }
    if (it->change.edits && !has_body(c, it))
        strbuf_addf(out, " (updated, %u)", it->change.edits);
}

static bool has_url(const struct corpus *c, const struct item *it) {
    bool job = it->kind == KIND_JOB;
    return it->kind != KIND_POLL && !(job && has_body(c, it)) &&
           (job || text_title_class(c, it->id) != TITLE_ASK);
}

/* One story in twelve names one of a few hundred popular articles, so the same page is submitted
 * again and again under different tracking parameters. */
static uint64_t popular_article(struct rng *r) {
    return rng_below(r, 12) == 0 ? 1 + rng_below(r, ARTICLES_POPULAR) : 0;
}

int64_t text_article(const struct corpus *c, const struct item *it) {
    struct rng r = {corpus_hash(c, SALT_URL, it->id)};
    if (!has_url(c, it))
        return 0;
    int64_t popular = (int64_t)popular_article(&r);
    return popular ? popular : ARTICLES_OWN + it->id;
}

void text_url(const struct corpus *c, const struct item *it, struct strbuf *out) {
    if (!has_url(c, it))
        return;
    if (corpus_sites(c)) {
        article_submitted_url(c, text_article(c, it), it->id, out);
        return;
    }
    struct rng r = {corpus_hash(c, SALT_URL, it->id)};
    uint64_t popular = popular_article(&r);
    struct rng article = {popular ? corpus_hash(c, SALT_URL, -(int64_t)popular) : rng_next(&r)};
    static const char *const SCHEMES[] = {"https://", "https://", "https://", "http://",
                                          "HTTPS://"};
    strbuf_adds(out, SCHEMES[rng_below(&r, rng_below(&r, 20) ? 4 : 5)]);
    strbuf_add_str(out, word(&article, &WORDS_HOST));
    switch (rng_below(&article, 5)) {
    case 0:
        strbuf_addc(out, '/');
        break;
    case 1:
        expand(c, &article, STR("/%y/%d/%a-%n-%v.html"), out);
        break;
    case 2:
        expand(c, &article, STR("/%a%20%n/%d(%n)/"), out);
        break;
    case 3:
        expand(c, &article, STR("/posts/%a-%N-and-%N"), out);
        break;
    default:
        expand(c, &article, STR("/~%n/%N/%d?page=%d"), out);
    }
    if (rng_below(&r, 5) == 0)
        expand_any(c, &r, &WORDS_QUERY, out);
}

void text_user_name(const struct corpus *c, int user, char out[CORPUS_NAME_MAX]) {
    static const char *const JOINTS[] = {"", "", "", "_", "-"};
    uint64_t h = corpus_hash(c, SALT_USER, user);
    struct str first = WORDS_FIRST.list[user % 64], last = WORDS_LAST.list[user / 64 % 64];
    int n = snprintf(out, CORPUS_NAME_MAX, "%.*s%s%.*s", STR_FMT(first),
                     JOINTS[h % ARRAY_LEN(JOINTS)], STR_FMT(last));
    if ((h >> 8) % 4 == 0)
        out[0] = (char)toupper((unsigned char)out[0]);
    if ((h >> 16) % 4 == 0)
        snprintf(out + n, (size_t)(CORPUS_NAME_MAX - n), "%d", (int)((h >> 24) % 100));
}

int text_user_find(const struct corpus *c, struct str name) {
    char candidate[CORPUS_NAME_MAX];
    if (!name.p || name.n < 4 || name.n >= CORPUS_NAME_MAX)
        return -1;
    for (int user = 0; user < CORPUS_USERS; user++) {
        if (WORDS_FIRST.list[user % 64].p[0] != tolower((unsigned char)name.p[0]))
            continue;
        text_user_name(c, user, candidate);
        if (str_eqc(name, candidate))
            return user;
    }
    return -1;
}

void text_about(const struct corpus *c, int user, uint32_t version, struct strbuf *out) {
    struct rng r = {corpus_hash(c, SALT_USER, user + ((int64_t)version << 32)) + 1};
    if (rng_below(&r, 3) == 0 && version == 0)
        return;
    add_sentence(c, &r, out);
    if (rng_below(&r, 3) == 0) {
        strbuf_adds(out, "<p>");
        add_link(&r, out);
    }
}
