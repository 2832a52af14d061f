"""Faults that a test asks for: which request fails, how, and how often.

::

    faults.inject(Fault("Commit", "UNAVAILABLE", after_apply=True))
    fault = faults.take("Commit", sql="")     # once, then no more
"""

from __future__ import annotations

from dataclasses import dataclass

import grpc


@dataclass(slots=True)
class Fault:
    """A failure of the next ``times`` requests of a method.

    ``code`` None only delays, ``delay`` is in seconds, ``drop_after_rows`` breaks a stream of messages after
    so many rows, ``match`` must be part of the request's SQL text.
    """

    method: str
    code: str | None = "UNAVAILABLE"
    times: int = 1
    after_apply: bool = False
    delay: float = 0.0
    drop_after_rows: int | None = None
    match: str | None = None

    def status(self) -> grpc.StatusCode:
        """Return the status code."""
        return grpc.StatusCode[self.code or "UNKNOWN"]

    def hits(self, method: str, sql: str) -> bool:
        """Tell whether a request is meant."""
        return self.times > 0 and method == self.method and (self.match is None or self.match in sql)


class Faults:
    """The faults that are still to come, in the order in which they were asked for."""

    def __init__(self) -> None:
        self._armed: list[Fault] = []

    @property
    def armed(self) -> bool:
        """Whether any is left."""
        return bool(self._armed)

    def inject(self, fault: Fault) -> None:
        """Add a fault.

        Raises ValueError for a status code that gRPC does not know.
        """
        if fault.code is not None and fault.code not in grpc.StatusCode.__members__:
            raise ValueError(
                f"unknown status code {fault.code!r}: use one of {', '.join(grpc.StatusCode.__members__)}"
            )
        self._armed.append(fault)

    def take(self, method: str, sql: str) -> Fault | None:
        """Use up the fault of a request, if there is one."""
        for fault in self._armed:
            if fault.hits(method, sql):
                fault.times -= 1
                self._armed = [armed for armed in self._armed if armed.times > 0]
                return fault
        return None

    def clear(self) -> None:
        """Forget all faults."""
        self._armed.clear()
