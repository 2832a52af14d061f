"""The gateway's own service: a clock to move, faults to inject, leases to look at.

Requests and answers are JSON, sent as the bytes of a unary gRPC call to
``/sqlalchemy_spanner_queues.emulator.Control/<Name>``, or over plain HTTP (see ``admin``), so that a client
of any language can make them.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import unquote

import grpc

from ..delivery.lease_log import plain_values
from ..errors import Refusal, invalid
from ..faults import Fault
from ..state import State
from .fields import Fields, read_object

_LONGEST_ADVANCE_SECONDS: Final = 100 * 366 * 86400.0


@dataclass(frozen=True, slots=True)
class Control:
    """One control: how it is called over HTTP, what it does in a line, its fields, its function."""

    verbs: tuple[Literal["GET", "POST"], ...]
    help: str
    fields: tuple[str, ...]
    serve: Callable[[State, Fields], Awaitable[object]]


async def _ping(state: State, _: Fields) -> object:
    return {"upstream": state.api.address}


async def _advance(state: State, fields: Fields) -> object:
    seconds = fields.number("seconds")
    if state.native_queues:
        raise Refusal(
            grpc.StatusCode.FAILED_PRECONDITION,
            f"the emulator at {state.api.address} has queues of its own, whose clock cannot be moved",
        )
    if seconds < 0:
        raise invalid(f"the clock only moves forward, got {seconds} seconds")
    if state.clock.offset + seconds > _LONGEST_ADVANCE_SECONDS:
        raise invalid(f"the clock moves by at most 100 years in all, got {seconds} seconds")
    await state.advance(seconds)
    return {"offset": state.clock.offset}


async def _inject(state: State, fields: Fields) -> object:
    state.faults.inject(_fault(fields))
    return {}


def _fault(fields: Fields) -> Fault:
    times = fields.integer("times")
    try:
        return Fault(
            method=fields.needed_text("method"),
            code=fields.text("code", "UNAVAILABLE"),
            times=1 if times is None else times,
            after_apply=fields.flag("after_apply", False),
            delay=fields.number("delay", 0.0),
            drop_after_rows=fields.integer("drop_after_rows"),
            match=fields.text("match"),
            resume_tokens=fields.flag("resume_tokens", True),
            split_values=fields.integer("split_values"),
        )
    except ValueError as error:
        raise invalid(str(error)) from error


async def _leases(state: State, fields: Fields) -> object:
    only = fields.text("database")
    now = state.clock.now()
    return [
        {
            "database": path,
            "queue": queue.definition.name,
            "key": plain_values(lease.key),
            "token": lease.token,
            "holder": unquote(lease.holder),
            "deliveries": lease.deliveries,
            "expires_in": lease.expires - now,
        }
        for path, database in state.databases.items()
        if only in (None, path)
        for queue in database.queues.values()
        for lease in queue.leases
        if lease.expires > now
    ]


async def _requests(state: State, fields: Fields) -> object:
    counted = dict(state.requests)
    if fields.flag("reset", False):
        state.requests.clear()
    return counted


async def _reset(state: State, _: Fields) -> object:
    state.reset()
    return {}


_FAULT_FIELDS: Final = (
    *("method", "code", "times", "after_apply", "delay"),
    *("drop_after_rows", "match", "resume_tokens", "split_values"),
)
CONTROLS: Final[Mapping[str, Control]] = {
    "Advance": Control(
        ("POST",), 'Move the delivery clock forward: {"seconds": 3600}', ("seconds",), _advance
    ),
    "Inject": Control(
        ("POST",),
        'Make requests fail, slow or break: {"method": "Commit", "code": "UNAVAILABLE", "times": 1}; also'
        " after_apply, delay, match, drop_after_rows, resume_tokens, split_values",
        _FAULT_FIELDS,
        _inject,
    ),
    "Leases": Control(
        ("GET",), "List the running leases and who holds them; ?database=PATH", ("database",), _leases
    ),
    "Requests": Control(
        ("GET", "POST"),
        'Count the requests of each method; POST {"reset": true} starts anew',
        ("reset",),
        _requests,
    ),
    "Reset": Control(("POST",), "Forget faults and leases, and return to real time", (), _reset),
    "Ping": Control(("GET",), "Tell which official emulator is behind the gateway", (), _ping),
}


async def answer(state: State, name: str, values: Mapping[str, object]) -> object:
    """Serve a control and return what is sent as JSON.

    Raises Refusal for a control, a field or a value that there is not.
    """
    control = CONTROLS.get(name)
    if control is None:
        raise invalid(f"unknown control {name!r}: use one of {', '.join(CONTROLS)}")
    return await control.serve(state, Fields(values, control.fields))


async def serve_control(state: State, name: str, raw: bytes) -> bytes:
    """Serve a control over gRPC: JSON in, JSON out.

    Raises Refusal for a control, a field or a value that there is not.
    """
    return json.dumps(await answer(state, name, read_object(raw))).encode()
