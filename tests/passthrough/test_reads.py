"""Reads and queries of the client: snapshots, staleness, partitions, options, statistics."""

from __future__ import annotations

import datetime
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from google.api_core.exceptions import FailedPrecondition, InvalidArgument
from google.cloud.spanner_v1 import (
    DirectedReadOptions,
    ExecuteSqlRequest,
    KeyRange,
    KeySet,
    RequestOptions,
    param_types,
)
from google.cloud.spanner_v1.database import Database

from tests.passthrough.helpers import Route, make_client

SINGERS = ("SingerId", "Name", "Born")
ROWS = [[1, "Ada", None], [2, "Bob", datetime.date(1990, 1, 2)], [3, "Cleo", None], [4, "Bob", None]]


@pytest.fixture(autouse=True)
def _rows(database: Database) -> None:
    albums = [(1, 1, "One"), (1, 2, "Two"), (3, 1, "Three")]
    with database.batch() as batch:
        batch.insert("Singers", SINGERS, ROWS)
        batch.insert("Albums", ("SingerId", "AlbumId", "Title"), albums)


def query(database: Database, sql: str, **options: Any) -> list[list[Any]]:
    with database.snapshot() as snapshot:
        return list(snapshot.execute_sql(sql, **options))


@pytest.mark.parametrize(
    ("keys", "ids"),
    [
        (KeySet(all_=True), [1, 2, 3, 4]),
        (KeySet(keys=[[1], [3], [9]]), [1, 3]),
        (KeySet(ranges=[KeyRange(start_closed=[2], end_closed=[3])]), [2, 3]),
        (KeySet(ranges=[KeyRange(start_open=[2], end_open=[4])]), [3]),
        (KeySet(ranges=[KeyRange(start_closed=[], end_open=[2])], keys=[[4]]), [1, 4]),
        (KeySet(), []),
    ],
    ids=["all", "keys", "closed", "open", "both", "none"],
)
def test_read_by_keys(database: Database, keys: KeySet, ids: list[int]) -> None:
    with database.snapshot() as snapshot:
        assert [row[0] for row in snapshot.read("Singers", SINGERS, keys)] == ids


def test_read_with_a_limit(database: Database) -> None:
    with database.snapshot() as snapshot:
        rows = snapshot.read("Singers", SINGERS, KeySet(all_=True), limit=2)
        assert list(rows) == ROWS[:2]


def test_read_by_a_prefix_of_the_key(database: Database) -> None:
    of_one = KeySet(ranges=[KeyRange(start_closed=[1], end_closed=[1])])
    with database.snapshot() as snapshot:
        assert list(snapshot.read("Albums", ("AlbumId", "Title"), of_one)) == [[1, "One"], [2, "Two"]]


def test_read_by_an_index(database: Database) -> None:
    with database.snapshot() as snapshot:
        rows = snapshot.read("Singers", ("Name", "SingerId"), KeySet(keys=[["Bob"]]), index="SingersByName")
        assert list(rows) == [["Bob", 2], ["Bob", 4]]


def test_a_multi_use_snapshot_sees_one_moment(database: Database) -> None:
    count = "SELECT COUNT(*) FROM Singers"
    with database.snapshot(multi_use=True) as snapshot:
        assert list(snapshot.execute_sql(count)) == [[4]]
        with database.batch() as batch:
            batch.insert("Singers", ("SingerId",), [(5,)])
        assert list(snapshot.execute_sql(count)) == [[4]]
        assert len(list(snapshot.read("Singers", ("SingerId",), KeySet(all_=True)))) == 4
    assert query(database, count) == [[5]]


@pytest.mark.parametrize("kind", ["read_timestamp", "min_read_timestamp"])
def test_a_read_at_a_timestamp(database: Database, kind: str) -> None:
    with database.batch() as batch:
        batch.update("Singers", ("SingerId", "Name"), [(1, "Changed")])
    changed = batch.committed
    with database.snapshot(**{kind: changed}) as snapshot:
        assert next(iter(snapshot.execute_sql("SELECT Name FROM Singers WHERE SingerId = 1"))) == ["Changed"]
    before = changed - datetime.timedelta(microseconds=1)
    with database.snapshot(read_timestamp=before) as snapshot:
        assert list(snapshot.execute_sql("SELECT Name FROM Singers WHERE SingerId = 1")) == [["Ada"]]


@pytest.mark.parametrize("kind", ["exact_staleness", "max_staleness"])
def test_a_read_of_the_past(database: Database, kind: str) -> None:
    with database.snapshot(**{kind: datetime.timedelta(microseconds=1)}) as snapshot:
        assert list(snapshot.execute_sql("SELECT COUNT(*) FROM Singers")) == [[4]]
    with (
        pytest.raises(FailedPrecondition, match="has exceeded the maximum timestamp staleness"),
        database.snapshot(exact_staleness=datetime.timedelta(hours=2)) as snapshot,
    ):
        list(snapshot.execute_sql("SELECT COUNT(*) FROM Singers"))


def test_the_read_timestamp_is_returned(database: Database) -> None:
    with database.batch() as batch:
        batch.update("Singers", ("SingerId", "Name"), [(1, "Changed")])
    with database.snapshot(read_timestamp=batch.committed, multi_use=True) as snapshot:
        rows = snapshot.execute_sql("SELECT 1")
        assert list(rows) == [[1]]
        assert rows.metadata.transaction.read_timestamp == batch.committed


def test_partitioned_reads(database: Database) -> None:
    snapshot = database.batch_snapshot()
    batches = list(snapshot.generate_read_batches("Singers", SINGERS, KeySet(all_=True), max_partitions=3))
    rows = [row for batch in batches for row in snapshot.process(batch)]
    assert sorted(row[0] for row in rows) == [1, 2, 3, 4]


def test_partitioned_queries(database: Database) -> None:
    snapshot = database.batch_snapshot()
    sql, types = "SELECT SingerId FROM Singers WHERE SingerId > @low", {"low": param_types.INT64}
    batches = list(snapshot.generate_query_batches(sql, params={"low": 1}, param_types=types))
    assert sorted(row[0] for batch in batches for row in snapshot.process(batch)) == [2, 3, 4]
    merged = database.batch_snapshot().run_partitioned_query(sql, params={"low": 1}, param_types=types)
    assert sorted(row[0] for row in merged) == [2, 3, 4]


def test_a_partition_is_read_by_another_client(route: Route, database: Database) -> None:
    snapshot = database.batch_snapshot()
    batches = list(snapshot.generate_read_batches("Singers", SINGERS, KeySet(all_=True)))
    same = make_client(route.address).instance(route.instance.instance_id).database(database.database_id)
    known = snapshot.get_batch_transaction_id()
    other = same.batch_snapshot(session_id=known.session_id, transaction_id=known.transaction_id)
    assert sorted(row[0] for batch in batches for row in other.process(batch)) == [1, 2, 3, 4]


def test_a_query_that_cannot_be_partitioned(database: Database) -> None:
    snapshot = database.batch_snapshot()
    with pytest.raises(InvalidArgument, match="partition"):
        list(snapshot.generate_query_batches("SELECT SingerId FROM Singers ORDER BY SingerId"))


def test_plan(database: Database) -> None:
    with database.snapshot() as snapshot:
        rows = snapshot.execute_sql("SELECT Name FROM Singers", query_mode=ExecuteSqlRequest.QueryMode.PLAN)
        assert list(rows) == []
        assert [field.name for field in rows.metadata.row_type.fields] == ["Name"]


def test_profile(database: Database) -> None:
    with database.snapshot() as snapshot:
        mode = ExecuteSqlRequest.QueryMode.PROFILE
        rows = snapshot.execute_sql("SELECT Name FROM Singers", query_mode=mode)
        assert len(list(rows)) == 4
        assert rows.stats.query_stats["rows_returned"] == "4"


def test_request_options_are_accepted(database: Database) -> None:
    options = RequestOptions(
        priority=RequestOptions.Priority.PRIORITY_LOW, request_tag="app=test,action=read"
    )
    assert query(database, "SELECT 1", request_options=options) == [[1]]
    with database.snapshot() as snapshot:
        keys = KeySet(keys=[[1]])
        assert list(snapshot.read("Singers", ("Name",), keys, request_options=options)) == [["Ada"]]


def test_optimizer_options_and_hints_are_accepted(database: Database) -> None:
    options = ExecuteSqlRequest.QueryOptions(optimizer_version="1", optimizer_statistics_package="latest")
    table = "Singers@{FORCE_INDEX=SingersByName}"
    sql = f"@{{USE_ADDITIONAL_PARALLELISM=TRUE}} SELECT Name FROM {table} WHERE Name = 'Ada'"
    assert query(database, sql, query_options=options) == [["Ada"]]


def test_directed_reads_are_accepted(route: Route, database: Database) -> None:
    replicas = {"replica_selections": [{"location": "us-east1", "type_": "READ_ONLY"}]}
    directed = DirectedReadOptions(include_replicas={**replicas, "auto_failover_disabled": True})
    assert query(database, "SELECT 1", directed_read_options=directed) == [[1]]
    client = make_client(route.address, directed_read_options=directed)
    same = client.instance(route.instance.instance_id).database(database.database_id)
    assert query(same, "SELECT COUNT(*) FROM Singers") == [[4]]


def test_without_routing_to_the_leader(route: Route, database: Database) -> None:
    client = make_client(route.address, route_to_leader_enabled=False)
    same = client.instance(route.instance.instance_id).database(database.database_id)
    assert query(same, "SELECT COUNT(*) FROM Singers") == [[4]]


def test_rows_as_dicts_one_and_lazily(database: Database) -> None:
    with database.snapshot() as snapshot:
        rows = snapshot.execute_sql("SELECT Name, SingerId FROM Singers WHERE SingerId < 3 ORDER BY SingerId")
        assert rows.to_dict_list() == [{"Name": "Ada", "SingerId": 1}, {"Name": "Bob", "SingerId": 2}]
    with database.snapshot() as snapshot:
        assert snapshot.execute_sql("SELECT 1").one() == [1]
    with database.snapshot() as snapshot:
        assert snapshot.execute_sql("SELECT 1 FROM Singers WHERE FALSE").one_or_none() is None
    with database.snapshot() as snapshot:
        lazy = snapshot.execute_sql("SELECT Name FROM Singers WHERE SingerId = 1", lazy_decode=True)
        assert [lazy.decode_row(row) for row in lazy] == [["Ada"]]


def test_two_streams_at_once(database: Database) -> None:
    sql = "SELECT n FROM UNNEST(GENERATE_ARRAY(1, 2000)) AS n ORDER BY n"
    with database.snapshot() as first, database.snapshot() as second:
        pairs = list(zip(first.execute_sql(sql), second.execute_sql(sql), strict=True))
    assert pairs == [([n], [n]) for n in range(1, 2001)]


def test_readers_at_the_same_time(database: Database) -> None:
    def read(id: int) -> list[list[Any]]:
        return query(database, f"SELECT {id}, COUNT(*) FROM Singers")

    with ThreadPoolExecutor(max_workers=20) as readers:
        assert list(readers.map(read, range(100))) == [[[id, 4]] for id in range(100)]
