"""What befalls the hosts, one thing at a time. Each fault lasts until what should come of it has
come: an heir has taken over, the others have gone on, readers are back. Nothing waits for a fixed
time."""

from flowsheet import FINAL
from world import CATCHUPS, ENRICHERS, SERVERS, UPDATERS, World

GROWTH = 40  # ids that come with a fault of the mirror, so that there is something to do
MOST_GROWN = 480  # all in all: beyond lies the future
WIDTH = 30  # of a range that is fetched once more
LOST = 'the lease of a segment is lost'


class Faults(World):
    """Each fault_NAME(chance) is one; chance is a random.Random()."""

    def from_database(self, host, how):
        for other in self.cluster.hosts:
            how(host, other)

    def grow(self):
        if self.site.maxitem - self.site.first + 1 + GROWTH <= self.first_ids + MOST_GROWN:
            self.site.grow_by(GROWTH, quiet=True)

    def more_rows(self, n=8):
        """Until the world has gone on by so much; two come in half a second."""
        least = self.life.rows + n
        self.wait(lambda: self.life.rows >= least, f'{n} more rows')

    def finished(self):
        return sum(self.states(self.db).get(state, 0) for state in FINAL)

    def more_finished(self, n=5):
        least = self.finished_once() + n
        self.wait(lambda: self.finished() >= least, f'{n} more rows to be finished', every=0.3)

    def finished_once(self):
        return self.wait(lambda: [self.finished()], 'the rows')[0]

    def forgotten(self, host):
        """Until the server knows that the sessions of a host that died are nobody's, and what they
        held is free; then the host is back."""
        self.wait(lambda: not self.db.rows(f"SELECT 1 FROM pg_stat_activity WHERE client_addr = "
                                           f"'{host.address}' LIMIT 1"),
                  f'the end of all sessions of {host}', every=0.3)
        host.plug()

    # Segments

    def much_to_do(self, chance):
        """Ranges that are to be fetched once more, and an upstream that takes its time."""
        self.site.faults('items:delay=2500')  # of the 3 s that a request may take
        for _ in range(4):
            lo = chance.randrange(self.site.first, self.site.maxitem - WIDTH)
            self.ask('INSERT INTO ingest_segments (start_id, end_id, purpose, scan_cursor_id) '
                     f"VALUES ({lo}, {lo + WIDTH - 1}, 'gap', {lo - 1}) RETURNING 1")

    def holding(self):
        """(segment, token, host) of a catch-up that holds a segment."""
        found = self.ask("SELECT segment_id, lease_token, split_part(holder, ':', 1) "
                         "FROM ingest_segments WHERE holder LIKE 'catchup%' ORDER BY 1 LIMIT 1")
        return found[0] if found else None

    def holding_some(self, chance):
        """The same; there is more to do where an updater has done it all."""
        found = self.holding()
        if not found and not self.ask("SELECT 1 FROM ingest_segments WHERE purpose = 'gap' "
                                      "AND status <> 'done' LIMIT 1"):
            self.much_to_do(chance)
        return found

    def heir(self, segment, token):
        """Who took it from its holder; '' where that one had given it up by itself."""
        found = self.ask("SELECT COALESCE(split_part(holder, ':', 1), ''), lease_token FROM "
                         f"ingest_segments WHERE segment_id = {segment} AND status <> 'done'")
        if not found or found[0] == ('', token):
            return ['']
        return [found[0][0]] if found[0][0] and found[0][1] > token else None

    def cut_off_a_holder(self, chance):
        """(name, its service, what that had said before, its ends before, heir). Who is through
        with its segment at this very moment has none, and another is taken."""
        while True:
            segment, token, name = self.wait(lambda: self.holding_some(chance),
                                             'somebody with a segment')
            service = self.fleet.services[name]
            before = len(service.said()), len(service.codes)
            self.from_database(self.h[name], self.net.cut)
            heir = self.wait(lambda: self.heir(segment, token), 'an heir')[0]
            self.from_database(self.h[name], self.net.mend)
            if heir:
                return name, service, *before, heir

    def fault_zombie(self, chance):
        """One that holds a segment is cut off from the database alone, goes on fetching, and comes
        back while its heir is at work. What it has to say arrives late, or by a new connection."""
        self.much_to_do(chance)
        name, service, said, codes, heir = self.cut_off_a_holder(chance)
        self.wait(lambda: LOST in service.said(said) or len(service.codes) > codes,
                  f'{name} to find out')
        self.site.faults()
        return f'{name}, heir {heir}'

    # Updaters

    def active(self):
        """The name of the updater that works."""
        found = self.ask("SELECT split_part(updater_holder, ':', 1) FROM updater_state "
                         'WHERE updater_holder IS NOT NULL')
        return found[0][0] if found else None

    def wait_heir(self, name):
        self.wait(lambda: self.active() not in (None, name), f'an heir of {name}', every=0.3)

    def fault_updater_dies(self, _):
        name = self.wait(self.active, 'an active updater')
        self.h[name].die()
        self.grow()
        self.wait_heir(name)
        self.forgotten(self.h[name])
        return name

    def fault_updater_cut_off(self, _):
        """It hears the stream and cannot write; the heir can. When it can again, it may not."""
        name = self.wait(self.active, 'an active updater')
        service, host = self.fleet.services[name], self.h[name]
        codes = len(service.codes)
        self.from_database(host, self.net.cut)
        self.wait_heir(name)
        self.more_rows(2)
        self.from_database(host, self.net.mend)
        self.wait(lambda: len(service.codes) > codes, f'{name} to find out and end')
        return name

    def fault_stream_silent(self, _):
        name = self.wait(self.active, 'an active updater')
        service, host = self.fleet.services[name], self.h[name]
        said = len(service.said())
        self.net.cut(host, self.h['upstream'])
        self.grow()
        self.wait(lambda: 'no event stream' in service.said(said) or self.active() != name,
                  f'{name} to notice')
        self.net.mend(host, self.h['upstream'])
        return name

    # Catch-up

    def fault_catchup_dies(self, chance):
        name = chance.choice(CATCHUPS)
        self.grow()
        self.h[name].die()
        self.more_rows()
        self.forgotten(self.h[name])
        return name

    def fault_link_down(self, chance):
        """Visibly: the network is unreachable."""
        name = chance.choice(CATCHUPS + UPDATERS + ENRICHERS)
        self.h[name].link(False)
        self.grow()
        self.more_rows()
        self.h[name].link(True)
        return name

    # Enrichment

    def fault_enricher_dies(self, chance):
        name = chance.choice(ENRICHERS)
        self.h[name].die()
        self.more_finished()
        self.h[name].plug()
        return name

    def fault_enricher_cut_off(self, chance):
        name = chance.choice(ENRICHERS)
        self.from_database(self.h[name], self.net.cut)
        self.more_finished()
        self.from_database(self.h[name], self.net.mend)
        return name

    def cut_off_with_a_row(self):
        """(key, token, host) of a claim whose holder is cut off by now; None when there is none, or
        when it was over before the cut."""
        found = self.ask("SELECT key, token, split_part(holder, ':', 1) FROM claims "
                         "WHERE state = 'held' ORDER BY lease_until DESC LIMIT 1")
        for key, token, name in found:
            self.from_database(self.h[name], self.net.cut)
            if self.ask(f"WITH u AS (UPDATE claims SET lease_until = 1 WHERE key = '{key}' AND "
                        f"token = {token} AND state = 'held' RETURNING 1) "
                        'SELECT COUNT(*) FROM u')[0][0]:
                return key, token, name
            self.from_database(self.h[name], self.net.mend)
        return None

    def fault_enricher_zombie(self, _):
        """One that holds a row is cut off from the database until a sweep has taken the row from it
        and another has it, however many rows wait; its answer comes too late. The lease is cut
        short, the sweep waited for."""
        self.lookup.become('slow', seconds=8)  # of the 10 s that a call may take
        key, token, name = self.wait(self.cut_off_with_a_row, 'a row that is held')
        this = f"FROM claims WHERE key = '{key}'"
        self.wait(lambda: self.db.rows(f"SELECT 1 {this} AND token > {token} AND state = 'held' "
                                       f"AND holder NOT LIKE '{name}:%'"), 'an heir', every=0.2)
        self.from_database(self.h[name], self.net.mend)
        self.wait(lambda: self.db.rows(f"SELECT 1 {this} AND state <> 'held'"), 'its end',
                  every=0.2)
        self.lookup.become('slow', seconds=0.5)
        return name

    def fault_lookup_vanishes(self, _):
        """For less than a call may take."""
        self.h['lookup'].unplug()
        self.more_rows()
        self.h['lookup'].plug()
        return 'lookup'

    # Servers and readers

    def readers_of(self, name):
        return [r for r in self.readers if name in r.name]

    def fault_server_reset(self, chance):
        name = chance.choice(SERVERS)
        before = {r: r.joined for r in self.readers_of(name)}
        self.h[name].reset_connections()
        self.wait_rejoined(before)
        return name

    def fault_server_dies(self, chance):
        name = chance.choice(SERVERS)
        self.h[name].die()
        return self.back(name)

    def fault_server_vanishes(self, chance):
        name = chance.choice(SERVERS)
        self.h[name].unplug()
        return self.back(name)

    def back(self, name):
        """After its readers have given it up."""
        readers = self.readers_of(name)
        self.wait(lambda: not any(r.connected for r in readers), 'readers to notice')
        before = {r: r.joined for r in readers}
        self.h[name].plug()
        self.wait_rejoined(before)
        return name

    def wait_rejoined(self, before):
        self.wait(lambda: all(r.joined > n for r, n in before.items()), 'the readers to come back')

    # The database

    def fault_database_reset(self, _):
        """All sessions at once; the replica's too."""
        self.cluster.primary.host.reset_connections()
        self.cluster.wait_streaming()
        self.more_rows(2)
        return str(self.cluster.primary.host)

    def fault_replica_vanishes(self, _):
        """Nobody's commit is acknowledged until it is back."""
        self.cluster.replica.host.unplug()
        self.cluster.wait_streaming(False)
        before = self.life.rows
        self.cluster.replica.host.plug()
        self.cluster.wait_streaming()
        self.wait(lambda: self.life.rows > before, 'commits')
        return str(self.cluster.replica.host)

    def fail_over(self, how):
        old = self.cluster.primary.host
        epoch = self.ask('SELECT MAX(epoch) FROM feed_epochs')[0][0]
        self.cluster.fail_over(how)
        self.more_rows(2)
        self.wait(lambda: self.db.rows('SELECT MAX(epoch) FROM feed_epochs')[0][0] > epoch,
                  'an epoch of the new primary')
        self.cluster.add_replica()
        return f'{old} ({how})'

    def fault_primary_vanishes(self, _):
        return self.fail_over('vanish')

    def fault_primary_dies(self, _):
        return self.fail_over('die')

    def fault_primary_stops(self, _):
        return self.fail_over('stop')

    # Rounds

    def befall(self, name, chance):
        self.seen = f'{name} {getattr(self, "fault_" + name)(chance)}'
        self.tell(self.seen)
        self.check_invariants()

    @classmethod
    def all_faults(cls):
        return sorted(n.removeprefix('fault_') for n in dir(cls) if n.startswith('fault_'))

