"""The way of a change to 1,000 WebSocket clients, next to the usual way with node: a trigger that
notifies, and a process (ws, pg) that listens and sends each notification to all. The same writer,
the same clients. Nobody can go on there after a break, what is larger than 8,000 bytes cannot be
told, and there is no filter. One run of each, one after the other, with 50 events a second; with
200, the rate of tain's own goal, and on a busy machine with 50 too, it fell behind."""

import os

import sockets
from peers import node, or_skip, running
from postgres import free_port

RATE = 50
TRIGGER = """
    SET search_path TO tain;
    ALTER TABLE items DISABLE TRIGGER USER;
    CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        PERFORM pg_notify('changes', row_to_json(new)::text);
        RETURN NULL; END $$;
    CREATE TRIGGER tell AFTER INSERT OR UPDATE ON items FOR EACH ROW EXECUTE FUNCTION tell();
"""


def with_node(bench, db):
    """p99 in ms, and the peak of the process's memory in MiB; no p99 when it does not keep up."""
    env = dict(os.environ, TAIN_DB=db.uri(), TAIN_CDC_KEY=sockets.KEY, TAIN_METRICS_BIND='none')
    port = free_port()
    command, node_env = node(bench, 'feed.js', port, db.uri())
    sockets.fill(bench, db, env)
    db.server.psql(TRIGGER, 'bench')
    with running(command, node_env) as server:
        if server.stdout.readline() != 'ready\n':
            raise RuntimeError('feed.js did not start')
        try:
            found = sockets.listen(bench, db, env, server, port,
                                   sockets.PgWriter(db, bench.work, RATE))
        except RuntimeError as e:
            print(f'  {e}', flush=True)
            found = None
        rss = sockets.peak_mib(server.pid)
    if found:
        sockets.tell(db, found, rss)
    return found['from_ack']['p99_ms'] if found else None, rss


def bench_feed_peers(bench, databases):
    for db in databases:
        if db.name != 'postgres':
            continue
        with or_skip(bench, 'ws and LISTEN'):
            their_p99, their_rss = with_node(bench, db)
            own, own_rss = sockets.one_run(bench, db, RATE)
            own_p99 = own['from_ack']['p99_ms']
            what = f'{db.name}: {sockets.CLIENTS:,} WebSocket clients, {RATE} events/s'
            if their_p99 is None:
                bench.skip_peer('ws and LISTEN', 'not every client had every event within 30 s '
                                'of the last')
            else:
                bench.peer(f'{what}, p99', 'ws and LISTEN', f'{own_p99:.0f} ms',
                           f'{their_p99:.0f} ms', their_p99 / own_p99)
            bench.peer(f'{what}, peak memory', 'ws and LISTEN', f'{own_rss:.0f} MiB',
                       f'{their_rss:.0f} MiB', their_rss / own_rss)
