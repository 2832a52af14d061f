"""What would come back as something else is refused on the way in; what does not fit, on the way out."""

from __future__ import annotations

import enum
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, TypedDict

import msgspec
import pydantic
import pytest
from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp
from sqlalchemy import Column, MetaData, String, create_engine, select

from sqlalchemy_spanner_queues import Bytes, Json, PayloadError, Proto, Queue, Text
from tests.unit.dialects import named
from tests.unit.wire import DIALECTS, bound

every_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=named)


@dataclass
class Welcome:
    email: str
    score: float = 0.5
    data: Any = None


@dataclass
class Farewell:
    email: str


@dataclass
class LoudWelcome(Welcome):
    volume: int = 11


class Profile(TypedDict):
    name: str


class Event(msgspec.Struct):
    name: str


class Invoice(pydantic.BaseModel):
    number: int
    data: Any = None


class PaidInvoice(Invoice):
    paid: bool = True


class Number(enum.IntEnum):
    ONE = 1


REFUSED: dict[str, tuple[Any, Any]] = {
    "NULL bytes": (Bytes(), None),
    "NULL text": (Text(), None),
    "bare None": (Json(), None),
    "None for a model": (Json(Welcome), None),
    "None for a proto": (Proto(Struct), None),
    "str as bytes": (Bytes(), "hello"),
    "bytearray": (Bytes(), bytearray(b"x")),
    "int as bytes": (Bytes(), 5),
    "bytes as text": (Text(), b"hello"),
    "int as text": (Text(), 5),
    "half a character in text": (Text(), "a\ud800"),
    "half a character in JSON": (Json(), {"a": "\ud800"}),
    "half a character in a JSON key": (Json(), {"\ud800": 1}),
    "tuple": (Json(), (1, 2)),
    "tuple inside": (Json(), {"a": [(1,)]}),
    "set": (Json(), {1, 2}),
    "bytes in JSON": (Json(), {"a": b"x"}),
    "int key": (Json(), {1: "a"}),
    "None key": (Json(), {None: "a"}),
    "int key inside": (Json(), [{"a": {2: 1}}]),
    "NaN": (Json(), float("nan")),
    "NaN inside": (Json(), {"a": [float("nan")]}),
    "Infinity": (Json(), [float("inf")]),
    "-Infinity": (Json(), [float("-inf")]),
    "too large": (Json(), 2**70),
    "just too large": (Json(), 2**64),
    "too small": (Json(), -(2**63) - 1),
    "enormous": (Json(), 10**5000),
    "datetime": (Json(), {"at": datetime(2026, 1, 1, tzinfo=UTC)}),
    "Decimal": (Json(), Decimal("1.5")),
    "IntEnum": (Json(), [Number.ONE]),
    "ordered dict": (Json(), OrderedDict(a=1)),
    "dataclass without a type": (Json(), Welcome("a")),
    "another dataclass": (Json(Welcome), Farewell("a")),
    "a dict for a dataclass": (Json(Welcome), {"email": "a"}),
    "a subclass with more in it": (Json(Welcome), LoudWelcome("a")),
    "a field of another type": (Json(Welcome), Welcome(5)),  # type: ignore[arg-type]
    "a tuple in a field": (Json(Welcome), Welcome("a", data=(1, 2))),
    "NaN in a field": (Json(Welcome), Welcome("a", float("nan"))),
    "an object in a field": (Json(Welcome), Welcome("a", data=object())),
    "a dataclass for a typed dict": (Json(Profile), Farewell("a")),
    "a typed dict with a key too many": (Json(Profile), {"name": "a", "age": 5}),
    "a typed dict with a key too few": (Json(Profile), {}),
    "a list for a typed dict": (Json(Profile), []),
    "a dict for a struct": (Json(Event), {"name": "a"}),
    "another struct": (Json(Event), Farewell("a")),
    "a dict for a pydantic model": (Json(Invoice), {"number": 1}),
    "a pydantic subclass with more in it": (Json(Invoice), PaidInvoice(number=1)),
    "a tuple in a pydantic field": (Json(Invoice), Invoice(number=1, data=(1, 2))),
    "NaN in a pydantic field": (Json(Invoice), Invoice(number=1, data=float("nan"))),
    "bytes that pydantic cannot write": (Json(Invoice), Invoice(number=1, data=b"\xff")),
    "an object in a pydantic field": (Json(Invoice), Invoice(number=1, data=object())),
    "another proto": (Proto(Struct), Timestamp()),
    "bytes for a proto": (Proto(Struct), b""),
}


@every_dialect
@pytest.mark.parametrize(("payload_type", "value"), REFUSED.values(), ids=REFUSED.keys())
def test_a_value_that_would_change_is_refused(payload_type: Any, value: Any, dialect: Any) -> None:
    with pytest.raises(PayloadError) as caught:
        bound(payload_type, value, dialect)
    assert caught.value.raw is value
    assert caught.value.codec == repr(payload_type)
    assert str(caught.value)


UNDECODABLE: dict[str, tuple[Any, Any]] = {
    "text as bytes": (Bytes(), "hello"),
    "number as bytes": (Bytes(), 3),
    "bytes as text": (Text(), b"hello"),
    "number as text": (Text(), 3),
    "field missing": (Json(Welcome), {}),
    "field of another type": (Json(Welcome), {"email": 5}),
    "list for a dataclass": (Json(Welcome), [1]),
    "key missing": (Json(Profile), {"nom": "a"}),
    "struct": (Json(Event), {"name": None}),
    "pydantic": (Json(Invoice), {"number": "many"}),
    "pydantic list": (Json(Invoice), []),
    "proto": (Proto(Struct), b"\xff\xff\xff"),
}


@pytest.mark.parametrize(("payload_type", "stored"), UNDECODABLE.values(), ids=UNDECODABLE.keys())
def test_a_stored_value_that_does_not_fit_is_kept_in_the_error(payload_type: Any, stored: Any) -> None:
    with pytest.raises(PayloadError) as caught:
        payload_type.process_result_value(stored, DIALECTS[2])
    assert caught.value.raw is stored
    assert caught.value.codec == repr(payload_type)


@pytest.mark.parametrize(
    ("payload_type", "stored"),
    [(Json(), "{no json"), (Json(Welcome), '{"email": 5}'), (Json(Welcome), "{no json"), (Text(), b"\xff")],
    ids=["no JSON", "another field", "no JSON for a model", "bytes as text"],
)
def test_a_select_of_an_undecodable_payload_raises_the_same_error(payload_type: Any, stored: Any) -> None:
    engine = create_engine("sqlite://")
    queue = Queue("Tasks", MetaData(), Column("TaskId", String(36), primary_key=True), payload=payload_type)
    queue.metadata.create_all(engine)
    with engine.connect() as connection:
        connection.exec_driver_sql('INSERT INTO "Tasks" ("TaskId", payload) VALUES (?, ?)', ("a", stored))
        with pytest.raises(PayloadError) as caught:
            connection.execute(select(queue.c.payload)).scalar_one()
    assert caught.value.raw in (stored, {"email": 5})


def test_a_refused_payload_reaches_the_sender_as_it_is() -> None:
    engine = create_engine("sqlite://")
    queue = Queue("Tasks", MetaData(), Column("TaskId", String(36), primary_key=True), payload=Json())
    queue.metadata.create_all(engine)
    with engine.connect() as connection, pytest.raises(PayloadError) as caught:
        connection.execute(queue.insert().values(TaskId="a", payload=(1, 2)))
    assert caught.value.raw == (1, 2)


def test_proto_takes_message_classes_only() -> None:
    with pytest.raises(TypeError, match="protobuf message class"):
        Proto(dict)  # type: ignore[type-var]
