"""The attempts of a message are kept under its key as text, short enough for a key of a table."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import MetaData

from sqlalchemy_spanner_queues.worker import attempts_table
from sqlalchemy_spanner_queues.worker.attempts import LONGEST_KEY, find_attempts_table, key_json, key_text


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({"k": "a"}, '["a"]'),
        ({"n": -(2**63), "f": True, "s": 'ü"'}, '[-9223372036854775808,true,"ü\\""]'),
        ({"b": b"\xff\x00"}, '["/wA="]'),
        ({"d": date(2026, 2, 28), "p": Decimal("0.10")}, '["2026-02-28","0.10"]'),
        ({"t": datetime(2026, 2, 28, 1, 2, 3, 4, UTC)}, '["2026-02-28T01:02:03.000004Z"]'),
        ({"u": UUID(int=1)}, '["00000000-0000-0000-0000-000000000001"]'),
    ],
)
def test_a_short_key_is_its_json(keys: dict[str, Any], text: str) -> None:
    assert key_json(keys) == key_text(keys) == text


def test_long_keys_are_cut_and_still_told_apart() -> None:
    fits, one, other = ({"k": "x" * (LONGEST_KEY - 4) + end} for end in ("", "y", "z"))
    assert key_text(fits) == key_json(fits)
    assert key_text(one) != key_text(other)
    column = attempts_table(MetaData()).c.message
    for keys in (one, other, {"k": "ü" * 8000}):
        text = key_text(keys)
        assert text.startswith(key_json(keys)[:LONGEST_KEY])
        assert len(text) <= column.type.length


def test_the_table_is_found_in_its_metadata_whatever_its_name() -> None:
    metadata = MetaData()
    assert find_attempts_table(metadata) is None
    table = attempts_table(metadata, name="Starts")
    assert table.name == "Starts"
    assert find_attempts_table(metadata) is table
