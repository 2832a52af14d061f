"""Values of every type, there and back: through the dialect, and through the client."""

from __future__ import annotations

import datetime
import decimal
import math
import uuid
from typing import Any, Final

import pytest
from google.cloud.spanner_v1 import JsonObject, param_types
from google.cloud.spanner_v1.database import Database
from google.cloud.sqlalchemy_spanner.sqlalchemy_spanner import SpannerPickleType
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet
from sqlalchemy import (
    ARRAY,
    DATE,
    JSON,
    NUMERIC,
    REAL,
    TIMESTAMP,
    BigInteger,
    Boolean,
    Column,
    Engine,
    Enum,
    Float,
    LargeBinary,
    MetaData,
    PickleType,
    String,
    Table,
    Uuid,
    func,
    insert,
    select,
)

from tests.passthrough.helpers import Route

MOMENT: Final = datetime.datetime(2024, 2, 29, 1, 2, 3, 456789, tzinfo=datetime.UTC)
TYPES: Final[dict[str, Any]] = {
    "whole": BigInteger,
    "double": Float,
    "single": REAL,
    "flag": Boolean,
    "words": String,
    "blob": LargeBinary,
    "day": DATE,
    "moment": TIMESTAMP,
    "exact": NUMERIC,
    "document": JSON,
    "numbers": ARRAY(BigInteger),
    "names": ARRAY(String),
    "identity": Uuid,
    "color": Enum("red", "green", name="color"),
    "pickled": PickleType(impl=SpannerPickleType),
}
VALUES: Final[list[Any]] = [
    ("whole", -(2**63)),
    ("whole", 2**63 - 1),
    ("double", 1.5e300),
    ("double", math.inf),
    ("single", 0.25),
    ("flag", True),
    ("flag", False),
    ("words", ""),
    ("words", "naïve € 🦜 \x00 \r\n \\ ''' \"\"\" %s @p `x`"),
    ("day", datetime.date(1, 1, 1)),
    ("day", datetime.date(9999, 12, 31)),
    ("moment", MOMENT),
    ("exact", decimal.Decimal("-99999999999999999999999999999.999999999")),
    ("exact", decimal.Decimal("0.000000001")),
    ("document", {"a": [1, None, "x", {"b": 0.5}], "ü": True}),
    ("document", [1, 2]),
    ("document", 5),
    ("numbers", []),
    ("numbers", [1, None, 3]),
    ("names", ["a", None, "€"]),
    ("identity", uuid.UUID("6bd3db71-05d3-4f96-8fa7-8d60b6d487fb")),
    ("color", "green"),
    pytest.param("pickled", {"any": (1, "x", {2})}, marks=pytest.mark.filterwarnings("ignore:.*cache_ok")),
]


@pytest.fixture
def metadata() -> MetaData:
    metadata = MetaData()
    key = Column("id", BigInteger, primary_key=True, autoincrement=False)
    Table("things", metadata, key, *(Column(name, kind) for name, kind in TYPES.items()))
    return metadata


@pytest.mark.parametrize(("name", "value"), VALUES)
def test_a_value_through_the_dialect(engine: Engine, metadata: MetaData, name: str, value: Any) -> None:
    things = metadata.tables["things"]
    with engine.begin() as connection:
        connection.execute(insert(things), [{"id": 1, name: value}])
    with engine.connect() as connection:
        assert connection.scalar(select(things.c[name])) == value


def test_nothing_but_nulls(engine: Engine, metadata: MetaData) -> None:
    things = metadata.tables["things"]
    with engine.begin() as connection:
        connection.execute(insert(things), [{"id": 1}])
    with engine.connect() as connection:
        assert tuple(connection.execute(select(things)).one()) == (1, *[None] * len(TYPES))


def test_bytes_travel_as_base64(engine: Engine, metadata: MetaData) -> None:
    blob = metadata.tables["things"].c.blob
    with engine.begin() as connection:
        connection.execute(insert(blob.table), [{"id": 1, "blob": b"\xff\x00"}])
    with engine.connect() as connection:
        assert connection.scalar(select(blob)) == b"/wA="


def test_a_naive_timestamp_is_taken_as_utc(engine: Engine, metadata: MetaData) -> None:
    moment = metadata.tables["things"].c.moment
    with engine.begin() as connection:
        connection.execute(insert(moment.table), [{"id": 1, "moment": MOMENT.replace(tzinfo=None)}])
    with engine.connect() as connection:
        assert connection.scalar(select(moment)) == MOMENT


def test_json_path(engine: Engine, metadata: MetaData) -> None:
    document = metadata.tables["things"].c.document
    with engine.begin() as connection:
        connection.execute(insert(document.table), [{"id": 1, "document": {"a": {"b": "deep"}, "n": 3}}])
    with engine.connect() as connection:
        row = connection.execute(select(document["n"], func.json_value(document, "$.a.b"))).one()
        assert [str(value) for value in row] == ["3", "deep"]
        assert connection.scalar(select(func.count()).where(document["n"] == "3")) == 1


def test_parameters_of_every_type(database: Database) -> None:
    values: dict[str, tuple[Any, Any]] = {
        "i": (7, param_types.INT64),
        "f": (0.1, param_types.FLOAT64),
        "r": (0.5, param_types.FLOAT32),
        "b": (True, param_types.BOOL),
        "s": ("€", param_types.STRING),
        "d": (datetime.date(2024, 1, 1), param_types.DATE),
        "t": (MOMENT, param_types.TIMESTAMP),
        "n": (decimal.Decimal("1.5"), param_types.NUMERIC),
        "j": (JsonObject({"a": 1}), param_types.JSON),
        "a": ([1, None], param_types.Array(param_types.INT64)),
        "z": (None, param_types.STRING),
    }
    columns = ", ".join(f"@{name} AS {name}" for name in values)
    params = {name: value for name, (value, _) in values.items()}
    types = {name: kind for name, (_, kind) in values.items()}
    with database.snapshot() as snapshot:
        (row,) = snapshot.execute_sql(f"SELECT {columns}", params=params, param_types=types)
    assert dict(zip(values, row, strict=True)) == params


def test_struct_parameter(database: Database) -> None:
    struct = param_types.Struct(
        [
            param_types.StructField("name", param_types.STRING),
            param_types.StructField("age", param_types.INT64),
        ]
    )
    with database.snapshot() as snapshot:
        rows = snapshot.execute_sql(
            "SELECT @s.name, p.age FROM UNNEST(@people) AS p",
            params={"s": ("Ada", 1), "people": [("Bob", 2), ("Cleo", 3)]},
            param_types={"s": struct, "people": param_types.Array(struct)},
        )
        assert sorted(rows) == [["Ada", 2], ["Ada", 3]]


def test_array_of_structs(database: Database) -> None:
    with database.snapshot() as snapshot:
        rows = snapshot.execute_sql("SELECT ARRAY(SELECT AS STRUCT 1 AS a, 'x' AS b, [2, 3] AS c)")
        assert list(rows) == [[[[1, "x", [2, 3]]]]]


def test_numbers_that_are_none(database: Database) -> None:
    with database.snapshot() as snapshot:
        ((nan, low, single),) = snapshot.execute_sql(
            "SELECT IEEE_DIVIDE(0, 0), IEEE_DIVIDE(-1, 0), CAST('NaN' AS FLOAT32)"
        )
    assert math.isnan(nan)
    assert math.isnan(single)
    assert low == -math.inf


def descriptors() -> FileDescriptorProto:
    """Describe ``message Item { string name = 1; }`` and ``enum Size { SMALL = 0; LARGE = 1; }``."""
    file = FileDescriptorProto(name="shop.proto", package="shop", syntax="proto3")
    item = file.message_type.add(name="Item")
    text, optional = FieldDescriptorProto.TYPE_STRING, FieldDescriptorProto.LABEL_OPTIONAL
    item.field.add(name="name", number=1, type=text, label=optional)
    size = file.enum_type.add(name="Size")
    size.value.add(name="SMALL", number=0)
    size.value.add(name="LARGE", number=1)
    return file


def test_protos_and_enums(route: Route) -> None:
    database = route.create_database(
        "CREATE PROTO BUNDLE (shop.Item, shop.Size)",
        "CREATE TABLE Items (Id INT64, Item shop.Item, Size shop.Size) PRIMARY KEY (Id)",
        proto_descriptors=FileDescriptorSet(file=[descriptors()]).SerializeToString(),
    )
    database.run_in_transaction(
        lambda transaction: transaction.execute_update(
            "INSERT INTO Items (Id, Item, Size) VALUES (1, NEW shop.Item('x' AS name), 'LARGE')"
        )
    )
    with database.snapshot() as snapshot:
        rows = snapshot.execute_sql("SELECT Item, Size, Item.name, CAST(Size AS STRING) FROM Items")
        assert list(rows) == [[b"\n\x01x", 1, "x", "LARGE"]]
        kinds = [field.type_ for field in rows.metadata.row_type.fields]
        assert [(kind.code.name, kind.proto_type_fqn) for kind in kinds[:2]] == [
            ("PROTO", "shop.Item"),
            ("ENUM", "shop.Size"),
        ]
    database.drop()
