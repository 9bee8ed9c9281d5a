"""RunNotes: the notes and views of one or several log directories, for queries and programs."""

from __future__ import annotations

import logging
import os
import re
import shlex
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tbcore import Multiplexer
from tbcore.engine import Config, LogdirSpec, OptionError, is_uri, one_line, plural, size
from tbcore_notes.changes import NO_LABELS, LabelChange, LargeChangeError
from tbcore_notes.defaults import Defaults
from tbcore_notes.deletion import Archived
from tbcore_notes.records import Record, Value
from tbcore_notes.store import MAX_OWN_CHANGE_BYTES, RunRecords, Shared, Store, value_of

if TYPE_CHECKING:
    from concurrent.futures import Executor

logger = logging.getLogger("tbcore.notes")

_WATCH_SECONDS = 1.0
"""Pause between two looks for what other processes have written."""
_IDLE_SECONDS = 60.0
"""Nobody looks for changes if no data was requested for so long; requests for notes do."""
_PAUSE_FACTOR = 100
"""A pause is at least this many times the processor time of the look before it: 1 % of a core."""
_MAX_PAUSE_SECONDS = 30.0
"""Looks that read everything again are few, so changes need not wait longer than this."""
_MAX_REPORTED = 1000
"""Maximum number of different problems that a process logs: one may have a number that rises."""


class RunNotes:
    """The notes on the runs of log directories. Its methods may be called on any thread.

        notes = RunNotes([LogdirSpec(None, "runs")])
        notes.change(["sweep/a"], {"starred": True})
        notes.values("sweep/a")["starred"]     # True

    Implements `tbcore.store.notes.Notes`.
    """

    static_folder = Path(__file__).parent / "static"
    """The part of the page."""

    def __init__(self, specs: Sequence[LogdirSpec]) -> None:
        """Raises OptionError unless there is one directory, or each has a name of its own: only
        then the name of a run says in which of them it is."""
        names = [spec.name for spec in specs]
        if not specs or (len(specs) > 1 and (None in names or len(set(names)) < len(names))):
            raise OptionError(
                "notes are kept for one log directory, or for several with a name each, "
                "as with --logdir_spec NAME:PATH,NAME:PATH"
            )
        self._stores = [(f"{name}/" if name else "", Store(path)) for name, path in specs]
        self._views = self._stores[0][1]
        """The store with the named views. Those of several log directories are of just these."""
        if len(specs) > 1:
            paths = (p if is_uri(p) else os.path.realpath(p) for _, p in specs)
            several = ",".join(f"{name}:{path}" for name, path in zip(names, paths, strict=True))
            self._views = Store(several, is_one=False)
        # Of several directories, none can choose for the others; a remote one is not read.
        is_local = len(specs) == 1 and not is_uri(specs[0].path)
        self._defaults = Defaults(os.path.realpath(specs[0].path)) if is_local else None
        self._every = list(
            {id(s): s for s in (*(s for _, s in self._stores), self._views)}.values()
        )
        self._reported: set[str] = set()
        self._lock = threading.Lock()
        """Held while one thread looks for changes."""
        self._changed: Callable[[], object] = lambda: None
        self.idle_seconds: Callable[[], float] = lambda: 0.0
        """For how long nobody has asked the server for data, if one serves the notes."""
        self.fault: str | None = None
        """Why notes could not be written when the server was started; None if they could."""
        self.has_event_files: Callable[[str], bool] = lambda run: True
        """Whether a run is of event files, as far as those who change notes know: only of these an
        archived run has an inventory. Set by what knows the runs."""
        self._served: Multiplexer | None = None
        """The runs of the server, if one serves the notes."""
        self._tabs: Callable[[], Collection[str] | None] = lambda: None
        """The names of its tabs, once all logs are read; None before that."""
        self._lister: Executor | None = None
        """Lists the files of archived runs after the response, if a server serves the notes."""
        self.is_read = False
        """Whether the files were read once. A server does that while it starts."""
        self.reports_all = False
        """Whether each mistake in `tbcore.json` is reported, as by a server."""

    @property
    def generation(self) -> int:
        """Rises with each change that `refresh` or `change` has seen."""
        return self._generation_without(None)

    @property
    def problems(self) -> list[str]:
        """See `tbcore.store.notes.Notes`."""
        return [line for store in self._every for line in store.problems]

    @property
    def left_out(self) -> list[str]:
        """What is never read, so that no answer lacks it, one line each."""
        return [line for store in self._every for line in store.left_out]

    @property
    def mistakes(self) -> list[str]:
        """What is wrong in `tbcore.json`, one line each."""
        return self._defaults.problems if self._defaults else []

    def refresh(self) -> None:
        """Reads what other processes have written; logs each new problem as a warning."""
        before = self.generation
        with self._lock:
            for store in self._every:
                store.refresh()
            if self._defaults:
                self._defaults.refresh()
                if self._served is not None and (tabs := self._tabs()) is not None:
                    self._defaults.check(self._served, tabs)
            self.is_read = True
            for line in (*self._mistakes_to_report(), *self.left_out, *self.problems):
                if line not in self._reported and len(self._reported) < _MAX_REPORTED:
                    self._reported.add(line)
                    logger.warning("notes: %s", line)
        if self.generation != before:
            self._changed()

    def records(self, run: str) -> RunRecords:
        """The records of the fields that were noted about a run, by field."""
        store, name = self._place_of(run)
        return {} if store is None else store.runs.get(name, {})

    def values(self, run: str) -> dict[str, Value]:
        """The values of the fields that were noted about a run."""
        found = {field: record.value for field, record in self.records(run).items()}
        # A list of its own, since several runs may have one object.
        return {f: [*value] if isinstance(value, list) else value for f, value in found.items()}

    def archived(self, run: str) -> Archived:
        """What is known about whether a run is archived, and by whom."""
        store, name = self._place_of(run)
        if store is None:
            return Archived(None, None, None, None)
        own, last = store.archived.get(name), store.archived_last.get(name)
        return Archived(own, last, store.brought_back.get(name), store.inventories.get(name))

    def all(self) -> Iterator[tuple[str, RunRecords, int]]:
        """Each run with notes, also if it is gone, its records by field, and the generation in
        which they changed."""
        self._read_once()
        for prefix, store in self._stores:
            others = self._generation_without(store)
            for run, records, generation in store.all():
                yield prefix + run, records, generation + others

    def change(
        self,
        runs: Iterable[str],
        values: Mapping[str, Any],
        *,
        is_own: bool = True,
        labels: LabelChange = NO_LABELS,
        max_bytes: int = MAX_OWN_CHANGE_BYTES,
    ) -> None:
        """Notes values of fields about runs. They are on the disk when this returns.

        `is_own` is whether this user does it: see `access.py`. `labels` changes the labels that
        each run has. Raises BadRequestError for a value that is not valid, and NotesError if it
        cannot be kept, or if it has more than `max_bytes`. A server lists the files of archived
        runs later, in a thread.
        """
        by_store: dict[int, list[str]] = {}
        before = self.generation  # Before the first look, which may find changes of others.
        runs = list(dict.fromkeys(runs))
        places = [self._place_of(run) for run in runs]
        for store, name in places:
            if store is None:
                raise OptionError(f"the run {name!r} is in none of the log directories")
            by_store.setdefault(id(store), []).append(name)
        sizes = (
            store.size_of_change(by_store.get(id(store), ()), values, labels)
            for _, store in self._stores
        )
        if (total := sum(sizes)) > max_bytes:
            raise LargeChangeError(
                f"this change has {size(total)}, {size(total // len(runs))} for each of "
                f"{plural(len(runs), 'run')}, and at most {size(max_bytes)} are taken at once; "
                "change fewer runs at a time, or note less about each"
            )
        for prefix, store in self._stores:
            names = by_store.get(id(store), ())
            began_at = time.time()
            times = store.change(names, values, is_own=is_own, labels=labels)
            times = {run: at for run, at in times.items() if self.has_event_files(prefix + run)}
            if is_own and times and self._lister is None:
                store.take_inventories(times, at=time.time(), waits=True)
            elif is_own and times and self._lister is not None:
                self._lister.submit(_list_files, store, times, began_at)
        if self.generation != before:
            self._changed()

    def views(self) -> list[Record]:
        """The last record of each named view, sorted by name."""
        self._read_once()
        views = self._views.views
        return [views[name] for name in sorted(views) if views[name].value]

    def save_view(self, name: Any, address: Any, *, is_own: bool = True) -> None:
        """Keeps a view under a name, or takes it away with the address "". It is on the disk when
        this returns. Raises BadRequestError, and NotesError if it cannot be kept."""
        before = self.generation
        self._views.save_view(name, address, is_own=is_own)
        if self.generation != before:
            self._changed()

    @property
    def defaults(self) -> Mapping[str, Any]:
        """What `tbcore.json` in the log directory suggests, by key."""
        self._read_once()
        return self._defaults.values if self._defaults else {}

    def description(self, tag: str) -> str:
        """See `tbcore.store.notes.Notes`."""
        return self._defaults.description(tag) if self._defaults else ""

    def new_write_token(self, config: Config) -> str:
        """See `tbcore.store.notes.Notes`."""
        from tbcore_notes.access import new_write_token

        self.fault = next(filter(None, (store.fault() for store in self._every)), None)
        if self.fault and config.notes == "write":
            logger.warning("notes: %s; the page shows notes, and cannot change them", self.fault)
        return "" if self.fault else new_write_token(config)

    def share(self) -> list[Shared]:
        """Copies this user's notes and views to the log directories; see `Store.share`."""
        return [store.share() for _, store in self._stores]

    # -- for the core --------------------------------------------------------------------------

    def found(self, sign: str, text: str | re.Pattern[str]) -> Collection[str]:
        """See `tbcore.store.notes.Notes`."""
        self.refresh()

        def is_found(records: RunRecords) -> bool:
            if sign == "is:":
                return value_of(records, str(text)) is True
            field = "labels" if sign == "#" else "note"
            value = value_of(records, field)
            texts = value if isinstance(value, list) else [str(value)]
            if isinstance(text, re.Pattern):
                return any(text.fullmatch(each.lower()) for each in texts if each)
            if sign == "#":
                return any(each.lower() == text for each in texts)
            return text in texts[0].lower()

        return {run for run, records, _ in self.all() if is_found(records)}

    def serve(
        self,
        config: Config,
        multiplexer: Multiplexer,
        changed: Callable[[], object],
        idle_seconds: Callable[[], float],
        tabs: Callable[[], Collection[str] | None],
    ) -> Mapping[str, Callable[[Any], Any]]:
        """See `tbcore.store.notes.Notes`."""
        from concurrent.futures import ThreadPoolExecutor

        from tbcore_notes.http import respond, respond_defaults, respond_views

        self._lister = ThreadPoolExecutor(1, "tbcore-notes-files")
        self._changed, self.idle_seconds = changed, idle_seconds
        self._served, self._tabs, self.reports_all = multiplexer, tabs, True
        self.has_event_files = multiplexer.has_event_files
        # The thread ends when nothing else uses the notes.
        threading.Thread(
            target=_watch, args=[weakref.ref(self)], name="tbcore-notes", daemon=True
        ).start()
        return {
            "/data/notes": partial(respond, self, config, multiplexer),
            "/data/views": partial(respond_views, self, config, multiplexer),
            "/data/defaults": partial(respond_defaults, self),
        }

    # -- private -------------------------------------------------------------------------------

    def _mistakes_to_report(self) -> Sequence[str]:
        """The mistakes as lines of the log: of several, a command that is not about them has only
        the number."""
        found = self.mistakes
        if self.reports_all or len(found) < 2 or self._defaults is None:
            return found
        path, count = self._defaults.path, self._defaults.num_problems
        command = f"tbcore notes list {shlex.quote(os.path.dirname(path))}"
        return [one_line(f"{path}: {count} mistakes; `{command}` shows them")]

    def _generation_without(self, left_out: Store | None) -> int:
        """The generation as far as it is of other stores than one.

        Not a difference: another thread may read that store in between.
        """
        files = self._defaults.generation if self._defaults else 0
        return files + sum(store.generation for store in self._every if store is not left_out)

    def _read_once(self) -> None:
        if not self.is_read:
            self.refresh()

    def _place_of(self, run: str) -> tuple[Store | None, str]:
        """The store with the notes on a run, and the name that the run has there."""
        self._read_once()
        # One name may begin with another one, as those of `a:X,a/b:Y`.
        for prefix, store in sorted(self._stores, key=lambda each: -len(each[0])):
            if run.startswith(prefix):
                return store, run[len(prefix) :]
        return None, run


def _list_files(store: Store, times: Mapping[str, int], at: float) -> None:
    """Keeps the inventories of runs that were archived by a request that began at a time."""
    try:
        store.take_inventories(times, at=at, waits=False)
    except Exception as error:
        logger.warning("files of archived runs cannot be listed: %s", error)


def _watch(ref: weakref.ref[RunNotes]) -> None:
    """Looks for changes by other processes while somebody may see them, as long as there are the
    notes."""
    while (notes := ref()) is not None:
        # Of this thread alone: a look that waited for a slow disk has cost nothing.
        began_at = time.thread_time()
        try:
            if notes.idle_seconds() < _IDLE_SECONDS or not notes.is_read:
                notes.refresh()
        except Exception:
            logger.exception("notes cannot be read")
        del notes
        pause = _PAUSE_FACTOR * (time.thread_time() - began_at)
        time.sleep(min(max(pause, _WATCH_SECONDS), _MAX_PAUSE_SECONDS))
