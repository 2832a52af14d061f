"""Header blocks as any client writes them."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hpack import Encoder
from hypothesis import given
from hypothesis import strategies as st

from sqlalchemy_spanner_queues.emulator.transport.header_blocks import HeaderDecoder
from sqlalchemy_spanner_queues.emulator.transport.metadata import literal
from sqlalchemy_spanner_queues.emulator.transport.protocol import ConnectionFault, ErrorCode

NAMES = st.sampled_from([b":path", b":method", b"content-type", b"x-a", b"x-goog-request-params"])
FIELDS = st.lists(st.tuples(NAMES, st.binary(max_size=300)), max_size=30)


def pairs(decoder: HeaderDecoder, block: bytes) -> list[tuple[bytes, bytes]]:
    return [(field.name, field.value) for field in decoder.decode(block)]


@given(blocks=st.lists(FIELDS, max_size=8), huffman=st.booleans(), sizes=st.lists(st.integers(0, 4096)))
def test_reads_what_hpack_writes(
    blocks: list[list[tuple[bytes, bytes]]], huffman: bool, sizes: list[int]
) -> None:
    encoder, decoder = Encoder(), HeaderDecoder()
    for at, fields in enumerate(blocks):
        if at < len(sizes):
            encoder.header_table_size = sizes[at]
        assert pairs(decoder, encoder.encode(fields, huffman=huffman)) == fields


def test_reads_the_examples_of_the_standard() -> None:
    """https://www.rfc-editor.org/rfc/rfc7541#appendix-C.4"""
    decoder = HeaderDecoder()
    first = "828684418cf1e3c2e5f23a6ba0ab90f4ff"
    second = "828684be5886a8eb10649cbf"
    expected = [
        (b":method", b"GET"),
        (b":scheme", b"http"),
        (b":path", b"/"),
        (b":authority", b"www.example.com"),
    ]
    assert pairs(decoder, bytes.fromhex(first)) == expected
    assert pairs(decoder, bytes.fromhex(second)) == [*expected, (b"cache-control", b"no-cache")]


@given(fields=FIELDS)
def test_reads_literals(fields: list[tuple[bytes, bytes]]) -> None:
    block = b"".join(literal(name, value) for name, value in fields)
    assert pairs(HeaderDecoder(), block) == fields


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(b"\x80", id="index 0"),
        pytest.param(b"\xbe", id="an index into an empty table"),
        pytest.param(b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f", id="an endless integer"),
        pytest.param(b"\x00\x05ab", id="a cut name"),
        pytest.param(b"\x00\x01a", id="no value"),
        pytest.param(b"\x00\x81\x00\x00", id="broken Huffman code"),
        pytest.param(b"\x3f\xe1\xff\x7f", id="a table that is too large"),
    ],
)
def test_refuses_nonsense(block: bytes) -> None:
    with pytest.raises(ConnectionFault) as caught:
        HeaderDecoder().decode(block)
    assert caught.value.code is ErrorCode.COMPRESSION_ERROR


@given(block=st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(block: bytes) -> None:
    with suppress(ConnectionFault):
        HeaderDecoder().decode(block)


def test_refuses_a_bomb() -> None:
    with pytest.raises(ConnectionFault) as caught:
        HeaderDecoder().decode(b"\x82" * 100_000)
    assert caught.value.code is ErrorCode.ENHANCE_YOUR_CALM
