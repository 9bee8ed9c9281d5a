"""RemoteDirectory: finds the event files below a directory that is a URI."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from posixpath import dirname
from typing import Any
from urllib.parse import unquote

from tbcore.engine import EventFile, Found, Pacing, is_event_file, kind_of
from tbcore_remote.connection import connection_of

MIN_PAUSE_SECONDS = 30.0
"""Pause between two listings while the directory changes, or while a page is visible."""
MAX_PAUSE_SECONDS = 600.0
"""Maximum pause, to which pauses grow while nothing changes and no page is visible."""
_PAUSE_FACTOR = 20
"""A pause is at least this many times as long as the last listing took."""
_MAX_THREADS = 16

_VERSIONS = "etag", "ETag", "generation", "md5Hash", "fileId", "blob_id", "xet_hash"
_TIMES = "LastModified", "mtime", "last_modified", "updated", "Last-Modified", "modificationTime"


class RemoteDirectory:
    """A remote directory, which is listed less often the longer a listing takes. A `Root`."""

    has_links = False

    def __init__(self, root: str, pacing: Pacing) -> None:
        self.root = root.rstrip("/")
        self.connection = connection_of(self.root)
        self.num_requests_of_listing = 0
        """Number of requests that the last listing took."""
        self._pacing = pacing
        self._listed = Found(unlisted=[self.root])
        """The last listing."""
        self._files: dict[str, EventFile] = {}
        """The files of the last listing."""
        self._shrunk: set[str] = set()
        """Paths of files that were shorter in the last listing than in the one before."""
        self._pause = MIN_PAUSE_SECONDS
        self.listed_at = -math.inf
        """When the last listing ended, in seconds of the monotonic clock."""
        self._seconds = 0.0
        """How long the last listing took."""
        self._is_wanted = True
        """Whether to list the directory in the next scan, even if no listing is due."""
        self._thread: threading.Thread | None = None

    def scan(self) -> Found:
        """The last listing. Lists the directory again if that is due.

        If the pacing has `on_listed`, this is done in the background, and the result is that of the
        listing before. It has only directories with event files.
        """
        is_listing = self._thread is not None and self._thread.is_alive()
        is_viewed = self._pacing.is_viewed()
        if not is_listing and (self._is_wanted or time.monotonic() >= self._due_at(is_viewed)):
            self._is_wanted = False
            if self._pacing.on_listed is None:
                self._list(is_viewed)
            else:
                self._thread = threading.Thread(target=self._list, args=[is_viewed], daemon=True)
                self._thread.start()
        return self._listed

    def files(self) -> list[EventFile]:
        """The event files directly in the directory, sorted by path. Raises OSError."""
        infos = filter(_is_event_file, self.connection.entries(self.root))
        return sorted(self._event_file(info, set()) for info in infos)

    def list_soon(self) -> None:
        """Makes the next scan list the directory, even if no listing is due."""
        self._is_wanted = True

    @property
    def num_requests(self) -> dict[str, int]:
        """Number of requests so far for all directories with the same connection, by its root."""
        return {self.connection.root: self.connection.num_requests}

    @property
    def seconds_left(self) -> float:
        """Time in seconds until the directory is to be listed again."""
        return self._due_at(self._pacing.is_viewed()) - time.monotonic()

    def name_of(self, directory: str) -> str:
        """The path of a directory relative to the root; `.` for the root itself."""
        name = directory[len(self.root) + 1 :]
        return (unquote(name) if self.root.startswith("http") else name) or "."

    def _due_at(self, is_viewed: bool) -> float:
        """When to list the directory again, in seconds of the monotonic clock."""
        if self._pacing.pause is not None:
            return self.listed_at + self._pacing.pause
        pause = MIN_PAUSE_SECONDS if is_viewed else self._pause
        return self.listed_at + max(pause, _PAUSE_FACTOR * self._seconds)

    def _list(self, is_viewed: bool) -> None:
        """Lists all files. If the root cannot be listed, keeps the files of the last listing."""
        began_at = time.monotonic()
        num_requests_before = self.connection.num_listing_requests
        listed = Found()
        files: dict[str, EventFile] = {}
        shrunk: set[str] = set()
        try:
            for info in self._entries(listed):
                file = self._event_file(info, shrunk)
                files[file.path] = file
        except FileNotFoundError:
            # In an object store, which has no directories, it is the bucket that is missing.
            listed.missing.append(self.connection.root if self.connection.is_bucket else self.root)
        except OSError as error:
            listed.cannot_list(self.root, _reason(error))
            files, shrunk = self._files, self._shrunk
            listed.other_files = [o for o in self._listed.other_files if not o[1].is_listed]
        directories: dict[str, list[EventFile]] = {}
        for path in sorted(files):
            if is_event_file(path):
                directories.setdefault(dirname(path), []).append(files[path])
            else:
                listed.other_files.append((self.name_of(path), files[path]))
        listed.directories = [(self.name_of(d), d, each) for d, each in directories.items()]
        is_quiet = files == self._files and not is_viewed
        self._listed, self._files, self._shrunk = listed, files, shrunk
        self.num_requests_of_listing = self.connection.num_listing_requests - num_requests_before
        self._pause = min(self._pause * 2, MAX_PAUSE_SECONDS) if is_quiet else MIN_PAUSE_SECONDS
        self.listed_at = time.monotonic()
        self._seconds = self.listed_at - began_at
        if self._pacing.on_listed is not None:
            self._pacing.on_listed()

    def _entries(self, listed: Found) -> Iterator[dict[str, Any]]:
        """Yields fsspec's descriptions of all event files below the root, and of claimed files.

        Adds other files and problems to `listed`.
        """
        if self.connection.has_flat_listings:
            infos = self.connection.find(self.root)
            if not infos and self.root != self.connection.root:
                listed.missing.append(self.root)  # An object store has no empty directories.
            for info in infos:
                if _is_event_file(info) or self._is_claimed(info, listed):
                    yield info
                else:
                    self._add_other_file(info, listed)
            return
        level = [self.root]
        while level:
            below: list[str] = []
            found = self._each(self.connection.entries, level)
            for directory, entries in zip(level, found, strict=True):
                if isinstance(entries, OSError):
                    if directory == self.root:
                        raise entries
                    if not isinstance(entries, FileNotFoundError):
                        listed.cannot_list(directory, _reason(entries))
                    continue
                paths: list[str] = []
                for info in entries:
                    name = info["name"].rstrip("/")
                    if info["type"] == "directory" and name != directory:
                        below.append(name)
                    elif _is_event_file(info):
                        # Of a link, or a file on a web server, only the name is known.
                        if info["type"] == "link" or info.get("size") is None:
                            paths.append(name)
                        else:
                            yield info
                    elif self._is_claimed(info, listed):
                        yield info
                    else:
                        self._add_other_file(info, listed)
                for path, info in zip(paths, self._each(self.connection.info, paths), strict=True):
                    if isinstance(info, OSError):
                        listed.cannot_read(path, _reason(info))
                    elif info["type"] == "file" and info.get("size") is not None:
                        yield info
            level = below

    def _is_claimed(self, info: dict[str, Any], listed: Found) -> bool:
        """Whether a plugin reads a file. Adds a problem if the file would be one, but is a link."""
        if info["type"] == "directory" or not self._pacing.is_claimed(self.name_of(info["name"])):
            return False
        if info["type"] == "link":
            reason = "links to files that plugins read are not followed"
            listed.cannot_read(info["name"], reason)
        return bool(info["type"] == "file")

    def _add_other_file(self, info: dict[str, Any], listed: Found) -> None:
        """Adds a file that is not an event file, if its kind is known."""
        name = self.name_of(info["name"])
        if info["type"] != "directory" and kind_of(name):
            listed.other_files.append((name, EventFile.unlisted(info["name"])))

    def _each(self, function: Callable[[str], Any], paths: list[str]) -> list[Any]:
        """The result of a function for each path, or an OSError. Calls it in parallel."""

        def result(path: str) -> Any:
            try:
                return function(path)
            except OSError as error:
                return error

        if len(paths) < 2 or not self.connection.is_concurrent:
            return [result(path) for path in paths]
        with ThreadPoolExecutor(_MAX_THREADS) as pool:
            return list(pool.map(result, paths))

    def _event_file(self, info: dict[str, Any], shrunk: set[str]) -> EventFile:
        """The status of a file, which changes when the file does."""
        path, size = info["name"], int(info.get("size") or 0)
        known = self._files.get(path)
        if known is not None and size < known.size and path not in self._shrunk:
            # This may be an old copy. It is accepted when it is listed a second time.
            shrunk.add(path)
            return known
        version = next((str(info[name]).strip('"') for name in _VERSIONS if info.get(name)), "")
        modified_ns = next((_nanoseconds(info[name]) for name in _TIMES if info.get(name)), 0)
        changed_ns = 0
        if not version:
            # By this machine's clock: of two changes within a tick of the other machine's clock,
            # only one would be visible.
            is_known = known is not None and (known.size, known.mtime_ns) == (size, modified_ns)
            changed_ns = known.ctime_ns if known is not None and is_known else time.time_ns()
        return EventFile(path, version, size, modified_ns, changed_ns)


def _is_event_file(info: dict[str, Any]) -> bool:
    return info["type"] != "directory" and is_event_file(info["name"])


def _reason(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__


def _nanoseconds(moment: object) -> int:
    """A time from an fsspec file system in nanoseconds since the epoch; 0 if it is not valid."""
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
