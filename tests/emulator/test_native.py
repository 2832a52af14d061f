"""An upstream that has queues of its own: the gateway asks once and steps aside.

The upstream that understands CREATE QUEUE is a gateway itself.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator

import pytest
from google.api_core.exceptions import FailedPrecondition, NotFound
from google.cloud.spanner_v1 import KeySet

from sqlalchemy_spanner_queues.emulator import Emulator
from sqlalchemy_spanner_queues.emulator.errors import Refusal
from sqlalchemy_spanner_queues.emulator.upstream.api import UpstreamApi
from sqlalchemy_spanner_queues.emulator.upstream.native import mentions_queues, understands_queues
from sqlalchemy_spanner_queues.exc import EmulatorError
from tests.emulator.conftest import SCHEMA
from tests.emulator.helpers import ID, TOKEN, Session

PROBES = ("CreateInstance", "DeleteInstance")


@pytest.fixture(scope="module")
def second(emulator: Emulator) -> Iterator[Emulator]:
    """A gateway in front of the first one."""
    with Emulator(upstream=emulator.host) as second:
        yield second


@pytest.fixture
def through_both(emulator: Emulator, second: Emulator) -> Session:
    emulator.reset()
    return Session(second, second.create_database(statements=SCHEMA))


async def asked(address: str) -> bool:
    api = UpstreamApi(address)
    try:
        return await understands_queues(api)
    finally:
        await api.close()


def test_the_official_emulator_is_asked(emulator: Emulator) -> None:
    assert asyncio.run(asked(emulator.upstream)) is False
    assert asyncio.run(asked(emulator.host)) is True


def test_the_question_leaves_nothing_behind(emulator: Emulator) -> None:
    before = [instance.name for instance in emulator.client.list_instances()]
    emulator.requests(reset=True)
    asyncio.run(asked(emulator.host))
    counted = emulator.requests()
    assert [counted[method] for method in PROBES] == [1, 1]
    assert [instance.name for instance in emulator.client.list_instances()] == before


@pytest.mark.parametrize("method", ["CreateInstance", "CreateDatabase"])
def test_an_upstream_that_says_neither_yes_nor_no_is_an_error(emulator: Emulator, method: str) -> None:
    before = [instance.name for instance in emulator.client.list_instances()]
    emulator.inject(method, code="PERMISSION_DENIED")
    with pytest.raises(Refusal, match=r"has queues of its own.*PERMISSION_DENIED: injected") as raised:
        asyncio.run(asked(emulator.host))
    assert raised.value.code.name == "FAILED_PRECONDITION"
    assert [instance.name for instance in emulator.client.list_instances()] == before


def test_an_upstream_that_is_gone_is_an_error() -> None:
    with socket.socket() as nobody:
        nobody.bind(("localhost", 0))
        address = f"localhost:{nobody.getsockname()[1]}"
        with pytest.raises(Refusal, match=rf"{address} has queues.*UNAVAILABLE"):
            asyncio.run(asked(address))


def test_a_question_that_failed_is_asked_again(emulator: Emulator) -> None:
    with Emulator(upstream=emulator.host) as fresh:
        path = fresh.create_database()
        emulator.inject("CreateInstance", code="INTERNAL")
        database = Session(fresh, path).db
        with pytest.raises(FailedPrecondition, match="has queues of its own"):
            database.update_ddl(SCHEMA[-1:])
        database.update_ddl(SCHEMA[-1:]).result()


def test_it_is_asked_once_and_only_when_queues_come_up(emulator: Emulator) -> None:
    with Emulator(upstream=emulator.host) as fresh:
        path = fresh.create_database(statements=["CREATE TABLE t (a INT64) PRIMARY KEY (a)"])
        emulator.requests(reset=True)
        database = Session(fresh, path)
        database.write("INSERT INTO t (a) VALUES (1)")
        assert not set(PROBES) & set(emulator.requests())
        database.db.update_ddl(SCHEMA[-1:]).result()
        database.db.update_ddl(["ALTER QUEUE q SET OPTIONS (disable_send = true)"]).result()
        assert [emulator.requests()[method] for method in PROBES] == [1, 1]


@pytest.mark.parametrize(
    ("statement", "answer"),
    [
        ("CREATE QUEUE q", True),
        ("drop\nQueue q", True),
        ("GRANT SELECT ON TABLE t TO ROLE r", True),
        ("CREATE ROLE r", True),
        ("CREATE TABLE t (a INT64) PRIMARY KEY (a)", False),
    ],
)
def test_statements_that_bring_it_up(statement: str, answer: bool) -> None:
    assert mentions_queues(["CREATE TABLE s (a INT64) PRIMARY KEY (a)", statement]) is answer


def test_messages_go_through_both_gateways(through_both: Session, emulator: Emulator) -> None:
    through_both.send(1, 2)
    with through_both.receive() as received:
        rows = received.take(2)
        assert sorted(row[:2] for row in rows) == [[1, "p1"], [2, "p2"]]
        assert sorted(lease["key"] for lease in emulator.leases(through_both.path)) == [["1"], ["2"]]
        renewed = through_both.renew(rows[0][TOKEN])
        assert list(renewed) == [rows[0][TOKEN]]
        through_both.acknowledge(rows[0][ID])
        with through_both.db.batch() as batch:
            batch.ack(queue="q", key=(rows[1][ID],))
        assert through_both.query("SELECT Id FROM q") == []
        through_both.send(3)
        assert received.next()[ID] == 3
    assert through_both.emulator.leases() == []


def test_mutations_go_through_both_gateways(through_both: Session) -> None:
    with through_both.receive() as received:
        with through_both.db.batch() as batch:
            batch.send(queue="q", key=(1,), payload="sent")
        assert received.next()[:2] == [1, "sent"]
    with pytest.raises(NotFound), through_both.db.batch() as batch:
        batch.ack(queue="q", key=(2,))
    with through_both.db.batch() as batch:
        batch.insert("q", ("Id", "Payload"), [(3, "inserted")])
    with through_both.db.snapshot() as snapshot:
        assert sorted(snapshot.read("q", ("Id",), KeySet(all_=True))) == [[1], [3]]


def test_the_schema_is_that_of_the_upstream(through_both: Session, emulator: Emulator) -> None:
    behind = Session(emulator, through_both.path)
    for sql, count in (
        (
            "SELECT TABLE_NAME, TABLE_TYPE FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = '' ORDER BY 1",
            3,
        ),
        ("SELECT ROUTINE_NAME FROM INFORMATION_SCHEMA.ROUTINES ORDER BY 1", 4),
    ):
        assert through_both.query(sql) == behind.query(sql)
        assert len(behind.query(sql)) == count
    for database in (through_both, behind):
        database.db.reload()
    assert through_both.db.ddl_statements == behind.db.ddl_statements
    assert sum("CREATE QUEUE" in statement for statement in behind.db.ddl_statements) == 2


def test_a_clock_that_is_not_its_own_is_not_moved(through_both: Session) -> None:
    with pytest.raises(EmulatorError, match="queues of its own, whose clock cannot be moved"):
        through_both.emulator.advance(1)
    through_both.emulator.reset()
