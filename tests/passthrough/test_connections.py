"""Connections of the dialect: autocommit, read-only and stale reads, tags, batches, partitions."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

import pytest
from google.api_core.exceptions import GoogleAPICallError, NotFound
from google.cloud.spanner_dbapi.parsed_statement import AutocommitDmlMode
from google.cloud.spanner_v1 import RequestOptions
from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Engine,
    MetaData,
    String,
    Table,
    func,
    insert,
    select,
    text,
)
from sqlalchemy.exc import IntegrityError, ProgrammingError

from tests.passthrough.helpers import Route, spanner_error

METADATA = MetaData()
ITEMS = Table(
    "items",
    METADATA,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("name", String(20)),
)
COUNT = select(func.count()).select_from(ITEMS)


@pytest.fixture
def metadata() -> MetaData:
    return METADATA


@pytest.fixture
def autocommit(engine: Engine) -> Iterator[Connection]:
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        yield connection


def add(engine: Engine, *ids: int) -> None:
    with engine.begin() as connection:
        connection.execute(insert(ITEMS), [{"id": id, "name": f"n{id}"} for id in ids])


def test_autocommit(engine: Engine, autocommit: Connection) -> None:
    autocommit.execute(insert(ITEMS), [{"id": 1}])
    autocommit.execute(ITEMS.update().values(name="x").where(ITEMS.c.id == 1))
    with engine.connect() as other:
        assert other.execute(select(ITEMS)).all() == [(1, "x")]
    assert autocommit.execute(ITEMS.delete().where(ITEMS.c.id == 1)).rowcount == 1


def test_autocommit_dml_as_partitioned_dml(engine: Engine, autocommit: Connection) -> None:
    add(engine, 1, 2, 3)
    driver = autocommit.connection.driver_connection
    driver.set_autocommit_dml_mode(AutocommitDmlMode.PARTITIONED_NON_ATOMIC)
    assert autocommit.exec_driver_sql("UPDATE items SET name = 'x' WHERE id > 1").rowcount == 2
    driver.set_autocommit_dml_mode(AutocommitDmlMode.TRANSACTIONAL)


def test_rollback_and_commit(engine: Engine) -> None:
    with engine.connect() as connection:
        connection.execute(insert(ITEMS), [{"id": 1}])
        connection.rollback()
        connection.execute(insert(ITEMS), [{"id": 2}])
        connection.commit()
        assert connection.scalars(select(ITEMS.c.id)).all() == [2]


@pytest.mark.parametrize("level", ["SERIALIZABLE", "REPEATABLE READ"])
def test_isolation_levels(engine: Engine, level: str) -> None:
    with engine.connect().execution_options(isolation_level=level) as connection:
        assert connection.get_isolation_level() == level
        connection.execute(insert(ITEMS), [{"id": 1}])
        connection.commit()
        assert connection.scalar(COUNT) == 1


def test_a_read_only_connection_sees_one_moment(engine: Engine) -> None:
    add(engine, 1)
    with engine.connect().execution_options(read_only=True) as connection:
        assert connection.scalar(COUNT) == 1
        add(engine, 2)
        assert connection.scalar(COUNT) == 1
        connection.commit()
        assert connection.scalar(COUNT) == 2


def test_a_read_only_connection_does_not_write(engine: Engine) -> None:
    with engine.connect().execution_options(read_only=True) as connection:
        with pytest.raises(ProgrammingError) as failure:
            connection.execute(ITEMS.update().values(name="x").where(ITEMS.c.id == 1))
        assert "Current transaction type is ReadOnly" in spanner_error(failure.value).message


@pytest.mark.parametrize("kind", ["exact_staleness", "max_staleness"])
def test_stale_reads(engine: Engine, kind: str) -> None:
    staleness = {kind: datetime.timedelta(microseconds=1)}
    add(engine, 1)
    with engine.connect().execution_options(
        isolation_level="AUTOCOMMIT", read_only=True, staleness=staleness
    ) as connection:
        assert connection.scalar(COUNT) == 1


def test_a_read_at_a_timestamp(engine: Engine) -> None:
    with engine.connect() as connection:
        moment = connection.scalar(select(func.current_timestamp()))
    add(engine, 1)
    options = {"read_only": True, "staleness": {"read_timestamp": moment}}
    with engine.connect().execution_options(**options) as connection:
        assert connection.scalar(COUNT) == 0


def test_tags_and_priority_are_accepted(engine: Engine) -> None:
    options = {
        "request_priority": RequestOptions.Priority.PRIORITY_LOW,
        "request_tag": "request",
        "transaction_tag": "transaction",
    }
    with engine.connect().execution_options(**options) as connection:
        connection.execute(insert(ITEMS), [{"id": 1}])
        connection.commit()
        assert connection.scalar(COUNT) == 1


def test_begin_and_commit_as_statements(engine: Engine, autocommit: Connection) -> None:
    for statement in ("BEGIN", "INSERT INTO items (id) VALUES (1)", "ROLLBACK"):
        autocommit.exec_driver_sql(statement)
    for statement in ("BEGIN", "INSERT INTO items (id) VALUES (2)", "COMMIT"):
        autocommit.exec_driver_sql(statement)
    assert autocommit.scalars(select(ITEMS.c.id)).all() == [2]


def test_commit_and_read_timestamps_are_shown(autocommit: Connection) -> None:
    autocommit.exec_driver_sql("INSERT INTO items (id) VALUES (1)")
    committed = autocommit.exec_driver_sql("SHOW VARIABLE COMMIT_TIMESTAMP").scalar()
    assert autocommit.scalar(COUNT) == 1
    read = autocommit.exec_driver_sql("SHOW VARIABLE READ_TIMESTAMP").scalar()
    assert committed < read


def test_a_batch_of_dml_as_statements(autocommit: Connection) -> None:
    autocommit.exec_driver_sql("START BATCH DML")
    for id in range(3):
        autocommit.exec_driver_sql(f"INSERT INTO items (id) VALUES ({id})")
    autocommit.exec_driver_sql("RUN BATCH")
    assert autocommit.scalar(COUNT) == 3


def test_partitioned_queries_as_statements(engine: Engine, autocommit: Connection) -> None:
    add(engine, 1, 2)
    partitions = autocommit.exec_driver_sql("PARTITION SELECT id FROM items").scalars().all()
    rows = [
        id for token in partitions for id in autocommit.exec_driver_sql(f"RUN PARTITION {token}").scalars()
    ]
    assert sorted(rows) == [1, 2]
    assert sorted(autocommit.exec_driver_sql("RUN PARTITIONED QUERY SELECT id FROM items").scalars()) == [
        1,
        2,
    ]


def test_an_error_leaves_the_connection_usable(engine: Engine) -> None:
    add(engine, 1)
    with engine.connect() as connection:
        with pytest.raises(ProgrammingError) as failure:
            connection.execute(text("SELECT nope FROM items"))
        assert "Unrecognized name: nope" in spanner_error(failure.value).message
        with pytest.raises(IntegrityError):
            connection.execute(insert(ITEMS), [{"id": 1}])
        connection.rollback()
        connection.execute(insert(ITEMS), [{"id": 2}])
        connection.commit()
        assert connection.scalars(select(ITEMS.c.id).order_by(ITEMS.c.id)).all() == [1, 2]


def test_connections_are_checked_before_use(route: Route, engine: Engine) -> None:
    add(engine, 1)
    with engine.connect() as connection:
        database = connection.connection.driver_connection.database
    again = route.create_engine(database, pool_pre_ping=True, pool_size=1)
    for _ in range(3):
        with again.connect() as connection:
            assert connection.scalar(COUNT) == 1
    again.dispose()


def test_a_database_that_is_not_there(route: Route) -> None:
    engine = route.create_engine(route.instance.database("missing"))
    with pytest.raises(GoogleAPICallError) as failure, engine.connect() as connection:
        connection.execute(text("SELECT 1"))
    assert isinstance(failure.value, NotFound)
    engine.dispose()


def test_positions_of_a_cursor(engine: Engine) -> None:
    add(engine, *range(10))
    with engine.connect() as connection:
        result = connection.execute(select(ITEMS.c.id).order_by(ITEMS.c.id))
        assert result.fetchone() == (0,)
        assert result.fetchmany(3) == [(1,), (2,), (3,)]
        assert len(result.fetchall()) == 6
        assert result.cursor is None
        described = connection.exec_driver_sql("SELECT id, name AS other FROM items").cursor.description
        assert [(column.name, column.type_code.name) for column in described] == [
            ("id", "INT64"),
            ("other", "STRING"),
        ]
