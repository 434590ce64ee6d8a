"""Watches the fences from within the database, by triggers of the tests' own: whoever writes as the
holder of a segment, of the updater's lease or of a claim must be on the host that the row names as
its holder. The holder's name and the address of the connection come by different ways, so a zombie
that writes behind its heir's back is seen, whatever it believes."""

SETUP = """
CREATE SCHEMA audit;
CREATE TABLE audit.hosts (address inet PRIMARY KEY, name text NOT NULL);
CREATE TABLE audit.wrong (at timestamptz DEFAULT clock_timestamp(), who text, what text,
                          holder text);

CREATE FUNCTION audit.me() RETURNS text LANGUAGE sql STABLE AS
$$ SELECT name FROM audit.hosts WHERE address = inet_client_addr() $$;

CREATE FUNCTION audit.look(what text, holder text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF audit.me() IS DISTINCT FROM split_part(holder, ':', 1) THEN
        INSERT INTO audit.wrong (who, what, holder) VALUES (audit.me(), what, holder);
    END IF;
END $$;

CREATE FUNCTION audit.segment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM audit.look('segment ' || OLD.segment_id || ', token ' || OLD.lease_token, OLD.holder);
    RETURN NULL;
END $$;
CREATE TRIGGER audit_holder AFTER UPDATE ON tain.ingest_segments FOR EACH ROW
WHEN (OLD.holder IS NOT NULL AND OLD.lease_token = NEW.lease_token
      AND (OLD.scan_cursor_id, OLD.heartbeat_at, OLD.lease_until, OLD.holder) IS DISTINCT FROM
          (NEW.scan_cursor_id, NEW.heartbeat_at, NEW.lease_until, NEW.holder))
EXECUTE FUNCTION audit.segment();

CREATE FUNCTION audit.claim() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM audit.look('claim ' || OLD.key || ', token ' || OLD.token || ', ' || NEW.state,
                       OLD.holder);
    RETURN NULL;
END $$;
CREATE TRIGGER audit_holder AFTER UPDATE ON tain.claims FOR EACH ROW
WHEN (OLD.state = 'held' AND NEW.state <> 'held' AND OLD.token = NEW.token)
EXECUTE FUNCTION audit.claim();

CREATE FUNCTION audit.items() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE mine text := audit.me() || ':%';
BEGIN
    IF NOT EXISTS (SELECT 1 FROM tain.updater_state WHERE updater_holder LIKE mine)
       AND NOT EXISTS (SELECT 1 FROM tain.ingest_segments WHERE holder LIKE mine) THEN
        INSERT INTO audit.wrong (who, what) VALUES (audit.me(), lower(TG_OP) || ' of items');
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER audit_writer AFTER INSERT OR UPDATE OF last_fetched_at ON tain.items
FOR EACH STATEMENT
EXECUTE FUNCTION audit.items();
"""


def install(archive, hosts):
    archive.execute(SETUP)
    rows = ', '.join(f"('{host.address}', '{host.name}')" for host in hosts)
    archive.execute(f'INSERT INTO audit.hosts (address, name) VALUES {rows}')


def findings(archive):
    """In words; empty when every writer was the holder."""
    return [f"{who or 'somebody unknown'} wrote {what}" + (f', held by {holder}' if holder else '')
            for who, what, holder in archive.rows(
                'SELECT who, what, holder FROM audit.wrong ORDER BY at LIMIT 20')]
