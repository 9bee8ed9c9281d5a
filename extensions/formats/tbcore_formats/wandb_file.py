"""FileReader: reads run-ID.wandb, which has all that W&B logged, whether offline or not.

    file     header, and blocks of 32 KiB
    block    chunks; if fewer than 7 bytes are left at its end, they are zero
    chunk    CRC-32 of kind and data, length, kind, data
    record   the data of one chunk, or of a first, some middle and a last chunk; a protobuf message

A file only grows, but a chunk may be written in parts, and a record takes several blocks.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from google.protobuf.message import DecodeError

from tbcore.engine import EventFile, FileReplacedError, fields, varint
from tbcore_formats.common import (
    MAX_TAGS,
    Rows,
    hparam,
    is_being_written,
    is_step,
    leaves,
    number,
    opened,
)
from tbcore_formats.facts import RunFacts
from tbcore_formats.reader import Points

_HEADER = b":W&B" + struct.pack("<HB", 0xBEE1, 0)
_BLOCK_BYTES = 1 << 15
_CHUNK = struct.Struct("<IHB")
_FULL, _FIRST, _MIDDLE, _LAST = range(1, 5)
_CRC_OF_KIND = [zlib.crc32(bytes([kind])) for kind in range(5)]
_PIECE_BYTES = 1 << 20
_MAX_CHUNKS = 1 << 11
"""Maximum number of chunks in a record, which has at most 64 MiB then."""
_MAX_JSON_BYTES = 1 << 20
_DAMAGED = "damaged, incomplete or too long records are left out"
_NO_MESSAGE = DecodeError, LookupError, TypeError, ValueError, ArithmeticError, AttributeError
"""Errors that a record raises if it is not the message that it should be."""
_WORDS = "NaN", "Infinity", "-Infinity"
"""Numbers that some versions write as texts."""


class FileReader:
    """Reads one file."""

    def __init__(self) -> None:
        self.offset = 0
        """That of the next chunk."""
        self.name = ""
        """What the user called the run; empty if that is not known yet."""
        self.project = ""
        """With the entity before it."""
        self.group = ""
        """The group that the user gave, of runs with any hyperparameters."""
        self.facts = RunFacts()
        """What was read so far, without hyperparameters. It has a start time once the run began."""
        self.goes_on = False
        """Whether the run continues one that an earlier file began."""
        self.is_unfinished = False
        """Whether the last block has damage, and its writer may still mend that."""
        self.unfinished: tuple[int, int] | None = None
        """The offset of the record within which the file ends, and the size of the file."""
        self._began_at = 0
        """Offset of the first chunk of the last record that was found."""
        self._parts: list[bytes] | None = None
        """The chunks of a record that has no end yet; None between records."""
        self._has_damage = False
        """Whether the last block of the file has damage, which a writer may still mend."""
        self._config: dict[str, Any] = {}
        self._rows = Rows()
        self._keys: dict[bytes, str] = {}
        """Maps the bytes of keys of items to the keys."""
        self._step, self._wall_time = -1, 0.0

    def read_head(self, file: EventFile) -> None:
        """Reads until the run has begun, at most two blocks. Raises OSError and ValueError."""
        with opened(file) as source:
            piece = source.read(0, 2 * _BLOCK_BYTES)
        for record in self.records(piece, 0, is_last=True):
            self.add(record)
            if self.facts.started:
                break

    def read(self, file: EventFile) -> Iterator[Mapping[str, Points] | str]:
        """The points since the last call, and lines about what is left out."""
        is_last = False
        while not is_last:
            begin = self.offset - self.offset % _BLOCK_BYTES
            with opened(file) as source:
                piece = source.read(begin, _PIECE_BYTES)
                is_last = begin + len(piece) >= source.current_size()
            if begin + len(piece) < self.offset:
                raise FileReplacedError(file.path)
            for record in self.records(piece, begin, is_last=is_last):
                self.add(record)
            self.is_unfinished = self._has_damage and is_being_written(file)
            if self._has_damage and not self.is_unfinished:
                self._rows.lines[_DAMAGED] = None
            yield from self._rows.taken()

    def config(self) -> Iterator[tuple[str, Any]]:
        """The configuration so far, as hyperparameters."""
        for key, value in leaves(self._config, "."):
            if not key.startswith("_"):
                yield key, hparam(value)

    def records(self, piece: bytes, begin: int, *, is_last: bool) -> Iterator[bytes]:
        """The records that end in a piece of the file, which begins with a block.

        `is_last` says that the file ends with this piece. Raises ValueError for other files.
        """
        if not self.offset:
            if not _HEADER.startswith(piece[: len(_HEADER)]):
                raise ValueError("it is not a W&B log, or one of an unknown version")
            if len(piece) < len(_HEADER):
                return
            self.offset = len(_HEADER)
        view, size, at, self._has_damage = memoryview(piece), len(piece), self.offset - begin, False
        while True:
            left = _BLOCK_BYTES - at % _BLOCK_BYTES
            if left < _CHUNK.size and at + left <= size:
                at += left
                continue
            if at + _CHUNK.size > size:
                break
            crc, length, kind = _CHUNK.unpack_from(piece, at)
            data = view[at + _CHUNK.size : at + _CHUNK.size + length]
            is_possible = _FULL <= kind <= _LAST and length <= left - _CHUNK.size
            if is_possible and len(data) < length:
                break
            if not is_possible or zlib.crc32(data, _CRC_OF_KIND[kind]) != crc:
                # Zeros have not been written yet, or never will be.
                is_damage = any(view[at : at + _CHUNK.size])
                if is_last and at + left >= size:
                    self._has_damage = is_damage
                    break
                if is_damage:
                    self._rows.lines[_DAMAGED] = None
                at += left
                continue
            if kind in (_FULL, _FIRST):
                self._began_at = begin + at
            at += _CHUNK.size + length
            if (self._parts is None) != (kind in (_FULL, _FIRST)):
                self._rows.lines[_DAMAGED] = None
            if kind in (_FULL, _FIRST):
                self._parts = []
            if self._parts is not None:
                self._parts.append(bytes(data))
                if kind in (_FULL, _LAST):
                    yield b"".join(self._parts)
                if kind in (_FULL, _LAST) or len(self._parts) > _MAX_CHUNKS:
                    self._parts = None
        self.offset, self.unfinished = begin + at, None
        if is_last and not self._has_damage and (self._parts is not None or any(view[at:])):
            first = self.offset if self._parts is None else self._began_at
            self.unfinished = first, begin + size

    def add(self, record: bytes) -> None:
        """Adds the content of a record."""
        try:
            at = varint(record, 1)[1] if record[:1] == b"\x08" else 0
            if record[at] == 0x12:
                self._add_row(record, *reversed(varint(record, at + 1)))
            elif record[at] != 0x1A:  # Half of all records are summaries, which are not needed.
                self._add_other(record)
        except _NO_MESSAGE:
            self._rows.lines[_DAMAGED] = None

    def _add_other(self, record: bytes) -> None:
        for number_, value in _values(record):
            if number_ == 5:
                self._configure(value)
            elif number_ == 17:
                self._begin(value)
            elif number_ == 18:
                found = dict(_values(value))
                ended = max((self.facts.started or 0.0) + found.get(2, 0), self._wall_time)
                self.facts = self.facts._replace(status=2 if found.get(1) else 1, ended=ended)

    def _begin(self, run: bytes) -> None:
        found = defaultdict[int, list[Any]](list)
        for number_, value in _values(run):
            found[number_].append(value)
        for config in found[4]:
            self._configure(config)
        # Of a field that does not repeat, the last value counts.
        self.name, notes, self.group, sweep, entity, project, job_type = (
            b"".join(found[n][-1:]).decode(errors="replace") for n in (8, 9, 6, 12, 2, 3, 7)
        )
        self.project = f"{entity}/{project}"
        tags = b", ".join(found[10]).decode(errors="replace")
        start = dict(_values(b"".join(found[17])))
        self._wall_time = started = start.get(1, 0) + start.get(2, 0) / 1e9
        self._step = max([self._step, *(step - 1 for step in found[14][-1:])])
        # The fields `resumed` and `resume`: it was allowed. Offline runs have only the second.
        self.goes_on = any(found[18] + found[24])
        texts = {"notes": notes, "tags": tags, "sweep": sweep, "job_type": job_type}
        texts["project"] = self.project.strip("/")
        own = {tag: text for tag, text in texts.items() if text}
        self.facts = RunFacts({}, own, started=started, status=3)

    def _configure(self, config: bytes) -> None:
        for number_, item in _values(config):
            key, value = _item(item)
            self._config.pop(key, None)
            if number_ == 1:
                self._config[key] = _json(value)

    def _add_row(self, data: bytes, at: int, length: int) -> None:
        """Adds the points of a row of the history, `length` bytes from `at` on."""
        row: list[tuple[str, bytes]] = []
        own: dict[str, bytes] = {}
        media: set[str] = set()
        message: bytes | None = None
        last, keys = at + length, self._keys
        if last > len(data):
            raise ValueError("a row is cut off")
        while at < last:
            tag, length = data[at], data[at + 1]
            at += 2
            if length > 127:
                length, at = varint(data, at - 1)
            end = at + length
            if tag == 0x0A:
                # Usually there is one key, and less than 128 bytes of JSON: \x82\x01 LENGTH JSON.
                mark = data.find(b"\x82\x01", at, end)
                if mark > 0 and mark + 3 + data[mark + 2] == end:
                    raw, value = data[at:mark], data[mark + 3 : end]
                    key = keys.get(raw)
                    if key is None:
                        key = _item(data[at:end])[0]
                        if len(keys) < MAX_TAGS:
                            keys[raw] = key
                else:
                    key, value = _item(data[at:end])
                if key[:1] == "_" and key.startswith(("_step", "_timestamp", "_runtime", "_wandb")):
                    own[key] = value
                elif key.endswith("._type"):
                    media.add(key[:-5])
                else:
                    row.append((key, value))
            elif tag == 0x12:
                message = data[at:end]
            at = end
        if "_step" in own:
            step = _whole(own["_step"])
        else:
            step = self._step + 1 if message is None else dict(_values(message)).get(1, 0)
        if not is_step(step):
            self._rows.lines["rows without a step are left out"] = None
            return
        if "_timestamp" in own:
            self._wall_time = float(own["_timestamp"])
        elif "_runtime" in own and self.facts.started:
            self._wall_time = self.facts.started + float(own["_runtime"])
        self._step, wall_time, add = step, self._wall_time, self._rows.add
        # Keys beside a `._type` describe it, such as the width of a picture: nobody logged them.
        beside = _beside(media, [key for key, _ in row]) if media else ()
        for key, value in row:
            if key in beside:
                continue
            try:
                add(key, step, wall_time, float(value))
            except ValueError:
                for leaf, found in leaves({key: _json(value)}, "."):
                    if (each := number(float(found) if found in _WORDS else found)) is not None:
                        add(leaf, step, wall_time, each)


def _beside(prefixes: set[str], keys: Sequence[str]) -> set[str]:
    """The keys that begin with one of the prefixes: sorted, they follow it."""
    found, prefix = set(), min(prefixes)
    for key in sorted(prefixes.union(keys)):
        if not key.startswith(prefix) and key in prefixes:
            prefix = key
        if key.startswith(prefix):
            found.add(key)
    return found


def _values(message: bytes) -> Iterator[tuple[int, Any]]:
    """The number and the value of each field of a message: an int, or bytes."""
    for field in fields(message, 0, len(message)):
        is_int = field.wire_type == 0
        value = varint(message, field.begin)[0] if is_int else message[field.begin : field.end]
        yield field.number, value


def _item(item: bytes) -> tuple[str, bytes]:
    """The key and the JSON of an item."""
    keys, value = [], b""
    for number_, each in _values(item):
        if number_ in (1, 2):
            keys.append(each.decode(errors="replace"))
        elif number_ == 16:
            value = each
    return ".".join(keys), value


def _whole(value: bytes) -> int | None:
    """A number in JSON as an integer; None if it has a fraction."""
    found = float(value)
    return int(value) if value.isdigit() else int(found) if found.is_integer() else None


def _json(value: bytes) -> Any:
    """A value in JSON; None if it is invalid or too large."""
    with suppress(ValueError, RecursionError):
        if len(value) <= _MAX_JSON_BYTES:
            return json.loads(value)
    return None
