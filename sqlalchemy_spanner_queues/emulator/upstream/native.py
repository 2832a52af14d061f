"""Ask the official emulator whether it has queues of its own by now; then the gateway steps aside.

It is told by a database that is made for the question with a queue in it, and dropped again.
"""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import Iterable
from typing import Final

import grpc

from .. import _protos as pb
from ..errors import Refusal
from ..transport import RpcError
from .api import DATABASE_ADMIN, OPERATIONS, UpstreamApi

_INSTANCE_ADMIN: Final = "/google.spanner.admin.instance.v1.InstanceAdmin/"
_PROJECT: Final = "projects/spanner-queues"
_QUEUE: Final = "CREATE QUEUE Probe (Id INT64 NOT NULL, Payload STRING(MAX) NOT NULL) PRIMARY KEY (Id)"
_POLL_SECONDS: Final = 0.02
_INVALID_ARGUMENT: Final = 3
_SIGNS: Final = re.compile(r"queue|role|grant|revoke", re.IGNORECASE)


def mentions_queues(statements: Iterable[str]) -> bool:
    """Tell whether DDL may be about queues, or about the roles that come with them."""
    return any(_SIGNS.search(statement) for statement in statements)


async def understands_queues(api: UpstreamApi) -> bool:
    """Tell whether upstream accepts CREATE QUEUE.

    Raises Refusal (FAILED_PRECONDITION) when it says neither yes nor that it does not know the statement.
    """
    name = f"probe-{uuid.uuid4().hex[:16]}"
    try:
        await _create_instance(api, name)
        try:
            return await _accepts(api, f"{_PROJECT}/instances/{name}")
        finally:
            await _delete_instance(api, name)
    except RpcError as error:
        raise _unanswered(api, f"{error.code.name}: {error.details}") from error


async def _accepts(api: UpstreamApi, instance: str) -> bool:
    request = pb.CreateDatabaseRequest()
    request.parent = instance
    request.create_statement = "CREATE DATABASE probe"
    request.extra_statements.append(_QUEUE)
    try:
        operation = await _done(api, await api.unary(DATABASE_ADMIN + "CreateDatabase", request))
    except RpcError as error:
        if error.code is grpc.StatusCode.INVALID_ARGUMENT:
            return False
        raise
    if operation.error.code not in (0, _INVALID_ARGUMENT):
        raise _unanswered(api, operation.error.message)
    return operation.error.code == 0


async def _create_instance(api: UpstreamApi, name: str) -> None:
    request = pb.CreateInstanceRequest()
    request.parent, request.instance_id = _PROJECT, name
    request.instance.config = f"{_PROJECT}/instanceConfigs/emulator-config"
    request.instance.display_name, request.instance.node_count = name, 1
    operation = await _done(api, await api.unary(_INSTANCE_ADMIN + "CreateInstance", request))
    if operation.error.code:
        raise _unanswered(api, operation.error.message)


async def _delete_instance(api: UpstreamApi, name: str) -> None:
    request = pb.DeleteInstanceRequest()
    request.name = f"{_PROJECT}/instances/{name}"
    await api.unary(_INSTANCE_ADMIN + "DeleteInstance", request)


async def _done(api: UpstreamApi, answer: bytes) -> pb.Operation:
    operation = pb.Operation.FromString(answer)
    request = pb.GetOperationRequest()
    request.name = operation.name
    while not operation.done:
        await asyncio.sleep(_POLL_SECONDS)
        operation = pb.Operation.FromString(await api.unary(OPERATIONS + "GetOperation", request))
    return operation


def _unanswered(api: UpstreamApi, said: str) -> Refusal:
    return Refusal(
        grpc.StatusCode.FAILED_PRECONDITION,
        f"cannot find out whether the emulator at {api.address} has queues of its own; asked for one, it said"
        f" {said}",
    )
