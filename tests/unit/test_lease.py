"""What a received message carries: its lease, and what stands in for a payload that cannot be decoded."""

from __future__ import annotations

import copy
import pickle
from datetime import UTC, datetime

import pytest
from sqlalchemy import MetaData
from sqlalchemy.orm import DeclarativeBase, Mapped

from sqlalchemy_spanner_queues import (
    Bytes,
    LeaseLost,
    PayloadError,
    QueueMessage,
    SpannerQueuesError,
    message_key,
    payload_column,
)
from sqlalchemy_spanner_queues.message import Lease, UndecodablePayload, mark_lost, mark_renewed

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


class Base(DeclarativeBase):
    metadata = MetaData()


class Job(QueueMessage, Base):
    __tablename__ = "Jobs"
    key: Mapped[str] = message_key("JobKey")
    payload: Mapped[bytes] = payload_column(Bytes())


def new_lease() -> Lease:
    return Lease("Jobs", {"JobKey": "a"}, "token-1", NOON)


def test_a_lease_is_held_until_it_is_lost() -> None:
    lease = new_lease()
    lease.raise_if_lost()
    assert not lease.lost.is_set()
    mark_lost(lease, "the server does not know the token")
    assert lease.lost.wait(0)
    with pytest.raises(LeaseLost, match="does not know the token") as caught:
        lease.raise_if_lost()
    assert caught.value.queue == "Jobs"
    assert caught.value.keys == {"JobKey": "a"}


def test_the_first_reason_stays() -> None:
    lease = new_lease()
    mark_lost(lease, "first")
    mark_lost(lease, "second")
    assert lease.reason == "first"


def test_a_renewal_replaces_the_token() -> None:
    lease = new_lease()
    later = NOON.replace(second=10)
    mark_renewed(lease, "token-2", later)
    assert (lease.token, lease.expires_at) == ("token-2", later)


@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_lease_can_be_pickled(lost: bool, protocol: int) -> None:
    lease = new_lease()
    if lost:
        mark_lost(lease, "gone")
    again = pickle.loads(pickle.dumps(lease, protocol))
    assert again.lost.is_set() is lost
    assert (again.queue, again.keys, again.token, again.expires_at, again.reason) == (
        "Jobs",
        {"JobKey": "a"},
        "token-1",
        NOON,
        lease.reason,
    )
    mark_lost(again, "elsewhere")
    assert lease.lost.is_set() is lost


def test_a_lease_can_be_copied() -> None:
    assert copy.deepcopy(new_lease()).token == "token-1"


def test_a_repr_says_whose_lease_it_is_and_how_it_stands() -> None:
    lease = new_lease()
    assert repr(lease) == "<Lease of {'JobKey': 'a'} of Jobs, until 2030-01-01T12:00:00+00:00>"
    mark_lost(lease, "gone")
    assert repr(lease) == "<Lease of {'JobKey': 'a'} of Jobs, lost: gone>"


def test_a_message_that_was_not_received_has_no_lease() -> None:
    with pytest.raises(SpannerQueuesError, match="only a Receiver gives one"):
        _ = Job(payload=b"").lease


def broken() -> UndecodablePayload:
    return UndecodablePayload(PayloadError("it does not fit", raw=b"\xff", codec="Text()"))


def test_an_undecodable_payload_keeps_what_is_stored() -> None:
    payload = broken()
    assert payload.raw == b"\xff"
    assert payload.error.codec == "Text()"
    assert repr(payload) == "<undecodable payload: it does not fit>"


@pytest.mark.parametrize(
    "use",
    [
        lambda payload: payload.email,
        lambda payload: payload["email"],
        lambda payload: list(payload),
        lambda payload: payload.get("email"),
        lambda payload: "email" in payload,
        lambda payload: len(payload),
        lambda payload: bytes(payload),
        lambda payload: payload == b"x",
        lambda payload: bool(payload),
    ],
    ids=["attribute", "item", "iteration", "method", "in", "len", "bytes", "equality", "truth"],
)
def test_an_undecodable_payload_cannot_be_taken_for_one(use: object) -> None:
    with pytest.raises(PayloadError, match="it does not fit"):
        use(broken())  # type: ignore[operator]


def test_an_undecodable_payload_can_be_pickled_and_copied() -> None:
    for again in (pickle.loads(pickle.dumps(broken())), copy.copy(broken()), copy.deepcopy(broken())):
        assert again.raw == b"\xff"
        assert str(again.error) == "it does not fit"


def test_errors_can_be_pickled() -> None:
    lost = LeaseLost("Jobs", {"JobKey": "a"}, "gone")
    again = pickle.loads(pickle.dumps(lost))
    assert (again.queue, again.keys, again.reason, str(again)) == (lost.queue, lost.keys, "gone", str(lost))
