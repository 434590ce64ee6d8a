"""What the servers of the benchmarks are set to."""

# PostgreSQL's own defaults, where the tests' cluster is set to be quick instead of durable.
DURABLE = {'fsync': 'on', 'full_page_writes': 'on', 'synchronous_commit': 'on',
           'shared_buffers': '128MB', 'max_wal_size': '1GB', 'autovacuum_naptime': '60s',
           'max_connections': '100',
           'track_commit_timestamp': 'on'}  # for enrich_engine.py
