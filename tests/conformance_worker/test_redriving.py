"""What is sent anew is what it was, whatever its payload and its key are of."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import (
    BigInteger,
    Boolean,
    Date,
    LargeBinary,
    Numeric,
    String,
    Uuid,
    select,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from sqlalchemy_spanner_queues import (
    Bytes,
    DeadLetter,
    QueueMessage,
    Receiver,
    Worker,
    payload_column,
)
from sqlalchemy_spanner_queues.columns import Instant
from sqlalchemy_spanner_queues.worker import (
    DeadLetters,
    attempts_table,
    events,
)
from tests.conformance.engines import World
from tests.conformance.helpers import count, send, take_one
from tests.conformance.payload_models import CASES, ProtoMessage
from tests.conformance.test_payloads import same
from tests.conformance_worker.helpers import (
    POLICY,
    bury,
    redrive_all,
    work,
)


class LetterBase(DeclarativeBase):
    pass


class Letter(DeadLetters, LetterBase):
    __tablename__ = "Letters"


@pytest.mark.parametrize("protos", [False, True], ids=["all but protos", "protos"])
def test_every_type_of_payload_is_sent_anew_as_it_was(world: World, protos: bool) -> None:
    if protos:
        world.know_protos()
    cases = [(model, values) for model, values in CASES if (model is ProtoMessage) is protos]
    world.create(cases[0][0].metadata)
    world.create(LetterBase.metadata)
    wanted = {(model, f"m{at:02}"): value for model, values in cases for at, value in enumerate(values)}
    send(world, *(model(key=key, payload=value) for (model, key), value in wanted.items()))
    bury(world, *(model for model, _values in cases), target=Letter, number=len(wanted))
    assert count(world, Letter) == len(wanted)
    redrive_all(world, Letter, metadata=cases[0][0].metadata)
    with Session(world.engine) as session:
        for model, _values in cases:
            for message in session.scalars(select(model)):
                assert same(message.payload, wanted.pop((model, message.key)))
    assert wanted == {}


class KeyBase(DeclarativeBase):
    pass


class Keyed(QueueMessage, KeyBase):
    """A queue whose key is of everything that a key may be of."""

    __tablename__ = "Keyed"
    text: Mapped[str] = mapped_column("T", String(64), primary_key=True)
    number: Mapped[int] = mapped_column("N", BigInteger, primary_key=True)
    flag: Mapped[bool] = mapped_column("F", Boolean, primary_key=True)
    day: Mapped[date] = mapped_column("D", Date, primary_key=True)
    at: Mapped[datetime] = mapped_column("A", Instant(), primary_key=True)
    price: Mapped[Decimal] = mapped_column("P", Numeric(38, 9), primary_key=True)
    uid: Mapped[UUID] = mapped_column("U", Uuid(native_uuid=False), primary_key=True)
    payload: Mapped[bytes] = payload_column(Bytes())


class FailedKeyed(DeadLetters, KeyBase):
    __tablename__ = "FailedKeyed"


class Blob(QueueMessage, KeyBase):
    __tablename__ = "Blobs"
    key: Mapped[bytes] = mapped_column("B", LargeBinary(64), primary_key=True)
    payload: Mapped[bytes] = payload_column(Bytes())


attempts_table(KeyBase.metadata)

KEYS: list[dict[str, Any]] = [
    {
        "text": 'it\'s "quoted" ü\n',
        "number": -(2**63),
        "flag": True,
        "day": date(2026, 2, 28),
        "at": datetime(2026, 3, 29, 1, 30, 0, 123456, tzinfo=UTC),
        "price": Decimal("-0.100000000"),
        "uid": UUID(int=7),
    },
    {
        "text": "",
        "number": 2**63 - 1,
        "flag": False,
        "day": date(1, 1, 1),
        "at": datetime(2000, 1, 1, tzinfo=UTC),
        "price": Decimal("98765.123456789"),
        "uid": UUID(int=2**128 - 1),
    },
]


def values_of(message: Keyed) -> dict[str, Any]:
    return {name: getattr(message, name) for name in KEYS[0]}


def test_every_type_of_key_is_counted_buried_and_sent_anew_as_it_was(world: World) -> None:
    world.create(KeyBase.metadata)
    send(world, *(Keyed(**key, payload=b"x") for key in KEYS))
    worker, seen = Worker(world.engine, concurrency=1), list[int]()

    @worker.handler(Keyed, retry=POLICY, dead_letter=FailedKeyed)
    def handle(message: Keyed, session: Session) -> None:
        seen.append(len(seen))
        if len(seen) <= 2:
            raise LookupError("x")
        raise DeadLetter("broken")

    work(worker, 2)
    world.advance(60)
    watch = work(worker, 2)
    assert [event.attempts for event in watch.named(events.DEAD_LETTERED)] == [2, 2]
    redrive_all(world, FailedKeyed)
    with Receiver(world.engine, Keyed) as receiver:
        found = [values_of(take_one(receiver)) for _ in KEYS]
    assert sorted(found, key=lambda key: key["number"]) == KEYS


def test_a_key_of_bytes_is_worked_on_buried_and_sent_anew_as_it_was(world: World) -> None:
    world.create(KeyBase.metadata)
    send(world, Blob(key=b"\xff\x00", payload=b"x"))
    bury(world, Blob, target=FailedKeyed)
    redrive_all(world, FailedKeyed)
    with Receiver(world.engine, Blob) as receiver:
        assert take_one(receiver).key == b"\xff\x00"
