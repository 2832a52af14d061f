"""A thousand leases in a worker's hands: one renewal request a beat, and no lease that nearly runs out.

Renewals take a second longer than they should, as on a bad day.
"""

from __future__ import annotations

import threading
import time
from typing import NamedTuple

from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues import Worker
from sqlalchemy_spanner_queues.emulator import Emulator

from .figures import Figure, at_least, at_most, report
from .models import Base, Job
from .worker_emulator import send_by_client
from .workers import running

LEASES = 1000
LEASE_SECONDS = 10.0
LATENCY_SECONDS = 1.0
LONGEST_GAP_SECONDS = 8.0
LOOK_SECONDS = 0.1
PATIENCE_SECONDS = 60.0
RENEWAL = "RENEWLEASE_Jobs"


class Watched(NamedTuple):
    """The most leases, the beats and their requests, the longest time since a lease was renewed (s)."""

    leases: int
    beats: int
    requests: int
    gap: float


def run(smoke: bool) -> list[Figure]:
    release = threading.Event()
    with Emulator() as emulator:
        engine = emulator.create_engine()
        Base.metadata.create_all(engine)
        send_by_client(engine, LEASES)
        # One is worked on, and the others of its batch wait.
        worker = Worker(engine, concurrency=1, max_batch_size=LEASES)

        @worker.handler(Job)
        def hold(message: Job, session: Session) -> None:
            release.wait()

        emulator.inject("ExecuteStreamingSql", code=None, delay=LATENCY_SECONDS, times=1000, match=RENEWAL)
        with running(worker):
            try:
                watched = watch(emulator, beats=2 if smoke else 5)
            finally:
                release.set()
        lost = worker.counters().get("lease.lost", 0)
        engine.dispose()
    return [
        at_least("leases in the worker's hands", watched.leases, "leases", LEASES),
        at_most("renewal requests a beat", watched.requests / watched.beats, "requests", 1),
        at_most("longest time since a lease was renewed", watched.gap, "s", LONGEST_GAP_SECONDS),
        at_most("leases lost", lost, "leases", 0),
        report("beats", watched.beats, ""),
    ]


def watch(emulator: Emulator, beats: int) -> Watched:
    """Look at all leases until they have been renewed so many times, after the first time."""
    most, seen, gap, requests, tokens = 0, -1, 0.0, 0, ""
    ends = time.monotonic() + PATIENCE_SECONDS
    while seen < beats:
        if time.monotonic() > ends:
            raise TimeoutError(f"{seen} beats of {beats}, with {most} leases")
        # Leases change on the gateway, which tells nobody.
        time.sleep(LOOK_SECONDS)
        leases = {str(lease["key"]): lease for lease in emulator.leases()}
        most = max(most, len(leases))
        if most < LEASES:
            continue
        gap = max(gap, *(LEASE_SECONDS - lease["expires_in"] for lease in leases.values()))
        token = leases[min(leases)]["token"]
        if token != tokens:
            seen, tokens = seen + 1, token
            requests = emulator.requests(reset=seen == 0).get("ExecuteStreamingSql", 0)
    return Watched(most, seen, requests, gap)
