"""What SQLAlchemy finds in a schema."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import (
    ARRAY,
    JSON,
    NUMERIC,
    TIMESTAMP,
    BigInteger,
    Boolean,
    Engine,
    Float,
    Inspector,
    LargeBinary,
    MetaData,
    String,
    Table,
    inspect,
    select,
)
from sqlalchemy.engine.reflection import ObjectKind
from sqlalchemy.exc import NoSuchTableError
from sqlalchemy.ext.automap import automap_base
from sqlalchemy.types import DATE

from tests.passthrough.helpers import Route

# The dialect's name is not the prefix of its arguments, which SQLAlchemy takes for a mistake.
pytestmark = pytest.mark.filterwarnings("ignore:Can't validate argument")

STATEMENTS = (
    "CREATE SCHEMA extra",
    "CREATE SEQUENCE numbers OPTIONS (sequence_kind = 'bit_reversed_positive')",
    """CREATE TABLE customers (
        id INT64 NOT NULL, name STRING(100) NOT NULL, notes STRING(MAX), score FLOAT64,
        active BOOL NOT NULL DEFAULT (TRUE), born DATE, seen TIMESTAMP, balance NUMERIC,
        photo BYTES(1024), settings JSON, tags ARRAY<STRING(20)>,
        length INT64 AS (CHAR_LENGTH(name)) STORED,
        CONSTRAINT named CHECK (name != ''),
    ) PRIMARY KEY (id)""",
    """CREATE TABLE orders (
        id INT64 NOT NULL, number INT64 NOT NULL, approver INT64,
        CONSTRAINT approved_by FOREIGN KEY (approver) REFERENCES customers (id),
    ) PRIMARY KEY (id, number DESC), INTERLEAVE IN PARENT customers ON DELETE CASCADE""",
    "CREATE TABLE extra.places (id INT64 NOT NULL, name STRING(50)) PRIMARY KEY (id)",
    "CREATE UNIQUE INDEX customers_by_name ON customers (name)",
    "CREATE INDEX customers_by_score ON customers (score DESC, name) STORING (notes)",
    "CREATE VIEW known SQL SECURITY INVOKER AS SELECT c.id, c.name FROM customers AS c",
    "CREATE CHANGE STREAM everything FOR ALL",
)


@pytest.fixture(scope="module")
def engine(route: Route) -> Iterator[Engine]:
    """An engine over a database with something of everything."""
    database = route.create_database(*STATEMENTS)
    engine = route.create_engine(database)
    yield engine
    engine.dispose()
    database.drop()


@pytest.fixture
def inspector(engine: Engine) -> Inspector:
    return inspect(engine)


def test_names(inspector: Inspector) -> None:
    assert sorted(inspector.get_table_names()) == ["customers", "orders"]
    assert inspector.get_view_names() == ["known"]
    assert inspector.get_sequence_names() == ["numbers"]
    assert inspector.get_table_names(schema="extra") == ["places"]
    assert {"", "extra", "INFORMATION_SCHEMA"} <= set(inspector.get_schema_names())


def test_existence(inspector: Inspector) -> None:
    assert inspector.has_table("customers")
    assert inspector.has_table("known")
    assert not inspector.has_table("missing")
    assert inspector.has_table("places", schema="extra")
    assert inspector.has_sequence("numbers")


def test_columns(inspector: Inspector) -> None:
    columns = {column["name"]: column for column in inspector.get_columns("customers")}
    kinds = {
        "id": BigInteger,
        "name": String,
        "notes": String,
        "score": Float,
        "active": Boolean,
        "born": DATE,
        "seen": TIMESTAMP,
        "balance": NUMERIC,
        "photo": LargeBinary,
        "settings": JSON,
        "tags": ARRAY,
        "length": BigInteger,
    }
    assert list(columns) == list(kinds)
    assert all(isinstance(columns[name]["type"], kind) for name, kind in kinds.items())
    assert [name for name, column in columns.items() if not column["nullable"]] == ["id", "name", "active"]
    assert (columns["name"]["type"].length, columns["photo"]["type"].length) == (100, 1024)
    assert columns["active"]["default"] == "TRUE"
    assert columns["length"]["computed"] == {"sqltext": "CHAR_LENGTH(name)", "persisted": True}


def test_primary_keys(inspector: Inspector) -> None:
    assert inspector.get_pk_constraint("orders")["constrained_columns"] == ["id", "number"]
    keys = inspector.get_multi_pk_constraint()
    assert {name: key["constrained_columns"] for (_, name), key in keys.items()} == {
        "customers": ["id"],
        "orders": ["id", "number"],
    }


def test_foreign_keys(inspector: Inspector) -> None:
    assert inspector.get_foreign_keys("orders") == [
        {
            "name": "approved_by",
            "referred_table": "customers",
            "referred_schema": None,
            "referred_columns": ["id"],
            "constrained_columns": ["approver"],
        }
    ]


def test_indexes(inspector: Inspector) -> None:
    by_name, by_score = inspector.get_indexes("customers")
    assert (by_name["name"], by_name["unique"], by_name["column_names"]) == (
        "customers_by_name",
        True,
        ["name"],
    )
    assert by_score["column_names"] == ["score", "name"]
    assert by_score["column_sorting"] == {"score": "desc", "name": "asc"}
    assert by_score["include_columns"] == ["notes"]


def test_views(inspector: Inspector, engine: Engine) -> None:
    assert inspector.get_view_definition("known") == "SELECT c.id, c.name FROM customers AS c"
    assert [column["name"] for column in inspector.get_columns("known")] == ["id", "name"]
    with pytest.raises(NoSuchTableError):
        inspector.get_view_definition("missing")


def test_what_the_dialect_does_not_know(inspector: Inspector) -> None:
    assert inspector.get_unique_constraints("customers") == []
    assert inspector.get_multi_columns(kind=ObjectKind.VIEW).keys() == {(None, "known")}
    # SQLAlchemy's own answer for a dialect that has no such method; a gateway must not make it another one.
    for method in (inspector.get_table_comment, inspector.get_check_constraints):
        with pytest.raises(NotImplementedError):
            method("customers")
    with pytest.raises(NotImplementedError):
        inspector.get_temp_table_names()


def test_reflected_metadata(engine: Engine) -> None:
    metadata = MetaData()
    metadata.reflect(engine, views=True)
    assert set(metadata.tables) == {"customers", "orders", "known"}
    orders, customers = metadata.tables["orders"], metadata.tables["customers"]
    assert orders.c.approver.references(customers.c.id)
    assert {index.name for index in customers.indexes} == {"customers_by_name", "customers_by_score"}


def test_a_reflected_table_can_be_used(engine: Engine) -> None:
    places = Table("places", MetaData(), schema="extra", autoload_with=engine)
    with engine.begin() as connection:
        connection.execute(places.insert(), [{"id": 1, "name": "Here"}])
        connection.execute(places.update().where(places.c.id == 1).values(name="There"))
        assert connection.execute(select(places)).all() == [(1, "There")]


def test_mapped_classes_from_a_schema(engine: Engine) -> None:
    base = automap_base()
    base.prepare(autoload_with=engine)
    assert set(base.classes.keys()) == {"customers", "orders"}
    assert base.classes.orders.customers.property.mapper.class_ is base.classes.customers


def test_information_schema(engine: Engine) -> None:
    with engine.connect().execution_options(read_only=True) as connection:
        checks = connection.exec_driver_sql(
            "SELECT constraint_name, check_clause FROM information_schema.check_constraints"
            " WHERE constraint_name = 'named'"
        )
        assert checks.all() == [("named", "name != ''")]
        streams = connection.exec_driver_sql(
            "SELECT change_stream_name FROM information_schema.change_streams"
        )
        assert streams.all() == [("everything",)]
