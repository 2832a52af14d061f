"""Translate the mutations of queues into those of the tables behind them.

Send becomes an insert. Ack becomes an update followed by a delete: the update fails with NOT_FOUND when the
message is gone, as Ack does, and a Send of the same key may follow.

https://docs.cloud.google.com/spanner/docs/queues/queues-using
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from google.protobuf.struct_pb2 import ListValue, Value
from google.protobuf.timestamp_pb2 import Timestamp

from .. import _protos as pb
from ..delivery.clock import format_timestamp, parse_timestamp
from ..errors import invalid, not_found
from ..text.definition import QueueDefinition

Queues = Mapping[str, QueueDefinition]
_EPOCH = "1970-01-01T00:00:00Z"


def names_queue_operation(mutations: Iterable[pb.Mutation]) -> bool:
    """Tell whether there is a Send or an Ack, which upstream does not know."""
    return any(mutation.WhichOneof("operation") in ("send", "ack") for mutation in mutations)


def translate_mutations(
    mutations: Iterable[pb.Mutation], queues: Queues, now: float
) -> tuple[list[pb.Mutation], set[str]]:
    """Return the mutations for upstream, and the names (lower case) of the queues that are sent to.

    A deliver time that is over is moved to ``now``, in seconds since the epoch.

    Raises Refusal for a mutation that a queue does not support.
    """
    translated: list[pb.Mutation] = []
    sent: set[str] = set()
    for mutation in mutations:
        operation = mutation.WhichOneof("operation")
        if operation == "send":
            queue = _queue(mutation.send.queue, queues)
            sent.add(queue.name.lower())
            translated.append(_insert(mutation.send, queue, now))
        elif operation == "ack":
            translated.extend(_acknowledge(mutation.ack, _queue(mutation.ack.queue, queues)))
        else:
            sent |= _check_write(mutation, operation, queues, now)
            translated.append(mutation)
    return translated, sent


def _queue(name: str, queues: Queues) -> QueueDefinition:
    queue = queues.get(name.lower())
    if queue is None:
        raise not_found(f"Queue not found: {name}")
    return queue


def _check_write(mutation: pb.Mutation, operation: str | None, queues: Queues, now: float) -> set[str]:
    writes = {
        "insert": mutation.insert,
        "update": mutation.update,
        "insert_or_update": mutation.insert_or_update,
        "replace": mutation.replace,
    }
    write = writes.get(operation or "")
    queue = queues.get(write.table.lower()) if write else None
    if queue is None:
        return set()
    if operation != "insert":
        raise invalid(f"{operation} mutations are not supported on queue {queue.name}")
    check_send(queue)
    _send_now(mutation.insert, queue, now)
    return {queue.name.lower()}


def _send_now(write: pb.Mutation.Write, queue: QueueDefinition, now: float) -> None:
    names = [name.lower() for name in write.columns]
    if queue.names.deliver_time.lower() not in names:
        return
    place = names.index(queue.names.deliver_time.lower())
    for row in write.values:
        if place < len(row.values):
            row.values[place].CopyFrom(_not_before(row.values[place], now))


def _not_before(due: Value, now: float) -> Value:
    try:
        is_over = due.string_value.endswith("Z") and parse_timestamp(due.string_value) < now
    except ValueError:
        # Anything else than a timestamp is upstream's to refuse.
        return due
    return Value(string_value=format_timestamp(now)) if is_over else due


def check_send(queue: QueueDefinition) -> None:
    """Refuse to send to a queue that has sending disabled."""
    if queue.enabled("disable_send"):
        raise invalid(f"Sending to queue {queue.name} is disabled: its option disable_send is true")


def _insert(send: pb.Mutation.Send, queue: QueueDefinition, now: float) -> pb.Mutation:
    check_send(queue)
    _check_key(send.key, queue)
    mutation = pb.Mutation()
    mutation.insert.table = queue.name
    key = dict(zip(queue.key_order, send.key.values, strict=True))
    written = [name for name in queue.key_order if name not in queue.generated]
    mutation.insert.columns.extend([*written, queue.payload.name])
    row = ListValue(values=[*(key[name] for name in written), send.payload])
    if send.HasField("deliver_time"):
        mutation.insert.columns.append(queue.names.deliver_time)
        row.values.append(_not_before(_as_value(send.deliver_time), now))
    mutation.insert.values.append(row)
    return mutation


def _as_value(due: Timestamp) -> Value:
    try:
        return Value(string_value=due.ToJsonString())
    except ValueError as error:
        raise invalid(f"Invalid deliver_time: {error}") from error


def _acknowledge(ack: pb.Mutation.Ack, queue: QueueDefinition) -> list[pb.Mutation]:
    _check_key(ack.key, queue)
    delete = pb.Mutation()
    delete.delete.table = queue.name
    delete.delete.key_set.keys.append(ack.key)
    if ack.ignore_not_found:
        return [delete]
    update = pb.Mutation()
    update.update.table = queue.name
    update.update.columns.extend(queue.identity_columns)
    update.update.values.append(ListValue(values=[*ack.key.values, Value(string_value=_EPOCH)]))
    return [update, delete]


def _check_key(key: ListValue, queue: QueueDefinition) -> None:
    if len(key.values) != len(queue.key_order):
        raise invalid(
            f"Queue {queue.name} has {len(queue.key_order)} key columns, got {len(key.values)} values"
        )
