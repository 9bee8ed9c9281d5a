"""Framing: finding records and finding damage."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tbcore.eventfiles.crc32c import masked_length_crc
from tbcore.eventfiles.framing import (
    MAX_PAYLOAD_BYTES,
    find_damaged,
    find_frames,
    length_at,
)
from tbcore_testing import record_bytes

FILE_VERSION = bytes.fromhex("0f000000000000006d532b091a0d627261696e2e4576656e743a32fc985129")
"""A record with the file version `brain.Event:2`, as another implementation wrote it."""


def buffer_of(*parts: bytes) -> tuple[bytearray, int]:
    """A buffer with these bytes and 64 more, and the number of these bytes."""
    data = b"".join(parts)
    return bytearray(data + bytes(64)), len(data)


def test_a_record_of_another_implementation() -> None:
    """Both checksums are as another writer computed them."""
    buffer, size = buffer_of(FILE_VERSION)
    frames = find_frames(buffer, 0, size, 10)
    assert (frames.starts.tolist(), frames.lengths.tolist()) == ([0], [15])
    assert (frames.end, frames.stop) == (31, "incomplete")
    assert find_damaged(buffer, frames).tolist() == []


@pytest.mark.parametrize(
    "sizes",
    [[], [0], [1, 2, 3], [255, 256, 257], [10, 10, 300, 10], [70_000, 5], [5] * 50 + [1000, 5]],
)
@pytest.mark.parametrize("limit", [1, 3, 1000])
def test_frames_of_any_lengths(sizes: list[int], limit: int) -> None:
    """Short and long records are found, whatever the limit of one call."""
    buffer, size = buffer_of(*(record_bytes(bytes([i % 251]) * n) for i, n in enumerate(sizes)))
    found: list[int] = []
    position = 0
    for _ in range(len(sizes) + 1):
        frames = find_frames(buffer, position, size, limit)
        found += frames.lengths.tolist()
        position = frames.end
        if frames.stop != "limit":
            break
    assert found == sizes
    assert position == size


def test_a_record_that_is_cut_anywhere_is_incomplete() -> None:
    """Its missing bytes may still be written."""
    whole = record_bytes(b"a" * 20)
    for cut in range(len(whole)):
        buffer, size = buffer_of(whole, whole[:cut])
        frames = find_frames(buffer, 0, size, 100)
        assert (frames.end, frames.stop) == (len(whole), "incomplete")


@pytest.mark.parametrize("length", [2**31, 2**32, 2**60, 2**64 - 1])
def test_an_impossible_length_is_damage_although_its_checksum_is_right(length: int) -> None:
    """A protobuf message has at most 2**31 - 1 bytes."""
    header = struct.pack("<QI", length, masked_length_crc(length))
    buffer, size = buffer_of(record_bytes(b"x"), header, bytes(100))
    frames = find_frames(buffer, 0, size, 100)
    assert (len(frames.starts), frames.stop) == (1, "limit"), "the next call finds out why"
    frames = find_frames(buffer, frames.end, size, 100)
    assert (len(frames.starts), frames.stop) == (0, "bad_length")
    assert length_at(buffer, len(record_bytes(b"x"))) is None


@given(
    st.lists(st.sampled_from([0, 5, 5, 5, 255, 256, 300, 65_535, 65_536, 65_541]), max_size=30),
    st.integers(1, 40),
    st.integers(1, 8),
)
def test_records_of_all_lengths_are_found(lengths: list[int], limit: int, num_probed: int) -> None:
    """Wherever long records follow short ones, for which there is a faster walk."""
    buffer, size = buffer_of(*(record_bytes(bytes(length)) for length in lengths))
    found: list[int] = []
    at, stop = 0, "limit"
    while stop == "limit":
        frames = find_frames(buffer, at, size, limit, num_probed=num_probed)
        assert len(frames.starts) <= limit
        assert frames.starts.tolist()[:1] in ([], [at])
        found += frames.lengths.tolist()
        at, stop = frames.end, frames.stop
    assert (found, at, stop) == (lengths, size, "incomplete")


def mixed_records(seed: int, num: int, longest: int) -> bytes:
    """Short records. Some of them may contain a record, some may be long, some lengths damaged."""
    random = np.random.default_rng(seed)
    share_long, share_damaged = random.choice([0, 0, 0.001, 0.05], 2)
    parts = []
    for length in random.integers(0, longest, num).tolist():
        payload = bytes(length) if seed % 2 else random.bytes(length)
        kind = random.random()
        if kind < share_long:
            payload = random.bytes(int(random.choice([256, 300, 65_536, 100_000])))
        elif kind < 2 * share_long:
            payload = record_bytes(payload[:100])
        part = record_bytes(payload)
        if random.random() < share_damaged / 10:
            part = bytes([part[0] ^ 1]) + part[1:]
        parts.append(part)
    return b"".join(parts)


@given(
    st.integers(0, 2**32),
    st.integers(0, 4000),
    st.sampled_from([1, 20, 60, 256]),
    st.sampled_from([1, 100, 2000, 65_536]),
    st.integers(0, 40),
)
@settings(deadline=None)
def test_the_same_records_are_found_as_one_by_one(
    seed: int, num: int, longest: int, limit: int, cut: int
) -> None:
    """After a hundred short records, the faster walk for short records is used."""
    content = mixed_records(seed, num, longest)
    buffer, size = buffer_of(content)
    size = max(size - cut, 0)
    expected, at = [], 0
    while at + 12 <= size and (length := length_at(buffer, at)) is not None:
        if at + length + 16 > size:
            break
        expected.append((at, length))
        at += length + 16
    found: list[tuple[int, int]] = []
    at, stop = 0, "limit"
    while stop == "limit":
        frames = find_frames(buffer, at, size, limit, num_probed=100)
        assert len(frames.starts) <= limit
        found += zip(frames.starts.tolist(), frames.lengths.tolist(), strict=True)
        assert frames.end > at or frames.stop != "limit"
        at, stop = frames.end, frames.stop
    assert found == expected
    is_damaged = at + 16 <= size and length_at(buffer, at) is None
    assert stop == ("bad_length" if is_damaged else "incomplete")


def test_a_long_record_that_is_not_whole_is_incomplete() -> None:
    """The longest possible record, of which the file has 100 bytes."""
    header = struct.pack("<QI", MAX_PAYLOAD_BYTES, masked_length_crc(MAX_PAYLOAD_BYTES))
    buffer, size = buffer_of(header, bytes(100))
    assert find_frames(buffer, 0, size, 100).stop == "incomplete"


def test_damage_is_found_and_the_buffer_is_restored() -> None:
    """Wrong payloads and wrong checksums."""
    frames_bytes = [record_bytes(bytes([i % 256]) * (i % 90)) for i in range(500)]
    buffer, size = buffer_of(*frames_bytes)
    frames = find_frames(buffer, 0, size, 1000)
    for i in (3, 77, 499):
        buffer[int(frames.starts[i]) + 12] ^= 4  # the payload, or the checksum if it is empty
    buffer[int(frames.starts[200]) + 12 + int(frames.lengths[200])] ^= 1
    before = bytes(buffer)
    assert find_damaged(buffer, frames).tolist() == [3, 77, 200, 499]
    assert bytes(buffer) == before
