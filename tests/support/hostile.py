"""Items whose every field tries to break out of a page: lines for `tain import`, and what to look
for in what comes of them."""

import json

# A script that ran leaves a mark that the browser tests look for.
MARK = 'window.__ran=1'

VECTORS = [
    f'<script>{MARK}</script>',
    f'"><script>{MARK}</script>',
    f"'><img src=x onerror={MARK}>",
    f'" onmouseover="{MARK}" autofocus onfocus="{MARK}',
    f"' onclick='{MARK}' x='",
    f'</title><script>{MARK}</script>',
    f'</textarea></style></script><svg/onload={MARK}>',
    f'<svg><animate onbegin={MARK} attributeName=x dur=1s>',
    f'<math><mi//xlink:href="data:x,<script>{MARK}</script>">',
    f'<iframe srcdoc="<script>parent.{MARK}</script>"></iframe>',
    f'<details open ontoggle={MARK}><summary>x</summary></details>',
    f'</div></details></article></section></main><script>{MARK}</script>',
    f'<img src=x onerror="{MARK}"',
    f'<body onload={MARK}>',
    f'<base href="javascript:{MARK}//">',
    f'<meta http-equiv="refresh" content="0;url=javascript:{MARK}">',
    f'<link rel=stylesheet href="data:text/css,*{{display:none}}">',
    f'<form action="javascript:{MARK}"><button>x</button></form>',
    f'<a href="javascript:{MARK}">click</a>',
    f'<a href=" &#14;java&#x0A;script:{MARK}">click</a>',
    f'<a href="http://e.example" onclick="{MARK}" style="position:fixed;inset:0">x</a>',
    f'<p style="position:fixed;inset:0" onclick={MARK}>x',
    f'&lt;script&gt;{MARK}&lt;/script&gt;',
    f'&#60;script&#62;{MARK}&#60;/script&#62;',
    f'<!--><script>{MARK}</script>-->',
    f'<![CDATA[<script>{MARK}</script>]]>',
    f'{{{{constructor.constructor("{MARK}")()}}}}',
    f'`${{{MARK}}}`',
    '\u202eright to left\u2066 \u200b\ufeff',
    'a\u0000b\u0001c\u001bd',
    '<' * 500 + 'p' * 500,
    'W' * 400,
]
ADDRESSES = [
    f'javascript:{MARK}',
    f'JaVaScRiPt:{MARK}//http://e.example/',
    f' javascript:{MARK}',
    f'java\tscript:{MARK}',
    f'data:text/html,<script>{MARK}</script>',
    f'http://e.example/"><script>{MARK}</script>',
    f"https://e.example/' onclick='{MARK}",
    f'https://"onmouseover="{MARK}"/',
    f'http://e.example/\n"><script>{MARK}</script>',
    'http://e.example/?a=1&b=2&lt;3',
    '//e.example/x',
    'https://xn--e1afmkfd.example/' + 'x' * 3000,
]
TIME = 1700000000


def items(first):
    """Stories with all vectors as titles and texts, each with a comment of the same words below the
    one before, a poll, and dead ones. Ids go up from `first`."""
    made, last, at = [], None, first
    for number, vector in enumerate(VECTORS):
        story, comment = at, at + 1
        at += 2
        made.append({'id': story, 'type': 'story', 'by': vector[:60], 'title': vector,
                     'text': vector, 'time': TIME + number, 'score': number, 'descendants': 1,
                     'url': ADDRESSES[number % len(ADDRESSES)], 'kids': [comment]})
        made.append({'id': comment, 'type': 'comment', 'by': vector,
                     'text': vector + '<p>' + vector, 'time': TIME + number,
                     'parent': story, 'dead': number % 5 == 0})
    for number, address in enumerate(ADDRESSES):
        made.append({'id': at, 'type': 'story', 'by': 'someone', 'title': f'address {number}',
                     'url': address, 'time': TIME, 'score': 1, 'descendants': 0})
        at += 1
    made += chain(at, 160)
    at += 161
    made.append({'id': at, 'type': 'poll', 'by': 'someone', 'title': VECTORS[0], 'time': TIME,
                 'parts': [at + 1, at + 2], 'score': 3, 'descendants': 0, 'text': VECTORS[11]})
    made += [{'id': at + n, 'type': 'pollopt', 'by': VECTORS[3], 'text': VECTORS[n], 'poll': at,
              'time': TIME, 'score': n} for n in (1, 2)]
    return made


def chain(first, length):
    """A story and comments that each answer the one before, deeper than browsers nest."""
    made = [{'id': first, 'type': 'story', 'by': 'someone', 'title': 'A deep thread', 'time': TIME,
             'score': 1, 'descendants': length, 'kids': [first + 1]}]
    for n in range(1, length + 1):
        text = VECTORS[n % len(VECTORS)]
        made.append({'id': first + n, 'type': 'comment', 'by': 'someone', 'text': text,
                     'time': TIME + n, 'parent': first + n - 1,
                     'kids': [first + n + 1] if n < length else []})
    return made


def write_lines(path, made):
    path.write_text(''.join(json.dumps(item) + '\n' for item in made), encoding='utf-8')
