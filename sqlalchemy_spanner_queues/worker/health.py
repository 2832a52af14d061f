"""How a worker is doing, for probes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Health:
    """What ``Worker.health()`` tells.

    ``live``: it runs, and no part of it has died; restart it where this is False. ``ready``: it takes
    messages, and its streams do not fail. ``running`` and ``waiting`` count messages, ``oldest_running`` is
    how long the oldest of them has been worked on in seconds, ``failing`` names the queues whose streams
    break at the moment, ``overloaded`` those for which Spanner has too many receivers.
    """

    live: bool
    ready: bool
    running: int = 0
    waiting: int = 0
    oldest_running: float = 0.0
    failing: tuple[str, ...] = ()
    overloaded: tuple[str, ...] = ()
