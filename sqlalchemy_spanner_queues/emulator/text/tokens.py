"""Cut GoogleSQL text into tokens: what the gateway knows of a statement, it knows from these.

Comments and white space are left out; every token keeps its place, so that text is replaced by position and
never by pattern. ::

    [token.text for token in tokenize("SELECT `a` -- first\\nFROM q")]   # ['SELECT', '`a`', 'FROM', 'q']

https://docs.cloud.google.com/spanner/docs/reference/standard-sql/lexical
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final


class Kind(Enum):
    """What a token is."""

    WORD = auto()
    QUOTED = auto()
    STRING = auto()
    NUMBER = auto()
    PARAMETER = auto()
    SYMBOL = auto()


class TokenError(ValueError):
    """The text cannot be cut into tokens: a string, name or comment does not end."""


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of SQL text, and where it stands (character offsets, the end excluded)."""

    kind: Kind
    text: str
    start: int
    end: int

    @property
    def name(self) -> str:
        """The identifier or parameter name without quotes and ``@``."""
        if self.kind is Kind.QUOTED:
            return unescape(self.text[1:-1])
        return self.text[1:] if self.kind is Kind.PARAMETER else self.text

    @property
    def is_name(self) -> bool:
        """Whether the token can be an identifier."""
        return self.kind is Kind.WORD or self.kind is Kind.QUOTED

    def is_word(self, *words: str) -> bool:
        """Tell whether the token is one of these keywords (upper case), in any letter case."""
        return self.kind is Kind.WORD and self.text.upper() in words

    def is_symbol(self, symbol: str) -> bool:
        """Tell whether the token is this punctuation."""
        return self.kind is Kind.SYMBOL and self.text == symbol

    def value(self) -> str:
        """Return what a string literal stands for."""
        prefix = self.text[: min(self.text.find(quote) for quote in "'\"" if quote in self.text)]
        body = self.text[len(prefix) :]
        width = 3 if body[:3] in ("'''", '"""') and len(body) >= 6 else 1
        inner = body[width:-width]
        return inner if "r" in prefix.lower() else unescape(inner)


_ESCAPES: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPE: Final = re.compile(
    r"\\(?:([0-7]{3})|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.S
)

_TOKEN: Final = re.compile(
    r"""
      (?P<skip>\s+|\#[^\n]*|--[^\n]*|/\*.*?\*/)
    | (?P<string>(?:[rR][bB]?|[bB][rR]?)?(?:
          '''(?:\\.|(?!''').)*''' | \"\"\"(?:\\.|(?!\"\"\").)*\"\"\"
        | '(?:\\.|[^'\\\n])*'     | "(?:\\.|[^"\\\n])*"))
    | (?P<quoted>`(?:\\.|[^`\\\n])+`)
    | (?P<parameter>@[A-Za-z_][A-Za-z0-9_]*)
    | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<number>0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    | (?P<symbol>=>|<=|>=|<>|!=|\|\||<<|>>|@@|[^'"`])
    """,
    re.X | re.S,
)

_KINDS: Final = {
    "string": Kind.STRING,
    "quoted": Kind.QUOTED,
    "parameter": Kind.PARAMETER,
    "word": Kind.WORD,
    "number": Kind.NUMBER,
    "symbol": Kind.SYMBOL,
}


def _replace_escape(match: re.Match[str]) -> str:
    octal, byte, short, wide, letter = match.groups()
    if octal:
        return chr(int(octal, 8))
    digits = byte or short or wide
    return chr(int(digits, 16)) if digits else _ESCAPES.get(letter, letter)


def unescape(text: str) -> str:
    """Resolve the backslash escapes of a string literal or quoted name."""
    return _ESCAPE.sub(_replace_escape, text) if "\\" in text else text


def quote_string(text: str) -> str:
    """Write a text as a string literal that any reader of GoogleSQL reads back unchanged."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{escaped}'"


def quote_name(name: str) -> str:
    """Write an identifier so that it may be any word."""
    escaped = name.replace("\\", "\\\\").replace("`", "\\`")
    return f"`{escaped}`"


def tokenize(sql: str, limit: int | None = None) -> list[Token]:
    """Cut a text into tokens; with ``limit``, only its first ones.

    Raises TokenError where a string, quoted name or comment does not end.
    """
    tokens: list[Token] = []
    position = 0
    while position < len(sql) and (limit is None or len(tokens) < limit):
        match = _TOKEN.match(sql, position)
        if match is None or (match.group() == "/" and sql.startswith("/*", position)):
            raise TokenError(f"unterminated text at offset {position}")
        if match.lastgroup and match.lastgroup != "skip":
            tokens.append(Token(_KINDS[match.lastgroup], match.group(), match.start(), match.end()))
        position = match.end()
    return tokens
