"""Decoding: a piece of an event file becomes columns.

Five ways lead to the same rows, from the fastest to the most general, and each record takes the
first that is proven to fit it, byte by byte:

  suffixes  short files that are alike, as those of a sweep: compared as a whole
  periods   rows of the same records again and again: compared and sliced as one matrix
  layouts   scalars walked one by one, then matched and gathered by the million
  heads     pictures, histograms and texts: what stands before the bulk, for many at once
  protobuf  whatever is left: graphs, sounds, restarts, unusual writers

Checksums are verified on all five.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from google.protobuf.message import DecodeError as ProtobufDecodeError
from numpy.typing import NDArray

from tbcore.eventfiles.batch import (
    BareEvent,
    Batch,
    FileVersion,
    FirstMetadata,
    Item,
    ReferenceColumn,
    ScalarColumn,
    SessionStart,
)
from tbcore.eventfiles.heads import FIELDS, Heads, find_heads
from tbcore.eventfiles.layouts import (
    FIRST_BYTES,
    HEALTH_PILL,
    WALL_TIME_OFFSET,
    LayoutBook,
    Matched,
    decode_steps,
)
from tbcore.eventfiles.periods import MIN_ROWS, Period, as_value_column, find_period
from tbcore.eventfiles.proto.event_pb2 import Event, SessionLog
from tbcore.eventfiles.proto.summary_pb2 import SummaryMetadata
from tbcore.eventfiles.records import HEADER_BYTES, Damage, Frames, find_damaged, find_frames
from tbcore.eventfiles.suffixes import MAX_FILE_BYTES, SuffixBook
from tbcore.eventfiles.tensors import scalar_of

BUFFER_BYTES = 1 << 22
"""Size of a piece of a file. Records that are longer are not decoded as bytes in memory."""
_GROWTH = 4
"""How much larger pieces are of files with many tags, in no order or with long records: there is a
cost to each column, and from such a piece come many with a row or two."""
_FEW_ROWS = 32
"""Of a column."""
_MANY_REFERENCES, _MANY_SCALARS = 500, 1 << 15
"""Rows of a piece of which most of it consists. Where scalars come in periods, fewer of them are
taken one by one."""
SLACK_BYTES = 64
"""Behind the data in the buffer, so that words may be read at any of its bytes."""

_FIRST_ROUND = 64
_LAST_ROUND = 1 << 16
"""Records walked at once; more each time that no period was found in them."""

_FEW_RECORDS = 32
"""Fewer are decoded one by one: matching costs a little for each length that occurs."""
_LONG_BLOCK = 16
"""Rows after which a stream counts as regular, and rounds begin small again."""
_MAX_ATTEMPTS = 4
"""To go on with a known period, in each round."""
_MAX_PERIODS = 256

_LONG_TAG = 256
"""In bytes. Longer ones are compared one by one."""
_FACTORS = np.array(
    [pow(0x9E3779B97F4A7C15, n, 1 << 64) for n in range(1, _LONG_TAG // 8 + 2)], np.uint64
)
"""For each word of a tag and what comes behind it: odd, and far from each other."""

_GRAPH_FIELDS = ("graph_def", "meta_graph_def", "tagged_run_metadata")

_ARRAYS_FROM = 4
"""What comes in a column from here on, behind the positions, are arrays."""

_ReferenceRow = tuple[int, int, float, int, int, int, int]
Column = TypeVar("Column", ScalarColumn, ReferenceColumn)


class End(NamedTuple):
    """How far a piece of a file was decoded, and why not further."""

    consumed: int
    """Bytes, a whole number of records."""
    stop: Literal["paused", "incomplete", "bad_length", "bad_tail"]
    """`paused`: as was asked for. `incomplete`: what is left is no whole record. `bad_length`:
    what follows cannot be framed. `bad_tail`: the last record of the file has a wrong checksum,
    and may still be on its way."""


class _Spread:
    """Over how many columns rows are spread."""

    def __init__(self) -> None:
        self.num_rows = self.num_columns = 0

    def is_wide(self, many: int) -> bool:
        """Whether there are so many rows, and few of them in each column."""
        return many <= self.num_rows < _FEW_ROWS * self.num_columns


class Decoder:
    """Decodes pieces of files; what it learns of one serves the next.

    `blocks=False` sends every record through protobuf: slow, and the reference for tests.
    """

    def __init__(self, *, blocks: bool = True) -> None:
        self.buffer = bytearray(BUFFER_BYTES + SLACK_BYTES)
        """Filled by the caller before `decode`, with at least SLACK_BYTES to spare."""
        self._growth = 1
        self._references, self._scalars = _Spread(), _Spread()
        """Those of the last piece, but for what was taken in periods or suffixes."""
        self._blocks = blocks
        self._book = LayoutBook()
        self._suffixes = SuffixBook()
        self._periods: dict[bytes, Period] = {}
        self._period: Period | None = None
        self._first_round = _FIRST_ROUND
        """Records walked at first: more after files in which no period was found."""
        self._cycles: dict[int, tuple[NDArray[np.int64], int]] = {}
        """For the number of a layout the cycle it was last seen in, and its place there."""

    def make_room(self) -> int:
        """How long the next piece may be; the buffer may be another one from then on."""
        if self._references.is_wide(_MANY_REFERENCES) or self._scalars.is_wide(_MANY_SCALARS):
            self._growth = _GROWTH
        piece_bytes = BUFFER_BYTES * self._growth
        if len(self.buffer) < piece_bytes + SLACK_BYTES:
            self.buffer = bytearray(piece_bytes + SLACK_BYTES)
        self._references, self._scalars = _Spread(), _Spread()
        return piece_bytes

    def rest(self) -> None:
        """Gives back what is large, until there is something to decode again."""
        self.buffer = bytearray()
        self._suffixes.rest()

    def decode(
        self,
        size: int,
        *,
        base: int,
        at_end: bool,
        problems: list[Damage],
        is_enough: Callable[[], bool] = lambda: False,
    ) -> Generator[Item, None, End]:
        """Decode `buffer[:size]`, which stands at `base` in its file; returns where it ended.

        `at_end`: the file ends with the piece. Damaged records are left out and described in
        `problems`. Where records have to be taken one by one, decoding pauses when `is_enough`
        says so. Arrays handed out are valid until the next item is taken.
        """
        is_short_file = self._blocks and at_end and base == 0 and size <= MAX_FILE_BYTES
        if not is_short_file:
            return (yield from self._decode(size, base, at_end, problems, is_enough))
        found = self._suffixes.find(self.buffer, size)
        if found is not None:
            begin, suffix = found
            end = End(0, "incomplete")
            if begin:
                end = yield from self._decode(begin, base, False, problems, is_enough)
            if end.stop != "incomplete":
                return end
            if end.consumed < begin:
                # A period ended inside a row: what is left is no piece that begins a file.
                return End(end.consumed, "paused")
            yield from suffix.items(self.buffer, begin, base)
            return End(size, "incomplete")
        end = yield from self._decode(size, base, at_end, problems, is_enough)
        if end.consumed == size and not problems:
            self._suffixes.learn(self.buffer, size, self._book)
        return end

    def _decode(
        self,
        size: int,
        base: int,
        at_end: bool,
        problems: list[Damage],
        is_enough: Callable[[], bool],
    ) -> Generator[Item, None, End]:
        position, limit = 0, self._first_round
        num_rows = self._count_rows(position, size)
        while True:
            period = self._period
            if period is not None and num_rows >= MIN_ROWS:
                yield period.batch(self.buffer, position, num_rows, base)
                position += num_rows * period.row_bytes
                if num_rows >= _LONG_BLOCK:
                    limit = self._first_round = _FIRST_ROUND
                if not at_end and size - position < period.row_bytes:
                    # The next piece begins with a row, so that the period goes on there.
                    return End(position, "incomplete")
            frames = find_frames(self.buffer, position, size, limit)
            frames, num_rows = self._until_known_period(frames, size)
            damaged = find_damaged(self.buffer, frames)
            bad_tail = at_end and frames.end == size and len(frames.starts) - 1 in damaged
            if bad_tail:
                frames = frames.first(len(frames.starts) - 1)
                damaged = damaged[:-1]
            numbers = np.full(len(frames.starts), -1, np.int64)
            position = yield from self._decode_frames(
                frames, damaged, base, numbers, problems, is_enough
            )
            if position < frames.end:
                return End(position, "paused")
            if num_rows:
                continue
            if bad_tail:
                return End(position, "bad_tail")
            if frames.stop != "limit":
                return End(position, frames.stop)
            self._period = self._find_period(numbers)
            num_rows = self._count_rows(position, size)
            limit = min(limit * 4, _LAST_ROUND * self._growth)
            # What comes next is probably as irregular, be it of another file.
            self._first_round = limit

    def decode_one(self, event: Event, *, offset: int, length: int, crc: int) -> Iterator[Item]:
        """The items of an event by itself, whose record stands at `offset` in its file."""
        control = _control(event)
        if control is not None:
            yield control
            return
        rows = _Rows()
        rows.add(event, offset, length, crc)
        yield from rows.batch()

    def _count_rows(self, position: int, size: int) -> int:
        return self._period.count_rows(self.buffer, position, size) if self._period else 0

    def _find_period(self, numbers: NDArray[np.int64]) -> Period | None:
        """The cycle in which the records with these layouts came, if they did."""
        length = find_period(numbers) if self._blocks else 0
        if not length:
            return None
        cycle = numbers[-length:]
        self._cycles.update((number, (cycle, i)) for i, number in enumerate(cycle.tolist()))
        return self._period_of(cycle)

    def _period_of(self, cycle: NDArray[np.int64]) -> Period:
        key = cycle.tobytes()
        if key not in self._periods:
            if len(self._periods) >= _MAX_PERIODS:
                self._periods.clear()
            self._periods[key] = Period([self._book.layouts[n] for n in cycle.tolist()])
        return self._periods[key]

    def _until_known_period(self, frames: Frames, size: int) -> tuple[Frames, int]:
        """The frames before a cycle that is known (of another run, say), and its rows.

        Makes it the current period. Without one: all frames, and 0.
        """
        self._period = None
        attempts = 0
        for i in range(min(len(frames.starts), _FIRST_ROUND) if self._cycles else 0):
            start = int(frames.starts[i])
            begin = start + HEADER_BYTES
            number = self._book.match_one(self.buffer[begin : begin + int(frames.lengths[i])])
            if number is None or number not in self._cycles:
                continue
            cycle, place = self._cycles[number]
            period = self._period_of(np.roll(cycle, -place))
            # The frames behind it are walked once more, so about half of them should be in it.
            least = max(MIN_ROWS, (len(frames.starts) - i) // (2 * len(cycle)))
            num_rows = period.count_rows(self.buffer, start, size, least=least)
            if num_rows >= least:
                self._period = period
                return frames.first(i), num_rows
            attempts += 1
            if attempts == _MAX_ATTEMPTS:
                break
        return frames, 0

    def _decode_frames(
        self,
        frames: Frames,
        damaged: NDArray[np.int64],
        base: int,
        numbers: NDArray[np.int64],
        problems: list[Damage],
        is_enough: Callable[[], bool],
    ) -> Generator[Item, None, int]:
        """Batches of the frames, cut at the events that are items of their own.

        Writes the layouts' numbers into `numbers`. Returns the end of the last one that it got to.
        """
        matched: list[Matched] = []
        if self._blocks and len(frames.starts) >= _FEW_RECORDS:
            if self._book.is_full():
                self._book, self._periods, self._cycles = LayoutBook(), {}, {}
            matched = self._book.match(self.buffer, frames.starts + HEADER_BYTES, frames.lengths)
            for group in matched:
                numbers[group.indices] = group.numbers
        numbers[damaged] = -1
        found = [
            Damage(base + start, "payload checksum wrong")
            for start in frames.starts[damaged].tolist()
        ]
        rows = _Rows()
        buffer = memoryview(self.buffer)
        begin, end = 0, len(numbers)
        general = np.setdiff1d(np.flatnonzero(numbers < 0), damaged, assume_unique=True)
        references: _References | None = None
        if self._blocks and len(general) >= _FEW_RECORDS:
            references = _References.of(self.buffer, frames, general, base)
            general = np.setdiff1d(general, references.indices, assume_unique=True)
        for i in general.tolist():
            start, length = int(frames.starts[i]), int(frames.lengths[i])
            behind = start + HEADER_BYTES + length
            control = None
            try:
                event = Event.FromString(bytes(buffer[start + HEADER_BYTES : behind]))
            except ProtobufDecodeError:
                found.append(Damage(base + start, "no valid event"))
            else:
                control = _control(event)
                if control is None:
                    crc = int.from_bytes(self.buffer[behind : behind + 4], "little")
                    rows.add(event, base + start, length, crc)
            if control is not None:
                for group in matched:
                    self._add_matched(rows, group, numbers, frames.starts + base, begin, i)
                if references is not None:
                    self._references.num_columns += references.add_to(rows, begin, i)
                yield from rows.batch()
                yield control
                rows = _Rows()
                begin = i + 1
            if is_enough():
                end = i + 1
                break
        for group in matched:
            self._add_matched(rows, group, numbers, frames.starts + base, begin, end)
        if references is not None:
            self._references.num_columns += references.add_to(rows, begin, end)
            self._references.num_rows += len(references.indices)
        yield from rows.batch()
        position = int(frames.starts[end]) if end < len(numbers) else frames.end
        problems.extend(d for d in sorted(found) if d.offset < base + position)
        return position

    def _add_matched(
        self,
        rows: _Rows,
        group: Matched,
        numbers: NDArray[np.int64],
        offsets: NDArray[np.int64],
        begin: int,
        end: int,
    ) -> None:
        """Add the matched records whose index is in begin..end and whose checksum is right."""
        first, behind = np.searchsorted(group.indices, (begin, end)).tolist()
        picked: NDArray[np.int64] | slice
        picked = np.arange(first, behind)[numbers[group.indices[first:behind]] >= 0]
        if not len(picked):
            return
        # Sorted by layout, so that each layout's rows are a slice, and inside it in file order.
        # In 16 bits, which numpy sorts in linear time.
        layout_numbers = group.numbers[picked].astype(np.uint16)
        if (layout_numbers != layout_numbers[0]).any():
            order = np.argsort(layout_numbers, kind="stable")
            picked, layout_numbers = picked[order], layout_numbers[order]
        elif len(picked) == len(group.rows):
            picked = slice(None)
        words = group.rows[picked]
        data = words.view(np.uint8)
        wall_times = _numbers_at(data, WALL_TIME_OFFSET, "<f8")
        if group.shape.step_width:
            # The eight bytes from STEP_OFFSET on.
            step_words = (words[:, 1] >> np.uint64(16)) | (words[:, 2] << np.uint64(48))
            steps = decode_steps(step_words, group.shape.step_width)
        else:
            steps = np.zeros(len(words), np.int64)
        values = [as_value_column(_numbers_at(data, *value)) for value in group.shape.values]
        positions = offsets[group.indices[picked]]
        cuts = np.flatnonzero(np.diff(layout_numbers)) + 1
        self._scalars.num_rows += len(words) * len(values)
        self._scalars.num_columns += (len(cuts) + 1) * len(values)
        for first, behind in pairwise([0, *cuts.tolist(), len(words)]):
            layout = self._book.layouts[int(layout_numbers[first])]
            piece = slice(first, behind)
            for index, slot in enumerate(layout.slots):
                metadata = None
                if slot.metadata is not None:
                    metadata = FirstMetadata(int(positions[first]) + index, slot.metadata)
                rows.add_column(
                    ScalarColumn(
                        slot.tag,
                        slot.field,
                        metadata,
                        positions[piece] + index,
                        steps[piece],
                        wall_times[piece],
                        values[index][piece],
                    )
                )


def _numbers_at(data: NDArray[np.uint8], offset: int, form: str) -> NDArray[Any]:
    """The numbers at `offset` of each row of bytes."""
    size = np.dtype(form).itemsize
    return np.ascontiguousarray(data[:, offset : offset + size]).view(form)[:, 0]


def _control(event: Event) -> FileVersion | SessionStart | None:
    """The item that an event is by itself."""
    what = event.WhichOneof("what")
    if what == "file_version":
        return FileVersion.of(event.file_version, event.step, event.wall_time)
    if what == "session_log" and event.session_log.status == SessionLog.START:
        return SessionStart(event.step, event.wall_time)
    return None


class _References:
    """Records of a piece of a file that were read by their heads alone."""

    def __init__(
        self,
        indices: NDArray[np.int64],
        keys: NDArray[np.int64],
        names: list[tuple[str, str]],
        metadata: NDArray[np.int64],
        texts: list[bytes],
        columns: tuple[NDArray[Any], ...],
    ) -> None:
        self.indices = indices
        """Of the frames, rising."""
        self._keys = keys
        self._names = names
        """Tag and field, by key."""
        self._metadata = metadata
        """Which of the texts; -1 where there is none."""
        self._texts = texts
        self._columns = columns
        """Of ReferenceColumn, from `position` on."""

    @classmethod
    def of(
        cls, buffer: bytearray, frames: Frames, picked: NDArray[np.int64], base: int
    ) -> _References:
        """Those of the picked frames that have a head which means the same to protobuf."""
        starts, lengths = frames.starts[picked], frames.lengths[picked]
        heads = find_heads(buffer, starts + HEADER_BYTES, lengths)
        keys, names = _name(buffer, heads)
        metadata, texts = _describe(buffer, heads)
        right = np.flatnonzero((keys >= 0) & (metadata >= -1))
        found = heads.indices[right]
        starts, lengths = starts[found], lengths[found]
        crcs = np.ndarray((len(buffer) - 3,), "<u4", buffer, strides=(1,))
        columns = (
            starts + base,
            heads.step[right],
            heads.wall_time[right],
            starts + base,
            lengths.astype(np.uint32),
            np.zeros(len(right), np.uint32),
            crcs[starts + lengths + HEADER_BYTES],
        )
        return cls(picked[found], keys[right], names, metadata[right], texts, columns)

    def add_to(self, rows: _Rows, begin: int, end: int) -> int:
        """Adds those whose frame is in begin..end; returns in how many columns."""
        piece = slice(*np.searchsorted(self.indices, (begin, end)).tolist())
        keys = self._keys[piece]
        order = np.argsort(keys, kind="stable")
        keys, metadata = keys[order], self._metadata[piece][order]
        columns = [column[piece][order] for column in self._columns]
        if not len(keys):
            return 0
        cuts = [0, *(np.flatnonzero(np.diff(keys)) + 1).tolist(), len(keys)]
        for first, behind in pairwise(cuts):
            some = slice(first, behind)
            described = np.flatnonzero(metadata[some] >= 0)
            found = None
            if len(described):
                place = first + int(described[0])
                found = FirstMetadata(int(columns[0][place]), self._texts[metadata[place]])
            tag, field = self._names[keys[first]]
            rows.add_references(
                ReferenceColumn(tag, field, found, *(column[some] for column in columns))
            )
        return len(cuts) - 1


def _name(buffer: bytearray, heads: Heads) -> tuple[NDArray[np.int64], list[tuple[str, str]]]:
    """For each head a number, and for each number tag and field. -1: not for us to name."""
    data = memoryview(buffer)
    numbers, examples = _same_names(buffer, heads)
    names, refused = [], []
    for number, i in enumerate(examples.tolist()):
        begin, end = heads.tag[i].tolist()
        raw = bytes(data[begin:end])
        field = FIELDS[heads.key[i]]
        tag = raw.decode(errors="replace")
        names.append((tag, field))
        if tag.encode() != raw or (field == "tensor" and tag.startswith(HEALTH_PILL)):
            refused.append(number)
    # At once: there may be as many such tags as records.
    numbers[np.isin(numbers, refused)] = -1
    return numbers, names


def _same_names(buffer: bytearray, heads: Heads) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each head a number that is the same for the same tag and key, and one head of each."""
    begins, sizes = heads.tag[:, 0], heads.tag[:, 1] - heads.tag[:, 0]
    if len(begins) and sizes.max() <= _LONG_TAG:
        # Eight bytes at a time; what is behind a tag is masked.
        offsets = np.arange(0, sizes.max(), 8)
        every = np.ndarray((len(buffer) - 7,), "<u8", buffer, strides=(1,))
        words = every[np.minimum(begins[:, None] + offsets, len(every) - 1)]
        words &= FIRST_BYTES[np.clip(sizes[:, None] - offsets, 0, 8)]
        words = np.column_stack([words, sizes.astype(np.uint64) << np.uint64(8) | heads.key])
        hashes = words @ _FACTORS[: words.shape[1]]
        _, examples, numbers = np.unique(hashes, return_index=True, return_inverse=True)
        if (words == words[examples[numbers]]).all():
            return numbers, examples
    # Tags that long, or two of one hash.
    found: dict[tuple[bytes, int], int] = {}
    data = memoryview(buffer)
    numbers = np.empty(len(begins), np.int64)
    firsts: list[int] = []
    for i, ((begin, end), key) in enumerate(
        zip(heads.tag.tolist(), heads.key.tolist(), strict=True)
    ):
        number = found.setdefault((bytes(data[begin:end]), key), len(found))
        if number == len(firsts):
            firsts.append(i)
        numbers[i] = number
    return numbers, np.array(firsts, np.int64)


def _describe(buffer: bytearray, heads: Heads) -> tuple[NDArray[np.int64], list[bytes]]:
    """For each head which of the metadata it carries; -1: none, -2: one that is malformed."""
    which = np.full(len(heads.indices), -1, np.int64)
    numbers: dict[bytes, int] = {}
    texts: list[bytes] = []
    for i in np.flatnonzero(heads.metadata[:, 0]).tolist():
        begin, end = heads.metadata[i].tolist()
        raw = bytes(buffer[begin:end])
        if raw not in numbers:
            try:
                texts.append(SummaryMetadata.FromString(raw).SerializeToString())
                numbers[raw] = len(texts) - 1
            except ProtobufDecodeError:
                numbers[raw] = -2
        which[i] = numbers[raw]
    return which, texts


class _Rows:
    """Rows of a batch in the making."""

    def __init__(self) -> None:
        self._scalar_columns: dict[tuple[str, str], list[ScalarColumn]] = {}
        self._reference_columns: dict[tuple[str, str], list[ReferenceColumn]] = {}
        self._scalars: dict[tuple[str, str], list[tuple[int, int, float, Any]]] = {}
        self._references: dict[tuple[str, str], list[_ReferenceRow]] = {}
        self._metadata: dict[tuple[str, str, bool], FirstMetadata] = {}
        self._bare: list[BareEvent] = []

    def add_column(self, column: ScalarColumn) -> None:
        self._scalar_columns.setdefault((column.tag, column.field), []).append(column)

    def add_references(self, column: ReferenceColumn) -> None:
        self._reference_columns.setdefault((column.tag, column.field), []).append(column)

    def add(self, event: Event, offset: int, length: int, crc: int) -> None:
        """Add the values of an event that is no control."""
        what = event.WhichOneof("what")
        step, wall_time = event.step, event.wall_time
        if what != "summary":
            self._bare.append(BareEvent(offset, step, wall_time, is_summary=False))
            if what in _GRAPH_FIELDS:
                tag = event.tagged_run_metadata.tag if what == "tagged_run_metadata" else ""
                row = (offset, step, wall_time, offset, length, 0, crc)
                self._references.setdefault((tag, what), []).append(row)
            return
        added = False
        for index, value in enumerate(event.summary.value):
            position = offset + index
            field = value.WhichOneof("value") or ""
            tag = value.tag
            scalar: float | np.floating[Any] | None = None
            if field == "simple_value":
                scalar = np.float32(value.simple_value)
            elif field == "tensor":
                tag = tag or value.node_name
                if tag.startswith(HEALTH_PILL):
                    continue
                scalar = scalar_of(value.tensor)
            added = True
            if scalar is not None:
                self._scalars.setdefault((tag, field), []).append(
                    (position, step, wall_time, scalar)
                )
            else:
                row = (position, step, wall_time, offset, length, index, crc)
                self._references.setdefault((tag, field), []).append(row)
            if value.HasField("metadata"):
                key = (tag, field, scalar is not None)
                if key not in self._metadata:
                    data = value.metadata.SerializeToString()
                    self._metadata[key] = FirstMetadata(position, data)
        if not added:
            self._bare.append(BareEvent(offset, step, wall_time, is_summary=True))

    def batch(self) -> Iterator[Batch]:
        """The rows as a batch, or nothing if there are none."""
        for (tag, field), rows in self._scalars.items():
            position, step, wall_time, value = zip(*rows, strict=True)
            is_single = all(isinstance(v, np.float32) for v in value)
            self.add_column(
                ScalarColumn(
                    tag,
                    field,
                    self._metadata.get((tag, field, True)),
                    np.array(position, np.int64),
                    np.array(step, np.int64),
                    np.array(wall_time, np.float64),
                    np.array(value, np.float32 if is_single else np.float64),
                )
            )
        for (tag, field), found in self._references.items():
            self.add_references(self._reference_column(tag, field, found))
        references = [_merged(columns) for columns in self._reference_columns.values()]
        scalars = [_merged(columns) for columns in self._scalar_columns.values()]
        if scalars or references or self._bare:
            scalars.sort(key=lambda column: column.position[0])
            references.sort(key=lambda column: column.position[0])
            yield Batch(scalars, references, self._bare)

    def _reference_column(self, tag: str, field: str, rows: list[_ReferenceRow]) -> ReferenceColumn:
        position, step, wall_time, offset, length, index, crc = zip(*rows, strict=True)
        return ReferenceColumn(
            tag,
            field,
            self._metadata.get((tag, field, False)),
            np.array(position, np.int64),
            np.array(step, np.int64),
            np.array(wall_time, np.float64),
            np.array(offset, np.int64),
            np.array(length, np.uint32),
            np.array(index, np.uint32),
            np.array(crc, np.uint32),
        )


def _merged(columns: list[Column]) -> Column:
    """One column of several of the same series, in file order."""
    if len(columns) == 1:
        return columns[0]
    position = np.concatenate([np.asarray(c.position, np.int64) for c in columns])
    order = np.argsort(position, kind="stable")
    found = [c.metadata for c in columns if c.metadata is not None]
    first = columns[0]
    rest = zip(*(c[_ARRAYS_FROM:] for c in columns), strict=True)
    arrays = [np.concatenate(parts)[order] for parts in rest]
    made = type(first)(first.tag, first.field, min(found, default=None), position[order], *arrays)
    return made
