"""Bytes, text, plain JSON and protobuf messages come back as they were, in every dialect."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from google.cloud.spanner_v1.data_types import JsonObject
from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st

from sqlalchemy_spanner_queues import Bytes, Json, Proto, Text
from tests.unit.dialects import named
from tests.unit.wire import DIALECTS, bound, loaded, same, there_and_back

every_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=named)

BYTES = [b"", b"hello", bytes(range(256)), b"\xff\x00", b"aGVsbG8=", b"\x00" * 4096]
TEXTS = ["", "hello", "grüße 世界 🎉", 'it\'s \\ "quoted"', "line\nline\r\n\ttab", "\x7f\u2028", "a" * 4096]
PLAIN: list[Any] = [
    {},
    [],
    "",
    0,
    False,
    True,
    1.5,
    -1,
    2**63 - 1,
    -(2**63),
    2**64 - 1,
    1e-7,
    -0.0,
    {"": None},
    [None],
    {"a": {"b": [1, 2.5, "x", None, True, {"c": []}]}},
    {"z": 1, "a": 2},
    "null",
    "grüße 🎉",
    {"grüße": "\u2028"},
    [[[[]]]],
]


@every_dialect
@pytest.mark.parametrize("value", BYTES, ids=lambda value: repr(value)[:20])
def test_bytes(value: bytes, dialect: Any) -> None:
    assert same(there_and_back(Bytes(), value, dialect), value)


@every_dialect
@pytest.mark.parametrize("value", TEXTS, ids=lambda value: repr(value)[:20])
def test_text(value: str, dialect: Any) -> None:
    assert same(there_and_back(Text(), value, dialect), value)


@every_dialect
@pytest.mark.parametrize("value", PLAIN, ids=lambda value: repr(value)[:20])
def test_plain_json(value: Any, dialect: Any) -> None:
    assert same(there_and_back(Json(), value, dialect), value)


def _struct() -> Struct:
    struct = Struct()
    struct.update({"name": "grüße", "count": 2.0, "nested": {"list": [True, None]}})
    return struct


@every_dialect
@pytest.mark.parametrize(
    "value",
    [_struct(), Struct(), Timestamp(seconds=1, nanos=999_999_999), Timestamp()],
    ids=["struct", "empty struct", "timestamp", "empty timestamp"],
)
def test_protobuf_messages(value: Any, dialect: Any) -> None:
    back = there_and_back(Proto(type(value)), value, dialect)
    assert type(back) is type(value)
    assert back == value


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4)
    ),
    max_leaves=12,
)


@every_dialect
@given(value=JSON_VALUES.filter(lambda value: value is not None))
def test_any_plain_json(dialect: Any, value: Any) -> None:
    assert same(there_and_back(Json(), value, dialect), value)


@every_dialect
@given(value=st.binary())
def test_any_bytes(dialect: Any, value: bytes) -> None:
    assert same(there_and_back(Bytes(), value, dialect), value)


@every_dialect
@given(value=st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text(dialect: Any, value: str) -> None:
    assert same(there_and_back(Text(), value, dialect), value)


def test_spanner_carries_bytes_as_base64_text() -> None:
    assert bound(Bytes(), b"\xff\x00", DIALECTS[0]) == base64.b64encode(b"\xff\x00")
    assert loaded(Bytes(), "/wA=", DIALECTS[0]) == b"\xff\x00"
    assert loaded(Bytes(), b"/wA=", DIALECTS[0]) == b"\xff\x00"


@pytest.mark.parametrize("value", [{"a": 1}, [1], 5, "x", True, 0.5, [], {}], ids=repr)
def test_the_clients_own_json_class_never_comes_out(value: Any) -> None:
    given_back = JsonObject.from_str(JsonObject(value).serialize())
    assert same(loaded(Json(), given_back, DIALECTS[0]), value)


def test_what_drivers_give_as_a_view_becomes_bytes() -> None:
    assert same(loaded(Bytes(), memoryview(b"\x01\x02"), DIALECTS[2]), b"\x01\x02")


def test_types_with_different_arguments_are_different_to_the_statement_cache() -> None:
    class Other:
        pass

    types: list[Any] = [Bytes(), Bytes(5), Text(), Text(5), Json(), Json(dict), Json(Other), Proto(Struct)]
    keys = {kind._static_cache_key for kind in types}
    assert len(keys) == len(types)
    assert Json(Other)._static_cache_key == Json(Other)._static_cache_key


def test_a_repr_says_what_the_payload_is() -> None:
    assert repr(Json(dict)) == "Json(dict)"
    assert repr(Json()) == "Json()"
    assert repr(Proto(Timestamp)) == "Proto(Timestamp)"
    assert "5" in repr(Bytes(5))
    assert "200" in repr(Text(200))
