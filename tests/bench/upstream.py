"""The upstreams of the bench: item files behind nginx, and `tain demo` for what is too large for
files."""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

NEWEST = 10_000_000  # what maxitem.json says: every null of the corpus is an old one


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def stop(process):
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def write_corpus(tain, root, ids):
    """One file per id, as `tain demo` makes them up; what it calls missing is null upstream."""
    folder = pathlib.Path(root, 'v0', 'item')
    folder.mkdir(parents=True)
    command = [tain, 'demo', '--seed', '1', '--maxitem', str(ids), '--dump', f'1-{ids}']
    written = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE) as dump:
        for line in dump.stdout:
            item = json.loads(line)
            body = b'null' if 'missing' in item else line.rstrip(b'\n')
            (folder / f'{item["id"]}.json').write_bytes(body)
            written += 1
    if dump.returncode or written != ids:
        raise RuntimeError(f'tain demo --dump gave {written} of {ids} items')
    pathlib.Path(root, 'v0', 'maxitem.json').write_text(str(NEWEST))


def write_certificate(folder):
    """A certificate for 127.0.0.1 that signs itself, so it is its own CA file too."""
    key, cert = f'{folder}/key.pem', f'{folder}/cert.pem'
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt',
                    'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2',
                    '-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1',
                    '-keyout', key, '-out', cert],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return key, cert


# No open_file_cache: a scan over more files than it may hold open finds none of them in it.
NGINX_CONF = '''
{user}
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log warn;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    default_type application/json;
    sendfile on;
    tcp_nopush on;
    keepalive_timeout 600s;
    keepalive_requests 1000000000;
    client_body_temp_path {folder}/t1;
    proxy_temp_path {folder}/t2;
    fastcgi_temp_path {folder}/t3;
    uwsgi_temp_path {folder}/t4;
    scgi_temp_path {folder}/t5;
    ssl_certificate {cert};
    ssl_certificate_key {key};
    server {{
        listen 127.0.0.1:{plain} backlog=4096;
        listen 127.0.0.1:{tls} ssl http2 backlog=4096;
        root {root};
    }}
}}
'''


class Nginx:
    """Serves a corpus over HTTP/1.1 and, with TLS, over HTTP/2."""

    def __init__(self, folder, root):
        self.folder, self.root = folder, root
        self.process = None

    def __enter__(self):
        os.makedirs(self.folder, exist_ok=True)
        key, self.ca_file = write_certificate(self.folder)
        plain, tls = free_port(), free_port()
        conf = f'{self.folder}/nginx.conf'
        pathlib.Path(conf).write_text(NGINX_CONF.format(
            user='user root;' if os.getuid() == 0 else '', folder=self.folder, root=self.root,
            key=key, cert=self.ca_file, plain=plain, tls=tls))
        self.plain, self.tls = f'http://127.0.0.1:{plain}/v0', f'https://127.0.0.1:{tls}/v0'
        self.process = subprocess.Popen(
            ['nginx', '-e', f'{self.folder}/nginx.log', '-p', self.folder, '-c', conf],
            start_new_session=True, stdin=subprocess.DEVNULL,
            env=dict(os.environ, PATH=os.environ['PATH'] + ':/usr/sbin'))
        try:
            self._wait_for(plain)
        except BaseException:
            stop(self.process)
            raise
        return self

    def __exit__(self, *_):
        stop(self.process)

    def _wait_for(self, port):
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                socket.create_connection(('127.0.0.1', port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        log = pathlib.Path(self.folder, 'nginx.log')
        raise RuntimeError('nginx did not start: ' + (log.read_text() if log.exists() else ''))


class Demo:
    """`tain demo` with room for `ids` ids and the twenty thousand young ones behind them."""

    def __init__(self, tain, ids, room=100_000):
        # libmicrohttpd 0.9.75 falls asleep when exactly 128 connections of a thread are ready at
        # once; eight threads have 32 each of the 256 that there are
        self.command = [tain, 'demo', '--seed', '1', '--maxitem', str(ids + room), '--threads', '8']

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True,
                                        start_new_session=True)
        line = self.process.stdout.readline()
        found = re.match(r'demo upstream at (\S+) ', line)
        if not found:
            stop(self.process)
            raise RuntimeError(f'tain demo did not start: {line!r}')
        self.plain = found[1]
        return self

    def __exit__(self, *_):
        stop(self.process)
        self.process.stdout.close()
