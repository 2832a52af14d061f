"""Run the benchmarks, print a table, and exit with 1 if a bound is missed."""

from __future__ import annotations

import argparse
import sys
import time
from importlib import import_module

from sqlalchemy_spanner_queues.exc import EmulatorNotFound

from .figures import Figure

BENCHMARKS = (
    "importing",
    "requests",
    "first_row",
    "throughput",
    "pass_through",
    "gateway",
    "sqlite_wake",
    "sqlite_throughput",
    "memory",
    "worker_sqlite",
    "worker_emulator",
    "worker_leases",
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="small sizes, half a minute in all")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(BENCHMARKS)}")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(BENCHMARKS):
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    missed = [
        figure
        for name in arguments.names or BENCHMARKS
        for figure in run(name, arguments.smoke)
        if not figure.ok
    ]
    for figure in missed:
        print(f"missed: {figure.name}: {figure.value:.4g} {figure.unit}, not {figure.bound}", file=sys.stderr)
    return 1 if missed else 0


def run(name: str, smoke: bool) -> list[Figure]:
    started = time.monotonic()
    try:
        figures: list[Figure] = import_module(f"benchmarks.{name}").run(smoke)
    except EmulatorNotFound as error:
        print(f"{name}: not run: {error}", flush=True)
        return []
    print(f"{name} ({time.monotonic() - started:.0f} s)")
    for figure in figures:
        verdict = "" if not figure.bound else "ok" if figure.ok else "MISSED"
        print(f"  {figure.name:<58} {figure.value:>10,.4g} {figure.unit:<9} {figure.bound:<8} {verdict}")
    sys.stdout.flush()
    return figures


if __name__ == "__main__":
    sys.exit(main())
