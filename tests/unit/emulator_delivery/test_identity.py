"""What tells one message from another."""

from __future__ import annotations

import pytest
from google.protobuf.struct_pb2 import NULL_VALUE, Value

from sqlalchemy_spanner_queues.emulator.delivery.identity import identity_of, key_of

TIME = Value(string_value="2026-01-31T12:00:00Z")
LATER = Value(string_value="2026-01-31T12:00:00.000001Z")


@pytest.mark.parametrize(
    "key",
    [
        [Value(string_value="1")],
        [Value(string_value=""), Value(null_value=NULL_VALUE), Value(bool_value=False)],
        [],
    ],
    ids=["one", "many", "none"],
)  # fmt: skip
def test_the_key_comes_back(key: list[Value]) -> None:
    assert list(key_of(identity_of([*key, TIME])).values) == key


def test_values_that_look_alike_differ() -> None:
    alike = [
        Value(string_value="1"),
        Value(number_value=1.0),
        Value(bool_value=True),
        Value(string_value="true"),
        Value(null_value=NULL_VALUE),
        Value(string_value=""),
        Value(number_value=float("nan")),
        Value(number_value=float("inf")),
        Value(string_value="NaN"),
    ]
    assert len({identity_of([value, TIME]) for value in alike}) == len(alike)
    assert identity_of([alike[0], TIME]) == identity_of([Value(string_value="1"), TIME])
    assert identity_of([Value(string_value="ab"), Value(string_value="c"), TIME]) != identity_of(
        [Value(string_value="a"), Value(string_value="bc"), TIME]
    )


def test_a_key_that_is_sent_again_is_another_message() -> None:
    key = Value(string_value="1")
    assert identity_of([key, TIME]) != identity_of([key, LATER])
    assert key_of(identity_of([key, TIME])) == key_of(identity_of([key, LATER]))
