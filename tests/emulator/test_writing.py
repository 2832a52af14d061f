"""Sending and acknowledging by DML, and queues as tables, through the unmodified official client."""

from __future__ import annotations

import pytest
from google.api_core.exceptions import AlreadyExists, InvalidArgument
from google.cloud.spanner_v1.transaction import Transaction

from tests.emulator.helpers import ID, Session
from tests.emulator.words import GOOGLESQL, IN_BOTH_DIALECTS, POSTGRESQL, Words, plain


@IN_BOTH_DIALECTS
def test_a_message_goes_with_its_parent(database: Session, words: Words) -> None:
    database.write(
        "INSERT INTO Users (UserId, Name) VALUES (1, 'Ada')",
        f"""INSERT INTO Mails (UserId, MailId, Payload) VALUES (1, 'm', {words.json('{"to": "ada"}')})""",
    )
    with database.receive(f"SELECT * FROM {words.receive('Mails')}") as received:
        user, mail, payload = received.next()[:3]
    assert (user, mail, plain(payload)) == (1, "m", {"to": "ada"})
    database.write("DELETE FROM Users WHERE UserId = 1")
    assert database.query("SELECT * FROM Mails") == []


@IN_BOTH_DIALECTS
def test_a_queue_is_read_and_joined_like_a_table(database: Session, words: Words) -> None:
    database.send(1)
    assert database.query("SELECT Id, Payload FROM q") == [[1, "p1"]]
    assert database.query("SELECT q.Id FROM q LEFT JOIN Users ON q.Id = Users.UserId") == [[1]]
    sql = f"SELECT Id FROM q WHERE {words.deliver_time} <= CURRENT_TIMESTAMP ORDER BY {words.deliver_time}"
    assert database.query(f"{sql} LIMIT 10") == [[1]]


@IN_BOTH_DIALECTS
def test_a_rolled_back_message_is_not_sent(database: Session) -> None:
    def fail(transaction: Transaction) -> None:
        transaction.execute_update("INSERT INTO q (Id, Payload) VALUES (1, 'never')")
        raise KeyError

    with database.receive() as received:
        with pytest.raises(KeyError):
            database.db.run_in_transaction(fail)
        database.send(2)
        assert received.next()[ID] == 2


@IN_BOTH_DIALECTS
def test_duplicates_are_refused(database: Session) -> None:
    database.send(1)
    with pytest.raises(AlreadyExists):
        database.send(1)
    with pytest.raises(AlreadyExists), database.db.batch() as batch:
        batch.send(queue="q", key=[1], payload="again")


@IN_BOTH_DIALECTS
def test_what_is_sent_comes_back_from_the_statement(database: Session, words: Words) -> None:
    sql = f"INSERT INTO q (Id, Payload) VALUES (1, 'x'), (2, 'y') {words.returning} Id, {words.deliver_time}"

    def send(transaction: Transaction) -> list[list[object]]:
        return list(transaction.execute_sql(sql))

    with database.receive() as received:
        sent = database.db.run_in_transaction(send)
        assert sorted(row[0] for row in received.take(2)) == sorted(row[0] for row in sent) == [1, 2]


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO q (Id, Payload) SELECT Id + 10, Payload FROM q",
        "INSERT INTO q (Id, Payload) (SELECT Id + 10, Payload FROM q WHERE Id < 10)",
        "insert into Q (Id, PAYLOAD) select 11, payload from q -- one more",
    ],
)
@IN_BOTH_DIALECTS
def test_a_query_sends_as_well(database: Session, statement: str) -> None:
    database.send(1)
    with database.receive() as received:
        assert received.next()[ID] == 1
        database.write(statement)
        assert received.next()[ID] == 11


UPDATES = [
    (GOOGLESQL, "UPDATE q SET Payload = 'x' WHERE Id = 1"),
    (GOOGLESQL, "@{PDML_MAX_PARALLELISM=1} update `q` set Payload = 'x' where TRUE"),
    (GOOGLESQL, "INSERT OR UPDATE INTO q (Id, Payload) VALUES (1, 'x')"),
    (GOOGLESQL, "INSERT OR UPDATE q (Id, Payload) SELECT 1, 'information_schema.tables'"),
    (GOOGLESQL, "UPDATE q SET Payload = 'INFORMATION_SCHEMA' WHERE TRUE"),
    (POSTGRESQL, "UPDATE q SET payload = 'x' WHERE id = 1"),
    (POSTGRESQL, 'update public."q" as u set payload = $$x$$ where u.id = 1'),
    (POSTGRESQL, "INSERT INTO q (id, payload) VALUES (1, 'x') ON CONFLICT (id) DO UPDATE SET payload = 'x'"),
    (POSTGRESQL, "UPDATE q SET payload = 'information_schema.tables' WHERE true"),
]


@pytest.mark.parametrize(("words", "sql"), UPDATES, indirect=["words"])
def test_updates_are_refused(database: Session, sql: str) -> None:
    database.send(1)
    with pytest.raises(InvalidArgument, match="not supported on queue q"):
        database.write(sql)
    with pytest.raises(InvalidArgument, match="not supported on queue q"):
        database.db.run_in_transaction(lambda t: t.batch_update([sql]))
    with pytest.raises(InvalidArgument, match="not supported on queue q"):
        database.db.run_in_transaction(lambda t: list(t.execute_sql(sql)))


@pytest.mark.parametrize(
    ("words", "sql"),
    [
        (GOOGLESQL, "INSERT OR IGNORE INTO q (Id, Payload) VALUES (1, 'x'), (2, 'y')"),
        (POSTGRESQL, "INSERT INTO q (id, payload) VALUES (1, 'x'), (2, 'y') ON CONFLICT (id) DO NOTHING"),
    ],
    indirect=["words"],
)
def test_what_is_there_already_may_be_left_alone(database: Session, sql: str) -> None:
    database.send(1)
    with database.receive() as received:
        received.next()
        assert database.write(sql) == [1]
        assert received.next()[:2] == [2, "y"]


@IN_BOTH_DIALECTS
def test_statements_that_do_not_end_are_upstreams_to_refuse(database: Session, words: Words) -> None:
    rows = ", ".join(f"({id}, 'x')" for id in range(50))
    insert = f"INSERT INTO q (Id, Payload) VALUES {rows}, (51, 'unfinished"
    for sql in (insert, "SELECT 'unfinished", f"SELECT * FROM {words.receive()} WHERE Payload = 'x"):
        with pytest.raises(InvalidArgument):
            database.query(sql)
        with pytest.raises(InvalidArgument):
            database.write(sql)
    assert database.ids() == []


@IN_BOTH_DIALECTS
def test_disabled_sending(database: Session) -> None:
    database.ddl("ALTER QUEUE q SET OPTIONS (disable_send = true)")
    with pytest.raises(InvalidArgument, match="disable_send"):
        database.send(1)
    with pytest.raises(InvalidArgument, match="disable_send"), database.db.batch() as batch:
        batch.send(queue="q", key=[1], payload="x")
    database.ddl("ALTER QUEUE q SET OPTIONS (disable_send = false)")
    database.send(1)


@IN_BOTH_DIALECTS
def test_partitioned_dml(database: Session) -> None:
    database.send(1, 2)
    assert database.db.execute_partitioned_dml("DELETE FROM q WHERE Id > 1") == 1
    assert database.ids() == [1]
    with pytest.raises(InvalidArgument, match="UPDATE is not supported"):
        database.db.execute_partitioned_dml("UPDATE q SET Payload = 'x' WHERE TRUE")
    database.send(3)
