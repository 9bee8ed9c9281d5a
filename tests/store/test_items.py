"""Items: reading a single payload from its file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tbcore.errors import DataLossError, NotFoundError
from tbcore.eventfiles.crc32c import masked_crc
from tbcore.store.items import open_file, read_payload
from tbcore.store.view import FileRef
from tbcore_testing import record_bytes


def read(path: Path, offset: int, payload: bytes) -> bytes:
    """Reads the payload at `offset`, which is expected to be this one."""
    with open_file(FileRef(str(path))) as file:
        return read_payload(file, offset, len(payload), masked_crc(payload))


def test_a_payload_that_is_not_what_was_logged_is_an_error(tmp_path: Path) -> None:
    """The error states whether the file was overwritten or is damaged."""
    path = tmp_path / "a.tfevents"
    path.write_bytes(record_bytes(b"first") + record_bytes(b"second"))
    offset = len(record_bytes(b"first"))
    assert read(path, offset, b"second") == b"second"
    with pytest.raises(DataLossError, match=r"offset 21 of .* no longer what was logged"):
        read(path, offset, b"sekond")
    path.write_bytes(record_bytes(b"first") + record_bytes(b"second").replace(b"se", b"zz"))
    with pytest.raises(DataLossError, match="wrong payload checksum"):
        read(path, offset, b"second")
    path.write_bytes(b"")
    with pytest.raises(DataLossError, match="no longer what was logged"):
        read(path, offset, b"second")


def test_payloads_of_a_file_that_was_replaced_or_deleted(tmp_path: Path) -> None:
    """A longer copy is accepted, since only the bytes of the payload and its checksum matter."""
    path = tmp_path / "a.tfevents"
    path.write_bytes(record_bytes(b"first"))
    other = tmp_path / "b"
    other.write_bytes(record_bytes(b"first") + record_bytes(b"second"))
    other.replace(path)
    assert read(path, 0, b"first") == b"first"
    other.write_bytes(record_bytes(b"other"))
    other.replace(path)
    with pytest.raises(DataLossError, match="no longer what was logged"):
        read(path, 0, b"first")
    path.unlink()
    with pytest.raises(NotFoundError, match="No such file"):
        read(path, 0, b"first")
    os.mkfifo(path)
    with pytest.raises(NotFoundError, match="not a regular file"):
        read(path, 0, b"first")
