"""The history in PostgreSQL: foreign databases and bad URLs are refused, the password is never said, connections come back."""

from __future__ import annotations

import concurrent.futures

import pytest
from tests.history.postgres_server import PostgresServer

from traincrew import errors
from traincrew.history import database_thread
from traincrew.history.database_thread import DatabaseThread
from traincrew.history.records import Batch, JobQuery, JobRecord


def job(uid: str) -> JobRecord:
    return JobRecord(uid, "a", "jaxjob", uid, 1, None, b"{}")


def refusal(url: str, *, writable: bool = True) -> str:
    with pytest.raises(errors.StoreError) as caught:
        database_thread.open_store(url, writable=writable)
    return str(caught.value)


@pytest.mark.parametrize(
    "url", ["postgresql://u:s3cret@host:port/x", "postgresql://u:s3cret@h/x?colour=red", "postgres://[u:s3cret@/"]
)
def test_a_url_that_is_none_is_refused_without_its_password(url: str) -> None:
    message = refusal(url)
    assert "s3cret" not in message
    assert "postgresql://USER:PASSWORD@HOST:PORT/DATABASE" in message or "cannot connect" in message


def test_errors_of_the_server_are_said_without_the_password(postgres: PostgresServer) -> None:
    message = refusal(postgres.url("nowhere", "owner&password=s3cret"))
    assert message.startswith("history postgresql://owner@")
    assert 'database "nowhere" does not exist' in message
    assert "s3cret" not in message


def test_a_reader_waits_for_the_recorder(postgres: PostgresServer) -> None:
    url = postgres.url(postgres.new_database())
    assert "nothing is recorded yet" in refusal(url, writable=False)


def test_a_database_of_another_program_is_not_touched(postgres: PostgresServer) -> None:
    name = postgres.new_database()
    postgres.execute("CREATE TABLE pods (a int)", name)
    assert "tables of another program" in refusal(postgres.url(name))
    assert postgres.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'", name) == "1\n"


def test_a_user_without_rights_gets_the_remedy(postgres: PostgresServer) -> None:
    name = postgres.new_database()
    database_thread.open_store(postgres.url(name), writable=True).close()
    postgres.execute("DROP ROLE IF EXISTS visitor; CREATE ROLE visitor LOGIN", name)
    assert "Grant the rights on the tables" in refusal(postgres.url(name, "visitor"), writable=False)
    postgres.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO visitor", name)
    database_thread.open_store(postgres.url(name, "visitor"), writable=False).close()


def test_texts_are_texts_also_in_a_database_without_an_encoding(postgres: PostgresServer) -> None:
    """As initdb creates it in the locale C."""
    postgres.execute("CREATE DATABASE plain ENCODING 'SQL_ASCII' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
    store = database_thread.open_store(postgres.url("plain"), writable=True)
    store.write(Batch((job("作业"),)))
    assert store.jobs(JobQuery(name="作业")) == [job("作业")]
    store.close()


def test_several_recorders_may_start_at_once(postgres: PostgresServer) -> None:
    url = postgres.url(postgres.new_database())
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        stores = list(pool.map(lambda _: database_thread.open_store(url, writable=True), range(8)))
    for number, store in enumerate(stores):
        store.write(Batch((job("shared"), job(str(number)))))
    assert len(stores[0].jobs(JobQuery())) == 9
    for store in stores:
        store.close()


async def test_a_server_that_was_restarted_is_connected_again(postgres: PostgresServer) -> None:
    thread = DatabaseThread(postgres.url(postgres.new_database()), writable=True)
    await thread.call(lambda store: store.write(Batch((job("before"),))))
    postgres.stop()
    try:
        with pytest.raises(errors.StoreError, match="cannot connect"):
            await thread.call(lambda store: store.existing())
    finally:
        postgres.start()
    await thread.call(lambda store: store.write(Batch((job("after"),))))
    postgres.stop()
    postgres.start()
    assert await thread.call(lambda store: store.existing()) == {"before", "after"}  # the connection is that of the first server
    await thread.close()
