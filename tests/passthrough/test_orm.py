"""The unit of work and the loading of objects."""

from __future__ import annotations

from typing import Any

import pytest
from google.api_core.exceptions import AlreadyExists
from sqlalchemy import (
    BigInteger,
    Column,
    Engine,
    ForeignKey,
    MetaData,
    String,
    Table,
    delete,
    event,
    func,
    insert,
    inspect,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import (
    DeclarativeBase,
    Mapped,
    Session,
    aliased,
    contains_eager,
    joinedload,
    mapped_column,
    relationship,
    selectinload,
    subqueryload,
)


class Base(DeclarativeBase):
    pass


album_tags = Table(
    "album_tags",
    Base.metadata,
    Column("album_id", ForeignKey("albums.id"), primary_key=True),
    Column("tag", ForeignKey("tags.name"), primary_key=True),
)


class Singer(Base):
    __tablename__ = "singers"
    id: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(String(100))
    mentor_id: Mapped[int | None] = mapped_column(ForeignKey("singers.id"))
    albums: Mapped[list[Album]] = relationship(
        back_populates="singer", cascade="all, delete-orphan", order_by="Album.id"
    )
    mentor: Mapped[Singer | None] = relationship(remote_side=[id])


class Album(Base):
    __tablename__ = "albums"
    id: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    singer_id: Mapped[int] = mapped_column(ForeignKey("singers.id"))
    title: Mapped[str | None] = mapped_column(String(100))
    singer: Mapped[Singer] = relationship(back_populates="albums")
    tags: Mapped[list[Tag]] = relationship(secondary=album_tags, order_by="Tag.name")


class Tag(Base):
    __tablename__ = "tags"
    name: Mapped[str] = mapped_column(String(20), primary_key=True)


class Seat(Base):
    __tablename__ = "seats"
    row: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    number: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    guest: Mapped[str | None] = mapped_column(String(20))


class Animal(Base):
    __tablename__ = "animals"
    id: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    kind: Mapped[str] = mapped_column(String(20))
    __mapper_args__: dict[str, Any] = {"polymorphic_on": "kind", "polymorphic_identity": "animal"}


class Bird(Animal):
    __tablename__ = "birds"
    id: Mapped[int] = mapped_column(ForeignKey("animals.id"), primary_key=True)
    wings: Mapped[int] = mapped_column(BigInteger)
    __mapper_args__ = {"polymorphic_identity": "bird"}


@pytest.fixture
def metadata() -> MetaData:
    return Base.metadata


@pytest.fixture(autouse=True)
def _rows(engine: Engine) -> None:
    with Session(engine) as session, session.begin():
        ada = Singer(id=1, name="Ada")
        ada.albums = [Album(id=1, title="One"), Album(id=2, title="Two", tags=[Tag(name="b"), Tag(name="a")])]
        session.add_all([ada, Singer(id=2, name="Bob", mentor=ada), Singer(id=3, name="Cleo")])


def test_changes_of_attributes_and_collections_are_written(engine: Engine) -> None:
    with Session(engine) as session, session.begin():
        ada = session.get_one(Singer, 1)
        ada.name = "Ada L."
        ada.albums.pop(0)
        ada.albums.append(Album(id=3, title="Three"))
    with Session(engine) as session:
        ada = session.get_one(Singer, 1)
        assert (ada.name, [album.title for album in ada.albums]) == ("Ada L.", ["Two", "Three"])


def test_many_to_many(engine: Engine) -> None:
    with Session(engine) as session, session.begin():
        album = session.get_one(Album, 2)
        assert [tag.name for tag in album.tags] == ["a", "b"]
        album.tags = [tag for tag in album.tags if tag.name == "b"] + [Tag(name="c")]
    with Session(engine) as session:
        names = session.scalars(select(Tag.name).join(album_tags).order_by(Tag.name)).all()
        assert names == ["b", "c"]


def test_delete_cascades_to_children(engine: Engine) -> None:
    with Session(engine) as session, session.begin():
        session.delete(session.get_one(Singer, 2))
        album = session.get_one(Album, 2)
        album.tags.clear()
        session.delete(session.get_one(Singer, 1))
    with Session(engine) as session:
        assert session.scalar(select(func.count()).select_from(Album)) == 0
        assert session.scalars(select(Singer.name)).all() == ["Cleo"]


def test_a_reference_to_itself(engine: Engine) -> None:
    mentor = aliased(Singer)
    with Session(engine) as session:
        rows = session.execute(select(Singer.name, mentor.name).join(Singer.mentor.of_type(mentor)))
        assert rows.all() == [("Bob", "Ada")]


@pytest.mark.parametrize(
    "option", [joinedload, selectinload, subqueryload], ids=lambda option: option.__name__
)
def test_eager_loading(engine: Engine, option: Any) -> None:
    with Session(engine) as session:
        query = select(Singer).options(option(Singer.albums)).order_by(Singer.id)
        singers = session.scalars(query).unique().all()
        assert all("albums" not in inspect(singer).unloaded for singer in singers)
        assert [len(singer.albums) for singer in singers] == [2, 0, 0]


def test_contains_eager(engine: Engine) -> None:
    with Session(engine) as session:
        query = select(Singer).join(Singer.albums).where(Album.title == "Two")
        singer = session.scalars(query.options(contains_eager(Singer.albums))).unique().one()
        assert [album.id for album in singer.albums] == [2]


def test_lazy_loading_asks_once(engine: Engine) -> None:
    statements: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda *arguments: statements.append(arguments[2]))
    with Session(engine) as session:
        singer = session.get_one(Singer, 1)
        assert [album.title for album in singer.albums] == ["One", "Two"]
        assert singer.albums[0].singer is singer
    assert len(statements) == 2


def test_bulk_insert_and_update_by_primary_key(engine: Engine) -> None:
    with Session(engine) as session, session.begin():
        session.execute(insert(Singer), [{"id": id, "name": f"s{id}"} for id in range(10, 60)])
        session.execute(update(Singer), [{"id": id, "name": f"t{id}"} for id in range(10, 60, 2)])
    with Session(engine) as session:
        changed = func.starts_with(Singer.name, "t").label("changed")
        query = select(changed, func.count()).where(Singer.id >= 10).group_by("changed").order_by("changed")
        assert session.execute(query).all() == [(False, 25), (True, 25)]


def test_merge(engine: Engine) -> None:
    with Session(engine) as session, session.begin():
        session.merge(Singer(id=1, name="Merged", albums=[Album(id=2, title="Second")]))
        session.merge(Singer(id=9, name="New"))
    with Session(engine) as session:
        assert session.scalars(select(Singer.name).order_by(Singer.id)).all() == [
            "Merged",
            "Bob",
            "Cleo",
            "New",
        ]
        assert session.execute(select(Album.id, Album.title)).all() == [(2, "Second")]


def test_refresh_and_expire(engine: Engine) -> None:
    with Session(engine) as session:
        singer = session.get_one(Singer, 1)
        session.execute(
            update(Singer).where(Singer.id == 1).values(name="X").execution_options(synchronize_session=False)
        )
        assert singer.name == "Ada"
        session.refresh(singer)
        assert singer.name == "X"
        session.rollback()
        assert singer.name == "Ada"


def test_insert_returning_objects(engine: Engine) -> None:
    with Session(engine) as session, session.begin():
        statement = insert(Singer).returning(Singer, sort_by_parameter_order=True)
        singers = session.scalars(statement, [{"id": 21, "name": "x"}, {"id": 20, "name": "y"}]).all()
        assert [(singer.id, singer.name) for singer in singers] == [(21, "x"), (20, "y")]


def test_update_and_delete_keep_the_session_in_step(engine: Engine) -> None:
    with Session(engine) as session, session.begin():
        bob, cleo = session.get_one(Singer, 2), session.get_one(Singer, 3)
        session.execute(update(Singer).where(Singer.id == 2).values(name=func.substr(Singer.name, 1, 2)))
        deleted = session.execute(delete(Singer).where(Singer.id == 3).returning(Singer.name))
        assert (bob.name, deleted.scalar_one(), cleo in session) == ("Bo", "Cleo", False)


def test_a_composite_key(engine: Engine) -> None:
    with Session(engine) as session, session.begin():
        session.add_all([Seat(row=1, number=2, guest="Ada"), Seat(row=1, number=1)])
    with Session(engine) as session:
        assert session.get_one(Seat, (1, 2)).guest == "Ada"
        assert session.get(Seat, {"row": 2, "number": 1}) is None


def test_joined_table_inheritance(engine: Engine) -> None:
    with Session(engine) as session, session.begin():
        session.add_all([Bird(id=1, wings=2), Animal(id=2)])
    with Session(engine) as session:
        animals = session.scalars(select(Animal).order_by(Animal.id)).all()
        assert [type(animal) for animal in animals] == [Bird, Animal]
        assert session.scalars(select(Bird.wings)).all() == [2]


def test_rollback_leaves_nothing(engine: Engine) -> None:
    with Session(engine) as session:
        session.add(Singer(id=9, name="Gone"))
        session.flush()
        assert session.get(Singer, 9) is not None
        session.rollback()
        assert session.get(Singer, 9) is None


def test_a_duplicate_fails_the_flush_and_the_session_goes_on(engine: Engine) -> None:
    with Session(engine) as session:
        session.add(Singer(id=1, name="Twice"))
        with pytest.raises(IntegrityError) as failure:
            session.flush()
        assert isinstance(failure.value.orig.__cause__, AlreadyExists)
        session.rollback()
        assert session.get_one(Singer, 1).name == "Ada"


def test_rows_come_in_parts(engine: Engine) -> None:
    with Session(engine) as session, session.begin():
        session.execute(insert(Seat), [{"row": 1, "number": number} for number in range(100)])
    with Session(engine) as session:
        parts = session.scalars(select(Seat.number).order_by(Seat.number)).yield_per(40).partitions()
        assert [(part[0], len(part)) for part in parts] == [(0, 40), (40, 40), (80, 20)]
