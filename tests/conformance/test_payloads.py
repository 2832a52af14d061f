"""What comes out of a queue is what went in, in value and type, whichever way it went in and came out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import msgspec
import pytest
from pydantic import BaseModel
from sqlalchemy import select
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues import PayloadError, Receiver, reschedule, send_many
from tests.conformance.engines import World
from tests.conformance.helpers import send, take_batch
from tests.conformance.payload_models import CASES, JsonMessage, ProtoBase


def same(got: Any, wanted: Any) -> bool:
    """Compare values and types all the way down: 1 is not 1.0, and a dict's subclass is no dict."""
    if type(got) is not type(wanted):
        return False
    if isinstance(wanted, dict):
        return (
            list(map(type, got)) == list(map(type, wanted))
            and got.keys() == wanted.keys()
            and all(same(got[key], wanted[key]) for key in wanted)
        )
    if isinstance(wanted, list):
        return len(got) == len(wanted) and all(map(same, got, wanted))
    if is_dataclass(wanted):
        return all(same(getattr(got, f.name), getattr(wanted, f.name)) for f in fields(wanted))
    if isinstance(wanted, BaseModel):
        return same(got.__dict__, wanted.__dict__)
    if isinstance(wanted, msgspec.Struct):
        return same(msgspec.structs.asdict(got), msgspec.structs.asdict(wanted))
    return bool(got == wanted)


def by_add(world: World, model: type[Any], rows: list[dict[str, Any]]) -> None:
    send(world, *(model(key=row["K"], payload=row["payload"]) for row in rows))


def by_send_many(world: World, model: type[Any], rows: list[dict[str, Any]]) -> None:
    with Session(world.engine) as session, session.begin():
        send_many(session, [model(key=row["K"], payload=row["payload"]) for row in rows])


def by_insert(world: World, model: type[Any], rows: list[dict[str, Any]]) -> None:
    with world.engine.begin() as connection:
        for row in rows:
            connection.execute(model.__table__.insert().values(**row))


def by_executemany(world: World, model: type[Any], rows: list[dict[str, Any]]) -> None:
    with world.engine.begin() as connection:
        connection.execute(model.__table__.insert(), rows)


WAYS_IN = [by_add, by_send_many, by_insert, by_executemany]


def create(world: World, model: type[Any]) -> None:
    if model.metadata is ProtoBase.metadata:
        world.know_protos()
    model.metadata.create_all(world.engine, tables=[model.__table__])


def by_selecting(world: World, model: type[Any]) -> dict[str, Any]:
    with Session(world.engine) as session:
        return {message.key: message.payload for message in session.scalars(select(model))}


def by_getting(world: World, model: type[Any], names: list[str]) -> dict[str, Any]:
    with Session(world.engine) as session:
        return {name: session.get_one(model, name).payload for name in names}


def by_core(world: World, model: type[Any]) -> dict[str, Any]:
    table = model.__table__
    with world.engine.connect() as connection:
        return {row.K: row.payload for row in connection.execute(select(table.c.K, table.c.payload))}


def by_receiving(world: World, model: type[Any]) -> dict[str, Any]:
    with Receiver(world.engine, model) as receiver:
        return {message.key: message.payload for message in take_batch(receiver)}


@pytest.mark.parametrize("way_in", WAYS_IN, ids=lambda way: way.__name__)
@pytest.mark.parametrize(("model", "values"), CASES, ids=lambda case: getattr(case, "__name__", ""))
def test_a_payload_comes_back_as_it_went_in(
    world: World, model: type[Any], values: list[Any], way_in: Callable[..., None]
) -> None:
    create(world, model)
    wanted = {f"k{at:02}": value for at, value in enumerate(values)}
    way_in(world, model, [{"K": key, "payload": value} for key, value in wanted.items()])
    for found in (
        by_selecting(world, model),
        by_getting(world, model, list(wanted)),
        by_core(world, model),
        by_receiving(world, model),
    ):
        assert found.keys() == wanted.keys()
        assert [(key, found[key]) for key in wanted if not same(found[key], wanted[key])] == []


@pytest.mark.parametrize(("model", "values"), CASES, ids=lambda case: getattr(case, "__name__", ""))
def test_a_rescheduled_message_keeps_its_payload(world: World, model: type[Any], values: list[Any]) -> None:
    create(world, model)
    by_add(world, model, [{"K": f"k{at:02}", "payload": value} for at, value in enumerate(values)])
    with Receiver(world.engine, model) as receiver:
        batch = take_batch(receiver)
        with Session(world.engine) as session, session.begin():
            for message in batch:
                reschedule(session, message)
    found = by_selecting(world, model)
    assert all(same(found[f"k{at:02}"], value) for at, value in enumerate(values))


@pytest.mark.parametrize(
    "value",
    [None, (1, 2), {"set": {1}}, {1: "int key"}, float("nan"), [float("inf")], b"bytes", {"big": 2**64}],
    ids=repr,
)
def test_what_json_would_change_is_refused_before_it_is_sent(world: World, value: Any) -> None:
    create(world, JsonMessage)
    with Session(world.engine) as session:
        session.add(JsonMessage(key="k", payload=value))
        with pytest.raises(Exception) as raised:
            session.flush()
        session.rollback()
    errors = (raised.value, raised.value.__cause__, getattr(raised.value, "orig", None))
    assert any(isinstance(error, PayloadError) for error in errors)
    assert by_selecting(world, JsonMessage) == {}
