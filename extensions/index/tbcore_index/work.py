"""work: reads a batch of runs, and writes them as segments. Runs in any process."""

from __future__ import annotations

import contextlib
import logging
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from tbcore import DataLossError, NotFoundError, TbcoreError
from tbcore.engine import EventFile, StoredRun, TrackedRun, one_line, plural
from tbcore_index.reader import IndexReader
from tbcore_index.segments import ReadRun, SegmentWriter, bookmark_json, settled
from tbcore_index.tables import Place, Segment
from tbcore_logs.batch_reader import BatchReader

MAX_SEGMENT_ROWS = 1 << 22
"""Approximate number of rows in a full segment: 20 MB on disk, and 100 MB in memory."""


class Batch(NamedTuple):
    """The work of one task."""

    runs: Sequence[tuple[str, Sequence[EventFile]]]
    """The runs to read, each with its files. Of runs in a replaced segment, new data is read."""
    replaced: Sequence[str] = ()
    """Segments to replace. All runs in them that are not in `runs` or `gone` are copied."""
    gone: Collection[str] = ()
    """Runs in replaced segments that are not copied, since their files are gone."""
    confirmed: Collection[str] = ()
    """The directories below which files that the index names may be opened: see `Confirmed`."""


class Done(NamedTuple):
    """The result of a task."""

    segments: Sequence[Segment]
    """The segments that it wrote, instead of those in `Batch.replaced`."""
    problems: Sequence[str]
    """One line for each file or run that could not be read, and for each damaged record of the runs
    in `Batch.runs`, even if it was known before."""
    num_bytes: int
    """Number of bytes that were read from event files."""


@contextlib.contextmanager
def _unlogged() -> Iterator[None]:
    """Keeps readers from logging the problems that `work` returns."""
    logger = logging.getLogger("tbcore")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


@_unlogged()
def work(batch: Batch, path: str) -> Done:
    """Reads the runs of a batch, and writes them. Raises OSError or TbcoreError if that fails."""
    place = Place(path)
    index = IndexReader(path, only=batch.replaced, logdirs=batch.confirmed)
    stored = index.runs
    reader = BatchReader(purge_orphaned_data=index.purge_orphaned_data)
    segments: list[Segment] = []
    problems: list[str] = []
    writer = SegmentWriter()

    def add(run: ReadRun) -> None:
        try:
            writer.add(run)
        except UnicodeError:
            line = f"run {run.name}: left out, since a name is not valid Unicode"
            problems.append(one_line(line))

    def add_as_stored(name: str) -> None:
        known = stored[name]
        bookmark = bookmark_json(index.bookmark(name, known.revision))
        add(ReadRun(name, known, known.known_files, bookmark, known.problems))

    def write_if(is_due: bool) -> None:
        nonlocal writer
        if is_due:
            segments.append(writer.write(place))
            writer = SegmentWriter()

    lost, left_out = Counter[str](), Counter[str]()
    names = {name for name, _ in batch.runs}
    again: list[tuple[str, Sequence[EventFile]]] = []
    for name in sorted(stored):
        if name not in names and name not in batch.gone:
            try:
                add_as_stored(name)
            except (DataLossError, NotFoundError) as error:
                if not stored[name].may_be_opened:
                    left_out[one_line(str(error))] += 1
                    continue
                lost[one_line(str(error))] += 1
                again.append((name, stored[name].known_files))
            write_if(writer.num_rows >= MAX_SEGMENT_ROWS)
    # Runs that have just changed may change again soon, so they get a segment of their own if many
    # unchanged runs were copied.
    write_if(bool(names) and writer.num_rows >= MAX_SEGMENT_ROWS // 16)
    runs: list[TrackedRun] = []
    for name, files in batch.runs:
        run = reader.run(name, files)
        if name in stored:
            known = stored[name]
            try:
                run.resume_at(index.bookmark(name, known.revision), known)
                if not run.is_read_again:
                    run.reader.problems = _damaged_records(known)
            except (TbcoreError, OSError) as error:
                lost[one_line(str(error))] += 1
        runs.append(run)
    runs += [reader.run(name, files) for name, files in again]
    for why, num in lost.items():
        problems.append(f"{why}; {_are(num)} read from the logs again")
    for why, num in left_out.items():
        problems.append(f"{why}; {_are(num)} left out")
    for run in reader.read(runs):
        found = [*run.reader.problems, *run.reader.read_errors]
        problems += found
        if run.keeps_view:
            add_as_stored(run.name)  # Its new files cannot be read yet.
            continue
        end = run.reader.bookmark
        if end is None:
            problems.append(one_line(f"run {run.name}: left out, since it cannot be read whole"))
            continue
        add(_as_read(run, end, found))
        write_if(writer.num_rows >= MAX_SEGMENT_ROWS)
    write_if(bool(writer.runs))
    return Done(segments, problems, sum(run.reader.bytes_read for run in runs))


def _are(num_runs: int) -> str:
    """`1 run is`, or `2 runs are`."""
    return f"{plural(num_runs, 'run')} {'is' if num_runs == 1 else 'are'}"


def _damaged_records(run: StoredRun) -> list[str]:
    """The problems of a run that are damaged records. Files that could not be read are tried again.

    A line about a damaged record begins with the path and a colon.
    """
    paths = tuple(one_line(f"{file.path}: ") for file in run.known_files)
    return [line for line in run.problems if line.startswith(paths)]


def _as_read(run: TrackedRun, bookmark: object, problems: Sequence[str]) -> ReadRun:
    """The data to store of a run that was read. Its files are in the order of the view's."""
    view = run.commit()
    readers = run.reader.file_readers
    files = [
        settled(readers[ref.path].opened, readers[ref.path].opened_at_ns)
        if ref.path in readers
        else EventFile(ref.path)
        for ref in view.files
    ]
    return ReadRun(run.name, view, files, bookmark_json(bookmark), problems)
