"""Logdir: finds the event files below the directories that the user gave, and names their runs.

A run is a directory that directly contains an event file. The name of a run is its path below the
logdir. Each directory that the user gave, with an optional prefix for names, is a *spec*. The
storage of its path or URI scans it: see `tbcore.eventfiles.storage`.
"""

from __future__ import annotations

import logging
import os
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from os.path import dirname
from typing import NamedTuple

from tbcore.errors import OptionError
from tbcore.eventfiles.addresses import checked_address, is_uri, root_of, storage_of
from tbcore.eventfiles.formats import Formats, SourceFiles
from tbcore.eventfiles.other_files import OtherFiles, kind_of, last_steps, matches, summed
from tbcore.eventfiles.storage import EACH_SCAN, MARK, EventFile, Found, Pacing, Root
from tbcore.kinds import ANYWHERE
from tbcore.text import describe, one_line, readable

logger = logging.getLogger(__name__)

MIN_FILE_BYTES = 1 << 14
"""A smaller file counts as this many bytes when work is divided: opening a file takes about as long
as decoding this many bytes."""
_USUAL_LOGDIRS = "runs", "lightning_logs", "logs"
"""Log directories of PyTorch, Lightning and others."""
_MAX_DIRECTORIES = 1000
"""Maximum number of directories that a short search lists."""

_Place = tuple[bool, int, str, str]
"""A directory with event files: false, index of the spec, path relative to that of the spec, path.
Or a source: true, index of the spec, name of the run, identity."""


class LogdirSpec(NamedTuple):
    """One directory to scan, and a prefix for the names of its runs."""

    name: str | None
    path: str


@dataclass
class Scan:
    """The result of one scan of the logdir."""

    runs: dict[str, list[EventFile]] = field(default_factory=dict)
    """Maps a run name to the files of the run, sorted by path. Files are read in this order."""
    num_directories: int = 0
    """Number of directories that were scanned."""
    num_files: int = 0
    """Number of event files."""
    missing: list[str] = field(default_factory=list)
    """Paths of specs that do not exist."""
    problems: list[str] = field(default_factory=list)
    """One line of text for each directory or file that could not be examined."""
    unlisted: list[str] = field(default_factory=list)
    """Directories that exist but could not be listed, so that their files are unknown."""
    twins: list[SourceFiles] = field(default_factory=list)
    """See `Found`."""
    other_files: tuple[OtherFiles, ...] = ()
    """Files next to event files whose data tbcore does not show, by kind."""
    looked_for: list[str] = field(default_factory=lambda: [f"*{MARK}*"])
    """Patterns of the names of the files that have runs."""
    side_files: dict[str, dict[str, list[EventFile]]] = field(default_factory=dict)
    """Maps the names of runs to the patterns that plugins claim, and these to the run's files that
    match, sorted by path. Files without a run, of patterns for any directory, are those of ""."""

    def merge(self, found: Found) -> None:
        """Adds the result for one root, except its event files, which have no run names yet."""
        self.num_directories += len(found.directories)
        self.num_files += sum(len(files) for _, _, files in found.directories)
        self.missing += found.missing
        self.problems += found.problems
        self.unlisted += found.unlisted
        self.twins += found.twins


def parse_logdir_spec(text: str) -> list[LogdirSpec]:
    """The specs in a `--logdir_spec`, such as `a:/logs/one,/logs/two`.

    Specs are separated by commas. Empty specs are skipped; blanks are part of a spec. A spec that
    starts with a slash, or is a URI, has no name; in all other specs, a name may precede the first
    colon. Paths are made absolute, with links and a leading `~` resolved. URIs are not changed.
    Raises OptionError for a URI that is not valid.
    """
    specs = []
    for part in text.split(","):
        if not part:
            continue
        name, path = "", part
        if not is_uri(part) and not part.startswith("/") and ":" in part:
            name, _, path = part.partition(":")
        if not is_uri(path):
            path = os.path.realpath(checked_address(os.path.expanduser(path)))
        specs.append(LogdirSpec(name or None, path))
    return specs


def folder_spec(text: str) -> LogdirSpec:
    """The spec of an argument, a path, or `NAME=PATH` if that is no path itself."""
    name, _, path = text.partition("=")
    path = os.path.expanduser(path)
    is_named = name and (is_uri(path) or os.path.exists(path)) and not os.path.exists(text)
    return LogdirSpec(name, path) if is_named and not is_uri(text) else LogdirSpec(None, text)


def checked_specs(*texts: str, is_spec: bool) -> list[LogdirSpec]:
    """The specs of directories as a user gave them, or with `is_spec` those of a `--logdir_spec`.

    A directory need not exist. Raises OptionError for a path that cannot be a directory, and the
    errors of `checked_address`.
    """
    specs = parse_logdir_spec(texts[0]) if is_spec else list(map(folder_spec, texts))
    specs = [spec._replace(path=checked_address(spec.path)) for spec in specs]
    for _, path in specs:
        if is_uri(path):
            continue
        if "\0" in path:
            raise OptionError(f"{path!r} is not a valid path")
        if os.path.exists(path) and not os.path.isdir(path):
            raise OptionError(
                f"{path!r} is a file; expected the directory that contains it, "
                f"{os.path.dirname(path) or '.'!r}"
            )
    return specs


def logdirs_here() -> list[str]:
    """Those of _USUAL_LOGDIRS in the working directory in which a short search finds logs.

    If there are none, `.`, the working directory, if such a search finds logs there.
    """

    is_log = last_steps(Formats().patterns | {f"*{MARK}*"})

    def has_logs(name: str) -> bool:
        return any(is_log(f) for *_, fs in islice(os.walk(name), _MAX_DIRECTORIES) for f in fs)

    return [*filter(has_logs, _USUAL_LOGDIRS)] or [*filter(has_logs, ["."])]


def local_directory(specs: Sequence[LogdirSpec]) -> str | None:
    """The absolute path of the only directory; None if there are several, or if it is remote."""
    if len(specs) != 1 or is_uri(specs[0].path):
        return None
    return os.path.abspath(specs[0].path)


class Logdir:
    """The directories that the user gave, for repeated scans."""

    def __init__(
        self,
        specs: Sequence[LogdirSpec],
        pacing: Pacing = EACH_SCAN,
        formats: Formats | None = None,
    ) -> None:
        """Raises UnknownStorageError or ExtensionError if there is no storage for one of them."""
        self.specs = list(specs)
        self.formats = formats
        """What else to find than event files. May be set later."""
        storages = [storage_of(spec.path) for spec in specs]
        self._pacing = pacing
        local = pacing._replace(patterns=lambda: self.patterns)
        self._roots = [root_of(path, pacing if is_uri(path) else local) for _, path in specs]
        self.paced: Sequence[Root] = [
            root for storage, root in zip(storages, self._roots, strict=True)
            if storage.requests_cost
        ]  # fmt: skip
        """The directories that cost requests to list, and so are not listed in every scan."""
        self._run_directories: list[_Place] = []
        """The directories in which the last scan found event files, and its sources."""
        self._names: list[tuple[str, int]] = []
        """Name of each run, and the index of its directory in `_run_directories`."""

    def scan(self) -> Scan:
        """Finds all event files below the directories, and the runs of other formats.

        A spec that does not exist, and a directory or file that cannot be examined, are reported in
        the result and skipped; nothing is raised. For a directory that is not listed this time, the
        result has the files of its last listing.
        """
        result, other_files = Scan(), list[tuple[int, str, EventFile]]()
        run_directories: list[_Place] = []
        runs: list[list[EventFile]] = []
        for index, root in enumerate(self._roots):
            found = self._found(index, root)
            path = self.specs[index].path
            sources = self.formats.find(path, found) if self.formats and not is_uri(path) else ()
            result.merge(found)
            other_files += [(index, name, file) for name, file in found.other_files]
            events = [each for each in found.directories if each[2]]
            run_directories += ((False, index, name, directory) for name, directory, _ in events)
            run_directories += ((True, index, each.run.name, each.identity) for each in sources)
            runs += [*(files for _, _, files in events), *sources]
        if run_directories != self._run_directories:
            self._names = self._named(run_directories)
            self._run_directories = run_directories
        result.runs = {name: runs[index] for name, index in self._names}
        if self.formats and not all(is_uri(spec.path) for spec in self.specs):
            names = self.formats.patterns  # Without those beside another file, as `x.db-wal`.
            result.looked_for += sorted(n for n in names if n.rpartition("-")[0] not in names)
        self._add_other_files(result, other_files)
        return result

    def _add_other_files(self, scan: Scan, found: list[tuple[int, str, EventFile]]) -> None:
        """Adds files that are not event files. Each is given with the index of its spec, and its
        path relative to the path of the spec."""
        unclaimed = [("twin", readable(each[0].path)) for each in scan.twins]
        shown = set[tuple[str, str]]()
        runs = {self._run_directories[i][1::2]: run for run, i in self._names} if found else {}
        for spec_index, name, file in sorted(found):
            kind = kind_of(name) or ""
            for claimed in self._pacing.patterns():
                pattern = claimed.removeprefix(ANYWHERE)
                directory = file.path.rsplit("/", pattern.count("/") + 1)[0]
                run = runs.get((spec_index, directory), "")
                # In the only directory, plugins find files without a run by themselves.
                counts = run or (pattern != claimed and local_directory(self.specs))
                if counts and matches(name, pattern):
                    # Also if the listing was made before the claim.
                    shown.add((kind, dirname(readable(file.path))))
                    if file.is_listed:
                        scan.side_files.setdefault(run, {}).setdefault(claimed, []).append(file)
            # A format has it, or it probably has the same numbers as event files.
            has_run = file.is_listed or (spec_index, dirname(file.path)) in runs
            if kind and not (kind == "log" and has_run):
                unclaimed.append((kind, readable(file.path)))
        # A plugin that reads a trace may leave caches beside it.
        scan.other_files = summed(f for f in unclaimed if (f[0], dirname(f[1])) not in shown)

    def _found(self, spec_index: int, root: Root) -> Found:
        """The result of scanning a root. If its storage raises an error, other roots still work."""
        try:
            return root.scan()
        except Exception as error:
            logger.debug("%s", one_line(self.specs[spec_index].path), exc_info=error)
            found = Found()
            found.cannot_list(self.specs[spec_index].path, describe(error))
            return found

    @property
    def patterns(self) -> frozenset[str]:
        """The patterns of all files to find that are not event files."""
        claimed = frozenset(each.removeprefix(ANYWHERE) for each in self._pacing.patterns())
        return claimed | self.formats.patterns if self.formats else claimed

    @property
    def has_links(self) -> bool:
        """Whether there are links below the directories. The system reports no changes in their
        targets."""
        return any(root.has_links for root in self._roots)

    def _named(self, run_directories: Sequence[_Place]) -> list[tuple[str, int]]:
        """Name of each run, with the index of its directory."""
        # The order of directory entries may change from scan to scan, but names must not. So paths
        # are sorted. Sources come after all event files, whose names never depend on them: by these
        # names, files are deleted. Within a spec, paths in valid UTF-8 come first, so that none of
        # their names is assigned to a path with escaped bytes. Of sources with one name, the first
        # keeps it.
        ranks = {self._run_directories[i]: rank for rank, (_, i) in enumerate(self._names)}
        order = sorted(
            (*each[:2], readable(each[2]) != each[2], each[2], ranks.get(each, len(ranks)), index)
            for index, each in enumerate(run_directories)
        )
        owners: dict[str, tuple[int, str]] = {}
        named = []
        for _, spec_index, _, relative, _, index in order:
            path = run_directories[index][3]
            name = self._new_name(spec_index, relative, path, owners)
            if name is not None:
                owners[name] = spec_index, path
                named.append((name, index))
        return named

    def _new_name(
        self, spec_index: int, relative: str, path: str, owners: dict[str, tuple[int, str]]
    ) -> str | None:
        """A run name for the directory at `path`, which is `relative` to that of the spec.

        `owners` maps each name that is in use to a directory: index of its spec, and path. Returns
        None if the path already has this name, because two specs contain the directory.
        """
        spec = self.specs[spec_index]
        # The root of a named spec becomes `name/.`, as in TensorBoard.
        name = readable(posixpath.join(spec.name, relative) if spec.name else relative)
        owner = owners.get(name)
        if owner is not None and owner[1] != path and owner[0] != spec_index and spec.name is None:
            name = readable(posixpath.join(posixpath.basename(spec.path), relative))
        base, suffix = name, 2
        while (owner := owners.get(name)) is not None:
            if owner[1] == path:
                return None
            name, suffix = f"{base}_{suffix}", suffix + 1
        return name
