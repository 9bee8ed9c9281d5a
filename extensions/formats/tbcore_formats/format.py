"""Format: finds the runs of another program, and makes a reader of each.

A format is an entry point of the group `tbcore.formats`, a class without arguments. An object
belongs to one log directory, and is used by one thread at a time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # To know the names of files, nothing else is imported.
    from tbcore.engine import Decoder, EventFile, RunReader, RunView, SourceFiles, SourceRun
    from tbcore_formats.reader import FormatReader
    from tbcore_formats.twins import Twins


class Format(ABC):
    """The base of formats, with the members of `Format` in `tbcore/eventfiles/formats.py`."""

    patterns: Collection[str]
    has_twins = False
    has_times = False

    @abstractmethod
    def runs(self, files: Sequence[tuple[str, EventFile]]) -> Iterable[SourceRun | str]:
        """See `Format` in that module."""

    @abstractmethod
    def reader(self, run: SourceRun) -> FormatReader:
        """A reader that has read nothing."""

    def columns(self, file: EventFile) -> Sequence[str]:
        """The tags at the beginning of a run's first file, which is not shown beside event files.
        A line names those that the event files lack. Any exception stands for none."""
        return ()

    def unshown(
        self, twins: Sequence[SourceFiles], views: Mapping[str, RunView | None]
    ) -> Iterator[tuple[str, str]]:
        """The path of a twin that has columns that the event files beside it lack, and a line about
        it and all that lack the same.

        `views` are those of event files by directory, None for one that is not read to its end.
        """
        return self._twins.unshown(twins, views)

    @cached_property
    def _twins(self) -> Twins:
        from tbcore_formats.twins import Twins

        return Twins(self.columns)

    def run_reader(self, decoder: Decoder, files: SourceFiles, **options: Any) -> RunReader:
        from tbcore_formats.source_reader import SourceReader

        return SourceReader(decoder, files, self.reader(files.run), **options)
