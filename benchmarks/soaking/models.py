"""What the soak stores: tasks in a queue, a result for each, what was sent, and dead letters.

There are several of each, in wards that are used one after the other: the official emulator keeps all that
was ever in a table, and reads all of it for each statement that writes to the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal
from uuid import uuid4

from sqlalchemy import BigInteger, Double, MetaData, String, Table
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from sqlalchemy_spanner_queues import Json, QueueMessage, message_key, payload_column
from sqlalchemy_spanner_queues.worker import DeadLetters, attempts_table


@dataclass
class Work:
    """``kind`` chooses the handler, ``sent_at`` is the host's time in seconds since the epoch."""

    kind: Literal["single", "batch"]
    sent_at: float


class Task(QueueMessage):
    task_id: Mapped[str] = message_key("TaskId")
    payload: Mapped[Work] = payload_column(Json(Work))


class Result:
    """The effect of a task. Its key is random, so that a second effect is stored, and seen."""

    result_id: Mapped[str] = mapped_column(
        "ResultId", String(36), primary_key=True, insert_default=lambda: str(uuid4())
    )
    task: Mapped[str] = mapped_column("Task", String(36))
    attempts: Mapped[int] = mapped_column("Attempts", BigInteger)
    seconds: Mapped[float] = mapped_column("Seconds", Double)


class Sending:
    """A batch of tasks that was sent; tells whether a commit without an answer was applied."""

    sending_id: Mapped[int] = mapped_column("SendingId", BigInteger, primary_key=True, autoincrement=False)


@dataclass(frozen=True)
class Ward:
    """A queue and the tables around it."""

    number: int
    metadata: MetaData
    task: type[Any]
    result: type[Any]
    dead: type[Any]
    attempts: Table


def ward(number: int) -> Ward:
    class Base(DeclarativeBase):
        pass

    def mapped(part: type[Any]) -> type[Any]:
        return type(part.__name__, (part, Base), {"__tablename__": f"{part.__name__}s{number:02}"})

    mapped(Sending)
    attempts = attempts_table(Base.metadata, f"Attempts{number:02}")
    return Ward(number, Base.metadata, mapped(Task), mapped(Result), mapped(DeadLetters), attempts)


WARDS = [ward(number) for number in range(20)]
IN_A_WARD = 1000
