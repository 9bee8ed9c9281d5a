"""Small files are read ahead in batches; an error in one of them does not affect the others."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from disk import Disk
from held import held_by
from tables import rows_of, steps_of

from tbcore.eventfiles.decoder import Decoder
from tbcore.eventfiles.plain import Arrangement
from tbcore.eventfiles.proto.event_pb2 import Event, TaggedRunMetadata
from tbcore.eventfiles.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tbcore.eventfiles.read_ahead import SmallFileReader
from tbcore.eventfiles.table import DecodedItem, FileVersion, SessionStart, Table, TableColumn
from tbcore.eventfiles.tail import FileReader, FileReplacedError
from tbcore.tuning import DEFAULT, Tuning
from tbcore_testing import EventFileWriter, record_bytes
from tbcore_testing.tensors import array_proto

SMALL_FILE_BYTES = DEFAULT.small_file_bytes


def write(path: Path, *, num_steps: int = 10, begin: int = 0, wall_time: float = 1.0) -> Path:
    """Writes scalars, texts and histograms. One tag is named after the file."""
    with EventFileWriter(path, wall_time=wall_time) as writer:
        for step in range(begin, num_steps):
            writer.add_scalar("loss", step, step)
            writer.add_scalar(f"of {path.stem}", step, step)
            if step % 4 == 0:
                writer.add_histogram("weights", np.arange(step + 2), step)
                writer.add_text("note", f"step {step}", step)
    return path


def readers_of(paths: list[Path]) -> list[FileReader]:
    """A new reader for each of these files."""
    decoder = Decoder()
    return [FileReader(str(path), 0, decoder) for path in paths]


def without_batch_limit(**tuning: int) -> SmallFileReader:
    """A reader whose first batch is as large as any later one."""
    return SmallFileReader(tuning=Tuning(first_batch_files=1000, **tuning))


@pytest.fixture
def small_files() -> SmallFileReader:
    """A reader that reads all files in one batch."""
    return without_batch_limit()


def test_files_that_were_read_ahead_yield_tables(
    tmp_path: Path, small_files: SmallFileReader
) -> None:
    """Their readers do not open them again."""
    paths = [write(tmp_path / f"{n}.tfevents", num_steps=10 + n) for n in range(5)]
    files = readers_of(paths)
    small_files.preload(files)
    for path in paths:
        os.remove(path)
    for n, file in enumerate(files):
        items = list(file.read())
        assert isinstance(items[-1], Table)
        assert steps_of(items) == steps_of(items, f"of {n}") == list(range(10 + n))
        assert steps_of(items, "weights") == steps_of(items, "note") == list(range(0, 10 + n, 4))
        assert file.caught_up
        assert file.first_event_time == 1.0
        assert file.opened.size == file.offset > 0


def test_files_of_a_batch_that_failed_are_not_mistaken_for_those_of_the_next(
    tmp_path: Path, small_files: SmallFileReader, disk: Disk
) -> None:
    """A bug in the middle of a batch costs that batch alone."""
    files = readers_of([write(tmp_path / f"{n}.tfevents", begin=n) for n in range(4)])
    disk.errors[files[2].path] = ZeroDivisionError("a bug")
    with pytest.raises(ZeroDivisionError):
        small_files.preload(files[:3])
    small_files.preload(files[3:])
    assert steps_of(files[3].read())[0] == 3


def test_a_file_that_grows_after_it_was_read_ahead_is_read_from_there(
    tmp_path: Path, small_files: SmallFileReader
) -> None:
    paths = [write(tmp_path / f"{n}.tfevents") for n in range(3)]
    files = readers_of(paths)
    small_files.preload(files)
    write(paths[1], begin=10, num_steps=12)
    assert steps_of(files[1].read()) == list(range(10))
    assert steps_of(files[1].read()) == [10, 11]


def test_a_tiny_file_that_grows_is_read_from_there(
    tmp_path: Path, small_files: SmallFileReader
) -> None:
    paths = [write(tmp_path / name, num_steps=0) for name in ("a.tfevents", "b.tfevents")]
    files = readers_of(paths)
    small_files.preload(files)
    for path, file in zip(paths, files, strict=True):
        assert file.is_preloaded
        assert steps_of(file.read()) == []
        write(path, num_steps=2)
        assert steps_of(file.read()) == [0, 1]


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_file_that_shrinks_while_it_is_read_ahead_is_left_to_its_reader(
    tmp_path: Path, small_files: SmallFileReader, disk: Disk, when: str
) -> None:
    """The bytes in the buffer after its end may belong to another file."""
    paths = [write(tmp_path / name) for name in ("a.tfevents", "b.tfevents")]
    small_files.preload(readers_of(paths[:1]))

    def cut(path: str) -> None:
        os.truncate(path, 40)

    if when == "before":
        disk.after_open = cut
    else:
        disk.after_read = cut
    files = readers_of(paths[:1])
    small_files.preload(files)
    assert steps_of(files[0].read()) == []
    assert files[0].offset == 40


def test_a_file_that_is_replaced_after_it_was_read_ahead_is_detected(
    tmp_path: Path, small_files: SmallFileReader
) -> None:
    """The next `read` after that of the preloaded items raises."""
    paths = [write(tmp_path / f"{n}.tfevents") for n in range(3)]
    files = readers_of(paths)
    small_files.preload(files)
    paths[1].unlink()
    write(paths[1], num_steps=20, wall_time=2.0)
    assert steps_of(files[1].read()) == list(range(10))
    with pytest.raises(FileReplacedError):
        list(files[1].read())


@pytest.mark.parametrize(
    "damage", ["length", "payload", "torn", "flipped length", "flipped high length", "empty"]
)
def test_a_file_with_damage_is_left_to_its_reader(
    tmp_path: Path, small_files: SmallFileReader, damage: str
) -> None:
    """Wherever it is in the batch. The other files have the same rows as without it."""
    paths = [write(tmp_path / f"{n}.tfevents") for n in range(5)]
    for number in (0, 2, 4):
        content = bytearray(paths[number].read_bytes())
        if damage == "torn":
            del content[-5:]
        elif damage == "empty":
            content.clear()
        else:
            # The second record is damaged. The first one has 40 bytes.
            offset = {"length": 8, "payload": 20, "flipped length": 0, "flipped high length": 5}
            content[40 + offset[damage]] ^= 4
        paths[number].write_bytes(content)
    files = readers_of(paths)
    small_files.preload(files)
    assert [file.is_preloaded for file in files] == [False, True, False, True, False]
    for file, other in zip(files, readers_of(paths), strict=True):
        assert rows_of(file.read()) == rows_of(other.read())
        assert file.problems == other.problems
        assert (file.offset, file.caught_up) == (other.offset, other.caught_up)


METADATA = [SummaryMetadata(display_name=name) for name in ("first", "second")]
F64 = array_proto(np.array(1e300))
F32 = array_proto(np.array(0.5, np.float32))
TEXT = array_proto(np.array([b"text"], object))
Value = Summary.Value

UNUSUAL: dict[str, list[Event | list[Summary.Value]]] = {
    "a tag with numbers and a text": [
        [Value(tag="a", simple_value=1)],
        [Value(tag="a", tensor=TEXT)],
    ],
    "a tag in two fields": [[Value(tag="a", simple_value=1)], [Value(tag="a", tensor=F32)]],
    "doubles": [[Value(tag="a", tensor=F64)]],
    "a double in an event": [[Value(tag="a", tensor=F32), Value(tag="b", tensor=F64)]],
    "health pills": [[Value(tag="__health_pill__/a", tensor=F32)]],
    "health pills that are texts": [[Value(tag="__health_pill__/a", tensor=TEXT)]],
    "node names": [[Value(node_name="a", tensor=TEXT), Value(node_name="b", tensor=F32)]],
    "two texts in one event": [[Value(tag=tag, tensor=TEXT) for tag in "ab"]],
    "metadata that changes": [
        [Value(tag="a", histo=HistogramProto(num=1))],
        *([Value(tag="a", histo=HistogramProto(num=1), metadata=m)] for m in METADATA),
    ],
    "two metadata in one event": [
        [
            Value(tag="a", simple_value=1),
            *(Value(tag="a", simple_value=1, metadata=m) for m in METADATA),
        ]
    ],
    "profiles": [
        Event(tagged_run_metadata=TaggedRunMetadata(tag=tag, run_metadata=b"p")) for tag in "ab"
    ],
    "graphs": [Event(graph_def=b"graph"), [Value(tag="a", simple_value=1)]],
    "two kinds of graphs": [Event(graph_def=b"graph"), Event(meta_graph_def=b"meta")],
    "no values": [[], Event(), [Value(tag="a", simple_value=1)], []],
}
"""Description to the events of a file, or the values of each."""


def comparable(item: DecodedItem) -> object:
    """An item as plain data."""
    if not isinstance(item, Table):
        return item
    columns = item.columns, item.bounds, [*map(type, item.step)], item.value.dtype
    return columns, rows_of([item]), item.bare_events, item.last_wall_time


@pytest.mark.parametrize("description", UNUSUAL)
def test_unusual_files_have_the_same_rows(
    tmp_path: Path, small_files: SmallFileReader, description: str
) -> None:
    """Read ahead or not. The same is true for the other files of the batch."""
    paths = [
        write(tmp_path / "0.tfevents"),
        tmp_path / "1.tfevents",
        write(tmp_path / "2.tfevents"),
    ]
    events = [Event(file_version="brain.Event:2")]
    for content in UNUSUAL[description] * 3:
        event = Event(summary=Summary(value=content)) if isinstance(content, list) else Event()
        if isinstance(content, Event):
            event.CopyFrom(content)
        event.step, event.wall_time = len(events), len(events) / 3
        events.append(event)
    paths[1].write_bytes(b"".join(record_bytes(event.SerializeToString()) for event in events))
    files = readers_of(paths)
    small_files.preload(files)
    assert all(file.is_preloaded for file in files)
    plain = [FileReader(str(path), 0, Decoder(fast=False)) for path in paths]
    for file, other in zip(files, plain, strict=True):
        assert [*map(comparable, file.read())] == [*map(comparable, other.read())]


def test_there_is_one_attempt_to_read_a_file_ahead(
    tmp_path: Path, small_files: SmallFileReader
) -> None:
    """Whether it succeeds or not. Large and missing files are left to their readers."""
    small, torn, large = (tmp_path / f"{name}.tfevents" for name in ("small", "torn", "large"))
    write(small)
    torn.write_bytes(small.read_bytes()[:-1])
    write(large, num_steps=9000)
    assert large.stat().st_size > SMALL_FILE_BYTES
    files = readers_of([small, torn, large, tmp_path / "gone"])
    assert all(file.is_unread for file in files)
    small_files.preload(files)
    assert not any(file.is_unread for file in files)
    assert steps_of(files[2].read()) == list(range(9000))
    with pytest.raises(FileNotFoundError):
        list(files[3].read())


def test_files_that_are_alike_are_preloaded_with_their_own_rows(
    tmp_path: Path, small_files: SmallFileReader
) -> None:
    """Wherever they are in the batch. Other files may be between them."""
    paths = [tmp_path / f"{n}.tfevents" for n in range(9)]
    for n, path in enumerate(paths):
        if n == 6:
            write(path)
            continue
        with EventFileWriter(path, wall_time=1.0 + n) as writer:
            for step in range(20):
                writer.add_scalar("loss", n, step)
    files = readers_of(paths)
    small_files.preload(files[:3])
    small_files.preload(files[3:])
    assert all(file.is_preloaded for file in files)
    found = [[item for item in file.read() if isinstance(item, Table)] for file in files]
    assert len({id(table.columns) for tables in found[3:6] for table in tables}) == 1
    for tables, alone in zip(found, readers_of(paths), strict=True):
        assert rows_of(tables) == rows_of(alone.read())


def test_each_length_of_similar_files_has_a_template(tmp_path: Path) -> None:
    """Wherever they are in the batch."""
    paths = [tmp_path / f"{n}.tfevents" for n in range(10)]
    for n, path in enumerate(paths):
        with EventFileWriter(path, wall_time=1.0 + n) as writer:
            for step in range(20 + n % 5):
                writer.add_scalar("loss", n, step)
    small_files = without_batch_limit()
    small_files.preload(readers_of(paths))
    assert small_files._decoder is not None
    templates = small_files._decoder._templates._templates.values()
    sizes = {path.stat().st_size for path in paths}
    assert sizes == {template.num_bytes for template in templates if template}
    assert len(sizes) == len(templates) == 5


def test_files_that_do_not_fit_are_left_for_the_next_batch(
    tmp_path: Path,
) -> None:
    """All of them are preloaded in the end."""
    paths = [write(tmp_path / f"{n}.tfevents", num_steps=20) for n in range(12)]
    size = max(path.stat().st_size for path in paths)
    small_files = without_batch_limit(small_file_bytes=size, file_batch_bytes=5 * size)
    files = readers_of(paths)
    while unread := [file for file in files if file.is_unread]:
        small_files.preload(unread)
        num_read = len(unread) - sum(file.is_unread for file in files)
        assert 4 <= num_read <= 5 or len(unread) < 4
    assert all(file.is_preloaded for file in files)


def test_events_without_rows_are_in_the_table(tmp_path: Path, small_files: SmallFileReader) -> None:
    """However many there are between the rows. Several small tables would be slow."""
    path = tmp_path / "a.tfevents"
    with EventFileWriter(path, wall_time=1.0) as writer:
        for step in range(10):
            writer.add_log_message("before")
            writer.add_scalar("loss", step, step)
            writer.add_graph(b"graph")
        writer.add_session_log("START", 10)
        writer.add_log_message("after")
    [file] = readers_of([path])
    small_files.preload([file])
    version, table, start, last = list(file.read())
    assert isinstance(version, FileVersion)
    assert isinstance(table, Table)
    assert isinstance(start, SessionStart)
    assert isinstance(last, Table)
    assert steps_of([table]) == list(range(10))
    assert len(table.bare_events) == 20
    assert table.bare_events == sorted(table.bare_events)
    assert len(last.bare_events) == 1
    assert not last.num_rows


def test_each_batch_has_more_files(tmp_path: Path) -> None:
    """What is learnt from the first files makes the later ones faster."""
    files = readers_of([write(tmp_path / f"{n:03}.tfevents") for n in range(100)])
    small_files = SmallFileReader()
    counts = []
    while unread := [file for file in files if file.is_unread]:
        small_files.preload(unread)
        counts.append(len(unread) - sum(file.is_unread for file in files))
    assert counts == [4, 16, 64, 16]
    assert all(steps_of(file.read()) == list(range(10)) for file in files)


def test_caches_of_tables_are_bounded(tmp_path: Path) -> None:
    """Whatever the number of arrangements and tags. `release_buffers` empties them."""
    small_files = without_batch_limit(max_arrangement_rows=100, max_row_classes=30)
    for n in range(40):
        [file] = readers_of([write(tmp_path / f"{n}.tfevents", num_steps=5 + n % 7)])
        small_files.preload([file])
        assert steps_of(file.read()) == list(range(5 + n % 7))
        arrangements = held_by(small_files, Arrangement)
        assert 0 < sum(len(arrangement.order) for arrangement in arrangements) <= 100
        assert 0 < len({*held_by(small_files, TableColumn)}) <= 30
    small_files.release_buffers()
    assert not any(held_by(small_files, bytearray))
    assert not {*held_by(small_files, TableColumn)}


def test_the_cache_of_row_classes_is_bounded_in_bytes(tmp_path: Path) -> None:
    """A tag can be as long as a file."""
    small_files = without_batch_limit(max_row_class_bytes=2000)
    for n in range(10):
        path = tmp_path / f"{n}.tfevents"
        with EventFileWriter(path, wall_time=1.0) as writer:
            writer.add_scalar(f"{n}" * 1000, 1.0, 0)
        small_files.preload(readers_of([path]))
        assert len({*held_by(small_files, TableColumn)}) == n % 3 + 1


def test_files_near_the_size_limit_are_read_ahead(
    tmp_path: Path, small_files: SmallFileReader
) -> None:
    """Whether their records are in a cycle or not."""
    cyclic, mixed = tmp_path / "cyclic.tfevents", tmp_path / "mixed.tfevents"
    with EventFileWriter(cyclic) as writer:
        for step in range(1000):
            for tag in ("loss", "accuracy", "rate"):
                writer.add_scalar(tag, step, step)
    with EventFileWriter(mixed) as writer:
        for step in range(1000):
            writer.add_scalar("loss", step, step)
            writer.add_scalar("rate", step, step)
            if step % 10 == 0:
                writer.add_histogram("weights", np.arange(1000.0), step)
    sizes = [path.stat().st_size for path in (cyclic, mixed)]
    assert all(1 << 17 < size < SMALL_FILE_BYTES for size in sizes)
    files = readers_of([cyclic, mixed])
    small_files.preload(files)
    items = [list(file.read()) for file in files]
    assert all(any(isinstance(item, Table) for item in found) for found in items)
    assert [len(steps_of(found)) for found in items] == [1000, 1000]


def test_a_file_may_have_a_single_large_record(
    tmp_path: Path, small_files: SmallFileReader
) -> None:
    """It is a graph, so the table has one reference."""
    with EventFileWriter(tmp_path / "1.tfevents", file_version=None) as writer:
        writer.add_graph(bytes((1 << 17) + 300))
    [file] = readers_of([tmp_path / "1.tfevents"])
    small_files.preload([file])
    assert file.is_preloaded
    assert [row.field for row in rows_of(file.read())] == ["graph_def"]
