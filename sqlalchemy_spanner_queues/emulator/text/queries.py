"""The statements that the gateway itself runs against the tables behind queues, in GoogleSQL."""

from __future__ import annotations

from collections.abc import Sequence

from .definition import (
    DELIVER_TIME,
    LAST_IN_BATCH,
    LEASE_EXPIRATION,
    LEASE_TOKEN,
    MESSAGE_ID,
    QueueDefinition,
)
from .tokens import quote_name, quote_string

LEASES_PARAMETER = "spanner_queues_leases"


def candidates(
    queue: QueueDefinition, alias: str, where: str, limit: int, after: tuple[str, str] | None
) -> str:
    """Select key, deliver time and identity of the messages that satisfy a filter, the earliest first.

    ``after`` is the deliver time and identity of the last message of the page before.
    """
    name = quote_name(alias)
    columns = ", ".join(f"{name}.{quote_name(column)}" for column in queue.key_names)
    conditions = [f"({where}\n)"] if where else []
    if after is not None:
        time, identity = f"TIMESTAMP {quote_string(after[0])}", quote_string(after[1])
        conditions.append(
            f"({name}.{DELIVER_TIME} > {time}"
            f" OR ({name}.{DELIVER_TIME} = {time} AND {name}.{MESSAGE_ID} > {identity}))"
        )
    clause = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return (
        f"SELECT {columns}, {name}.{DELIVER_TIME}, {name}.{MESSAGE_ID}"
        f" FROM {quote_name(queue.name)} AS {name}{clause}"
        f" ORDER BY {name}.{DELIVER_TIME}, {name}.{MESSAGE_ID} LIMIT {limit}"
    )


def leased_rows(queue: QueueDefinition) -> str:
    """Select the messages of a batch with the columns of their leases, as RECEIVE returns them."""
    columns = ", ".join(f"q.{quote_name(column)}" for column in queue.columns)
    return (
        f"(SELECT {columns}, l.expires AS {LEASE_EXPIRATION}, l.token AS {LEASE_TOKEN},"
        f" l.last AS {LAST_IN_BATCH}"
        f" FROM {quote_name(queue.name)} AS q JOIN UNNEST(@{LEASES_PARAMETER}) AS l ON q.{MESSAGE_ID} = l.id)"
    )


def renewed_rows() -> str:
    """Select the outcomes of a renewal, as RENEWLEASE returns them."""
    return (
        "(SELECT l.old AS SpannerOldLeaseToken, l.new AS SpannerNewLeaseToken,"
        f" l.expires AS {LEASE_EXPIRATION} FROM UNNEST(@{LEASES_PARAMETER}) AS l)"
    )


def shape(queue: QueueDefinition) -> str:
    """Select nothing from a queue, to learn the types of its columns."""
    columns = ", ".join(quote_name(column) for column in queue.columns)
    return f"SELECT {columns} FROM {quote_name(queue.name)} LIMIT 0"


def identities(queue: QueueDefinition) -> str:
    """Select the identity of every message."""
    return f"SELECT {MESSAGE_ID} FROM {quote_name(queue.name)}"


def payload_columns(queue: QueueDefinition) -> Sequence[str]:
    """Name the columns that a delivery reads, the identity last."""
    return (*queue.columns, MESSAGE_ID)
