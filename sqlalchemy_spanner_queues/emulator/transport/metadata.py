"""Metadata: the header fields of a call that are its users' own.

::

    metadata = Metadata.of([("x-goog-request-params", "session=s"), ("trace-bin", b"\\x00")])
    dict(metadata)["trace-bin"]        # b"\\x00"

https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, TypeAlias

Pair: TypeAlias = tuple[str, str | bytes]

DETAILS: Final = b"grpc-status-details-bin"

_BINARY: Final = b"-bin"
_SHORT: Final = tuple(bytes((length,)) for length in range(0x7F))
_OF_THE_HOP: Final = frozenset(
    {b"te", b"content-type", b"content-length", b"user-agent", b"host", b"accept-encoding", b"connection"}
)


class Field:
    """A header field as it came; ``wire`` is how it goes on, empty when it does not."""

    __slots__ = ("name", "value", "wire")

    def __init__(self, name: bytes, value: bytes) -> None:
        self.name = name
        self.value = value
        begun = _begun(name)
        self.wire = begun + _length(len(value)) + value if begun else b""


class Metadata:
    """The metadata of a call, in order; a name may come more than once.

    Iterating gives pairs: text, or bytes when the name ends in ``-bin``. What gRPC and HTTP/2 need for
    themselves is left out, except the status details, so that all of it may be passed on as it is.
    """

    __slots__ = ("_fields", "wire")

    def __init__(self, fields: Sequence[Field] = ()) -> None:
        self._fields = fields
        self.wire = b"".join([field.wire for field in fields])

    @classmethod
    def of(cls, pairs: Iterable[Pair]) -> Metadata:
        """Make metadata of pairs of a lower-case name and its value."""
        return cls([Field(name.encode("ascii"), _encoded(name, value)) for name, value in pairs])

    def __iter__(self) -> Iterator[Pair]:
        for field in self._fields:
            if field.wire:
                yield from _pairs(field)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Metadata) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(self.wire)

    def __repr__(self) -> str:
        return f"Metadata.of({list(self)!r})"


def is_custom(name: bytes) -> bool:
    """Tell whether a field belongs to the call's users."""
    if name.startswith((b":", b"grpc-")):
        return name == DETAILS
    return name not in _OF_THE_HOP


@lru_cache(maxsize=256)
def _begun(name: bytes) -> bytes:
    return literal(name, b"")[:-1] if is_custom(name) else b""


def literal(name: bytes, value: bytes) -> bytes:
    """Encode a field for a header block, without any table."""
    return b"\x00" + _length(len(name)) + name + _length(len(value)) + value


def _length(length: int) -> bytes:
    if length < 0x7F:
        return _SHORT[length]
    octets = bytearray((0x7F,))
    length -= 0x7F
    while length >= 0x80:
        octets.append(length & 0x7F | 0x80)
        length >>= 7
    octets.append(length)
    return bytes(octets)


def _encoded(name: str, value: str | bytes) -> bytes:
    octets = value.encode("latin-1") if isinstance(value, str) else value
    return b64encode(octets).rstrip(b"=") if name.endswith("-bin") else octets


def _pairs(field: Field) -> Iterator[Pair]:
    name = field.name.decode("latin-1")
    if not field.name.endswith(_BINARY):
        yield name, field.value.decode("latin-1")
        return
    # Whoever is between may have joined several values of one name.
    for part in field.value.split(b","):
        yield name, b64decode(part + b"=" * (-len(part) % 4))


NONE: Final = Metadata()
