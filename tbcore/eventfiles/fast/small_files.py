"""Decodes a batch of small files as if they were one file.

A numpy call takes about as long for ten numbers as for a thousand, and each run of a sweep has a
file of only a few hundred records. So the records of all files of a batch are decoded together. The
result is a table for each file. Files that are alike are decoded even faster: see `file_templates`.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore.eventfiles.fast.file_templates import FileTemplateCache
from tbcore.eventfiles.fast.gather import Learnt, Records
from tbcore.eventfiles.framing import (
    FRAMING_BYTES,
    Frames,
    find_bad_headers,
    find_damaged,
    record_bounds,
)
from tbcore.eventfiles.table import DecodedItem
from tbcore.tuning import Tuning

_ALIGNMENT = 8
"""Each file begins at a multiple of this many bytes in the buffer."""

DecodedFile = tuple[int, list[DecodedItem]]
"""The number that `add` received for a file, and the file's items."""


class SmallFileDecoder:
    """Decodes batches of small files. What is learnt from one batch speeds up the next."""

    def __init__(self, tuning: Tuning) -> None:
        self._tuning = tuning
        self.forget()
        self.begin()

    def begin(self) -> None:
        """Begins a batch without files, whatever became of the last one."""
        self._starts = array("q")
        """Offset in the buffer of each record to decode, of all files in the batch."""
        self._files: list[_SmallFile] = []
        """The files with these records."""
        self._decoded: list[DecodedFile] = []
        """The files of the batch of which a template decoded everything."""

    def forget(self) -> None:
        """Drops all that was learnt."""
        self._learnt = Learnt(self._tuning)
        self._templates = FileTemplateCache(max_bytes=self._tuning.max_template_bytes)

    def add(self, number: int, buffer: bytearray, begin: int, end: int) -> int:
        """Adds the file `buffer[begin:end]` to the batch; returns where the next file may begin.

        The bytes between the files are set to zero.
        """
        # 1. If the rest of the file matches a template, decode the rest.
        # 2. Find the records before the rest. If they do not end where the rest begins, the length
        #    of a record is wrong: skip the file.
        # 3. Clear the gap before the next file. Zero bytes do not affect the raw checksums.
        last_items: list[DecodedItem] = []
        found = self._templates.find(buffer, begin, end)  # 1
        if found is not None:
            end, template = found
            last_items = list(template.items(buffer, end, -begin))
        if end == begin:
            self._decoded.append((number, last_items))
            return begin
        num_before = len(self._starts)
        self._starts.extend(record_bounds(buffer, begin, end))  # 2
        if self._starts.pop() != end:
            del self._starts[num_before:]
            return begin
        num_records = len(self._starts) - num_before
        self._files.append(_SmallFile(number, begin, end, num_records, last_items))
        following = -(-end // _ALIGNMENT) * _ALIGNMENT
        buffer[end:following] = bytes(following - end)  # 3
        return following

    def decode(self, buffer: bytearray) -> Iterator[DecodedFile]:
        """Decodes the files of the batch, but for those that are damaged."""
        yield from self._decoded
        if self._files:
            yield from self._decode(buffer, self._files, np.array(self._starts, np.int64))

    def _decode(
        self, buffer: bytearray, files: Sequence[_SmallFile], starts: NDArray[np.int64]
    ) -> Iterator[DecodedFile]:
        """Decodes files whose records begin at `starts`."""
        # 1. Make the frames of all records, and the index of each record's file. `after_last` has
        #    the index after the last record of each file.
        # 2. If the length of a record is damaged, start again without the file of this record.
        # 3. Decode the records, and verify their checksums.
        # 4. Leave out files with damage.
        # 5. Make the tables of all other files at once.
        # 6. Learn file templates.
        counts = np.array([file.num_records for file in files])  # 1
        after_last = np.cumsum(counts)
        ends = np.append(starts[1:], 0)
        ends[after_last - 1] = [file.end for file in files]
        frames = Frames(starts, ends - starts - FRAMING_BYTES, files[-1].end, "limit")
        file_of_record = np.repeat(np.arange(len(files)), counts)
        damaged = set(file_of_record[find_bad_headers(buffer, frames)].tolist())  # 2
        if damaged:
            remaining = [file for index, file in enumerate(files) if index not in damaged]
            if remaining:
                is_remaining = ~np.isin(file_of_record, list(damaged))
                yield from self._decode(buffer, remaining, starts[is_remaining])
            return
        if self._learnt.is_full():  # 3
            self.forget()
        begins = np.array([file.begin for file in files])
        records = Records(buffer, frames, starts - begins[file_of_record], self._learnt)
        slice_bytes = self._tuning.check_slice_bytes
        wrong_payloads = find_damaged(buffer, frames, slice_bytes=slice_bytes)
        damaged = set(file_of_record[[*wrong_payloads, *records.malformed]].tolist())
        intact = [  # 4
            (file, after - file.num_records, after)
            for index, (file, after) in enumerate(zip(files, after_last.tolist(), strict=True))
            if index not in damaged
        ]
        decoded = records.items([(first, after) for _, first, after in intact])  # 5
        for (file, _, _), items in zip(intact, decoded, strict=True):
            yield file.number, [*items, *file.last_items]
        layouts = self._learnt.layout_cache.layouts
        for file, first, after in intact:  # 6
            if not file.last_items:
                bounds = [*starts[first:after].tolist(), int(ends[after - 1])]
                self._templates.learn(buffer, bounds, records.layout_numbers[first:after], layouts)


class _SmallFile(NamedTuple):
    """A file in the buffer, up to the rest that was decoded by a template."""

    number: int
    """The number that `add` received."""
    begin: int
    """Offset of the file in the buffer."""
    end: int
    """Offset in the buffer where the rest begins, or where the file ends if it has no such rest."""
    num_records: int
    """Number of records before `end`."""
    last_items: list[DecodedItem]
    """The items of the rest that was decoded by a template; empty if no template matched."""
