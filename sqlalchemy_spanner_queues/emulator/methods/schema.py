"""Serve the schema: DDL with queues in it, and the schema's text with queues in it.

https://docs.cloud.google.com/spanner/docs/reference/standard-sql/data-definition-language
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterable

from google.protobuf.any_pb2 import Any
from google.protobuf.empty_pb2 import Empty

from .. import _protos as pb
from ..database import Database
from ..errors import refusal_of
from ..state import State
from ..text.ddl import Plan, Schema, restore, translate
from ..text.dialect import MARK, Dialect
from ..text.dialects import dialect_of
from ..text.reading import SqlError
from ..text.tokens import TokenError
from ..upstream.api import OPERATIONS, UpstreamApi
from ..upstream.native import mentions_queues
from .calls import Call

_POLL_SECONDS = 0.02
_POSTGRESQL = 2


async def update_database_ddl(state: State, call: Call, raw: bytes) -> bytes:
    """Serve UpdateDatabaseDdl; it takes its turn among the transactions that write."""
    request = pb.UpdateDatabaseDdlRequest.FromString(raw)
    database = state.database(request.database)
    if mentions_queues(request.statements) and await state.queues_are_native():
        return await _apply(database, call, raw)
    async with database.changes:
        return await _change(database, call, request, raw)


async def _change(database: Database, call: Call, request: pb.UpdateDatabaseDdlRequest, raw: bytes) -> bytes:
    plan = _plan(request.statements, await database.schema(), await database.known_dialect())
    if not plan.changed:
        try:
            return await _apply(database, call, raw)
        finally:
            database.schema_changed()
    del request.statements[:]
    request.statements.extend(plan.statements)
    if not plan.statements:
        return _nothing_to_do(database)
    async with database.changing_schema(plan.dropped):
        return await _apply(database, call, request.SerializeToString())


def _plan(statements: Iterable[str], schema: Schema, dialect: Dialect) -> Plan:
    try:
        return translate(statements, schema, dialect)
    except SqlError as error:
        raise refusal_of(error) from error


async def _apply(database: Database, call: Call, raw: bytes) -> bytes:
    async with database.transactions.exclusive():
        answer = await call.forward(raw)
        await _until_done(database.api, pb.Operation.FromString(answer))
    return answer


async def _until_done(api: UpstreamApi, operation: pb.Operation) -> None:
    request = pb.GetOperationRequest()
    request.name = operation.name
    while not operation.done:
        await asyncio.sleep(_POLL_SECONDS)
        operation = pb.Operation.FromString(await api.unary(OPERATIONS + "GetOperation", request))


def _nothing_to_do(database: Database) -> bytes:
    operation = pb.Operation()
    operation.name = f"{database.path}/operations/_spanner_queues_{uuid.uuid4().hex}"
    operation.done = True
    packed = Any()
    packed.Pack(Empty())
    operation.response.CopyFrom(packed)
    return operation.SerializeToString()


async def create_database(state: State, call: Call, raw: bytes) -> bytes:
    """Serve CreateDatabase, whose extra statements may create queues."""
    request = pb.CreateDatabaseRequest.FromString(raw)
    is_postgresql = request.database_dialect == _POSTGRESQL
    dialect = dialect_of("postgresql" if is_postgresql else "googlesql")
    state.forget(f"{request.parent}/databases/{_name(request.create_statement, dialect)}")
    if is_postgresql:
        # A PostgreSQL-dialect database is created empty.
        return await call.forward(raw)
    if mentions_queues(request.extra_statements) and await state.queues_are_native():
        return await call.forward(raw)
    plan = _plan(request.extra_statements, Schema(), dialect)
    if plan.changed:
        del request.extra_statements[:]
        request.extra_statements.extend(plan.statements)
        raw = request.SerializeToString()
    return await call.forward(raw)


def _name(create_statement: str, dialect: Dialect) -> str:
    try:
        names = [token.name for token in dialect.tokenize(create_statement) if token.is_name]
    except TokenError:
        # Upstream refuses it with its own words.
        return ""
    return names[-1] if names else ""


async def get_database_ddl(state: State, call: Call, raw: bytes) -> bytes:
    """Serve GetDatabaseDdl: queues read as CREATE QUEUE, and roles and grants come last."""
    answer = await call.forward(raw)
    response = pb.GetDatabaseDdlResponse.FromString(answer)
    if not any(MARK in statement for statement in response.statements):
        return answer
    dialect = await state.database(pb.GetDatabaseDdlRequest.FromString(raw).database).known_dialect()
    shown, _ = restore(response.statements, dialect)
    del response.statements[:]
    response.statements.extend(shown)
    return response.SerializeToString()


async def drop_database(state: State, call: Call, raw: bytes) -> bytes:
    """Serve DropDatabase: its streams and transactions end."""
    answer = await call.forward(raw)
    state.forget(pb.DropDatabaseRequest.FromString(raw).database)
    return answer
