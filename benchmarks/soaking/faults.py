"""Faults that the emulator is asked for, one at random every now and then."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

from sqlalchemy_spanner_queues.emulator import Emulator


@dataclass(frozen=True)
class Kind:
    """A kind of fault: its name, the arguments of ``inject``, how many requests it may hit at once."""

    name: str
    arguments: dict[str, Any]
    most: int = 1


STREAM, RENEWAL = "RECEIVE_", "RENEWLEASE_"

KINDS = (
    Kind("commit unavailable", {"method": "Commit"}, 3),
    Kind("commit applied, unavailable", {"method": "Commit", "after_apply": True}, 2),
    Kind("commit applied, unknown", {"method": "Commit", "code": "UNKNOWN", "after_apply": True}, 2),
    Kind("commit not applied, unknown", {"method": "Commit", "code": "UNKNOWN"}, 2),
    Kind("commit applied, too late", {"method": "Commit", "code": "DEADLINE_EXCEEDED", "after_apply": True}),
    Kind("commit aborted", {"method": "Commit", "code": "ABORTED"}, 3),
    Kind("commit slow", {"method": "Commit", "code": None, "delay": 1.0}),
    Kind("statement unavailable", {"method": "ExecuteStreamingSql", "match": "Results"}, 3),
    Kind("statement aborted", {"method": "ExecuteStreamingSql", "code": "ABORTED", "match": "Results"}, 3),
    Kind(
        "statement internal",
        {"method": "ExecuteStreamingSql", "code": "INTERNAL", "match": "Attempts"},
    ),
    Kind("batch unavailable", {"method": "ExecuteBatchDml"}, 3),
    Kind("batch aborted", {"method": "ExecuteBatchDml", "code": "ABORTED"}, 3),
    Kind("stream refused", {"method": "ExecuteStreamingSql", "match": STREAM}, 3),
    Kind("stream dropped", {"method": "ExecuteStreamingSql", "match": STREAM, "drop_after_rows": 7}, 3),
    Kind(
        "stream overloaded",
        {"method": "ExecuteStreamingSql", "code": "RESOURCE_EXHAUSTED", "match": STREAM},
    ),
    Kind("renewal unavailable", {"method": "ExecuteStreamingSql", "match": RENEWAL}, 3),
    Kind("renewal slow", {"method": "ExecuteStreamingSql", "code": None, "delay": 1.0, "match": RENEWAL}, 3),
    Kind("renewal hanging", {"method": "ExecuteStreamingSql", "code": None, "delay": 8.0, "match": RENEWAL}),
    Kind("session refused", {"method": "CreateSession"}, 2),
)


class Faults:
    """Inject faults, and count the requests that they may hit by kind."""

    def __init__(self, emulator: Emulator, luck: random.Random) -> None:
        self._emulator = emulator
        self._luck = luck
        self.injected: Counter[str] = Counter()

    def inject_one(self) -> None:
        kind = self._luck.choice(KINDS)
        times = self._luck.randint(1, kind.most)
        self._emulator.inject(**kind.arguments, times=times)
        self.injected[kind.name] += times
