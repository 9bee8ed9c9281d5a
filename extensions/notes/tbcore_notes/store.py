"""Store: the notes and views of one log directory, merged from the files of three directories.

    $XDG_DATA_HOME/tbcore/notes/ID/own       by this user: by commands, programs, and through
                                             servers as access.py says
    $XDG_DATA_HOME/tbcore/notes/ID/server    by anybody, through servers of this user
    LOGDIR/.tbcore/notes                     copies that users have shared

ID is a hash of the path of the log directory. Nothing is written below the log directory but by
`share`. For each field of a run, and for each view, the last record counts; all processes agree on
which that is. Whether a run is archived is this user's choice, made in one of the first two: copies
of others count only where there is none.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from tbcore.engine import is_uri, one_line, size, user_directory
from tbcore_notes.changes import NO_LABELS, LabelChange, NotesError, lines_of_change, valid_values
from tbcore_notes.files import ChangedFilesError, Directory, author
from tbcore_notes.inventory import Inventory, inventory_of
from tbcore_notes.records import (
    ADDRESS,
    FIELDS,
    INVENTORY,
    MAX_LABELS,
    MAX_TIME,
    Record,
    Value,
    checked,
    checked_fragment,
    checked_name,
    line_of,
    lines_of,
)

MAX_RUNS = 200_000
"""Maximum number of runs with notes; of others in files, the notes are left out."""
MAX_CHANGE_BYTES = 4_000_000
"""Maximum size of a change through a server: what is noted about each run, and names of runs."""
MAX_OWN_CHANGE_BYTES = 64_000_000
"""Maximum size of a change by a command or a program."""
MAX_SERVER_BYTES = 64_000_000
"""Maximum size of what others have noted through servers of this user."""
MAX_SHARED_BYTES = 4_000_000
"""Maximum size of the files that are read in a log directory, which may be a stranger's."""
MAX_VIEWS = 1000
"""Maximum number of named views; of others in files, those that come later are left out."""
_RUNS_OF_ADDITION = 1000
"""Number of runs whose inventories are written together."""
_MAX_AHEAD_SECONDS = 86400
"""Records of others with a time further in the future are left out: their clocks are wrong, and
nothing that is noted today could replace them."""
_OF_SERVER = " (server)"
"""Follows the name of this user in what others note through a server."""
SHARED = ".tbcore", "notes"
"""The path below a log directory."""

RunRecords = Mapping[str, Record]
"""Maps each field that was noted to the record that counts."""


class Shared(NamedTuple):
    """What was copied to a log directory."""

    path: str | None
    """Of the copy; None if there was nothing to share."""
    num_runs: int
    num_views: int
    num_runs_of_server: int
    """Number of runs with notes that are not shared, since they came through a server and are not
    this user's own."""


class Store:
    """The notes on the runs of one log directory. Its methods may be called on any thread."""

    def __init__(self, logdir: str, *, is_one: bool = True) -> None:
        """`logdir` is a path or a URI; or names several, which have no shared notes, if `is_one` is
        false. Nothing is read or written yet."""
        self.logdir = logdir if is_uri(logdir) or not is_one else os.path.realpath(logdir)
        identity = hashlib.sha256(os.fsencode(self.logdir)).hexdigest()[:32]
        data = user_directory("XDG_DATA_HOME", "~/.local/share")
        folder = os.path.join(data, "tbcore", "notes", identity)
        self._own = Directory(os.path.join(folder, "own"), is_own=True)
        self._server = Directory(
            os.path.join(folder, "server"), is_own=False, max_bytes=MAX_SERVER_BYTES
        )
        self._directories = [self._own, self._server]
        if is_one and not is_uri(logdir):
            path = os.path.join(self.logdir, *SHARED)
            self._directories.append(
                Directory(path, is_own=False, max_bytes=MAX_SHARED_BYTES, is_run=self._is_run)
            )
        self._lock = threading.RLock()
        self.generation = 0
        """Rises with each change."""
        self.runs: dict[str, dict[str, Record]] = {}
        """Maps runs to the records of fields that count, also runs that are gone."""
        self.views: dict[str, Record] = {}
        """Maps names of views to the records that count, also of views that were taken away."""
        self.archived: dict[str, Record] = {}
        """Maps runs to the last of this user's own records about whether they are archived."""
        self.brought_back: dict[str, Record] = {}
        """Maps runs to the last of all records that say they are not archived."""
        self.archived_last: dict[str, Record] = {}
        """Maps runs to the last of all records about that, which need not be the one in `runs`."""
        self.inventories: dict[str, Inventory] = {}
        """Maps runs that this user has archived to the last inventory of their files."""
        self._decided: set[str] = set()
        """The runs whose record about that in `runs` is no copy of somebody else's."""
        self.generations: dict[str, int] = {}
        """Maps each of these runs to the generation in which its notes changed last."""
        self.problems: list[str] = []
        """What could not be read, or was left out above a limit, one line each."""
        self.left_out: list[str] = []
        """What is never read, one line each: notes behind a link."""

    def refresh(self) -> None:
        """Reads what was added to the files since the last call."""
        with self._lock:
            try:
                changed, has_other_views = self._read()
            except ChangedFilesError:
                before, self.runs, self.archived = self.runs, {}, {}
                self.archived_last, self._decided, self.inventories = {}, set(), {}
                self.brought_back = {}
                views, self.views = self.views, {}
                for directory in self._directories:
                    directory.forget()
                self._read()
                changed = {
                    run
                    for run in before.keys() | self.runs.keys()
                    if before.get(run) != self.runs.get(run)
                }
                has_other_views = views != self.views
            if changed or has_other_views:
                self.generation += 1
                self.generations.update(dict.fromkeys(changed, self.generation))

    @property
    def own_directories(self) -> list[Directory]:
        """The directories that this user's processes write to."""
        return [self._own, self._server]

    def all(self) -> Iterator[tuple[str, RunRecords, int]]:
        """Each run with notes, its records by field, and the generation in which they changed."""
        with self._lock:  # Not in the middle of reading everything again.
            runs, names = self.runs, list(self.runs)
        for name in names:
            yield name, runs[name], self.generations.get(name, 0)

    def size_of_change(
        self, runs: Iterable[str], values: Mapping[str, Any], labels: LabelChange = NO_LABELS
    ) -> int:
        """The size of what `change` would note, and of the names of the runs. Writes nothing.

        Raises BadRequestError for values that are not valid.
        """
        valid = valid_values(values, labels)
        self.refresh()
        each, total = len(orjson.dumps(valid)), 0
        for run in runs:
            total += each + len(run.encode("utf-8", "surrogatepass"))
            if any(labels):
                total += len(orjson.dumps(self._labels_after(run, labels)))
        return total

    def change(
        self,
        runs: Iterable[str],
        values: Mapping[str, Any],
        *,
        is_own: bool,
        labels: LabelChange = NO_LABELS,
    ) -> dict[str, int]:
        """Notes these values of fields about runs. They are on the disk when this returns.

        `labels` changes the labels that each run has. Returns the times of the records of runs that
        were archived. Raises BadRequestError for values that are not valid, and then none of them
        counts; and NotesError if they cannot be kept.
        """
        valid = valid_values(values, labels)
        runs = list(dict.fromkeys(runs))
        if not (valid or any(labels)) or not runs:
            return {}
        with self._lock:
            self.refresh()
            if len(self.runs) + len(runs) > MAX_RUNS:
                # For a run of this user's own, those of others are left out.
                kept = [
                    name
                    for name, each in self.runs.items()
                    if not is_own or any(record.is_own for record in each.values())
                ]
                if len({*kept, *runs}) > MAX_RUNS:
                    raise NotesError(f"at most {MAX_RUNS} runs can have notes")
            new, parts = [], lines_of_change(valid)
            for run in runs:
                known = self.runs.get(run, {})
                if any(labels):
                    parts = lines_of_change({**valid, "labels": self._labels_after(run, labels)})
                for values in parts:
                    replaced = tuple(known[field] for field in values if field in known)
                    new.append((run, values, replaced))
            return self._write(new, is_own=is_own)

    def _labels_after(self, run: str, labels: LabelChange) -> Value:
        """The labels of a run after a change. Raises BadRequestError if they are too many."""
        known = value_of(self.runs.get(run, {}), "labels")
        found = list(dict.fromkeys(labels.of(known)))
        return found if len(found) <= MAX_LABELS else checked("labels", found)

    def save_view(self, name: Any, address: Any, *, is_own: bool) -> None:
        """Keeps a view, in place of another of that name; with the address "" it is taken away.

        Raises BadRequestError for a name or an address that is not valid, and NotesError if the
        view cannot be kept.
        """
        name, address = checked_name(name), checked_fragment(address)
        with self._lock:
            self.refresh()
            known = self.views.get(name)
            own = sum(1 for view in self.views.values() if view.value and view.is_own)
            is_full = own >= MAX_VIEWS and not (known and known.value)
            if not is_own:  # `_read` would leave it out.
                is_full = len(self.views) >= MAX_VIEWS and known is None
            if address and is_full:
                way_out = "; take one away first" if is_own else ""
                raise NotesError(f"at most {MAX_VIEWS} views can be kept{way_out}")
            self._write([(name, {ADDRESS: address}, [known] if known else [])], is_own=is_own)

    def _write(
        self, new: Sequence[tuple[str, dict[str, Value], Iterable[Record]]], *, is_own: bool
    ) -> dict[str, int]:
        """Adds a line for each name with its values, which replace those of some records.

        Returns the times of the records of runs that were archived.
        """
        directory = self._own if is_own else self._server
        by = author() if is_own else f"{author()}{_OF_SERVER}"
        lines = bytearray()  # A list of small objects takes twice the memory.
        archived = {}
        for name, values, replaced in new:
            # Later than what it replaces, even if the clock of another machine is ahead. But when
            # a run was archived decides whether files may be deleted, so nobody else's clock, and
            # no time in a copy, may change that.
            is_bound = "archived" not in values or name in self._decided
            times = [record.time + 1 for record in replaced if is_bound]
            now = max(time.time_ns() // 1000, *times, 0)
            lines += line_of(now, by, name, values)
            if values.get("archived"):
                archived[name] = now
        what = "view" if any(ADDRESS in values for _, values, _ in new) else "note"
        self._add_lines(directory, lines, what)
        return archived

    def _add_lines(self, directory: Directory, lines: bytearray, what: str) -> None:
        """Adds lines, and reads them. Raises NotesError, which names `what` they are."""
        try:
            directory.add(lines)
        except OSError as error:
            reason = f"{error.strerror or error}: {error.filename or directory.path}"
            raise NotesError(one_line(f"the {what} cannot be kept: {reason}")) from None
        self.refresh()

    def fault(self) -> str | None:
        """Why nothing can be written to the data directory, or None. Nothing is written here."""
        folder = self._own.path
        if not os.path.isabs(folder):  # It begins with ~, which stands for nothing.
            return "notes cannot be kept, since this user has no home; set XDG_DATA_HOME"
        while not os.path.lexists(folder):
            folder = os.path.dirname(folder)
        if os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK):
            return None
        return one_line(f"notes cannot be kept in {self._own.path}: {folder} cannot be written to")

    def share(self) -> Shared:
        """Copies this user's own notes and views to the log directory, where others find them.

        Raises NotesError.
        """
        if is_uri(self.logdir):
            raise NotesError("notes can be shared only in a directory of this machine")
        self.refresh()
        with self._lock:
            own = [r for records in self.runs.values() for r in records.values() if r.is_own]
            views = [view for view in self.views.values() if view.is_own]
            num_others = sum(map(_has_notes_of_server, self.runs.values()))
        folder = os.path.join(self.logdir, *SHARED)
        place = hashlib.sha256(os.fsencode(self._own.path)).hexdigest()[:8]
        path = os.path.join(folder, f"{author()}-{place}.jsonl")
        if not own and not views and not os.path.lexists(path):
            return Shared(None, 0, 0, num_others)
        content = lines_of([*own, *views])
        others = 0
        with contextlib.suppress(OSError):
            others = sum(self._directories[-1].sizes())
            others -= os.lstat(path).st_size
        if len(content) + others > MAX_SHARED_BYTES:
            line = (
                f"the notes cannot be shared: with {size(len(content))}, there would be "
                f"{size(len(content) + others)} in {folder}, and readers of a log directory read "
                f"at most {size(MAX_SHARED_BYTES)}; shorten notes, or remove files there"
            )
            raise NotesError(one_line(line))
        temporary = f"{path}.{secrets.token_hex(4)}.tmp"
        try:
            for part in (os.path.dirname(folder), folder):
                if os.path.islink(part):
                    raise NotADirectoryError(0, "a link in place of a directory", part)
                if not os.path.isdir(part):
                    os.mkdir(part)
            try:
                with open(temporary, "xb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(temporary, path)
            finally:
                if os.path.lexists(temporary):
                    os.unlink(temporary)
        except OSError as error:
            reason = f"{error.strerror or error}: {error.filename or path}"
            raise NotesError(one_line(f"the notes cannot be shared: {reason}")) from None
        # What was undone is copied, too, but is no note.
        num_runs = len({r.name for r in own if r.value})
        return Shared(path, num_runs, sum(1 for v in views if v.value), num_others)

    def take_inventories(self, times: Mapping[str, int], *, at: float, waits: bool) -> None:
        """Keeps the inventories of the files of runs that this user has archived.

        `times` are those that `change` has returned; `at` and `waits` are as in `inventory_of`.
        Raises NotesError if they cannot be kept.
        """
        if is_uri(self.logdir):
            return
        runs, by = list(times), author()
        for start in range(0, len(runs), _RUNS_OF_ADDITION):
            lines = bytearray()
            for run in runs[start : start + _RUNS_OF_ADDITION]:
                folder = os.path.join(self.logdir, run)
                inventory = inventory_of(folder, times[run], at=at, waits=waits)
                if inventory is not None:
                    lines += line_of(times[run], by, run, {INVENTORY: inventory})
            if lines:
                with self._lock:
                    self._add_lines(self._own, lines, "list of files")

    def _is_run(self, name: str) -> bool:
        """Whether there is a directory of this name below the log directory. Never looks elsewhere,
        whatever the name is."""
        if name.startswith(("/", "../")) or os.path.normpath(name) != name or name == "..":
            return False
        try:
            return stat.S_ISDIR(os.lstat(os.path.join(self.logdir, name)).st_mode)
        except (OSError, ValueError):
            return False

    def _read(self) -> tuple[set[str], bool]:
        """Adds the new records; returns the runs whose notes have changed, and if views have."""
        changed: set[str] = set()
        has_other_views = False
        latest = (time.time_ns() // 1000) + _MAX_AHEAD_SECONDS * 1_000_000
        num_left_out = num_views_left_out = 0
        self.left_out = []
        for directory in self._directories:
            is_copy = directory not in (self._own, self._server)
            parts = directory.path, os.path.dirname(directory.path)
            if is_copy and any(map(os.path.islink, parts)):
                link = next(filter(os.path.islink, reversed(parts)), directory.path)
                self.left_out.append(one_line(f"{link} is left out: it is a link"))
                continue
            for record in directory.read(latest if is_copy else MAX_TIME):
                if record.field == ADDRESS:
                    known = self.views.get(record.name)
                    if known is None and len(self.views) >= MAX_VIEWS and not record.is_own:
                        num_views_left_out += 1
                    elif known is None or known < record:
                        self.views[record.name] = record
                        has_other_views = True
                    continue
                if isinstance(record.value, Inventory):
                    last = self.inventories.get(record.name)
                    if directory is self._own and (last is None or last.of <= record.value.of):
                        self.inventories[record.name] = record.value
                    continue
                is_new = record.name not in self.runs
                if is_new and len(self.runs) >= MAX_RUNS and not record.is_own:
                    num_left_out += 1
                elif self._add(record, is_copy=is_copy):
                    changed.add(record.name)
        self.problems = [line for directory in self._directories for line in directory.problems]
        if num_left_out:
            self.problems.append(f"{num_left_out} notes are left out: {MAX_RUNS} runs have notes")
        if num_views_left_out:
            self.problems.append(f"{num_views_left_out} views are left out: there are {MAX_VIEWS}")
        return changed, has_other_views

    def _add(self, record: Record, *, is_copy: bool) -> bool:
        """Whether the record counts: it is later than the one it replaces. `is_copy` is whether it
        is from the log directory."""
        fields = self.runs.get(record.name, {})
        known = fields.get(record.field)
        if record.field == "archived":
            every = [self.archived_last]
            every += [self.archived] * record.is_own + [self.brought_back] * (not record.value)
            for last in every:
                if record.name not in last or last[record.name] < record:
                    last[record.name] = record
            if is_copy and record.name in self._decided:
                return False
            if not is_copy and record.name not in self._decided:
                self._decided.add(record.name)
                known = None
        if known is not None and known >= record:
            return False
        # A new object, since other threads may be reading the one before.
        self.runs[record.name] = {**fields, record.field: record}
        return True


def value_of(records: RunRecords, field: str) -> Value:
    """The value of a field; that of FIELDS without a note."""
    record = records.get(field)
    return FIELDS[field] if record is None else record.value


def _has_notes_of_server(records: RunRecords) -> bool:
    """Whether something was noted about a run through a server, and is nobody's own."""
    return any(r.by.endswith(_OF_SERVER) and bool(r.value) for r in records.values())
