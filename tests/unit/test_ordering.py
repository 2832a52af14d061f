"""create_all and drop_all follow the interleaving, however the tables are declared.

The names are chosen so that the order of the alphabet is the wrong one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import BigInteger, Column, MetaData, String, Table, create_engine, create_mock_engine, inspect
from sqlalchemy.orm import DeclarativeBase, configure_mappers, mapped_column

from sqlalchemy_spanner_queues import Bytes, Queue, QueueMessage, QueueOptions, payload_column

# What sqlalchemy-spanner's users see for its own arguments, whose dialect is registered by another name.
pytestmark = pytest.mark.filterwarnings("ignore:Can't validate argument 'spanner_")

URLS = ["spanner+spanner:///projects/p/instances/i/databases/d", "postgresql+psycopg://"]

Declare = Callable[[Any], Any]


def keys(*names: str) -> list[Column[Any]]:
    return [Column(name, BigInteger, primary_key=True, autoincrement=False) for name in names]


def zones(metadata: MetaData) -> Table:
    return Table("Zones", metadata, *keys("a"))


def middle_table(metadata: MetaData) -> Table:
    return Table("Middle", metadata, *keys("a", "b"), spanner_interleave_in="Zones")


def middle_queue(metadata: MetaData) -> Table:
    return Queue("Middle", metadata, *keys("a", "b"), payload=Bytes(), interleave_in="Zones")


def alerts_in_zones(metadata: MetaData) -> Table:
    return Queue("Alerts", metadata, *keys("a", "b"), payload=Bytes(), interleave_in="Zones")


def alerts_in_middle(metadata: MetaData) -> Table:
    return Queue("Alerts", metadata, *keys("a", "b", "c"), payload=Bytes(), interleave_in="Middle")


def model(base: Any, table: str, names: str, interleave_in: str | None = None) -> Any:
    columns = {name: mapped_column(name, BigInteger, primary_key=True, autoincrement=False) for name in names}
    body: dict[str, Any] = {"__tablename__": table, **columns}
    if interleave_in is None:
        return type(table, (base,), body)
    body |= {"payload": payload_column(Bytes()), "__queue__": QueueOptions(interleave_in=interleave_in)}
    return type(table, (QueueMessage, base), body)


def middle_model(base: Any) -> Any:
    columns = {name: mapped_column(name, BigInteger, primary_key=True) for name in "ab"}
    body = {"__tablename__": "Middle", "__table_args__": {"spanner_interleave_in": "Zones"}, **columns}
    return type("Middle", (base,), body)


def as_models(declarations: list[Declare]) -> MetaData:
    class Base(DeclarativeBase):
        metadata = MetaData()

    for declare in declarations:
        declare(Base)
    configure_mappers()
    return Base.metadata


def as_tables(declarations: list[Declare]) -> MetaData:
    metadata = MetaData()
    for declare in declarations:
        declare(metadata)
    return metadata


CORE = {
    "table, queue": [zones, alerts_in_zones],
    "table, table, queue": [zones, middle_table, alerts_in_middle],
    "table, queue, queue": [zones, middle_queue, alerts_in_middle],
}
ORM: dict[str, list[Declare]] = {
    "table, queue": [
        lambda base: model(base, "Zones", "a"),
        lambda base: model(base, "Alerts", "ab", "Zones"),
    ],
    "table, table, queue": [
        lambda base: model(base, "Zones", "a"),
        middle_model,
        lambda base: model(base, "Alerts", "abc", "Middle"),
    ],
    "table, queue, queue": [
        lambda base: model(base, "Zones", "a"),
        lambda base: model(base, "Middle", "ab", "Zones"),
        lambda base: model(base, "Alerts", "abc", "Middle"),
    ],
}  # fmt: skip

PERMUTATIONS = [
    pytest.param(kind, case, list(order), id=f"{kind.__name__} {name} {numbers}")
    for kind, cases in ((as_tables, CORE), (as_models, ORM))
    for name, case in cases.items()
    for numbers in itertools.permutations(range(len(case)))
    for order in [[case[number] for number in numbers]]
]


def expected_names(case: list[Declare]) -> list[str]:
    return ["Zones", "Alerts"] if len(case) == 2 else ["Zones", "Middle", "Alerts"]


def statements(url: str, action: Callable[[Any], None]) -> list[str]:
    seen: list[str] = []
    engine: Any = create_mock_engine(
        url, lambda element, *_a, **_k: seen.append(str(element.compile(dialect=engine.dialect)).strip())
    )
    action(engine)
    return [statement for statement in seen if "INDEX" not in statement]


def named_in(statement: str) -> str:
    return next(name for name in ("Zones", "Middle", "Alerts") if name in statement.split("(")[0])


@pytest.mark.parametrize("url", URLS, ids=["googlesql", "postgresql"])
@pytest.mark.parametrize(("kind", "case", "order"), PERMUTATIONS)
def test_parents_come_first_and_go_last(
    url: str, kind: Any, case: list[Declare], order: list[Declare]
) -> None:
    metadata = kind(order)
    created = statements(url, metadata.create_all)
    assert [named_in(statement) for statement in created] == expected_names(case)
    dropped = statements(url, metadata.drop_all)
    assert [named_in(statement) for statement in dropped] == expected_names(case)[::-1]


@pytest.mark.parametrize(("kind", "case", "order"), PERMUTATIONS)
def test_sqlite_creates_drops_and_creates_again(kind: Any, case: list[Declare], order: list[Declare]) -> None:
    metadata = kind(order)
    engine = create_engine("sqlite://")
    metadata.create_all(engine)
    metadata.drop_all(engine)
    assert inspect(engine).get_table_names() == []
    metadata.create_all(engine)
    assert sorted(inspect(engine).get_table_names()) == sorted(expected_names(case))


def test_a_queue_is_created_as_a_queue_and_a_table_as_a_table() -> None:
    metadata = as_tables(CORE["table, queue, queue"])
    created = statements(URLS[0], metadata.create_all)
    assert [statement.split(" (")[0] for statement in created] == [
        "CREATE TABLE `Zones`",
        "CREATE QUEUE Middle",
        "CREATE QUEUE Alerts",
    ]
    dropped = statements(URLS[0], metadata.drop_all)
    assert dropped == ["DROP QUEUE Alerts", "DROP QUEUE Middle", "DROP TABLE `Zones`"]


def test_no_foreign_key_is_written_for_the_interleaving() -> None:
    metadata = as_tables(CORE["table, queue, queue"])
    for url in URLS:
        assert not [text for text in statements(url, metadata.create_all) if "FOREIGN KEY" in text]


def test_the_parent_can_be_its_table_or_its_class() -> None:
    class Base(DeclarativeBase):
        metadata = MetaData()

    parent = model(Base, "Zones", "a")
    by_class = Queue("Alerts", Base.metadata, *keys("a", "b"), payload=Bytes(), interleave_in=parent)
    by_table = Queue("Beeps", Base.metadata, *keys("a", "b"), payload=Bytes(), interleave_in=parent.__table__)
    assert Base.metadata.sorted_tables == [parent.__table__, by_class, by_table]


def test_one_queue_alone_can_be_created_and_dropped() -> None:
    metadata = as_tables(CORE["table, queue"])
    queue = metadata.tables["Alerts"]
    assert [named_in(text) for text in statements(URLS[0], queue.create)] == ["Alerts"]
    assert [named_in(text) for text in statements(URLS[0], queue.drop)] == ["Alerts"]


def test_a_copy_in_another_metadata_is_still_a_queue() -> None:
    original = Queue("Tasks", MetaData(), Column("Id", String(36), primary_key=True), payload=Bytes())
    other = MetaData()
    original.to_metadata(other)
    assert [text.split(" (")[0] for text in statements(URLS[0], other.create_all)] == ["CREATE QUEUE Tasks"]
