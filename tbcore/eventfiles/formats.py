"""Formats: the logs of other programs, which extensions read into numbers, texts and facts.

An entry point of the group `tbcore.formats` is a class without arguments, whose objects have the
members of `Format`. The distribution for them in `INSTALL` has a base of such classes. An object
belongs to one `Logdir`, and is used by one thread at a time:

    scan     Format.runs          from the files whose names match, finds runs      SourceRun
    read     Format.run_reader    reads one run, as far as it is written            RunReader

A run is either event files or one source, never both. Only directories of this machine are searched
for sources, which indexes do not have.
"""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from tbcore.errors import TbcoreError
from tbcore.eventfiles.other_files import last_steps
from tbcore.eventfiles.storage import EventFile, Found
from tbcore.extensions import FORMATS, available, guarded, loaded
from tbcore.text import describe, one_line

if TYPE_CHECKING:  # `serve` imports numpy later, when it has limited the number of its threads.
    from tbcore.eventfiles.decoder import Decoder

logger = logging.getLogger(__name__)


class SourceRun(NamedTuple):
    """A run that a format has found."""

    name: str
    """Path below the root, as that of a directory with event files; `.` for the root. If several
    runs have the same name, the core changes all but the first."""
    files: Sequence[EventFile]
    """At least one, regular files that were scanned. The run is read on when one of them changes.
    For one of many runs in a file, they may have the size and the times of its own data alone."""
    key: str = ""
    """Different for all runs of one name; the same as long as the run is the same."""
    started: float | None = None
    """By which new runs are sorted, in seconds since the epoch; None for when its first file was
    last written."""


class Format(Protocol):
    """A format of logs."""

    patterns: Collection[str]
    """Base names of its files, with `*` and `?`. To be known without importing much."""
    has_twins: bool
    """Whether event files in the directory of a file usually have the same numbers. If so, they are
    shown alone."""
    has_times: bool
    """Whether its files say when points were logged. If not, pages offer no axis of times."""

    def runs(self, files: Sequence[tuple[str, EventFile]]) -> Iterable[SourceRun | str]:
        """The runs in these files, all that match below one root, each after its path below it,
        sorted. Called in each scan that finds some, so it opens a file again only if that has
        changed, and once without files when the last run of a root has lost its files. After the
        last run, raises BlockingIOError to be called again soon, as files are being written.

        A str is a line about a file that should have a run and has none. An exception costs all
        files of the format: their runs stay as they were.
        """

    def reader(self, run: SourceRun) -> Any:
        """What `run_reader` uses: its `read(files)` yields maps from tags to points, and more."""

    def unshown(
        self, twins: Sequence[SourceFiles], views: Mapping[str, Any]
    ) -> Iterable[tuple[str, str]]:
        """What event files lack that the twins beside them have; see `unshown_in`."""

    def run_reader(self, decoder: Decoder, files: SourceFiles, **options: Any) -> Any:
        """A `RunReader` of a run that has read nothing; the arguments are those of its class."""


class SourceFiles(list[EventFile]):
    """The files of a run that another program wrote, where others have event files."""

    def __init__(self, run: SourceRun, format: Format, root: str) -> None:
        """`root` is the path of the root in which the run was found."""
        super().__init__(run.files)
        self.root = os.path.join(root, "")
        self.run, self.format, self.started = run, format, float(run.started or math.inf)
        directory = os.path.abspath(os.path.join(root, run.name))
        own = os.path.dirname(self[0].path)
        self.beside = {d for d in (own, directory) if f"{own}/".startswith(os.path.join(d, ""))}
        """Where event files have the same numbers, if the format has twins: the directory of the
        first file, and the one that has the name of the run if it is above that."""
        self.identity = f"{type(format).__name__}:{directory}#{run.key}"
        """The same as long as it is the same run. No path."""


class Formats:
    """The formats for one Logdir."""

    def __init__(self, names: str = "") -> None:
        """Those with these names, separated by commas; "none"; or those that are installed, with
        "all" also for logs beside event files with the same numbers. Blanks do not matter. Those
        that cannot be loaded are reported and left out."""
        self._formats, self.patterns = dict[str, Format](), frozenset[str]()
        self._names, found = names.replace(" ", ""), available(FORMATS)
        for name in {"none": [], "": found, "all": found}.get(self._names, self._names.split(",")):
            try:
                with guarded(FORMATS, name):
                    format: Format = loaded(FORMATS, name, found=found)()
                    self.patterns, self._formats[name] = self.patterns | {*format.patterns}, format
            except (TbcoreError, OSError) as error:
                logger.warning("%s", one_line(str(error)))
        self.unfinished: set[tuple[str, str]] = set()
        """The formats and roots to scan again soon, since files are being written."""
        self._known: dict[tuple[str, str], list[SourceFiles]] = {}
        """Maps a format and a root to the runs that the last scan found."""

    def find(self, root: str, found: Found) -> list[SourceFiles]:
        """The runs in the files that the scan of a root has found, by their start.

        `root` is the path of the root. Adds to the problems and to the twins of the scan.
        """
        self.unfinished -= {(name, root) for name in self._formats}
        listed = sorted(each for each in found.other_files if each[1].is_listed)
        with_events = {path for _, path, files in found.directories if files}
        shown: list[SourceFiles] = []
        for name, format in self._formats.items():
            known = []
            try:
                is_own = last_steps(frozenset(format.patterns))
                own = [each for each in listed if is_own(os.path.basename(each[0]))]
                for run in format.runs(own) if own or self._known.get((name, root)) else ():
                    if isinstance(run, str):
                        found.problems.append(one_line(run))
                    elif run.name == "." or {"", ".", ".."}.isdisjoint(run.name.split("/")):
                        known.append(SourceFiles(run, format, root))
                    else:
                        found.problems.append(one_line(f"{name}: bad run name {run.name!r}"))
            except BlockingIOError:
                self.unfinished.add((name, root))
            except Exception as error:
                # As in a directory that cannot be listed, what was found before is kept.
                known = self._known.get((name, root), [])
                logger.debug("%s", name, exc_info=error)
                found.problems.append(one_line(f"logs of the format {name}: {describe(error)}"))
            self._known[name, root] = known
            for files in known:
                if not getattr(format, "has_twins", False) or with_events.isdisjoint(files.beside):
                    shown.append(files)
                elif self._names == "all":
                    path = PurePath(files.run.name, os.path.basename(files[0].path))
                    shown.append(SourceFiles(files.run._replace(name=str(path)), format, root))
                else:
                    found.twins.append(files)
        return sorted(shown, key=lambda files: files.started)


def unshown_in(twins: Iterable[SourceFiles], views: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The path of a twin with numbers that no event file beside it has, and a line about it and all
    that are like it, for each kind of these. `views` are those of runs of event files by their
    directories, None for one that is not read to its end."""
    by_format: dict[int, list[SourceFiles]] = {}
    for twin in twins:
        by_format.setdefault(id(twin.format), []).append(twin)
    return [each for own in by_format.values() for each in own[0].format.unshown(own, views)]
