"""All ways to decode an event file have the same result as protobuf alone, for any events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from calls import Call, Watch
from framed import records_of
from held import held_by
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tables import rows_of

from tbcore.eventfiles.decoder import Decoder
from tbcore.eventfiles.fast import file_templates
from tbcore.eventfiles.fast import references as references_module
from tbcore.eventfiles.fast.file_templates import FileTemplate
from tbcore.eventfiles.fast.references import find_value_headers
from tbcore.eventfiles.proto.event_pb2 import Event, SessionLog
from tbcore.eventfiles.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tbcore.eventfiles.read_ahead import SmallFileReader
from tbcore.eventfiles.steps import step_array
from tbcore.eventfiles.table import DecodedItem, Table
from tbcore.eventfiles.tail import FileReader
from tbcore.tuning import Tuning
from tbcore_testing import record_bytes
from tbcore_testing.tensors import array_proto

SCALARS_METADATA = SummaryMetadata(
    plugin_data=SummaryMetadata.PluginData(plugin_name="scalars"), display_name="x"
)


SMALL = Tuning(
    probe_records=4,
    min_round_records=5,
    max_round_records=80,
    min_records_to_batch=2,
    min_large_block_records=12,
    check_slice_bytes=200,
    min_rows_to_grow=3,
)
"""Rounds, slices and blocks so small that short streams cross all their bounds."""


# ------------------------------------------------------------------------------------ streams

tags = st.sampled_from(["loss", "lr", "a/b", "é", "x" * 300, "", "__health_pill__/p"])
floats = st.floats(width=32) | st.sampled_from([0.0, -0.0, 1.5])
steps = st.integers(0, 300) | st.sampled_from([2**14, 2**31, 2**53, 2**56, 2**63 - 1, -1, -(2**63)])


@st.composite
def summary_values(draw: st.DrawFn) -> Summary.Value:
    """A value in any of its forms, scalar or not."""
    value = Summary.Value(tag=draw(tags))
    form = draw(st.integers(0, 13))
    number = draw(floats)
    if form <= 3:
        value.simple_value = number
    elif form <= 5:
        value.tensor.CopyFrom(array_proto(np.array(number, np.float32)))
    elif form == 6:
        dtype = draw(st.sampled_from(["f8", "f8", "i4", "u1", "i8", "u8", "f2", "?"]))
        number = draw(st.sampled_from([number, 0.1, 1e300, np.nan]))
        with np.errstate(all="ignore"):
            array = np.array([number] * draw(st.integers(1, 2)))
            array = (array if dtype == "f8" else np.nan_to_num(array)).astype(dtype)
        value.tensor.CopyFrom(array_proto(array))
    elif form == 7:
        value.tensor.dtype = 1
        value.tensor.float_val.extend([number] * draw(st.integers(0, 2)))
    elif form == 8:
        value.tensor.dtype = draw(st.sampled_from([2, 9, 14, 19, 77]))
        value.tensor.double_val.append(number)
        value.tensor.half_val.append(16256)
        value.tensor.int64_val.append(2**60 + 1)
    elif form == 9:
        value.tensor.CopyFrom(array_proto(np.array([b"text"], object)))
    elif form == 10:
        value.histo.num = 3
        value.histo.bucket.extend([1.0, 2.0])
    elif form == 11:
        value.image.encoded_image_string = draw(st.binary(max_size=40))
    elif form == 12:
        value.node_name = "node"
        value.tensor.CopyFrom(array_proto(np.array(number, np.float32)))
    if draw(st.integers(0, 3)) == 0:
        value.metadata.CopyFrom(SCALARS_METADATA)
    return value


@st.composite
def events(draw: st.DrawFn) -> Event:
    """An event of any kind, with up to three values."""
    event = Event(wall_time=draw(st.sampled_from([0.0, 1.5, 1.7e9, np.nan])), step=draw(steps))
    form = draw(st.integers(0, 19))
    if form <= 15:
        event.summary.value.extend(draw(st.lists(summary_values(), min_size=0, max_size=3)))
        if not event.summary.value:
            event.summary.SetInParent()
    elif form == 16:
        event.graph_def = b"graph"
    elif form == 17:
        event.session_log.status = draw(
            st.sampled_from([SessionLog.START, SessionLog.STOP, SessionLog.CHECKPOINT])
        )
    elif form == 18:
        event.file_version = draw(st.sampled_from(["brain.Event:2", "brain.Event:1", "odd"]))
    else:
        event.tagged_run_metadata.tag = "step1"
    return event


@st.composite
def regular_events(draw: st.DrawFn) -> Event:
    """An event with one or two scalars, as trainers log it step after step."""
    event = Event(wall_time=1.7e9)
    for tag in draw(st.lists(st.sampled_from(["loss", "lr", "é"]), min_size=1, max_size=2)):
        value = event.summary.value.add(tag=tag)
        form = draw(st.sampled_from(["simple", "simple", "f4", "f8", "i4", "list"]))
        if form == "simple":
            value.simple_value = 0.5
        elif form == "list":
            value.tensor.dtype = 1
            value.tensor.float_val.append(2.5)
        else:
            number = draw(st.sampled_from([3, 0.1, 2**24 + 1]))
            value.tensor.CopyFrom(array_proto(np.array([number]).astype(form)))
        if draw(st.integers(0, 2)) == 0:
            value.metadata.CopyFrom(SCALARS_METADATA)
    return event


@st.composite
def streams(draw: st.DrawFn) -> list[bytes]:
    """Payloads: single events, and cycles of events repeated with other steps and values."""
    payloads: list[bytes] = []
    for _ in range(draw(st.integers(0, 4))):
        kinds = draw(st.sampled_from([regular_events(), regular_events(), events()]))
        cycle = draw(st.lists(kinds, min_size=1, max_size=4))
        first = draw(st.sampled_from([0, 1, 100, 16370]))
        first_nan = first + draw(st.sampled_from([15, 100, 100]))
        for step in range(first, first + draw(st.sampled_from([1, 3, 20, 60, 60]))):
            for index, event in enumerate(cycle):
                event.step = step
                event.wall_time = np.nan if step + index >= first_nan else event.wall_time + 0.25
                for value in event.summary.value:
                    if value.HasField("simple_value"):
                        value.simple_value = step * 0.5
                payloads.append(event.SerializeToString())
        payloads.extend(event.SerializeToString() for event in draw(st.lists(events(), max_size=3)))
    if draw(st.integers(0, 5)) == 0:
        payloads.insert(draw(st.integers(0, len(payloads))), draw(st.binary(max_size=30)))
    return payloads


# --------------------------------------------------------------------------------- comparison


class Collector:
    """Collects what was decoded of a file as rows, however it was cut into tables."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self.metadata: dict[str, bytes] = {}
        """The first metadata of each tag."""
        self.last_wall_times = [np.nan]
        """The wall time of the last event before each control event, and before the end."""

    def add(self, items: Iterable[DecodedItem]) -> None:
        """Adds the rows of items. Tables do not change when later ones are decoded."""
        for item in list(items):
            if not isinstance(item, Table):
                self.rows.append(("control", repr(item)))
                self.last_wall_times.append(np.nan)
                continue
            check(item)
            for column in item.columns.entries:
                if column.metadata is not None:
                    self.metadata.setdefault(column.tag, column.metadata)
            if not np.isnan(item.last_wall_time):
                self.last_wall_times[-1] = item.last_wall_time
            rows = [*rows_of([item]), *item.bare_events]
            rows.sort(key=lambda row: (row.position, len(row)))
            # By their text NaN equals NaN, and 0.0 does not equal -0.0.
            self.rows += map(repr, rows)


def check(table: Table) -> None:
    """Checks what a table promises of its columns, steps and values."""
    columns, num_scalars = table.columns, len(table.value)
    entries = columns.entries
    assert [*entries] == sorted(entries, key=lambda entry: not entry.is_scalar)
    assert len({entry[:3] for entry in entries}) == len(entries)
    tags = {entry.tag for entry in entries}
    assert len({(entry.tag, entry.metadata) for entry in entries}) == len(tags)
    assert table.bounds[columns.num_scalar] == num_scalars
    assert table.position is not None
    positions = table.position()
    firsts = positions[[table.bounds[i] for i in columns.order]]
    assert len(firsts) == len(entries)
    assert (np.diff(firsts) > 0).all()
    wide, nonfinite = set(), set()
    for i, entry in enumerate(entries):
        assert (np.diff(positions[table.rows(i)]) > 0).all()
        steps = step_array(table.step[i]).tolist()
        assert len(steps) == table.num_rows_of(i) > 0
        distances = {after - before for before, after in pairwise(steps)}
        is_even = not distances or (len(distances) == 1 and 0 < min(distances) < 2**63)
        assert isinstance(table.step[i], range) == is_even
        if entry.is_scalar:
            value = table.value[table.rows(i)].astype(np.float64)
            with np.errstate(over="ignore"):
                if not np.array_equal(value, value.astype(np.float32), equal_nan=True):
                    wide.add(i)
            if not np.isfinite(value).all():
                nonfinite.add(i)
    assert (wide, nonfinite) == (set(table.wide), set(table.nonfinite))
    assert table.value.dtype == (np.float64 if wide else np.float32)


def read_all(
    path: Path, *, fast: bool, sizes: list[int] | None = None, tuning: Tuning = SMALL
) -> Collector:
    """Reads a copy of the file that grows to these sizes one after the other, then to its own."""
    content = path.read_bytes()
    growing = path.with_name(f"growing-{fast}.tfevents")
    growing.write_bytes(b"")
    collector = Collector()
    file = FileReader(str(growing), 0, Decoder(fast=fast, tuning=tuning))
    for size in [*(sizes or []), len(content)]:
        with growing.open("r+b") as stream:
            stream.write(content[:size])
        file.caught_up = False
        while not file.caught_up:
            collector.add(file.read(200))
        collector.rows.append(("file size", size))
    collector.rows.append(("problems", *file.problems))
    collector.rows.append(("consumed", file.offset))
    return collector


def assert_same_as_protobuf(path: Path, sizes: list[int], tuning: Tuning = SMALL) -> None:
    """The rows are the same if the file grows to these sizes, and in small files of each size."""
    plain = read_all(path, fast=False, sizes=sizes, tuning=tuning)
    assert_same([read_all(path, fast=True, sizes=sizes, tuning=tuning)], [plain])
    content = path.read_bytes()
    contents = [content[:size] for size in [*sizes, len(content)]]
    paths = write_files(path.parent, contents * 2)
    rows = read_plainly(paths[: len(contents)], tuning)
    assert_same(read_in_batches(paths, tuning), rows * 2)


@st.composite
def references(draw: st.DrawFn) -> Event:
    """An event with an image, histogram, text or tensor, as writers log it."""
    event = Event(wall_time=draw(st.sampled_from([0.0, 1.7e9])), step=draw(steps))
    value = event.summary.value.add(tag=draw(tags))
    form = draw(st.sampled_from(["image", "histo", "strings", "numbers"]))
    if form == "image":
        value.image.width, value.image.height = draw(st.tuples(*[st.integers(0, 300)] * 2))
        value.image.encoded_image_string = draw(st.binary(max_size=300))
    elif form == "histo":
        value.histo.min, value.histo.num = draw(st.tuples(floats, floats))
        for edges in (value.histo.bucket_limit, value.histo.bucket):
            edges.extend(draw(st.lists(floats, max_size=3)))
    elif form == "strings":
        texts = np.array(draw(st.lists(st.binary(max_size=9), max_size=4)), object)
        value.tensor.CopyFrom(array_proto(texts))
    else:
        shape = draw(st.lists(st.integers(0, 2), max_size=3))
        value.tensor.CopyFrom(array_proto(np.zeros(shape, draw(st.sampled_from(["f8", "?"])))))
        value.tensor.version_number = draw(st.integers(0, 1))
    if draw(st.booleans()):
        value.metadata.CopyFrom(SCALARS_METADATA)
    return event


@st.composite
def altered(draw: st.DrawFn) -> bytes:
    """The payload of a reference with up to two changes, as a writer with a bug might log it."""
    payload = bytearray(draw(references()).SerializeToString())
    for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
        offset = draw(st.integers(0, len(payload) - 1))
        change = draw(st.sampled_from(["flip", "flip", "cut", "insert"]))
        if change == "flip":
            payload[offset] ^= 1 << draw(st.integers(0, 7))
        elif change == "cut":
            del payload[offset : offset + draw(st.integers(1, 3))]
        else:
            payload[offset:offset] = draw(st.binary(min_size=1, max_size=3))
        if not payload:
            break
    return bytes(payload)


SETTINGS = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@pytest.mark.slow
@SETTINGS
@given(streams(), st.data(), st.sampled_from([150, 700, 1 << 22]))
def test_same_rows_of_any_file_that_grows(
    tmp_path: Path,
    payloads: list[bytes],
    data: st.DataObject,
    buffer_bytes: int,
) -> None:
    """Whatever its events, the sizes it grows to, and the size of the buffer."""
    tuning = replace(SMALL, piece_bytes=buffer_bytes)
    content = b"".join(map(record_bytes, payloads))
    path = tmp_path / "a.tfevents"
    path.write_bytes(content)
    sizes = sorted(data.draw(st.lists(st.integers(0, len(content)), max_size=3)))
    assert_same_as_protobuf(path, sizes, tuning)


@pytest.mark.slow
@SETTINGS
@given(streams(), st.data(), st.sampled_from([700, 1 << 22]))
def test_same_rows_with_damage(
    tmp_path: Path,
    payloads: list[bytes],
    data: st.DataObject,
    buffer_bytes: int,
) -> None:
    """Wherever bits were flipped: the same records are skipped, and all others are unchanged."""
    tuning = replace(SMALL, piece_bytes=buffer_bytes)
    content = bytearray(b"".join(map(record_bytes, payloads)))
    path = tmp_path / "a.tfevents"
    path.write_bytes(content)
    whole = read_all(path, fast=False, tuning=tuning)
    for _ in range(data.draw(st.integers(1, 3))):
        if content:
            edge = min(40, len(content))
            offset = data.draw(
                st.integers(0, len(content) - 1)
                | st.integers(len(content) - edge, len(content) - 1)
            )
            content[offset] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(content)
    sizes = sorted(data.draw(st.lists(st.integers(0, len(content)), max_size=2)))
    assert_same_as_protobuf(path, sizes, tuning)
    damaged = read_all(path, fast=True, tuning=tuning)
    assert set(damaged.rows[:-3]) <= set(whole.rows[:-3])


@pytest.mark.parametrize(("num_tags", "is_regular", "grows"), [
    (30, False, True),
    (30, True, False),
    (2, False, False),
])  # fmt: skip
def test_pieces_grow_if_there_are_few_rows_for_each_tag(
    tmp_path: Path,
    num_tags: int,
    is_regular: bool,
    grows: bool,
) -> None:
    """Each tag of a piece has a fixed cost. Rows in a block of a row template do not count."""
    tuning = replace(SMALL, piece_bytes=12_000, min_rows_per_column=8, min_rows_to_grow=150)
    rng = np.random.default_rng(0)
    order = np.arange(2000) if is_regular else rng.permutation(2000)
    payloads = []
    for number in (order % num_tags).tolist():
        event = Event(wall_time=rng.random(), step=1000 + len(payloads))
        event.summary.value.add(tag=f"tag{number:02}", simple_value=rng.random())
        payloads.append(event.SerializeToString())
    path = tmp_path / "a.tfevents"
    path.write_bytes(b"".join(map(record_bytes, payloads)))
    assert_same_as_protobuf(path, [], tuning)
    decoder = Decoder(tuning=tuning)
    for _ in FileReader(str(path), 0, decoder).read():
        pass
    assert (decoder.next_piece_bytes() > 12_000) == grows


@pytest.mark.parametrize("fast", [True, False])
def test_every_flipped_bit_in_a_cycle_of_records(tmp_path: Path, fast: bool) -> None:
    """Only its record is skipped, or, if it is in the header, all records from there on."""
    payloads = []
    for step in range(1, 13):
        for tag in ("loss", "lr"):
            event = Event(wall_time=1.0 + step, step=step)
            event.summary.value.add(tag=tag, simple_value=step / 2)
            payloads.append(event.SerializeToString())
    frames = [record_bytes(p) for p in payloads]
    content = b"".join(frames)
    starts = np.cumsum([0, *map(len, frames)]).tolist()
    path = tmp_path / "a.tfevents"
    path.write_bytes(content)
    whole = read_all(path, fast=fast).rows[:-3]
    assert len(whole) == 24
    victim = 9
    for offset in range(starts[victim], starts[victim + 1]):
        for bit in range(8):
            flipped = bytearray(content)
            flipped[offset] ^= 1 << bit
            path.write_bytes(flipped)
            rows = read_all(path, fast=fast).rows[:-3]
            in_header = offset < starts[victim] + 12
            assert rows == (whole[:victim] + ([] if in_header else whole[victim + 1 :]))


def test_cycles_longer_than_the_buffer(tmp_path: Path) -> None:
    """All records are decoded if a row of the template does not fit into a piece of the file."""
    payloads = []
    for step in range(1, 100):
        for tag in ("a", "b", "c", "d", "e"):
            event = Event(wall_time=1.0, step=step)
            event.summary.value.add(tag=tag, simple_value=step)
            payloads.append(event.SerializeToString())
    path = tmp_path / "a.tfevents"
    path.write_bytes(b"".join(map(record_bytes, payloads)))
    for buffer_bytes in (150, 240, 260, 1000):
        tuning = replace(SMALL, piece_bytes=buffer_bytes)
        assert len(read_all(path, fast=True, tuning=tuning).rows) == 5 * 99 + 3


DIM_BEYOND_SHAPE = b"\x2a\x0f\x0a\x0d\x0a\x03tag\x42\x06\x08\x07\x12\x02\x12\x01"
"""An event whose tensor has a dimension of one more byte than its shape has left."""


@SETTINGS
@given(st.lists(altered(), min_size=2, max_size=40))
@example([DIM_BEYOND_SHAPE] * 2)
def test_same_references_of_any_bytes(tmp_path: Path, payloads: list[bytes]) -> None:
    """Payloads that are no valid message are rejected, even if their checksums are right."""
    path = tmp_path / "a.tfevents"
    path.write_bytes(b"".join(map(record_bytes, payloads)))
    assert_same_as_protobuf(path, [])


def test_references_have_value_headers() -> None:
    """What writers log is not decoded by protobuf."""
    image = Event(wall_time=1.5, step=300)
    image.summary.value.add(tag="a/picture").image.encoded_image_string = b"png" * 500
    histo = Event(wall_time=2.5)
    histo.summary.value.add(tag="b").histo.bucket.extend([1.0, 2.0])
    histo.summary.value[0].metadata.CopyFrom(SCALARS_METADATA)
    text = Event(wall_time=3.5, step=2**40)
    text.summary.value.add(tag="c").tensor.CopyFrom(array_proto(np.array([b"x", b""], object)))
    matrix = Event(wall_time=4.5, step=1)
    matrix.summary.value.add(tag="d").tensor.CopyFrom(array_proto(np.ones((3, 3))))
    number = Event(wall_time=5.5, step=1)
    number.summary.value.add(tag="e").tensor.CopyFrom(array_proto(np.ones((1, 1))))
    payloads = [e.SerializeToString() for e in (image, histo, text, matrix, number)]
    lengths = np.array([len(payload) for payload in payloads])
    buffer = bytearray(b"".join(payloads) + bytes(64))

    headers = find_value_headers(buffer, np.cumsum(lengths) - lengths, lengths)

    assert headers.indices.tolist() == [0, 1, 2, 3]  # the last one is a scalar
    assert headers.wall_time.tolist() == [1.5, 2.5, 3.5, 4.5]
    assert headers.step.tolist() == [300, 0, 2**40, 1]
    assert [buffer[a:b] for a, b in headers.tag.tolist()] == [b"a/picture", b"b", b"c", b"d"]
    begin, end = headers.metadata[1].tolist()
    assert SummaryMetadata.FromString(bytes(buffer[begin:end])) == SCALARS_METADATA
    assert not headers.metadata[[0, 2, 3]].any()


def test_different_tags_of_references_may_have_the_same_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tags are compared by their bytes, also if one is the beginning of another."""
    tags = ["a", "b", "ab", "a" * 7, "a" * 8, "a" * 9, "a" * 8 + "b", "é", "x" * 99, "x" * 98 + "y"]
    payloads = []
    for step in range(4):
        for tag in tags:
            event = Event(wall_time=1.0, step=step)
            event.summary.value.add(tag=tag).image.encoded_image_string = b"png"
            payloads.append(event.SerializeToString())
            event.summary.value[0].histo.bucket.extend([1.0, 2.0])
            payloads.append(event.SerializeToString())
    content = b"".join(map(record_bytes, payloads))
    assert_same_files(tmp_path, [content])
    monkeypatch.setattr(
        references_module, "HASH_FACTORS", np.zeros_like(references_module.HASH_FACTORS)
    )
    assert_same_files(tmp_path, [content])


# ------------------------------------------------------------------------------- similar files


def collected(file: FileReader) -> Collector:
    """What was decoded of a file, with its problems and the time of its first event."""
    collector = Collector()
    while not file.caught_up:
        collector.add(file.read())
    collector.rows.append(("problems", *file.problems))
    collector.rows.append(("consumed", file.offset))
    collector.rows.append(("first event", repr(file.first_event_time)))
    return collector


def write_files(tmp_path: Path, contents: list[bytes]) -> list[Path]:
    """Writes a file for each of these contents; returns their paths."""
    paths = [tmp_path / f"{number}.tfevents" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    return paths


def readers(paths: list[Path], decoder: Decoder) -> list[FileReader]:
    """A reader for each of these files."""
    return [FileReader(str(path), 0, decoder) for path in paths]


def read_one_by_one(
    files: list[FileReader], small_files: SmallFileReader | None = None
) -> list[Collector]:
    """Reads files one after the other, each in a batch of its own if `small_files` is given."""
    found = []
    for file in files:
        if small_files is not None:
            small_files.preload([file])
        found.append(collected(file))
    return found


def read_plainly(paths: list[Path], tuning: Tuning) -> list[Collector]:
    """Reads files with protobuf alone."""
    return read_one_by_one(readers(paths, Decoder(fast=False, tuning=tuning)))


def read_in_batches(paths: list[Path], tuning: Tuning) -> list[Collector]:
    """Reads all files ahead, in batches of the usual sizes, and then collects their rows."""
    small_files = SmallFileReader(tuning=tuning)
    files = readers(paths, Decoder(tuning=tuning))
    while unread := [file for file in files if file.is_unread]:
        small_files.preload(unread)
    return [collected(file) for file in files]


def assert_same(fast: list[Collector], plain: list[Collector]) -> None:
    """Both have the same rows, first metadata of each tag, and wall times of last events."""
    for one, other in zip(fast, plain, strict=True):
        assert one.rows == other.rows
        assert repr(one.last_wall_times) == repr(other.last_wall_times)
        assert one.metadata.keys() == other.metadata.keys()
        for tag, metadata in one.metadata.items():
            expected = SummaryMetadata.FromString(other.metadata[tag])
            assert SummaryMetadata.FromString(metadata) == expected


def assert_same_files(
    tmp_path: Path, contents: list[bytes], tuning: Tuning = SMALL, *, in_batches: bool = False
) -> None:
    """Files with these contents have the same rows, read one by one, preloaded or not.

    With `in_batches`, also if they are preloaded in batches.
    """
    paths = write_files(tmp_path, contents)
    plain = read_plainly(paths, tuning)
    assert_same(read_one_by_one(readers(paths, Decoder(tuning=tuning))), plain)
    preloaded = SmallFileReader(tuning=tuning)
    assert_same(read_one_by_one(readers(paths, Decoder(tuning=tuning)), preloaded), plain)
    if in_batches:
        assert_same(read_in_batches(paths, tuning), plain)


def similar_run(
    seed: int,
    *,
    name: str = "",
    as_tensor: bool = False,
    merged: bool = False,
    uneven: bool = False,
    ends_with_nan: bool = False,
    tags: Sequence[str] = ("loss", "val", "lr", "é", "test"),
    steps: Sequence[int] = (0, 1, 2, 3, 127, 128, 300, 70_000),
) -> bytes:
    """The event file of a run of a sweep. `name` is logged at its beginning, if given.

    With `ends_with_nan`, the wall times of the last tags are NaN at the last step.
    """
    rng = np.random.default_rng(seed)
    version = Event(wall_time=rng.random(), file_version="brain.Event:2")
    payloads = [version.SerializeToString()]
    if name:
        event = Event(wall_time=rng.random())
        value = event.summary.value.add(tag=f"config/{name}")
        value.tensor.CopyFrom(array_proto(np.array([name.encode()], object)))
        payloads.append(event.SerializeToString())
    for step in steps:
        event = Event(wall_time=rng.random(), step=step)
        for tag in tags:
            if uneven and step % 3 and tag in ("val", "test"):
                continue
            if ends_with_nan and step == steps[-1] and tag in tags[2:]:
                event.wall_time = np.nan
            value = event.summary.value.add(tag=tag)
            if as_tensor:
                value.tensor.CopyFrom(array_proto(np.array(rng.random(), np.float32)))
            else:
                value.simple_value = float(rng.random())
            if as_tensor and step == 0:
                value.metadata.CopyFrom(SCALARS_METADATA)
            if not merged:
                payloads.append(event.SerializeToString())
                event = Event(wall_time=rng.random(), step=step)
        if merged:
            payloads += [event.SerializeToString()] * 2
    return b"".join(map(record_bytes, payloads))


@pytest.fixture
def templates_used(calls_of: Watch) -> list[Call]:
    """The calls of templates that matched; `offsets` are where."""
    return calls_of(FileTemplate.items)


def offsets(templates_used: list[Call]) -> list[int]:
    """The offsets of the files at which templates matched."""
    return [call.arguments["start"] for call in templates_used]


@pytest.mark.parametrize("form", [
    {},
    {"as_tensor": True},
    {"merged": True},
    {"uneven": True},
    {"ends_with_nan": True},
])  # fmt: skip
def test_the_third_of_several_similar_files_matches_a_template(
    tmp_path: Path, templates_used: list[Call], form: dict[str, bool]
) -> None:
    """The template is learnt from the second one, which is as long as the first."""
    assert_same_files(tmp_path, [similar_run(seed, **form) for seed in range(5)])
    assert offsets(templates_used) == [0, 0, 0]


def test_the_last_event_of_a_block_may_have_no_time(tmp_path: Path) -> None:
    """Then the last time is that of the event before, which is in another column."""
    assert_same_files(tmp_path, [similar_run(0, ends_with_nan=True, steps=range(1, 100))])


def ends_of(content: bytes) -> list[int]:
    """The offset after each record of a file."""
    return [end for _, end in records_of(content)]


@pytest.mark.parametrize("form", [{}, {"as_tensor": True}, {"uneven": True}, {"name": "some"}])
def test_runs_that_were_stopped_early_match_a_template(
    tmp_path: Path, templates_used: list[Call], form: dict[str, Any]
) -> None:
    """Wherever they were stopped, also within a step. Files of a few records have no template."""
    first, *whole = [similar_run(seed, **form) for seed in range(3)]
    ends = ends_of(first)[13:-1]
    early = [content[:end] for end in ends for content in whole]
    assert_same_files(tmp_path, [first, *early])
    # The first file of each length is learnt from. The rest follows the name, which is no scalar.
    assert len(templates_used) == len(ends) - (4 if "name" in form else 2)


def test_files_with_equal_lengths_but_other_tags_are_learnt_apart(
    tmp_path: Path, templates_used: list[Call]
) -> None:
    """The template of the first tags does not match, so that of the others begins later."""
    tags = ("loss", "val", "lR", "é", "test")
    others = [similar_run(seed, tags=tags) for seed in range(3, 7)]
    assert_same_files(tmp_path, [*map(similar_run, range(3)), *others, similar_run(7)])
    first_record = ends_of(others[0])[0]
    assert offsets(templates_used) == [0, first_record, first_record, 0]


@pytest.mark.parametrize("last", [
    {"histo": HistogramProto(num=3)},
    {"tensor": array_proto(np.array(1.0, np.float64))},
])  # fmt: skip
def test_files_without_a_template(
    tmp_path: Path, templates_used: list[Call], last: dict[str, Any]
) -> None:
    """Their last value is no scalar, or has another type."""
    event = Event(wall_time=1.0, step=1)
    event.summary.value.add(**{"tag": "last", **last})
    end = record_bytes(event.SerializeToString())
    assert_same_files(tmp_path, [similar_run(seed) + end for seed in range(4)])
    assert not templates_used


def test_the_file_version_may_have_no_wall_time(tmp_path: Path, templates_used: list[Call]) -> None:
    """Protobuf does not write a wall time of 0, so the file version is where it would be."""
    version = record_bytes(Event(file_version="brain.Event:2").SerializeToString())
    contents = [version + run[ends_of(run)[0] :] for run in map(similar_run, range(4))]
    assert_same_files(tmp_path, contents)
    assert offsets(templates_used) == [len(version)] * 2


@pytest.mark.parametrize("max_bytes", [5000, 1500])
def test_the_cache_of_templates_is_bounded(tmp_path: Path, max_bytes: int) -> None:
    """Whatever the number and the lengths of the files. `release_buffers` empties it."""
    small_files = SmallFileReader(tuning=replace(SMALL, max_template_bytes=max_bytes))

    def num_cached_bytes() -> int:
        return sum(template.num_bytes for template in held_by(small_files, FileTemplate))

    path = tmp_path / "a.tfevents"
    for end in [*ends_of(similar_run(0))[20:], *ends_of(similar_run(0))[:20:-1]]:
        for seed in range(3):
            path.write_bytes(similar_run(seed)[:end])
            small_files.preload([FileReader(str(path), 0, Decoder(tuning=SMALL))])
            assert num_cached_bytes() <= max_bytes
    assert num_cached_bytes()
    small_files.release_buffers()
    assert not num_cached_bytes()


def test_nothing_is_learnt_from_files_that_only_have_equal_lengths(
    tmp_path: Path, calls_of: Watch
) -> None:
    """To learn from a file takes about as long as to read it."""
    attempts = calls_of(file_templates._learn_template)
    contents = []
    for number in range(60):
        for _ in range(2):
            events = [Event(wall_time=1.0, step=step) for step in range(20 + number)]
            for event in events:
                tag = f"tag{len(contents):03}"
                event.summary.value.add(tag=tag, simple_value=event.step)
            contents.append(b"".join(record_bytes(e.SerializeToString()) for e in events))
    assert_same_files(tmp_path, contents)
    assert not attempts
    assert_same_files(tmp_path, [*contents[:1]] * 2)
    assert len(attempts) == 1, "otherwise this test proves nothing"


@pytest.mark.parametrize("num_before", range(1, 8))
def test_a_file_template_may_follow_a_part_of_a_cycle(tmp_path: Path, num_before: int) -> None:
    """The cycle was the last one in the file before, so its row template is still in use."""
    cycles = []
    for step in range(1, 40):
        for tag in ("a", "b"):
            event = Event(wall_time=1.0, step=step)
            event.summary.value.add(tag=tag, simple_value=step)
            cycles.append(record_bytes(event.SerializeToString()))
    before = b"".join(cycles[:num_before])
    files = [similar_run(0), similar_run(1), b"".join(cycles * 8), before + similar_run(2)]
    assert_same_files(tmp_path, files, replace(SMALL, min_round_records=16))


def test_the_first_records_of_similar_files_may_differ(
    tmp_path: Path, templates_used: list[Call]
) -> None:
    """For example by their hyperparameters; the template starts after them."""
    names = ["a", "bcd", "a longer name", "e", "fg"]
    contents = [similar_run(i, name=name) for i, name in enumerate(names)]
    assert_same_files(tmp_path, contents)
    # Before the template are the record of the file version, of constant size, and the name.
    name_bytes = [len(content) - len(similar_run(i)) for i, content in enumerate(contents)]
    lengths = {
        start - size for start, size in zip(offsets(templates_used), name_bytes[2:], strict=True)
    }
    assert len(lengths) == 1


@pytest.mark.parametrize("bits", [21, 28, 35, 56])
def test_steps_of_similar_files_may_be_large(
    tmp_path: Path, templates_used: list[Call], bits: int
) -> None:
    """The largest steps whose varints have three, four, five and eight bytes, and the next ones."""
    end = 1 << bits
    for last in (end - 1, end):
        contents = [similar_run(i, steps=(0, 1, 200, end // 2 - i, last)) for i in range(5)]
        assert_same_files(tmp_path, contents)
    assert templates_used


@pytest.mark.parametrize("form", [
    {"tags": ("loss", "val", "lR", "é", "test")},
    {"tags": ("loss", "val", "é", "lr", "test")},
    {"steps": (0, 1, 2, 3, 128, 127, 300, 70_000)},
])  # fmt: skip
def test_files_of_equal_length_may_have_different_records(
    tmp_path: Path, templates_used: list[Call], form: dict[str, Any]
) -> None:
    """All checksums are right, so only the comparison of bytes shows the difference."""
    assert len(similar_run(3, **form)) == len(similar_run(3))
    assert_same_files(tmp_path, [*map(similar_run, range(3)), similar_run(3, **form)])
    assert offsets(templates_used) == [0]


@pytest.mark.slow
@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.release)])
def test_a_flipped_bit_in_any_byte_of_a_similar_file(
    tmp_path: Path, templates_used: list[Call], every: int
) -> None:
    """The template does not match, and the file is read in another way.

    One byte in five is changed, and all before a release.
    """
    # Steps of one, two and three bytes, in as few records as have a template.
    first, second, content = (similar_run(seed, steps=(0, 3, 300, 70_000)) for seed in range(3))
    flipped = []
    for offset in range(0, len(content), every):
        other = bytearray(content)
        other[offset] ^= 1 << offset % 8
        flipped.append(bytes(other))
    assert_same_files(tmp_path, [first, second, content, *flipped], in_batches=True)
    assert offsets(templates_used) == [0]


@pytest.mark.slow
@settings(SETTINGS, max_examples=SETTINGS.max_examples // 2)  # An example is many files.
@given(streams(), st.lists(events(), max_size=4), st.data())
def test_same_rows_of_files_with_common_records(
    tmp_path: Path, payloads: list[bytes], others: list[Event], data: st.DataObject
) -> None:
    """Whatever these records are, and whatever precedes them."""
    common = b"".join(map(record_bytes, payloads))
    before = [record_bytes(event.SerializeToString()) for event in others]
    contents = [common, common, common, *(first + common for first in before)]
    whole = bytearray(data.draw(st.sampled_from(contents)))
    if whole:
        whole[data.draw(st.integers(0, len(whole) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    cut = data.draw(st.integers(0, len(whole)))
    # Runs that were stopped early, and some that continue.
    ends = ends_of(common)
    numbers = data.draw(st.lists(st.sampled_from(ends), max_size=4)) if ends else []
    early = [common[:end] for end in numbers]
    longer = [common + last for last in before[:1]]
    files = [*contents, *(early + longer) * 3, bytes(whole), bytes(whole[:cut])]
    assert_same_files(tmp_path, files, in_batches=True)
