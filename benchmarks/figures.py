"""What a benchmark reports, and how it takes times: in turns, as medians."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Figure:
    """One measured value; ``bound`` is empty where nothing is promised."""

    name: str
    value: float
    unit: str
    bound: str = ""
    ok: bool = True


def at_most(name: str, value: float, unit: str, limit: float) -> Figure:
    return Figure(name, value, unit, f"<= {limit:g}", value <= limit)


def at_least(name: str, value: float, unit: str, limit: float) -> Figure:
    return Figure(name, value, unit, f">= {limit:g}", value >= limit)


def report(name: str, value: float, unit: str) -> Figure:
    return Figure(name, value, unit)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least this share of the values does not exceed."""
    return sorted(values)[max(math.ceil(share * len(values)) - 1, 0)]


def in_turns(rounds: int, *measures: Callable[[], T]) -> list[list[T]]:
    """Run the measures A, B, A, B, … so that a change of the machine's mood strikes all alike."""
    taken: list[list[T]] = [[] for _ in measures]
    for _ in range(rounds):
        for measure, values in zip(measures, taken, strict=True):
            values.append(measure())
    return taken


def medians(rounds: int, *measures: Callable[[], float]) -> list[float]:
    """Return the median of each measure, taken in turns."""
    return [statistics.median(values) for values in in_turns(rounds, *measures)]


def median_ratio(numerators: Sequence[float], denominators: Sequence[float]) -> float:
    """Return the median of the ratios of neighbours in time."""
    return statistics.median(a / b for a, b in zip(numerators, denominators, strict=True))
