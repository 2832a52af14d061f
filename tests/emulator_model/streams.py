"""Open RECEIVE streams; whatever arrives on any of them comes to one place, where it is waited for."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

from google.cloud.spanner_v1.streamed import StreamedResultSet
from grpc import RpcError

from tests.emulator.helpers import TIMEOUT_SECONDS, Opened
from tests.emulator_model.facts import Row


@dataclass(frozen=True, slots=True)
class Ended:
    """A stream is over, with the status code of an error or OK."""

    code: str


class Stream:
    """A stream that a thread reads, so that several may be open."""

    def __init__(self, call: Any, arrivals: SimpleQueue[tuple[Stream, Row | Ended]]) -> None:
        self._call = call
        self._arrivals = arrivals
        self._opened = Opened(call)
        threading.Thread(target=self._read, daemon=True).start()
        assert self._opened.event.wait(TIMEOUT_SECONDS)

    def cancel(self) -> None:
        self._call.cancel()

    def _read(self) -> None:
        try:
            for key, payload, due, expires, token, last in StreamedResultSet(self._opened):
                row = Row(key, payload, due.timestamp(), expires.timestamp(), token, last)
                self._arrivals.put((self, row))
            self._arrivals.put((self, Ended("OK")))
        except RpcError as error:
            self._arrivals.put((self, Ended(error.code().name)))


class Streams:
    """Makes streams, and hands out what arrives on them."""

    def __init__(self) -> None:
        self._arrivals: SimpleQueue[tuple[Stream, Row | Ended]] = SimpleQueue()

    def open(self, call: Any) -> Stream:
        """Start to read a stream; its columns are known and it waits for messages when this returns."""
        return Stream(call, self._arrivals)

    def wait(self) -> tuple[Stream, Row | Ended] | None:
        """Return what arrives next; None when it takes too long."""
        try:
            return self._arrivals.get(timeout=TIMEOUT_SECONDS)
        except Empty:
            return None

    def arrived(self) -> tuple[Stream, Row | Ended] | None:
        """Return what has arrived already; None when there is nothing."""
        try:
            return self._arrivals.get_nowait()
        except Empty:
            return None
