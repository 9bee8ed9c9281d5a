"""Names in logs for completion: found in about a tenth of a second, and perhaps not all of them.

Runs are those that a scan finds within a second. Tags and hyperparameters are those in the first
64 KiB of the files of some 50 runs at even distances, as many as can be decoded in 40 ms.
Checksums are not verified. Only local directories are searched. Imports no numpy.
"""

from __future__ import annotations

import os
import struct
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tbcore.engine import EventFile, Logdir, LogdirSpec, is_uri

if TYPE_CHECKING:
    from tbcore.engine import Event, Summary

# What only decodes events is imported when events are decoded.

_SCAN_SECONDS = 1.0
_HEAD_BYTES = 1 << 16
_MAX_RUNS = 50
_MAX_CPU_SECONDS = 0.04
_HEADER = struct.Struct("<Q4x")
"""The length of a record, and its checksum."""
_FOOTER_BYTES = 4
"""The checksum of a record's payload."""
_SESSION_START = 3
"""Number of the field `session_start_info` in the metadata of hyperparameters."""


def files_of_runs(logdir: str) -> dict[str, list[EventFile]]:
    """Maps the runs below a local directory to their files; empty if the scan takes too long."""
    found: dict[str, list[EventFile]] = {}
    path = os.path.expanduser(logdir)
    if is_uri(path) or not os.path.isdir(path):
        return found
    scan = threading.Thread(
        target=lambda: found.update(Logdir([LogdirSpec(None, path)]).scan().runs), daemon=True
    )
    scan.start()
    scan.join(_SCAN_SECONDS)
    return {} if scan.is_alive() else found


@dataclass
class Names:
    """Names in some files, in order of appearance."""

    tags: dict[str, bool] = field(default_factory=dict)
    """Maps each tag to whether it has scalars."""
    hparams: dict[str, None] = field(default_factory=dict)
    """The hyperparameters, as keys."""

    def add(self, file: EventFile) -> None:
        """Adds the names at the start of a file."""
        from google.protobuf.message import DecodeError

        try:
            with open(file.path, "rb") as stream:
                content = stream.read(_HEAD_BYTES)
            for event in _events(content):
                for value in event.summary.value:
                    self._add_value(value)
        except (OSError, DecodeError):
            return  # The rest of the file may be damaged, or an event file of another program.

    def _add_value(self, value: Summary.Value) -> None:
        data = value.metadata.plugin_data
        if data.plugin_name == "hparams":
            for start in _submessages(data.content, _SESSION_START):
                for entry in _submessages(start, 1):
                    keys = _submessages(entry, 1)
                    self.hparams.update(dict.fromkeys(key.decode(errors="replace") for key in keys))
        elif value.tag:
            is_scalar = value.HasField("simple_value") or data.plugin_name == "scalars"
            self.tags[value.tag] = self.tags.get(value.tag, False) or is_scalar


def names_in(runs: Sequence[Sequence[EventFile]]) -> Names:
    """The names in the files of some runs; see above."""
    names, began_at = Names(), time.process_time()
    distance = max(len(runs) // _MAX_RUNS, 1)
    for files in runs[::distance]:
        for file in files:
            names.add(file)
        if time.process_time() - began_at > _MAX_CPU_SECONDS:
            break
    return names


def _events(content: bytes) -> Iterator[Event]:
    """Yields the events of the whole records."""
    from tbcore.engine import Event

    begin = _HEADER.size
    while begin <= len(content):
        end = begin + _HEADER.unpack_from(content, begin - _HEADER.size)[0]
        if end > len(content):
            return
        yield Event.FromString(content[begin:end])
        begin = end + _FOOTER_BYTES + _HEADER.size


def _submessages(message: bytes, number: int) -> Iterator[bytes]:
    """Yields the content of the fields with this number."""
    from tbcore.engine import fields

    for each in fields(message, 0, len(message)):
        if each.number == number:
            yield message[each.begin : each.end]
