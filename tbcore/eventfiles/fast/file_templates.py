"""File templates: decode the rest of a file with one comparison, because many files are alike.

The runs of a sweep log the same tags at the same steps. Their files differ in a few records at the
start. The *rest* of each file, which follows these records, is the same apart from wall times,
steps, values and checksums. A *file template* describes such a rest: all constant bytes are
compared at once, and all numbers are gathered by one indexing operation.

Many runs of a sweep are stopped early, so their files have many lengths, and each length has its
own template. It is learnt from the first file of this length that begins like an earlier file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from tbcore.eventfiles.crc32c import find_wrong_slices
from tbcore.eventfiles.fast.gather import REFERENCE
from tbcore.eventfiles.fast.layouts import (
    FIRST_BYTES_MASKS,
    STEP_OFFSET,
    WALL_TIME_OFFSET,
    FieldOffsets,
    Layout,
    as_value_column,
    constant_mask,
    decode_steps,
    learn,
)
from tbcore.eventfiles.fast.row_templates import RecordSequence, step_dtype
from tbcore.eventfiles.framing import HEADER_BYTES, payload_checksums, record_bounds
from tbcore.eventfiles.plain import file_version, last_time
from tbcore.eventfiles.proto.event_pb2 import Event
from tbcore.eventfiles.table import DecodedItem, FileVersion, Table

_NUM_START_RECORDS = 8
"""Maximum number of records at the start of a file that are tried as the first record of the rest.
The records before the rest may differ from run to run: they hold hyperparameters, for example."""
_MIN_TEMPLATE_RECORDS = 16
"""Minimum number of records in a template. If the layouts of so many records at the start of a rest
are known from an earlier file, the rest is learnt."""
_MAX_CACHED = 1024
"""Maximum number of templates together with failed attempts to learn one, and of beginnings."""


class FileTemplate:
    """Describes the rest of a file: a record sequence that occurs once, up to the file's end."""

    def __init__(self, sequence: RecordSequence, version: FileVersion | None) -> None:
        """If there is a `version`, the first record holds it. All numbers have the same type."""
        self._version, self._arrangement = version, sequence.arrangement
        self.num_bytes = sequence.num_bytes
        self._constants, self._mask = sequence.constants.tobytes(), sequence.mask
        self._checksums = payload_checksums(sequence.starts, sequence.lengths)
        values = sequence.values
        self._position = values.position
        self._file_order = np.argsort(values.position)
        """The indices of the values in the order written."""
        self._step_width = int(values.step_width.max())
        step = step_dtype(self._step_width)
        self._step_mask = FIRST_BYTES_MASKS[values.step_width].astype(step)
        """A mask that keeps the bytes of a step's varint in the word that begins at the step."""
        self._numbers = [
            ((offsets[:, np.newaxis] + np.arange(dtype.itemsize)).ravel(), dtype)
            for offsets, dtype in (
                (values.payload + WALL_TIME_OFFSET, np.dtype("<f8")),
                (values.number, np.dtype(str(values.dtype[0]))),
                (values.payload + STEP_OFFSET, step),
            )
        ]
        """Offset of each byte, and type, of all wall times, of all numbers and of all steps.
        Gathering bytes is several times faster than gathering words, which are not aligned."""

    def matches(self, buffer: bytearray, start: int) -> bool:
        """Whether the records that begin at `start` match the template, with correct checksums."""
        records = np.ndarray((self.num_bytes,), np.uint8, buffer, start)
        if (records & self._mask).tobytes() != self._constants:
            return False
        return not find_wrong_slices(records, (0, self.num_bytes), [self._checksums])

    def items(self, buffer: bytearray, start: int, base: int) -> Iterator[DecodedItem]:
        """Decodes the records that begin at `start`, which must match the template.

        The buffer begins at offset `base` of the file; `base` is negative if the file begins within
        the buffer.
        """
        if self._version is not None:
            at = start + HEADER_BYTES + WALL_TIME_OFFSET
            yield self._version._replace(wall_time=float(np.frombuffer(buffer, "<f8", 1, at)[0]))
        records = np.ndarray((self.num_bytes,), np.uint8, buffer, start)
        wall_time, value, step = (records.take(at).view(dtype) for at, dtype in self._numbers)
        step &= self._step_mask
        yield Table.of(
            self._arrangement.columns,
            self._arrangement.bounds,
            decode_steps(step, self._step_width),
            wall_time,
            as_value_column(value),
            None,
            position=lambda: self._position + (start + base),
            last_wall_time=last_time(
                float(wall_time[self._file_order[-1]]), lambda: wall_time[self._file_order]
            ),
        )


class FileTemplateCache:
    """The templates learnt so far. They are kept across files."""

    def __init__(self, *, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._num_bytes = 0
        """Total size of the rests that the templates describe; at most `max_bytes`."""
        self._templates: dict[int, FileTemplate | None] = {}
        """Maps the size of a rest to its template, or to None if none could be learnt."""
        self._beginnings: set[bytes] = set()
        """Layout numbers of the first records of all possible rests of earlier files."""

    def find(self, buffer: bytearray, begin: int, end: int) -> tuple[int, FileTemplate] | None:
        """Finds a template that matches the rest of the file `buffer[begin:end]`.

        Returns where the rest begins, and the template; None if no template matches.
        """
        if not self._templates:
            return None
        for start in islice(record_bounds(buffer, begin, end), _NUM_START_RECORDS):
            template = self._templates.get(end - start)
            if template is not None and template.matches(buffer, start):
                return start, template
        return None

    def learn(
        self,
        buffer: bytearray,
        bounds: Sequence[int],
        layout_numbers: NDArray[np.int64],
        layouts: Sequence[Layout],
    ) -> None:
        """Learns a template of an undamaged file, if its rest begins like that of an earlier file.

        `bounds` has the offset of each record, and the offset after the last one. `layout_numbers`
        has the index in `layouts` of each record's layout, REFERENCE, or -1 for a record that may
        have another layout.
        """
        # 1. Find the records at which the rest may begin: no reference follows them.
        # 2. Skip a file that matches a template, which was learnt from a file of the same batch.
        # 3. Learn from the first record at which the next layouts are those of an earlier file.
        references = np.flatnonzero(layout_numbers == REFERENCE)  # 1
        first = int(references[-1]) + 1 if len(references) else 0
        end = min(_NUM_START_RECORDS, len(layout_numbers) - _MIN_TEMPLATE_RECORDS + 1)
        if first >= end or self.find(buffer, bounds[0], bounds[-1]) is not None:  # 2
            return
        beginnings = set()
        for index in range(first, end):  # 3
            beginning = layout_numbers[index : index + _MIN_TEMPLATE_RECORDS].tobytes()
            beginnings.add(beginning)
            size = bounds[-1] - bounds[index]
            is_new = size not in self._templates and len(self._templates) < _MAX_CACHED
            has_room = self._num_bytes + size <= self._max_bytes
            if is_new and has_room and beginning in self._beginnings:
                template = _learn_template(buffer, bounds[index:], layout_numbers[index:], layouts)
                self._templates[size] = template
                if template is not None:
                    self._num_bytes += size
                    break
        if len(self._beginnings) > _MAX_CACHED:
            self._beginnings.clear()
        self._beginnings |= beginnings


def _learn_template(
    buffer: bytearray,
    bounds: Sequence[int],
    layout_numbers: NDArray[np.int64],
    layouts: Sequence[Layout],
) -> FileTemplate | None:
    """The template of all these records; None if there is none. For the arguments, see `learn`.

    All records must have layouts, and all numbers the same type.
    """
    version: FileVersion | None = None
    layouts, layout_numbers = list(layouts), layout_numbers.copy()
    for index in np.flatnonzero(layout_numbers < 0).tolist():
        payload = bytes(buffer[bounds[index] + HEADER_BYTES : bounds[index + 1] - 4])
        layout = learn(payload)
        if layout is None and index == 0:
            version, layout = _learn_version(payload)
        if layout is None:
            return None
        layout_numbers[index] = len(layouts)
        layouts.append(layout)
    sequence = RecordSequence(layouts, layout_numbers)
    dtype = sequence.values.dtype
    return FileTemplate(sequence, version) if (dtype == dtype[0]).all() else None


def _learn_version(payload: bytes) -> tuple[FileVersion, Layout] | tuple[None, None]:
    """The file version and layout of an event with wall time and file version, and nothing else."""
    event = Event.FromString(payload)
    plain = Event(wall_time=event.wall_time, file_version=event.file_version)
    if not event.wall_time or not event.file_version or payload != plain.SerializeToString():
        return None, None
    offsets = FieldOffsets(len(payload), 0, ())
    constant = np.frombuffer(payload, np.uint8) & constant_mask(offsets)
    return file_version(event), Layout(offsets, constant.tobytes(), ())
