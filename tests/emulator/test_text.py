"""SQL text without any emulator: tokens, statements about queues, arguments."""

from __future__ import annotations

import pytest
from google.protobuf.struct_pb2 import Struct

from sqlalchemy_spanner_queues.emulator.text.arguments import (
    ReceiveArguments,
    lease_tokens,
    receive_arguments,
)
from sqlalchemy_spanner_queues.emulator.text.create_queue import parse_create_queue
from sqlalchemy_spanner_queues.emulator.text.ddl import restore, translate
from sqlalchemy_spanner_queues.emulator.text.definition import QueueDefinition
from sqlalchemy_spanner_queues.emulator.text.reading import SqlError, split
from sqlalchemy_spanner_queues.emulator.text.statements import (
    Dml,
    FunctionQuery,
    at_moved_clock,
    find_dml,
    find_function,
    plain_columns,
)
from sqlalchemy_spanner_queues.emulator.text.tokens import Kind, TokenError, quote_string, tokenize

CREATE = "CREATE QUEUE q (Id INT64 NOT NULL, Payload STRING(MAX) NOT NULL) PRIMARY KEY (Id)"
QUEUE = parse_create_queue(CREATE)
QUEUES = {"q": QUEUE}


@pytest.mark.parametrize(
    ("sql", "texts"),
    [
        ("SELECT 1 -- FROM x\n, 2", ["SELECT", "1", ",", "2"]),
        ("SELECT 1 # FROM x", ["SELECT", "1"]),
        ("SELECT /* 'a */ b", ["SELECT", "b"]),
        ("'it''s'", ["'it'", "'s'"]),
        (r"'a\'b' c", [r"'a\'b'", "c"]),
        ('"""a "quoted" b""" c', ['"""a "quoted" b"""', "c"]),
        ("'''a\n'b'\n''' c", ["'''a\n'b'\n'''", "c"]),
        (r"r'\n' B'x' rb'''y'''", [r"r'\n'", "B'x'", "rb'''y'''"]),
        ("`a b`.c", ["`a b`", ".", "c"]),
        ("@p @@v @{h=1}", ["@p", "@@", "v", "@", "{", "h", "=", "1", "}"]),
        ("f(a=>1.5e3, b => .5)", ["f", "(", "a", "=>", "1.5e3", ",", "b", "=>", ".5", ")"]),
        ("a<=b||c", ["a", "<=", "b", "||", "c"]),
        ("", []),
    ],
)
def test_tokens(sql: str, texts: list[str]) -> None:
    assert [token.text for token in tokenize(sql)] == texts


@pytest.mark.parametrize("sql", ["'a", '"a', "`a", "/* a", "'''a''", "'a\nb'", r"r'\'"])
def test_text_that_does_not_end(sql: str) -> None:
    with pytest.raises(TokenError):
        tokenize(sql)


@pytest.mark.parametrize(
    "text",
    ["", "plain", "it's", 'say "x"', "back\\slash", "two\nlines", "\\n", "`q`", "''' \"\"\"", "\\", "ü€"],
)
def test_a_quoted_string_reads_back(text: str) -> None:
    (token,) = tokenize(quote_string(text))
    assert token.kind is Kind.STRING
    assert token.value() == text


@pytest.mark.parametrize(
    ("literal", "value"),
    [(r"r'a\n'", r"a\n"), ('"""a"b"""', 'a"b'), (r"'\x41\u00e9\101\t'", "AéA\t"), ("''", ""), ('""', "")],
)
def test_what_a_string_literal_stands_for(literal: str, value: str) -> None:
    (token,) = tokenize(literal)
    assert token.value() == value


def test_split_keeps_brackets_together() -> None:
    parts = split(tokenize("a, f(b, [c, d]), e"))
    assert [[token.text for token in part] for part in parts] == [
        ["a"],
        ["f", "(", "b", ",", "[", "c", ",", "d", "]", ")"],
        ["e"],
    ]
    assert split([]) == []


def test_a_queue_becomes_a_table_and_comes_back() -> None:
    plan = translate([CREATE], {})
    (table,) = plan.statements
    assert table.startswith("CREATE TABLE `q` (\n  Id INT64 NOT NULL,\n  Payload STRING(MAX) NOT NULL,")
    assert "DeliverTime TIMESTAMP NOT NULL DEFAULT (CURRENT_TIMESTAMP())" in table
    shown, queues = restore(plan.statements)
    assert shown == [QUEUE.create_queue()]
    assert queues == plan.queues == QUEUES


def test_a_definition_survives_any_text_in_it() -> None:
    tricky = parse_create_queue(
        "CREATE QUEUE `it's` (`a\\`b` STRING(36) NOT NULL OPTIONS (x = 'y\\'z'), Payload JSON NOT NULL)"
        " PRIMARY KEY (`a\\`b` DESC), OPTIONS (locality_group = 'it\\'s \"x\"')"
    )
    _, queues = restore([tricky.create_table()])
    assert queues == {"it's": tricky}
    assert tricky.key_names == ("a`b",)


def test_interleaving_without_enforcement_stays_in_the_gateway() -> None:
    queue = parse_create_queue(f"{CREATE}, INTERLEAVE IN Users")
    assert "INTERLEAVE IN Users" in queue.create_queue()
    assert "INTERLEAVE" not in queue.create_table().rsplit(")) HIDDEN", 1)[1]


def test_alterations_change_definition_and_table() -> None:
    plan = translate(
        [
            CREATE.replace("q (", "q (At TIMESTAMP NOT NULL, ").replace("(Id)", "(At, Id)"),
            "ALTER QUEUE q SET OPTIONS (disable_send = true, disable_delivery = true)",
            "ALTER QUEUE q SET OPTIONS (disable_delivery = NULL)",
            "ALTER QUEUE q ADD ROW DELETION POLICY (OLDER_THAN(At, INTERVAL 1 DAY))",
            "ALTER QUEUE q REPLACE ROW DELETION POLICY (OLDER_THAN(At, INTERVAL 2 DAY))",
        ],
        {},
    )
    assert plan.queues["q"].options == {"disable_send": "true"}
    assert plan.queues["q"].row_deletion == "(OLDER_THAN(At, INTERVAL 2 DAY))"
    assert "ALTER TABLE `q` REPLACE ROW DELETION POLICY (OLDER_THAN(At, INTERVAL 2 DAY))" in plan.statements


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE t (a INT64) PRIMARY KEY (a)",
        "CREATE INDEX i ON t (a)",
        "DROP TABLE t",
        "ALTER TABLE t ADD COLUMN b STRING(MAX)",
        "GRANT SELECT ON TABLE t TO ROLE r",
        "CREATE TABLE 'unfinished",
        "",
    ],
)
def test_other_statements_pass_untouched(statement: str) -> None:
    plan = translate([statement], QUEUES)
    assert plan.statements == [statement]
    assert not plan.changed


@pytest.mark.parametrize(
    ("sql", "dml"),
    [
        ("INSERT INTO q (a) VALUES (1)", Dml("INSERT", "q")),
        ("insert `q` (a) SELECT 1", Dml("INSERT", "q")),
        ("/* x */ INSERT OR IGNORE INTO q (a) VALUES (1)", Dml("INSERT", "q")),
        ("INSERT OR UPDATE q (a) VALUES (1)", Dml("INSERT OR UPDATE", "q")),
        ("@{a=1} UPDATE s.q SET a = 1 WHERE TRUE", Dml("UPDATE", "s.q")),
        ("DELETE q WHERE TRUE", Dml("DELETE", "q")),
        ("SELECT 'INSERT INTO q'", None),
        ("INSERT", None),
        ("'broken", None),
    ],
)
def test_which_table_a_statement_changes(sql: str, dml: Dml | None) -> None:
    assert find_dml(sql) == dml


def function(sql: str) -> FunctionQuery:
    found = find_function(sql, QUEUES)
    assert found is not None
    return found


def test_the_parts_of_a_receive_query() -> None:
    query = function(
        "@{x=1} SELECT m.Id, f(Payload) AS p FROM receive_Q(max_batch_size => 1) AS m WHERE m.Id > 1;"
    )
    assert (query.function, query.queue, query.alias) == ("RECEIVE", QUEUE, "m")
    assert (query.select_text(), query.where) == ("m.Id, f(Payload) AS p", "m.Id > 1")
    assert query.over("(x)", with_where=False) == "SELECT m.Id, f(Payload) AS p\nFROM (x) AS `m`"


@pytest.mark.parametrize(
    "sql", ["SELECT 'RECEIVE_q()'", "SELECT receive_q FROM t", "SELECT * FROM RECEIVE_x()", "'RECEIVE_q("]
)
def test_what_only_looks_like_a_receive_query(sql: str) -> None:
    assert find_function(sql, QUEUES) is None


@pytest.mark.parametrize(
    ("select_list", "names"),
    [
        ("*", ["Id", "Payload", "DeliverTime"]),
        ("m.*", ["Id", "Payload", "DeliverTime"]),
        ("payload AS p, m.Id i, DELIVERTIME", ["p", "i", "DELIVERTIME"]),
        ("Id + 1", None),
        ("COUNT(*)", None),
        ("x.Id", None),
        ("Nothing", None),
    ],
)
def test_plain_columns(select_list: str, names: list[str] | None) -> None:
    columns = plain_columns(function(f"SELECT {select_list} FROM RECEIVE_q() AS m"), QUEUE.columns)
    assert (columns if columns is None else [column.name for column in columns]) == names


def arguments(call: str, **params: object) -> ReceiveArguments:
    bound = Struct()
    bound.update(params)
    return receive_arguments(function(f"SELECT * FROM RECEIVE_q({call})").arguments, bound, "RECEIVE_q")


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("", ReceiveArguments(100, 1200)),
        ("5", ReceiveArguments(5, 1200)),
        ("5, NULL, '30s'", ReceiveArguments(5, 30)),
        ("max_duration => @d, max_batch_size => @n", ReceiveArguments(7, 5400)),
        ("priority => -3, max_duration => '500ms'", ReceiveArguments(100, 0.5)),
        ("max_batch_size => NULL, max_duration => NULL", ReceiveArguments(100, 1200)),
    ],
)
def test_receive_arguments(call: str, expected: ReceiveArguments) -> None:
    assert arguments(call, d="1h30m", n="7") == expected


@pytest.mark.parametrize(
    "call",
    ["x => 1", "1, 2, '1s', 4", "-1", "1.5", "TRUE", "max_duration => 'soon'", "max_duration => 20", "f(1)",
     "max_batch_size => 1, max_batch_size => 2", "@missing", "max_batch_size => 1, NULL"],
)  # fmt: skip
def test_wrong_receive_arguments(call: str) -> None:
    with pytest.raises(SqlError):
        arguments(call)


def test_lease_tokens() -> None:
    bound = Struct()
    bound.update({"all": ["a", "b"], "one": "c"})
    for call, expected in (
        ("lease_tokens => @all", ["a", "b"]),
        ("['x', @one]", ["x", "c"]),
        ("ARRAY<STRING>['x', NULL]", ["x"]),
        ("[]", []),
    ):
        query = function(f"SELECT * FROM RENEWLEASE_q({call})")
        assert lease_tokens(query.arguments, bound, "RENEWLEASE_q") == expected


def test_the_moved_clock_in_a_statement() -> None:
    sql = "INSERT INTO q (a, b) VALUES ('CURRENT_TIMESTAMP()', CURRENT_TIMESTAMP( ), current_timestamp)"
    moved = "TIMESTAMP_ADD(CURRENT_TIMESTAMP(), INTERVAL 1500000 MICROSECOND)"
    assert at_moved_clock(sql, 0.0) == sql
    assert at_moved_clock(sql, 1.5) == (
        f"INSERT INTO q (a, b) VALUES ('CURRENT_TIMESTAMP()', {moved}, {moved})"
    )


def test_a_definition_knows_its_columns() -> None:
    queue: QueueDefinition = parse_create_queue(
        "CREATE QUEUE q (b INT64, Payload a.b.Message NOT NULL HIDDEN, a INT64) PRIMARY KEY (a ASC, b)"
    )
    assert (queue.columns, queue.key_names) == (("b", "a", "Payload", "DeliverTime"), ("a", "b"))
