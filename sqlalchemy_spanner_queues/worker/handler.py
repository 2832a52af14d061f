"""What a worker knows about a handler, and the rules that it is declared by."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from ..exc import HandlerError
from ..orm import QueueMessage
from .retry import RetryPolicy

Mode = Literal["transaction", "outside", "at_most_once"]
Discriminator = str | Callable[[Any], object]


@dataclass(frozen=True, eq=False)
class Handler:
    """A function that works on messages, and how; see ``Worker.handler`` for the options."""

    function: Callable[..., Any]
    model: type[QueueMessage]
    mode: Mode = "transaction"
    batch: int | None = None
    by: Discriminator | None = None
    kind: object = None
    concurrency: int | None = None
    retry: RetryPolicy | None = None
    dead_letter: type[Any] | None = None
    run_time: timedelta | None = None
    max_age: timedelta | None = None
    max_lease: timedelta = timedelta(hours=1)
    on_lease_lost: Callable[[Any], object] | None = None

    @property
    def name(self) -> str:
        return str(getattr(self.function, "__qualname__", self.function))

    @property
    def is_async(self) -> bool:
        # Of an object that can be called, its method tells.
        return any(map(inspect.iscoroutinefunction, (self.function, type(self.function).__call__)))

    @property
    def batch_size(self) -> int:
        return self.batch or 1

    def check(self) -> None:
        """Raise HandlerError for what cannot work."""
        model: type[Any] = self.model
        if not issubclass(model, QueueMessage):
            self._refuse(f"{model.__name__} is no queue's model", "put QueueMessage first among its bases")
        self._check_mode()
        self._check_numbers()
        self._check_ends()
        self._check_arguments()

    def _check_mode(self) -> None:
        if self.mode not in ("transaction", "outside", "at_most_once"):
            self._refuse(f"there is no mode {self.mode!r}", "use 'transaction', 'outside' or 'at_most_once'")
        if (self.mode == "at_most_once") != (self.run_time is not None):
            self._refuse(
                "run_time= and mode='at_most_once' go together",
                "say with run_time= how long the work takes at most: then it is delivered again",
            )
        if self.run_time is not None and self.run_time <= timedelta(0):
            self._refuse(f"run_time is {self.run_time}", "give the longest time that the work takes")
        if self.batch is not None and self.mode == "at_most_once":
            self._refuse("batch= and mode='at_most_once' do not go together", "leave out one of them")

    def _check_numbers(self) -> None:
        for name, value in (("batch", self.batch), ("concurrency", self.concurrency)):
            if value is not None and value < 1:
                self._refuse(f"{name} is {value}", "give a number of messages, 1 or more")
        for name, span in (("max_age", self.max_age), ("max_lease", self.max_lease)):
            if span is not None and span <= timedelta(0):
                self._refuse(f"{name} is {span}", "give a timedelta above 0")

    def _check_ends(self) -> None:
        if self.retry is not None and self.dead_letter is None:
            self._refuse(
                "it gives up after some attempts, and does not say where the message goes then",
                "add dead_letter=, a model of dead letters",
            )
        if self.max_age is not None and self.dead_letter is None:
            self._refuse(
                "it has a max_age, and does not say where an older message goes",
                "add dead_letter=, a model of dead letters",
            )
        if self.kind is not None and self.by is None:
            self._refuse("type= needs by=", "say with by= where a message's type is found")

    def _check_arguments(self) -> None:
        arguments: list[object] = [None, None] if self.mode == "transaction" else [None]
        try:
            inspect.signature(self.function).bind(*arguments)
        except TypeError:
            wanted = "message, session" if self.mode == "transaction" else "message"
            if self.batch is not None:
                wanted = wanted.replace("message", "messages")
            self._refuse(
                f"it cannot be called with ({wanted}), as its mode {self.mode!r} does",
                f"write def {self.name}({wanted}), or choose another mode=",
            )

    def _refuse(self, problem: str, fix: str) -> None:
        raise HandlerError(self.name, problem, fix)
