"""Importing the package changes nothing for anybody else. Each test looks at a fresh interpreter."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest


def run(program: str) -> str:
    """Run a program in a new interpreter and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def loaded_after(program: str) -> set[str]:
    return set(run(f"{textwrap.dedent(program)}\nimport sys\nprint('\\n'.join(sys.modules))").splitlines())


@pytest.mark.parametrize("module", ["grpc", "google", "msgspec", "pydantic", "alembic", "opentelemetry"])
def test_the_import_loads_no_optional_library(module: str) -> None:
    loaded = loaded_after("import sqlalchemy_spanner_queues")
    assert not [name for name in loaded if name == module or name.startswith(f"{module}.")]


@pytest.mark.parametrize("module", ["grpc", "google.cloud", "pydantic"])
def test_work_on_sqlite_loads_no_client_of_spanner(module: str) -> None:
    loaded = loaded_after(
        """
        from sqlalchemy import Column, MetaData, String, create_engine
        from sqlalchemy_spanner_queues import Json, Queue
        queue = Queue("Q", MetaData(), Column("K", String(9), primary_key=True), payload=Json())
        engine = create_engine("sqlite://")
        queue.metadata.create_all(engine)
        with engine.begin() as connection:
            connection.execute(queue.insert().values(K="a", payload=[1]))
        """
    )
    assert not [name for name in loaded if name == module or name.startswith(f"{module}.")]


def test_the_import_starts_no_thread_and_writes_nothing() -> None:
    assert run("import sqlalchemy_spanner_queues, threading; assert threading.active_count() == 1") == ""


COUNT_LISTENERS = """
    from sqlalchemy import Column, Engine, MetaData, Table, event
    from sqlalchemy.engine import Connection, Dialect
    from sqlalchemy.orm import Mapper, Session, InstanceEvents
    from sqlalchemy.pool import Pool
    from sqlalchemy.sql.schema import Constraint

    TARGETS = [Engine, Connection, Dialect, Pool, Session, Mapper, Table, Column, MetaData, Constraint]

    def listeners():
        found = {}
        for target in TARGETS:
            dispatch = target.dispatch
            for name in dispatch._event_names:
                registered = getattr(dispatch, name)._clslevel if hasattr(
                    getattr(dispatch, name), "_clslevel"
                ) else {}
                found[target.__name__, name] = len(registered.get(target, ()))
        return found
"""


def test_the_import_adds_no_listener() -> None:
    program = f"""
    {COUNT_LISTENERS}
    before = listeners()
    assert len(before) > 50
    import sqlalchemy_spanner_queues
    assert listeners() == before, (before, listeners())
    """
    assert run(program.replace("\n    ", "\n")) == ""


def test_the_count_of_listeners_sees_one_that_is_added() -> None:
    program = f"""
    {COUNT_LISTENERS}
    before = listeners()
    event.listen(Engine, "before_cursor_execute", lambda *args: None)
    event.listen(Session, "before_flush", lambda *args: None)
    event.listen(Table, "after_parent_attach", lambda *args: None)
    print(sorted(key for key, count in listeners().items() if count != before[key]))
    """
    assert run(program.replace("\n    ", "\n")) == (
        "[('Engine', 'before_cursor_execute'), ('Session', 'before_flush'), ('Table', 'after_parent_attach')]"
    )


def test_the_import_replaces_no_compilation_of_sqlalchemy() -> None:
    program = """
    import sqlalchemy as sa
    from sqlalchemy.sql import ddl
    classes = [sa.Table, sa.Column, sa.Alias, sa.Insert, sa.Update, sa.Delete, sa.Select]
    classes += [ddl.CreateTable, ddl.DropTable]
    before = [vars(cls).get("_compiler_dispatch") for cls in classes]
    import sqlalchemy_spanner_queues
    assert [vars(cls).get("_compiler_dispatch") for cls in classes] == before
    assert not [cls for cls in classes if "_compiler_dispatcher" in vars(cls)]
    """
    assert run(program) == ""


ORDINARY_WORK = """
    from sqlalchemy import String, create_engine, delete, event, select, update
    from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

    class Base(DeclarativeBase): ...

    class Note(Base):
        __tablename__ = "notes"
        id: Mapped[int] = mapped_column(primary_key=True)
        payload: Mapped[str] = mapped_column(String(9))
        deliver_time: Mapped[str | None] = mapped_column("DeliverTime")

    engine = create_engine("sqlite://")
    seen = []

    @event.listens_for(engine, "before_cursor_execute")
    def note(connection, cursor, text, *rest):
        seen.append(" ".join(text.split()))

    Base.metadata.create_all(engine)
    with Session(engine) as session, session.begin():
        session.add_all([Note(id=1, payload="a"), Note(id=2, payload="b")])
    with Session(engine) as session, session.begin():
        session.get_one(Note, 1).payload = "c"
        session.delete(session.get_one(Note, 2))
        session.execute(update(Note).values(payload="d"))
        session.execute(delete(Note).where(Note.id == 5))
        session.merge(Note(id=1, payload="e"))
    with engine.begin() as connection:
        connection.execute(Note.__table__.delete().where(Note.__table__.c.id == 77))
    print("\\n".join(seen))
"""


def test_ordinary_models_on_sqlite_send_the_same_statements() -> None:
    without = run(ORDINARY_WORK)
    with_package = run("import sqlalchemy_spanner_queues\n" + textwrap.dedent(ORDINARY_WORK))
    assert "UPDATE notes" in without
    assert with_package == without


def test_ordinary_models_beside_a_queue_send_the_same_statements() -> None:
    queue = """
    from sqlalchemy import Column, MetaData, String
    from sqlalchemy_spanner_queues import Bytes, Queue
    Queue("Q", MetaData(), Column("K", String(9), primary_key=True), payload=Bytes(), interleave_in="Later")
    """
    assert run(textwrap.dedent(queue) + textwrap.dedent(ORDINARY_WORK)) == run(ORDINARY_WORK)
