"""Metadata goes through the gateway in both directions, and its own refusals carry what clients look for."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import pytest

from sqlalchemy_spanner_queues.emulator import _protos as pb
from sqlalchemy_spanner_queues.emulator.errors import Refusal, aborted, invalid
from sqlalchemy_spanner_queues.emulator.serving.server import GatewayServer
from tests.unit.emulator_transport.peers import METHOD, grpc_client, grpc_server


def test_metadata_goes_both_ways() -> None:
    async def serve(request: bytes, context: Any) -> bytes:
        asked = dict(context.invocation_metadata())["x-asked"]
        await context.send_initial_metadata((("x-first", asked),))
        context.set_trailing_metadata((("x-last-bin", b"\x00"),))
        return request

    async def work() -> None:
        async with grpc_server(serve) as upstream:
            gateway = GatewayServer(f"localhost:{upstream}", "localhost", 0)
            await gateway.start()
            async with grpc_client(gateway.port) as client:
                call = client.unary_unary(METHOD)(b"request", metadata=(("x-asked", "this"),))
                assert await call == b"request"
                assert dict(await call.initial_metadata())["x-first"] == "this"
                assert dict(await call.trailing_metadata())["x-last-bin"] == b"\x00"
            await gateway.stop()

    asyncio.run(work())


def trailing(refusal: Refusal) -> dict[str, str | bytes]:
    return dict(refusal.trailing)


def test_the_client_of_an_aborted_transaction_is_told_when_to_run_it_again() -> None:
    info = trailing(aborted("busy"))["google.rpc.retryinfo-bin"]
    assert isinstance(info, bytes)
    assert 0 < pb.RetryInfo.FromString(info).retry_delay.nanos < 100_000_000


@pytest.mark.parametrize("refusal", [invalid("wrong"), aborted("busy")])
def test_refusals_carry_their_status(refusal: Refusal) -> None:
    details = trailing(refusal)["grpc-status-details-bin"]
    assert isinstance(details, bytes)
    status = pb.Status.FromString(details)
    assert (status.code, status.message) == (refusal.code.value[0], refusal.details)
    assert ("google.rpc.retryinfo-bin" in trailing(refusal)) == (refusal.code is grpc.StatusCode.ABORTED)
