"""The public names are pinned, and each says what it does and shows how."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

import sqlalchemy_spanner_queues
from sqlalchemy_spanner_queues.worker import Outcome

PUBLIC = [
    "Ack",
    "AlterQueue",
    "Bytes",
    "CommitOutcomeUnknown",
    "CreateQueue",
    "DeadLetter",
    "DeliverTimeError",
    "Discard",
    "DropQueue",
    "GrantQueue",
    "HandlerError",
    "Json",
    "Lease",
    "LeaseLost",
    "MessageAlreadyAcknowledged",
    "MessageAlreadyExists",
    "MessageImmutable",
    "PayloadError",
    "Proto",
    "Queue",
    "QueueDefinitionError",
    "QueueMessage",
    "QueueOptions",
    "Receiver",
    "Retry",
    "RetryPolicy",
    "RevokeQueue",
    "SpannerQueuesError",
    "Text",
    "UnsupportedDialect",
    "Worker",
    "__version__",
    "acknowledge",
    "message_key",
    "payload_column",
    "receive",
    "renew_lease",
    "reschedule",
    "send_many",
]

ERRORS = [
    name
    for name in PUBLIC
    if isinstance(getattr(sqlalchemy_spanner_queues, name), type)
    and issubclass(getattr(sqlalchemy_spanner_queues, name), Exception)
    and not issubclass(getattr(sqlalchemy_spanner_queues, name), Outcome)
]


def documented() -> Iterator[tuple[str, Any]]:
    """Yield every public class and function, and the public members that are the package's own."""
    for name in PUBLIC:
        item = getattr(sqlalchemy_spanner_queues, name)
        if not callable(item):
            continue
        yield name, item
        if inspect.isclass(item):
            yield from members(name, item)


def members(name: str, owner: type[Any]) -> Iterator[tuple[str, Any]]:
    for member, value in vars(owner).items():
        function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        is_property = isinstance(function, property)
        if member.startswith("_") or not (is_property or inspect.isfunction(function)):
            continue
        if not is_property and inherited(owner, member):
            continue
        yield f"{name}.{member}", function


def inherited(owner: type[Any], member: str) -> bool:
    """Tell whether a method fills in one that a class above documents already."""
    return any(member in vars(base) for base in owner.__mro__[1:])


DOCUMENTED = dict(documented())


def test_all_is_pinned() -> None:
    assert sqlalchemy_spanner_queues.__all__ == PUBLIC


def test_every_name_is_there() -> None:
    for name in sqlalchemy_spanner_queues.__all__:
        assert hasattr(sqlalchemy_spanner_queues, name)


def test_nothing_else_is_public() -> None:
    public = {
        name
        for name, value in vars(sqlalchemy_spanner_queues).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }
    assert public <= set(PUBLIC)


@pytest.mark.parametrize("name", DOCUMENTED)
def test_the_first_line_says_what_it_does(name: str) -> None:
    text = inspect.getdoc(DOCUMENTED[name]) or ""
    first = text.partition("\n\n")[0].strip()
    assert first, f"{name} has no docstring"
    assert first.splitlines()[0][0].isupper() or first.startswith("`")
    assert first.endswith((".", ":"))


@pytest.mark.parametrize("name", DOCUMENTED)
def test_the_docstring_shows_an_example(name: str) -> None:
    text = inspect.getdoc(DOCUMENTED[name]) or ""
    assert "::" in text or "Example" in text


@pytest.mark.parametrize("name", ERRORS)
def test_every_error_has_the_one_root(name: str) -> None:
    error = getattr(sqlalchemy_spanner_queues, name)
    assert issubclass(error, sqlalchemy_spanner_queues.SpannerQueuesError)
    assert error.__module__ == "sqlalchemy_spanner_queues.exc"


@pytest.mark.parametrize("name", ["Ack", "DeadLetter", "Discard", "Retry"])
def test_what_a_handler_raises_to_say_something_is_no_error_of_the_package(name: str) -> None:
    outcome = getattr(sqlalchemy_spanner_queues, name)
    assert issubclass(outcome, Outcome)
    assert not issubclass(outcome, sqlalchemy_spanner_queues.SpannerQueuesError)


def test_the_version_is_a_version() -> None:
    assert sqlalchemy_spanner_queues.__version__.count(".") == 2
