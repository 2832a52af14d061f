"""RENEWLEASE through the unmodified official client."""

from __future__ import annotations

from datetime import timedelta

import pytest
from google.api_core.exceptions import InvalidArgument

from sqlalchemy_spanner_queues.emulator import Emulator
from tests.emulator.helpers import EXPIRES, ID, STRINGS, TOKEN, Session
from tests.emulator.words import IN_BOTH_DIALECTS, Words

pytestmark = IN_BOTH_DIALECTS


def leased(database: Session, *ids: int) -> list[str]:
    """Send messages, receive them, and return their tokens in the order of the ids."""
    database.send(*ids)
    with database.receive() as received:
        tokens = {row[ID]: row[TOKEN] for row in received.take(len(ids))}
    return [tokens[id] for id in ids]


def test_there_are_three_outcomes(database: Session, emulator: Emulator) -> None:
    first, second = leased(database, 1, 2)
    database.acknowledge(2)
    renewed = database.renew(first, second, "no token")
    assert renewed == {first: renewed[first], second: None}
    assert renewed[first] not in (None, first)
    assert database.renew(first) == {}
    emulator.advance(10)
    assert database.renew(renewed[first]) == {}


def test_a_renewed_lease_holds_longer(database: Session, emulator: Emulator) -> None:
    database.send(1)
    with database.receive() as received:
        token = received.next()[TOKEN]
        for _ in range(4):
            emulator.advance(8)
            token = database.renew(token)[token]
        database.send(2)
        assert received.next()[ID] == 2
        assert [lease["deliveries"] for lease in emulator.leases(database.path)] == [1, 1]


def test_columns_of_star_in_order(database: Session, words: Words, emulator: Emulator) -> None:
    database.send(1)
    with database.receive() as received:
        row = received.next()
    emulator.advance(4)
    with database.db.snapshot() as snapshot:
        result = snapshot.execute_sql(f"SELECT * FROM {words.renew(repr(row[TOKEN]))}")
        ((old, new, expires),) = list(result)
    assert [field.name for field in result.fields] == [
        words.column(name)
        for name in ("SpannerOldLeaseToken", "SpannerNewLeaseToken", "SpannerLeaseExpirationTimestamp")
    ]
    assert (old == row[TOKEN], isinstance(new, str)) == (True, True)
    assert timedelta(seconds=4) <= expires - row[EXPIRES] < timedelta(seconds=6)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT r.NEW IS NOT NULL AS ok FROM CALL AS r",
        "SELECT s.NEW IS NOT NULL FROM (SELECT * FROM CALL WHERE OLD <> 'x') AS s",
        "SELECT ok FROM (SELECT NEW IS NOT NULL AS ok FROM CALL) AS s WHERE ok",
        "WITH r AS (SELECT NEW FROM CALL) SELECT NEW IS NOT NULL FROM r",
        "SELECT CASE WHEN NEW IS NULL THEN FALSE ELSE TRUE END FROM CALL WHERE OLD IN (SELECT OLD FROM q)",
    ],
)
def test_projections_and_subqueries(database: Session, words: Words, sql: str) -> None:
    (token,) = leased(database, 1)
    for word, name in (("NEW", "SpannerNewLeaseToken"), ("OLD", "SpannerOldLeaseToken")):
        sql = sql.replace(word, words.column(name))
    assert database.query(sql.replace("CALL", words.renew(f"'{token}', 'x'"))) == [[True]]


def test_a_condition_chooses_among_the_outcomes(database: Session, words: Words) -> None:
    first, second = leased(database, 1, 2)
    database.acknowledge(2)
    old, new = words.column("SpannerOldLeaseToken"), words.column("SpannerNewLeaseToken")
    sql = f"SELECT {old} FROM {words.renew(words.parameter(1))} WHERE {new} IS NULL"
    tokens = {"params": {"p1": [first, second]}, "param_types": {"p1": STRINGS}}
    assert database.query(sql, **tokens) == [[second]]


def test_hundreds_of_tokens(database: Session, words: Words) -> None:
    tokens = leased(database, *range(200))
    assert len(database.renew(*tokens)) == 200
    with database.receive() as received:
        database.send(1000)
        assert received.next()[ID] == 1000


def test_hundreds_of_computed_rows(database: Session, words: Words) -> None:
    tokens = leased(database, *range(200))
    new = words.column("SpannerNewLeaseToken")
    sql = f"SELECT {new} IS NULL FROM {words.renew(words.parameter(1))}"
    rows = database.query(sql, params={"p1": tokens}, param_types={"p1": STRINGS})
    assert rows == [[False]] * 200


def test_without_streaming(database: Session, words: Words) -> None:
    (token,) = leased(database, 1)
    old = words.column("SpannerOldLeaseToken")
    request = database.request(f"SELECT {old} AS old FROM {words.renew(repr(token))};")
    result = database.db.spanner_api.execute_sql(request)
    assert [list(row) for row in result.rows] == [[token]]


def test_planning_renews_nothing(database: Session, words: Words) -> None:
    (token,) = leased(database, 1)
    request = database.request(f"SELECT * FROM {words.renew(repr(token))}", query_mode="PLAN")
    result = database.db.spanner_api.execute_sql(request)
    assert (len(result.metadata.row_type.fields), list(result.rows)) == (3, [])
    assert database.renew(token)[token] is not None


def test_a_message_that_was_sent_again_cannot_be_renewed(database: Session) -> None:
    (token,) = leased(database, 1)
    database.write("DELETE FROM q WHERE Id = 1", "INSERT INTO q (Id, Payload) VALUES (1, 'again')")
    assert database.renew(token) == {token: None}


def test_tokens_of_one_queue_mean_nothing_to_another(database: Session, words: Words) -> None:
    (token,) = leased(database, 1)
    sql = f"SELECT * FROM {words.renew(words.parameter(1), 'Mails')}"
    assert database.query(sql, params={"p1": [token]}, param_types={"p1": STRINGS}) == []


def test_what_is_refused(database: Session, words: Words) -> None:
    name = words.renew("").split("(")[0]
    for call in (f"{name}()", f"{name}('x')", f"{name}(tokens => NULL)"):
        with pytest.raises(InvalidArgument, match="tokens"):
            database.query(f"SELECT * FROM {call}")
    for sql in (f"SELECT * FROM {words.renew('')} LIMIT 1", f"SELECT 1 FROM q, {words.renew('')}"):
        with pytest.raises(InvalidArgument, match=r"(?i)renewlease_q"):
            database.query(sql)
    with pytest.raises(InvalidArgument, match="single-use"):
        database.db.run_in_transaction(lambda t: list(t.execute_sql(f"SELECT * FROM {words.renew('')}")))
