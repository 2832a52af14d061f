"""What the model is told, and what it makes of that: moments, actions, rows, and ways of delivery."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy_spanner_queues._delivery import LEASE_SECONDS, redelivery_delay


@dataclass(frozen=True, slots=True)
class Moment:
    """A time that lies between two others, in seconds of the delivery clock."""

    low: float
    high: float

    def __add__(self, seconds: float) -> Moment:
        return Moment(self.low + seconds, self.high + seconds)


@dataclass(frozen=True, slots=True)
class Send:
    """Send a message, due ``delay`` seconds from now; None leaves the deliver time out."""

    key: int
    delay: float | None = None
    payload: str = ""


@dataclass(frozen=True, slots=True)
class Remove:
    """Delete a message; ``missing`` names the status code with which that fails when there is none."""

    key: int
    missing: str = ""


Action = Send | Remove


@dataclass(frozen=True, slots=True)
class Row:
    """A received row."""

    key: int
    payload: str
    due: float
    expires: float
    token: str
    last: bool

    @property
    def delivered(self) -> float:
        """When it was leased."""
        return self.expires - LEASE_SECONDS


@dataclass(frozen=True, slots=True)
class Held:
    """One way in which a message may have been delivered up to now."""

    deliveries: int
    first: Moment
    ends: Moment

    def again(self) -> Moment:
        """When it is delivered again: at the end of its lease, after a back-off."""
        soonest = redelivery_delay(self.deliveries, self.ends.low - self.first.high)
        latest = redelivery_delay(self.deliveries, self.ends.high - self.first.low)
        return Moment(self.ends.low + soonest, self.ends.high + latest)
