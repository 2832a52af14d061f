"""A message and the row that it is interleaved in: order of the flush, and relationships both ways."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import BigInteger, Engine, MetaData, create_engine, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship

from sqlalchemy_spanner_queues import Bytes, QueueMessage, QueueOptions, Text, message_key, payload_column


class Base(DeclarativeBase):
    metadata = MetaData()


class Zone(Base):
    __tablename__ = "Zones"
    zone_id: Mapped[int] = mapped_column("ZoneId", BigInteger, primary_key=True, autoincrement=False)
    alerts: Mapped[list[Alert]] = relationship(back_populates="zone", passive_deletes="all")


class Alert(QueueMessage, Base):
    __tablename__ = "Alerts"
    __queue__ = QueueOptions(interleave_in=Zone, on_delete="CASCADE")
    zone_id: Mapped[int] = mapped_column("ZoneId", BigInteger, primary_key=True)
    alert_id: Mapped[str] = message_key("AlertId")
    payload: Mapped[str] = payload_column(Text())
    zone: Mapped[Zone] = relationship(back_populates="alerts")


@pytest.fixture
def engine() -> Engine:
    engine = create_engine("sqlite://")
    Base.metadata.create_all(engine)
    return engine


def send(engine: Engine, *messages: Any) -> None:
    with Session(engine) as session, session.begin():
        session.add_all(messages)


def test_a_parent_is_written_before_its_messages(engine: Engine) -> None:
    send(engine, Alert(zone_id=1, payload="a"), Zone(zone_id=1))
    with Session(engine) as session:
        assert session.scalars(select(Alert.payload)).all() == ["a"]


def test_a_relationship_fills_the_key_from_the_message(engine: Engine) -> None:
    send(engine, Alert(zone=Zone(zone_id=2), payload="b"))
    with Session(engine) as session:
        alert = session.scalars(select(Alert)).one()
        assert alert.zone_id == 2
        assert alert.zone.zone_id == 2


def test_a_relationship_fills_the_key_from_the_parent(engine: Engine) -> None:
    send(engine, Zone(zone_id=3, alerts=[Alert(payload="c"), Alert(payload="d")]))
    with Session(engine) as session:
        zone = session.get_one(Zone, 3)
        assert sorted(alert.payload for alert in zone.alerts) == ["c", "d"]
        assert all(alert.zone is zone for alert in zone.alerts)


def test_a_relationship_joins(engine: Engine) -> None:
    send(engine, Zone(zone_id=4, alerts=[Alert(payload="e")]))
    with Session(engine) as session:
        rows = session.execute(select(Zone.zone_id, Alert.payload).join(Zone.alerts)).all()
        assert [tuple(row) for row in rows] == [(4, "e")]
        assert session.execute(select(Alert.payload).join(Alert.zone)).scalars().all() == ["e"]


def test_a_message_and_its_parent_are_deleted_in_one_flush(engine: Engine) -> None:
    send(engine, Zone(zone_id=5, alerts=[Alert(payload="f")]))
    with Session(engine) as session, session.begin():
        zone = session.get_one(Zone, 5)
        for alert in list(zone.alerts):
            session.delete(alert)
        session.delete(zone)
    with Session(engine) as session:
        assert session.scalars(select(Alert)).all() == []


def test_a_parent_without_a_relationship_orders_the_flush_too(engine: Engine) -> None:
    class Local(DeclarativeBase):
        pass

    class Beep(QueueMessage, Local):
        __tablename__ = "Beeps"
        __queue__ = QueueOptions(interleave_in="Zoo")
        zoo_id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
        payload: Mapped[bytes] = payload_column(Bytes())

    class Zoo(Local):
        __tablename__ = "Zoo"
        zoo_id: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)

    local = create_engine("sqlite://")
    Local.metadata.create_all(local)
    send(local, Beep(zoo_id=1, payload=b""), Zoo(zoo_id=1))
    with Session(local) as session, session.begin():
        zoo, beep = session.get_one(Zoo, 1), session.get_one(Beep, 1)
        session.delete(zoo)
        session.delete(beep)
    with Session(local) as session:
        assert session.get(Zoo, 1) is None
