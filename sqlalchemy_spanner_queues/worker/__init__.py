"""Handlers that lose nothing and double nothing: the worker, its outcomes, attempts and dead letters."""

from .attempts import attempts_table
from .calling import Call, Middleware
from .dead_letter import DeadLetters, DeadMessage, dead_letters, dead_message, redrive
from .events import WorkerEvent
from .health import Health
from .outcomes import Ack, DeadLetter, Discard, Outcome, Retry
from .retry import RetryPolicy
from .sending import on_send
from .worker import Worker

__all__ = [
    "Ack",
    "Call",
    "DeadLetter",
    "DeadLetters",
    "DeadMessage",
    "Discard",
    "Health",
    "Middleware",
    "Outcome",
    "Retry",
    "RetryPolicy",
    "Worker",
    "WorkerEvent",
    "attempts_table",
    "dead_letters",
    "dead_message",
    "on_send",
    "redrive",
]
