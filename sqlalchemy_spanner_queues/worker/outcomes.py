"""What a handler says about a message: returned, or raised.

::

    @worker.handler(ResizeImage, mode="outside", retry=RetryPolicy(), dead_letter=FailedMessages)
    def resize(message: ResizeImage) -> Outcome | None:
        answer = service.resize(message.payload.image)
        if answer.status == 429:
            return Retry(delay=timedelta(seconds=answer.retry_after), reason="the service is busy")
        if answer.status == 404:
            return Discard("the image is gone")
        return None                              # the same as Ack()

Only an acknowledgment commits what the handler wrote in its session; every other outcome rolls it back and is
applied in a transaction of its own.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from ..columns import check_delay


class Outcome(Exception):
    """The common part of Ack, Retry, Discard and DeadLetter; ``reason`` is for logs and dead letters.

    Example: ``except Outcome: raise`` where a handler catches everything else.
    """

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.reason!r})"


class Ack(Outcome):
    """The work is done: commit it together with the acknowledgment. None means the same.

    Example: ``raise Ack()`` from deep inside the work.

    https://docs.cloud.google.com/spanner/docs/queues/queues-using
    """


class Retry(Outcome):
    """The message is to be delivered again, ``delay`` from now by the database's clock.

    Example: ``return Retry(delay=timedelta(minutes=5), reason="the service is down")``. Without a delay the
    handler's RetryPolicy names it, and where there is none Spanner's own redelivery, within 10 seconds at
    first and with a back-off later. Raises DeliverTimeError for a negative delay.

    https://docs.cloud.google.com/spanner/docs/queues/queues-examples
    """

    def __init__(self, delay: timedelta | None = None, reason: str = "") -> None:
        super().__init__(reason)
        if delay is not None:
            check_delay(delay)
        self.delay = delay

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.delay, self.reason)

    def __repr__(self) -> str:
        return f"Retry(delay={self.delay!r}, reason={self.reason!r})"


class Discard(Outcome):
    """The message is moot: delete it, and write nothing of the handler's work.

    Example: ``return Discard("the order was cancelled")``.
    """


class DeadLetter(Outcome):
    """The message cannot be worked on: move it to the handler's dead letters at once.

    Example: ``raise DeadLetter("the template does not exist")``. A handler without ``dead_letter=`` leaves
    the message in the queue, and says so in the log: nothing is deleted silently.
    """
