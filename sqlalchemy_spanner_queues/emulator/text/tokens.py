"""Cut SQL text into tokens: what the gateway knows of a statement, it knows from these.

Comments and white space are left out; every token keeps its place, so that text is replaced by position and
never by pattern. The dialects bring the patterns::

    [token.text for token in GOOGLESQL.tokenize("SELECT `a` FROM q")]   # ["SELECT", "`a`", "FROM", "q"]

https://docs.cloud.google.com/spanner/docs/reference/standard-sql/lexical
"""

from __future__ import annotations

import re
from collections.abc import Callable
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
    """A piece of SQL text, where it stands (character offsets, the end excluded), and what it stands for.

    ``content`` is an identifier or parameter name without its marks, or the value of a string.
    """

    kind: Kind
    text: str
    start: int
    end: int
    content: str

    @property
    def name(self) -> str:
        """The identifier or parameter name."""
        return self.content

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


def is_character(code: int) -> bool:
    """Tell whether an escape with this code stands for a character, which surrogates are not."""
    return code < 0xD800 or 0xDFFF < code <= 0x10FFFF


_KINDS: Final = {
    "string": Kind.STRING,
    "quoted": Kind.QUOTED,
    "parameter": Kind.PARAMETER,
    "word": Kind.WORD,
    "number": Kind.NUMBER,
    "symbol": Kind.SYMBOL,
}


class Lexer:
    """Cuts the text of one dialect.

    The pattern has a group for each kind of token and one named ``skip``; ``content`` says what a token
    stands for.
    """

    def __init__(self, pattern: re.Pattern[str], content: Callable[[Kind, str], str]) -> None:
        self._pattern = pattern
        self._content = content

    def tokenize(self, sql: str, limit: int | None = None) -> list[Token]:
        """Cut a text into tokens; with ``limit``, only its first ones.

        Raises TokenError where a string, quoted name or comment does not end.
        """
        tokens: list[Token] = []
        position = 0
        while position < len(sql) and (limit is None or len(tokens) < limit):
            match = self._pattern.match(sql, position)
            if match is None or (match.group() == "/" and sql.startswith("/*", position)):
                raise TokenError(f"unterminated text at offset {position}")
            if match.lastgroup and match.lastgroup != "skip":
                kind, text = _KINDS[match.lastgroup], match.group()
                tokens.append(Token(kind, text, match.start(), match.end(), self._content(kind, text)))
            position = match.end()
        return tokens
