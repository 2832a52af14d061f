"""Number the gateway's own parameters beside those of the client."""

from __future__ import annotations

from collections.abc import Iterable


def first_free(prefix: str, used: Iterable[str]) -> int:
    """Return the first number that no name of the form prefix and number reaches.

    ::

        first_free("p", ["p1", "p7"])     # 8
    """
    numbers = [name[len(prefix) :] for name in used if name.lower().startswith(prefix)]
    return max((int(number) for number in numbers if number.isdecimal()), default=0) + 1
