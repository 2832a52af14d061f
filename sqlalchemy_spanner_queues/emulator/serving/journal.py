"""What the gateway says of its requests: a line for each through ``logging``, when somebody listens.

Each record has ``method``, ``database``, ``milliseconds`` and ``code`` as fields of its own.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final

import grpc.aio

from ..errors import Refusal
from ..log import LOGGER
from ..methods.calls import Call

_FIRST_FIELD: Final = 0x0A


def request(call: Call, raw: bytes) -> AbstractContextManager[None]:
    """Log a request when it ends, with what it ended in."""
    return _logged(call, raw) if LOGGER.isEnabledFor(logging.INFO) else nullcontext()


@contextmanager
def _logged(call: Call, raw: bytes) -> Iterator[None]:
    started, code = time.perf_counter(), "UNKNOWN"
    try:
        yield
        code = "OK"
    except Refusal as refusal:
        code = refusal.code.name
        raise
    except grpc.aio.AioRpcError as error:
        code = error.code().name
        raise
    except (asyncio.CancelledError, GeneratorExit):
        code = "CANCELLED"
        raise
    finally:
        _log(call.name, _database(raw), (time.perf_counter() - started) * 1000, code)


def _log(method: str, database: str, milliseconds: float, code: str) -> None:
    fields = {"method": method, "database": database, "milliseconds": milliseconds, "code": code}
    LOGGER.info("%s %s %.1f ms %s", method, database or "-", milliseconds, code, extra=fields)


def _database(raw: bytes) -> str:
    """Return the database that a request is about: its first field names it, or something in it."""
    if len(raw) < 3 or raw[0] != _FIRST_FIELD:
        return ""
    length, start = raw[1], 2
    if length & 0x80:
        length, start = length & 0x7F | raw[2] << 7, 3
    name = raw[start : start + length].decode(errors="replace")
    return name.split("/sessions/", 1)[0]
