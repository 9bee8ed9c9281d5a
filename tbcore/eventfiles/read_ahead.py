"""Piles: short files that are decoded together.

A call of numpy takes about as long for ten rows as for a thousand, and the runs of a sweep have
files of some hundred records each. So they are read ahead of their turn, many into one buffer, and
their records are matched as if it were one file. What comes out is a table for each file, kept by
its tail until it is read. Files that are alike to their end have a faster way yet: `suffixes`.

Only whole files in which nothing is wrong are read in this way. All others are left to the tail,
so that there is one place where damage and growth are dealt with.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

import numpy as np
from google.protobuf.message import DecodeError as ProtobufDecodeError
from numpy.typing import NDArray

from tbcore.eventfiles.batch import (
    BareEvent,
    Batch,
    DecodedItem,
    PayloadLocations,
    Table,
    TableLayout,
)
from tbcore.eventfiles.batch_builder import control_event, graph_field, value_field
from tbcore.eventfiles.decoder import SLACK_BYTES
from tbcore.eventfiles.file_templates import FileTemplateCache
from tbcore.eventfiles.framing import (
    FRAME_BYTES,
    HEADER_BYTES,
    Frames,
    find_bad_headers,
    find_damaged,
    record_bounds,
    stored_checksums,
)
from tbcore.eventfiles.layouts import Layout, LayoutCache, MatchedRecords
from tbcore.eventfiles.proto.event_pb2 import Event
from tbcore.eventfiles.proto.summary_pb2 import Summary
from tbcore.eventfiles.references import References
from tbcore.eventfiles.tail import FileReader, WholeFile
from tbcore.tuning import Tuning, default_tuning

_GROWTH = 4
"""So many more files each time, since what is learnt of some makes others faster."""
_ALIGNMENT = 8

_Found = TypeVar("_Found")


class SmallFileReader:
    """Reads short files ahead; what it learns of some serves the next."""

    def __init__(self, *, tuning: Tuning | None = None) -> None:
        self._tuning = tuning = tuning or default_tuning()
        self._buffer = bytearray()
        self._most = tuning.first_batch_files
        self._templates = FileTemplateCache(max_values=tuning.max_template_values)
        self._layout_cache, self._classes = LayoutCache(), _RowClasses(tuning)

    def read(self, tails: Iterable[FileReader]) -> None:
        """Reads the first of these files ahead, as many as fit: they give their items when it is
        their turn."""
        max_bytes, max_file_bytes = self._tuning.file_batch_bytes, self._tuning.small_file_bytes
        if not self._buffer:
            self._buffer = bytearray(max_bytes + SLACK_BYTES)
        pieces: list[_SmallFile] = []
        starts = array("q")
        at = num_bytes = num_files = 0
        for tail in tails:
            if num_files == self._most or num_bytes + max_file_bytes > max_bytes:
                break
            num_files += 1
            loaded = tail.load(self._buffer, at, max_file_bytes)
            if loaded is None:
                continue
            num_bytes += loaded.opened.size + _ALIGNMENT
            end, rest = self._split(at, at + loaded.opened.size)
            if end == at:
                tail.preload(loaded, rest)
                continue
            num_before = len(starts)
            starts.extend(record_bounds(self._buffer, at, end))
            if starts.pop() != end:
                del starts[num_before:]
                continue
            pieces.append(_SmallFile(tail, loaded, at, end, len(starts) - num_before, rest))
            at = -(-end // _ALIGNMENT) * _ALIGNMENT
            self._buffer[end:at] = bytes(at - end)  # which changes no checksum
        self._most *= _GROWTH
        if pieces:
            self._decode(pieces, np.array(starts, np.int64))

    def release_buffers(self) -> None:
        """Gives back what is large, until there are short files again."""
        self._buffer = bytearray()
        self._templates.release_buffers()
        self._learn_anew()

    def _learn_anew(self) -> None:
        self._layout_cache, self._classes = LayoutCache(), _RowClasses(self._tuning)

    def _split(self, begin: int, end: int) -> tuple[int, list[DecodedItem]]:
        """Where a suffix of the file begins, and its items; its end and none without one."""
        found = self._templates.find(self._buffer, begin, end)
        if found is None:
            return end, []
        start, suffix = found
        return start, list(suffix.items(self._buffer, start, -begin))

    def _decode(self, pieces: Sequence[_SmallFile], starts: NDArray[np.int64]) -> None:
        """Decodes these files, whose records begin at `starts`, as one; files in which anything
        is wrong are left out."""
        buffer = self._buffer
        counts = np.array([piece.num_records for piece in pieces])
        behind = np.cumsum(counts)
        ends = np.append(starts[1:], 0)
        ends[behind - 1] = [piece.end for piece in pieces]
        frames = Frames(starts, ends - starts - FRAME_BYTES, pieces[-1].end, "limit")
        which = np.repeat(np.arange(len(pieces)), counts)
        wrong = set(which[find_bad_headers(buffer, frames)].tolist())
        if wrong:
            right = [piece for number, piece in enumerate(pieces) if number not in wrong]
            if right:
                self._decode(right, starts[~np.isin(which, list(wrong))])
            return
        if self._layout_cache.is_full() or self._classes.are_many:
            self._learn_anew()
        begins = np.array([piece.begin for piece in pieces])
        records = _BatchRecords(
            buffer, frames, starts - begins[which], self._layout_cache, self._classes
        )
        wrong = set(which[[*find_damaged(buffer, frames), *records.malformed]].tolist())
        unfit = set(which[records.unfit].tolist())
        found: list[tuple[_SmallFile, list[DecodedItem | _TablePart]]] = []
        to_learn: list[tuple[int, int]] = []
        for number, (piece, last) in enumerate(zip(pieces, behind.tolist(), strict=True)):
            if number in wrong:
                continue
            if not piece.rest:
                to_learn.append((piece.begin, piece.end))
            parts = None
            if number not in unfit:
                parts = records.parts(last - piece.num_records, last)
            if parts is not None:
                found.append((piece, parts))
        of_tables = [part for _, parts in found for part in parts if isinstance(part, _TablePart)]
        tables = records.tables(of_tables)
        for piece, parts in found:
            items = [next(tables) if isinstance(part, _TablePart) else part for part in parts]
            piece.tail.preload(piece.loaded, [*items, *piece.rest])
        # The longest first: others may be what it begins with.
        for begin, end in sorted(to_learn, key=lambda piece: piece[0] - piece[1]):
            self._templates.learn(buffer, begin, end, self._layout_cache)


class _SmallFile(NamedTuple):
    """A file in the buffer, or what comes before a suffix of it."""

    tail: FileReader
    loaded: WholeFile
    begin: int
    end: int
    num_records: int
    rest: list[DecodedItem]
    """What comes behind."""


# -- what rows have in common -----------------------------------------------------------------


class _RowClass(NamedTuple):
    """All that is the same in the rows of a class."""

    tag: str
    field: str
    is_scalar: bool
    metadata: bytes | None


class _Arrangement(NamedTuple):
    """Of the tables of rows whose classes come in the same order."""

    table: TableLayout
    order: NDArray[np.int64]
    """Which of the rows is where in the table."""
    has_references: bool


class _TablePart(NamedTuple):
    """Rows of a file between two events that are items of their own."""

    shape: _Arrangement
    first: int
    """Of the rows of all files."""
    bare_events: list[BareEvent]
    """Among them, but for graphs."""


class _RowClasses:
    """The classes of rows, and of tables, that were met so far."""

    def __init__(self, tuning: Tuning) -> None:
        self._tuning = tuning
        self._classes: list[_RowClass] = []
        self._numbers: dict[_RowClass, int] = {}
        """Of classes; a layout has its own, one behind the other."""
        self._num_bytes = 0
        self._of_layouts = np.empty(0, np.int64)
        """The first class of each."""
        self._columns: list[int] = []
        """By class: the same for the same column of a table."""
        self._column_numbers: dict[tuple[str, str, bool], int] = {}
        self._shapes: dict[bytes, _Arrangement | None] = {}
        self._num_shape_rows = 0

    @property
    def are_many(self) -> bool:
        """Whether it is time to begin anew."""
        tuning = self._tuning
        return (
            len(self._classes) > tuning.max_row_classes
            or self._num_bytes > tuning.max_row_class_bytes
        )

    def of(self, row_class: _RowClass) -> int:
        """The number of a class."""
        number = self._numbers.get(row_class)
        if number is None:
            number = self._numbers[row_class] = self._add(row_class)
        return number

    def of_layouts(self, layouts: Sequence[Layout]) -> NDArray[np.int64]:
        """Of the first values of each; those of its other values follow."""
        new = layouts[len(self._of_layouts) :]
        if new:
            firsts = []
            for layout in new:
                firsts.append(len(self._classes))
                for slot in layout.slots:
                    self._add(_RowClass(slot.tag, slot.field, True, slot.metadata))
            self._of_layouts = np.append(self._of_layouts, firsts)
        return self._of_layouts

    def of_references(self, references: References) -> NDArray[np.int64]:
        """Of each of them."""
        num_texts = len(references.texts) + 1
        pairs = references.keys * num_texts + references.metadata + 1
        distinct, which = np.unique(pairs, return_inverse=True)
        texts = [None, *references.texts]
        numbers = [
            self.of(_RowClass(tag, field, False, texts[pair % num_texts]))
            for pair in distinct.tolist()
            for tag, field in [references.names[pair // num_texts]]
        ]
        return np.array(numbers, np.int64)[which]

    def shape(self, row_classes: NDArray[np.int64]) -> _Arrangement | None:
        """The shape of a table of rows of these classes, in the order written.

        None where there cannot be one: a tag has one column in a table.
        """
        key = row_classes.tobytes()
        if key not in self._shapes:
            self._num_shape_rows += len(row_classes)
            if self._num_shape_rows > self._tuning.max_table_layout_rows:
                self._shapes, self._num_shape_rows = {}, len(row_classes)
            self._shapes[key] = self._make_shape(row_classes)
        return self._shapes[key]

    def _add(self, row_class: _RowClass) -> int:
        self._classes.append(row_class)
        self._num_bytes += len(row_class.tag) + len(row_class.metadata or b"")
        key = row_class[:3]
        self._columns.append(self._column_numbers.setdefault(key, len(self._column_numbers)))
        return len(self._classes) - 1

    def _make_shape(self, row_classes: NDArray[np.int64]) -> _Arrangement | None:
        classes, class_firsts, class_of_row = np.unique(
            row_classes, return_index=True, return_inverse=True
        )
        columns: dict[int, int] = {}
        """Numbered as they begin."""
        keys: list[tuple[str, str, bool]] = []
        metadata: dict[int, tuple[int, bytes]] = {}
        column_of_class = np.empty(len(classes), np.int64)
        for i in np.argsort(class_firsts).tolist():
            number = int(classes[i])
            row_class = self._classes[number]
            column = columns.setdefault(self._columns[number], len(columns))
            if column == len(keys):
                keys.append(row_class[:3])
            if row_class.metadata is not None and column not in metadata:
                metadata[column] = int(class_firsts[i]), row_class.metadata
            column_of_class[i] = column
        if len({tag for tag, _, _ in keys}) < len(keys):
            return None
        table, order = TableLayout.of(column_of_class[class_of_row], keys, metadata)
        return _Arrangement(table, order, not all(is_scalar for _, _, is_scalar in keys))


# -- records ------------------------------------------------------------------------------------


class _BatchRecords:
    """The records of a pile. Arrays are by record, or by row: a record has as many rows as its
    event has values."""

    def __init__(
        self,
        buffer: bytearray,
        frames: Frames,
        offsets: NDArray[np.int64],
        layout_cache: LayoutCache,
        classes: _RowClasses,
    ) -> None:
        """`offsets` are those of the records in their files."""
        num_records = len(offsets)
        self._buffer, self._frames, self._offset = buffer, frames, offsets
        self._classes = classes
        self._step = np.zeros(num_records, np.int64)
        self._wall_time = np.zeros(num_records)
        self._first_class = np.zeros(num_records, np.int64)
        """Of the first row; the others have those behind it."""
        self._num_rows = np.zeros(num_records, np.int64)
        self._controls: list[tuple[int, DecodedItem]] = []
        """Records that are items of their own, rising."""
        self._bare_events: list[tuple[int, BareEvent]] = []
        """Records without rows, rising."""
        self.malformed: list[int] = []
        """Records that are no events."""
        self.unfit: list[int] = []
        """Records that need more than there is in a table."""
        payloads = buffer, frames.starts + HEADER_BYTES, frames.lengths
        matched = layout_cache.match(*payloads)
        values = [self._take_matched(group, layout_cache) for group in matched]
        self._take_references()
        learnt = layout_cache.learn(*payloads, np.flatnonzero(self._num_rows == 0))
        values += [self._take_matched(group, layout_cache) for group in learnt]
        matched += learnt
        others = np.flatnonzero(self._num_rows == 0).tolist()
        events = [(i, self._take_event(i)) for i in others]

        self._bounds = np.append(0, np.cumsum(self._num_rows))
        """Where the rows of each record begin, and the last ones end."""
        self._record = np.repeat(np.arange(num_records), self._num_rows)
        """By row, as what follows."""
        self._index = np.arange(len(self._record)) - self._bounds[self._record]
        """Of the value in its event."""
        self._class = self._first_class[self._record] + self._index
        self._value = np.zeros(len(self._record), np.float32)
        for group, columns in zip(matched, values, strict=True):
            begins = self._bounds[group.indices]
            for index, column in enumerate(columns):
                self._value[begins + index] = column
        for i, rows in events:
            begin, end = self._bounds[i : i + 2].tolist()
            self._class[begin:end] = [number for number, _ in rows]
            self._value[begin:end] = [value for _, value in rows]

    def _take_matched(
        self, group: MatchedRecords, layout_cache: LayoutCache
    ) -> list[NDArray[np.floating[Any]]]:
        """Takes scalars; returns a column for each value of the events."""
        wall_times, steps, values = group.columns(slice(None))
        self._wall_time[group.indices] = wall_times
        self._step[group.indices] = steps
        self._first_class[group.indices] = self._classes.of_layouts(layout_cache.layouts)[
            group.numbers
        ]
        self._num_rows[group.indices] = len(values)
        if any(column.dtype != np.float32 for column in values):
            self.unfit += group.indices.tolist()
            return []
        return values

    def _take_references(self) -> None:
        others = np.flatnonzero(self._num_rows == 0)
        found = References.of(self._buffer, self._frames, others, 0)
        self._wall_time[found.indices] = found.wall_time
        self._step[found.indices] = found.step
        self._first_class[found.indices] = self._classes.of_references(found)
        self._num_rows[found.indices] = 1

    def _take_event(self, i: int) -> list[tuple[int, float]]:
        """Takes a record of any kind; returns class and number of each of its rows."""
        begin = int(self._frames.starts[i]) + HEADER_BYTES
        payload = self._buffer[begin : begin + int(self._frames.lengths[i])]
        try:
            event = Event.FromString(bytes(payload))
        except ProtobufDecodeError:
            self.malformed.append(i)
            return []
        step, wall_time = event.step, event.wall_time
        control = control_event(event)
        if control is not None:
            self._controls.append((i, control))
            return []
        graph = graph_field(event)
        if graph is not None:
            tag, field = graph
            rows = [(self._classes.of(_RowClass(tag, field, False, None)), 0.0)]
        else:
            rows = list(filter(None, map(self._row_of, event.summary.value)))
            if len(rows) < len(event.summary.value):
                self.unfit.append(i)
        if not rows:
            is_summary = event.HasField("summary")
            bare = BareEvent(int(self._offset[i]), step, wall_time, is_summary)
            self._bare_events.append((i, bare))
        self._step[i], self._wall_time[i], self._num_rows[i] = step, wall_time, len(rows)
        return rows

    def _row_of(self, value: Summary.Value) -> tuple[int, float] | None:
        """Class and number of a value; None when it is for the tail to see to."""
        found = value_field(value)
        if found is None:
            return None
        tag, field, number = found
        if isinstance(number, np.float64):
            return None
        metadata = value.metadata.SerializeToString() if value.HasField("metadata") else None
        row_class = _RowClass(tag, field, number is not None, metadata)
        return self._classes.of(row_class), 0.0 if number is None else float(number)

    def parts(self, first: int, last: int) -> list[DecodedItem | _TablePart] | None:
        """What the records from `first` to before `last` are; None when there is no table for
        some of them."""
        parts: list[DecodedItem | _TablePart] = []
        for end, control in [*_between(self._controls, first, last), (last, None)]:
            row, end_row = int(self._bounds[first]), int(self._bounds[end])
            bare_events = [event for _, event in _between(self._bare_events, first, end)]
            if row < end_row:
                shape = self._classes.shape(self._class[row:end_row])
                if shape is None:
                    return None
                parts.append(_TablePart(shape, row, bare_events))
            elif bare_events:
                parts.append(Batch(bare_events=bare_events))
            if control is not None:
                parts.append(control)
            first = end + 1
        return parts

    def tables(self, parts: Sequence[_TablePart]) -> Iterator[Table]:
        """The table of each of these parts."""
        if not parts:
            return
        rows = np.concatenate([part.shape.order + part.first for part in parts])
        record, index = self._record[rows], self._index[rows]
        position = self._offset[record] + index
        step, wall_time, value = self._step[record], self._wall_time[record], self._value[rows]
        references: tuple[NDArray[np.uint32], ...] = ()
        if any(part.shape.has_references for part in parts):
            length = self._frames.lengths[record]
            crc = stored_checksums(self._buffer, self._frames.starts[record], length)
            references = length.astype(np.uint32), index.astype(np.uint32), crc
        end = 0
        for shape, _, bare_events in parts:
            some = slice(end, end := end + len(shape.order))
            locations = None
            if shape.has_references:
                locations = PayloadLocations(*(array[some] for array in references))
            shown = position[some], step[some], wall_time[some], value[some]
            yield Table(shape.table, 0, *shown, locations, bare_events)


def _between(found: list[tuple[int, _Found]], first: int, last: int) -> list[tuple[int, _Found]]:
    """Those of the records from `first` to before `last`."""
    begin, end = (bisect_left(found, record, key=itemgetter(0)) for record in (first, last))
    return found[begin:end]
