"""Read the database error behind an exception of SQLAlchemy, whatever wraps it."""

from __future__ import annotations

from collections.abc import Iterator


def causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, what it wraps (``orig``) and what it was raised from, each once."""
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        for inner in (getattr(current, "orig", None), current.__cause__):
            if isinstance(inner, BaseException):
                waiting.append(inner)


def mentions(error: BaseException, *needles: str) -> bool:
    """Tell whether the database's own words have one of the texts, in any letter case.

    Not SQLAlchemy's, which repeat the statement and its parameters: any text may stand in those.
    """
    texts = [str(cause).lower() for cause in causes(error) if getattr(cause, "orig", None) is None]
    return any(needle in text for text in texts for needle in needles)


def has_type(error: BaseException, *names: str) -> bool:
    """Tell whether an error or one of its causes is of a class of one of these names.

    By name, because the driver's classes must not be imported before a Spanner engine is used.
    """
    return any(base.__name__ in names for cause in causes(error) for base in type(cause).__mro__)
