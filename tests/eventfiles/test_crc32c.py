"""Checksums: known values, and the algebra by which many records are verified at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tbcore.eventfiles.crc32c import (
    _tables,
    init_contribution,
    is_raw_zero,
    masked_crc,
    masked_length_crc,
    raw_length_crc,
    unmask,
)


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


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=5))
def test_records_with_raw_checksums_have_raw_crc_zero(payloads: list[bytes]) -> None:
    """For any payloads. After a single flipped bit it is not 0: `find_damaged` relies on both."""
    records = bytearray()
    for payload in payloads:
        stored = np.array([masked_crc(payload)], np.uint32)
        raw = int(unmask(stored)[0]) ^ init_contribution(len(payload))
        records += len(payload).to_bytes(8, "little") + raw_length_crc(len(payload)).to_bytes(
            4, "little"
        )
        records += payload + raw.to_bytes(4, "little")
    assert is_raw_zero(np.frombuffer(records, np.uint8))
    for offset in range(0, len(records), 7):
        records[offset] ^= 0x10
        assert not is_raw_zero(np.frombuffer(records, np.uint8))
        records[offset] ^= 0x10


@pytest.mark.parametrize("length", [0, 1, 65535, 65536, 65537, 200_000])
def test_init_contribution_is_the_crc_of_zeros(length: int) -> None:
    stored = np.array([masked_crc(bytes(length))], np.uint32)
    assert init_contribution(length) == int(unmask(stored)[0])


@pytest.mark.parametrize("size", [1, 2, 300, 4096])
def test_tables_have_the_values_of_their_functions(size: int) -> None:
    """For every length below their size."""
    tables = _tables(size)
    assert set(tables) == {raw_length_crc, masked_length_crc, init_contribution}
    for checksum, table in tables.items():
        assert table.dtype == np.uint32
        assert table.tolist() == [checksum(length) for length in range(size)]
