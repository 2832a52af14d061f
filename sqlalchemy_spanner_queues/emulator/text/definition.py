"""What a queue is, as the gateway keeps it.

https://docs.cloud.google.com/spanner/docs/queues/queues-overview
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Names:
    """What the columns that no queue declares are called in a dialect, and the payload."""

    payload: str
    deliver_time: str
    lease_expiration: str
    lease_token: str
    last_in_batch: str
    old_token: str
    new_token: str

    @property
    def lease_columns(self) -> tuple[str, str, str]:
        """The columns that RECEIVE adds to those of the queue, in order."""
        return self.lease_expiration, self.lease_token, self.last_in_batch

    @property
    def renewal_columns(self) -> tuple[str, str, str]:
        """The columns of RENEWLEASE, in order."""
        return self.old_token, self.new_token, self.lease_expiration


@dataclass(frozen=True, slots=True)
class Column:
    """A declared column: its name, its definition as it was written, and whether its value is computed."""

    name: str
    text: str
    generated: bool = False


@dataclass(frozen=True, slots=True)
class QueueDefinition:
    """A queue: columns, key, and clauses, each as text of the dialect.

    ``interleave`` reads like ``IN PARENT Users``, ``on_delete`` like ``CASCADE``, ``row_deletion`` like
    ``(OLDER_THAN(CreatedAt, INTERVAL 7 DAY))`` or ``INTERVAL '7 days' ON created_at``; empty when the queue
    has none.
    """

    name: str
    names: Names
    keys: tuple[Column, ...]
    payload: Column
    key_parts: tuple[str, ...]
    key_order: tuple[str, ...]
    interleave: str = ""
    on_delete: str = ""
    row_deletion: str = ""
    options: Mapping[str, str] = field(default_factory=lambda: dict[str, str]())

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that a reader sees, in order; the leases' own columns come after them."""
        return (*(key.name for key in self.keys), self.payload.name, self.names.deliver_time)

    @property
    def received_columns(self) -> tuple[str, ...]:
        """The columns of RECEIVE, in order."""
        return (*self.columns, *self.names.lease_columns)

    @property
    def identity_columns(self) -> tuple[str, ...]:
        """The columns that tell one message from another: the key in its order, and the deliver time.

        A deliver time is never in the past when a message is sent, so that a key which is acknowledged and
        sent again is another message.
        """
        return (*self.key_order, self.names.deliver_time)

    @property
    def generated(self) -> frozenset[str]:
        """The key columns that nobody writes to."""
        return frozenset(key.name for key in self.keys if key.generated)

    def enabled(self, option: str) -> bool:
        """Tell whether a boolean option is set to true."""
        return self.options.get(option, "").lower() == "true"
