"""Text is cut into tokens: what is a string, a name, a comment, and what it stands for."""

from __future__ import annotations

import pytest

from sqlalchemy_spanner_queues.emulator.text.dialect import Dialect
from sqlalchemy_spanner_queues.emulator.text.reading import outer, split
from sqlalchemy_spanner_queues.emulator.text.tokens import Kind, TokenError
from tests.unit.emulator_text.queues import BOTH, GOOGLESQL, POSTGRESQL, named, texts


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT 1 -- FROM x\n, 2", ["SELECT", "1", ",", "2"]),
        ("SELECT 1 -- FROM x", ["SELECT", "1"]),
        ("SELECT /* 'a */ b", ["SELECT", "b"]),
        ("/**/a/***/b", ["a", "b"]),
        ("a<=b||c<>d!=e", ["a", "<=", "b", "||", "c", "<>", "d", "!=", "e"]),
        ("f(a=>1.5e3, b => .5)", ["f", "(", "a", "=>", "1.5e3", ",", "b", "=>", ".5", ")"]),
        ("a - -1;", ["a", "-", "-", "1", ";"]),
        ("' -- no comment ' /* ' */ ''", ["' -- no comment '", "''"]),
        ("", []),
        (" \t\r\n", []),
        (";;", [";", ";"]),
    ],
)
@pytest.mark.parametrize("dialect", BOTH, ids=named)
def test_tokens_of_both_dialects(dialect: Dialect, sql: str, expected: list[str]) -> None:
    assert texts(dialect.tokenize(sql)) == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT 1 # FROM x\n+ 1", ["SELECT", "1", "+", "1"]),
        ("/* a /* b */ c", ["c"]),
        ("'it''s'", ["'it'", "'s'"]),
        (r"'a\'b' c", [r"'a\'b'", "c"]),
        ('"a\'b" c', ['"a\'b"', "c"]),
        ('"""a "quoted" b""" c', ['"""a "quoted" b"""', "c"]),
        ("'''a\n'b'\n''' c", ["'''a\n'b'\n'''", "c"]),
        (r"'''a\''' b''' c", [r"'''a\''' b'''", "c"]),
        ("'''''' ''", ["''''''", "''"]),
        ("r'\\n' B'x' rb'''y''' Br\"z\"", [r"r'\n'", "B'x'", "rb'''y'''", 'Br"z"']),
        ("`a b`.c", ["`a b`", ".", "c"]),
        (r"`a\`b` c", [r"`a\`b`", "c"]),
        ("@p @@v @{h=1}", ["@p", "@@", "v", "@", "{", "h", "=", "1", "}"]),
        ("0xFF 1. 2<<3>>4", ["0xFF", "1.", "2", "<<", "3", ">>", "4"]),
        ("$1", ["$", "1"]),
    ],
)
def test_tokens_of_googlesql(sql: str, expected: list[str]) -> None:
    assert texts(GOOGLESQL.tokenize(sql)) == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("/* a /* b */ c */ d", ["d"]),
        ("/*/*/*/*/*deep*/*/*/*/*/ d", ["d"]),
        ("'it''s'", ["'it''s'"]),
        (r"'a\' b", [r"'a\'", "b"]),
        (r"E'a\'b' e'c''d\\' f", [r"E'a\'b'", r"e'c''d\\'", "f"]),
        ("'a\nb'", ["'a\nb'"]),
        ("$$a 'b' -- c$$ d", ["$$a 'b' -- c$$", "d"]),
        ("$tag$a $$ $other$ b$tag$ c", ["$tag$a $$ $other$ b$tag$", "c"]),
        ("a$b$c d$1", ["a$b$c", "d$1"]),
        ("$1,$12", ["$1", ",", "$12"]),
        ('"a b"."c""d"', ['"a b"', ".", '"c""d"']),
        ("x'1F' B'01'", ["x'1F'", "B'01'"]),
        ("a::text->>'b'->c", ["a", "::", "text", "->>", "'b'", "->", "c"]),
        ("größe = '€'", ["größe", "=", "'€'"]),
        ("`a`", ["`", "a", "`"]),
        ("# a", ["#", "a"]),
    ],
)
def test_tokens_of_postgresql(sql: str, expected: list[str]) -> None:
    assert texts(POSTGRESQL.tokenize(sql)) == expected


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        *((dialect, sql) for dialect in BOTH for sql in ("'a", '"a', "/* a", "a /*/", "1 + '")),
        *(
            (GOOGLESQL, sql)
            for sql in ("`a", "``", "'a\nb'", r"r'\'", "'''a''", "'''a'", '"""a"', r"'''a\'''", r"'a\'")
        ),
        *((POSTGRESQL, sql) for sql in ("/* a /* b */", r"E'a\'", "$$a", "$a$ b $c$", "$ 1", '""')),
    ],
    ids=named,
)
def test_text_that_does_not_end(dialect: Dialect, sql: str) -> None:
    with pytest.raises(TokenError):
        dialect.tokenize(sql)


@pytest.mark.parametrize("dialect", BOTH, ids=named)
def test_only_the_first_tokens_are_cut(dialect: Dialect) -> None:
    assert texts(dialect.tokenize("INSERT INTO q 'not read", 3)) == ["INSERT", "INTO", "q"]
    assert dialect.tokenize("a", 0) == []


@pytest.mark.parametrize(
    "text",
    ["", "plain", "it's", 'say "x"', "back\\slash", "two\nlines\r", "\\n", "`q`", "''' \"\"\"", "\\", "ü€",
     "$$", "spanner-queues:", "-- no comment", "\\'", "''"],
)  # fmt: skip
@pytest.mark.parametrize("dialect", BOTH, ids=named)
def test_a_quoted_text_reads_back(dialect: Dialect, text: str) -> None:
    (token,) = dialect.tokenize(dialect.quote_string(text))
    assert (token.kind, token.content) == (Kind.STRING, text)
    if text:
        (token,) = dialect.tokenize(dialect.quote_name(text))
        assert (token.kind, token.name) == (Kind.QUOTED, text)


@pytest.mark.parametrize(
    ("dialect", "literal", "content"),
    [
        (GOOGLESQL, r"r'a\n'", r"a\n"),
        (GOOGLESQL, '"""a"b"""', 'a"b'),
        (GOOGLESQL, r"'\x41\u00e9\101\t\U0001F600\?\`'", "AéA\t😀?`"),
        (GOOGLESQL, r"'\ud800\Uffffffff'", r"\ud800\Uffffffff"),
        (GOOGLESQL, "''", ""),
        (GOOGLESQL, '""', ""),
        (GOOGLESQL, "''''''", ""),
        (GOOGLESQL, r"`a\nb`", "a\nb"),
        (GOOGLESQL, "@Name", "Name"),
        (GOOGLESQL, "Name", "Name"),
        (POSTGRESQL, r"'a\n'", r"a\n"),
        (POSTGRESQL, "'it''s'", "it's"),
        (POSTGRESQL, r"E'\x41\u00e9\101\t\'\\'''", "AéA\t'\\'"),
        (POSTGRESQL, r"E'\Uffffffff'", r"\Uffffffff"),
        (POSTGRESQL, "$$it's$$", "it's"),
        (POSTGRESQL, "$x$a\nb$x$", "a\nb"),
        (POSTGRESQL, '"UserTasks"', "UserTasks"),
        (POSTGRESQL, '"a""b"', 'a"b'),
        (POSTGRESQL, "UserTasks", "usertasks"),
        (POSTGRESQL, "$7", "p7"),
    ],
    ids=named,
)
def test_what_a_token_stands_for(dialect: Dialect, literal: str, content: str) -> None:
    (token,) = dialect.tokenize(literal)
    assert token.content == content


@pytest.mark.parametrize(
    ("dialect", "name", "written"),
    [
        (GOOGLESQL, "UserTasks", "UserTasks"),
        (GOOGLESQL, "_1", "_1"),
        (GOOGLESQL, "order", "`order`"),
        (GOOGLESQL, "Group", "`Group`"),
        (GOOGLESQL, "payload", "payload"),
        (GOOGLESQL, "a-b", "`a-b`"),
        (GOOGLESQL, "größe", "`größe`"),
        (GOOGLESQL, "1a", "`1a`"),
        (POSTGRESQL, "user_tasks", "user_tasks"),
        (POSTGRESQL, "UserTasks", '"UserTasks"'),
        (POSTGRESQL, "order", '"order"'),
        (POSTGRESQL, "hash", "hash"),
        (POSTGRESQL, "a b", '"a b"'),
        (POSTGRESQL, "a\n", '"a\n"'),
        (POSTGRESQL, 'a"b', '"a""b"'),
    ],
    ids=named,
)
def test_names_are_quoted_where_they_must_be(dialect: Dialect, name: str, written: str) -> None:
    assert dialect.quote_if_needed(name) == written


def test_keywords_are_words_in_any_letter_case_and_never_quoted() -> None:
    plain, quoted, text = GOOGLESQL.tokenize("Select `select` 'select'")
    assert (plain.is_word("SELECT"), quoted.is_word("SELECT"), text.is_word("SELECT")) == (True, False, False)
    assert (plain.is_name, quoted.is_name, text.is_name) == (True, True, False)


@pytest.mark.parametrize("dialect", BOTH, ids=named)
def test_split_keeps_brackets_together(dialect: Dialect) -> None:
    tokens = dialect.tokenize("a, f(b, [c, d]), {e, f}")
    assert [" ".join(texts(part)) for part in split(tokens)] == ["a", "f ( b , [ c , d ] )", "{ e , f }"]
    assert split([]) == []
    assert [texts(part) for part in split(dialect.tokenize(",a"))] == [[], ["a"]]
    assert texts(outer(dialect.tokenize("a (b (c)) d"))) == ["a", "(", ")", "d"]
