#include "hn/article_int.h"

#include "hn/article_words_int.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* In the order of strcmp(). What is not here is a block of no meaning: sites make up their own. */
static const struct tag {
    const char *name;
    uint16_t bits;
} tags[] = {
    {"a", TAG_INLINE | ARTICLE_LINK},
    {"abbr", TAG_INLINE},
    {"acronym", TAG_INLINE},
    {"address", ARTICLE_PARAGRAPH},
    {"applet", ARTICLE_SKIP},
    {"article", ARTICLE_ROOT},
    {"aside", ARTICLE_SKIP},
    {"audio", ARTICLE_SKIP},
    {"b", TAG_INLINE},
    {"bdi", TAG_INLINE},
    {"bdo", TAG_INLINE},
    {"big", TAG_INLINE},
    {"button", ARTICLE_SKIP},
    {"canvas", ARTICLE_SKIP},
    {"cite", TAG_INLINE},
    {"code", TAG_INLINE},
    {"data", TAG_INLINE},
    {"datalist", ARTICLE_SKIP},
    {"dd", ARTICLE_PARAGRAPH},
    {"del", TAG_INLINE},
    {"dfn", TAG_INLINE},
    {"dialog", ARTICLE_SKIP},
    {"dt", ARTICLE_PARAGRAPH},
    {"em", TAG_INLINE},
    {"embed", ARTICLE_SKIP},
    {"figcaption", ARTICLE_PARAGRAPH},
    {"font", TAG_INLINE},
    {"footer", ARTICLE_SKIP},
    {"h1", ARTICLE_PARAGRAPH | ARTICLE_HEADING},
    {"h2", ARTICLE_PARAGRAPH | ARTICLE_HEADING},
    {"h3", ARTICLE_PARAGRAPH | ARTICLE_HEADING},
    {"h4", ARTICLE_PARAGRAPH | ARTICLE_HEADING},
    {"h5", ARTICLE_PARAGRAPH | ARTICLE_HEADING},
    {"h6", ARTICLE_PARAGRAPH | ARTICLE_HEADING},
    {"head", ARTICLE_SKIP | TAG_HEAD},
    {"header", TAG_HEADER},
    {"i", TAG_INLINE},
    {"img", TAG_INLINE},
    {"input", ARTICLE_SKIP},
    {"ins", TAG_INLINE},
    {"kbd", TAG_INLINE},
    {"label", TAG_INLINE},
    {"li", ARTICLE_PARAGRAPH | ARTICLE_ITEM},
    {"main", ARTICLE_ROOT},
    {"mark", TAG_INLINE},
    {"math", ARTICLE_SKIP},
    {"menu", ARTICLE_UNLIKELY},
    {"nav", ARTICLE_SKIP},
    {"nobr", TAG_INLINE},
    {"noscript", ARTICLE_SKIP},
    {"object", ARTICLE_SKIP},
    {"option", ARTICLE_SKIP},
    {"p", ARTICLE_PARAGRAPH},
    {"pre", ARTICLE_PARAGRAPH | ARTICLE_PRE},
    {"q", TAG_INLINE},
    {"rp", ARTICLE_SKIP},
    {"rt", ARTICLE_SKIP},
    {"ruby", TAG_INLINE},
    {"s", TAG_INLINE},
    {"samp", TAG_INLINE},
    {"script", ARTICLE_SKIP},
    {"select", ARTICLE_SKIP},
    {"small", TAG_INLINE},
    {"span", TAG_INLINE},
    {"strike", TAG_INLINE},
    {"strong", TAG_INLINE},
    {"style", ARTICLE_SKIP},
    {"sub", TAG_INLINE},
    {"sup", TAG_INLINE},
    {"svg", ARTICLE_SKIP},
    {"td", ARTICLE_PARAGRAPH},
    {"template", ARTICLE_SKIP},
    {"textarea", ARTICLE_SKIP},
    {"th", ARTICLE_PARAGRAPH},
    {"time", TAG_INLINE},
    {"title", ARTICLE_SKIP},
    {"tt", TAG_INLINE},
    {"u", TAG_INLINE},
    {"var", TAG_INLINE},
    {"video", ARTICLE_SKIP},
    {"wbr", TAG_INLINE},
};

/* Names that sites give to what is around an article, to the article, and to a page that has or has
 * not the former. */
static const char *const around[] = {
    "ad",        "ads",       "advert",  "advertisement", "banner",  "breadcrumb", "breadcrumbs",
    "comment",   "comments",  "consent", "cookie",        "cookies", "disqus",     "footer",
    "masthead",  "menu",      "modal",   "nav",           "navbar",  "navigation", "newsletter",
    "outbrain",  "pager",     "popup",   "pagination",    "promo",   "promotion",  "recommended",
    "related",   "share",     "sharing", "sidebar",       "signup",  "social",     "sponsor",
    "sponsored", "subscribe", "taboola", "toolbar",       "widget",  NULL};
static const char *const within[] = {"article", "body",  "content", "entry",  "main",
                                     "post",    "story", "text",    "column", NULL};
static const char *const may_be[] = {"article", "body", "content", "main", "column",
                                     "has",     "no",   "with",    NULL};
static const char *const roles_around[] = {
    "alertdialog", "banner",     "complementary", "contentinfo", "dialog", "menu",
    "menubar",     "navigation", "search",        "toolbar",     NULL};

bool article_is_one_of(struct str word, const char *const *list) {
    for (; *list; list++)
        if (strlen(*list) == word.n && strncasecmp(*list, word.p, word.n) == 0)
            return true;
    return false;
}

static int compare(const void *key, const void *row) {
    return strcmp(key, ((const struct tag *)row)->name);
}

unsigned words_of_tag(const char *name) {
    const struct tag *t = bsearch(name, tags, ARRAY_LEN(tags), sizeof tags[0], compare);
    return t ? t->bits : 0;
}

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_upper(char c) {
    return c >= 'A' && c <= 'Z';
}

/* "postBody side-bar": post, Body, side, bar. */
void words_of_name(const char *name, struct word_signs *signs) {
    for (const char *p = name; *p;) {
        const char *end = p;
        if (!is_word(*p)) {
            p++;
            continue;
        }
        while (is_word(*end) && (end == p || !is_upper(*end) || is_upper(end[-1])))
            end++;
        struct str word = {p, (size_t)(end - p)};
        signs->around |= article_is_one_of(word, around);
        signs->within |= article_is_one_of(word, within);
        signs->may_be |= article_is_one_of(word, may_be);
        p = end;
    }
}

bool words_of_role(const char *role) {
    return article_is_one_of(str_of(role), roles_around);
}
