"""The command ``spanner-queues``, also ``python -m sqlalchemy_spanner_queues``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from sqlalchemy_spanner_queues.exc import SpannerQueuesError

from . import emulator, worker

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a verb and return the exit code: 0 done, 1 failed, 2 wrong usage.

    ::

        main(["emulator", "--port", "9010"])
    """
    parser = argparse.ArgumentParser(
        prog="spanner-queues", description="Google Cloud Spanner queues for SQLAlchemy"
    )
    verbs = parser.add_subparsers(title="verbs", required=True, metavar="VERB")
    emulator.add_parser(verbs)
    worker.add_parser(verbs)
    arguments = parser.parse_args(argv)
    try:
        code: int = arguments.run(arguments)
    except SpannerQueuesError as error:
        print(f"spanner-queues: {error}", file=sys.stderr)
        return 1
    return code
