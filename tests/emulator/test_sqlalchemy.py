"""Ordinary tables pass through: the Spanner dialect of SQLAlchemy sees the official emulator."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import BigInteger, Engine, ForeignKey, String, func, inspect, select, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship

from sqlalchemy_spanner_queues.emulator import Emulator
from sqlalchemy_spanner_queues.exc import EmulatorError


class Base(DeclarativeBase):
    pass


class Author(Base):
    __tablename__ = "Authors"
    id: Mapped[int] = mapped_column("AuthorId", BigInteger, primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column("Name", String(100))
    books: Mapped[list[Book]] = relationship(back_populates="author")


class Book(Base):
    __tablename__ = "Books"
    id: Mapped[int] = mapped_column("BookId", BigInteger, primary_key=True, autoincrement=False)
    author_id: Mapped[int] = mapped_column("AuthorId", ForeignKey("Authors.AuthorId"))
    title: Mapped[str | None] = mapped_column("Title", String(100))
    author: Mapped[Author] = relationship(back_populates="books")


@pytest.fixture
def engine(emulator: Emulator) -> Iterator[Engine]:
    emulator.reset()
    engine = emulator.create_engine()
    Base.metadata.create_all(engine)
    yield engine
    engine.dispose()


def test_unit_of_work(engine: Engine) -> None:
    with Session(engine) as session, session.begin():
        session.add(Author(id=1, name="Ada", books=[Book(id=1, title="Notes"), Book(id=2)]))
    with Session(engine) as session, session.begin():
        author = session.get_one(Author, 1)
        author.name = "Ada L."
        session.delete(author.books.pop())
    with Session(engine) as session:
        rows = session.execute(select(Author.name, func.count(Book.id)).join(Book).group_by(Author.name))
        assert [tuple(row) for row in rows] == [("Ada L.", 1)]


def test_rollback(engine: Engine) -> None:
    with Session(engine) as session:
        session.add(Author(id=1, name="Ada"))
        session.flush()
        session.rollback()
        assert session.scalar(select(func.count(Author.id))) == 0


def test_errors_keep_their_class(engine: Engine) -> None:
    with Session(engine) as session, session.begin():
        session.add(Author(id=1, name="Ada"))
    with Session(engine) as session:
        session.add(Author(id=1, name="Ada"))
        with pytest.raises(IntegrityError):
            session.commit()


def test_reflection(engine: Engine) -> None:
    inspector = inspect(engine)
    assert sorted(inspector.get_table_names()) == ["Authors", "Books"]
    assert [column["name"] for column in inspector.get_columns("Books")] == ["BookId", "AuthorId", "Title"]
    assert inspector.get_foreign_keys("Books")[0]["referred_table"] == "Authors"


def test_many_connections(engine: Engine) -> None:
    for number in range(5):
        with engine.begin() as connection:
            connection.execute(text(f"INSERT INTO Authors (AuthorId, Name) VALUES ({number}, 'x')"))
    with engine.connect() as first:
        assert first.execute(text("SELECT COUNT(*) FROM Authors")).scalar() == 5
        # A second transaction that writes would wait for the first; one that only reads does not.
        with engine.connect().execution_options(read_only=True) as second:
            assert second.execute(text("SELECT COUNT(*) FROM Authors")).scalar() == 5


def test_ddl_through_the_dialect(engine: Engine) -> None:
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(
            text("CREATE QUEUE q (Id INT64 NOT NULL, Payload STRING(MAX) NOT NULL) PRIMARY KEY (Id)")
        )
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO q (Id, Payload) VALUES (1, 'x')"))
        assert connection.execute(text("SELECT Payload FROM q")).scalar() == "x"


def test_databases_are_separate(emulator: Emulator, engine: Engine) -> None:
    other = emulator.create_engine()
    assert inspect(other).get_table_names() == []
    assert other.url.database != engine.url.database
    other.dispose()


def test_postgresql_goes_another_way(emulator: Emulator) -> None:
    with pytest.raises(EmulatorError, match="PGAdapter"):
        emulator.create_engine(dialect="postgresql")
    path = emulator.create_database(
        dialect="postgresql", statements=["CREATE TABLE t (id bigint PRIMARY KEY, name varchar)"]
    )
    assert path.startswith("projects/")
