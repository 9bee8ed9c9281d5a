"""Format: finds the runs of another program, and makes a reader of each.

A format is an entry point of the group `tbcore.formats`, a class without arguments. An object
belongs to one log directory, and is used by one thread at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # To know the names of files, nothing else is imported.
    from tbcore.engine import Decoder, EventFile, RunReader, SourceFiles, SourceRun
    from tbcore_formats.reader import FormatReader


class Format:
    """The base of formats, with the members of `Format` in `tbcore/eventfiles/formats.py`."""

    patterns: Collection[str]
    has_twins = False
    has_times = False

    def runs(self, files: Sequence[tuple[str, EventFile]]) -> Iterable[SourceRun | str]:
        raise NotImplementedError

    def reader(self, run: SourceRun) -> FormatReader:
        """A reader that has read nothing."""
        raise NotImplementedError

    def run_reader(self, decoder: Decoder, files: SourceFiles, **options: Any) -> RunReader:
        from tbcore_formats.source_reader import SourceReader

        return SourceReader(decoder, files, self.reader(files.run), **options)
