#include "hn/url_int.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LEN(array) (sizeof(array) / sizeof(array)[0])

/* The tables. A change here changes keys: raise URL_KEY_VERSION with it.
 *
 * A parameter is "name" (whatever its value), "prefix*", or "name=value", where "name=" is the
 * parameter without a value. Case does not count. */

/* Put on links by advertising, mail and social systems to tell where a click came from. The names
 * are theirs alone, so they go on every host. Sorted, for bsearch. */
const char *const url_noise_names[] = {
    "__s",                  /* Drip */
    "__twitter_impression", /* Twitter's AMP viewer */
    "_branch_match_id",     /* Branch */
    "_ga",                  /* Google Analytics across domains */
    "_gl",
    "_hsenc", /* HubSpot */
    "_hsmi",
    "_ke", /* Klaviyo */
    "_openstat",
    "amp_gsa", /* AMP caches */
    "amp_js_v",
    "at_campaign", /* AT Internet, as the BBC uses it */
    "at_custom1",
    "at_custom2",
    "at_custom3",
    "at_custom4",
    "at_medium",
    "ck_subscriber_id", /* ConvertKit */
    "cm_mmc",           /* IBM Coremetrics */
    "cmpid",            /* "campaign id" of several newspapers */
    "cndid",            /* Conde Nast mail */
    "dclid",            /* Google Display */
    "dm_i",             /* dotdigital */
    "ef_id",            /* Adobe */
    "elqtrack",         /* Eloqua */
    "elqtrackid",
    "epik",          /* Pinterest */
    "fb_action_ids", /* Facebook */
    "fb_action_types",
    "fb_ref",
    "fb_source",
    "fbclid",
    "ga_campaign",
    "ga_content",
    "ga_medium",
    "ga_source",
    "ga_term",
    "gbraid", /* Google Ads */
    "gclid",
    "gclsrc",
    "google_editors_picks", /* Google News */
    "guccounter",           /* consent pages of Yahoo and its papers */
    "guce_referrer",
    "guce_referrer_sig",
    "hsctatracking", /* HubSpot */
    "igsh",          /* Instagram */
    "igshid",
    "li_fat_id", /* LinkedIn Ads */
    "mbid",      /* Conde Nast mail */
    "mc_cid",    /* Mailchimp */
    "mc_eid",
    "mkt_tok",       /* Marketo */
    "ml_subscriber", /* MailerLite */
    "ml_subscriber_hash",
    "msclkid",     /* Microsoft Ads */
    "ncid",        /* AOL's papers */
    "ns_campaign", /* comScore, as the BBC uses it */
    "ns_fee",
    "ns_linkname",
    "ns_mchannel",
    "ns_source",
    "ocid",        /* BBC, MSN */
    "oly_anon_id", /* Omeda */
    "oly_enc_id",
    "pk_campaign", /* Matomo, formerly Piwik */
    "pk_cid",
    "pk_content",
    "pk_keyword",
    "pk_kwd",
    "pk_medium",
    "pk_source",
    "rb_clickid",
    "ref_src", /* Twitter's embedded posts */
    "ref_url",
    "s_cid", /* Adobe Analytics */
    "s_kwcid",
    "sc_campaign", /* AWS */
    "sc_channel",
    "sc_country",
    "sc_geo",
    "sc_outcome",
    "sc_publisher",
    "soc_src", /* Yahoo */
    "soc_trk",
    "spm",      /* Alibaba */
    "sr_share", /* share counters of WordPress.com */
    "trk",      /* LinkedIn, AWS */
    "trkcampaign",
    "ttclid",    /* TikTok */
    "twclid",    /* Twitter */
    "usqp",      /* AMP caches */
    "vero_conv", /* Vero */
    "vero_id",
    "wbraid", /* Google Ads */
    "wickedid",
    "xtor",  /* AT Internet */
    "yclid", /* Yandex */
    "ymclid",
};

const size_t url_n_noise_names = LEN(url_noise_names);

/* Families of such names, and the AMP form of a page. */
static const char noise_patterns[] = "utm_* "   /* Google Analytics, and everyone after it */
                                     "mtm_* "   /* Matomo */
                                     "piwik_* " /* what it was called before */
                                     "hsa_* "   /* HubSpot Ads */
                                     "__hs* "   /* HubSpot cookies across domains */
                                     "wt.* "    /* Webtrends */
                                     "amp= amp=1 amp=true outputtype=amp";

/* Parameters that say nothing on one site and could mean anything elsewhere: how one came there,
 * who shared the link, a pay-wall pass, "all on one page". A site includes the hosts below it. */
static const struct site_noise {
    struct str host;
    const char *patterns; /* separated by a space */
} site_noise[] = {
    {STR("amazon.com"), "_encoding camp creative creativeasin linkcode linkid pd_rd_* pf_rd_* psc "
                        "qid ref ref_ sr tag"},
    {STR("apps.apple.com"), "at ct itscg itsct ls mt"},
    {STR("arstechnica.com"), "comments"},
    {STR("barrons.com"), "mod"},
    {STR("bloomberg.com"), "accesstoken embedded-checkout leadsource sref srnd"},
    {STR("businessinsider.com"), "ir op r"},
    {STR("businessinsider.com.au"), "ir op r"},
    {STR("businessinsider.de"), "ir op r"},
    {STR("cnn.com"), "hpt"},
    {STR("dropbox.com"), "dl"},
    {STR("economist.com"), "fsrc ref spc spv"},
    {STR("fastcompany.com"), "partner"},
    {STR("fortune.com"), "xid"},
    {STR("ft.com"), "accesstoken ftcamp segmentid sharetype"},
    {STR("github.com"), "ref tab=readme-ov-file"},
    {STR("google.com"), "pli usp"},
    {STR("imdb.com"), "pf_rd_* ref_"},
    {STR("instagram.com"), "hl taken-by"},
    {STR("itunes.apple.com"), "at ct itscg itsct ls mt"},
    {STR("kickstarter.com"), "ref"},
    {STR("linkedin.com"), "lipi licu trackingid"},
    {STR("marketwatch.com"), "mod siteid"},
    {STR("medium.com"), "curator gi ref sk source"},
    {STR("newyorker.com"), "currentpage=all intcid"},
    {STR("nytimes.com"),
     "_php _r action auth campaign_id clicksource contentcollection contentid contentplacement ei "
     "em_pos emc en ex gwh gwt hp hpw instance_id login mabreward module moduledetail mtrref nl "
     "nlid oref pagetype pagewanted=all partner pgtype ref referer referrer regi_id region "
     "register ribbon-ad-idx rref rss segment_id smid smprod smtyp src te unlocked_article_code "
     "user_id version"},
    {STR("producthunt.com"), "ref"},
    {STR("quora.com"), "ch oid share srid"},
    {STR("reddit.com"), "correlation_id rdt ref ref_campaign ref_source sh share_id st"},
    {STR("reuters.com"), "feedname feedtype il"},
    {STR("scientificamerican.com"), "print=true"},
    {STR("slate.com"), "via"},
    {STR("smithsonianmag.com"), "no-ist"},
    {STR("stackoverflow.com"), "noredirect"},
    {STR("substack.com"), "isfreemail post_id publication_id r s token triedredirect"},
    {STR("technologyreview.com"), "ref set"},
    {STR("theatlantic.com"), "gift single_page"},
    {STR("thedailybeast.com"), "ref source via"},
    {STR("theguardian.com"), "cmp"},
    {STR("theinformation.com"), "pu"},
    {STR("twitter.com"), "cn cxt lang ref refsrc s src t"},
    {STR("washingtonpost.com"), "hpid itid noredirect tid wpisrc wpmm"},
    {STR("wired.com"), "currentpage=all"},
    {STR("wsj.com"), "mod ref reflink st"},
    {STR("x.com"), "cn cxt lang ref s t"},
    {STR("youtube.com"), "ab_channel app feature pp si"},
};

/* Other hosts of the same pages, under the same paths. A name that begins with a dot stands for
 * every host with that end. Mobile hosts are listed one by one: m.example.com can be a site. */
static const struct alias {
    struct str from, to;
} host_aliases[] = {
    {STR("ar5iv.labs.arxiv.org"), STR("arxiv.org")},
    {STR("ar5iv.org"), STR("arxiv.org")},
    {STR("export.arxiv.org"), STR("arxiv.org")},
    {STR("i.reddit.com"), STR("reddit.com")},
    {STR("m.reddit.com"), STR("reddit.com")},
    {STR("new.reddit.com"), STR("reddit.com")},
    {STR("np.reddit.com"), STR("reddit.com")},
    {STR("old.reddit.com"), STR("reddit.com")},
    {STR("pay.reddit.com"), STR("reddit.com")},
    {STR("sh.reddit.com"), STR("reddit.com")},
    {STR("ssl.reddit.com"), STR("reddit.com")},
    {STR("m.youtube.com"), STR("youtube.com")},
    {STR("youtube-nocookie.com"), STR("youtube.com")},
    {STR("m.facebook.com"), STR("facebook.com")},
    {STR("mbasic.facebook.com"), STR("facebook.com")},
    {STR("m.nautil.us"), STR("nautil.us")},
    {STR("m.nytimes.com"), STR("nytimes.com")},
    {STR("mobile.nytimes.com"), STR("nytimes.com")},
    {STR("m.phys.org"), STR("phys.org")},
    {STR("m.theatlantic.com"), STR("theatlantic.com")},
    {STR("m.twitter.com"), STR("twitter.com")},
    {STR("mobile.twitter.com"), STR("twitter.com")},
    {STR("m.xkcd.com"), STR("xkcd.com")},
    {STR(".m.wikipedia.org"), STR(".wikipedia.org")},
    {STR(".m.wiktionary.org"), STR(".wiktionary.org")},
};

/* AMP pages that differ at the front of the path. */
static const struct path_alias {
    struct str host;
    const char *from, *to;
} path_aliases[] = {
    {STR("bbc.co.uk"), "/news/amp/", "/news/"},
    {STR("bbc.com"), "/news/amp/", "/news/"},
    {STR("bloomberg.com"), "/amp/news/", "/news/"},
    {STR("cnbc.com"), "/amp/", "/"},
    {STR("curbed.com"), "/platform/amp/", "/"},
    {STR("eater.com"), "/platform/amp/", "/"},
    {STR("marketwatch.com"), "/amp/story/", "/story/"},
    {STR("polygon.com"), "/platform/amp/", "/"},
    {STR("recode.net"), "/platform/amp/", "/"},
    {STR("theregister.co.uk"), "/AMP/", "/"},
    {STR("theregister.com"), "/AMP/", "/"},
    {STR("theverge.com"), "/platform/amp/", "/"},
    {STR("vice.com"), "/amp/", "/"},
    {STR("vox.com"), "/platform/amp/", "/"},
    {STR("wsj.com"), "/amp/articles/", "/articles/"},
};

/* Where a last segment "amp" is the name of a thing, not a form of the page before it. */
static const struct str amp_names[] = {
    STR("bitbucket.org"),   STR("codeberg.org"),
    STR("crates.io"),       STR("crunchbase.com"),
    STR("dictionary.com"),  STR("github.com"),
    STR("gitlab.com"),      STR("merriam-webster.com"),
    STR("npmjs.com"),       STR("pypi.org"),
    STR("reddit.com"),      STR("rubygems.org"),
    STR("sr.ht"),           STR("stackoverflow.com"),
    STR("twitter.com"),     STR("urbandictionary.com"),
    STR("wikipedia.org"),   STR("wiktionary.org"),
    STR("ycombinator.com"), STR("x.com"),
};

/* Caches that serve other people's AMP pages: the page's own URL is what follows. */
static const struct amp_cache {
    struct str host; /* and the hosts below it; "google." is Google in a country */
    const char *path;
} amp_caches[] = {
    {STR("google."), "/amp/s/"},          {STR("google."), "/amp/"},
    {STR("bing.com"), "/amp/s/"},         {STR("cdn.ampproject.org"), "/c/s/"},
    {STR("cdn.ampproject.org"), "/v/s/"}, {STR("cdn.ampproject.org"), "/c/"},
    {STR("cdn.ampproject.org"), "/v/"},
};

static int compare_name(const void *key, const void *entry) {
    const struct str *name = key;
    const char *other = *(const char *const *)entry;
    int order = strncasecmp(name->p, other, name->n);
    return order ? order : other[name->n] ? -1 : 0;
}

static bool matches(struct str pattern, struct str name, struct str value) {
    char last = pattern.p[pattern.n - 1];
    const char *equals = memchr(pattern.p, '=', pattern.n);
    size_t n = equals ? (size_t)(equals - pattern.p) : last == '*' ? pattern.n - 1 : pattern.n;
    if (name.n < n || strncasecmp(name.p, pattern.p, n) != 0)
        return false;
    if (last == '*')
        return true;
    size_t want = equals ? pattern.n - n - 1 : value.n;
    return name.n == n && value.n == want &&
           (!equals || strncasecmp(value.p, equals + 1, want) == 0);
}

static bool matches_any(const char *patterns, struct str name, struct str value) {
    while (*patterns) {
        size_t n = strcspn(patterns, " ");
        if (matches((struct str){patterns, n}, name, value))
            return true;
        patterns += n + (patterns[n] == ' ');
    }
    return false;
}

const char *url_site_noise(struct str host) {
    for (size_t i = 0; i < LEN(site_noise); i++)
        if (url_host_under(host, site_noise[i].host))
            return site_noise[i].patterns;
    return "";
}

bool url_param_is_noise(const char *of_site, struct str param) {
    const char *equals = memchr(param.p, '=', param.n);
    struct str name = {param.p, equals ? (size_t)(equals - param.p) : param.n};
    struct str value = {param.p + param.n, 0};
    if (equals)
        value = (struct str){equals + 1, param.n - name.n - 1};
    /* "&amp;" copied out of a page's source leaves "amp;" in front of the name. */
    while (name.n > 4 && strncasecmp(name.p, "amp;", 4) == 0)
        name = (struct str){name.p + 4, name.n - 4};
    return bsearch(&name, url_noise_names, url_n_noise_names, sizeof url_noise_names[0],
                   compare_name) ||
           matches_any(noise_patterns, name, value) || matches_any(of_site, name, value);
}

static bool is_alias(const struct alias *a, struct str host) {
    if (host.n < a->from.n || (host.n > a->from.n && a->from.p[0] != '.'))
        return false;
    return memcmp(host.p + host.n - a->from.n, a->from.p, a->from.n) == 0;
}

void url_alias_host(struct url *u) {
    for (size_t i = 0; i < LEN(host_aliases); i++) {
        const struct alias *a = &host_aliases[i];
        if (!is_alias(a, url_host(u)))
            continue;
        /* No `to` is longer than its `from`. */
        u->host_n -= a->from.n;
        memcpy(u->host + u->host_n, a->to.p, a->to.n);
        u->host_n += a->to.n;
        return;
    }
}

void url_alias_path(struct url *u) {
    for (size_t i = 0; i < LEN(path_aliases); i++) {
        const struct path_alias *a = &path_aliases[i];
        if (!url_host_under(url_host(u), a->host) || !str_starts(url_path(u), a->from))
            continue;
        size_t from = strlen(a->from), to = strlen(a->to);
        memmove(u->path + to, u->path + from, u->path_n - from);
        memcpy(u->path, a->to, to);
        u->path_n -= from - to;
        return;
    }
}

bool url_amp_is_a_name(struct str host) {
    for (size_t i = 0; i < LEN(amp_names); i++)
        if (url_host_under(host, amp_names[i]))
            return true;
    return false;
}

/* google.com, google.de, google.co.uk, google.com.au: what follows is no longer than the name of a
 * country, or google.example.com could pass for the pages of others. */
static bool is_google(struct str host) {
    if (!str_starts(host, "google."))
        return false;
    struct str end = {host.p + 7, host.n - 7};
    if (str_eqc(end, "com"))
        return true;
    size_t n = str_starts(end, "co.") ? 3 : str_starts(end, "com.") ? 4 : 0;
    return end.n - n == 2 && !memchr(end.p + n, '.', 2);
}

bool url_amp_inner(const struct url *u, struct str *ret_inner) {
    for (size_t i = 0; i < LEN(amp_caches); i++) {
        const struct amp_cache *c = &amp_caches[i];
        bool any_country = c->host.p[c->host.n - 1] == '.';
        bool ours = any_country ? is_google(url_host(u)) : url_host_under(url_host(u), c->host);
        if (!ours || !str_starts(url_path(u), c->path))
            continue;
        size_t n = strlen(c->path);
        *ret_inner = (struct str){u->path + n, u->path_n - n};
        return true;
    }
    return false;
}
