"""Json(T) gives the same type back: dataclasses, typed dicts, pydantic models, msgspec structs."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any, NotRequired, TypedDict
from uuid import UUID

import msgspec
import pydantic
import pytest

from sqlalchemy_spanner_queues import Json
from tests.unit.dialects import named
from tests.unit.wire import DIALECTS, bound, same, there_and_back

every_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=named)

UTC_NOON = datetime(2026, 9, 17, 12, 0, 0, 123456, tzinfo=UTC)
SOME_ID = UUID("12345678-1234-5678-1234-567812345678")


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclass
class Address:
    street: str
    zip_code: str | None = None


@dataclass
class Order:
    order_id: UUID
    placed_at: datetime
    color: Color
    level: Level
    address: Address
    others: list[Address] = field(default_factory=list)
    by_name: dict[str, Address] = field(default_factory=dict)
    note: str | None = None
    total: Decimal = Decimal("0")
    day: date = date(2026, 1, 1)
    wait: timedelta = timedelta(0)
    raw: bytes = b""
    tags: set[str] = field(default_factory=set)


@dataclass
class Point:
    at: tuple[int, int] = (0, 0)


class Profile(TypedDict):
    name: str
    age: int
    email: NotRequired[str]


class Event(msgspec.Struct):
    name: str
    at: datetime
    count: int = 0
    parts: list[Color] = []


class Tagged(msgspec.Struct, tag="tagged", rename="camel"):
    some_name: str


class Invoice(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(populate_by_name=True)
    invoice_id: UUID = pydantic.Field(alias="invoiceId")
    issued_at: datetime
    color: Color = Color.RED
    lines: list[Address] = []
    note: str | None = None


class Strict(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True)
    at: datetime
    key: UUID


class Nested(pydantic.BaseModel):
    inner: Strict
    many: dict[str, Strict] = {}


FULL_ORDER = Order(
    SOME_ID,
    UTC_NOON,
    Color.BLUE,
    Level.HIGH,
    Address("Main", None),
    [Address("Side", "12345")],
    {"home": Address("Hill")},
    "grüße",
    Decimal("12.50"),
    date(2026, 2, 28),
    timedelta(days=1, microseconds=5),
    bytes(range(256)),
    {"a", "b"},
)
STRICT = Strict(at=UTC_NOON, key=SOME_ID)


@every_dialect
@pytest.mark.parametrize(
    "value",
    [
        Address("Main"),
        Address("", "x"),
        Order(SOME_ID, UTC_NOON, Color.RED, Level.LOW, Address("Main")),
        FULL_ORDER,
        Point((1, 2)),
        Event("x", UTC_NOON, 2, [Color.RED]),
        Tagged("x"),
        Invoice(invoiceId=SOME_ID, issued_at=UTC_NOON, lines=[Address("Main")]),
        STRICT,
        Nested(inner=STRICT, many={"a": STRICT}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_instance_comes_back_equal_and_of_its_class(value: Any, dialect: Any) -> None:
    back = there_and_back(Json(type(value)), value, dialect)
    assert type(back) is type(value)
    assert back == value


@every_dialect
@pytest.mark.parametrize(
    "value", [{"name": "A", "age": 1}, {"name": "", "age": 0, "email": "a@b.c"}], ids=repr
)
def test_a_typed_dict_comes_back_as_a_dict(value: Profile, dialect: Any) -> None:
    assert same(there_and_back(Json(Profile), value, dialect), value)


@every_dialect
def test_inner_values_keep_their_types(dialect: Any) -> None:
    back = there_and_back(Json(Order), FULL_ORDER, dialect)
    assert type(back.order_id) is UUID
    assert back.placed_at.utcoffset() == timedelta(0)
    assert back.color is Color.BLUE
    assert back.level is Level.HIGH
    assert type(back.others[0]) is Address
    assert type(back.raw) is bytes
    assert type(back.total) is Decimal
    assert str(back.total) == "12.50"


@every_dialect
def test_a_list_of_models(dialect: Any) -> None:
    value = [Address("a"), Address("b", "c")]
    assert there_and_back(Json(list[Address]), value, dialect) == value


def test_a_pydantic_model_is_stored_by_its_aliases() -> None:
    invoice = Invoice(invoiceId=SOME_ID, issued_at=UTC_NOON)
    stored = bound(Json(Invoice), invoice, DIALECTS[1])
    assert '"invoiceId"' in stored
    assert '"invoice_id"' not in stored


def test_a_struct_is_stored_by_its_own_names() -> None:
    stored = bound(Json(Tagged), Tagged("x"), DIALECTS[1])
    assert '"someName"' in stored


@every_dialect
def test_instants_of_other_zones_stay_the_same_instant(dialect: Any) -> None:
    there = datetime(2026, 9, 17, 5, 0, tzinfo=timezone(timedelta(hours=-7)))
    back = there_and_back(Json(Event), Event("x", there), dialect)
    assert back.at == there
    assert back.at.utcoffset() is not None


def test_encoding_leaves_the_value_alone() -> None:
    value = {"list": [1, {"a": None}]}
    bound(Json(), value, DIALECTS[0])
    assert value == {"list": [1, {"a": None}]}
