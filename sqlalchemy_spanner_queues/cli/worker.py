"""``spanner-queues worker``: run the worker of an application until stopped."""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import sys
from typing import Final

from sqlalchemy_spanner_queues.exc import SpannerQueuesError
from sqlalchemy_spanner_queues.worker import Worker

from .verbs import Verbs

_PREFIX: Final = "SPANNER_QUEUES_WORKER_"
_EPILOG: Final = f"""\
WORKER is module:attribute, found from the current directory on:

  spanner-queues worker myapp.tasks:worker

The first SIGTERM or Ctrl-C stops the intake and lets running handlers finish; a second one ends at once.
Exits with 0 after a clean end, 1 after a forced one, 2 after an error.

Each flag has an environment variable, {_PREFIX}CONCURRENCY and so on; a flag wins over it.
"""
_CLEAN: Final = 0
_FORCED: Final = 1
_ERROR: Final = 2


def add_parser(verbs: Verbs) -> None:
    """Add the verb to the command line."""
    parser = verbs.add_parser(
        "worker",
        help="run the worker of an application",
        description="Run the handlers of a Worker on the messages of its queues.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("worker", metavar="WORKER", help="where the Worker is, as module:attribute")
    parser.add_argument(
        "--concurrency",
        type=int,
        default=_env("CONCURRENCY"),
        help="messages of each queue that are worked on at once (what the worker says, or 10)",
    )
    parser.add_argument(
        "--shutdown-timeout",
        type=float,
        default=_env("SHUTDOWN_TIMEOUT"),
        metavar="SECONDS",
        help="how long running handlers have to finish (what the worker says, or 25)",
    )
    parser.add_argument("--drain", action="store_true", help="work on what is due, then end")
    parser.add_argument(
        "--log-level",
        default=_env("LOG_LEVEL") or "INFO",
        metavar="LEVEL",
        help="DEBUG, INFO, WARNING ... (INFO)",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the worker, and return the exit code."""
    try:
        _log(arguments.log_level.upper())
        worker = find_worker(arguments.worker)
        worker.configure(concurrency=arguments.concurrency, shutdown_timeout=arguments.shutdown_timeout)
    except (SpannerQueuesError, ValueError) as error:
        print(f"spanner-queues worker: {error}", file=sys.stderr)
        return _ERROR
    return _run(worker, drain=arguments.drain)


def find_worker(place: str) -> Worker:
    """Return the worker at a place, as module:attribute.

    Example: ``find_worker("myapp.tasks:worker")``. Raises SpannerQueuesError where there is none.
    """
    module, _, attribute = place.partition(":")
    if not module or not attribute:
        raise SpannerQueuesError(f"a worker is named module:attribute, as myapp.tasks:worker, not {place!r}")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: object = importlib.import_module(module)
        for name in attribute.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError) as error:
        raise SpannerQueuesError(f"there is no {place}: {error}") from error
    if not isinstance(found, Worker):
        raise SpannerQueuesError(f"{place} is {found!r}, and no Worker")
    return found


def _run(worker: Worker, *, drain: bool) -> int:
    try:
        if drain:
            worker.drain()
            return _CLEAN
        code = worker.run()
    except Exception as error:  # noqa: BLE001 - logged with its traceback by the worker
        print(f"spanner-queues worker: {error}", file=sys.stderr)
        return _ERROR
    if code:
        # Handlers that do not end must not keep the process.
        logging.shutdown()
        sys.stdout.flush()
        os._exit(_FORCED)
    return _CLEAN


def _log(level: str) -> None:
    if level not in logging.getLevelNamesMapping():
        raise ValueError(f"--log-level is DEBUG, INFO, WARNING, ERROR or CRITICAL, not {level!r}")
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(message)s")


def _env(name: str) -> str | None:
    return os.environ.get(_PREFIX + name) or None
