"""Faults that a test asks for: which request fails, slows or is disturbed, how, and how often.

::

    faults.inject(Fault("Commit", "UNAVAILABLE", after_apply=True))
    fault = faults.take("Commit", text="")     # once, then no more
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import grpc

from .matching import MATCHED
from .rpcs import ROW_STREAMS, method_names, unknown_method


@dataclass(slots=True)
class Fault:
    """What happens to the next ``times`` requests of a method.

    ``code`` None only delays or disturbs. ``delay`` is in seconds, before the request is applied or, with
    ``after_apply``, between that and the answer. A stream of rows is broken after ``drop_after_rows`` rows,
    has its ``resume_tokens`` withheld, and its strings and lists cut into chunks of ``split_values``
    characters. ``match`` must be part of the SQL text, or of the name of a table or queue.

    Raises ValueError for what makes no sense, and says what does.
    """

    method: str
    code: str | None = "UNAVAILABLE"
    times: int = 1
    after_apply: bool = False
    delay: float = 0.0
    drop_after_rows: int | None = None
    match: str | None = None
    resume_tokens: bool = True
    split_values: int | None = None

    def __post_init__(self) -> None:
        for wrong in _mistakes(self):
            raise ValueError(wrong)

    @property
    def disturbs(self) -> bool:
        """Whether it changes a stream of rows."""
        return self.drop_after_rows is not None or self.split_values is not None or not self.resume_tokens

    @property
    def fails_before(self) -> bool:
        """Whether the request fails without being applied."""
        return self.code is not None and not self.after_apply and not self.disturbs

    @property
    def fails_after(self) -> bool:
        """Whether the request is applied and its answer replaced by an error."""
        return self.code is not None and self.after_apply

    def status(self) -> grpc.StatusCode:
        """Return the status code.

        Raises KeyError when it has none.
        """
        return grpc.StatusCode[self.code or ""]

    def hits(self, method: str, text: str) -> bool:
        """Tell whether a request is meant; ``text`` is what ``match`` looks at."""
        return self.times > 0 and method == self.method and (self.match is None or self.match in text)


class Faults:
    """The faults that are still to come, in the order in which they were asked for."""

    def __init__(self) -> None:
        self._armed: list[Fault] = []

    @property
    def armed(self) -> bool:
        """Whether any is left."""
        return bool(self._armed)

    def inject(self, fault: Fault) -> None:
        """Add a fault."""
        self._armed.append(fault)

    def take(self, method: str, text: str) -> Fault | None:
        """Use up the fault of a request, if there is one."""
        for fault in self._armed:
            if fault.hits(method, text):
                fault.times -= 1
                self._armed = [armed for armed in self._armed if armed.times > 0]
                return fault
        return None

    def clear(self) -> None:
        """Forget all faults."""
        self._armed.clear()


def _mistakes(fault: Fault) -> Iterator[str]:
    if fault.method not in method_names():
        yield unknown_method(fault.method)
    if fault.match is not None and fault.method not in MATCHED:
        yield f"{fault.method} has no text for match: use one of {', '.join(MATCHED)}"
    yield from _wrong_code(fault)
    if fault.times < 1:
        yield f"times must be at least 1, got {fault.times}"
    if not (fault.delay >= 0 and math.isfinite(fault.delay)):
        yield f"delay must be a number of seconds, 0 or more, got {fault.delay}"
    if fault.disturbs:
        yield from _wrong_disturbance(fault)


def _wrong_code(fault: Fault) -> Iterator[str]:
    if fault.code is not None:
        codes = [code for code in grpc.StatusCode.__members__ if code != "OK"]
        if fault.code not in codes:
            yield f"unknown status code {fault.code!r}: use one of {', '.join(codes)}, or None"
    elif not fault.delay and not fault.disturbs:
        yield "this fault does nothing: give a code, a delay, resume_tokens=False or split_values"


def _wrong_disturbance(fault: Fault) -> Iterator[str]:
    rows, size = fault.drop_after_rows, fault.split_values
    if fault.method not in ROW_STREAMS:
        yield (
            f"{fault.method} is no stream of rows: drop_after_rows, resume_tokens and split_values are for"
            f" {' and '.join(sorted(ROW_STREAMS))}"
        )
    if rows is not None and rows < 0:
        yield f"drop_after_rows must be 0 or more, got {rows}"
    if size is not None and size < 1:
        yield f"split_values must be at least 1, got {size}"
    if rows is not None and fault.code is None:
        yield "drop_after_rows needs the code that the stream breaks with"
    if rows is None and fault.code is not None:
        yield f"a stream that fails with {fault.code} at once is not disturbed: pass code None, in JSON null"
    if fault.after_apply:
        yield "after_apply keeps all rows back: it does not go with drop_after_rows and the like"
