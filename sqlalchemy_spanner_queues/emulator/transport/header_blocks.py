"""Read header blocks: HPACK, with the dynamic table that the peer builds up.

hpack's own decoder takes nine times as long, a good part of what a request through the gateway costs in all;
its tables are used here. Blocks are written without a table (``metadata.literal``): every decoder reads that.

https://www.rfc-editor.org/rfc/rfc7541
"""

from __future__ import annotations

from collections import deque
from functools import lru_cache
from typing import Final

from hpack import HPACKError
from hpack.huffman_table import decode_huffman
from hpack.table import HeaderTable

from .metadata import Field
from .protocol import ConnectionFault, ErrorCode

NO_TABLE: Final = b"\x20"
"""Begins the first block that is written: no table will be used, whatever the peer allows."""

_TABLE_SIZE: Final = 4096
_ENTRY_OVERHEAD: Final = 32
_MOST_FIELDS: Final = 4096
_STATIC: Final = (Field(b"", b""), *(Field(name, value) for name, value in HeaderTable.STATIC_TABLE))
_DYNAMIC_FROM: Final = len(_STATIC)
# A short index into the dynamic table, in one octet: nearly all fields of nearly all calls.
_FIRST_DYNAMIC: Final = 0x80 | _DYNAMIC_FROM
_LONG_INDEX: Final = 0xFF
_LONGEST_SHIFT: Final = 28

_decode_huffman = lru_cache(maxsize=1024)(decode_huffman)


class HeaderDecoder:
    """Reads the header blocks of one connection, which must come in order."""

    def __init__(self) -> None:
        self._table: deque[Field] = deque()
        self._size = 0
        self._limit = _TABLE_SIZE

    def decode(self, block: bytes) -> list[Field]:
        """Return the fields of a block.

        Raises ConnectionFault when it makes no sense: every later block would be read wrong.
        """
        try:
            fields = self._decode(block)
        except (IndexError, HPACKError) as error:
            raise ConnectionFault(ErrorCode.COMPRESSION_ERROR, f"broken header block: {error}") from error
        if len(fields) > _MOST_FIELDS:
            raise ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM, f"{len(fields)} header fields")
        return fields

    def _decode(self, block: bytes) -> list[Field]:
        fields: list[Field] = []
        table = self._table
        at, end = 0, len(block)
        while at < end:
            first = block[at]
            if _FIRST_DYNAMIC <= first < _LONG_INDEX:
                fields.append(table[first - _FIRST_DYNAMIC])
                at += 1
            elif first & 0x80:
                index, at = _integer(block, at, 0x7F)
                fields.append(self._entry(index))
            elif first & 0xE0 == 0x20:
                size, at = _integer(block, at, 0x1F)
                self._resize(size)
            else:
                field, at = self._literal(block, at)
                fields.append(field)
        return fields

    def _entry(self, index: int) -> Field:
        if index >= _DYNAMIC_FROM:
            return self._table[index - _DYNAMIC_FROM]
        if not index:
            raise IndexError("index 0")
        return _STATIC[index]

    def _literal(self, block: bytes, at: int) -> tuple[Field, int]:
        indexed = block[at] & 0x40
        index, at = _integer(block, at, 0x3F if indexed else 0x0F)
        if index:
            name = self._entry(index).name
        else:
            name, at = _string(block, at)
        value, at = _string(block, at)
        field = Field(name, value)
        if indexed:
            self._table.appendleft(field)
            self._size += len(name) + len(value) + _ENTRY_OVERHEAD
            self._evict()
        return field, at

    def _resize(self, size: int) -> None:
        if size > _TABLE_SIZE:
            raise IndexError(f"a table of {size} bytes")
        self._limit = size
        self._evict()

    def _evict(self) -> None:
        while self._size > self._limit:
            field = self._table.pop()
            self._size -= len(field.name) + len(field.value) + _ENTRY_OVERHEAD


def _integer(block: bytes, at: int, mask: int) -> tuple[int, int]:
    number = block[at] & mask
    at += 1
    if number < mask:
        return number, at
    shift = 0
    while True:
        octet = block[at]
        at += 1
        number += (octet & 0x7F) << shift
        if octet < 0x80:
            return number, at
        shift += 7
        if shift > _LONGEST_SHIFT:
            raise IndexError("an integer that does not end")


def _string(block: bytes, at: int) -> tuple[bytes, int]:
    huffman = block[at] & 0x80
    length, at = _integer(block, at, 0x7F)
    end = at + length
    if end > len(block):
        raise IndexError("a string that does not end")
    octets = block[at:end]
    return (_decode_huffman(octets) if huffman else octets), end
