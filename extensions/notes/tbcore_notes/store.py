"""Store: the notes on the runs of one log directory, merged from the files of three directories.

    $XDG_DATA_HOME/tbcore/notes/ID/own       by this user: by commands, programs and servers that
                                             only this machine can reach
    $XDG_DATA_HOME/tbcore/notes/ID/server    by anybody, through other servers of this user
    LOGDIR/.tbcore/notes                     copies that users have shared

ID is a hash of the path of the log directory. Nothing is written below the log directory but by
`share`. For each field of a run, the last record counts; all processes agree on which that is.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any

from tbcore import TbcoreError
from tbcore.engine import is_uri, one_line, user_directory
from tbcore_notes.files import ChangedFilesError, Directory, author
from tbcore_notes.records import FIELDS, MAX_TIME, Record, Value, checked, line_of, lines_of

MAX_RUNS = 200_000
"""Maximum number of runs with notes; of others in files, the notes are left out."""
_MAX_AHEAD_SECONDS = 86400
"""Records of others with a time further in the future are left out: their clocks are wrong, and
nothing that is noted today could replace them."""
SHARED = ".tbcore", "notes"
"""The path below a log directory."""

RunRecords = Mapping[str, Record]
"""Maps each field that was noted to the record that counts."""


class NotesError(TbcoreError):
    """A note cannot be kept."""

    status = 503


class Store:
    """The notes on the runs of one log directory. Its methods may be called on any thread."""

    def __init__(self, logdir: str) -> None:
        """`logdir` is a path or a URI. Nothing is read or written yet."""
        self.logdir = logdir if is_uri(logdir) else os.path.realpath(logdir)
        identity = hashlib.sha256(os.fsencode(self.logdir)).hexdigest()[:32]
        data = user_directory("XDG_DATA_HOME", "~/.local/share")
        folder = os.path.join(data, "tbcore", "notes", identity)
        self._own = Directory(os.path.join(folder, "own"), is_own=True)
        self._server = Directory(os.path.join(folder, "server"), is_own=False)
        self._directories = [self._own, self._server]
        if not is_uri(logdir):
            self._directories.append(Directory(os.path.join(self.logdir, *SHARED), is_own=False))
        self._lock = threading.RLock()
        self._last_time = 0
        """That of the last record that was written here."""
        self.generation = 0
        """Rises with each change."""
        self.runs: dict[str, dict[str, Record]] = {}
        """Maps runs to the records of fields that count, also runs that are gone."""
        self.archived: dict[str, Record] = {}
        """Maps runs to the last of this user's own records about whether they are archived."""
        self.generations: dict[str, int] = {}
        """Maps each of these runs to the generation in which its notes changed last."""
        self.problems: list[str] = []
        """What was left out, one line each."""

    def refresh(self) -> None:
        """Reads what was added to the files since the last call."""
        with self._lock:
            try:
                changed = self._read()
            except ChangedFilesError:
                before, self.runs, self.archived = self.runs, {}, {}
                for directory in self._directories:
                    directory.forget()
                self._read()
                changed = {
                    run
                    for run in before.keys() | self.runs.keys()
                    if before.get(run) != self.runs.get(run)
                }
            if changed:
                self.generation += 1
                self.generations.update(dict.fromkeys(changed, self.generation))

    def change(self, runs: Iterable[str], values: Mapping[str, Any], *, is_own: bool) -> None:
        """Notes these values of fields about runs. They are on the disk when this returns.

        Raises BadRequestError for values that are not valid, and NotesError if they cannot be kept;
        then none of them counts.
        """
        valid = {field: checked(field, value) for field, value in values.items()}
        runs = list(dict.fromkeys(runs))
        if not valid or not runs:
            return
        directory = self._own if is_own else self._server
        by = author() if is_own else f"{author()} (server)"
        with self._lock:
            self.refresh()
            if len(self.runs) + len(runs) > MAX_RUNS:
                own = [n for n, each in self.runs.items() if any(r.is_own for r in each.values())]
                if len({*own, *runs}) > MAX_RUNS:
                    raise NotesError(f"at most {MAX_RUNS} runs can have notes")
            lines = []
            for run in runs:
                # Later than what it replaces, even if the clock of another machine is ahead.
                replaced = [r.time for f, r in self.runs.get(run, {}).items() if f in valid]
                now = time.time_ns() // 1000
                self._last_time = max(now, self._last_time + 1, *(t + 1 for t in replaced))
                lines.append(line_of(self._last_time, by, run, valid))
            try:
                directory.add(b"".join(lines))
            except OSError as error:
                reason = f"{error.strerror or error}: {error.filename or directory.path}"
                raise NotesError(one_line(f"the note cannot be kept: {reason}")) from None
            self.refresh()

    def share(self) -> tuple[str, int]:
        """Copies this user's own notes to the log directory, where others find them.

        Returns the path of the copy, and the number of runs in it. Raises NotesError.
        """
        if is_uri(self.logdir):
            raise NotesError("notes can be shared only in a directory of this machine")
        self.refresh()
        with self._lock:
            own = [r for records in self.runs.values() for r in records.values() if r.is_own]
        folder = os.path.join(self.logdir, *SHARED)
        place = hashlib.sha256(os.fsencode(self._own.path)).hexdigest()[:8]
        path = os.path.join(folder, f"{author()}-{place}.jsonl")
        temporary = f"{path}.{secrets.token_hex(4)}.tmp"
        try:
            for part in (os.path.dirname(folder), folder):
                if os.path.islink(part):
                    raise NotADirectoryError(0, "a link in place of a directory", part)
                if not os.path.isdir(part):
                    os.mkdir(part)
            try:
                with open(temporary, "xb") as file:
                    file.write(lines_of(own))
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(temporary, path)
            finally:
                if os.path.lexists(temporary):
                    os.unlink(temporary)
        except OSError as error:
            reason = f"{error.strerror or error}: {error.filename or path}"
            raise NotesError(one_line(f"the notes cannot be shared: {reason}")) from None
        return path, len({record.run for record in own})

    def _read(self) -> set[str]:
        """Adds the new records; returns the runs whose notes have changed."""
        changed: set[str] = set()
        latest = (time.time_ns() // 1000) + _MAX_AHEAD_SECONDS * 1_000_000
        num_left_out = 0
        for directory in self._directories:
            for record in directory.read(MAX_TIME if directory.is_own else latest):
                is_new = record.run not in self.runs
                if is_new and len(self.runs) >= MAX_RUNS and not record.is_own:
                    num_left_out += 1
                elif self._add(record):
                    changed.add(record.run)
        self.problems = [line for directory in self._directories for line in directory.problems]
        if num_left_out:
            self.problems.append(f"{num_left_out} notes are left out: {MAX_RUNS} runs have notes")
        return changed

    def _add(self, record: Record) -> bool:
        """Whether the record counts: it is later than the one it replaces."""
        if record.is_own and record.field == "archived":
            known = self.archived.get(record.run)
            if known is None or known < record:
                self.archived[record.run] = record
        fields = self.runs.setdefault(record.run, {})
        known = fields.get(record.field)
        if known is not None and known >= record:
            return False
        fields[record.field] = record
        return True


def value_of(records: RunRecords, field: str) -> Value:
    """The value of a field; that of FIELDS without a note."""
    record = records.get(field)
    return FIELDS[field] if record is None else record.value
