"""What every official client sees, in whatever language and dialect."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from grpc import StatusCode

Saw = Mapping[str, Any]
Names = Mapping[str, Any]

MAIL = {"to": "ada@example.com", "copies": 2, "tags": ["a", "ü"]}
LEASE = timedelta(seconds=10)
AT_ONCE_SECONDS = 5.0


@dataclass(frozen=True)
class Expectation:
    """A check of what a scenario saw; ``names`` are those of the dialect."""

    scenario: str
    check: Callable[[Saw, Names], None]

    def __str__(self) -> str:
        return self.check.__name__


EXPECTATIONS: list[Expectation] = []


def sees(scenario: str) -> Callable[[Callable[[Saw, Names], None]], Callable[[Saw, Names], None]]:
    """Add a check to the list."""

    def add(check: Callable[[Saw, Names], None]) -> Callable[[Saw, Names], None]:
        EXPECTATIONS.append(Expectation(scenario, check))
        return check

    return add


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def _code(code: StatusCode) -> int:
    return int(code.value[0])


@sees("schema")
def queues_show_as_create_queue(saw: Saw, names: Names) -> None:
    ddl = [" ".join(statement.replace('"', "").replace("`", "").split()) for statement in saw["ddl"]]
    created = [re.match(r"CREATE (TABLE|QUEUE) (\w+) ?\(", statement) for statement in ddl]
    assert [found and found.groups() for found in created] == [
        ("TABLE", names["orders"]),
        ("QUEUE", names["mails"]),
        ("QUEUE", names["blobs"]),
        ("QUEUE", names["notes"]),
    ]


@sees("schema")
def an_interleaved_queue_shows_its_parent(saw: Saw, names: Names) -> None:
    mails = " ".join(saw["ddl"][1].replace('"', "").split())
    assert f"INTERLEAVE IN PARENT {names['orders']} ON DELETE CASCADE" in mails


@sees("send_dml")
def dml_sends_together_with_a_business_row(saw: Saw, names: Names) -> None:
    assert saw["counts"] == [1, 1]
    assert saw["state"] == "new"


@sees("send_dml")
def a_message_is_a_row_and_is_received(saw: Saw, names: Names) -> None:
    assert saw["stored"] == MAIL
    assert [(message["key"], message["payload"]) for message in saw["received"]] == [([1, "welcome"], MAIL)]


@sees("send_mutation")
def send_mutations_go_with_other_mutations(saw: Saw, names: Names) -> None:
    assert [(message["key"], message["payload"]) for message in saw["mails"]] == [([1, "welcome"], MAIL)]


@sees("send_mutation")
def send_mutations_go_with_dml(saw: Saw, names: Names) -> None:
    assert saw["state"] == "paid"
    assert [(message["key"], message["payload"]) for message in saw["notes"]] == [([1], "note 1")]


def _lease_columns(names: Names) -> list[list[str]]:
    return [
        [names["deliver_time"], "TIMESTAMP"],
        [names["expires"], "TIMESTAMP"],
        [names["token"], "STRING"],
        [names["last"], "BOOL"],
    ]


@sees("receive")
def a_text_queue_has_its_columns_in_order(saw: Saw, names: Names) -> None:
    (id_name,) = names["id_key"]
    expected = [[id_name, "INT64"], [names["payload"], "STRING"], *_lease_columns(names)]
    assert saw["notes_columns"] == expected


@sees("receive")
def a_binary_queue_has_its_columns_in_order(saw: Saw, names: Names) -> None:
    (id_name,) = names["id_key"]
    expected = [[id_name, "INT64"], [names["payload"], "BYTES"], *_lease_columns(names)]
    assert saw["blobs_columns"] == expected


@sees("receive")
def a_json_queue_has_its_columns_in_order(saw: Saw, names: Names) -> None:
    order, mail = names["mail_key"]
    payload = [names["payload"], names["json_type"]]
    assert saw["mails_columns"] == [[order, "INT64"], [mail, "STRING"], payload, *_lease_columns(names)]


@sees("receive")
def payloads_of_all_types_arrive_as_they_were_sent(saw: Saw, names: Names) -> None:
    assert [message["payload"] for message in saw["mails"]] == [MAIL]
    assert [message["payload"] for message in saw["blobs"]] == ["00fffe61"]
    assert [message["payload"] for message in saw["notes"]] == ["note 1", "note 2"]


@sees("receive")
def a_message_without_deliver_time_is_due_when_it_is_sent(saw: Saw, names: Names) -> None:
    for message in (*saw["mails"], *saw["blobs"], *saw["notes"]):
        assert _time(saw["before"]) <= _time(message["deliver_time"]) <= _time(saw["after"])


@sees("receive")
def a_lease_lasts_ten_seconds(saw: Saw, names: Names) -> None:
    for message in (*saw["mails"], *saw["blobs"], *saw["notes"]):
        assert _time(saw["before"]) + LEASE <= _time(message["expires"]) <= _time(saw["after"]) + LEASE


@sees("receive")
def every_message_has_a_token_of_its_own(saw: Saw, names: Names) -> None:
    tokens = {message["token"] for message in (*saw["mails"], *saw["blobs"], *saw["notes"])}
    assert len(tokens - {""}) == 4


@sees("receive")
def the_last_message_of_a_batch_says_so(saw: Saw, names: Names) -> None:
    assert [message["last"] for message in saw["mails"]] == [True]
    assert [message["last"] for message in saw["notes"]] == [False, True]


@sees("arrive")
def messages_arrive_while_the_stream_is_open(saw: Saw, names: Names) -> None:
    assert saw["ids"] == [1, 2, 3]


@sees("renew")
def renewing_returns_a_row_for_each_running_lease(saw: Saw, names: Names) -> None:
    tokens = {message["token"] for message in saw["received"]}
    assert {renewal["old"] for renewal in saw["first"]} == tokens
    assert len(saw["first"]) == len(tokens) == 2


@sees("renew")
def renewing_replaces_the_token_and_extends_the_lease(saw: Saw, names: Names) -> None:
    expired = {message["token"]: _time(message["expires"]) for message in saw["received"]}
    for renewal in saw["first"]:
        assert renewal["new"] not in (None, *expired)
        assert _time(renewal["expires"]) > expired[renewal["old"]]


@sees("renew")
def a_renewed_lease_is_renewed_again(saw: Saw, names: Names) -> None:
    (again,) = saw["second"]
    assert again["old"] == saw["first"][0]["new"]
    assert again["new"] not in (None, again["old"])


@sees("renew")
def an_acknowledged_message_renews_to_null(saw: Saw, names: Names) -> None:
    assert saw["late"] == [{"old": saw["second"][0]["new"], "new": None, "expires": None}]


@sees("acknowledge_dml")
def an_acknowledgment_commits_with_a_business_write(saw: Saw, names: Names) -> None:
    assert saw["counts"] == [1, 1]
    assert saw["left"] == 0


@sees("acknowledge_dml")
def a_second_acknowledgment_fails_and_takes_its_business_write_along(saw: Saw, names: Names) -> None:
    assert saw["second"] == _code(StatusCode.OUT_OF_RANGE)
    assert saw["state"] == "done"


@sees("acknowledge_mutation")
def an_ack_mutation_commits_with_a_business_write(saw: Saw, names: Names) -> None:
    assert saw["done"] == [_code(StatusCode.OK), "done"]


@sees("acknowledge_mutation")
def a_second_ack_mutation_is_not_found(saw: Saw, names: Names) -> None:
    assert saw["twice"] == [_code(StatusCode.NOT_FOUND), "done"]


@sees("acknowledge_mutation")
def an_ack_mutation_can_ignore_that(saw: Saw, names: Names) -> None:
    assert saw["ignored"] == [_code(StatusCode.OK), "ignored"]


@sees("concurrent")
def concurrent_transactions_all_commit_one_after_the_other(saw: Saw, names: Names) -> None:
    assert saw == {"changes": 20, "notes": 20}


@sees("large")
def a_payload_larger_than_a_chunk_arrives_whole(saw: Saw, names: Names) -> None:
    assert saw["received"] == saw["sent"]


@sees("redeliver")
def a_message_comes_again_when_its_lease_has_run_out(saw: Saw, names: Names) -> None:
    first, second = saw["received"]
    assert first["key"] == second["key"] == [1]
    assert first["token"] != second["token"]


@sees("resume")
def a_broken_stream_is_resumed(saw: Saw, names: Names) -> None:
    assert saw == {"ids": [1, 2], "code": _code(StatusCode.DATA_LOSS)}


@sees("aborted")
def an_aborted_transaction_runs_again_and_sends_once(saw: Saw, names: Names) -> None:
    assert saw == {"runs": 2, "notes": 1}


@sees("delayed")
def a_delayed_message_waits_for_its_time(saw: Saw, names: Names) -> None:
    assert saw["now"] == [3, 4]
    assert sorted(saw["later"]) == [1, 2]


@sees("delayed")
def deliver_times_arrive_as_they_were_sent(saw: Saw, names: Names) -> None:
    # The Node client computes the nanoseconds of a Send mutation in floating point.
    for message in saw["messages"]:
        assert abs(_time(message["deliver_time"]) - _time(saw["due"])) < timedelta(milliseconds=1)


@sees("cancel")
def a_stream_ends_early_at_once(saw: Saw, names: Names) -> None:
    assert saw["cancel_code"] == _code(StatusCode.CANCELLED)
    assert max(saw["close_seconds"], saw["cancel_seconds"]) < AT_ONCE_SECONDS


@sees("cancel")
def an_ended_stream_takes_no_messages(saw: Saw, names: Names) -> None:
    assert saw["ids"] == [1, 3, 4]
    assert saw["next_seconds"] < AT_ONCE_SECONDS
