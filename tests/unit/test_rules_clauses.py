"""The rules of what follows the key: interleaving, row deletion, options, and the lists of columns."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import TIMESTAMP, BigInteger, Column, MetaData

from sqlalchemy_spanner_queues import Bytes, CreateQueue, Queue, QueueDefinitionError
from tests.unit.dialects import GOOGLESQL, text


def declare(metadata: MetaData, **options: Any) -> Queue:
    return Queue(
        "Tasks",
        metadata,
        Column("UserId", BigInteger, primary_key=True),
        Column("CreatedAt", TIMESTAMP(timezone=True), primary_key=True),
        payload=Bytes(),
        **options,
    )


CASES: dict[str, tuple[dict[str, Any], str, str]] = {
    "unknown on_delete": (
        {"interleave_in": "Users", "on_delete": "SET NULL"},
        "on_delete='SET NULL' is unknown",
        "'CASCADE' or 'NO ACTION'",
    ),
    "on_delete in small letters": (
        {"interleave_in": "Users", "on_delete": "cascade"},
        "on_delete='cascade' is unknown",
        "'CASCADE' or 'NO ACTION'",
    ),
    "on_delete without a parent": ({"on_delete": "CASCADE"}, "on_delete", "interleave_in"),
    "interleaved in itself": ({"interleave_in": "Tasks"}, "Tasks", ""),
    "row deletion by an unknown column": (
        {"row_deletion": ("SentAt", timedelta(days=1))},
        "'SentAt', which is no timestamp key column",
        "DateTime/TIMESTAMP column of the key",
    ),
    "row deletion by another type": (
        {"row_deletion": ("UserId", timedelta(days=1))},
        "'UserId', which is no timestamp key column",
        "DateTime/TIMESTAMP column of the key",
    ),
    "row deletion by the payload": (
        {"row_deletion": ("payload", timedelta(days=1))},
        "'payload', which is no timestamp key column",
        "DateTime/TIMESTAMP column of the key",
    ),
    "row deletion by hours": (
        {"row_deletion": ("CreatedAt", timedelta(hours=36))},
        "whole days",
        "timedelta(days=...)",
    ),
    "row deletion before it was sent": (
        {"row_deletion": ("CreatedAt", timedelta(days=-1))},
        "whole days",
        "timedelta(days=...)",
    ),
    "unknown option": ({"options": {"ttl": "1d"}}, "'ttl' is unknown", "disable_send"),
    "option in capitals": ({"options": {"DISABLE_SEND": True}}, "'DISABLE_SEND' is unknown", "disable_send"),
    "switch that is a number": (
        {"options": {"disable_send": 1}},
        "'disable_send' is true or false, not 1",
        "True or False",
    ),
    "switch that is a word": (
        {"options": {"disable_delivery": "yes"}},
        "'disable_delivery' is true or false, not 'yes'",
        "True or False",
    ),
    "other receive mode": (
        {"options": {"receive_mode": "PUSH"}},
        "only receive_mode is 'PULL'",
        "leave it out",
    ),
    "locality group that is no text": ({"options": {"locality_group": 5}}, "locality_group", ""),
    "descending payload": ({"descending": ["payload"]}, "descending names 'payload'", "UserId"),
    "descending unknown": ({"descending": ["X"]}, "descending names 'X'", "UserId"),
    "hidden unknown": ({"hidden": ["X"]}, "hidden names 'X'", "payload"),
    "commit timestamp unknown": ({"commit_timestamps": ["X"]}, "commit_timestamps names 'X'", "UserId"),
    "commit timestamp of another type": (
        {"commit_timestamps": ["UserId"]},
        "'UserId', which is no timestamp",
        "DateTime",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("options", "rule", "fix"), CASES.values(), ids=CASES.keys())
def test_a_broken_rule_is_named_with_its_fix(options: dict[str, Any], rule: str, fix: str) -> None:
    metadata = MetaData()
    with pytest.raises(QueueDefinitionError) as caught:
        declare(metadata, **options)
    assert caught.value.queue == "Tasks"
    assert rule in caught.value.rule
    assert fix in caught.value.fix
    assert caught.value.fix
    assert not metadata.tables
    assert declare(metadata) is metadata.tables["Tasks"]


@pytest.mark.parametrize(
    ("clause", "column"),
    [("descending", "UserId"), ("hidden", "UserId"), ("commit_timestamps", "CreatedAt")],
)
def test_a_bare_name_is_the_one_column_and_no_list_of_letters(clause: str, column: str) -> None:
    bare, listed = declare(MetaData(), **{clause: column}), declare(MetaData(), **{clause: [column]})
    assert text(CreateQueue(bare), GOOGLESQL) == text(CreateQueue(listed), GOOGLESQL)


@pytest.mark.parametrize(
    "options",
    [
        {"interleave_in": "Users"},
        {"interleave_in": "Users", "in_parent": False},
        {"interleave_in": "Users", "on_delete": "NO ACTION"},
        {"row_deletion": ("CreatedAt", timedelta(days=1))},
        {"options": {"disable_send": None, "receive_mode": "PULL", "locality_group": "warm"}},
        {"descending": ["UserId", "CreatedAt"], "hidden": ["payload"], "commit_timestamps": ["CreatedAt"]},
    ],
)
def test_what_the_rules_allow(options: dict[str, Any]) -> None:
    assert declare(MetaData(), **options).name == "Tasks"


def test_the_message_names_queue_rule_and_fix() -> None:
    with pytest.raises(QueueDefinitionError, match=r"^queue 'Tasks': .+; use .+") as caught:
        declare(MetaData(), options={"ttl": "1d"})
    assert isinstance(caught.value, Exception)


def test_nothing_is_shared_between_declarations() -> None:
    options = {"disable_send": True}
    queue = declare(MetaData(), options=options)
    options["disable_send"] = False
    assert "OPTIONS (disable_send = true)" in text(CreateQueue(queue), GOOGLESQL)
