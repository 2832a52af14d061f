"""Deadlines on the wire: at most eight digits and a unit."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_UNITS: Final = {b"H": 3600.0, b"M": 60.0, b"S": 1.0, b"m": 1e-3, b"u": 1e-6, b"n": 1e-9}
_TIMEOUT: Final = re.compile(rb"(\d{1,8})([HMSmun])")
_LARGEST: Final = 10**8


@lru_cache(maxsize=256)
def parse_timeout(value: bytes) -> float | None:
    """Return the seconds of a ``grpc-timeout``; None for what is none."""
    match = _TIMEOUT.fullmatch(value)
    return int(match[1]) * _UNITS[match[2]] if match else None


def format_timeout(seconds: float) -> bytes:
    """Return the ``grpc-timeout`` of so many seconds, rounded up so that it is never too short."""
    milliseconds = int(max(seconds, 0) * 1000) + 1
    if milliseconds < _LARGEST:
        return b"%dm" % milliseconds
    return b"%dH" % min(int(seconds / 3600) + 1, _LARGEST - 1)
