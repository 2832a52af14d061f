"""What the gateway logs of requests and messages, as fields that a program can read."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from functools import partial
from typing import Any

import grpc
import pytest
from google.protobuf.struct_pb2 import Value

from sqlalchemy_spanner_queues.emulator import _protos as pb
from sqlalchemy_spanner_queues.emulator.delivery.identity import identity_of
from sqlalchemy_spanner_queues.emulator.delivery.lease_log import log_lease
from sqlalchemy_spanner_queues.emulator.delivery.leases import Leases
from sqlalchemy_spanner_queues.emulator.errors import not_found
from sqlalchemy_spanner_queues.emulator.log import LOGGER
from sqlalchemy_spanner_queues.emulator.serving import journal
from sqlalchemy_spanner_queues.emulator.transport import RpcError

DATABASE = "projects/p/instances/i/databases/d"


def fields_of(records: Iterable[logging.LogRecord], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(getattr(record, name) for name in names) for record in records]


def request(name: str) -> bytes:
    made = pb.ExecuteSqlRequest()
    made.session, made.sql = name, "SELECT 1"
    return made.SerializeToString()


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (None, "OK"),
        (not_found("it is not there"), "NOT_FOUND"),
        (RpcError(grpc.StatusCode.ABORTED), "ABORTED"),
        (asyncio.CancelledError(), "CANCELLED"),
        (GeneratorExit(), "CANCELLED"),
        (RuntimeError("a mistake of the gateway"), "UNKNOWN"),
    ],
)
def test_a_request_is_logged_when_it_ends(
    caplog: pytest.LogCaptureFixture, error: BaseException | None, code: str
) -> None:
    def end() -> None:
        with journal.request("ExecuteSql", request(f"{DATABASE}/sessions/s")):
            if error is not None:
                raise error

    with caplog.at_level(logging.INFO, LOGGER.name):
        if error is None:
            end()
        else:
            with pytest.raises(type(error)):
                end()
    assert fields_of(caplog.records, "method", "database", "code") == [("ExecuteSql", DATABASE, code)]
    assert caplog.records[0].milliseconds >= 0


@pytest.mark.parametrize(
    ("raw", "database"),
    [
        (b"", ""),
        (b"\n", ""),
        (request(DATABASE), DATABASE),
        (request(DATABASE + "x" * 200 + "/sessions/s"), DATABASE + "x" * 200),
        (b"\x12\x01a", ""),
    ],
)
def test_the_database_of_a_request_is_found(
    caplog: pytest.LogCaptureFixture, raw: bytes, database: str
) -> None:
    with caplog.at_level(logging.INFO, LOGGER.name), journal.request("ExecuteSql", raw):
        pass
    assert fields_of(caplog.records, "database") == [(database,)]


def test_nothing_is_logged_unless_it_is_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, LOGGER.name), journal.request("ExecuteSql", b""):
        Leases(partial(log_lease, DATABASE, "q")).grant(MESSAGE, 0.0, "somebody")
    assert caplog.records == []


MESSAGE = identity_of([Value(string_value="7"), Value(string_value="2026-01-31T12:00:00Z")])


def test_messages_are_followed_from_lease_to_end(caplog: pytest.LogCaptureFixture) -> None:
    leases = Leases(partial(log_lease, DATABASE, "q"))
    with caplog.at_level(logging.DEBUG, LOGGER.name):
        lease = leases.grant(MESSAGE, 0.0, "somebody")
        leases.renew(lease.token, 5.0)
        (expired,) = leases.to_check(100.0, 9)
        leases.checked(expired, 100.0)
        leases.to_check(1000.0, 9)
        leases.checked(expired, 1000.0)
        again = leases.grant(MESSAGE, 1000.0, "another")
        leases.give_back(again)
        leases.forget(MESSAGE)
        leases.forget(MESSAGE)
    assert fields_of(caplog.records, "event", "holder", "deliveries") == [
        ("leased", "somebody", 1),
        ("renewed", "somebody", 1),
        ("expired", "somebody", 1),
        ("leased", "another", 2),
        ("given back", "another", 2),
        ("gone", "another", 1),
    ]
    assert {*fields_of(caplog.records, "database", "queue")} == {(DATABASE, "q")}
    assert all(record.key == ["7"] for record in caplog.records)
