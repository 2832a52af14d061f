"""``spanner-queues emulator``: run the local Spanner with queues until stopped."""

from __future__ import annotations

import argparse
import logging
import math
import os
import sys
from collections.abc import Callable
from typing import Final

from sqlalchemy_spanner_queues.exc import EmulatorError

from .verbs import Verbs

_PREFIX: Final = "SPANNER_QUEUES_EMULATOR_"
_EPILOG: Final = f"""\
Prints "ready localhost:PORT" when clients may connect, and runs until SIGTERM or Ctrl-C:

  spanner-queues emulator --port 9010
  SPANNER_EMULATOR_HOST=localhost:9010 your-application

With --rest-port a second line says where the controls are, "admin http://localhost:PORT":

  curl localhost:9020/
  curl -X POST localhost:9020/advance -d '{{"seconds": 3600}}'

Each flag has an environment variable, {_PREFIX}PORT and so on; a flag wins over it.
"""
_EXTRA: Final = ("hpack", "uvloop")
_YES: Final = ("1", "true", "yes", "on")
_NO: Final = ("0", "false", "no", "off", "")


def add_parser(verbs: Verbs) -> None:
    """Add the verb to the command line."""
    parser = verbs.add_parser(
        "emulator",
        help="run a local Spanner with queues",
        description="Run Google's Spanner emulator behind a gateway that adds queues.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_places(parser)
    _add_upstream(parser)
    _add_flag(parser, "verbose", "log each request, and what happens to messages, on standard error")
    _add_flag(parser, "exit-with-stdin", "stop when standard input ends")
    parser.set_defaults(run=run)


def _add_places(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--port", type=_port, default=_env("PORT", "9010"), help="gRPC port; 0 takes a free one (9010)"
    )
    parser.add_argument(
        "--rest-port",
        type=_optional_port,
        default=_env("REST_PORT", ""),
        metavar="PORT",
        help="serve the controls over HTTP on this port, often 9020; 0 takes a free one",
    )
    parser.add_argument("--host", default=_env("HOST", "localhost"), help="address to listen on (localhost)")


def _add_upstream(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--upstream",
        default=_env("UPSTREAM", ""),
        metavar="HOST:PORT",
        help="a running official emulator; otherwise one is found and started",
    )
    _add_flag(parser, "docker", "start the emulator's Docker image, even if a binary is installed")
    parser.add_argument(
        "--start-timeout",
        type=_seconds,
        default=_env("START_TIMEOUT", "30"),
        metavar="SECONDS",
        help="how long the official emulator may take to answer (30)",
    )


def _add_flag(parser: argparse.ArgumentParser, name: str, help: str) -> None:
    default = _env(name.upper().replace("-", "_"), "0")
    # With a value it can be taken back on the command line: --docker=no.
    parser.add_argument(
        f"--{name}", type=_yes, nargs="?", const=True, default=default, metavar="no", help=help
    )


def _env(name: str, default: str) -> str:
    return os.environ.get(_PREFIX + name, default)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port: use a number from 0 to 65535")
    return int(text)


def _optional_port(text: str) -> int | None:
    return _port(text) if text else None


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not (seconds > 0 and math.isfinite(seconds)):
        raise argparse.ArgumentTypeError(f"{text!r} is no time: use a number of seconds above 0")
    return seconds


def _yes(text: str) -> bool:
    if text.lower() not in (*_YES, *_NO):
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither yes nor no: use one of {', '.join(_YES + _NO)}"
        )
    return text.lower() in _YES


def run(arguments: argparse.Namespace) -> int:
    """Serve until stopped."""
    if arguments.upstream and arguments.docker:
        print(
            "spanner-queues: --upstream names a running emulator and --docker starts one: choose one of them"
            f" (they may also come from {_PREFIX}UPSTREAM and {_PREFIX}DOCKER)",
            file=sys.stderr,
        )
        return 2
    serve = _import_serve()
    _log_to_stderr(arguments.verbose)
    try:
        serve(
            port=arguments.port,
            host=arguments.host,
            rest_port=arguments.rest_port,
            upstream=arguments.upstream or None,
            docker=arguments.docker,
            exit_with_stdin=arguments.exit_with_stdin,
            start_timeout=arguments.start_timeout,
        )
    except KeyboardInterrupt:
        # Once it is ready, Ctrl-C is the usual end.
        print("spanner-queues: stopped before the emulator was ready", file=sys.stderr)
        return 1
    return 0


def _import_serve() -> Callable[..., None]:
    try:
        from sqlalchemy_spanner_queues.emulator.serving.serve import serve
    except ModuleNotFoundError as error:
        if error.name not in _EXTRA:
            raise
        raise EmulatorError(
            f"the emulator needs {error.name}: pip install 'sqlalchemy-spanner-queues[emulator]'"
        ) from error
    return serve


def _log_to_stderr(verbose: bool) -> None:
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s")
    if verbose:
        logging.getLogger("sqlalchemy_spanner_queues.emulator").setLevel(logging.DEBUG)
