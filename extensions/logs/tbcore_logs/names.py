"""Names in logs for completion: found in about a tenth of a second, and perhaps not all of them.

Runs are those that a scan finds within a second. Tags are those in the first 64 KiB of the files of
some 50 runs at even distances. Checksums are not verified. Only local directories are searched.
Imports no numpy, unless a log of another program is there.
"""

from __future__ import annotations

import contextlib
import os
import struct
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from tbcore.engine import EventFile, Formats, Logdir, SourceFiles, folder_spec, is_uri

if TYPE_CHECKING:
    from tbcore.engine import Event

_SCAN_SECONDS = 1.0
_HEAD_BYTES = 1 << 16
_MAX_RUNS = 50
_HEADER = struct.Struct("<Q4x")
"""The length of a record, and its checksum."""
_FOOTER_BYTES = 4
"""The checksum of a record's payload."""


def files_of_runs(*logdirs: str) -> dict[str, list[EventFile]]:
    """Maps the runs below local directories to their files; empty if the scan takes too long."""
    found: dict[str, list[EventFile]] = {}
    specs = [folder_spec(os.path.expanduser(logdir)) for logdir in logdirs]
    if any(is_uri(spec.path) or not os.path.isdir(spec.path) for spec in specs):
        return found
    logdir = Logdir(specs, formats=Formats())
    scan = threading.Thread(target=lambda: found.update(logdir.scan().runs), daemon=True)
    scan.start()
    scan.join(_SCAN_SECONDS)
    return {} if scan.is_alive() else found


def tags_in(runs: Sequence[Sequence[EventFile]]) -> list[str]:
    """The tags in the files of some runs, in order of appearance; see above."""
    some = runs[:: max(len(runs) // _MAX_RUNS, 1)]
    return list(dict.fromkeys(tag for files in some for tag in _tags(files)))


def _tags(files: Sequence[EventFile]) -> Iterator[str]:
    """The tags of a run: of event files, or else those of the first points of another format."""
    if not isinstance(files, SourceFiles):
        for event in (event for file in files for event in _events(file.path)):
            yield from (value.tag for value in event.summary.value if value.tag)
        return
    with contextlib.suppress(Exception):  # Of a reader that another package has.
        items = files.format.reader(files.run).read(files)
        yield from next((item for item in items if isinstance(item, Mapping)), ())


def _events(path: str) -> Iterator[Event]:
    """Yields the events of the whole records at the start of a file, before the first mistake."""
    from google.protobuf.message import DecodeError  # only when events are decoded

    from tbcore.engine import Event

    try:
        with open(path, "rb") as stream:
            content = stream.read(_HEAD_BYTES)
        begin = _HEADER.size
        while begin <= len(content):
            end = begin + _HEADER.unpack_from(content, begin - _HEADER.size)[0]
            if end > len(content):
                return
            yield Event.FromString(content[begin:end])
            begin = end + _FOOTER_BYTES + _HEADER.size
    except (OSError, DecodeError):
        return
