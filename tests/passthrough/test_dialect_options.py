"""What the dialect's own arguments of tables, columns and indexes make of the schema."""

from __future__ import annotations

import pytest
from google.api_core.exceptions import NotFound
from sqlalchemy import (
    TIMESTAMP,
    BigInteger,
    Column,
    Engine,
    Index,
    MetaData,
    String,
    Table,
    delete,
    func,
    insert,
    inspect,
    select,
    text,
)
from sqlalchemy.exc import ProgrammingError

from tests.passthrough.helpers import spanner_error

# The dialect's name is not the prefix of its arguments, which SQLAlchemy takes for a mistake.
pytestmark = pytest.mark.filterwarnings("ignore:Can't validate argument")


def integer(name: str, *arguments: object, **options: object) -> Column[int]:
    return Column(name, BigInteger, *arguments, autoincrement=False, **options)


@pytest.fixture
def metadata() -> MetaData:
    metadata = MetaData()
    Table("parents", metadata, integer("id", primary_key=True), Column("name", String(20)))
    Table(
        "children",
        metadata,
        integer("id", primary_key=True),
        integer("child", primary_key=True),
        Column("name", String(20)),
        Column("note", String(20)),
        Column("written", TIMESTAMP, spanner_allow_commit_timestamp=True),
        Index("children_by_name", "name", spanner_storing=["note"], spanner_null_filtered=True),
        spanner_interleave_in="parents",
        spanner_interleave_on_delete_cascade=True,
    ).add_is_dependent_on(metadata.tables["parents"])
    return metadata


@pytest.fixture(autouse=True)
def _rows(engine: Engine, metadata: MetaData) -> None:
    rows = [{"id": 1, "child": child, "name": name} for child, name in [(1, "b"), (2, "a"), (3, None)]]
    with engine.begin() as connection:
        connection.execute(insert(metadata.tables["parents"]), [{"id": 1, "name": "x"}])
        connection.execute(insert(metadata.tables["children"]), rows)


def test_deleting_a_parent_deletes_its_interleaved_children(engine: Engine, metadata: MetaData) -> None:
    with engine.begin() as connection:
        connection.execute(delete(metadata.tables["parents"]).where(text("true")))
        count = select(func.count()).select_from(metadata.tables["children"])
        assert connection.scalar(count) == 0


def test_an_interleaved_child_needs_its_parent(engine: Engine, metadata: MetaData) -> None:
    with (
        engine.connect() as connection,
        pytest.raises(NotFound, match=r"Parent Table: parents  Child Table: children  Key: \{Int64\(2\)\}"),
    ):
        connection.execute(insert(metadata.tables["children"]).values(id=2, child=1))


def test_commit_timestamp(engine: Engine, metadata: MetaData) -> None:
    children = metadata.tables["children"]
    now = func.pending_commit_timestamp()
    with engine.begin() as connection:
        connection.execute(insert(children), [{"id": 1, "child": 4}])
        connection.execute(children.update().where(children.c.child > 2).values(written=now))
    with engine.connect() as connection:
        written = connection.scalars(select(children.c.written).order_by(children.c.child)).all()
        assert written[:2] == [None, None]
        assert written[2] is not None
        assert written[2] == written[3]


def test_a_pending_commit_timestamp_cannot_be_read(engine: Engine, metadata: MetaData) -> None:
    children = metadata.tables["children"]
    with engine.connect() as connection:
        connection.execute(
            children.update().where(children.c.child == 1).values(written=text("PENDING_COMMIT_TIMESTAMP()"))
        )
        with pytest.raises(ProgrammingError) as failure:
            connection.execute(select(children.c.written))
        assert "has a pending CommitTimestamp" in spanner_error(failure.value).message


def test_null_filtered_index_with_stored_column(engine: Engine) -> None:
    (index,) = inspect(engine).get_indexes("children")
    assert (index["name"], index["column_names"], index["include_columns"]) == (
        "children_by_name",
        ["name"],
        ["note"],
    )
    with engine.connect() as connection:
        unchecked = "spanner_emulator.disable_query_null_filtered_index_check=true"
        hint = f"@{{FORCE_INDEX=children_by_name, {unchecked}}}"
        forced = text(f"SELECT name FROM children{hint} WHERE name IS NOT NULL")
        assert sorted(row.name for row in connection.execute(forced)) == ["a", "b"]
