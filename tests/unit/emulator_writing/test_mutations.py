"""The mutations of queues become those of the tables behind them."""

from __future__ import annotations

import pytest
from google.protobuf.struct_pb2 import NULL_VALUE, ListValue, Value
from google.protobuf.timestamp_pb2 import Timestamp

from sqlalchemy_spanner_queues.emulator import _protos as pb
from sqlalchemy_spanner_queues.emulator.errors import Refusal
from sqlalchemy_spanner_queues.emulator.text.definition import QueueDefinition
from sqlalchemy_spanner_queues.emulator.text.dialect import Dialect
from sqlalchemy_spanner_queues.emulator.writing.mutations import translate_mutations
from tests.unit.emulator_text.queues import BOTH, CREATE, GOOGLESQL, POSTGRESQL, named, parse

NOW = 1_000_000.0
PAST, FUTURE, AT_NOW = "1970-01-02T00:00:00Z", "2100-01-01T00:00:00Z", "1970-01-12T13:46:40.000000Z"
PAIR = parse(
    "CREATE QUEUE pair (A INT64, B INT64 AS (A * 2) STORED, C STRING(9), payload JSON NOT NULL)"
    " PRIMARY KEY (C DESC, B, A)",
    GOOGLESQL,
)


def queues(dialect: Dialect) -> dict[str, QueueDefinition]:
    off = CREATE[dialect.name].replace(" q ", " off ")
    option = ", OPTIONS (disable_send = true)" if dialect is GOOGLESQL else " WITH (disable_send = true)"
    return {"q": parse(CREATE[dialect.name], dialect), "off": parse(off + option, dialect), "pair": PAIR}


def translated(dialect: Dialect, *mutations: pb.Mutation) -> tuple[list[pb.Mutation], set[str]]:
    return translate_mutations(mutations, queues(dialect), NOW)


def key(*parts: str | None) -> list[Value]:
    return [Value(null_value=NULL_VALUE) if part is None else Value(string_value=part) for part in parts]


def send(queue: str, *parts: str | None, due: int | None = None) -> pb.Mutation:
    mutation = pb.Mutation()
    mutation.send.queue = queue
    mutation.send.key.values.extend(key(*parts))
    mutation.send.payload.string_value = "{}"
    if due is not None:
        mutation.send.deliver_time.CopyFrom(Timestamp(seconds=due))
    return mutation


def acknowledge(queue: str, *parts: str | None, ignore: bool = False) -> pb.Mutation:
    mutation = pb.Mutation()
    mutation.ack.queue = queue
    mutation.ack.key.values.extend(key(*parts))
    mutation.ack.ignore_not_found = ignore
    return mutation


def insert(queue: str, columns: list[str], *rows: list[Value]) -> pb.Mutation:
    mutation = pb.Mutation()
    mutation.insert.table = queue
    mutation.insert.columns.extend(columns)
    mutation.insert.values.extend(ListValue(values=row) for row in rows)
    return mutation


@pytest.mark.parametrize("dialect", BOTH, ids=named)
def test_mutations_keep_their_order(dialect: Dialect) -> None:
    mutations, sent = translated(
        dialect, acknowledge("Q", "1"), send("q", "1"), acknowledge("q", "2", ignore=True)
    )
    assert [each.WhichOneof("operation") for each in mutations] == ["update", "delete", "insert", "delete"]
    assert sent == {"q"}
    names = queues(dialect)["q"].key_order
    update, delete, inserted, _ = mutations
    assert list(update.update.columns) == [*names, dialect.names.deliver_time]
    assert [list(each.values) for each in delete.delete.key_set.keys] == [key("1")]
    assert list(inserted.insert.columns) == [*names, dialect.names.payload]


@pytest.mark.parametrize("dialect", BOTH, ids=named)
@pytest.mark.parametrize(("due", "written"), [(86400, AT_NOW), (4102444800, FUTURE)])
def test_a_deliver_time_that_is_over_is_moved(dialect: Dialect, due: int, written: str) -> None:
    (mutation,), _ = translated(dialect, send("q", "1", due=due))
    assert list(mutation.insert.columns)[-1] == dialect.names.deliver_time
    assert list(mutation.insert.values[0].values)[-1].string_value == written


@pytest.mark.parametrize(
    ("given", "written"),
    [
        (PAST, AT_NOW),
        (FUTURE, FUTURE),
        ("spanner.commit_timestamp()", "spanner.commit_timestamp()"),
        ("2000-99-99T00:00:00Z", "2000-99-99T00:00:00Z"),
        ("soonZ", "soonZ"),
        ("", ""),
    ],
)
def test_an_insert_sends_as_well(given: str, written: str) -> None:
    row = [Value(string_value=given), Value(string_value="1")]
    (mutation,), sent = translated(GOOGLESQL, insert("Q", ["delivertime", "Id"], row, row, row[:0]))
    assert [[value.string_value for value in each.values] for each in mutation.insert.values] == [
        [written, "1"],
        [written, "1"],
        [],
    ]
    assert sent == {"q"}


def test_the_key_goes_in_its_own_order_and_computed_columns_are_left_out() -> None:
    mutations, _ = translated(POSTGRESQL, send("pair", "c", "4", None), acknowledge("pair", None, "4", "2"))
    sending, update, delete = mutations
    assert list(sending.insert.columns) == ["C", "A", "payload"]
    assert list(sending.insert.values[0].values)[:2] == key("c", None)
    assert list(update.update.columns) == ["C", "B", "A", "DeliverTime"]
    assert list(delete.delete.key_set.keys[0].values) == key(None, "4", "2")


@pytest.mark.parametrize("operation", ["update", "insert_or_update", "replace"])
@pytest.mark.parametrize("dialect", BOTH, ids=named)
def test_a_queue_is_never_updated(dialect: Dialect, operation: str) -> None:
    mutation = pb.Mutation()
    getattr(mutation, operation).table = "Q"
    with pytest.raises(Refusal, match=f"{operation} mutations are not supported on queue q"):
        translated(dialect, mutation)
    getattr(mutation, operation).table = "t"
    assert translated(dialect, mutation) == ([mutation], set())


@pytest.mark.parametrize(
    ("mutation", "text"),
    [
        (send("off", "1"), "disable_send is true"),
        (insert("off", ["Id"]), "disable_send is true"),
        (send("nothing", "1"), "Queue not found: nothing"),
        (acknowledge("nothing", "1"), "Queue not found: nothing"),
        (send("q"), "1 key columns, got 0 values"),
        (send("q", "1", "2"), "1 key columns, got 2 values"),
        (acknowledge("pair", "1"), "3 key columns, got 1 values"),
        (send("q", "1", due=10**15), "Invalid deliver_time"),
    ],
)
@pytest.mark.parametrize("dialect", BOTH, ids=named)
def test_wrong_mutations_are_refused(dialect: Dialect, mutation: pb.Mutation, text: str) -> None:
    with pytest.raises(Refusal, match=text):
        translated(dialect, mutation)
