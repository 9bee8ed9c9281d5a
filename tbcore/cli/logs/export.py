"""`tbcore export`: scalars as CSV, JSON lines or Parquet; images and audio as files.

    batch of runs  --read-->  series  --chunks of rows-->  writer  -->  temporary file  -->  file

A batch is dropped from memory when it is written. A file gets its name when it is complete, so
there never is half a file under that name.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple
from urllib.parse import quote

import click
import numpy as np

from tbcore.cli.logs.access import of_run, opened, read_in_batches, selected, split
from tbcore.cli.logs.ls import nothing_found
from tbcore.cli.logs.output import warn_nothing
from tbcore.cli.logs.writers import WRITERS, Writer
from tbcore.cli.parsing import warn
from tbcore.errors import DataError, NotFoundError
from tbcore.eventfiles.logdir import one_line
from tbcore.logs import LoggedItems, Logs, Run
from tbcore.logs.logs import matching
from tbcore.logs.tables import free_name
from tbcore.values.forms import AUDIO, IMAGE

_CHUNK_ROWS = 1 << 15
_MAX_NAME_CHARS = 200
"""Maximum length of the name of a directory for media."""
_IMAGE_SIGNATURES = {
    b"\x89PNG": "png", b"\xff\xd8\xff": "jpg", b"GIF8": "gif", b"RIFF": "webp", b"BM": "bmp",
}  # fmt: skip
_ITEMS_OF: Mapping[str, Callable[[Run, str], LoggedItems[Any]]] = {
    IMAGE: Run.images, AUDIO: Run.audio,
}  # fmt: skip
"""The method that returns the values of a tag whose kind is that of files."""


def export(
    logdir: str | None,
    *,
    output: str | None,
    media: str | None,
    tags: Iterable[str],
    runs: Iterable[str],
    where: str | None,
    is_wide: bool,
    as_json: bool,
) -> int:
    """Writes files; returns the exit status."""
    ending = "jsonl" if as_json else "csv"
    if output not in (None, "-"):
        ending = os.path.splitext(str(output))[1].removeprefix(".").lower()
    if ending not in WRITERS:
        raise click.UsageError(
            f"-o {output!r} ends with none of {', '.join(f'.{known}' for known in WRITERS)}",
            click.get_current_context(),
        )
    logs = opened(logdir)
    names = selected(logs, runs, where)
    if not names:
        return nothing_found(logs, logdir)
    selection = _Selection(logs, names, split(tags), {})
    num_written = 0
    if output is not None:
        with _opened_for_writing(output) as file:
            writer = WRITERS[ending](file, is_terminal=output == "-" and file.isatty())
            num_written = (_write_wide if is_wide else _write_long)(writer, selection)
            selection.check()  # before the file gets its name
            if not num_written:
                raise _NothingWrittenError
    if media is not None:
        num_files = _write_media(Path(media), selection)
        selection.check()
        click.echo(f"{num_files:,} files in {media}", err=True)
        num_written += num_files
    return 0 if num_written else warn_nothing("no values match")


class _NothingWrittenError(click.ClickException):
    """There are no points to write, so there is no file."""

    def __init__(self) -> None:
        super().__init__("no scalars match; nothing is written")


class _Selection(NamedTuple):
    """The runs and tags to write."""

    logs: Logs
    names: Sequence[str]
    tags: list[str] | None
    """Names and patterns; None for all tags."""
    known_tags: dict[str, None]
    """All tags of the runs that were read, as keys."""

    def runs(self) -> Iterator[Run]:
        """The runs, read in batches; each batch is dropped from memory after its last run."""
        for batch in read_in_batches(self.logs, self.names):
            for run in batch:
                self.known_tags.update(dict.fromkeys(run))
                yield run
            self.logs.forget(run.name for run in batch)

    def check(self) -> None:
        """Raises UnknownNameError for a tag that no run has, once all runs were read."""
        matching(self.tags, self.known_tags, "tag")


# -- rows --------------------------------------------------------------------------------------


def _write_long(writer: Writer, selection: _Selection) -> int:
    """Writes a row for each point; returns the number of rows."""
    titles = {"step": np.int64, "wall_time": np.float64, "value": np.float64}
    num_rows = 0
    for run in selection.runs():
        for tag in of_run(selection.tags, run.scalar_tags):
            series = run[tag]
            if len(series) and not num_rows:
                writer.begin(["run", "tag"], titles)
            for start in range(0, len(series), _CHUNK_ROWS):
                rows = slice(start, start + _CHUNK_ROWS)
                columns = series.steps(rows), series.wall_time[rows], series.value[rows]
                writer.write([run.name, tag], columns)
            num_rows += len(series)
    if num_rows:
        writer.end()
    return num_rows


def _write_wide(writer: Writer, selection: _Selection) -> int:
    """Writes a row for each step of a run, with a column for each tag; returns their number.

    Reads all runs twice, since the columns must be known before the first row.
    """
    tags: dict[str, None] = {}
    for run in selection.runs():
        tags |= dict.fromkeys(of_run(selection.tags, run.scalar_tags))
    if not tags:
        return 0
    titles: dict[str, type] = {"step": np.int64}
    for tag in tags:
        titles[free_name(tag, {"run": None, **titles})] = np.float64
    writer.begin(["run"], titles, is_sparse=True)
    num_rows, num_left_out = 0, 0
    for run in selection.runs():
        own = of_run(selection.tags, run.scalar_tags)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the points that are counted here for all runs
            step, *values = list(selection.logs.scalars(own, [run.name]).wide().columns.values())[
                1:
            ]
        num_left_out += sum(len(run[tag]) - len(np.unique(run[tag].step)) for tag in own)
        by_tag = dict(zip(own, values, strict=True))
        missing = np.full(len(step), np.nan, np.float32)
        for start in range(0, len(step), _CHUNK_ROWS):
            rows = slice(start, start + _CHUNK_ROWS)
            writer.write([run.name], [step[rows], *(by_tag.get(t, missing)[rows] for t in tags)])
        num_rows += len(step)
    writer.end()
    if num_left_out:
        warn(f"{num_left_out:,} points are left out: a later one of the tag has the same step")
    return num_rows


# -- files -------------------------------------------------------------------------------------


@contextlib.contextmanager
def _opened_for_writing(path: str) -> Iterator[IO[bytes]]:
    """A file with this name, which it gets at the end if there was no error; `-` is stdout.

    Raises ClickException with one line if the file cannot be written.
    """
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if os.path.exists(path) and not os.path.isfile(path):
        raise click.ClickException(f"cannot write {path!r}: it exists, and is no file")
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        # Ctrl-C must not end the process before the temporary file is deleted.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    target = os.path.realpath(path)
    temporary = os.path.join(
        os.path.dirname(target), f".{os.path.basename(target)[:_MAX_NAME_CHARS]}.{os.getpid()}.tmp"
    )
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as error:
        raise click.ClickException(f"cannot write {path!r}: {error.strerror or error}") from None
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def _write_media(folder: Path, selection: _Selection) -> int:
    """Writes images and clips as FOLDER/RUN/TAG/STEP.png; returns the number of files."""
    num_files = 0
    for run in selection.runs():
        for tag in of_run(
            selection.tags, [t.name for t in run.tags.values() if t.kind in _ITEMS_OF]
        ):
            directory = folder.joinpath(*map(_safe, run.name.split("/")), _safe(tag))
            used: set[str] = set()
            for item in _ITEMS_OF[run.tags[tag].kind](run, tag):
                try:
                    samples = _samples(item.value)
                except (DataError, NotFoundError) as error:
                    warn(one_line(f"run {run.name!r}, tag {tag!r}: {error}"))
                    continue
                for content, ending in samples:
                    name, number = f"{item.step}", 1
                    while name in used:
                        number += 1
                        name = f"{item.step}_{number}"
                    used.add(name)
                    _make_directory(directory)
                    with _opened_for_writing(str(directory / f"{name}.{ending}")) as file:
                        file.write(content)
                    num_files += 1
    return num_files


def _make_directory(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or error
        raise click.ClickException(f"cannot create {str(directory)!r}: {reason}") from None


def _samples(value: Any) -> list[tuple[bytes, str]]:
    """The content and the ending of each file in a value."""
    if hasattr(value, "clips"):
        ending = "wav" if "wav" in value.content_type.lower() else "bin"
        return [(clip.encoded, ending) for clip in value.clips]
    return [
        (content, next((e for s, e in _IMAGE_SIGNATURES.items() if content.startswith(s)), "bin"))
        for content in value.encoded
    ]


def _safe(name: str) -> str:
    """A name for a directory that is never outside of its parent; different for different names."""
    quoted = quote(name, safe=" +,=@()[]", errors="surrogatepass")
    if quoted.startswith("."):
        quoted = f"%2E{quoted[1:]}"
    if len(quoted) > _MAX_NAME_CHARS:
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        quoted = f"{quoted[: _MAX_NAME_CHARS - 17]}-{digest[:16]}"
    return quoted
