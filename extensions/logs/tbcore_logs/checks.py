"""check: reads all logs of a logdir once, and reports each fault; in event files, with offsets."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from tbcore import Multiplexer
from tbcore.engine import (
    EventFile,
    Formats,
    Logdir,
    LogdirSpec,
    Pacing,
    RunView,
    SourceFiles,
    TrackedRun,
    find_unclaimed,
    load_plugins,
    one_line,
    plural,
    size,
    unshown_in,
)
from tbcore.values import SESSION_START_TAG
from tbcore_logs.batch_reader import BatchReader
from tbcore_logs.ends import unfinished, unfinished_sources
from tbcore_logs.strict_reader import ReadFile, StrictReader

_MAX_LINES_PER_FILE = 20
"""Maximum number of findings that are printed for one file; JSON has all of them."""


class Finding(NamedTuple):
    """A fault, or another remarkable fact, of a file or directory."""

    what: str
    """`missing`, `unreadable`, `corrupt`, `undecodable`, `cut off`, `being written`, `empty`,
    `changed`, `other file`, or `left out` for data of another program's log that is not shown."""
    path: str
    message: str
    run: str | None = None
    """The run of the file; None for directories."""
    offset: int | None = None
    """Byte offset of the record in the file; None if the finding is not about a record."""
    is_damage: bool = True
    """Whether data was lost or cannot be read."""


class CheckReport(NamedTuple):
    """The result of a check."""

    num_runs: int
    num_files: int
    num_bytes: int
    findings: list[Finding]
    """The findings about directories, then those about files: in the order in which the files were
    read, and by offset within a file; then hyperparameters that cannot be decoded."""
    unclaimed: Sequence[Any]
    """Kinds of data that no loaded plugin shows; see `tbcore.engine.find_unclaimed`."""
    other_files: Sequence[Any]
    """Files that are not event files, and whose data tbcore does not show; see `Scan`."""
    orphaned: Mapping[str, int] | None = None
    """Maps the runs with orphaned rows to the number of these; None for an index."""
    other_logs: Sequence[str] = ()
    """The first file of each run that another program logged, sorted."""

    @property
    def num_damaged(self) -> int:
        """Number of files and directories in which data was lost or cannot be read."""
        return len({finding.path for finding in self.findings if finding.is_damage})

    @property
    def is_missing(self) -> bool:
        """Whether a directory does not exist, so that nothing in it could be checked."""
        return any(finding.what == "missing" for finding in self.findings)

    def as_json(self) -> dict[str, Any]:
        """The report as an object for JSON."""
        return {
            "runs": self.num_runs,
            "files": self.num_files,
            "bytes": self.num_bytes,
            "damaged": self.num_damaged,
            "findings": [finding._asdict() for finding in self.findings],
            "unshown": [kind._asdict() for kind in self.unclaimed],
            "other_files": [files._asdict() for files in self.other_files],
            "orphaned": self.orphaned,
            "other_logs": self.other_logs,
        }

    def lines(self) -> Iterator[str]:
        """The report as lines of text: each file with its findings, then the totals."""
        for path, group in groupby(self.findings, key=lambda finding: finding.path):
            findings = list(group)
            yield one_line(path)
            for finding in findings[:_MAX_LINES_PER_FILE]:
                yield f"    {one_line(finding.message)}"
            if len(findings) > _MAX_LINES_PER_FILE:
                yield f"    and {len(findings) - _MAX_LINES_PER_FILE} more; --json has them all"
        if self.findings:
            yield ""
        what = f"{plural(self.num_runs, 'run')}, {plural(self.num_files, 'file')}"
        others = sum(finding.what == "other file" for finding in self.findings)
        state = "all can be read" if self.num_files > others else "no event files"
        if self.num_damaged:
            unread = {each.path for each in self.findings if each.what == "unreadable"}
            counts = {"damaged": self.num_damaged - len(unread), "not read": len(unread)}
            state = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
        if others:
            state += f"; {plural(others, 'other file')}"
        yield f"{what} ({size(self.num_bytes)}): {state}"
        if self.orphaned:
            rows, run = sum(self.orphaned.values()), next(iter(self.orphaned))
            yield (
                f"left out, since a restart orphaned them: {plural(rows, 'value')} in "
                f"{plural(len(self.orphaned), 'run')}, for example {one_line(run)}"
            )
        for kind in self.unclaimed:
            # A plugin that is loaded may not read tensors of every type and shape.
            is_odd = kind.field == "tensor" != kind.kind and not kind.install
            what = f"these tensors of {kind.kind}" if is_odd else kind.kind
            yield (
                f"no loaded plugin shows {what}: {plural(kind.num_tags, 'tag')} in "
                f"{plural(kind.num_runs, 'run')}, for example {one_line(kind.example_run)}: "
                f"{one_line(kind.example_tag)}"
                + (f"; `pip install {kind.install}`" if kind.install else "")
            )
        yield from map(str, self.other_files)
        if self.other_logs:
            runs = plural(len(self.other_logs), "run")
            yield (
                f"logs of other programs, most of which have no checksums: {runs}, for example "
                f"{one_line(self.other_logs[0])}"
            )


def check(specs: Sequence[LogdirSpec]) -> CheckReport:
    """Reads every log below the directories to its end, and verifies all checksums."""
    plugins = load_plugins()
    claims = [claim for plugin in plugins if plugin.info for claim in plugin.info.claims]
    patterns = frozenset(claim.files for claim in claims if claim.files is not None)
    found = Logdir(specs, Pacing(patterns=lambda: patterns), Formats()).scan()
    sources = {run: each for run, each in found.runs.items() if isinstance(each, SourceFiles)}
    events = {run: files for run, files in found.runs.items() if run not in sources}
    findings = [
        Finding("missing", path, "does not exist", is_damage=False) for path in found.missing
    ]
    # The scan's line about a problem contains both the path and the reason, so it becomes the path.
    findings += [
        Finding("unreadable", line, "its contents were skipped") for line in found.problems
    ]
    views, reader = dict[str, RunView](), StrictReader()
    num_bytes, orphaned = 0, dict[str, int]()
    for run, files in events.items():
        view, read = reader.read(files)
        num_bytes += sum(file.size for file in files)
        findings += [finding for each in read for finding in _findings(run, each)]
        views[run] = view
        if num_rows := _num_orphaned(view, files):
            orphaned[run] = num_rows
    multiplexer = Multiplexer(views)
    by_directory = {os.path.dirname(files[0].path): views[run] for run, files in events.items()}
    findings += [
        Finding("left out", path, line, is_damage=False)
        for path, line in unshown_in(found.twins, by_directory)
    ]
    findings += _undecodable(views, multiplexer)
    batches = BatchReader()
    for each in batches.read(batches.run(run, files) for run, files in sources.items()):
        findings += _of_program(each)
    # A file may have many runs, whose EventFiles have sizes of their own.
    paths = {file.path for files in sources.values() for file in files}
    return CheckReport(
        len(found.runs),
        found.num_files + len(paths),
        num_bytes + sum(map(_size, paths)),
        findings,
        find_unclaimed(multiplexer, claims, {each.distribution_name for each in plugins}),
        found.other_files,
        orphaned,
        sorted(files[0].path for files in sources.values()),
    )


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def _of_program(run: TrackedRun) -> Iterator[Finding]:
    """The findings about a run that another program logged, which was read to its end.

    Those are damage that begin with this word, and errors that ended reading. Other lines may quote
    it from the log.
    """
    reader, paths = run.reader, [one_line(file.path) for file in run.files]
    ends = unfinished_sources(run)
    yield from (_unfinished(run.name, *end) for end in ends)
    for line in reader.problems_now:
        path = max((path for path in paths if line.startswith(path)), key=len, default=paths[0])
        message = line.removeprefix(path).removeprefix(":").strip()
        if line not in reader.problems:
            what = "unreadable" if reader.is_incomplete else "corrupt"
            yield Finding(what, path, message, run.name)
        else:
            is_damage = message.startswith("damaged")
            what = "corrupt" if is_damage else "left out"
            yield Finding(what, path, message, run.name, is_damage=is_damage)
    if reader.is_to_read_soon and not ends:
        line = "cannot be read yet, since it is being written"
        yield Finding("being written", paths[0], line, run.name, is_damage=False)


def _undecodable(views: Mapping[str, RunView], multiplexer: Multiplexer) -> Iterator[Finding]:
    """The hyperparameters that cannot be decoded, each at the record of its value."""
    for run, found in multiplexer.hyperparameters().items():
        if found.error and found.source == run:
            view, offset = views[run], None
            file = view.files[0]
            for series in view.series(SESSION_START_TAG):
                if not series.kind.is_scalar and len(series):
                    file = view.files[series.column("file")[0]]
                    offset = int(series.column("offset")[0])
            yield Finding("undecodable", file.path, found.error, run, offset)


def _num_orphaned(view: RunView, files: Sequence[EventFile]) -> int:
    """The number of orphaned rows of a run. Reads a run again if it may have any."""
    if not any(table.ordinals for table in view.tables) and view.schema.tags and view.tables:
        return 0  # All rows of each tag have successive ordinals.
    reader = BatchReader(purge_orphaned_data=False)
    run = reader.run("", files)
    whole = [each.new_view() for each in reader.read([run])]
    tables = [table for each in whole if each for table in each.tables]
    return sum(table.num_rows for table in tables) - sum(table.num_rows for table in view.tables)


def _findings(run: str, read: ReadFile) -> Iterator[Finding]:
    """The findings about one file."""
    path = read.file.path
    if not read.file.size:
        yield Finding("empty", path, "the file is empty", run, is_damage=False)
        return
    if read.is_replaced:
        line = "was replaced while it was read; run the check again"
        yield Finding("changed", path, line, run, is_damage=False)
        return
    if read.error is not None:
        reason = read.error.strerror or read.error
        yield Finding("unreadable", path, f"cannot be read: {reason}", run)
        return
    if read.other_kind is not None:
        gzip = ", but compressed by gzip" if read.other_kind == "gzip" else ""
        yield Finding("other file", path, f"is not an event file{gzip}", run, is_damage=False)
        return
    for damage in read.damage:
        yield Finding("corrupt", path, str(damage), run, damage.offset)
    # Damage at the offset where the reader stopped is the reason why the rest cannot be read.
    is_explained = bool(read.damage) and read.damage[-1].offset == read.offset
    if read.size > read.offset and not is_explained:
        yield _unfinished(run, read.file, read.offset, read.size)


def _unfinished(run: str, file: EventFile, offset: int, size: int) -> Finding:
    line, is_old = unfinished(file, offset, size)
    what = "cut off" if is_old else "being written"
    return Finding(what, file.path, line, run, offset, is_damage=is_old)
