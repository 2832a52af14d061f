"""The arguments of RECEIVE and RENEWLEASE."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from google.protobuf.struct_pb2 import Struct

from sqlalchemy_spanner_queues.emulator.text.arguments import (
    ReceiveArguments,
    lease_tokens,
    receive_arguments,
)
from sqlalchemy_spanner_queues.emulator.text.dialect import Dialect
from sqlalchemy_spanner_queues.emulator.text.reading import SqlError, split
from tests.unit.emulator_text.queues import BOTH, GOOGLESQL, POSTGRESQL, named


def params(values: Mapping[str, Any]) -> Struct:
    struct = Struct()
    struct.update(dict(values))
    return struct


def arguments(call: str, dialect: Dialect, bound: Struct | None = None) -> ReceiveArguments:
    return receive_arguments(split(dialect.tokenize(call)), bound or Struct(), "RECEIVE_q")


def tokens(call: str, dialect: Dialect, bound: Struct | None = None) -> list[str]:
    return lease_tokens(split(dialect.tokenize(call)), bound or Struct(), "RENEWLEASE_q")


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("", ReceiveArguments(100, 1200)),
        ("5", ReceiveArguments(5, 1200)),
        ("5, NULL, '30s'", ReceiveArguments(5, 30)),
        ("MAX_DURATION => '1m', Max_Batch_Size => 7", ReceiveArguments(7, 60)),
        ("priority => -3, max_duration => '500ms'", ReceiveArguments(100, 0.5)),
        ("priority => 'HIGH', max_duration => ' 1H30M '", ReceiveArguments(100, 5400)),
        ("max_batch_size => NULL, priority => TRUE, max_duration => null", ReceiveArguments(100, 1200)),
        ("5, max_duration => '1.5d'", ReceiveArguments(5, 129600)),
        ("/* five */ 5 -- no more", ReceiveArguments(5, 1200)),
    ],
)
@pytest.mark.parametrize("dialect", BOTH, ids=named)
def test_receive_arguments(dialect: Dialect, call: str, expected: ReceiveArguments) -> None:
    assert arguments(call, dialect) == expected


@pytest.mark.parametrize(
    ("dialect", "call", "expected"),
    [
        (GOOGLESQL, "max_duration => @d, max_batch_size => @N", ReceiveArguments(7, 5400)),
        (GOOGLESQL, "CAST(@n AS INT64), CAST(NULL AS STRING), CAST('1s' AS STRING)", ReceiveArguments(7, 1)),
        (GOOGLESQL, "0x10, max_duration => r'1s'", ReceiveArguments(16, 1)),
        (GOOGLESQL, "@nothing", ReceiveArguments(100, 1200)),
        (POSTGRESQL, "$2, $3, $1", ReceiveArguments(7, 5400)),
        (POSTGRESQL, "$2::bigint, NULL::text, '1s'::character varying", ReceiveArguments(7, 1)),
        (POSTGRESQL, "max_batch_size => 5::int::bigint, max_duration => $$2s$$", ReceiveArguments(5, 2)),
        (POSTGRESQL, "max_duration => E'\\x31s'", ReceiveArguments(100, 1)),
    ],
    ids=named,
)
def test_parameters_and_casts(dialect: Dialect, call: str, expected: ReceiveArguments) -> None:
    values = {"d": "1h30m", "n": "7", "nothing": None, "p1": "1h30m", "p2": "7", "p3": None}
    assert arguments(call, dialect, params(values)) == expected


@pytest.mark.parametrize(
    "call",
    [
        "x => 1", "1, 2, '1s', 4", "0", "-1", "1.5", "1e2", "TRUE", "'five'", "'²'", "'--5'", "''", "[1]",
        "99999999999999999999", "max_duration => 'soon'", "max_duration => ''", "max_duration => 20",
        "max_duration => '20'", "max_duration => '-1s'", "f(1)", "max_batch_size => 1, max_batch_size => 2",
        "max_batch_size => 1, NULL", "max_batch_size =>", "1,", "1 2", "- 'x'", "CAST(1)", "Id",
        "5, max_batch_size => 5",
    ],
)  # fmt: skip
@pytest.mark.parametrize("dialect", BOTH, ids=named)
def test_wrong_receive_arguments(dialect: Dialect, call: str) -> None:
    with pytest.raises(SqlError):
        arguments(call, dialect)


@pytest.mark.parametrize(
    ("dialect", "call"),
    [
        (GOOGLESQL, "@missing"),
        (POSTGRESQL, "$9"),
        (POSTGRESQL, "1::"),
        (POSTGRESQL, "::text"),
        (POSTGRESQL, "::"),
    ],
    ids=named,
)
def test_wrong_receive_arguments_of_one_dialect(dialect: Dialect, call: str) -> None:
    with pytest.raises(SqlError):
        arguments(call, dialect, params({"p1": "1"}))


@pytest.mark.parametrize(
    ("dialect", "call", "expected"),
    [
        (GOOGLESQL, "lease_tokens => @all", ["a", "b"]),
        (GOOGLESQL, "['x', @one]", ["x", "c"]),
        (GOOGLESQL, "ARRAY<STRING>['x', NULL]", ["x"]),
        (GOOGLESQL, "CAST(['x'] AS ARRAY<STRING>)", ["x"]),
        (GOOGLESQL, "[]", []),
        (POSTGRESQL, "lease_tokens => $1", ["a", "b"]),
        (POSTGRESQL, "ARRAY['x', $2, NULL::text]", ["x", "c"]),
        (POSTGRESQL, "array['x']::text[]", ["x"]),
        (POSTGRESQL, "'{x,\"y\"}'::text[]", ["x", "y"]),
        (POSTGRESQL, "CAST('{x, y}' AS varchar[])", ["x", "y"]),
        (POSTGRESQL, "'{}'::text[]", []),
        (POSTGRESQL, "ARRAY[]::text[]", []),
    ],
    ids=named,
)
def test_lease_tokens(dialect: Dialect, call: str, expected: list[str]) -> None:
    values = {"all": ["a", "b"], "one": "c", "p1": ["a", "b"], "p2": "c"}
    assert tokens(call, dialect, params(values)) == expected


@pytest.mark.parametrize(
    "call", ["", "'x'", "NULL", "tokens => ['x']", "['x'], ['y']", "[f('x')]", "['x',]", "x['y']", "['x'"]
)
@pytest.mark.parametrize("dialect", BOTH, ids=named)
def test_wrong_lease_tokens(dialect: Dialect, call: str) -> None:
    with pytest.raises(SqlError):
        tokens(call, dialect)
