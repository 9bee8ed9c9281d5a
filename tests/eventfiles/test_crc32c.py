"""Checksums: known values, and the algebra by which many records are verified at once."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tbcore.eventfiles.crc32c import (
    PayloadChecksums,
    find_wrong_slices,
    for_lengths,
    masked_crc,
    masked_length_crc,
    raw_difference,
    unmask,
)
from tbcore_testing import record_bytes


@pytest.mark.parametrize(
    ("data", "masked"), [(b"", 0xA282EAD8), (b"123456789", 0xC78AB0E5), (bytes(8), 0x07980329)]
)
def test_known_values(data: bytes, masked: int) -> None:
    assert masked_crc(data) == masked
    assert masked_crc(np.frombuffer(data, np.uint8)) == masked


def test_length_checksum_is_that_of_eight_bytes() -> None:
    """The expected bytes are from a file of another writer."""
    assert masked_length_crc(15).to_bytes(4, "little") == bytes.fromhex("6d532b09")


def test_unmask_inverts_the_mask() -> None:
    stored = np.array([masked_crc(b"123456789"), masked_crc(b"")], np.uint32)
    assert unmask(stored).tolist() == [0xE3069283, 0]


@given(
    payloads=st.lists(st.binary(max_size=300), min_size=1, max_size=5),
    num_in_first_slice=st.integers(0, 5),
    are_numbers_shared=st.booleans(),
)
def test_only_slices_with_a_flipped_bit_are_wrong(
    payloads: list[bytes], num_in_first_slice: int, are_numbers_shared: bool
) -> None:
    """For any payloads and slices; the buffer is the same afterwards."""
    buffer, offsets, bounds = bytearray(), [], [0]
    for index, payload in enumerate(payloads):
        if index == num_in_first_slice:
            bounds.append(len(buffer))
        buffer += record_bytes(payload)
        offsets.append(len(buffer) - 4)
    bounds.append(len(buffer))
    numbers = for_lengths(raw_difference, np.array([len(payload) for payload in payloads]))
    if are_numbers_shared:  # one set of checksums for each record, as of a strided slice
        checksums = [
            PayloadChecksums(slice(offset, offset + 4, 4), number)
            for offset, number in zip(offsets, numbers, strict=True)
        ]
    else:
        checksums = [PayloadChecksums(np.array(offsets), numbers)]
    before = bytes(buffer)
    assert find_wrong_slices(buffer, bounds, checksums) == []
    for offset in range(0, len(buffer), 7):
        buffer[offset] ^= 0x10
        wrong = [i for i, (begin, end) in enumerate(pairwise(bounds)) if begin <= offset < end]
        assert find_wrong_slices(buffer, bounds, checksums) == wrong
        buffer[offset] ^= 0x10
    assert buffer == before


@pytest.mark.parametrize("length", [0, 1, 65535, 65536, 65537, 200_000])
def test_raw_difference_is_that_of_any_payload(length: int) -> None:
    """Although it is computed from zero bytes."""
    payload = bytes(range(256)) * (length // 256) + bytes(length % 256)
    buffer = bytearray(record_bytes(payload))
    checksums = PayloadChecksums(slice(length + 12, None, 4), np.uint32(raw_difference(length)))
    assert find_wrong_slices(buffer, [0, len(buffer)], [checksums]) == []


@given(st.lists(st.one_of(st.integers(0, 300), st.integers(65_500, 65_600))))
def test_functions_of_lengths_are_called_once_for_each_distinct_length(lengths: list[int]) -> None:
    calls: list[int] = []

    def function(length: int) -> int:
        calls.append(length)
        return masked_length_crc(length)

    found = for_lengths(function, np.array(lengths, np.int64))
    assert found.dtype == np.uint32
    assert found.tolist() == [masked_length_crc(length) for length in lengths]
    assert sorted(calls) == sorted(set(lengths))
