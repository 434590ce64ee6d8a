/* What has got script into one page or another, for every field that comes from outside. */
#ifndef TAIN_TESTS_WEB_HOSTILE_WORDS_H
#define TAIN_TESTS_WEB_HOSTILE_WORDS_H

#include "base/str.h"

static const struct str hostile_words[] = {
    STR("<script>alert(1)</script>"),
    STR("\"><script>alert(1)</script>"),
    STR("'><img src=x onerror=alert(1)>"),
    STR("\" onmouseover=\"alert(1)"),
    STR("' onfocus='alert(1)' autofocus='"),
    STR("</title><script>alert(1)</script>"),
    STR("</textarea></style></script><svg/onload=alert(1)>"),
    STR("<svg><animate onbegin=alert(1) attributeName=x>"),
    STR("javascript:alert(1)"),
    STR("JaVaScRiPt:alert(1)"),
    STR("java\tscript:alert(1)"),
    STR("\x01javascript:alert(1)"),
    STR("data:text/html;base64,PHNjcmlwdD4="),
    STR("http://e.com/\" onclick=\"alert(1)"),
    STR("http://e.com/'onclick='alert(1)"),
    STR("https://e.com/><script>alert(1)</script>"),
    STR("http://e.com/\n\"><script>"),
    STR("&lt;script&gt;alert(1)&lt;/script&gt;"),
    STR("&quot;&gt;&#60;script&#62;"),
    STR("<a href=\"javascript:alert(1)\">x</a>"),
    STR("<a href=\"http://e.com\" onclick=\"alert(1)\" style=\"position:fixed\">x</a>"),
    STR("<p style=\"x\" onclick=alert(1)>x</p></div></details></article></main>"),
    STR("<!--"),
    STR("--><script>alert(1)</script>"),
    STR("<![CDATA["),
    STR("\xC0\xBCscript\xC0\xBE"),
    STR("\xFF\xFE<\0script>"),
    STR("a\0b"),
    STR("%3Cscript%3E&id=2#x?y"),
    STR("\u202Eevil\u2066"),
    STR("{{constructor.constructor('alert(1)')()}}"),
    STR("`${alert(1)}`"),
    STR(""),
};

#endif
