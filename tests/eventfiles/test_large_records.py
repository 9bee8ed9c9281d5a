"""Records larger than a piece: they have the same rows, and are not held in memory."""

from __future__ import annotations

import os
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import google_crc32c
import numpy as np
import pytest
from calls import Watch
from tables import rows_of, steps_of

from tbcore.eventfiles import large_records, tail
from tbcore.eventfiles.crc32c import mask, masked_length_crc
from tbcore.eventfiles.decoder import Decoder
from tbcore.eventfiles.framing import FRAMING_BYTES, Damage, find_frames
from tbcore.eventfiles.proto.event_pb2 import Event
from tbcore.eventfiles.storage import EventFile
from tbcore.eventfiles.table import Table
from tbcore.eventfiles.tail import FileReader, read_first_event_time
from tbcore.tuning import DEFAULT, Tuning
from tbcore_testing import EventFileWriter, record_bytes, summaries

LARGE = 20_000
"""Size of the large fields in these tests, in bytes or numbers."""


def write_everything(path: Path) -> None:
    """Writes each kind of event and value, small and large."""
    with EventFileWriter(path) as writer:
        writer.add_session_log("START", 0)
        for size in (1, LARGE):
            writer.add_graph(b"\x0a\x00" * size, step=1)
            writer.add_meta_graph(b"\x12\x00" * size)
            writer.add_run_metadata(f"m{size}", b"\x0a\x00" * size)
            writer.add_log_message("x" * size)
            writer.add_image("image", summaries.png() + bytes(size), 2)
            writer.add_image("images", [summaries.png() + bytes(size)] * 2, 2**40, as_tensor=True)
            writer.add_audio("audio", summaries.wav([0.5] * size), 3)
            writer.add_text("text", "x" * size, 4)
            writer.add_histogram("h", np.arange(size), 5)
            writer.add_summary(6, summaries.tensor("mine", [1.0] * size, plugin_name="mine"))
            writer.add_summary(7, summaries.metadata_only("hparams", "hparams", bytes(size)))
            writer.add_summary(
                8,
                summaries.scalar("before", 0.5),
                summaries.tensor("between", [1.0] * size),
                summaries.scalar("after", 0.25, dtype="float64"),
                summaries.image("last", summaries.png() + bytes(size)),
            )
            writer.add_summary(9, *(summaries.scalar(f"t{i}", i) for i in range(size // 10)))
            writer.add_scalar("x" * size, 1.0, 10)
        writer.add_session_log("STOP", 11)
        writer.add_scalar("end", 1.0, 12)


def contents_of(path: Path, tuning: Tuning = DEFAULT) -> tuple[list[Any], FileReader]:
    """The rows, bare events and control events of a file, sorted, and its reader."""
    found: list[Any] = []
    file = FileReader(str(path), 0, Decoder(tuning=tuning))
    while not file.caught_up:
        for item in file.read():
            found += [*rows_of([item]), *item.bare_events] if isinstance(item, Table) else [item]
    return sorted(found, key=repr), file


def test_a_piece_may_not_be_too_long_for_the_lengths_in_it() -> None:
    """A record that fills the largest piece is found; longer pieces are refused."""
    largest = 4 * Tuning(piece_bytes=1 << 22).piece_bytes
    record = record_bytes(bytes(largest - FRAMING_BYTES))

    assert find_frames(bytearray(record), 0, largest, 10).lengths.tolist() == [
        largest - FRAMING_BYTES
    ]
    with pytest.raises(ValueError, match="piece_bytes must be at most 4194304, got 4194305"):
        Tuning(piece_bytes=(1 << 22) + 1)


@pytest.mark.parametrize("piece_bytes", [16, 1000, 5000])
def test_large_records_have_the_same_rows_as_small_ones(tmp_path: Path, piece_bytes: int) -> None:
    """Scalars, references and control events, at the same positions."""
    path = tmp_path / "a.tfevents"
    write_everything(path)
    expected, small = contents_of(path)
    tuning = Tuning(piece_bytes=piece_bytes)
    found, large = contents_of(path, tuning)
    assert found == expected
    assert large.problems == small.problems == []
    assert large.offset == small.offset == path.stat().st_size
    assert large.first_event_time == small.first_event_time is not None
    assert read_first_event_time(EventFile(str(path)), tuning=tuning) == small.first_event_time


def test_only_the_damaged_one_of_several_large_records_is_skipped(tmp_path: Path) -> None:
    """If it is the last one, it is read again: it may be incomplete. So is a longer copy."""
    tuning = Tuning(piece_bytes=100)
    records = [
        record_bytes(Event(step=step, graph_def=bytes([step]) * 500).SerializeToString())
        for step in (1, 2, 3)
    ]
    path = tmp_path / "a.tfevents"
    damaged = records[1][:100] + b"x" + records[1][101:]
    path.write_bytes(records[0] + damaged)
    file = FileReader(str(path), 0, Decoder(tuning=tuning))

    def steps() -> list[int]:
        found: list[int] = []
        file.caught_up = False
        while not file.caught_up:
            found += steps_of(file.read(), "")
        return found

    assert steps() == [1]
    assert steps() == []
    assert file.problems == []
    path.write_bytes(records[0] + damaged + records[2] + record_bytes(b"\x00" * 200))
    assert steps() == [3]
    assert steps() == []
    other = tmp_path / "b"
    other.write_bytes(path.read_bytes() + records[0])
    os.replace(other, path)
    assert steps() == [1]
    offset = 2 * len(records[0]) + len(records[2])
    assert [str(problem) for problem in file.problems] == [
        f"payload checksum wrong in the record at offset {len(records[0])}",
        f"no valid event in the record at offset {offset}",
    ]
    path.write_bytes(records[2] + path.read_bytes()[len(records[0]) :])
    with pytest.raises(tail.FileReplacedError):
        steps()


def write_sparse(path: Path, first: bytes, num_zeros: int) -> None:
    """Writes a record with right checksums, whose zeros are a hole and take no space on disk."""
    length = len(first) + num_zeros
    crc = google_crc32c.value(first)
    for done in range(0, num_zeros, 1 << 20):
        crc = google_crc32c.extend(crc, bytes(min(1 << 20, num_zeros - done)))
    with path.open("wb") as file:
        file.write(struct.pack("<QI", length, masked_length_crc(length)) + first)
        file.seek(12 + length)
        file.write(mask(crc).to_bytes(4, "little"))


GRAPH = Event(wall_time=1.0, step=7).SerializeToString() + b"\x22\x80\x80\x80\x20"
"""The first bytes of an event with a graph of 64 MiB, up to the graph."""


@pytest.mark.parametrize(
    ("first", "problem"),
    [(GRAPH, ""), (b"", "no valid event in the record at offset 0")],
    ids=["a graph of zeros", "only zeros"],
)
def test_memory_does_not_depend_on_the_length_of_a_record(
    tmp_path: Path, first: bytes, problem: str
) -> None:
    """A sparse file can be of any length and take a few kilobytes on disk."""
    path = tmp_path / "a.tfevents"
    write_sparse(path, first, 1 << 26)
    file = FileReader(str(path), 0, Decoder())
    tracemalloc.start()
    try:
        items = list(file.read())
        time = read_first_event_time(EventFile(str(path)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1 << 23
    assert [str(p) for p in file.problems] == ([problem] if problem else [])
    assert time == (None if problem else 1.0)
    assert [type(item) for item in items] == ([] if problem else [Table])


def test_an_event_with_too_many_fields_is_rejected(tmp_path: Path, calls_of: Watch) -> None:
    """Before it takes too much memory or time."""
    reads = calls_of(large_records._Window.varint)
    decoder = Decoder(tuning=Tuning(piece_bytes=100, max_stripped_event_bytes=1 << 12))
    path = tmp_path / "a.tfevents"
    for payload in (b"\x78\x01" * 10_000, b"\x7a\x01x" * 10_000, b"\x7a\x80\x7dx" + bytes(15_999)):
        path.write_bytes(record_bytes(payload))
        file = FileReader(str(path), 0, decoder)
        assert list(file.read()) == []
        assert file.problems == [Damage(0, "no valid event")]
    assert 0 < len(reads) < 3 * 2 * (1 << 12) / 16
