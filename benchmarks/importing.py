"""What importing the package costs, and that nothing of gRPC is loaded before it is needed."""

from __future__ import annotations

import subprocess
import sys

from .figures import Figure, at_most, medians

# What every user of SQLAlchemy has imported by the time a model is declared and an engine is made.
SQLALCHEMY = "import sqlalchemy, sqlalchemy.orm, sqlalchemy.dialects.sqlite"
PACKAGE = f"{SQLALCHEMY}, sqlalchemy_spanner_queues"

TIMED = """
import time
started = time.process_time()
{imports}
print(time.process_time() - started)
"""

COUNT_LOADED = """
import sys
print(sum(name.split(".")[0] == "grpc" or name.startswith("google.cloud") for name in sys.modules))
"""

USE_SQLITE = """
from sqlalchemy import create_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session
from sqlalchemy_spanner_queues import Json, QueueMessage, Receiver, message_key, payload_column

class Base(DeclarativeBase): pass

class Job(QueueMessage, Base):
    __tablename__ = "Jobs"
    message_id: Mapped[str] = message_key("MessageId")
    payload: Mapped[dict] = payload_column(Json())

engine = create_engine("sqlite://")
Base.metadata.create_all(engine)
with Session(engine) as session, session.begin():
    session.add(Job(payload={"a": 1}))
with Receiver(engine, Job) as receiver:
    for message in receiver:
        with receiver.processing(message):
            break
"""


def run(smoke: bool) -> list[Figure]:
    seconds(PACKAGE)  # writes the compiled files, where there are none
    rounds = 3 if smoke else 25
    without, with_package = medians(rounds, lambda: seconds(SQLALCHEMY), lambda: seconds(PACKAGE))
    return [
        at_most("import, above that of SQLAlchemy", (with_package - without) * 1000, "ms", 60),
        at_most("gRPC modules after the import", loaded("import sqlalchemy_spanner_queues"), "modules", 0),
        at_most("gRPC modules after receiving on SQLite", loaded(USE_SQLITE), "modules", 0),
    ]


def seconds(imports: str) -> float:
    """Return the seconds of CPU that imports take in a new process; other processes do not disturb them."""
    return float(python(TIMED.format(imports=imports)))


def loaded(code: str) -> int:
    return int(python(code + COUNT_LOADED))


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
