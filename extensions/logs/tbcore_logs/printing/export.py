"""`tbcore export`: scalars as CSV, JSON lines or Parquet; images and audio as files.

    batch of runs  --read-->  series  --chunks of rows-->  writer  -->  temporary file  -->  file

A batch is dropped from memory once it is written. A temporary file is renamed when it is complete,
so there is never an incomplete file with the final name.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from tbcore import DataError, NotFoundError
from tbcore.engine import plural, warn
from tbcore_logs import Logs, Run
from tbcore_logs.commands.arguments import max_bytes
from tbcore_logs.forms import AUDIO, IMAGE
from tbcore_logs.printing.access import (
    ITEMS_OF,
    LogSelection,
    if_readable,
    read_in_batches,
)
from tbcore_logs.printing.files import opened_for_writing, safe_name, written
from tbcore_logs.printing.json_output import FirstLines
from tbcore_logs.printing.writers import WRITERS, Writer
from tbcore_logs.tables import free_name
from tbcore_logs.values import media_type

_CHUNK_ROWS = 1 << 15


def export(selection: LogSelection, *, output: str, is_wide: bool, form: str | None) -> int:
    """Writes the scalars to a file; returns the exit status."""
    ending = "jsonl" if form == "json" else "csv"
    if output != "-":
        ending = os.path.splitext(output)[1].removeprefix(".").lower()
    if ending not in WRITERS:
        raise click.UsageError(
            f"-o {output!r} ends with none of {', '.join(f'.{known}' for known in WRITERS)}, /",
            click.get_current_context(),
        )
    source = _Source(selection, *selection.opened(), {})
    _write_scalars(output, WRITERS[ending], source, is_wide=is_wide)
    selection.mention_archived(source.logs, source.names)
    return 0


def export_media(selection: LogSelection, folder: str) -> int:
    """Writes images and audio to files below a folder; returns the exit status."""
    source = _Source(selection, *selection.opened(), {})
    num_files = _write_media(Path(folder), source)
    source.check()
    if not num_files:
        raise click.ClickException("no images and no audio match; nothing is written")
    click.echo(f"{plural(num_files, 'file')} in {folder}", err=True)
    selection.mention_archived(source.logs, source.names)
    return 0


def _write_scalars(output: str, writer_class: Any, source: _Source, *, is_wide: bool) -> None:
    """Writes the scalars to a file. Raises ClickException, and writes none, if there are none."""
    with opened_for_writing(output) as file:
        limit = max_bytes()
        first = None if limit is None else FirstLines(limit)
        is_terminal = output == "-" and file.isatty()
        with writer_class(first or file, is_terminal=is_terminal) as writer:
            num_rows = (_write_wide if is_wide else _write_long)(writer, source)
        source.check()  # Before the file gets its final name.
        if first is not None:
            file.writelines(first.lines())
        if not num_rows:
            raise click.ClickException("no scalars match; nothing is written")


class _Source(NamedTuple):
    """The runs and tags to write."""

    selection: LogSelection
    logs: Logs
    names: Sequence[str]
    known_tags: dict[str, None]
    """All tags of the runs that were read, as keys."""

    def runs(self) -> Iterator[Run]:
        """Yields the runs, read in batches. A batch is dropped from memory after its last run."""
        for batch in read_in_batches(self.logs, self.names):
            for run in batch:
                self.known_tags.update(dict.fromkeys(run))
                yield run
            self.logs.forget(run.name for run in batch)

    def scalars(self) -> Iterator[tuple[Run, list[str]]]:
        """Yields each run with its selected tags of scalars."""
        for run in self.runs():
            yield run, self.selection.tags_of(run.scalar_tags)

    def check(self) -> None:
        """Raises UnknownNameError for a tag that no run has. Call it when all runs are read."""
        self.selection.tags_of(self.known_tags, need_all=True)


# -- rows --------------------------------------------------------------------------------------


def _write_long(writer: Writer, source: _Source) -> int:
    """Writes a row for each point; returns the number of rows."""
    titles = {"step": np.int64, "wall_time": np.float64, "value": np.float64}
    num_rows = 0
    for run, tags in source.scalars():
        for tag in tags:
            with if_readable():
                series = run[tag]
                if len(series) and not num_rows:
                    writer.begin(["run", "tag"], titles)
                for rows in _chunks(len(series)):
                    columns = series.steps(rows), series.wall_time[rows], series.value[rows]
                    writer.write([run.name, tag], columns)
                num_rows += len(series)
    return num_rows


def _write_wide(writer: Writer, source: _Source) -> int:
    """Writes a row for each step of each run, with a column for each tag.

    Returns the number of rows. Reads all runs twice, since the columns must be known before the
    first row.
    """
    tags = dict.fromkeys(tag for _, own in source.scalars() for tag in own)
    if not tags:
        return 0
    titles: dict[str, type] = {"run": str, "step": np.int64}
    for tag in tags:
        titles[free_name(tag, titles)] = np.float64
    writer.begin([next(iter(titles))], dict(list(titles.items())[1:]))
    num_rows, num_left_out = 0, 0
    for run, own in source.scalars():
        with if_readable(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Points that are left out are counted below.
            wide = source.logs.scalars(own, runs=[run.name]).wide()
            num_left_out += sum(len(run[tag]) - len(np.unique(run[tag].step)) for tag in own)
            _, step, *values = (
                np.ma.array(column, mask=wide.missing.get(name, np.ma.nomask))
                for name, column in wide.columns.items()
            )
            by_tag = dict(zip(own, values, strict=True))
            missing = np.ma.array(np.zeros(len(step), np.float32), mask=True)
            for rows in _chunks(len(step)):
                columns = [step[rows], *(by_tag.get(tag, missing)[rows] for tag in tags)]
                writer.write([run.name], columns)
            num_rows += len(step)
    if num_left_out:
        warn(f"{num_left_out:,} points are left out: a later one of the tag has the same step")
    return num_rows


def _chunks(num_rows: int) -> Iterator[slice]:
    return (slice(start, start + _CHUNK_ROWS) for start in range(0, num_rows, _CHUNK_ROWS))


# -- files -------------------------------------------------------------------------------------


def _write_media(folder: Path, source: _Source) -> int:
    """Writes images and clips as FOLDER/RUN/TAG/STEP.png; returns the number of files."""
    num_files = 0
    for run in source.runs():
        media: list[str] = []
        with if_readable():
            media += [tag.name for tag in run.tags.values() if tag.kind in (IMAGE, AUDIO)]
        for tag in source.selection.tags_of(media):
            directory = folder.joinpath(*map(safe_name, run.name.split("/")), safe_name(tag))
            num_of_step: Counter[int] = Counter()
            for item in ITEMS_OF[run.tags[tag].kind](run, tag):
                try:
                    samples = _samples(item.value)
                except (DataError, NotFoundError):
                    continue  # It has been reported already.
                for content, ending in samples:
                    num_of_step[item.step] += 1
                    number = num_of_step[item.step]
                    name = f"{item.step}_{number}" if number > 1 else f"{item.step}"
                    with written(directory):
                        directory.mkdir(parents=True, exist_ok=True)
                    with opened_for_writing(directory / f"{name}.{ending}") as file:
                        file.write(content)
                    num_files += 1
    return num_files


def _samples(value: Any) -> list[tuple[bytes, str]]:
    """The content and the file ending of each sample in a value."""
    if not hasattr(value, "clips"):
        return [(content, _ending(media_type(content))) for content in value.encoded]
    logged = value.content_type.lower()
    return [(c.encoded, _ending(media_type(c.encoded) or logged)) for c in value.clips]


def _ending(kind: str | None) -> str:
    """The usual ending of files of a type, for those whose bytes `media_type` knows."""
    name = (kind or "").partition("/")[2].removeprefix("x-")
    known = "png", "gif", "webp", "bmp", "wav", "ogg", "flac"
    return {"jpeg": "jpg", "mpeg": "mp3"}.get(name, name if name in known else "bin")
