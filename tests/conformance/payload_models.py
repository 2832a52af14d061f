"""A queue for each payload type, and values that are easily spoiled on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec
from pydantic import BaseModel
from sqlalchemy import String
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from typing_extensions import TypedDict

from sqlalchemy_spanner_queues import Bytes, Json, Proto, QueueMessage, Text, payload_column
from tests.conformance.protos import Parcel


class Line(TypedDict):
    sku: str
    price: float


@dataclass
class Inner:
    tags: list[str]
    ratio: float


@dataclass
class Shipment:
    order_id: int
    inner: Inner
    note: str | None = None
    scans: list[datetime] = field(default_factory=list)


class Signup(BaseModel):
    email: str
    at: datetime
    referrer: str | None = None
    scores: dict[str, float] = {}


class Move(msgspec.Struct):
    source: str
    target: str
    weight: float = 0.0
    blob: bytes = b""


class Base(DeclarativeBase):
    pass


class BytesMessage(QueueMessage, Base):
    __tablename__ = "BytesMessages"
    key: Mapped[str] = mapped_column("K", String(36), primary_key=True)
    payload: Mapped[bytes] = payload_column(Bytes())


class TextMessage(QueueMessage, Base):
    __tablename__ = "TextMessages"
    key: Mapped[str] = mapped_column("K", String(36), primary_key=True)
    payload: Mapped[str] = payload_column(Text())


class JsonMessage(QueueMessage, Base):
    __tablename__ = "JsonMessages"
    key: Mapped[str] = mapped_column("K", String(36), primary_key=True)
    payload: Mapped[Any] = payload_column(Json())


class DataclassMessage(QueueMessage, Base):
    __tablename__ = "DataclassMessages"
    key: Mapped[str] = mapped_column("K", String(36), primary_key=True)
    payload: Mapped[Shipment] = payload_column(Json(Shipment))


class TypedDictMessage(QueueMessage, Base):
    __tablename__ = "TypedDictMessages"
    key: Mapped[str] = mapped_column("K", String(36), primary_key=True)
    payload: Mapped[Line] = payload_column(Json(Line))


class PydanticMessage(QueueMessage, Base):
    __tablename__ = "PydanticMessages"
    key: Mapped[str] = mapped_column("K", String(36), primary_key=True)
    payload: Mapped[Signup] = payload_column(Json(Signup))


class MsgspecMessage(QueueMessage, Base):
    __tablename__ = "MsgspecMessages"
    key: Mapped[str] = mapped_column("K", String(36), primary_key=True)
    payload: Mapped[Move] = payload_column(Json(Move))


class ProtoBase(DeclarativeBase):
    pass


class ProtoMessage(QueueMessage, ProtoBase):
    __tablename__ = "ProtoMessages"
    key: Mapped[str] = mapped_column("K", String(36), primary_key=True)
    payload: Mapped[Any] = payload_column(Proto(Parcel))


_AT = datetime(2026, 3, 29, 1, 30, 0, 123456, tzinfo=UTC)

BYTES = [b"", b"\x00", bytes(range(256)), b"\xff\x00", b"plain", b"YWJj", b"YWI=\n", b"\\x00ff"]
TEXTS = [
    "",
    "plain",
    "ünïcödé 漢字 🎉",
    'it\'s "quoted" `so` %s %(x)s :x ?',
    "back\\slash\\",
    "a\nb\r\n\tc",
    "YWJj",
    "null",
]
JSONS: list[Any] = [
    {},
    [],
    "",
    "text at the top",
    "null",
    0,
    1.0,
    True,
    False,
    [1, [2, [3, {"four": [None, True, 5.0]}]]],
    {"float": 1.0, "int": 1, "bool": True, "null": None, "text": "1", "empty": {}, "list": []},
    {"big": 2**63 - 1, "low": -(2**63), "above": 2**63, "unsigned": 2**64 - 1},
    {
        "tiny": 5e-324,
        "huge": 1.7976931348623157e308,
        "tenth": 0.1,
        "third": 1 / 3,
        "whole": 1e16,
        "minus": -2.0,
    },
    {"ünï": "漢🎉", 'it\'s "quoted"': "back\\slash", "line": "a\nb\u2028\x00", "": "empty key"},
    {"z": 1, "a": {"y": 1, "b": 2}},
]
SHIPMENTS = [
    Shipment(2**53 + 1, Inner(["a", "ü"], 1.0), None),
    Shipment(0, Inner([], 0.1), "it's", [_AT]),
]
LINES: list[Line] = [{"sku": "a", "price": 1.0}, {"sku": "", "price": 0.1}]
SIGNUPS = [Signup(email="a@example.com", at=_AT), Signup(email="", at=_AT, referrer="b", scores={"x": 2.0})]
MOVES = [Move("a", "b"), Move("", "ü", 3.0, b"\xff\x00")]
PARCELS = [Parcel(), Parcel(label="ü", grams=-(2**63), parts=[b"", b"\xff\x00"])]

CASES: list[tuple[type[Any], list[Any]]] = [
    (BytesMessage, BYTES),
    (TextMessage, TEXTS),
    (JsonMessage, JSONS),
    (DataclassMessage, SHIPMENTS),
    (TypedDictMessage, LINES),
    (PydanticMessage, SIGNUPS),
    (MsgspecMessage, MOVES),
    (ProtoMessage, PARCELS),
]
