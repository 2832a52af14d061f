"""What holds for any text: nothing is lost, nothing crashes, and a definition always comes back."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from google.protobuf.struct_pb2 import Struct
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlalchemy_spanner_queues.emulator.text.access import Access
from sqlalchemy_spanner_queues.emulator.text.arguments import lease_tokens, receive_arguments
from sqlalchemy_spanner_queues.emulator.text.assertions import find_assertion
from sqlalchemy_spanner_queues.emulator.text.ddl import Schema, restore, translate
from sqlalchemy_spanner_queues.emulator.text.dialect import MARK, Dialect
from sqlalchemy_spanner_queues.emulator.text.functions import find_function, plain_columns
from sqlalchemy_spanner_queues.emulator.text.information_schema import references, with_queues
from sqlalchemy_spanner_queues.emulator.text.inserts import sent_now
from sqlalchemy_spanner_queues.emulator.text.policies import policies
from sqlalchemy_spanner_queues.emulator.text.reading import Reader, SqlError, split
from sqlalchemy_spanner_queues.emulator.text.statements import at_moved_clock, find_dml, updates_on_conflict
from sqlalchemy_spanner_queues.emulator.text.tokens import Kind, TokenError
from tests.unit.emulator_text.queues import BOTH, GOOGLESQL, POSTGRESQL, named, parse, queue_named, queues

WORDS = (
    "SELECT * FROM RECEIVE_q RENEWLEASE_q spanner.receive_q spanner WHERE JOIN UNION LIMIT OFFSET ORDER "
    "max_batch_size max_duration '20m' ARRAY CAST NULL AS AND @p @ @@ $1 $12 0x 1 1.5 .5 ü € 😀 ² \x00 "
    "INSERT INTO OR UPDATE IGNORE VALUES DEFAULT DELETE THEN RETURN RETURNING ON CONFLICT DO NOTHING "
    "Id Payload payload DeliverTime deliver_time q CURRENT_TIMESTAMP now ASSERT_ROWS_MODIFIED "
    "CREATE QUEUE TABLE VIEW INT64 bigint text JSON STRING(MAX) NOT PRIMARY KEY HIDDEN STORED "
    "INTERLEAVE IN PARENT CASCADE ROW DELETION POLICY TTL INTERVAL OPTIONS WITH SET ALTER DROP IF EXISTS "
    "ROLE GRANT REVOKE EXECUTE FUNCTION TO information_schema .tables .columns "
    "( ) [ ] { } , ; . :: = => < - -- # /* */ ' \" ` $$ $a$ \\ \\' '' \\\" E' r' '''' "
)
SQL = st.one_of(
    st.text(),
    st.lists(st.one_of(st.sampled_from([*WORDS.split(" "), MARK, "\n", "\t"]), st.text(max_size=3))).map(
        " ".join
    ),
    st.lists(st.sampled_from([*WORDS.split(" "), " ", "\n"])).map("".join),
)
PATIENT = settings(deadline=None)
PATIENT_AND_THOROUGH = settings(deadline=None, max_examples=300)
DIALECTS = pytest.mark.parametrize("dialect", BOTH, ids=named)


@DIALECTS
@PATIENT
@given(sql=SQL)
def test_tokens_neither_lose_nor_invent_text(dialect: Dialect, sql: str) -> None:
    with suppress(TokenError):
        tokens = dialect.tokenize(sql)
        position = 0
        for token in tokens:
            assert token.text == sql[token.start : token.end]
            assert dialect.tokenize(sql[position : token.start]) == []
            position = token.end
        assert dialect.tokenize(sql[position:]) == []
        assert tokens == [*dialect.tokenize(sql, len(tokens) // 2), *tokens[len(tokens) // 2 :]]


@DIALECTS
@PATIENT
@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_a_quoted_text_is_one_token(dialect: Dialect, text: str) -> None:
    (string,) = dialect.tokenize(dialect.quote_string(text))
    assert (string.kind, string.content) == (Kind.STRING, text)
    if text:
        (name,) = dialect.tokenize(dialect.quote_name(text))
        (plain,) = dialect.tokenize(dialect.quote_if_needed(text))
        assert (name.kind, name.name, plain.name) == (Kind.QUOTED, text, text)


def read_anything(dialect: Dialect, sql: str) -> dict[str, Callable[[], Any]]:
    """Return everything that reads text of a client."""
    known, schema = queues(dialect, "q", "UserTasks"), Schema(queues(dialect, "q", "UserTasks"))
    return {
        "tokenize": lambda: dialect.tokenize(sql),
        "create": lambda: parse(sql, dialect),
        "create queue": lambda: parse(f"CREATE QUEUE q {sql}", dialect),
        "alter": lambda: dialect.alter_queue(Reader(sql, dialect.tokenize(sql)), known["q"]),
        "grant": lambda: Access(["r"]).apply(Reader(sql, dialect.tokenize(sql)), dialect, known),
        "arguments": lambda: receive_arguments(split(dialect.tokenize(sql)), Struct(), "f"),
        "tokens": lambda: lease_tokens(split(dialect.tokenize(sql)), Struct(), "f"),
        "translate": lambda: translate([sql, f"ALTER QUEUE q {sql}", f"GRANT {sql}"], schema, dialect),
        "function": lambda: find_function(sql, known, dialect),
    }


@DIALECTS
@PATIENT_AND_THOROUGH
@given(sql=SQL)
def test_any_text_is_read_or_refused(dialect: Dialect, sql: str) -> None:
    for read in read_anything(dialect, sql).values():
        with suppress(TokenError, SqlError):
            read()


@DIALECTS
@PATIENT_AND_THOROUGH
@given(sql=SQL)
def test_any_text_passes_what_never_refuses(dialect: Dialect, sql: str) -> None:
    schema = Schema(queues(dialect))
    insert = f"INSERT INTO q (Id, {dialect.names.deliver_time}) {sql}"
    for text in (sql, insert, f"DELETE FROM q {sql} ASSERT_ROWS_MODIFIED 1"):
        find_dml(text, dialect)
        updates_on_conflict(text, dialect)
        find_assertion(text, dialect)
        sent_now(text, schema.queues["q"], dialect, 60.0)
        policies([f"CREATE TABLE t (a INT64) {text}", f"CREATE TABLE t (a INT64) TTL {text}"], dialect)
        with_queues(text, references(text, dialect), schema, dialect, {})
    assert restore([sql], dialect) in (([sql], Schema()), ([sql], Schema(queues(dialect))))


@DIALECTS
@PATIENT
@given(sql=SQL)
def test_a_found_function_can_be_replaced(dialect: Dialect, sql: str) -> None:
    call = "RECEIVE_q()" if dialect is GOOGLESQL else "spanner.receive_q()"
    with suppress(TokenError, SqlError):
        query = find_function(f"SELECT {sql} FROM {call} {sql}", queues(dialect), dialect)
        if query is not None:
            assert "\n(ROWS) " in query.over("ROWS", with_where=False)
            plain_columns(query, query.queue.columns)


@DIALECTS
@PATIENT
@given(sql=SQL)
def test_a_clock_that_stands_still_changes_nothing(dialect: Dialect, sql: str) -> None:
    assert at_moved_clock(sql, 0.0, dialect) == sql


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12).filter(
    lambda name: name.lower() not in ("payload", "delivertime", "deliver_time")
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
OPTIONS = st.dictionaries(
    st.sampled_from(["disable_send", "disable_delivery"]), st.sampled_from(["true", "false", "TRUE"])
)


@st.composite
def definitions(draw: st.DrawFn, dialect: Dialect) -> str:
    """Write a CREATE QUEUE with any names, keys, clauses and comments."""
    is_google = dialect is GOOGLESQL
    keys = draw(
        st.lists(NAMES, min_size=1, max_size=4, unique_by=str.lower).filter(
            lambda keys: is_google or not any(key.lower().startswith("spanner_") for key in keys)
        )
    )
    kind = st.sampled_from(
        ["INT64", "STRING(36)  NOT NULL", "BYTES( MAX )"] if is_google else ["bigint", "text"]
    )
    gap = st.sampled_from([" ", "\n", " /* PRIMARY KEY */ ", " -- DEFAULT\n", "/**/"])
    quoted = [dialect.quote_name(key) for key in keys]
    columns = [f"{name}{draw(gap)}{draw(kind)}" for name in quoted]
    columns.append("Payload JSON NOT NULL" if is_google else "payload jsonb NOT NULL")
    options = {**draw(OPTIONS), "locality_group": dialect.quote_string(draw(TEXTS))}
    written = ", ".join(f"{name}{draw(gap)}= {value}" for name, value in options.items())
    parent = f"INTERLEAVE IN {draw(st.sampled_from(['', 'PARENT ']))}{dialect.quote_name(draw(NAMES))}"
    head = f"CREATE{draw(gap)}QUEUE {dialect.quote_name(draw(NAMES))}"
    key = f"PRIMARY KEY ({', '.join(quoted)})"
    if is_google:
        return f"{head} ({', '.join(columns)}) {key}, {parent}, OPTIONS ({written})"
    return f"{head} ({', '.join([*columns, key])}) {parent} WITH ({written})"


def check_definition(sql: str, dialect: Dialect) -> None:
    queue = parse(sql, dialect)
    written = dialect.create_queue(queue)
    assert parse(written, dialect) == queue
    assert dialect.create_queue(parse(written, dialect)) == written
    for guarded in (False, True):
        table = dialect.create_table(queue, if_not_exists=guarded).replace(
            "TABLE IF NOT EXISTS ", "TABLE ", 1
        )
        shown, schema = restore([table], dialect)
        assert (shown, schema.queues) == ([written], {queue.name.lower(): queue})


@PATIENT
@given(sql=definitions(GOOGLESQL))
def test_a_definition_of_googlesql_comes_back(sql: str) -> None:
    check_definition(sql, GOOGLESQL)


@PATIENT
@given(sql=definitions(POSTGRESQL))
def test_a_definition_of_postgresql_comes_back(sql: str) -> None:
    check_definition(sql, POSTGRESQL)


@DIALECTS
@PATIENT
@given(names=st.lists(NAMES, min_size=1, max_size=5, unique_by=str.lower))
def test_every_queue_is_found_by_its_own_function(dialect: Dialect, names: list[str]) -> None:
    known = {name.lower(): queue_named(name, dialect) for name in [*names, *(f"receive_{n}" for n in names)]}
    for queue in known.values():
        called = dialect.quote_name(f"receive_{queue.name}")
        prefix = "" if dialect is GOOGLESQL else "spanner."
        query = find_function(f"SELECT * FROM {prefix}{called} ()", known, dialect)
        assert query is not None
        assert query.queue == queue
