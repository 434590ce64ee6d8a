/* Only tables; see the header for what the signs mean. "%" before a space stands for itself. */
#include "demo/corpus_words.h"

static const struct str NOUN[] = {
    STR("parser"),     STR("compiler"),    STR("scheduler"),  STR("cache"),       STR("database"),
    STR("index"),      STR("garden"),      STR("bicycle"),    STR("kettle"),      STR("keyboard"),
    STR("lighthouse"), STR("spreadsheet"), STR("terminal"),   STR("telescope"),   STR("allocator"),
    STR("protocol"),   STR("queue"),       STR("router"),     STR("battery"),     STR("sensor"),
    STR("notebook"),   STR("font"),        STR("library"),    STR("archive"),     STR("ledger"),
    STR("mirror"),     STR("kernel"),      STR("browser"),    STR("editor"),      STR("firmware"),
    STR("satellite"),  STR("orchard"),     STR("harbour"),    STR("windmill"),    STR("clock"),
    STR("calendar"),   STR("map"),         STR("dictionary"), STR("synthesizer"), STR("loom"),
    STR("printer"),    STR("turbine"),     STR("bridge"),     STR("filter"),      STR("buffer"),
    STR("socket"),     STR("shader"),      STR("plugin"),     STR("pipeline"),    STR("dashboard"),
    STR("backup"),
};
const struct words WORDS_NOUN = {NOUN, ARRAY_LEN(NOUN)};

static const struct str PLURAL[] = {
    STR("parsers"),   STR("compilers"),  STR("caches"),     STR("databases"), STR("indexes"),
    STR("gardens"),   STR("bicycles"),   STR("kettles"),    STR("keyboards"), STR("spreadsheets"),
    STR("terminals"), STR("telescopes"), STR("allocators"), STR("protocols"), STR("queues"),
    STR("routers"),   STR("batteries"),  STR("sensors"),    STR("notebooks"), STR("fonts"),
    STR("libraries"), STR("archives"),   STR("ledgers"),    STR("mirrors"),   STR("kernels"),
    STR("browsers"),  STR("editors"),    STR("maps"),       STR("clocks"),    STR("printers"),
    STR("bridges"),   STR("plugins"),    STR("backups"),
};
const struct words WORDS_PLURAL = {PLURAL, ARRAY_LEN(PLURAL)};

static const struct str ADJECTIVE[] = {
    STR("small"),    STR("quiet"),   STR("boring"),      STR("portable"), STR("incremental"),
    STR("lazy"),     STR("modern"),  STR("forgotten"),   STR("reliable"), STR("fragile"),
    STR("elegant"),  STR("noisy"),   STR("cheap"),       STR("slow"),     STR("fast"),
    STR("tiny"),     STR("local"),   STR("distributed"), STR("private"),  STR("honest"),
    STR("stubborn"), STR("curious"), STR("careful"),     STR("readable"), STR("practical"),
    STR("handmade"), STR("bright"),  STR("ancient"),     STR("offline"),  STR("minimal"),
};
const struct words WORDS_ADJECTIVE = {ADJECTIVE, ARRAY_LEN(ADJECTIVE)};

static const struct str VERB[] = {
    STR("rewrite"),   STR("measure"),  STR("replace"), STR("repair"),    STR("ship"),
    STR("debug"),     STR("document"), STR("profile"), STR("test"),      STR("deploy"),
    STR("simplify"),  STR("delete"),   STR("parse"),   STR("index"),     STR("archive"),
    STR("mirror"),    STR("automate"), STR("sketch"),  STR("calibrate"), STR("port"),
    STR("benchmark"), STR("maintain"), STR("migrate"), STR("trace"),
};
const struct words WORDS_VERB = {VERB, ARRAY_LEN(VERB)};

static const struct str TOOL[] = {
    STR("Quillbox"),  STR("Tarnlight"),   STR("Brasswing"),  STR("Fennwork"), STR("Ottermill"),
    STR("Pebblenet"), STR("Larchdb"),     STR("Copperleaf"), STR("Mossgrid"), STR("Thistle"),
    STR("Wrenlang"),  STR("Halyard"),     STR("Emberfs"),    STR("Gantry"),   STR("Kestrelq"),
    STR("Marlin9"),   STR("Sablescript"), STR("Tidepool"),   STR("Umberkit"), STR("Verdant"),
    STR("Willowvm"),  STR("Yarrow"),      STR("Zephyrine"),  STR("Cobaltic"),
};
const struct words WORDS_TOOL = {TOOL, ARRAY_LEN(TOOL)};

static const struct str SENTENCE[] = {
    STR("I ran a %a %n like this for %d years and the hardest part was always the %n."),
    STR("We had to %v the whole %n twice before anyone noticed that the %n was the real problem."),
    STR("That&#x27;s not quite right: the %n only works when the %n is %a."),
    STR("In my experience %N are fine until you try to %v them on a Friday."),
    STR("Has anyone tried %t for this? It looks %a, but the documentation is thin."),
    STR("The &quot;%a %n&quot; argument comes up every time, and it still isn&#x27;t convincing."),
    STR("You can %v most of it in an afternoon, and the remaining %d% takes the rest of the year."),
    STR("My team moved from %t to %t and the only thing we miss is the %a %n."),
    STR("It&#x27;s a trade-off: a %a %n costs you memory, a %a one costs you sleep."),
    STR("I wrote something similar back in %y, and people still send me bug reports about the %n."),
    STR("Nobody should have to %v a %n by hand in this day and age."),
    STR("Sure, but who is going to maintain the %n once the %a people leave?"),
    STR("There was a good talk about %N and %N some years ago; I wish I could find it."),
    STR("For %d items it does not matter, for a million of them it&#x27;s the only thing that "
        "matters."),
    STR("Thanks for writing this up, the part about %N made my morning."),
    STR("Worth noting that %t did exactly this before it became a %n company."),
    STR("The trick is to %v the input&#x2F;output first and only then think about the %n."),
    STR("I disagree, %N are the one thing I would never outsource."),
    STR("If you read the paper they only tested it with %d %N, which is hardly %a."),
    STR("This reminds me of the old joke about the %n, the %n and the %a lighthouse keeper."),
    STR("We measured a %d&#x2F;%d split, so the %a path wins more often than you&#x27;d think."),
    STR("Honestly the %a thing to do is to %v it, sell the %n and go outside."),
    STR("My father kept a %a %n in the shed and it outlived every %n I ever bought."),
    STR("What happens to the %n when the power goes away while you %v it?"),
    STR("A friend of mine works on %N &amp; says the %n budget is &lt; %d bytes."),
    STR("The author is in the thread, so please be kind about the %n."),
    STR("Not the %n I expected to read about today, but here we are."),
    STR("I think %u put it better upthread: %v early, %v often."),
    STR("Every %n eventually becomes a %a %n with a login page."),
    STR("It works, it&#x27;s %a, and it has been in production since %y."),
    STR("Agreed."),
    STR("This."),
    STR("Source?"),
    STR("I had the same thought."),
    STR("Same here, with a %a %n."),
    STR("Which version of %t is this?"),
    STR("Could you elaborate on the %n?"),
    STR("It&#x27;s %a, not broken."),
};
const struct words WORDS_SENTENCE = {SENTENCE, ARRAY_LEN(SENTENCE)};

static const struct str UNICODE[] = {
    STR("🙂"),
    STR("🚀🚀"),
    STR("👩\342\200\215💻"),
    STR("日本語の文章も含まれます。"),
    STR("中文評論：這個想法很好。"),
    STR("한국어 댓글입니다."),
    STR("שלום לכולם"),
    STR("مرحبا بالعالم"),
    STR("naïve café — “quoted” …"),
    STR("Ελληνικά"),
    STR("Привет, мир"),
    STR("a\314\201e\314\210 combining"),
    STR("𝔘𝔫𝔦𝔠𝔬𝔡𝔢"),
    STR("\342\200\256RTL override\342\200\254"),
    STR("zero\342\200\213width"),
    STR("→ ✓ ½ ﬁ"),
    STR("नमस्ते"),
    STR("🇩🇪🏳\357\270\217\342\200\215🌈"),
};
const struct words WORDS_UNICODE = {UNICODE, ARRAY_LEN(UNICODE)};

static const struct str CODE[] = {
    STR("for (int i = 0; i &lt; n; i++)\n      total += weight[i];"),
    STR("SELECT id, title\n    FROM items\n   WHERE score &gt; 100;"),
    STR("$ tar cf - . | zstd -19 &gt; ..&#x2F;backup.tar.zst"),
    STR("def f(x):\n        return x if x else &quot;none&quot;"),
    STR("let y = xs.map(|x| x * 2)\n            .filter(|x| x &amp; 1 == 0);"),
    STR("* one\n    * two\n    * three"),
};
const struct words WORDS_CODE = {CODE, ARRAY_LEN(CODE)};

static const struct str TITLE_LINK[] = {
    STR("The %a history of the %n"),
    STR("Why we decided to %v our %N"),
    STR("%t %d.%d released"),
    STR("How to %v a %n in %d steps"),
    STR("A %a %n is all you need"),
    STR("%t: a %a %n written in %t"),
    STR("What %d years of %N taught me"),
    STR("Notes on %N (%y)"),
    STR("The %n that refused to %v"),
    STR("I tried to %v every %n in the house"),
    STR("Designing a %a %n for the next %d years"),
    STR("An introduction to %a %N [pdf]"),
    STR("%N considered %a"),
    STR("The case against the %a %n"),
    STR("Inside %t's %n"),
    STR("You don't need a %n"),
    STR("Faster %N with %t"),
    STR("The last %n maker of the valley"),
    STR("Understanding %N from scratch [video]"),
    STR("Postmortem: the %y %n outage"),
};
const struct words WORDS_TITLE_LINK = {TITLE_LINK, ARRAY_LEN(TITLE_LINK)};

static const struct str TITLE_ASK[] = {
    STR("Ask HN: How do you %v your %n?"),      STR("Ask HN: What is your favourite %a %n?"),
    STR("Ask HN: Is %t still %a in %y?"),       STR("Ask HN: Who wants to %v a %n?"),
    STR("Ask HN: Best way to learn about %N?"), STR("Tell HN: %t deleted my %n"),
};
const struct words WORDS_TITLE_ASK = {TITLE_ASK, ARRAY_LEN(TITLE_ASK)};

static const struct str TITLE_SHOW[] = {
    STR("Show HN: %t – a %a %n for your %n"),
    STR("Show HN: I made a %a %n"),
    STR("Show HN: %t, %v %N from the terminal"),
    STR("Show HN: %a %N in %d lines of C"),
};
const struct words WORDS_TITLE_SHOW = {TITLE_SHOW, ARRAY_LEN(TITLE_SHOW)};

static const struct str TITLE_JOB[] = {
    STR("%t (YC S%d) is hiring people who %v %N"),
    STR("%t is hiring a %a %n engineer"),
    STR("Join %t and %v the world's %N"),
};
const struct words WORDS_TITLE_JOB = {TITLE_JOB, ARRAY_LEN(TITLE_JOB)};

static const struct str TITLE_POLL[] = {
    STR("Poll: Which %n do you use?"),
    STR("Poll: How often do you %v your %n?"),
    STR("Poll: Would you %v a %a %n?"),
};
const struct words WORDS_TITLE_POLL = {TITLE_POLL, ARRAY_LEN(TITLE_POLL)};

static const struct str OPTION[] = {
    STR("Yes, every day"),
    STR("No"),
    STR("Only when I have to %v something"),
    STR("A %a %n"),
    STR("%t"),
    STR("I don&#x27;t use %N at all"),
    STR("Something %a of my own"),
    STR("%N &amp; %N, in equal parts"),
};
const struct words WORDS_OPTION = {OPTION, ARRAY_LEN(OPTION)};

static const struct str JOB[] = {
    STR("%t builds %a %N for people who %v them."),
    STR("We&#x27;re a team of %d and we %v a lot."),
    STR("You know your way around %N and don&#x27;t mind a %a %n."),
    STR("Remote is fine, our office has a %n."),
    STR("Write to jobs@%t.example and tell us about a %n you like."),
};
const struct words WORDS_JOB = {JOB, ARRAY_LEN(JOB)};

static const struct str HOST[] = {
    STR("blog.quillworks.example"),
    STR("www.larch.example"),
    STR("larch.example"),
    STR("notes.fennwick.example"),
    STR("ottermill.example"),
    STR("m.dailyharbour.example"),
    STR("www.dailyharbour.example"),
    STR("code.tarn.example"),
    STR("papers.institute.example"),
    STR("wiki.mosslands.example"),
    STR("bücher.example"),
    STR("xn--bcher-kva.example"),
    STR("пример.example"),
    STR("日本.example"),
    STR("Shop.Kettle.Example"),
    STR("video.pebble.example"),
    STR("forum.brasswing.example:8080"),
    STR("a.very.deep.sub.domain.cobalt.example"),
    STR("github.example"),
    STR("news.umber.example"),
};
const struct words WORDS_HOST = {HOST, ARRAY_LEN(HOST)};

static const struct str QUERY[] = {
    STR("?utm_source=hn&utm_medium=social&utm_campaign=launch"),
    STR("?ref=hackernews"),
    STR("?fbclid=IwAR0abcDEF123"),
    STR("?id=%d&page=2"),
    STR("?utm_source=newsletter"),
    STR("#section-%d"),
    STR("?q=a+b&lang=en"),
    STR("?gclid=Cj0KCQ&id=%d"),
    STR("?mc_cid=12ab34cd56&mc_eid=%d"),
    STR("#:~:text=%n"),
    STR("?utm_content=%n&v=%d"),
    STR("/?share=1"),
};
const struct words WORDS_QUERY = {QUERY, ARRAY_LEN(QUERY)};

static const struct str FIRST[] = {
    STR("amber"), STR("ash"),    STR("birch"), STR("blue"),  STR("bold"),   STR("brass"),
    STR("calm"),  STR("cedar"),  STR("clear"), STR("cloud"), STR("coal"),   STR("copper"),
    STR("coral"), STR("crisp"),  STR("dark"),  STR("dawn"),  STR("deep"),   STR("dry"),
    STR("dusk"),  STR("dusty"),  STR("early"), STR("ember"), STR("fern"),   STR("fir"),
    STR("flint"), STR("fog"),    STR("frost"), STR("gold"),  STR("green"),  STR("grey"),
    STR("hazel"), STR("hill"),   STR("iron"),  STR("ivy"),   STR("jade"),   STR("lake"),
    STR("leaf"),  STR("lime"),   STR("loud"),  STR("lucky"), STR("mild"),   STR("mint"),
    STR("moss"),  STR("north"),  STR("oak"),   STR("ochre"), STR("old"),    STR("olive"),
    STR("onyx"),  STR("pale"),   STR("pine"),  STR("plain"), STR("quartz"), STR("quick"),
    STR("quiet"), STR("rain"),   STR("red"),   STR("river"), STR("rose"),   STR("rusty"),
    STR("salt"),  STR("silver"), STR("slate"), STR("snow"),
};
const struct words WORDS_FIRST = {FIRST, ARRAY_LEN(FIRST)};

static const struct str LAST[] = {
    STR("badger"), STR("bear"),   STR("beetle"), STR("bison"), STR("bittern"), STR("coder"),
    STR("crane"),  STR("crow"),   STR("dart"),   STR("deer"),  STR("dove"),    STR("duck"),
    STR("eagle"),  STR("falcon"), STR("ferret"), STR("finch"), STR("fox"),     STR("frog"),
    STR("goat"),   STR("goose"),  STR("gull"),   STR("hare"),  STR("hawk"),    STR("heron"),
    STR("hornet"), STR("ibis"),   STR("jay"),    STR("kite"),  STR("lark"),    STR("lemur"),
    STR("lynx"),   STR("magpie"), STR("mole"),   STR("moth"),  STR("mouse"),   STR("newt"),
    STR("otter"),  STR("owl"),    STR("panda"),  STR("pilot"), STR("plover"),  STR("pony"),
    STR("quail"),  STR("rabbit"), STR("raven"),  STR("robin"), STR("rook"),    STR("seal"),
    STR("shrew"),  STR("smith"),  STR("snail"),  STR("snipe"), STR("stoat"),   STR("swan"),
    STR("swift"),  STR("tern"),   STR("thrush"), STR("toad"),  STR("trout"),   STR("viper"),
    STR("vole"),   STR("walker"), STR("whale"),  STR("wren"),
};
const struct words WORDS_LAST = {LAST, ARRAY_LEN(LAST)};
