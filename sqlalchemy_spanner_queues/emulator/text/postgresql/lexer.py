"""The words, strings and names of Spanner's PostgreSQL dialect.

https://docs.cloud.google.com/spanner/docs/reference/postgresql/lexical
"""

from __future__ import annotations

import re
from typing import Final

from ..tokens import Kind, Lexer, is_character

_ESCAPES: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_ESCAPE: Final = re.compile(
    r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.S
)


def _comment(depth: int) -> str:
    """Write the pattern of a comment that comments may stand in, so many deep."""
    inner = f"|{_comment(depth - 1)}" if depth else ""
    return rf"/\*(?:(?!\*/|/\*).{inner})*\*/"


_TOKEN: Final = re.compile(
    r"""
      (?P<skip>\s+|--[^\n]*|"""
    + _comment(5)
    + r""")
    | (?P<string>[eE]'(?:\\.|''|[^'\\])*' | [bBxX]?'(?:''|[^'])*' | \$(?P<tag>[A-Za-z_]\w*|)\$.*?\$(?P=tag)\$)
    | (?P<quoted>"(?:""|[^"])+")
    | (?P<parameter>\$\d+)
    | (?P<word>(?![eE]')[A-Za-z_\u0080-\U0010ffff][A-Za-z0-9_$\u0080-\U0010ffff]*)
    | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    | (?P<symbol>=>|<=|>=|<>|!=|\|\||::|->>|->|(?![eE]')[^'"$])
    """,
    re.X | re.S,
)


def _content(kind: Kind, text: str) -> str:
    if kind is Kind.WORD:
        return text.lower()
    if kind is Kind.QUOTED:
        return text[1:-1].replace('""', '"')
    if kind is Kind.STRING:
        return _string(text)
    return f"p{text[1:]}" if kind is Kind.PARAMETER else text


def _string(text: str) -> str:
    if text.startswith("$"):
        tag = text[: text.index("$", 1) + 1]
        return text[len(tag) : -len(tag)]
    inner = text[text.index("'") + 1 : -1].replace("''", "'")
    return _ESCAPE.sub(_replace_escape, inner) if text[0] in "eE" else inner


def _replace_escape(match: re.Match[str]) -> str:
    octal, byte, short, wide, letter = match.groups()
    if letter:
        return _ESCAPES.get(letter, letter)
    code = int(octal, 8) if octal else int(byte or short or wide, 16)
    return chr(code) if is_character(code) else match.group()


def quote_string(text: str) -> str:
    """Write a text as a string literal."""
    escaped = text.replace("'", "''")
    return f"'{escaped}'"


def quote_name(name: str) -> str:
    """Write an identifier so that it may be any word."""
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def quote_if_needed(name: str) -> str:
    """Quote an identifier unless it is a plain word in lower case."""
    plain = re.fullmatch(r"[a-z_][a-z0-9_]*", name) and name not in _RESERVED
    return name if plain else quote_name(name)


_RESERVED_WORDS: Final = """
    all analyse analyze and any array as asc asymmetric both case cast check collate column constraint
    create current_catalog current_date current_role current_time current_timestamp current_user default
    deferrable desc distinct do else end except false fetch for foreign from grant group having in initially
    intersect into lateral leading limit localtime localtimestamp not null offset on only or order placing
    primary references returning select session_user some symmetric table then to trailing true union unique
    user using variadic when where window with
"""
_RESERVED: Final = frozenset(_RESERVED_WORDS.split())

LEXER: Final = Lexer(_TOKEN, _content)
