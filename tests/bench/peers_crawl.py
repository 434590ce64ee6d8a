"""Fetching the same items from the same nginx by programs that keep them as files: `curl
--parallel` with as many connections as tain may have, and wget, which has one. They read no JSON,
keep no database, sync nothing and cannot say what is missing; tain does all that. HTTP/1.1, into a
folder or an archive that is new each time. (aria2c, which is made for large files, was far slower
than curl on a busy machine, and is left out for the time it takes.)"""

import os
import shutil
import subprocess
import time

from catchup import corpus
from peers import in_turns, need, or_skip
from upstream import Nginx

IDS, QUICK_IDS = 20_000, 2_000


class Files:
    """A folder of what a program has fetched."""

    def __init__(self, bench, url, ids):
        self.folder, self.url, self.ids = os.path.join(bench.work, 'fetched'), url, ids
        self.list = os.path.join(bench.work, 'urls')
        with open(self.list, 'w', encoding='ascii') as out:
            out.writelines(f'{url}/item/{i}.json\n' for i in range(1, ids + 1))

    def rate(self, command):
        os.mkdir(self.folder)
        try:
            began = time.monotonic()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
            seconds = time.monotonic() - began
            found = len(os.listdir(self.folder))
            if found != self.ids:
                raise RuntimeError(f'{command[0]} fetched {found} of {self.ids} items')
        finally:
            shutil.rmtree(self.folder)
        return self.ids / seconds

    def curl(self):
        return self.rate([need('curl', 'curl'), '-sS', '--parallel', '--parallel-max', '256', '-o',
                          f'{self.folder}/#1.json', f'{self.url}/item/[1-{self.ids}].json'])

    def wget(self):
        return self.rate([need('wget', 'wget'), '-q', '-i', self.list, '-P', self.folder])


def bench_crawl_peers(bench, databases):
    ids = QUICK_IDS if bench.options.quick else IDS
    with Nginx(os.path.join(bench.work, 'nginx'), corpus(bench)) as nginx:
        servers = {'nginx': nginx.process.pid}
        files = Files(bench, nginx.plain, ids)

        def tain(db):
            db.fresh()
            return bench.catchup(f'{db.name}, {ids:,} ids', db, nginx.plain, ids, servers).rate

        for db in databases:
            others = {'curl --parallel': files.curl, 'wget': files.wget}
            for name, other in others.items():
                if name == 'wget' and db is not databases[0]:
                    continue  # it takes its time
                with or_skip(bench, name):
                    own, theirs, ratio = in_turns(bench.options.rounds, lambda: tain(db), other)
                    bench.peer(f'{db.name}: {ids:,} ids fetched and kept', name, f'{own:,.0f}/s',
                               f'{theirs:,.0f}/s', ratio)
