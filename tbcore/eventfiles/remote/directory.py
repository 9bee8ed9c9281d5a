"""RemoteDirectory: finds the event files below a directory that is a URI."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from posixpath import basename, dirname
from typing import Any, NamedTuple
from urllib.parse import unquote

from tbcore.eventfiles.logdir import MARK, EventFile, Scan, one_line
from tbcore.eventfiles.remote.storage import storage_of

MIN_PAUSE_SECONDS = 30.0
"""Pause between two listings of a directory that changes, or that a page shows."""
MAX_PAUSE_SECONDS = 600.0
"""Pause to which the pauses grow while nothing changes and no page is open."""
_PAUSE_FACTOR = 20
"""A pause is at least this many times as long as the listing took."""
_MAX_THREADS = 16

_VERSIONS = "etag", "ETag", "generation", "md5Hash", "fileId"
_TIMES = "LastModified", "mtime", "last_modified", "updated", "Last-Modified", "modificationTime"


class ListedDirectory(NamedTuple):
    """A directory that contains event files."""

    name: str
    """Path below the root; `.` for the root itself."""
    path: str
    files: list[EventFile]


class RemoteDirectory:
    """A directory that is listed again and again, with pauses that fit the cost of a listing."""

    def __init__(self, root: str) -> None:
        self.root = root.rstrip("/")
        self.storage = storage_of(self.root)
        self.num_requests = 0
        """Number of requests that the last listing took."""
        self._files: dict[str, EventFile] = {}
        """The files of the last listing."""
        self._found: list[ListedDirectory] = []
        self._missing: list[str] = []
        self._problems: list[str] = []
        self._unlisted: list[str] = []
        self._shrunk: set[str] = set()
        """Paths of files that were shorter in the last listing than in the one before."""
        self._pause = MIN_PAUSE_SECONDS
        self._listed_at = self._due_at = 0.0

    def scan(self, found: Scan, *, is_viewed: bool | None) -> list[ListedDirectory]:
        """The directories that contain event files. What is wrong is added to `found`.

        Lists them again only when that is due: with `is_viewed` None always, else after a pause,
        which becomes longer while nothing changes and nobody views the logs.
        """
        now = time.monotonic()
        if is_viewed:
            self._due_at = min(self._due_at, self._listed_at + MIN_PAUSE_SECONDS)
        if is_viewed is None or now >= self._due_at:
            before = self._files
            self._list()
            self._listed_at = time.monotonic()
            is_quiet = self._files == before and not is_viewed
            self._pause = min(self._pause * 2, MAX_PAUSE_SECONDS) if is_quiet else MIN_PAUSE_SECONDS
            took = self._listed_at - now
            self._due_at = self._listed_at + max(self._pause, _PAUSE_FACTOR * took)
        found.missing.extend(self._missing)
        found.problems.extend(self._problems)
        found.unlisted.extend(self._unlisted)
        return self._found

    def files(self) -> list[EventFile]:
        """The event files directly in the directory, sorted by path. Raises OSError."""
        infos = filter(_is_event_file, self.storage.entries(self.root))
        return sorted(self._event_file(info, set()) for info in infos)

    def list_soon(self) -> None:
        """Makes the next scan list the directory, whenever it was listed last."""
        self._due_at = 0.0

    def _list(self) -> None:
        """Lists all files. If that fails as a whole, the files of the last listing remain."""
        requests_before = self.storage.num_requests
        self._missing, self._problems, self._unlisted = [], [], []
        infos: list[dict[str, Any]] = []
        try:
            infos.extend(self._entries())
        except FileNotFoundError:
            self._missing.append(self.root)
        except OSError as error:
            self._add_problem(self.root, error)
        directories: dict[str, list[EventFile]] = {}
        files: dict[str, EventFile] = {}
        shrunk: set[str] = set()
        for info in infos:
            file = self._event_file(info, shrunk)
            files[file.path] = file
            directories.setdefault(dirname(file.path), []).append(file)
        if self.root not in self._unlisted:
            self._files, self._shrunk = files, shrunk
            self._found = [
                ListedDirectory(self._name(path), path, sorted(each))
                for path, each in sorted(directories.items())
            ]
        self.num_requests = self.storage.num_requests - requests_before

    def _entries(self) -> Iterator[dict[str, Any]]:
        """All event files below the root, as fsspec describes them."""
        if self.storage.has_flat_listings:
            infos = self.storage.find(self.root)
            if not infos and self.root != self.storage.root:
                raise FileNotFoundError  # An object store has no empty directories.
            yield from (info for info in infos if _is_event_file(info))
            return
        level = [self.root]
        while level:
            below: list[str] = []
            listed = self._each(self.storage.entries, level)
            for directory, entries in zip(level, listed, strict=True):
                if isinstance(entries, OSError):
                    if directory == self.root:
                        raise entries
                    if not isinstance(entries, FileNotFoundError):
                        self._add_problem(directory, entries)
                    continue
                found = [info for info in entries if info["name"].rstrip("/") != directory]
                below += [info["name"].rstrip("/") for info in found if info["type"] == "directory"]
                files = [info for info in found if _is_event_file(info)]
                # A link, and a file on a web server, are known by name only.
                unknown = [i for i in files if i["type"] == "link" or i.get("size") is None]
                yield from (info for info in files if info not in unknown)
                paths = [info["name"] for info in unknown]
                for path, info in zip(paths, self._each(self.storage.info, paths), strict=True):
                    if isinstance(info, OSError):
                        self._problems.append(one_line(f"cannot read {path}: {_reason(info)}"))
                    elif info["type"] == "file" and info.get("size") is not None:
                        yield info
            level = below

    def _each(self, function: Callable[[str], Any], paths: list[str]) -> list[Any]:
        """The result of a function for each path, or an OSError. Requests are made in parallel."""

        def result(path: str) -> Any:
            try:
                return function(path)
            except OSError as error:
                return error

        if len(paths) < 2 or not self.storage.is_concurrent:
            return [result(path) for path in paths]
        with ThreadPoolExecutor(_MAX_THREADS) as pool:
            return list(pool.map(result, paths))

    def _event_file(self, info: dict[str, Any], shrunk: set[str]) -> EventFile:
        """The status of a file, by which changes are noticed."""
        path, size = info["name"], int(info["size"])
        known = self._files.get(path)
        if known is not None and size < known.size and path not in self._shrunk:
            # Perhaps an old copy was listed. It is believed when it is listed a second time.
            shrunk.add(path)
            return known
        version = next((str(info[name]).strip('"') for name in _VERSIONS if info.get(name)), "")
        modified_ns = next((_nanoseconds(info[name]) for name in _TIMES if info.get(name)), 0)
        changed_ns = 0
        if not version:
            # By this machine's clock: a change in the same tick of the other one goes unnoticed.
            is_known = known is not None and (known.size, known.mtime_ns) == (size, modified_ns)
            changed_ns = known.ctime_ns if known is not None and is_known else time.time_ns()
        return EventFile(path, version, size, modified_ns, changed_ns)

    def _name(self, directory: str) -> str:
        """The path of a directory below the root."""
        name = directory[len(self.root) + 1 :]
        return (unquote(name) if self.root.startswith("http") else name) or "."

    def _add_problem(self, directory: str, error: OSError) -> None:
        self._problems.append(one_line(f"cannot list {directory}: {_reason(error)}"))
        self._unlisted.append(directory)


def _is_event_file(info: dict[str, Any]) -> bool:
    return info["type"] != "directory" and MARK in basename(info["name"])


def _reason(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__


def _nanoseconds(moment: object) -> int:
    """A time as fsspec's file systems give it, in nanoseconds since the epoch; 0 if unknown."""
    try:
        if isinstance(moment, str):
            is_iso = moment[:4].isdigit()
            moment = datetime.fromisoformat(moment) if is_iso else parsedate_to_datetime(moment)
        if isinstance(moment, datetime):
            moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        # A time above this is in milliseconds.
        return int(float(moment) * (1e6 if float(moment) > 1e11 else 1e9))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return 0
