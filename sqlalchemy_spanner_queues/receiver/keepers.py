"""One lease keeper for each queue of an engine in this process, shared by its receivers."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from .keeper import LeaseKeeper

_lock = threading.Lock()
# By process too: a fork copies the entry, and not the thread behind it.
_shared: dict[tuple[int, int, str], _Shared] = {}


class _Shared:
    def __init__(self, keeper: LeaseKeeper) -> None:
        self.keeper = keeper
        self.users = 0


def acquire(owner: object, queue: str, make: Callable[[], LeaseKeeper]) -> LeaseKeeper:
    """Return the keeper of a queue for the engine that ``owner`` (its dialect) stands for."""
    with _lock:
        place = os.getpid(), id(owner), queue
        shared = _shared.get(place)
        if shared is None or shared.keeper.failure is not None:
            shared = _shared[place] = _Shared(make())
        shared.users += 1
        return shared.keeper


def release(owner: object, queue: str, keeper: LeaseKeeper) -> None:
    """Give a keeper back; the last user closes it."""
    with _lock:
        place = os.getpid(), id(owner), queue
        shared = _shared.get(place)
        if shared is None or shared.keeper is not keeper:
            return
        shared.users -= 1
        if shared.users:
            return
        del _shared[place]
    keeper.close()
