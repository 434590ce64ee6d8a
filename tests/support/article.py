"""A stand-in for the web: one site with articles of every shape, and with what a fetcher must not
fall for.

    site = Article()
    site.at('plain'), site.at('nav', host=article.NAME)      # their URLs
    site.to('http://10.0.0.1/')                              # redirects there
    site.hops(3), site.hops(3, 'nav'), site.at('loop')       # so many redirects; no end of them
    site.at('status/503')
    WORDS['plain'], NOISE                                    # what a reader should see, and not

Every shape of WORDS is an article whose title is title_of(shape); the rest of SHAPES are none, or
such that a reader may lose its words:

| shape | what it is |
|---|---|
| plain | a title and three paragraphs |
| nav | the same amid navigation, scripts, styles, an aside, forms, comments and a footer |
| untitled, social | no title at all; one only in og:title |
| latin1, sjis | other charsets, told by the header |
| meta, utf16 | other charsets, told by the page and by a mark |
| gzip, deflate | compressed |
| broken | unclosed and crossing elements, and stray bytes |
| bare | no html or body |
| late | comes in ten pieces, one every 10 ms |
| lying, nul, deep | the charset is told wrongly; NULs; 20,000 elements within each other |
| text | plain text |
| huge | 64 MiB of paragraphs |
| bomb | 256 MiB of white space in 260 KiB of gzip |
| drip | a byte a second, for a day |
| flood | header lines without an end |
| json, pdf, image, binary | not a page, and said to be what it is |
| disguised | bytes of an image, said to be a page |
| nothing, no-content | 200 and 204 without a body |
| script | a page that is empty without script |
| loop, ring | a redirect to itself; two to each other |
| nowhere, odd-scheme, file | redirects without a target, to gopher:, to file: |
| refresh | an article that sends browsers to a private address by a meta element |
| external | an article that names outside entities, styles and frames that nobody should load |

As a process it answers any other path with an article too.
"""

import gzip
import itertools
import re
import struct
import urllib.parse
import zlib

from stand_in import StandIn
from stand_in_http import Answer

HTML = 'text/html; charset=utf-8'
MIB = 1024 * 1024
SENTENCES = {
    'en': ('The valley had one bridge, and the bridge had one keeper.',
           'She counted the carts “by the wheel”, for a wheel pays more than a horse.',
           'When the river rose they found that nobody had counted the water.'),
    'de': ('Die Brücke über den Fluß hatte einen Wärter.', 'Er zählte die Räder, nicht die Pferde.',
           'Größer als sonst kam das Wasser, und niemand hatte es gezählt.'),
    'ja': ('谷には橋が一つあった。', '番人は車輪を数えた。', '川の水はだれも数えなかった。'),
}
LANGUAGE = {'latin1': 'de', 'meta': 'de', 'lying': 'de', 'sjis': 'ja'}
ARTICLES = ('plain', 'nav', 'untitled', 'social', 'latin1', 'meta', 'utf16', 'sjis', 'gzip',
            'deflate', 'broken', 'bare', 'late', 'refresh', 'external')
WORDS = {shape: SENTENCES[LANGUAGE.get(shape, 'en')] for shape in ARTICLES}
NOISE = ('Subscribe to our newsletter', 'window.tracker', 'color: fuchsia', 'Cookie settings',
         'Most read today', 'All rights reserved', 'hidden remark')
SHAPES = (*ARTICLES, 'lying', 'nul', 'deep', 'text', 'huge', 'bomb', 'drip', 'flood', 'json', 'pdf',
          'image', 'binary', 'disguised', 'nothing', 'no-content', 'script', 'loop', 'ring',
          'nowhere', 'odd-scheme', 'file')
NAME = 'article.localhost'
PRIVATE = 'http://169.254.169.254/latest/meta-data/'


def title_of(shape):
    """None where there is no title to be found."""
    if shape in ('untitled', 'bare'):
        return None
    return 'Die Brücke & ihr Wärter' if LANGUAGE.get(shape) == 'de' else \
        '橋の番人' if LANGUAGE.get(shape) == 'ja' else f'The keeper & the bridge ({shape})'


def paragraphs(shape):
    words = SENTENCES[LANGUAGE.get(shape, 'en')]
    return ''.join(f'<p>{text}</p>\n' for text in words)


def page(shape, body=None, head=''):
    title = title_of(shape)
    told = f'<title>{title.replace("&", "&amp;")}</title>' if title and shape != 'social' else ''
    return (f'<!DOCTYPE html>\n<html lang="en"><head>{head}{told}</head>\n'
            f'<body>{paragraphs(shape) if body is None else body}</body></html>\n')


def html(text, charset='utf-8', kind=HTML, **options):
    return Answer(200, text.encode(charset), kind=kind, **options)


def bomb(mebibytes=256):
    """gzip of so much white space: one block, again and again, since each stands for itself."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(b' ' * MIB) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(b' ' * MIB) + packer.flush(zlib.Z_FULL_FLUSH)
    check, piece = 0, b' ' * MIB
    for _ in range(mebibytes):
        check = zlib.crc32(piece, check)
    return (b'\x1f\x8b\x08\0\0\0\0\0\0\x03' + block + again * (mebibytes - 1)
            + packer.flush(zlib.Z_FINISH) + struct.pack('<II', check, mebibytes * MIB % 2 ** 32))


class Article(StandIn):
    """The site."""

    NAME = 'a site with articles'
    JSON = HTML
    ROUTES = (('GET', r'/to', 'to'), ('GET', r'/hops/(?P<n>\d+)/(?P<shape>[\w-]+)', 'hops'),
              ('GET', r'/status/(?P<status>\d{3})', 'status'), ('GET', r'/(?P<shape>.*)', 'page'))

    def __init__(self, port=0, host='127.0.0.1', invent=False):
        self.invent, self._bomb = invent, None
        super().__init__(port, host)

    @property
    def allow(self):
        """The one name by which a guard may let somebody in; every *.localhost leads here."""
        return f'{NAME}:{self.port}'

    def at(self, shape, host=None):
        return f'{self.base(host)}/{shape}'

    def base(self, host=None):
        return f'http://{host}:{self.port}' if host else self.url

    def to(self, target, host=None, status=302):
        return f'{self.base(host)}/to?' + urllib.parse.urlencode({'url': target, 'status': status})

    def hops(self, n, shape='plain', host=None):
        return self.at(f'hops/{n}/{shape}', host)

    def error(self, status):
        return page('error', f'<h1>Error {status}</h1>')

    def failed(self, status, retry_after=None):
        answer = super().failed(status, retry_after)
        answer.body = self.error(status).encode()
        return answer

    @staticmethod
    def moved(target, status=302):
        return Answer(status, b'', [] if target is None else [('Location', target)], HTML)

    def usual_to(self, call):
        return self.moved(call.query['url'], int(call.query.get('status', 302)))

    def usual_hops(self, call):
        n, shape = int(call.found['n']), call.found['shape']
        return self.moved(f'/hops/{n - 1}/{shape}' if n > 1 else f'/{shape}')

    def usual_status(self, call):
        return self.failed(int(call.found['status']))

    def usual_page(self, call):
        shape = call.found['shape']
        maker = getattr(self, 'page_' + shape.replace('-', '_'), None)
        if maker:
            return maker()
        if shape in ARTICLES:
            return html(page(shape))
        return html(page(shape.replace('/', ' ') or 'home')) if self.invent else self.failed(404)

    # Shapes

    def page_nav(self):
        menu = ''.join(f'<li><a href="/{n}">Section {n}</a></li>' for n in range(30))
        return html(page('nav', f'''
<header><nav><ul>{menu}</ul></nav><form><input name=q><button>{NOISE[0]}</button></form></header>
<script>{NOISE[1]} = "<p>a paragraph</p>";</script><style>p {{ {NOISE[2]} }}</style>
<div class="cookie-banner" role="dialog">{NOISE[3]}</div>
<main><article><h1>A heading</h1>{paragraphs('nav')}<!-- {NOISE[6]} --></article></main>
<aside><h2>{NOISE[4]}</h2><ol>{menu}</ol></aside>
<footer><p>{NOISE[5]}</p></footer><noscript><img src="/pixel"></noscript>'''))

    def page_social(self):
        return html(page('social', head='<meta property="og:title" content="'
                         f'{title_of("social").replace("&", "&amp;")}">'))

    def page_latin1(self):
        return html(page('latin1'), 'latin-1', 'text/html; charset=ISO-8859-1')

    def page_meta(self):
        return html(page('meta', head='<meta http-equiv="Content-Type" content="text/html; '
                         'charset=windows-1252">'), 'cp1252', 'text/html')

    def page_utf16(self):
        return html(page('utf16'), 'utf-16', 'text/html')

    def page_sjis(self):
        return html(page('sjis'), 'shift_jis', 'text/html; charset=Shift_JIS')

    def page_lying(self):
        return html(page('lying'), 'latin-1')

    def page_gzip(self):
        return Answer(200, gzip.compress(page('gzip').encode()),
                      [('Content-Encoding', 'gzip')], HTML)

    def page_deflate(self):
        return Answer(200, zlib.compress(page('deflate').encode()),
                      [('Content-Encoding', 'deflate')], HTML)

    def page_broken(self):
        one, two, three = WORDS['broken']
        title = title_of('broken')
        text = (f'<title>{title}</title><b><div><p>{one}<i><b>&nosuch;&#0;&#x110000;</i></td>'
                f'<p>{two}</span></b></ul><p x="{three}"y=<>{three}<![CDATA[<!--')
        return Answer(200, text.encode() + b'\xff\xfe\xc3', kind=HTML)

    def page_nul(self):
        return html(page('nul').replace('</p>', '\0</p>'))

    def page_bare(self):
        return html(paragraphs('bare'))

    def page_deep(self):
        return html(page('deep', '<div>' * 20000 + paragraphs('deep') + '</div>' * 20000))

    def page_late(self):
        data = page('late').encode()
        size = len(data) // 10 + 1
        answer = Answer(200, kind=HTML, pieces=iter([data[n:n + size]
                                                     for n in range(0, len(data), size)]))
        answer.every = 0.01
        return answer

    def page_text(self):
        return html('\n\n'.join(SENTENCES['en']), kind='text/plain; charset=utf-8')

    def page_huge(self):
        piece = (paragraphs('huge') * (MIB // 200)).encode()[:MIB]
        return Answer(200, kind=HTML, pieces=itertools.chain(
            [page('huge', '').encode()], itertools.repeat(piece, 64)))

    def page_bomb(self):
        self._bomb = self._bomb or bomb()
        return Answer(200, self._bomb, [('Content-Encoding', 'gzip')], HTML)

    def page_drip(self):
        answer = Answer(200, kind=HTML, pieces=itertools.repeat(b' ', 86400))
        answer.every = 1.0
        return answer

    def page_flood(self):
        return Answer(200, b'', [(f'X-Line-{n}', 'x' * 1000) for n in range(20000)], HTML)

    def page_json(self):
        return Answer(200, {'title': 'no page'})

    def page_pdf(self):
        return Answer(200, b'%PDF-1.4\n%\xe2\xe3\xcf\xd3\n', kind='application/pdf')

    def page_image(self):
        return Answer(200, b'\x89PNG\r\n\x1a\n' + bytes(64), kind='image/png')

    def page_binary(self):
        return Answer(200, bytes(range(256)) * 16, kind='application/octet-stream')

    def page_disguised(self):
        return Answer(200, b'\x89PNG\r\n\x1a\n' + bytes(range(256)) * 16, kind=HTML)

    def page_nothing(self):
        return Answer(200, b'', kind=HTML)

    def page_no_content(self):
        return Answer(204, b'', kind=None)

    def page_script(self):
        return html(page('script', f'<div id="root"></div><script>{NOISE[1]} = 1</script>'))

    def page_loop(self):
        return self.moved('/loop')

    def page_ring(self):
        return self.moved('/hops/1/ring')

    def page_nowhere(self):
        return self.moved(None)

    def page_odd_scheme(self):
        return self.moved('gopher://127.0.0.1:70/')

    def page_file(self):
        return self.moved('file:///etc/passwd')

    def page_refresh(self):
        return html(page('refresh', head=f'<meta http-equiv="refresh" content="0;url={PRIVATE}">'))

    def page_external(self):
        text = page('external', head=f'<base href="{self.url}/asset/"><link rel="stylesheet" '
                    'href="style.css"><script src="script.js"></script>',
                    body=f'<iframe src="frame.html"></iframe><img src="image.png">'
                         f'{paragraphs("external")}&outside;')
        outside = f'[<!ENTITY outside SYSTEM "{self.url}/asset/entity">]'
        return html(re.sub('<!DOCTYPE html>', f'<!DOCTYPE html {outside}>', text))


if __name__ == '__main__':
    Article.main(invent=True)
