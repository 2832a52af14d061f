"""``spanner-queues emulator``: run the local Spanner with queues until stopped."""

from __future__ import annotations

import argparse
import os
from typing import Protocol


class Verbs(Protocol):
    """Where verbs are added."""

    def add_parser(
        self,
        name: str,
        *,
        help: str,
        description: str,
        epilog: str,
        formatter_class: type[argparse.HelpFormatter],
    ) -> argparse.ArgumentParser:
        """Add a verb."""
        ...


_EPILOG = """\
Prints one line, "ready localhost:PORT", when clients may connect, and runs until SIGTERM or Ctrl-C:

  spanner-queues emulator --port 9010
  SPANNER_EMULATOR_HOST=localhost:9010 your-application
"""


def add_parser(verbs: Verbs) -> None:
    """Add the verb to the command line."""
    parser = verbs.add_parser(
        "emulator",
        help="run a local Spanner with queues",
        description="Run Google's Spanner emulator behind a gateway that adds queues.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--port", type=int, default=int(_env("PORT", "9010")), help="port to listen on; 0 takes a free one"
    )
    parser.add_argument("--host", default=_env("HOST", "localhost"), help="address to listen on")
    parser.add_argument(
        "--upstream", default=_env("UPSTREAM", ""), help="host:port of a running official emulator"
    )
    parser.add_argument(
        "--start-timeout", type=float, default=float(_env("START_TIMEOUT", "30")), metavar="SECONDS"
    )
    parser.add_argument("--exit-with-stdin", action="store_true", help="stop when standard input ends")
    parser.set_defaults(run=run)


def _env(name: str, default: str) -> str:
    return os.environ.get(f"SPANNER_QUEUES_EMULATOR_{name}", default)


def run(arguments: argparse.Namespace) -> int:
    """Serve until stopped."""
    from sqlalchemy_spanner_queues.emulator.serving.serve import serve

    serve(
        port=arguments.port,
        host=arguments.host,
        upstream=arguments.upstream or None,
        exit_with_stdin=arguments.exit_with_stdin,
        start_timeout=arguments.start_timeout,
    )
    return 0
