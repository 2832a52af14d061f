"""Values that the database makes: identities, sequences, defaults, versions, commit timestamps."""

from __future__ import annotations

import datetime
import uuid

import pytest
from sqlalchemy import (
    BigInteger,
    Computed,
    Engine,
    ForeignKey,
    Identity,
    MetaData,
    Sequence,
    String,
    select,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(BigInteger, Identity(start=1000), primary_key=True)
    customer: Mapped[str] = mapped_column(String(20), default="Ada")
    state: Mapped[str] = mapped_column(String(20), server_default=text("'open'"))
    lines: Mapped[list[Line]] = relationship(back_populates="order")


class Line(Base):
    __tablename__ = "lines"
    id: Mapped[str] = mapped_column(String(36), primary_key=True, default=lambda: str(uuid.uuid4()))
    order_id: Mapped[int] = mapped_column(ForeignKey("orders.id"))
    amount: Mapped[int] = mapped_column(BigInteger)
    doubled: Mapped[int] = mapped_column(BigInteger, Computed("amount * 2", persisted=True))
    order: Mapped[Order] = relationship(back_populates="lines")


class Document(Base):
    __tablename__ = "documents"
    id: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    title: Mapped[str] = mapped_column(String(20))
    version: Mapped[int] = mapped_column(BigInteger)
    __mapper_args__ = {"version_id_col": version}


class Entry(Base):
    __tablename__ = "entries"
    id: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    made: Mapped[datetime.datetime] = mapped_column(server_default=text("CURRENT_TIMESTAMP()"))


class Ticket(Base):
    __tablename__ = "tickets"
    numbers = Sequence("ticket_numbers", metadata=Base.metadata)
    id: Mapped[int] = mapped_column(BigInteger, numbers, primary_key=True)


@pytest.fixture
def metadata() -> MetaData:
    return Base.metadata


def test_identity_column(engine: Engine) -> None:
    with Session(engine) as session, session.begin():
        orders = [Order(), Order()]
        session.add_all(orders)
        session.flush()
        ids = [order.id for order in orders]
    assert len(set(ids)) == 2
    with Session(engine) as session:
        assert set(session.scalars(select(Order.id))) == set(ids)


def test_a_made_key_reaches_the_children(engine: Engine) -> None:
    with Session(engine) as session, session.begin():
        session.add(Order(lines=[Line(amount=1), Line(amount=2)]))
    with Session(engine) as session:
        (order,) = session.scalars(select(Order)).all()
        assert sorted(line.amount for line in order.lines) == [1, 2]


def test_server_default_is_returned(engine: Engine) -> None:
    with Session(engine) as session, session.begin():
        order = Order()
        session.add(order)
        session.flush()
        assert order.state == "open"
        session.add(Order(state="paid"))
    with Session(engine) as session:
        assert session.scalars(select(Order.state).order_by(Order.state)).all() == ["open", "paid"]


def test_computed_column_follows(engine: Engine) -> None:
    with Session(engine) as session, session.begin():
        line = Line(amount=4, order=Order())
        session.add(line)
        session.flush()
        assert line.doubled == 8
        line.amount = 5
        session.flush()
        session.refresh(line)
        assert line.doubled == 10


def test_sequence(engine: Engine) -> None:
    with Session(engine) as session, session.begin():
        tickets = [Ticket() for _ in range(3)]
        session.add_all(tickets)
        session.flush()
        assert len({ticket.id for ticket in tickets}) == 3
        assert session.scalar(Ticket.numbers) not in {ticket.id for ticket in tickets}


@pytest.mark.filterwarnings("ignore:.*does not support updated rowcount")
def test_version_counter(engine: Engine) -> None:
    with Session(engine) as session, session.begin():
        session.add(Document(id=1, title="a"))
    with Session(engine) as session, session.begin():
        document = session.get_one(Document, 1)
        assert document.version == 1
        document.title = "b"
    with Session(engine) as session:
        assert session.execute(select(Document.title, Document.version)).one() == ("b", 2)


def test_current_timestamp_default(engine: Engine) -> None:
    with Session(engine) as session, session.begin():
        entry = Entry(id=1)
        session.add(entry)
        session.flush()
        age = datetime.datetime.now(datetime.UTC) - entry.made
        assert abs(age) < datetime.timedelta(minutes=1)
