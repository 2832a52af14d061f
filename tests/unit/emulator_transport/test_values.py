"""What stands in header fields: metadata, timeouts, statuses; and the messages themselves."""

from __future__ import annotations

import gzip
import zlib

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlalchemy_spanner_queues.emulator.transport import Metadata, RpcError
from sqlalchemy_spanner_queues.emulator.transport.header_blocks import HeaderDecoder
from sqlalchemy_spanner_queues.emulator.transport.messages import MessageReader, prefixed
from sqlalchemy_spanner_queues.emulator.transport.metadata import Field
from sqlalchemy_spanner_queues.emulator.transport.protocol import ConnectionFault
from sqlalchemy_spanner_queues.emulator.transport.statuses import OK, status_block, status_of, status_of_reset
from sqlalchemy_spanner_queues.emulator.transport.timeouts import format_timeout, parse_timeout
from sqlalchemy_spanner_queues.emulator.transport.windows import ReceiveWindow

PAIRS = st.lists(
    st.one_of(
        st.tuples(
            st.sampled_from(["x-a", "x-b"]), st.text(st.characters(min_codepoint=32, max_codepoint=255))
        ),
        st.tuples(st.sampled_from(["x-bin", "grpc-status-details-bin"]), st.binary()),
    )
)


@given(pairs=PAIRS)
def test_metadata_comes_out_as_it_went_in(pairs: list[tuple[str, str | bytes]]) -> None:
    metadata = Metadata.of(pairs)
    assert list(metadata) == pairs
    assert len(metadata) == len(pairs)
    assert list(Metadata(HeaderDecoder().decode(metadata.wire))) == pairs


def test_metadata_leaves_out_what_is_not_the_users() -> None:
    names = [b":path", b"te", b"content-type", b"user-agent", b"grpc-timeout", b"grpc-encoding", b"x-a"]
    metadata = Metadata([Field(name, b"1") for name in names])
    assert list(metadata) == [("x-a", "1")]
    assert metadata == Metadata.of([("x-a", "1")])
    assert hash(metadata) == hash(Metadata.of([("x-a", "1")]))
    assert metadata != Metadata.of([("x-a", "2")])
    assert repr(metadata) == "Metadata.of([('x-a', '1')])"


@pytest.mark.parametrize("value", [b"AAE=,Ag==", b"AAE,Ag"])
def test_reads_joined_binary_values(value: bytes) -> None:
    assert list(Metadata([Field(b"x-bin", value)])) == [("x-bin", b"\x00\x01"), ("x-bin", b"\x02")]


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (b"3610S", 3610.0),
        (b"2H", 7200.0),
        (b"1M", 60.0),
        (b"5m", 0.005),
        (b"7u", 7e-6),
        (b"99999999n", 0.099999999),
    ],
)
def test_reads_timeouts(value: bytes, seconds: float) -> None:
    assert parse_timeout(value) == pytest.approx(seconds)


@pytest.mark.parametrize("value", [b"", b"S", b"1", b"1s", b"-1S", b"123456789S", b"1.5S"])
def test_a_broken_timeout_is_none(value: bytes) -> None:
    assert parse_timeout(value) is None


@given(seconds=st.floats(0, 3e11))
def test_timeouts_are_never_too_short(seconds: float) -> None:
    parsed = parse_timeout(format_timeout(seconds))
    assert parsed is not None
    assert seconds <= parsed <= seconds * 1.001 + 3601


@given(details=st.text(), pairs=PAIRS)
@pytest.mark.parametrize("code", [code for code in grpc.StatusCode if code is not grpc.StatusCode.OK])
def test_a_status_comes_out_as_it_went_in(
    code: grpc.StatusCode, details: str, pairs: list[tuple[str, str | bytes]]
) -> None:
    error = status_of(HeaderDecoder().decode(status_block(RpcError(code, details, Metadata.of(pairs)))))
    assert error is not None
    assert (error.code, error.details) == (code, details.encode("utf-8", "replace").decode())
    assert list(error.trailing) == pairs


def test_status_ok_is_no_error() -> None:
    assert status_of(HeaderDecoder().decode(OK)) is None


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ([(b":status", b"503")], grpc.StatusCode.UNAVAILABLE),
        ([(b":status", b"404")], grpc.StatusCode.UNIMPLEMENTED),
        ([(b":status", b"200")], grpc.StatusCode.UNKNOWN),
        ([], grpc.StatusCode.UNKNOWN),
        ([(b"grpc-status", b"99")], grpc.StatusCode.UNKNOWN),
        ([(b"grpc-status", b"x")], grpc.StatusCode.UNKNOWN),
    ],
)
def test_other_ends_have_a_status_too(fields: list[tuple[bytes, bytes]], code: grpc.StatusCode) -> None:
    error = status_of([Field(name, value) for name, value in fields])
    assert error is not None
    assert error.code is code


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (7, grpc.StatusCode.UNAVAILABLE),
        (8, grpc.StatusCode.CANCELLED),
        (11, grpc.StatusCode.RESOURCE_EXHAUSTED),
        (2, grpc.StatusCode.INTERNAL),
        (999, grpc.StatusCode.INTERNAL),
    ],
)
def test_a_reset_has_a_status(number: int, code: grpc.StatusCode) -> None:
    assert status_of_reset(number).code is code


@given(messages=st.lists(st.binary(max_size=80)), sizes=st.lists(st.integers(1, 30)))
def test_reads_messages_however_they_are_cut(messages: list[bytes], sizes: list[int]) -> None:
    data = b"".join(map(prefixed, messages))
    reader = MessageReader()
    found: list[bytes] = []
    for size in sizes:
        found += reader.feed(data[:size])
        data = data[size:]
    found += reader.feed(data)
    assert found == messages
    assert not reader.partial
    reader.feed(b"\x00")
    assert reader.partial


@pytest.mark.parametrize(("encoding", "compress"), [(b"gzip", gzip.compress), (b"deflate", zlib.compress)])
def test_reads_compressed_messages(encoding: bytes, compress: object) -> None:
    assert callable(compress)
    reader = MessageReader()
    reader.encoding = encoding
    data = compress(b"message")
    assert reader.feed(b"\x01" + len(data).to_bytes(4, "big") + data) == [b"message"]
    assert reader.feed(prefixed(b"plain")) == [b"plain"]


@pytest.mark.parametrize(
    ("encoding", "code"), [(b"br", grpc.StatusCode.UNIMPLEMENTED), (b"gzip", grpc.StatusCode.INTERNAL)]
)
def test_refuses_what_it_cannot_decompress(encoding: bytes, code: grpc.StatusCode) -> None:
    reader = MessageReader()
    reader.encoding = encoding
    with pytest.raises(RpcError) as caught:
        reader.feed(b"\x01\x00\x00\x00\x01x")
    assert caught.value.code is code


def test_a_window_announces_when_half_of_it_is_used() -> None:
    window = ReceiveWindow(100)
    window.take(60)
    assert window.give_back(49) == 0
    assert window.give_back(1) == 50
    window.take(90)
    with pytest.raises(ConnectionFault):
        window.take(1)
