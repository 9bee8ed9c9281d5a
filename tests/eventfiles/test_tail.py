"""FileReader: files that grow, and files that are replaced, torn or damaged."""

from __future__ import annotations

import logging
import os
import resource
import struct
from pathlib import Path

import pytest
from calls import Watch
from common_fixtures import descriptors
from tables import rows_of

from tbcore.eventfiles.crc32c import masked_crc
from tbcore.eventfiles.decoder import Decoder
from tbcore.eventfiles.proto.event_pb2 import Event
from tbcore.eventfiles.storage import EventFile
from tbcore.eventfiles.table import Table
from tbcore.eventfiles.tail import FileReader, FileReplacedError, read_first_event_time
from tbcore.tuning import Tuning
from tbcore_testing import record_bytes


def record(step: int, value: float = 0.5, wall_time: float = 100.0) -> bytes:
    """A record with a scalar, logged at `wall_time + step`."""
    event = Event(wall_time=wall_time + step, step=step)
    event.summary.value.add(tag="loss", simple_value=value)
    return record_bytes(event.SerializeToString())


def steps_of(file: FileReader) -> list[int]:
    """The steps of all rows that can be read now."""
    steps: list[int] = []
    file.caught_up = False
    while not file.caught_up:
        steps += [row.step for row in rows_of(file.read())]
    return steps


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.out.tfevents.1"


def new_reader(path: Path, **tuning: int) -> FileReader:
    return FileReader(str(path), 0, Decoder(tuning=Tuning(**tuning)))


def test_a_file_that_grows_byte_by_byte(path: Path) -> None:
    """After each byte, exactly the complete records have been read, each once."""
    records = [record(i) for i in range(4)]
    path.write_bytes(b"")
    file = new_reader(path)
    seen: list[int] = []
    for size in range(1, len(b"".join(records)) + 1):
        with path.open("ab") as stream:
            stream.write(b"".join(records)[size - 1 : size])
        seen += steps_of(file)
        complete = size // len(records[1])
        assert abs(len(seen) - complete) <= 1  # the first record has no step and is shorter
        assert seen == list(range(len(seen)))
    assert seen == [0, 1, 2, 3]


def test_many_small_appends_to_a_long_file(path: Path) -> None:
    """Each time exactly the new records are read."""
    path.write_bytes(b"".join(record(i) for i in range(1000)))
    file = new_reader(path)
    assert steps_of(file) == list(range(1000))
    for i in range(1000, 1200, 7):
        with path.open("ab") as stream:
            stream.write(b"".join(record(j) for j in range(i, i + 7)))
        assert steps_of(file) == list(range(i, i + 7))


def test_a_record_larger_than_a_piece(path: Path) -> None:
    """It is read, and so are the records before and after it."""
    big = Event(wall_time=1, step=7, graph_def=b"g" * 50_000)
    path.write_bytes(record(1) + record_bytes(big.SerializeToString()) + record(8))
    assert steps_of(new_reader(path, piece_bytes=1000)) == [1, 7, 8]


@pytest.mark.parametrize("length", [1 << 60, (1 << 64) - 1, 3 << 30, (1 << 31) - 1])
def test_memory_depends_on_the_file_and_not_on_a_stated_length(path: Path, length: int) -> None:
    """Even if the checksum of the length is right."""
    header = struct.pack("<Q", length)
    path.write_bytes(record(1) + header + struct.pack("<I", masked_crc(header)) + bytes(100))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert steps_of(new_reader(path)) == [1]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kB


def test_records_with_damaged_payloads_are_skipped(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The log has one line for each file."""
    parts = [bytearray(record(i)) for i in range(1, 6)]
    parts[1][20] ^= 1
    parts[3][-1] ^= 1
    path.write_bytes(b"".join(parts))
    file = new_reader(path)
    with caplog.at_level(logging.WARNING):
        assert steps_of(file) == [1, 3, 5]
        assert steps_of(file) == []
    assert len(file.problems) == 2
    (message,) = [r.getMessage() for r in caplog.records]
    assert message == (
        f"{path}: payload checksum wrong in the record at offset {len(parts[0])} (and 1 more)"
    )


def test_damaged_last_record_is_tried_again(path: Path) -> None:
    """On a network file system, the pages of a file may arrive in any order."""
    torn = bytearray(record(2))
    torn[20] ^= 1
    path.write_bytes(record(1) + torn)
    file = new_reader(path)
    assert steps_of(file) == [1]
    assert file.problems == []
    path.write_bytes(record(1) + record(2))
    assert steps_of(file) == [2]
    path.write_bytes(record(1) + record(2) + torn + record(3))
    assert steps_of(file) == [3]
    assert len(file.problems) == 1


def test_a_damaged_length_ends_the_file_until_it_is_repaired(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The damage is logged once."""
    good = record(1) + record(2) + record(3)
    bad = bytearray(good)
    bad[len(record(1))] ^= 1
    path.write_bytes(bad)
    file = new_reader(path)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            steps_of(file)
    assert file.offset == len(record(1))
    assert len(caplog.records) == 1
    assert "length checksum wrong in the record at offset" in caplog.text
    path.write_bytes(bad[: file.offset + 5])
    assert steps_of(file) == []
    path.write_bytes(good)
    assert steps_of(file) == [2, 3]


@pytest.mark.parametrize("content", [b"", b"plain text, no records at all" * 10, bytes(4000)])
def test_files_without_records(path: Path, content: bytes) -> None:
    """They have no rows, and reading them ends."""
    path.write_bytes(content)
    file = new_reader(path)
    assert steps_of(file) == []
    assert file.caught_up


def test_replaced_truncated_and_rewritten_files_are_detected(path: Path, tmp_path: Path) -> None:
    """In each case the run must be read again."""
    path.write_bytes(record(1) + record(2))
    file = new_reader(path)
    steps_of(file)
    other = tmp_path / "other"
    other.write_bytes(record(1) + record(2, wall_time=200.0) + record(3))
    os.replace(other, path)
    with pytest.raises(FileReplacedError):
        steps_of(file)

    file = new_reader(path)
    steps_of(file)
    with path.open("r+b") as stream:
        stream.truncate(len(record(1)))
    with pytest.raises(FileReplacedError):
        steps_of(file)

    file = new_reader(path)
    steps_of(file)
    path.write_bytes(record(1, wall_time=200.0) * 5)  # the same inode
    with pytest.raises(FileReplacedError):
        steps_of(file)


def test_a_file_that_was_truncated_and_has_grown_is_detected(path: Path) -> None:
    """It has the same first bytes and the same inode, and is longer than what was read."""
    path.write_bytes(record(1) + record(2) + record(3))
    file = new_reader(path)
    steps_of(file)
    with path.open("r+b") as stream:
        stream.truncate(len(record(1)))
        stream.seek(0, os.SEEK_END)
        stream.write(record(2, value=7.0) + record(3, value=7.0) + record(4))
    with pytest.raises(FileReplacedError):
        steps_of(file)


def test_a_longer_copy_is_read_from_where_the_file_ended(path: Path, tmp_path: Path) -> None:
    """Tools that synchronize directories make such copies. No byte is decoded twice."""
    file, other = new_reader(path), tmp_path / "other"
    content = b""
    for number in range(20):
        content += b"".join(record(step) for step in range(number * 50, number * 50 + 50))
        other.write_bytes(content)
        os.replace(other, path)
        assert steps_of(file) == list(range(number * 50, number * 50 + 50))
        assert file.opened.version.endswith(f"-{path.stat().st_ino:x}")


@pytest.mark.parametrize("changed", range(0, 800, 100))
def test_a_copy_that_differs_in_the_middle_is_detected(
    path: Path, tmp_path: Path, changed: int
) -> None:
    """Even if its first and last bytes are the same."""
    steps = {step: record(step) for step in range(1, 1001)}
    path.write_bytes(b"")
    file = new_reader(path)
    for first in range(1, 1001, 100):
        with path.open("ab") as stream:
            stream.write(b"".join(steps[step] for step in range(first, first + 100)))
        steps_of(file)
    for step in range(changed + 1, 950):
        steps[step] = record(step, wall_time=200.0)
    other = tmp_path / "other"
    other.write_bytes(b"".join(steps.values()))
    os.replace(other, path)
    with pytest.raises(FileReplacedError):
        steps_of(file)


@pytest.mark.parametrize("num_records", [3, 100, 5000])
def test_a_file_that_is_rewritten_while_it_is_decoded(path: Path, num_records: int) -> None:
    """The fingerprints are of the bytes that were decoded."""
    path.write_bytes(b"".join(record(step, value=1.0) for step in range(num_records)))
    file = new_reader(path)
    for item in file.read():
        assert isinstance(item, Table)
        new = [record(step, value=2.0, wall_time=200.0) for step in range(num_records + 5)]
        path.write_bytes(b"".join(new))
    with pytest.raises(FileReplacedError):
        steps_of(file)


def test_a_file_that_is_rewritten_between_two_pieces(path: Path) -> None:
    """No rows of the new file are mixed with those of the old one."""
    path.write_bytes(b"".join(record(step, value=1.0) for step in range(1, 100)))
    file = new_reader(path, piece_bytes=1000)
    values = []

    def read() -> None:
        for item in file.read():
            values.extend(row.content for row in rows_of([item]))
            path.write_bytes(b"".join(record(s, 2.0, 200.0) for s in range(1, 200)))

    with pytest.raises(FileReplacedError):
        read()
    assert set(values) == {1.0}


@pytest.mark.parametrize("num_tags", [1, 2, 7])
@pytest.mark.parametrize("num_steps", [1, 40, 63, 64, 65, 300])
def test_an_unchanged_file_is_recognized(path: Path, num_tags: int, num_steps: int) -> None:
    """However it was decoded: one by one, or in blocks, for which checksums are overwritten."""

    def steps(first: int) -> bytes:
        records = []
        for step in range(first, first + num_steps):
            for tag in range(num_tags):
                event = Event(wall_time=100.0 + step, step=step)
                event.summary.value.add(tag="t" * (tag + 1), simple_value=0.5)
                records.append(record_bytes(event.SerializeToString()))
        return b"".join(records)

    path.write_bytes(b"")
    file = new_reader(path)
    for number in range(6):
        with path.open("ab") as stream:
            stream.write(steps(1000 + number * num_steps))
        assert len(steps_of(file)) == num_steps * num_tags
    assert steps_of(file) == []


def test_only_regular_files_are_opened(path: Path, tmp_path: Path) -> None:
    """Opening a FIFO would wait for its writer."""
    os.mkfifo(path)
    with pytest.raises(OSError, match="not a regular file"):
        steps_of(new_reader(path))
    with pytest.raises(OSError):
        steps_of(new_reader(tmp_path / "missing"))


def test_a_small_file_is_read_with_few_system_calls(path: Path, calls_of: Watch) -> None:
    """Loading thousands of small files takes much of its time in these calls."""
    path.write_bytes(record(1) + record(2))
    file, buffer = new_reader(path), bytearray(1000)
    calls = calls_of(os.open, os.fstat, os.pread, os.preadv, os.close)
    whole = file.read_whole(buffer, 0, len(buffer))
    names = [call.name for call in calls]
    assert whole is not None
    assert whole.opened == EventFile.of(str(path), path.stat())
    assert names == ["open", "fstat", "preadv", "fstat", "close"]


def test_no_descriptor_is_kept(path: Path) -> None:
    """There may be more files than a process may open at once."""
    path.write_bytes(b"".join(record(i) for i in range(100)))
    before = descriptors()
    files = [new_reader(path) for _ in range(50)]
    for file in files:
        steps_of(file)
    next(iter(files[0].read()), None)
    assert descriptors() <= before


def test_first_event_time(path: Path) -> None:
    """None until the first record is complete."""
    path.write_bytes(b"")
    assert read_first_event_time(EventFile(str(path))) is None
    path.write_bytes(record(1)[:-1])
    assert read_first_event_time(EventFile(str(path))) is None
    path.write_bytes(record(1) + record(2))
    assert read_first_event_time(EventFile(str(path))) == 101.0
    file = new_reader(path)
    steps_of(file)
    assert file.first_event_time == 101.0
