"""The tables of the history, with migrations. The same statements work in SQLite and in PostgreSQL.

Objects are compressed with zlib. A job has the UID of its object: a job that is created again under the same name is another one.
"""

from __future__ import annotations

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE jobs (
             uid TEXT PRIMARY KEY, namespace TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,
             created BIGINT NOT NULL, deleted BIGINT, object {blob} NOT NULL)""",
        "CREATE INDEX jobs_by_name ON jobs (namespace, name)",
        "CREATE TABLE statuses (job TEXT NOT NULL, time BIGINT NOT NULL, status {blob} NOT NULL)",
        "CREATE INDEX statuses_by_job ON statuses (job, time)",
        """CREATE TABLE pods (
             uid TEXT PRIMARY KEY, job TEXT NOT NULL, name TEXT NOT NULL, created BIGINT NOT NULL, deleted BIGINT,
             object {blob} NOT NULL)""",
        "CREATE INDEX pods_by_job ON pods (job)",
        "CREATE TABLE events (uid TEXT PRIMARY KEY, involved TEXT NOT NULL, time BIGINT NOT NULL, object {blob} NOT NULL)",
        "CREATE INDEX events_by_object ON events (involved)",
        """CREATE TABLE samples (
             pod TEXT NOT NULL, time BIGINT NOT NULL, cpu DOUBLE PRECISION NOT NULL, memory BIGINT NOT NULL,
             PRIMARY KEY (pod, time))""",
        """CREATE TABLE logs (
             pod TEXT NOT NULL, container TEXT NOT NULL, run BIGINT NOT NULL, number BIGINT NOT NULL, time BIGINT NOT NULL,
             lines {blob} NOT NULL, PRIMARY KEY (pod, container, run, number))""",
    ),
)
"""`{blob}` is the type of bytes."""
