"""Flow control, the receiving half: how much a peer may send before it must wait.

https://www.rfc-editor.org/rfc/rfc9113#section-5.2
"""

from __future__ import annotations

from .protocol import ConnectionFault, ErrorCode


class ReceiveWindow:
    """What a peer may still send, in bytes; grants are collected so that few frames go out."""

    __slots__ = ("_left", "_owed", "_size")

    def __init__(self, size: int) -> None:
        self._size = size
        self._left = size
        self._owed = 0

    def take(self, size: int) -> None:
        """Note what has arrived.

        Raises ConnectionFault when it is more than was granted.
        """
        self._left -= size
        if self._left < 0:
            raise ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, "more data than was granted")

    def give_back(self, size: int) -> int:
        """Note what has been used up; return the increment to announce now, often 0."""
        self._owed += size
        if 2 * self._owed < self._size:
            return 0
        increment, self._owed = self._owed, 0
        self._left += increment
        return increment
