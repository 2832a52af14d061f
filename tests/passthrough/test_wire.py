"""What the client's own libraries may ask of the connection: compression, metadata, asyncio."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import pytest
from google.cloud.spanner_v1 import ExecuteSqlRequest
from google.cloud.spanner_v1.database import Database
from google.cloud.spanner_v1.services.spanner import SpannerAsyncClient
from google.cloud.spanner_v1.services.spanner.transports import (
    SpannerGrpcAsyncIOTransport,
    SpannerGrpcTransport,
)

from tests.passthrough.helpers import TIMEOUT_SECONDS, Route

MANY = "SELECT n FROM UNNEST(GENERATE_ARRAY(1, 2000)) AS n ORDER BY n"


@pytest.fixture
def session(database: Database) -> str:
    return database.spanner_api.create_session(database=database.name).name


def test_asyncio(route: Route, session: str) -> None:
    async def count(api: SpannerAsyncClient) -> int:
        request = ExecuteSqlRequest(session=session, sql=MANY)
        return len(
            [value async for part in await api.execute_streaming_sql(request) for value in part.values]
        )

    async def run() -> list[int]:
        async with grpc.aio.insecure_channel(route.address) as channel:
            api = SpannerAsyncClient(transport=SpannerGrpcAsyncIOTransport(channel=channel))
            return await asyncio.gather(*(count(api) for _ in range(10)))

    assert asyncio.run(run()) == [2000] * 10


@pytest.mark.parametrize(
    "options",
    [
        {"grpc.default_compression_algorithm": int(grpc.Compression.Gzip)},
        {"grpc.keepalive_time_ms": 10_000, "grpc.keepalive_permit_without_calls": 1},
        {"grpc.http2.bdp_probe": 0, "grpc.http2.lookahead_bytes": 65_535},
        {"grpc.primary_user_agent": "someone/1.0", "grpc.enable_retries": 0},
    ],
    ids=["gzip", "keepalive", "small window", "user agent"],
)
def test_options_of_a_channel(route: Route, session: str, options: dict[str, Any]) -> None:
    with grpc.insecure_channel(route.address, options=list(options.items())) as channel:
        transport = SpannerGrpcTransport(channel=channel)
        request = ExecuteSqlRequest(session=session, sql=f"{MANY} -- {'x' * 200_000}")
        parts = list(transport.execute_streaming_sql(request, timeout=TIMEOUT_SECONDS))
        assert sum(len(part.values) for part in parts) == 2000


def test_metadata_of_a_client(database: Database, session: str) -> None:
    metadata = [("x-own", "y" * 2_000), ("x-own-bin", b"\x00\xff"), ("x-own", "again")]
    request = ExecuteSqlRequest(session=session, sql="SELECT 1")
    assert database.spanner_api.execute_sql(request=request, metadata=metadata).rows[0][0] == "1"


def test_several_connections(route: Route, session: str) -> None:
    request = ExecuteSqlRequest(session=session, sql="SELECT 1")
    for _ in range(20):
        options = [("grpc.use_local_subchannel_pool", 1)]
        with grpc.insecure_channel(route.address, options=options) as channel:
            assert SpannerGrpcTransport(channel=channel).execute_sql(request, timeout=TIMEOUT_SECONDS).rows


@pytest.mark.parametrize("method", ["Commit", "ExecuteSql", "BeginTransaction"])
def test_a_request_that_is_no_message(route: Route, method: str) -> None:
    with grpc.insecure_channel(route.address) as channel:
        call = channel.unary_unary(f"/google.spanner.v1.Spanner/{method}")
        with pytest.raises(grpc.RpcError) as caught:
            call(b"\xff\xff\xff", timeout=TIMEOUT_SECONDS)
        assert caught.value.code() is grpc.StatusCode.INTERNAL
