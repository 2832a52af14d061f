"""``spanner-queues worker``: how it finds a worker, what its flags do, and how it ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sqlalchemy_spanner_queues.cli import main
from sqlalchemy_spanner_queues.cli.worker import find_worker
from sqlalchemy_spanner_queues.exc import SpannerQueuesError

APPLICATION = """\
import sys
from sqlalchemy import create_engine, inspect
from sqlalchemy.orm import DeclarativeBase, Mapped, Session
from sqlalchemy_spanner_queues import Bytes, QueueMessage, Worker, message_key, payload_column

class Base(DeclarativeBase):
    pass

class Job(QueueMessage, Base):
    __tablename__ = "Jobs"
    key: Mapped[str] = message_key("JobKey")
    payload: Mapped[bytes] = payload_column(Bytes())

engine = create_engine("sqlite:///jobs.db")
worker = Worker(engine)
number = 7

class holder:
    inner = worker

@worker.handler(Job, mode="outside")
def show(message: Job) -> None:
    print(message.payload, worker.concurrency, worker.shutdown_timeout, flush=True)

def send() -> None:
    Base.metadata.create_all(engine)
    with Session(engine) as session, session.begin():
        session.add(Job(payload=b"hello"))
"""


@pytest.fixture
def application(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module ``jobs_app`` in the current directory."""
    (tmp_path / "jobs_app.py").write_text(APPLICATION)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "jobs_app", raising=False)
    return tmp_path


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sqlalchemy_spanner_queues", "worker", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, env={**os.environ, **environment}
    )


def send(application: Path) -> None:
    code = "import jobs_app; jobs_app.send()"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, cwd=application)


def test_it_drains_what_is_due(application: Path) -> None:
    send(application)
    done = run("jobs_app:worker", "--drain", "--concurrency", "3", "--shutdown-timeout", "1.5")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "b'hello' 3 1.5\n"
    assert "worker.stopped reason='clean'" in done.stderr


def test_flags_come_from_the_environment_too(application: Path) -> None:
    send(application)
    done = run(
        "jobs_app:worker",
        "--drain",
        "--shutdown-timeout=2",
        SPANNER_QUEUES_WORKER_CONCURRENCY="4",
        SPANNER_QUEUES_WORKER_SHUTDOWN_TIMEOUT="9",
        SPANNER_QUEUES_WORKER_LOG_LEVEL="ERROR",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "b'hello' 4 2.0\n", "")


def test_an_error_ends_it_with_2(application: Path) -> None:
    done = run("jobs_app:worker")  # the table does not exist
    assert done.returncode == 2
    assert "no such table: Jobs" in done.stderr


@pytest.mark.parametrize(
    ("place", "problem"),
    [
        ("jobs_app", "named module:attribute"),
        ("jobs_app:", "named module:attribute"),
        (":worker", "named module:attribute"),
        ("no_such_app:worker", "No module named 'no_such_app'"),
        ("jobs_app:missing", "no attribute 'missing'"),
        ("jobs_app:number", "is 7, and no Worker"),
    ],
)
def test_what_is_no_worker_is_refused(
    application: Path, capsys: pytest.CaptureFixture[str], place: str, problem: str
) -> None:
    with pytest.raises(SpannerQueuesError, match=problem):
        find_worker(place)
    assert main(["worker", place]) == 2
    assert problem in capsys.readouterr().err


def test_a_worker_may_be_an_attribute_of_an_attribute(application: Path) -> None:
    assert find_worker("jobs_app:holder.inner") is find_worker("jobs_app:worker")


@pytest.mark.parametrize("flag", ["--concurrency=0", "--shutdown-timeout=-1", "--log-level=LOUD"])
def test_flags_that_make_no_sense_are_refused(
    application: Path, capsys: pytest.CaptureFixture[str], flag: str
) -> None:
    assert main(["worker", "jobs_app:worker", flag]) == 2
    assert capsys.readouterr().err.startswith("spanner-queues worker: ")
