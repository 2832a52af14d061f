"""The key is the deduplication key: a duplicate is an error that names it, or is left out."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy.orm import Session

from sqlalchemy_spanner_queues import MessageAlreadyExists, Receiver, send_many
from tests.conformance.engines import World
from tests.conformance.helpers import arriving_keys, count, finish, send, send_jobs, take_one
from tests.conformance.models import Job, User, Welcome, WelcomeEmail


def jobs(*keys: str) -> list[Job]:
    return [Job(key=key, payload=b"new") for key in keys]


def payloads(world: World) -> dict[str, bytes]:
    with Session(world.engine) as session:
        return {job.key: job.payload for job in session.query(Job)}


@pytest.mark.parametrize("keys", [["b"], ["a", "b", "c"]], ids=["single", "batch"])
def test_a_duplicate_names_its_key_and_commits_nothing(ready: World, keys: list[str]) -> None:
    send_jobs(ready, "b")
    with Session(ready.engine) as session:
        session.add(User(user_id=1))
        with pytest.raises(MessageAlreadyExists) as raised:
            send_many(session, jobs(*keys))
        session.rollback()
    assert raised.value.queue == "Jobs"
    assert "b" in [value for key in raised.value.keys for value in key.values()]
    assert [count(ready, User), payloads(ready)] == [0, {"b": b"b"}]


def test_a_duplicate_by_add_names_its_key_too(ready: World) -> None:
    send_jobs(ready, "b")
    with pytest.raises(MessageAlreadyExists, match="b"), Session(ready.engine) as session, session.begin():
        session.add_all([User(user_id=1), *jobs("a", "b")])
    assert [count(ready, User), payloads(ready)] == [0, {"b": b"b"}]


def test_skip_leaves_out_what_is_pending_and_keeps_positions(ready: World) -> None:
    send_jobs(ready, "b", "d")
    wanted = jobs("a", "b", "c", "d", "e", "a")
    with Session(ready.engine) as session, session.begin():
        session.add(User(user_id=1))
        sent = send_many(session, wanted, on_conflict="skip")
        assert sent == [wanted[0], None, wanted[2], None, wanted[4], None]
    assert count(ready, User) == 1
    assert payloads(ready) == {"a": b"new", "b": b"b", "c": b"new", "d": b"d", "e": b"new"}


def test_skip_with_keys_made_up_sends_all(ready: World) -> None:
    send(ready, User(user_id=1))
    with Session(ready.engine) as session, session.begin():
        emails = [WelcomeEmail(user_id=1, payload=Welcome("hi", str(n))) for n in range(3)]
        assert send_many(session, emails, on_conflict="skip") == emails
    assert count(ready, WelcomeEmail) == 3


def test_skip_sees_what_the_same_session_has_added(ready: World) -> None:
    with Session(ready.engine) as session, session.begin():
        session.add(Job(key="a", payload=b"first"))
        assert send_many(session, jobs("a"), on_conflict="skip") == [None]
    assert payloads(ready) == {"a": b"first"}


def test_skip_looks_up_many_keys(ready: World) -> None:
    keys = [f"j{number:04}" for number in range(450)]
    send_jobs(ready, *keys[::2])
    with Session(ready.engine) as session, session.begin():
        sent = send_many(session, jobs(*keys), on_conflict="skip")
    assert [job is None for job in sent] == [True, False] * 225
    assert count(ready, Job) == 450


def test_a_message_in_somebodys_hands_is_still_a_duplicate(ready: World) -> None:
    send_jobs(ready, "a")
    with Receiver(ready.engine, Job) as receiver:
        message = take_one(receiver)
        with Session(ready.engine) as session, session.begin():
            assert send_many(session, jobs("a"), on_conflict="skip") == [None]
        finish(ready.engine, message)
        with Session(ready.engine) as session, session.begin():
            assert send_many(session, jobs("a"), on_conflict="skip") != [None]
        assert take_one(receiver).payload == b"new"


def test_a_message_that_is_not_due_yet_is_a_duplicate_too(ready: World) -> None:
    with Session(ready.engine) as session, session.begin():
        later = Job(key="a", payload=b"later")
        later.delay = timedelta(hours=1)
        session.add(later)
    with pytest.raises(MessageAlreadyExists):
        send(ready, *jobs("a"))
    assert arriving_keys(ready) == []


def test_sending_nothing_is_fine(ready: World) -> None:
    with Session(ready.engine) as session, session.begin():
        assert send_many(session, list[Job]()) == []
        assert send_many(session, list[Job](), on_conflict="skip") == []


def test_another_way_to_handle_conflicts_is_refused(ready: World) -> None:
    with Session(ready.engine) as session, pytest.raises(ValueError, match="on_conflict"):
        send_many(session, jobs("a"), on_conflict="replace")  # type: ignore[arg-type]
