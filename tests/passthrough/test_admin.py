"""Instances, databases, operations, access policies, backups."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from google.api_core.exceptions import (
    AlreadyExists,
    GoogleAPICallError,
    InvalidArgument,
    MethodNotImplemented,
    NotFound,
)
from google.cloud.spanner_admin_database_v1 import DatabaseDialect
from google.cloud.spanner_v1.database import Database
from google.cloud.spanner_v1.instance import Instance
from google.iam.v1.policy_pb2 import Policy

from tests.passthrough.helpers import CONFIGURATION, PROJECT, SCHEMA, TIMEOUT_SECONDS, Route


@pytest.fixture
def instance(route: Route) -> Iterator[Instance]:
    """An instance of the test's own."""
    instance = route.make_instance(f"own-{uuid.uuid4().hex[:8]}", labels={"a": "b"})
    instance.create().result(TIMEOUT_SECONDS)
    yield instance
    instance.delete()


def create(instance: Instance, name: str, **options: Any) -> Database:
    database = instance.database(name, **options)
    database.create().result(TIMEOUT_SECONDS)
    return database


def test_instance_configurations(route: Route) -> None:
    assert [item.name for item in route.client.list_instance_configs()] == [CONFIGURATION]
    api = route.client.instance_admin_api
    assert api.get_instance_config(name=CONFIGURATION).display_name == "Emulator Instance Config"
    with pytest.raises(NotFound):
        api.get_instance_config(name=f"{CONFIGURATION}-none")


def test_an_instance_is_created_and_deleted(route: Route) -> None:
    instance = route.make_instance(f"own-{uuid.uuid4().hex[:8]}", display_name="Mine", labels={"x": "y"})
    operation = instance.create()
    assert operation.operation.name.startswith(f"{instance.name}/operations/")
    assert operation.result(TIMEOUT_SECONDS).name == instance.name
    assert operation.metadata.instance.display_name == "Mine"
    found = route.client.instance(instance.instance_id)
    found.reload()
    assert (found.display_name, found.labels, found.node_count) == ("Mine", {"x": "y"}, 1)
    with pytest.raises(AlreadyExists):
        instance.create()
    instance.delete()
    assert not instance.exists()


def test_an_instance_in_processing_units(route: Route) -> None:
    instance = route.make_instance(f"own-{uuid.uuid4().hex[:8]}", node_count=None, processing_units=500)
    instance.create().result(TIMEOUT_SECONDS)
    instance.reload()
    assert instance.processing_units == 500
    instance.delete()


def test_an_instance_with_a_bad_name(route: Route) -> None:
    with pytest.raises(InvalidArgument, match="Instance ID must start with a lowercase letter"):
        route.make_instance("X").create()


def test_an_instance_is_not_updated(instance: Instance) -> None:
    instance.display_name = "Other"
    with pytest.raises(MethodNotImplemented, match="does not support updating instances"):
        instance.update()


def test_instances_are_listed_in_pages(route: Route, instance: Instance) -> None:
    request = {"parent": f"projects/{PROJECT}", "page_size": 1}
    pages = list(route.client.instance_admin_api.list_instances(request=request).pages)
    assert all(len(page.instances) == 1 for page in pages)
    assert {page.instances[0].name for page in pages} >= {instance.name, route.instance.name}


def test_databases_are_created_listed_and_dropped(instance: Instance) -> None:
    made = [create(instance, f"db-{number}") for number in range(5)]
    api = instance._client.database_admin_api
    pages = list(api.list_databases(request={"parent": instance.name, "page_size": 2}).pages)
    assert [len(page.databases) for page in pages] == [2, 2, 1]
    assert {item.name for page in pages for item in page.databases} == {database.name for database in made}
    made[0].drop()
    assert not made[0].exists()
    assert {item.name for item in instance.list_databases()} == {database.name for database in made[1:]}


def test_the_operation_that_creates_a_database(instance: Instance) -> None:
    database = instance.database("made", ddl_statements=SCHEMA)
    operation = database.create()
    assert operation.operation.name.startswith(f"{database.name}/operations/")
    assert operation.result(TIMEOUT_SECONDS).name == database.name
    assert operation.metadata.database == database.name
    database.reload()
    assert database.state.name == "READY"
    assert {" ".join(statement.split()[:3]) for statement in database.ddl_statements} == {
        "CREATE TABLE Singers",
        "CREATE TABLE Albums",
        "CREATE INDEX SingersByName",
        "CREATE INDEX AlbumsByTitle",
    }


@pytest.mark.parametrize(
    ("name", "statements", "error"),
    [
        ("x", (), InvalidArgument),
        ("made", ("CREATE TABEL t",), InvalidArgument),
        (
            "made",
            ("CREATE TABLE t (i INT64) PRIMARY KEY (i)", "CREATE INDEX i ON nothing (x)"),
            GoogleAPICallError,
        ),
    ],
)
def test_a_database_that_is_not_created(
    instance: Instance, name: str, statements: tuple[str, ...], error: type[Exception]
) -> None:
    with pytest.raises(error):
        create(instance, name, ddl_statements=statements)
    assert list(instance.list_databases()) == []


def test_a_database_of_the_same_name(instance: Instance) -> None:
    create(instance, "made")
    with pytest.raises(AlreadyExists):
        create(instance, "made")
    with pytest.raises(NotFound):
        create(instance._client.instance("none-at-all"), "made")


def write(database: Database, id: int) -> list[list[int]]:
    """Insert a row, and return all keys."""
    with database.batch() as batch:
        batch.insert("t", ["id"], [(id,)])
    with database.snapshot() as snapshot:
        return list(snapshot.execute_sql("SELECT id FROM t"))


@pytest.mark.parametrize("dialect", list(DatabaseDialect)[1:], ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("whole_instance", [False, True], ids=["the database", "its instance"])
def test_a_database_that_is_made_again_is_empty(
    route: Route, dialect: DatabaseDialect, whole_instance: bool
) -> None:
    postgresql = dialect is DatabaseDialect.POSTGRESQL
    table = (
        "CREATE TABLE t (id bigint PRIMARY KEY)"
        if postgresql
        else "CREATE TABLE t (id INT64) PRIMARY KEY (id)"
    )
    name = f"again-{uuid.uuid4().hex[:8]}"
    for id in (1, 2):
        instance = route.make_instance(name)
        if id == 1 or whole_instance:
            instance.create().result(TIMEOUT_SECONDS)
        database = create(instance, "made-again", database_dialect=dialect)
        database.update_ddl([table]).result(TIMEOUT_SECONDS)
        assert write(database, id) == [[id]]
        if whole_instance or id == 2:
            instance.delete()
        else:
            database.drop()


def test_operations_are_listed_and_found(database: Database) -> None:
    table = "CREATE TABLE Other (Id INT64) PRIMARY KEY (Id)"
    database.update_ddl([table], operation_id="mine").result(TIMEOUT_SECONDS)
    operations = database._instance._client.database_admin_api.transport.operations_client
    listed = [item.name for item in operations.list_operations(f"{database.name}/operations", "")]
    assert f"{database.name}/operations/mine" in listed
    assert len(listed) == 2
    assert operations.get_operation(f"{database.name}/operations/mine").done
    with pytest.raises(NotFound):
        operations.get_operation(f"{database.name}/operations/none")
    with pytest.raises(AlreadyExists, match="Operation already exists"):
        database.update_ddl([table.replace("Other", "Third")], operation_id="mine")


def test_tables_of_the_client(database: Database) -> None:
    assert sorted(table.table_id for table in database.list_tables()) == ["Albums", "Singers"]
    assert database.table("Singers").exists()
    assert not database.table("Nothing").exists()
    assert [field.name for field in database.table("Singers").schema] == ["SingerId", "Name", "Born"]


NOT_IMPLEMENTED: Final[dict[str, Callable[[Database], Any]]] = {
    "get policy": lambda database: database.get_iam_policy(),
    "set policy": lambda database: database.set_iam_policy(Policy()),
    "test permissions": lambda database: admin(database).test_iam_permissions(
        resource=database.name, permissions=["spanner.databases.select"]
    ),
    "list backups": lambda database: list(database._instance.list_backups()),
    "create backup": lambda database: admin(database).create_backup(
        parent=database._instance.name, backup_id="copy", backup={"database": database.name}
    ),
    "restore": lambda database: database._instance.database("new").restore(database._instance.backup("copy")),
    "backup schedules": lambda database: list(admin(database).list_backup_schedules(parent=database.name)),
    "database operations": lambda database: list(database.list_database_operations()),
    "roles": lambda database: list(database.list_database_roles()),
    "update": lambda database: database.update(["enable_drop_protection"]),
    "split points": lambda database: admin(database).add_split_points(
        database=database.name, split_points=[]
    ),
}


def admin(database: Database) -> Any:
    return database._instance._client.database_admin_api


@pytest.mark.parametrize("method", NOT_IMPLEMENTED)
def test_what_the_official_emulator_does_not_implement(database: Database, method: str) -> None:
    with pytest.raises(MethodNotImplemented):
        NOT_IMPLEMENTED[method](database)
