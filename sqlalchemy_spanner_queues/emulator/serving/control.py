"""The gateway's own service: a clock to move, faults to inject, leases to look at.

Requests and answers are JSON objects, sent as the bytes of a unary gRPC call to
``/sqlalchemy_spanner_queues.emulator.Control/<Method>``, so that a client of any language can make them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

from ..errors import invalid
from ..faults import Fault
from ..state import State

Json = dict[str, object]


def _ping(state: State, _: Json) -> object:
    return {"upstream": state.api.address}


def _advance(state: State, request: Json) -> object:
    state.clock.advance(_number(request, "seconds"))
    return {"offset": state.clock.offset}


def _inject(state: State, request: Json) -> object:
    rows = request.get("drop_after_rows")
    state.faults.inject(
        Fault(
            method=str(request["method"]),
            code=_text(request, "code"),
            times=int(_number(request, "times", 1)),
            after_apply=bool(request.get("after_apply", False)),
            delay=_number(request, "delay", 0.0),
            drop_after_rows=None if rows is None else int(_number(request, "drop_after_rows")),
            match=_text(request, "match"),
        )
    )
    return {}


def _resume_tokens(state: State, request: Json) -> object:
    state.resume_tokens = bool(request.get("enabled", True))
    return {}


def _leases(state: State, request: Json) -> object:
    only = _text(request, "database")
    now = state.clock.now()
    return [
        {
            "database": path,
            "queue": queue.definition.name,
            "key": [_plain(value.WhichOneof("kind"), value) for value in lease.key.values],
            "token": lease.token,
            "holder": lease.holder,
            "deliveries": lease.deliveries,
            "expires_in": lease.expires - now,
        }
        for path, database in state.databases.items()
        if only in (None, path)
        for queue in database.queues.values()
        for lease in queue.leases
        if lease.expires > now
    ]


def _reset(state: State, _: Json) -> object:
    state.reset()
    return {}


def _requests(state: State, request: Json) -> object:
    counted = dict(state.requests)
    if request.get("reset"):
        state.requests.clear()
    return counted


_METHODS: Final[dict[str, Callable[[State, Json], object]]] = {
    "Ping": _ping,
    "Advance": _advance,
    "Inject": _inject,
    "ResumeTokens": _resume_tokens,
    "Leases": _leases,
    "Reset": _reset,
    "Requests": _requests,
}


def serve_control(state: State, method: str, raw: bytes) -> bytes:
    """Answer a control request.

    Raises Refusal (INVALID_ARGUMENT) for a method or value that there is not.
    """
    handle = _METHODS.get(method)
    if handle is None:
        raise invalid(f"unknown control {method!r}: use one of {', '.join(_METHODS)}")
    try:
        request = json.loads(raw or b"{}")
        return json.dumps(handle(state, request)).encode()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise invalid(f"bad control request {method}: {error}") from error


def _text(request: Json, name: str) -> str | None:
    value = request.get(name)
    return None if value is None else str(value)


def _number(request: Json, name: str, default: float | None = None) -> float:
    value = request.get(name, default)
    if not isinstance(value, int | float):
        raise ValueError(f"{name} must be a number, got {value!r}")
    return float(value)


def _plain(kind: str | None, value: object) -> object:
    return None if kind in (None, "null_value") else getattr(value, kind or "")
