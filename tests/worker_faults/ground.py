"""A database with a queue of tasks, and a look at it that no injected fault touches."""

from __future__ import annotations

import functools
import json
import uuid
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues.emulator import Emulator
from sqlalchemy_spanner_queues.emulator.clients import make_client
from sqlalchemy_spanner_queues.worker import DeadMessage, Worker, dead_letters, dead_message
from tests.worker_faults.models import Done, Failed, Task, Work

STREAM = "ExecuteStreamingSql"
RECEIVE = "RECEIVE_"
RENEW = "RENEWLEASE_"


@dataclass(frozen=True)
class Counted:
    """What is in the tables at one moment: ids, one for each row, and the attempts by id."""

    waiting: list[int]
    done: list[int]
    dead: list[int]
    attempts: dict[int, int]


class Ground:
    """What a test of a fault stands on; ``sent`` are the ids of all tasks so far."""

    def __init__(self, emulator: Emulator, engine: Engine) -> None:
        self.emulator = emulator
        self.engine = engine
        self.sent: list[int] = []
        self.is_checked = False
        self._advanced = 0.0

    @property
    def path(self) -> str:
        return str(self.engine.url.database)

    def send(self, *ids: int) -> None:
        with Session(self.engine) as session, session.begin():
            session.add_all([Task(id=id, payload=Work("work")) for id in ids])
        self.sent += ids

    def send_rubbish(self, id: int, payload: str) -> None:
        """Send JSON that is no Work, as another program's SQL may."""
        sql = f"INSERT INTO Tasks (Id, Payload) VALUES ({id}, JSON '{payload}')"
        self.emulator_database.run_in_transaction(lambda transaction: transaction.execute_update(sql))
        self.sent.append(id)

    def worker(self, **options: Any) -> Worker:
        return Worker(self.engine, **options)

    def advance(self, seconds: float) -> None:
        self.emulator.advance(seconds)
        self._advanced += seconds

    def end_faults(self) -> None:
        """Forget the faults, and the leases with them, at the time that it is."""
        self.emulator.reset()
        self.emulator.advance(self._advanced)

    def requests(self, method: str) -> int:
        """Return how often clients requested a method since the last call of ``count_requests``."""
        return self.emulator.requests().get(method, 0)

    def count_requests(self) -> None:
        self.emulator.requests(reset=True)

    def count(self) -> Counted:
        """Read all tables at one moment, from the official emulator itself."""
        with _database(_client_of(self.emulator.upstream), self.path).snapshot(multi_use=True) as snapshot:
            waiting, done, dead = (
                sorted(int(row[0]) for row in snapshot.execute_sql(f"SELECT {id} FROM {table}"))
                for id, table in (
                    ("Id", "Tasks"),
                    ("Id", "Done"),
                    ("JSON_VALUE(MessageKey, '$[0]')", "Failed"),
                )
            )
            rows = snapshot.execute_sql("SELECT MessageKey, Attempts FROM MessageAttempts")
            return Counted(waiting, done, dead, {json.loads(key)[0]: attempts for key, attempts in rows})

    def dead(self) -> dict[int, DeadMessage]:
        """Return the dead letters by the id of their task."""
        with Session(self.engine) as session:
            letters = [dead_message(letter) for letter in dead_letters(session, Failed)]
        return {json.loads(letter.key)[0]: letter for letter in letters}

    def leases(self) -> dict[int, dict[str, Any]]:
        """Return what the emulator has leased, by the id of the task."""
        return {int(lease["key"][0]): lease for lease in self.emulator.leases(self.path)}

    @functools.cached_property
    def emulator_database(self) -> Any:
        return _database(self.emulator.client, self.path)


def note(session: Session, task: Task) -> None:
    """Write the business row of a task."""
    session.add(Done(id=task.id, attempt=str(uuid.uuid4())))


@functools.cache
def _client_of(address: str) -> Any:
    return make_client(address)


def _database(client: Any, path: str) -> Any:
    return client.instance(path.split("/")[3]).database(path.rsplit("/", 1)[1])
