"""MLflow: an SQLite database has experiments, runs, their metrics, parameters and tags.

Each scan lists the runs of a database that has changed. Metrics are only ever added, so a
reader continues after the last row that it has read.
"""

from __future__ import annotations

import json
import math
import os
import posixpath
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from tbcore.engine import EventFile, FileReplacedError, SourceRun
from tbcore_formats.common import Rows, hparam, is_being_written, safe_name
from tbcore_formats.facts import RunFacts
from tbcore_formats.reader import Points
from tbcore_formats.sqlite import Database, close_deleted, rows_of

_TABLES = {
    "experiments": "experiment_id name lifecycle_stage",
    "runs": "run_uuid name status start_time end_time lifecycle_stage experiment_id",
    "metrics": "key value timestamp run_uuid step is_nan",
    "params": "key value run_uuid",
    "tags": "key value run_uuid",
}
_RUNS = """select r.run_uuid, r.name, e.name, r.status, r.start_time, r.end_time, r.rowid
    from runs r join experiments e using (experiment_id)
    where r.lifecycle_stage = 'active' and e.lifecycle_stage = 'active'"""
_PARAMS = "select run_uuid, key, value from params order by rowid"
_TAGS = """select run_uuid, key, value from tags
    where key not like 'mlflow.%'
    or key in ('mlflow.runName', 'mlflow.note.content', 'mlflow.parentRunId')"""
_NEW = """select run_uuid, count(*), max(timestamp), max(rowid)
    from (select run_uuid, timestamp, rowid from metrics where rowid > ? order by rowid limit ?)
    group by run_uuid"""
_ROW = "select rowid, key, step, timestamp, value, is_nan from metrics where rowid = ?"
_POINTS = """select rowid, key, step, timestamp, value, is_nan from metrics
    where run_uuid = ? and rowid > ? order by rowid limit ?"""
_TYPES = [{str}, {int}, {int}, {float}]
"""The types of a key, a step, a time and a value, whose columns may have any."""
_STATUSES = {"RUNNING": 3, "SCHEDULED": 3, "FINISHED": 1, "FAILED": 2, "KILLED": 2}
_BATCH = 5_000
"""Maximum number of rows that are read at once, which takes a few milliseconds."""
_MAX_TRIES = 5
_MAX_WAIT_SECONDS = 0.05
_MAX_LIST_SECONDS = 0.25
_MAX_HPARAMS, _POINT_BYTES = 10_000, 100
_INFINITY = sys.float_info.max


class Runs:
    """The runs of databases, named by their experiments and their names."""

    def __init__(self) -> None:
        self._stores: dict[str, _Store] = {}

    def runs(self, files: Sequence[tuple[str, EventFile]]) -> Iterator[SourceRun | str]:
        close_deleted()
        # These are the databases of all roots, so one that is not in `files` may still exist.
        self._stores = {p: each for p, each in self._stores.items() if os.path.lexists(p)}
        is_written = False
        for name, file in files:
            if name.endswith(("-wal", "-journal")) or not file.size:
                continue
            store = self._store(file.path)
            try:
                store.update(file)
            except BlockingIOError:
                is_written = True
            # MLflow makes its tables one after the other.
            if store.problem and not is_being_written(file):
                yield f"{file.path} cannot be read: {store.problem}"
            for run in store.runs:
                yield run._replace(name=posixpath.join(posixpath.dirname(name), run.name))
        if is_written:
            raise BlockingIOError

    def reader(self, run: SourceRun) -> Reader:
        return Reader(self._store(run.files[0].path), run.key)

    def _store(self, path: str) -> _Store:
        if path not in self._stores:
            self._stores[path] = _Store(path)
        return self._stores[path]


class _Store:
    """A database, and what is known about its runs."""

    def __init__(self, path: str) -> None:
        self.database = Database(path, _TABLES)
        self.runs: list[SourceRun] = []
        """Named below the directory of the database."""
        self.problem = ""
        """Why the database cannot be listed as it is now; empty if it was."""
        self._unread: set[str] = set()
        """The runs that have changed since a reader was at their end."""
        self._stamp: Any = None
        self._last, self._last_row = 0, list[tuple[Any, ...]]()
        """The last row of the metrics that was counted."""
        self._counts: dict[str, tuple[int, int]] = {}
        """Maps a run to the number of its metrics and the latest of their times."""
        self._rows: dict[str, tuple[Any, ...]] = {}
        self._num_of_name = Counter[str]()
        """The number of runs that have a name."""
        self._tags: dict[str, dict[str, str]] = {}
        self._params: dict[str, dict[str, str]] = {}
        self._params_mark: Any = None

    def update(self, file: EventFile) -> None:
        """Lists the runs, if the database has changed. Raises BlockingIOError if that must be tried
        again soon."""
        self.database.close()  # A copy serves one pass.
        deadline = time.monotonic() + _MAX_WAIT_SECONDS
        while (stamp := self.database.stamp()) != self._stamp:
            self.problem = ""
            try:
                self._list(file)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.001)
                continue
            except Exception as error:  # The other databases must be read all the same.
                self.problem = getattr(error, "strerror", None) or str(error) or repr(error)
            self._stamp = stamp
            break
        self.end_reading("")

    def end_reading(self, run: str) -> None:
        """Closes the database if all other runs have been read, so that no copy stays in memory."""
        self._unread.discard(run)
        if not self._unread:
            self.database.close()

    def query(self, text: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows that a query finds. Raises BlockingIOError if each try meets a change."""
        for _ in range(_MAX_TRIES):
            with suppress(BlockingIOError), self.database.snapshot() as connection:
                return rows_of(connection.execute(text, values))
        raise BlockingIOError

    def _list(self, file: EventFile) -> None:
        deadline = time.monotonic() + _MAX_LIST_SECONDS
        if self.query(_ROW, self._last) != self._last_row:
            self._last, self._counts = 0, {}
        while new := self.query(_NEW, self._last, _BATCH):
            for run, count, latest, row in new:
                before = self._counts.get(run, (0, 0))
                self._counts[run] = before[0] + count, max(before[1], _milliseconds(latest))
                self._last = max(self._last, row)
            if time.monotonic() > deadline:
                break
        self._last_row = self.query(_ROW, self._last)
        mark = self.query("select count(*), max(rowid) from params")
        if mark != self._params_mark:
            self._params, self._params_mark = _by_run(self.query(_PARAMS)), mark
        # Sorted here: SQLite would sort before the first row, with files of any size.
        self._tags = _by_run(sorted(self.query(_TAGS), key=lambda row: str(row[1])))
        rows = sorted(self.query(_RUNS), key=lambda row: (_milliseconds(row[4]), row[-1]))
        self._rows = {row[0]: row[:-1] for row in rows}
        self._num_of_name = Counter(map(self._name, self._rows))
        files = {run.key: run.files for run in self.runs}
        self.runs = [self._run(file, row) for row in self._rows.values()]
        self._unread &= {run.key for run in self.runs}
        self._unread |= {run.key for run in self.runs if run.files != files.get(run.key)}
        if new:
            raise BlockingIOError  # There may be more.

    def _run(self, file: EventFile, row: tuple[Any, ...]) -> SourceRun:
        run, _, _, _, start, end = row
        tags = self._tags.get(run, {})
        count, latest = self._counts.get(run, (0, 0))
        written = max(latest, _milliseconds(start), _milliseconds(end)) * 1_000_000
        # Stands for a file of the run alone. Its ctime is a hash of all that is no metric, so that
        # it changes with that.
        num_params, parent = len(self._params.get(run, ())), self._parent(run)
        facts = hash((row, tuple(tags.items()), num_params, parent)) & 0xFFFFFFFF
        own = file._replace(size=count * _POINT_BYTES, mtime_ns=written, ctime_ns=facts)
        return SourceRun(self._name(run), [own], str(run), _milliseconds(start) / 1e3 or None)

    def _name(self, run: str) -> str:
        """The names of its experiment and of the run, which several may have."""
        _, name, experiment, *_ = self._rows[run]
        given = name or self._tags.get(run, {}).get("mlflow.runName") or ""
        return f"{safe_name(str(experiment), '_')}/{safe_name(str(given), str(run))}"

    def _parent(self, run: str) -> str:
        """The name of the run's parent, with the id if other runs have this name, too."""
        parent = self._tags.get(run, {}).get("mlflow.parentRunId", "")
        if parent not in self._rows:
            return ""
        name = self._name(parent)
        return name.partition("/")[2] + (f" ({parent})" if self._num_of_name[name] > 1 else "")

    def facts(self, run: str) -> RunFacts:
        """Raises FileNotFoundError if the run has been deleted."""
        if run not in self._rows:
            raise FileNotFoundError(run)
        _, _, _, status, start, end = self._rows[run]
        tags = self._tags.get(run, {})
        own = "\n\n".join(f"**{k}**: {v}" for k, v in tags.items() if not k.startswith("mlflow."))
        texts = {"note": tags.get("mlflow.note.content", ""), "tags": own}
        texts["parent"] = self._parent(run)
        params = [*self._params.get(run, {}).items()][:_MAX_HPARAMS]
        return RunFacts(
            {key: _value(text) for key, text in params},
            {tag: text for tag, text in texts.items() if text}, "",
            _milliseconds(start) / 1e3 or None, _milliseconds(end) / 1e3 or None,
            _STATUSES.get(status, 0),
        )  # fmt: skip


class Reader:
    """Reads one run of a database."""

    def __init__(self, store: _Store, run: str) -> None:
        self.offset = 0
        self._store, self._run = store, run
        self._last: tuple[Any, ...] = ()
        """The last row that was read."""
        self._points = Rows()

    def read(self, files: Sequence[EventFile]) -> Iterator[Mapping[str, Points] | RunFacts | str]:
        query, is_last = self._store.query, False
        if self._last and query(_ROW, self._last[0]) != [self._last]:
            raise FileReplacedError(files[0].path)
        while not is_last:
            begin = self._last[0] if self._last else -1 << 63
            rows = query(_POINTS, self._run, begin, _BATCH)
            self._last = rows[-1] if rows else self._last
            self.offset += len(rows) * _POINT_BYTES
            is_last = len(rows) < _BATCH
            columns = [*zip(*rows, strict=True)]
            if rows and [{*map(type, column)} for column in columns[1:5]] != _TYPES:
                yield "metrics that are not numbers, or have no step, are left out"
                rows = [row for row in rows if [{type(cell)} for cell in row[1:5]] == _TYPES]
                columns = [*zip(*rows, strict=True)]
            if rows:
                _, keys, steps, times, values, are_nan = columns
                found = np.array(values)
                found[np.abs(found) == _INFINITY] *= math.inf
                found[[*map(bool, are_nan)]] = math.nan
                self._points.extend(keys, np.array(steps), np.array(times) / 1e3, found)
            yield from self._points.taken()
        self._store.end_reading(self._run)
        yield self._store.facts(self._run)


def _by_run(rows: list[tuple[Any, ...]]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for run, key, value in rows:
        found.setdefault(run, {})[str(key)] = str(value)
    return found


def _milliseconds(value: Any) -> int:
    """A time in the database; 0 if the value is not a time."""
    return value if isinstance(value, int) and 0 <= value < 1 << 53 else 0


def _value(text: str) -> float | str | bool | None:
    """A parameter, which is text in the database."""
    if text in ("True", "False"):
        return text == "True"
    try:
        # Python's text of a list of numbers is JSON.
        return hparam(json.loads(text) if text[:1] in ("[", "{") else float(text))
    except (ValueError, RecursionError):
        return text
