"""Time the requests and note how they end, when somebody listens."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final

from ..log import LOGGER, log_request
from ..transport import RpcError

_FIRST_FIELD: Final = 0x0A


def request(method: str, raw: bytes) -> AbstractContextManager[None]:
    """Log a request when it ends, with what it ended in."""
    return _logged(method, raw) if LOGGER.isEnabledFor(logging.INFO) else nullcontext()


@contextmanager
def _logged(method: str, raw: bytes) -> Generator[None]:
    started, code = time.perf_counter(), "UNKNOWN"
    try:
        yield
        code = "OK"
    except RpcError as error:
        code = error.code.name
        raise
    except (asyncio.CancelledError, GeneratorExit):
        code = "CANCELLED"
        raise
    finally:
        log_request(method, _database(raw), (time.perf_counter() - started) * 1000, code)


def _database(raw: bytes) -> str:
    """Return the database that a request is about: its first field names it, or something in it."""
    if len(raw) < 3 or raw[0] != _FIRST_FIELD:
        return ""
    length, start = raw[1], 2
    if length & 0x80:
        length, start = length & 0x7F | raw[2] << 7, 3
    name = raw[start : start + length].decode(errors="replace")
    return name.split("/sessions/", 1)[0]
