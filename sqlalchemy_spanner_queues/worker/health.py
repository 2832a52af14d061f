"""How a worker is doing, for probes."""

from __future__ import annotations

from dataclasses import dataclass

from .crew import Crew


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


def health_of(crew: Crew, failure: BaseException | None, *, is_stopping: bool) -> Health:
    """Return how a crew is doing; ``failure`` is what a part of it died of."""
    failing = tuple(lane.queue for lane in crew.lanes if lane.reader.is_failing)
    running = crew.running()
    return Health(
        live=failure is None,
        ready=failure is None and not is_stopping and not failing,
        running=len(running),
        waiting=sum(lane.waiting() for lane in crew.lanes),
        oldest_running=max((job.seconds() for job in running), default=0.0),
        failing=failing,
        overloaded=tuple(lane.queue for lane in crew.lanes if lane.reader.overloaded),
    )
