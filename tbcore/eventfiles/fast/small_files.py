"""Decodes a batch of small files as if they were one file.

A numpy call takes about as long for ten numbers as for a thousand, and each run of a sweep has a
file of only a few hundred records. So the records of all files of a batch are decoded together. The
result is a table for each file. Files that are alike are decoded even faster: see `file_templates`.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tbcore.eventfiles.fast.file_templates import FileTemplateCache
from tbcore.eventfiles.fast.gather import Learnt, Records
from tbcore.eventfiles.framing import (
    FRAMING_BYTES,
    PADDING_BYTES,
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
        self.buffer = bytearray()
        """The caller fills it with the files of a batch, after `begin`."""
        self._forget()

    def begin(self) -> None:
        """Begins a batch without files, whatever became of the last one."""
        if not self.buffer:
            self.buffer = bytearray(self._tuning.file_batch_bytes + PADDING_BYTES)
        self._starts = array("q")
        """Offset in the buffer of each record to decode, of all files in the batch."""
        self._files: list[_SmallFile] = []
        """The files with these records."""
        self._decoded: list[DecodedFile] = []
        """The files of the batch that a template decoded as a whole."""

    def _forget(self) -> None:
        """Drops all that was learnt."""
        self._learnt = Learnt(self._tuning)
        self._templates = FileTemplateCache(max_bytes=self._tuning.max_template_bytes)

    def add(self, number: int, begin: int, end: int) -> int:
        """Adds the file `buffer[begin:end]` to the batch; returns where the next file may begin.

        The bytes between the files are set to zero.
        """
        # 1. If the rest of the file matches a template, decode the rest.
        # 2. Find the records before the rest. If they do not end where the rest begins, the length
        #    of a record is wrong: skip the file.
        # 3. Clear the gap before the next file. Zero bytes do not affect the raw checksums.
        buffer, last_items = self.buffer, list[DecodedItem]()
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

    def decode(self) -> Iterator[DecodedFile]:
        """Decodes the files of the batch, but for those that are damaged."""
        # 1. Make the frames of all records, and the index of each record's file. `after_last` has
        #    the index after the last record of each file.
        # 2. Decode the records, and find the damaged files. If the length of a record is damaged,
        #    the records of its file are not those of the frames, but they do not matter.
        # 3. Make the tables of all other files.
        # 4. Learn file templates.
        buffer = self.buffer
        yield from self._decoded
        if not self._files:
            return
        counts = np.array([file.num_records for file in self._files])  # 1
        after_last = np.cumsum(counts)
        starts = np.array(self._starts, np.int64)
        ends = np.append(starts[1:], 0)
        ends[after_last - 1] = [file.end for file in self._files]
        frames = Frames(starts, ends - starts - FRAMING_BYTES, self._files[-1].end, "limit")
        file_of_record = np.repeat(np.arange(len(counts)), counts)
        if self._learnt.is_full():  # 2
            self._forget()
        begins = np.array([file.begin for file in self._files])
        records = Records(buffer, frames, starts - begins[file_of_record], self._learnt)
        bad_headers = find_bad_headers(buffer, frames)
        wrong_payloads = find_damaged(buffer, frames, slice_bytes=self._tuning.check_slice_bytes)
        bad_records = [*bad_headers, *wrong_payloads, *records.malformed]
        damaged = set(file_of_record[bad_records].tolist())
        for index, (file, after) in enumerate(zip(self._files, after_last.tolist(), strict=True)):
            if index in damaged:
                continue
            first = after - file.num_records
            yield file.number, [*records.items(first, after), *file.last_items]  # 3
            if not file.last_items:  # 4
                bounds = [*starts[first:after].tolist(), file.end]
                layouts = self._learnt.layout_cache.layouts
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
