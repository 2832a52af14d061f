from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlalchemy_spanner_queues.emulator.transport.frames import (
    Frame,
    FrameReader,
    frame,
    header_frames,
    unpadded,
)
from sqlalchemy_spanner_queues.emulator.transport.protocol import (
    CONTINUATION,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PREFACE,
    ConnectionFault,
    ErrorCode,
)

FRAMES = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 255), st.integers(0, 2**31 - 1), st.binary(max_size=60))
)


@given(frames=FRAMES, sizes=st.lists(st.integers(1, 40)), preface=st.booleans())
def test_reads_frames_however_they_are_cut(frames: list[Frame], sizes: list[int], preface: bool) -> None:
    data = (PREFACE if preface else b"") + b"".join(frame(*parts) for parts in frames)
    reader = FrameReader(preface=preface)
    found: list[Frame] = []
    for size in sizes:
        found += reader.feed(data[:size])
        data = data[size:]
    found += reader.feed(data)
    assert found == frames


@pytest.mark.parametrize(
    "garbage", [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01", b"P\x00", PREFACE[:-1] + b"x"]
)
def test_refuses_what_is_no_http2(garbage: bytes) -> None:
    with pytest.raises(ConnectionFault, match="preface"):
        list(FrameReader(preface=True).feed(garbage))


def test_refuses_a_frame_that_is_too_large() -> None:
    with pytest.raises(ConnectionFault) as caught:
        list(FrameReader(preface=False).feed(frame(0, 0, 1, bytes(16_385))[:9]))
    assert caught.value.code is ErrorCode.FRAME_SIZE_ERROR


def test_takes_padding_off() -> None:
    assert unpadded(b"\x02data\x00\x00") == b"data"
    assert unpadded(b"\x00") == b""


@pytest.mark.parametrize("payload", [b"", b"\x01", b"\x05data"])
def test_refuses_more_padding_than_payload(payload: bytes) -> None:
    with pytest.raises(ConnectionFault):
        unpadded(payload)


def test_cuts_a_large_header_block() -> None:
    frames = list(FrameReader(preface=False).feed(header_frames(3, b"abcde", end_stream=True, frame_size=2)))
    assert frames == [
        (HEADERS, END_STREAM, 3, b"ab"),
        (CONTINUATION, 0, 3, b"cd"),
        (CONTINUATION, END_HEADERS, 3, b"e"),
    ]
