"""Walk over tokens: the few steps that every reader of statements needs.

::

    reader = Reader(sql, dialect.tokenize(sql))
    reader.skip_hint()
    if reader.words("INSERT", "INTO"): table = reader.path()
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from .tokens import Kind, Token

_OPENING = {"(": ")", "[": "]", "{": "}"}
_CLOSING = (")", "]", "}")

Problem = Literal["invalid", "not found", "exists", "in use"]


class SqlError(ValueError):
    """A statement about a queue that cannot be understood or done; the text is meant for the client."""

    def __init__(self, text: str, problem: Problem = "invalid") -> None:
        super().__init__(text)
        self.problem: Problem = problem


class Reader:
    """A place in the tokens of one statement."""

    def __init__(self, sql: str, tokens: list[Token]) -> None:
        self.sql = sql
        self.tokens = tokens
        while self.tokens and self.tokens[-1].is_symbol(";"):
            self.tokens = self.tokens[:-1]
        self.position = 0

    @property
    def done(self) -> bool:
        """Whether no token is left."""
        return self.position >= len(self.tokens)

    def peek(self, ahead: int = 0) -> Token | None:
        """Return a token that comes, without going there."""
        index = self.position + ahead
        return self.tokens[index] if index < len(self.tokens) else None

    def words(self, *words: str) -> bool:
        """Step over these keywords when they all come next."""
        for ahead, word in enumerate(words):
            token = self.peek(ahead)
            if token is None or not token.is_word(word):
                return False
        self.position += len(words)
        return True

    def symbol(self, symbol: str) -> bool:
        """Step over a symbol when it comes next."""
        token = self.peek()
        if token is None or not token.is_symbol(symbol):
            return False
        self.position += 1
        return True

    def expect_symbol(self, symbol: str) -> None:
        """Step over a symbol that has to come next."""
        if not self.symbol(symbol):
            raise SqlError(f"Syntax error: expected {symbol!r} but got {self.here()}")

    def expect_words(self, *words: str) -> None:
        """Step over keywords that have to come next."""
        if not self.words(*words):
            raise SqlError(f"Syntax error: expected {' '.join(words)} but got {self.here()}")

    def expect_end(self) -> None:
        """Refuse whatever is left."""
        if not self.done:
            raise SqlError(f"Syntax error: expected end of statement but got {self.here()}")

    def here(self) -> str:
        """Name the next token for an error message."""
        token = self.peek()
        return repr(token.text) if token else "end of statement"

    def next(self) -> Token:
        """Take the next token."""
        token = self.peek()
        if token is None:
            raise SqlError("Syntax error: unexpected end of statement")
        self.position += 1
        return token

    def path(self) -> list[str]:
        """Take a name, dotted or not."""
        if (token := self.next()).is_name:
            names = [token.name]
        else:
            raise SqlError(f"Syntax error: expected a name but got {token.text!r}")
        while self.symbol("."):
            names.append(self.next().name)
        return names

    def skip_hint(self) -> None:
        """Step over a statement hint ``@{...}``."""
        first, second = self.peek(), self.peek(1)
        if first and second and first.is_symbol("@") and second.is_symbol("{"):
            self.position += 1
            self.group()

    def group(self) -> list[Token]:
        """Take a bracketed group and return what is inside."""
        token = self.peek()
        if token is None or token.text not in _OPENING:
            raise SqlError(f"Syntax error: expected '(' but got {self.here()}")
        opening = self.next()
        start = self.position
        depth = [_OPENING[opening.text]]
        while depth:
            token = self.next()
            if token.kind is Kind.SYMBOL and token.text in _OPENING:
                depth.append(_OPENING[token.text])
            elif token.is_symbol(depth[-1]):
                depth.pop()
        return self.tokens[start : self.position - 1]

    def text_of(self, tokens: Sequence[Token]) -> str:
        """Return what the tokens say, one space in the place of any gap or comment between them."""
        parts: list[str] = []
        for index, token in enumerate(tokens):
            gap = index > 0 and tokens[index - 1].end < token.start
            parts.append(f" {token.text}" if gap else token.text)
        return "".join(parts)

    def text_since(self, position: int) -> str:
        """Return what the tokens from a position to here say."""
        return self.text_of(self.tokens[position : self.position])


def with_depth(tokens: Sequence[Token]) -> Iterator[tuple[int, Token]]:
    """Go over tokens with the number of brackets that each stands in; brackets belong to the outside."""
    depth = 0
    for token in tokens:
        if token.kind is Kind.SYMBOL and token.text in _CLOSING:
            depth -= 1
        yield depth, token
        if token.kind is Kind.SYMBOL and token.text in _OPENING:
            depth += 1


def outer(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens that stand outside of brackets."""
    return [token for depth, token in with_depth(tokens) if depth == 0]


def split(tokens: Sequence[Token], separator: str = ",") -> list[list[Token]]:
    """Cut tokens at a separator that stands outside of brackets."""
    parts: list[list[Token]] = [[]]
    for depth, token in with_depth(tokens):
        if depth == 0 and token.is_symbol(separator):
            parts.append([])
        else:
            parts[-1].append(token)
    return parts if len(parts) > 1 or parts[0] else []


class Edits:
    """Replacements of pieces of a text, by position."""

    def __init__(self, sql: str) -> None:
        self._sql = sql
        self._edits: list[tuple[int, int, str]] = []

    def replace(self, start: int, end: int, text: str) -> None:
        """Put a text in the place of a piece."""
        self._edits.append((start, end, text))

    def apply(self) -> str:
        """Return the text with all replacements made."""
        parts: list[str] = []
        position = 0
        for start, end, text in sorted(self._edits):
            parts += [self._sql[position:start], text]
            position = end
        return "".join([*parts, self._sql[position:]])
