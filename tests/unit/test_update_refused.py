"""UPDATE of a queue is refused before any SQL, by whatever way it is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import (
    BigInteger,
    Column,
    Engine,
    MetaData,
    String,
    Table,
    create_engine,
    event,
    select,
    update,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, aliased, mapped_column

from sqlalchemy_spanner_queues import Bytes, MessageImmutable, QueueMessage, message_key, payload_column
from tests.unit.dialects import ALL, GOOGLESQL, POSTGRESQL, named, text


class Base(DeclarativeBase):
    pass


class Job(QueueMessage, Base):
    __tablename__ = "Jobs"
    key: Mapped[str] = message_key("JobKey")
    payload: Mapped[bytes] = payload_column(Bytes())


class Note(Base):
    __tablename__ = "Notes"
    key: Mapped[str] = mapped_column("JobKey", String(36), primary_key=True)
    body: Mapped[str] = mapped_column(String(9))


jobs = Job.__table__
notes = Note.__table__

STATEMENTS: dict[str, Callable[[], Any]] = {
    "table.update": lambda: jobs.update().values(payload=b"2"),
    "update(table)": lambda: update(jobs).values(payload=b"2"),
    "update(model)": lambda: update(Job).values(payload=b"2"),
    "with a condition": lambda: update(Job).where(Job.key == "a").values(payload=b"2"),
    "of the deliver time": lambda: update(Job).values(deliver_time=None),
    "update(alias)": lambda: update(jobs.alias("j")).values(payload=b"2"),
    "update(unnamed alias)": lambda: update(jobs.alias()).values(payload=b"2"),
    "update(aliased model)": lambda: update(aliased(Job)).values(payload=b"2"),
    "in a CTE": lambda: select(notes).add_cte(update(jobs).values(payload=b"2").cte("u")),
    "in a CTE that is read": lambda: select(
        update(jobs).values(payload=b"2").returning(jobs.c.JobKey).cte("u")
    ),
    "with a CTE": lambda: (
        update(jobs)
        .values(payload=b"2")
        .where(jobs.c.JobKey.in_(select(select(notes.c.JobKey).cte("n").c.JobKey)))
    ),
}


@pytest.mark.parametrize("dialect", ALL, ids=named)
@pytest.mark.parametrize("make", STATEMENTS.values(), ids=STATEMENTS.keys())
def test_it_has_no_text(make: Callable[[], Any], dialect: Any) -> None:
    with pytest.raises(MessageImmutable, match="reschedule") as caught:
        text(make(), dialect)
    assert caught.value.queue == "Jobs"


@pytest.fixture
def engine() -> Engine:
    engine = create_engine("sqlite://")
    Base.metadata.create_all(engine)
    with Session(engine) as session, session.begin():
        session.add(Job(key="a", payload=b"1"))
    return engine


@pytest.fixture
def sent(engine: Engine) -> Iterator[list[str]]:
    """Collect what reaches the database."""
    seen: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        seen.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    yield seen
    event.remove(engine, "before_cursor_execute", note)


EXECUTABLE = {name: make for name, make in STATEMENTS.items() if "in a CTE" not in name}


@pytest.mark.parametrize("make", EXECUTABLE.values(), ids=EXECUTABLE.keys())
def test_a_connection_sends_nothing(make: Callable[[], Any], engine: Engine, sent: list[str]) -> None:
    with engine.connect() as connection, pytest.raises(MessageImmutable):
        connection.execute(make())
    assert sent == []


@pytest.mark.parametrize("synchronize", ["auto", "fetch", "evaluate", False])
@pytest.mark.parametrize("make", EXECUTABLE.values(), ids=EXECUTABLE.keys())
def test_a_session_sends_nothing(
    make: Callable[[], Any], synchronize: Any, engine: Engine, sent: list[str]
) -> None:
    with Session(engine) as session, pytest.raises(MessageImmutable):
        session.execute(make(), execution_options={"synchronize_session": synchronize})
    # For "fetch" SQLAlchemy reads the keys of the rows before it compiles the UPDATE.
    assert [statement for statement in sent if synchronize != "fetch" or "SELECT" not in statement] == []


BULK: dict[str, Callable[[Session], Any]] = {
    "update by primary key": lambda session: session.execute(update(Job), [{"key": "a", "payload": b"2"}]),
    "bulk_update_mappings": lambda session: session.bulk_update_mappings(
        Job.__mapper__, [{"key": "a", "payload": b"2"}]
    ),
    "query.update": lambda session: session.query(Job).update({"payload": b"2"}),
}


@pytest.mark.parametrize("run", BULK.values(), ids=BULK.keys())
def test_bulk_updates_send_nothing(run: Callable[[Session], Any], engine: Engine, sent: list[str]) -> None:
    with Session(engine) as session, pytest.raises(MessageImmutable):
        run(session)
    assert sent == []


def test_other_tables_are_updated_as_ever() -> None:
    statement = update(notes).values(body="x").where(notes.c.JobKey.in_(select(jobs.c.JobKey)))
    assert text(statement, GOOGLESQL) == (
        "UPDATE `Notes` SET body=:body WHERE `Notes`.`JobKey` IN (SELECT `Jobs`.`JobKey` \nFROM `Jobs`)"
    )
    joined = update(notes).values(body="x").where(notes.c.JobKey == jobs.c.JobKey)
    assert text(joined, POSTGRESQL) == (
        'UPDATE "Notes" SET body=%(body)s::VARCHAR FROM "Jobs" WHERE "Notes"."JobKey" = "Jobs"."JobKey"'
    )
    from_cte = select(jobs.c.JobKey).cte("j")
    with_cte = update(notes).values(body="x").where(notes.c.JobKey.in_(select(from_cte.c.JobKey)))
    assert 'UPDATE "Notes"' in text(with_cte, POSTGRESQL)


def test_a_table_of_the_same_name_in_another_metadata_is_no_queue() -> None:
    plain = Table("Jobs", MetaData(), Column("JobKey", BigInteger, primary_key=True), Column("n", BigInteger))
    assert text(update(plain).values(n=1), GOOGLESQL) == "UPDATE `Jobs` SET n=:n"
