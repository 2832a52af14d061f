"""The schema changes: through the dialect, and through the client."""

from __future__ import annotations

import pytest
from google.api_core.exceptions import (
    FailedPrecondition,
    GoogleAPICallError,
    InvalidArgument,
    NotFound,
)
from google.cloud.spanner_v1.database import Database
from sqlalchemy import (
    DDL,
    BigInteger,
    CheckConstraint,
    Column,
    Engine,
    ForeignKey,
    Index,
    MetaData,
    Sequence,
    String,
    Table,
    inspect,
)
from sqlalchemy.schema import CreateTable, DropTable

from tests.passthrough.helpers import TIMEOUT_SECONDS


def make_metadata() -> MetaData:
    metadata = MetaData()
    Sequence("counter", metadata=metadata)
    Table(
        "a",
        metadata,
        Column("id", BigInteger, primary_key=True, autoincrement=False),
        Column("name", String(20), index=True),
        CheckConstraint("name != ''", name="named"),
    )
    Table(
        "b",
        metadata,
        Column("id", BigInteger, primary_key=True, autoincrement=False),
        Column("a_id", ForeignKey("a.id", name="to_a")),
        Index("b_by_a", "a_id", unique=True),
    )
    return metadata


def change(database: Database, *statements: str) -> None:
    """Change the schema and wait for it."""
    database.update_ddl(list(statements)).result(TIMEOUT_SECONDS)


def schema(database: Database) -> list[str]:
    """Read the schema's statements, each on one line; the official emulator shows them in any order."""
    database.reload()
    return sorted(" ".join(statement.split()) for statement in database.ddl_statements)


def test_create_all_and_drop_all(engine: Engine) -> None:
    metadata = make_metadata()
    metadata.create_all(engine)
    inspector = inspect(engine)
    assert set(inspector.get_table_names()) == {"a", "b"}
    assert inspector.has_sequence("counter")
    metadata.create_all(engine)
    metadata.drop_all(engine)
    assert inspect(engine).get_table_names() == []


def test_one_statement_at_a_time(engine: Engine) -> None:
    table = make_metadata().tables["a"]
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(CreateTable(table))
        connection.execute(DDL("ALTER TABLE a ADD COLUMN size INT64"))
        names = [column["name"] for column in inspect(connection).get_columns("a")]
        assert names == ["id", "name", "size"]
        table.indexes.clear()
        connection.execute(DropTable(table))
        assert not inspect(connection).has_table("a")


def test_statements_wait_for_the_commit(engine: Engine) -> None:
    with engine.connect() as connection:
        connection.exec_driver_sql("CREATE TABLE late (id INT64) PRIMARY KEY (id)")
        assert not inspect(engine).has_table("late")
        connection.commit()
        assert inspect(engine).has_table("late")


def test_a_statement_that_fails(engine: Engine) -> None:
    with engine.connect() as connection:
        connection.exec_driver_sql("CREATE TABLE broken (id INT64, x NOTATYPE) PRIMARY KEY (id)")
        with pytest.raises(GoogleAPICallError, match="NOTATYPE"):
            connection.commit()


def test_tables_indexes_and_columns(database: Database) -> None:
    change(
        database,
        "ALTER TABLE Singers ADD COLUMN Rating FLOAT64",
        "CREATE NULL_FILTERED INDEX ByRating ON Singers (Rating)",
        "DROP INDEX SingersByName",
        "ALTER TABLE Singers ALTER COLUMN Name STRING(200) NOT NULL",
    )
    statements = schema(database)
    assert "CREATE NULL_FILTERED INDEX ByRating ON Singers(Rating)" in statements
    assert not any("SingersByName" in statement for statement in statements)
    (singers,) = [statement for statement in statements if statement.startswith("CREATE TABLE Singers")]
    assert "Name STRING(200) NOT NULL" in singers
    assert "Rating FLOAT64" in singers


def test_view(database: Database) -> None:
    change(database, "CREATE VIEW Names SQL SECURITY INVOKER AS SELECT s.SingerId, s.Name FROM Singers AS s")
    with database.snapshot() as snapshot:
        assert list(snapshot.execute_sql("SELECT * FROM Names")) == []
    change(database, "DROP VIEW Names")
    assert not any("Names" in statement for statement in schema(database))


def test_change_stream(database: Database) -> None:
    change(
        database, "CREATE CHANGE STREAM Stream FOR Singers (Name), Albums OPTIONS (retention_period = '2d')"
    )
    change(database, "ALTER CHANGE STREAM Stream SET FOR ALL")
    (stream,) = [statement for statement in schema(database) if "Stream" in statement]
    assert stream == "CREATE CHANGE STREAM Stream FOR ALL OPTIONS ( retention_period = '2d' )"
    change(database, "DROP CHANGE STREAM Stream")
    assert not any("Stream" in statement for statement in schema(database))


def test_sequence(database: Database) -> None:
    change(database, "CREATE SEQUENCE Numbers OPTIONS (sequence_kind = 'bit_reversed_positive')")
    values = database.run_in_transaction(
        lambda transaction: [
            row[0]
            for _ in range(2)
            for row in transaction.execute_sql("SELECT GET_NEXT_SEQUENCE_VALUE(SEQUENCE Numbers)")
        ]
    )
    assert len(set(values)) == 2
    change(
        database,
        "ALTER SEQUENCE Numbers SET OPTIONS (skip_range_min = 1, skip_range_max = 9)",
        "DROP SEQUENCE Numbers",
    )


def test_row_deletion_policy_and_default(database: Database) -> None:
    change(
        database,
        "ALTER TABLE Singers ADD COLUMN Made TIMESTAMP DEFAULT (CURRENT_TIMESTAMP())",
        "ALTER TABLE Singers ADD ROW DELETION POLICY (OLDER_THAN(Made, INTERVAL 30 DAY))",
    )
    (singers,) = [statement for statement in schema(database) if statement.startswith("CREATE TABLE Singers")]
    assert singers.endswith("PRIMARY KEY(SingerId), ROW DELETION POLICY (OLDER_THAN(Made, INTERVAL 30 DAY))")


def test_if_exists(database: Database) -> None:
    before = schema(database)
    change(
        database,
        "CREATE TABLE IF NOT EXISTS Singers (Id INT64) PRIMARY KEY (Id)",
        "DROP TABLE IF EXISTS Nobody",
        "DROP INDEX IF EXISTS Nothing",
    )
    assert schema(database) == before


def test_what_came_before_a_failure_stays(database: Database) -> None:
    with database.batch() as batch:
        batch.insert("Singers", ["SingerId", "Name"], [(1, "a"), (2, "a")])
    operation = database.update_ddl(
        [
            "CREATE TABLE First (Id INT64) PRIMARY KEY (Id)",
            "CREATE UNIQUE INDEX OneName ON Singers (Name)",
            "CREATE TABLE Last (Id INT64) PRIMARY KEY (Id)",
        ]
    )
    with pytest.raises(FailedPrecondition, match="OneName"):
        operation.result(TIMEOUT_SECONDS)
    assert len(operation.metadata.commit_timestamps) == 1
    statements = schema(database)
    assert any(statement.startswith("CREATE TABLE First") for statement in statements)
    assert not any(statement.startswith("CREATE TABLE Last") for statement in statements)


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("CREATE TABLE Singers (Id INT64) PRIMARY KEY (Id)", FailedPrecondition),
        ("DROP TABLE Singers", FailedPrecondition),
        ("DROP TABLE Nobody", NotFound),
        ("CREATE TABLE Bad (Id INT64) PRIMARY KEY (Other)", FailedPrecondition),
        ("CREATE TABEL Bad (Id INT64) PRIMARY KEY (Id)", InvalidArgument),
        ("ALTER TABLE Singers DROP COLUMN SingerId", InvalidArgument),
        ("CREATE INDEX SingersByName ON Singers (Name)", FailedPrecondition),
        ("CREATE TABLE Orphans (Id INT64) PRIMARY KEY (Id), INTERLEAVE IN PARENT Nobody", NotFound),
        ("", InvalidArgument),
    ],
)
def test_refused_statements(database: Database, statement: str, error: type[Exception]) -> None:
    before = schema(database)
    with pytest.raises(error):
        change(database, statement)
    assert schema(database) == before


def test_a_schema_change_of_a_table_with_rows(database: Database) -> None:
    with database.batch() as batch:
        batch.insert("Singers", ["SingerId", "Name"], [(1, "a"), (2, "a"), (3, None)])
    with pytest.raises(FailedPrecondition):
        change(database, "CREATE UNIQUE INDEX OneName ON Singers (Name)")
    with pytest.raises(FailedPrecondition):
        change(database, "ALTER TABLE Singers ALTER COLUMN Name STRING(100) NOT NULL")
    change(database, "CREATE INDEX AnyName ON Singers (Name, SingerId)")


def test_the_operation_of_a_change(database: Database) -> None:
    statements = ["CREATE TABLE One (Id INT64) PRIMARY KEY (Id)", "CREATE INDEX Two ON One (Id)"]
    operation = database.update_ddl(statements, operation_id="my_change")
    operation.result(TIMEOUT_SECONDS)
    assert operation.operation.name == f"{database.name}/operations/my_change"
    assert operation.done()
    assert operation.metadata.database == database.name
    assert list(operation.metadata.statements) == statements
    assert len(operation.metadata.commit_timestamps) == 2
