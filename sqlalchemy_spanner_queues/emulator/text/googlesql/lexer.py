"""The words, strings and names of GoogleSQL.

https://docs.cloud.google.com/spanner/docs/reference/standard-sql/lexical
"""

from __future__ import annotations

import re
from typing import Final

from ..tokens import Kind, Lexer, is_character

_ESCAPES: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPE: Final = re.compile(
    r"\\(?:([0-7]{3})|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.S
)

_TOKEN: Final = re.compile(
    r"""
      (?P<skip>\s+|\#[^\n]*|--[^\n]*|/\*.*?\*/)
    | (?P<string>(?:[rR][bB]?|[bB][rR]?)?(?:
          '''(?:\\.|(?!''')[^\\])*''' | \"\"\"(?:\\.|(?!\"\"\")[^\\])*\"\"\"
        | '(?!'')(?:\\.|[^'\\\n])*'  | "(?!"")(?:\\.|[^"\\\n])*"))
    | (?P<quoted>`(?:\\.|[^`\\\n])+`)
    | (?P<parameter>@[A-Za-z_][A-Za-z0-9_]*)
    | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<number>0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    | (?P<symbol>=>|<=|>=|<>|!=|\|\||<<|>>|@@|[^'"`])
    """,
    re.X | re.S,
)


def _content(kind: Kind, text: str) -> str:
    if kind is Kind.QUOTED:
        return unescape(text[1:-1])
    if kind is Kind.STRING:
        return _string(text)
    return text[1:] if kind is Kind.PARAMETER else text


def _string(text: str) -> str:
    prefix = text[: min(text.find(quote) for quote in "'\"" if quote in text)]
    body = text[len(prefix) :]
    width = 3 if body[:3] in ("'''", '"""') and len(body) >= 6 else 1
    inner = body[width:-width]
    return inner if "r" in prefix.lower() else unescape(inner)


def _replace_escape(match: re.Match[str]) -> str:
    octal, byte, short, wide, letter = match.groups()
    if letter:
        return _ESCAPES.get(letter, letter)
    code = int(octal, 8) if octal else int(byte or short or wide, 16)
    return chr(code) if is_character(code) else match.group()


def unescape(text: str) -> str:
    """Resolve the backslash escapes of a string literal or quoted name."""
    return _ESCAPE.sub(_replace_escape, text) if "\\" in text else text


def quote_string(text: str) -> str:
    """Write a text as a string literal that any reader of GoogleSQL reads back unchanged."""
    return _quoted(text, "'")


def quote_name(name: str) -> str:
    """Write an identifier so that it may be any word."""
    return _quoted(name, "`")


def _quoted(text: str, mark: str) -> str:
    escaped = text.replace("\\", "\\\\").replace(mark, f"\\{mark}")
    return mark + escaped.replace("\n", "\\n").replace("\r", "\\r") + mark


def quote_if_needed(name: str) -> str:
    """Quote an identifier unless it is a plain word."""
    plain = name.isascii() and name.isidentifier() and name.upper() not in _RESERVED
    return name if plain else quote_name(name)


_RESERVED_WORDS: Final = """
    ALL AND ANY ARRAY AS ASC ASSERT_ROWS_MODIFIED AT BETWEEN BY CASE CAST COLLATE CONTAINS CREATE
    CROSS CUBE CURRENT DEFAULT DEFINE DESC DISTINCT ELSE END ENUM ESCAPE EXCEPT EXCLUDE EXISTS
    EXTRACT FALSE FETCH FOLLOWING FOR FROM FULL GROUP GROUPING GROUPS HASH HAVING IF IGNORE IN INNER
    INTERSECT INTERVAL INTO IS JOIN LATERAL LEFT LIKE LIMIT LOOKUP MERGE NATURAL NEW NO NOT NULL
    NULLS OF ON OR ORDER OUTER OVER PARTITION PRECEDING PROTO RANGE RECURSIVE RESPECT RIGHT ROLLUP
    ROWS SELECT SET SOME STRUCT TABLESAMPLE THEN TO TREAT TRUE UNBOUNDED UNION UNNEST USING WHEN
    WHERE WINDOW WITH WITHIN
"""
_RESERVED: Final = frozenset(_RESERVED_WORDS.split())

LEXER: Final = Lexer(_TOKEN, _content)
