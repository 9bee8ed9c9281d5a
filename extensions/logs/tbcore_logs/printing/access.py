"""Access to logs for the commands: opens them, and reads them with progress on stderr."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import click

from tbcore import BadRequestError, DataError, NotFoundError, TbcoreError
from tbcore.engine import (
    folder_spec,
    is_uri,
    note_on,
    one_line,
    parse,
    plural,
    quoted,
    warn,
    warnings_printed,
)
from tbcore_logs.commands.arguments import default_logdir, folders_of, split_names
from tbcore_logs.errors import lines_about
from tbcore_logs.forms import AUDIO, GRAPH, HISTOGRAM, IMAGE, PR_CURVES, TEXT
from tbcore_logs.items import LoggedItems
from tbcore_logs.logs import Logs
from tbcore_logs.noted import RunNotes
from tbcore_logs.run import Run
from tbcore_logs.selection import matching

logger = logging.getLogger("tbcore")

_BATCH_BYTES = 1 << 26
"""Maximum size of runs that are read together; a larger run is read alone."""
_BATCH_RUNS = 2000
_PROGRESS_AFTER_SECONDS = 1.0
_PAUSE_SECONDS = 0.5
"""Pause between two looks for the first event files, which take as long as a scan."""
_REMOTE_PAUSE_SECONDS = 30.0

ITEMS_OF: Mapping[str, Callable[[Run, str], LoggedItems[Any]]] = {
    IMAGE: Run.images, AUDIO: Run.audio, HISTOGRAM: Run.histograms, TEXT: Run.texts,
    GRAPH: lambda run, tag: run.graph(), PR_CURVES: Run.pr_curves,
}  # fmt: skip
"""Maps each kind of tag except scalars to the method of a run that returns its values."""


class LogSelection(NamedTuple):
    """The argument LOGDIR, and the options --runs, --where and --tags."""

    logdir: str | Sequence[str] | None
    runs: list[str] | None = None
    """Values with names and patterns; None for all runs."""
    where: str | None = None
    tags: list[str] | None = None
    """Values with names and patterns; None for all tags."""

    def path(self, *, says: bool = False) -> str | Sequence[str]:
        """LOGDIR, or several, or else the `default_logdir`."""
        return self.logdir or default_logdir(says=says)

    def opened(self, *, waits: bool = False) -> tuple[Logs, list[str]]:
        """The logs, and the names of the runs. Raises ClickException if there are none.

        With `waits`, waits for event files, as `opened` does.
        """
        logs = opened(self.path(says=True), waits=waits)
        names = self.names(logs)
        if not names and not len(logs):
            none = f"no event files below {_shown(self.path())!r}"
            if looked_for := ", ".join(logs._reader.looked_for):
                none = f"{none} (looked for {looked_for})"
            raise click.ClickException("; ".join([none, *logs._reader.not_shown]))
        if not names:
            raise click.ClickException(f"none of {len(logs):,} runs matches{self._meant(logs)}")
        return logs, names

    def names(self, logs: Logs, *, is_first: bool = True) -> list[str]:
        """The names of the selected runs among those that exist now.

        With a query, reads all runs; if `is_first`, warns about hyperparameters and tags that no
        run has. Raises UnknownNameError for a name that no run has, and UsageError for a query that
        is not valid.
        """
        try:
            query = None if self.where is None else parse(self.where)
            found = _selected(self.runs, logs, "run")
            if query is None:
                return found
            read(logs, logs)
            columns = logs.attributes()
            of_query = set(columns.runs_found(query))
        except BadRequestError as error:
            raise click.UsageError(f"--where: {error}", click.get_current_context()) from None
        for line in dict.fromkeys(lines_about(columns.unknown(query))) if is_first else ():
            warn(one_line(line))
        return [name for name in found if name in of_query]

    @property
    def is_about_archived(self) -> bool:
        """Whether the query says whether archived runs are selected."""
        return "is:archived" in (self.where or "").lower()

    def archived_others(self, logs: Logs, names: Collection[str]) -> list[str]:
        """The runs that the query would select besides `names` if they were not archived."""
        if not self.is_about_archived:
            return []
        found = logs.attributes(none_archived=True).runs_found(parse(self.where or ""))
        others = set(found).difference(names)
        return [name for name in _selected(self.runs, logs, "run") if name in others]

    def mention_archived(self, logs: Logs, names: Collection[str]) -> None:
        """Prints to stderr how many of these runs are archived, unless the query says it."""
        if self.is_about_archived:
            return
        notes = RunNotes(lambda: logs.notes)
        count = sum("archived" in notes.of(name) for name in names)
        if count:
            verb = "is" if count == 1 else "are"
            line = f"{count:,} of {plural(len(names), 'run')} {verb} archived"
            click.echo(f"tbcore: {line}; without archived runs: --where -is:archived", err=True)

    def _meant(self, logs: Logs) -> str:
        """The end of a message about a query that finds nothing: others that are close to it."""
        query = _with_signs(self.where or "")
        if query == self.where:
            columns, node = logs.attributes(), parse(query)
            if any(columns.unknown(node)):  # There is a warning.
                return ""
            note, offers = note_on(query, node, columns, finds_nothing=True)
            texts = [quoted(each.in_query(query)) for each in offers if not each.label]
            if texts:
                return f"; did you mean {', or '.join(texts)}?"
            return f". {one_line(note)}" if note else ""
        with contextlib.suppress(BadRequestError):
            found = self._replace(where=query).names(logs, is_first=False)
            return f"; did you mean {quoted(query)}, which finds {len(found):,}?" if found else ""
        return ""

    def tags_of(self, known: Iterable[str], *, need_all: bool = False) -> list[str]:
        """The selected tags among those that are known.

        With `need_all`, raises UnknownNameError if one is not known. A run need not have all.
        """
        return _selected(self.tags, known, "tag" if need_all else None)


def _selected(texts: list[str] | None, known: Iterable[str], what: str | None) -> list[str]:
    """The known names that the values of an option select; see `matching`.

    A value that is a known name, or one as it is printed, is that name, and not split at its
    commas.
    """
    known = dict.fromkeys(known)
    if texts is None:
        return list(known)
    names = []
    for text in texts:
        name = _printed_name(text, known)
        names += [name] if name in known else split_names(text)
    return matching(names, known, what)


def _with_signs(query: str) -> str:
    """The query with a blank for `and`, `|` for `or`, and `-` for `not`, outside of quotes."""
    signs = {"and": "", "or": "| ", "not": "-"}
    words = r'"(?:[^"]|"")*"|(?<![^\s(|-])(and|or|not)(?![^\s(|])\s*'

    def sign(found: re.Match[str]) -> str:
        return found[0] if found[1] is None else signs[found[1].lower()]

    return re.sub(words, sign, query, flags=re.IGNORECASE)


@contextlib.contextmanager
def command_output() -> Iterator[None]:
    """Prints warnings like tbcore, and ends the process quietly when the reader of stdout is gone.

    It ends by SIGPIPE, like other commands in a pipe. SIGPIPE is ignored until then, so a lost
    connection to a remote file raises an error. On Windows, which has no SIGPIPE, `main` prints
    the error.
    """
    try:
        with warnings_printed():
            if hasattr(sys.stdout, "reconfigure"):
                sys.stdout.reconfigure(errors="backslashreplace")
            yield
            with contextlib.suppress(AttributeError):
                sys.stdout.flush()
    except BrokenPipeError:
        if hasattr(signal, "SIGPIPE"):
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGPIPE)
        raise
    except OSError as error:
        # Those of files that a command writes have been converted.
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise click.ClickException(f"cannot write to stdout: {error.strerror}") from None


@contextlib.contextmanager
def if_readable() -> Iterator[None]:
    """Turns an error of unreadable data into a warning."""
    try:
        yield
    except (DataError, NotFoundError) as error:
        logger.warning("%s", one_line(str(error)))


def _shown(path: str | Sequence[str]) -> str:
    return ", ".join(folders_of(path))


def opened(logdir: str | Sequence[str] | None, *, waits: bool = False) -> Logs:
    """The logs in a directory or event file, or in several, by default in `default_logdir`.

    With `waits`, waits until there are event files, after a line that says so.
    """
    path = logdir or default_logdir()
    context = click.get_current_context()
    said = ""
    while True:
        try:
            with progress(lambda: f"looking for event files below {_shown(path)}"):
                logs = Logs(path)
            if len(logs) or not waits:
                break
            line = f"no event files below {_shown(path)!r} yet; waiting for the first"
        except FileNotFoundError as error:
            missing = f"{error.filename!r} does not exist"  # In an object store, maybe the bucket.
            if not waits:
                raise click.UsageError(missing, context) from None
            line = f"{missing}; waiting for it"
        except TbcoreError:  # Some are ValueErrors.
            raise
        except ValueError as error:
            raise click.UsageError(str(error), context) from None
        except OSError as error:
            raise DataError(str(error)) from None
        if line != said:
            warn(one_line(line))
            said = line
        is_remote = any(is_uri(folder_spec(text).path) for text in folders_of(path))
        time.sleep(_REMOTE_PAUSE_SECONDS if is_remote else _PAUSE_SECONDS)
    context.ensure_object(list).append(logs)  # `main` needs it for the exit status.
    return logs


def opened_for(name: str) -> Logs:
    """The logs in the default directory. If they lack a run of this name, but it is a path, those
    in the working directory, whose names are paths as a shell completes them."""
    logs = opened(None)
    is_path = not has_run(logs, name) and os.path.isdir(name)
    return opened(".") if is_path and not os.environ.get("TBCORE_LOGDIR") else logs


def has_run(logs: Logs, name: str) -> bool:
    return typed_name(name, logs.sizes) in logs


def runs_named(logs: Logs, text: str) -> list[str]:
    """The run of this name, as it may be typed, or else those that names and patterns in the text
    select, as in --runs. Raises UnknownNameError for an unknown name, ClickException for none."""
    name = typed_name(text, logs.sizes)
    found = [name] if name in logs else _selected([text], logs, "run")
    if not found:
        raise click.ClickException(f"none of {plural(len(logs), 'run')} matches {quoted(text)}")
    return found


def run_named(logs: Logs, name: str) -> Run:
    """A run by its name as it may be typed: see `typed_name`."""
    return logs[typed_name(name, logs.sizes)]


def typed_name(text: str, known: Collection[str]) -> str:
    """The name of a run that a text stands for, also as a path, such as `./exp/a/`, or as it is
    printed; the text itself if none has it."""
    path = os.path.normpath(text)
    return path if path in known and text not in known else _printed_name(text, known)


def _printed_name(text: str, known: Collection[str]) -> str:
    r"""The known name that is printed as this text, with escapes such as `\n`; the text itself if
    none is, or several are."""
    if text in known or "\\" not in text:
        return text
    found = [name for name in known if one_line(name) == text]
    return found[0] if len(found) == 1 else text


def read(logs: Logs, names: Iterable[str]) -> list[Run]:
    """Reads runs, and shows progress after a second."""
    return [run for batch in read_in_batches(logs, names) for run in batch]


def read_in_batches(logs: Logs, names: Iterable[str]) -> Iterator[list[Run]]:
    """Reads runs in batches, and shows progress after a second. Yields each batch."""
    sizes = logs.sizes
    batches: list[list[str]] = [[]]
    num_bytes = total = done = 0
    for name in names:
        size = sizes.get(name, 0)
        if batches[-1] and (num_bytes + size > _BATCH_BYTES or len(batches[-1]) == _BATCH_RUNS):
            batches.append([])
            num_bytes = 0
        batches[-1].append(name)
        num_bytes += size
        total += size
    with progress(lambda: f"reading logs: {done / (total or 1):.0%} of {total / 1e6:,.0f} MB"):
        for batch in batches:
            # A run whose files were deleted after the scan is left out.
            there = [name for name in batch if name in logs]
            yield logs.read(runs=there) if there else []
            done += sum(sizes.get(name, 0) for name in batch)


@contextlib.contextmanager
def progress(text: Callable[[], str]) -> Iterator[None]:
    """Shows a line while the `with` block runs, after a second, if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    done, shown = threading.Event(), False

    def show() -> None:
        nonlocal shown
        pause = _PROGRESS_AFTER_SECONDS
        while not done.wait(pause):
            print(f"\r\x1b[Ktbcore: {text()}", end="", file=sys.stderr, flush=True)
            shown, pause = True, 0.2

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        if shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
