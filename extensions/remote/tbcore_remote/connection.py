"""Connection: reads from an object store or another machine with fsspec, by ranges of bytes.

fsspec and its packages find credentials and endpoints.
"""

from __future__ import annotations

import contextlib
import logging
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

from tbcore.engine import EventFile, one_line

logger = logging.getLogger("tbcore.remote")

T = TypeVar("T")

OVERLAP_BYTES = 64
"""Number of known bytes that each request fetches again, to detect a file that was replaced."""
MAX_REQUESTS = 64
"""Maximum number of requests at the same time."""
_KEYS_PER_LISTING = 1000
"""Number of files that object stores list per request."""
_MAX_FETCHED_BYTES = 1 << 28
"""Maximum number of bytes that are kept of all files that were fetched ahead."""

_STALL_SECONDS = 60.0
"""Timeout of a connection over SSH on which no data arrives."""
_MIN_CONNECTED_SECONDS = 30.0
"""Minimum time between two searches for credentials, which follow a request that was refused."""

_URI = re.compile(r"([a-zA-Z][0-9a-zA-Z.+-]*)://([^/]*)(.*)", re.DOTALL)
_MAX_MESSAGE = 300
"""Maximum number of characters of an error message. Only the first line of a longer one is shown,
up to this length."""

_passwords: dict[str, str] = {}
"""Maps the beginning of a URI, such as `ftp://me@host`, to the same with the password."""
_connections: dict[str, Connection] = {}
_lock = threading.Lock()


class Range(NamedTuple):
    """A range of bytes in a file, from `begin` up to `end`."""

    path: str
    begin: int
    end: int


def without_password(uri: str) -> str:
    """The URI without its password. Stores the password for `connection_of`."""
    match = _URI.fullmatch(uri)
    assert match is not None, uri
    scheme, authority, path = match.groups()
    user, colon, password = authority.rpartition("@")[0].partition(":")
    if not colon or not password:
        return uri
    root = f"{scheme}://{user}@{authority.rpartition('@')[2]}"
    _passwords[root] = f"{scheme}://{authority}"
    return root + path


def connection_of(uri: str) -> Connection:
    """The connection for the URI of a file or directory. Those with the same host share one."""
    match = _URI.fullmatch(uri)
    assert match is not None, uri
    root = f"{match[1]}://{match[2]}"
    with _lock:
        return _connections.setdefault(root, Connection(root))


class Connection:
    """A bucket or a machine. Methods may be called in any thread, and raise only OSError."""

    def __init__(self, root: str) -> None:
        self.root = root
        """The beginning of the URIs of all files here."""
        self.num_requests = 0
        """Number of requests for ranges and listings, without retries by fsspec."""
        self.num_listing_requests = 0
        """Number of requests for listings."""
        self._system: Any = None
        self._connected_at = 0.0
        self._ignores_ranges = False
        """Whether the file system has returned a whole file instead of a range."""
        self._lock = threading.RLock()
        self._fetched: OrderedDict[str, tuple[EventFile, bytes | OSError, int]] = OrderedDict()
        """Maps the path of each file that was fetched ahead to its status, the bytes, and the
        offset of the first byte. An error takes the place of the bytes, to prevent a second
        attempt."""
        self._num_fetched_bytes = 0

    # -- listings --------------------------------------------------------------------------------

    @property
    def has_flat_listings(self) -> bool:
        """Whether one request lists a thousand files, at any depth."""
        from fsspec.asyn import AbstractFileSystem, AsyncFileSystem

        kind = type(self._connected())
        if issubclass(kind, AsyncFileSystem):
            return kind._find is not AsyncFileSystem._find
        return kind.find is not AbstractFileSystem.find

    @property
    def is_concurrent(self) -> bool:
        """Whether several requests may be made at the same time."""
        return bool(self._connected().async_impl)

    @property
    def is_bucket(self) -> bool:
        """Whether `root` is a bucket of an object store."""
        return self.is_concurrent and self.has_flat_listings

    def find(self, directory: str) -> Iterable[dict[str, Any]]:
        """All files below a directory, from a flat listing. Their `name` is a URI."""
        found = self._list("find", directory, detail=True).values()
        self._count(num_more := max(len(found) - 1, 0) // _KEYS_PER_LISTING)
        self.num_listing_requests += num_more
        return [self._named(info) for info in found]

    def entries(self, directory: str) -> Iterable[dict[str, Any]]:
        """The entries directly in a directory. Their `name` is a URI."""
        return [self._named(info) for info in self._list("ls", directory, detail=True)]

    def info(self, path: str) -> dict[str, Any]:
        """One file, or the target of a link. Its `name` is a URI."""
        return {**self._list("info", path), "name": path}

    def check_links(self, directory: str, path: str) -> None:
        """Raises OSError if a step of a path below a directory is a link, as on SFTP servers.

        Object stores have no links. SFTP has no way to open a file without following them, so a
        link that is made right after the check is followed.
        """
        sftp = getattr(self._connected(), "ftp", None)
        if sftp is not None and hasattr(sftp, "normalize"):
            real = [self._call_with(each, sftp.normalize) for each in (directory, path)]
            if real[1] != real[0].rstrip("/") + path[len(directory) :]:
                raise OSError("links to files that plugins read are not followed")

    def _list(self, method: str, path: str, **arguments: Any) -> Any:
        self.num_listing_requests += 1
        self._connected().invalidate_cache()
        return self._call(method, path, **arguments)

    def _named(self, info: dict[str, Any]) -> dict[str, Any]:
        base = self._base()
        name = str(info["name"])
        return {**info, "name": self.root + (name if not base else name[len(base) :])}

    # -- bytes -----------------------------------------------------------------------------------

    def read(self, wanted: Range) -> bytes:
        """The bytes in a range; fewer if the file ends earlier."""
        if wanted.begin >= wanted.end:
            return b""
        if not self._ignores_ranges:
            data: bytes = self._call("cat_file", wanted.path, start=wanted.begin, end=wanted.end)
            if len(data) <= wanted.end - wanted.begin:
                return data
            logger.debug("%s ignores ranges; files are opened instead", self.root)
            self._ignores_ranges = True
        return self._call_with(wanted.path, lambda path: self._read_opened(path, wanted))

    def read_many(self, wanted: Sequence[Range]) -> list[bytes | OSError]:
        """The bytes in each range, or an error. Makes many requests at the same time."""

        def read_all(_: str) -> list[Any]:
            paths = [self._path(each.path) for each in wanted]
            begins, ends = [each.begin for each in wanted], [each.end for each in wanted]
            found: list[Any] = self._connected().cat_ranges(
                paths, begins, ends, on_error="return", batch_size=MAX_REQUESTS
            )
            return found

        try:
            if self._ignores_ranges or not self.is_concurrent or len(wanted) < 2:
                return [_result(self.read, each) for each in wanted]
            self._count(len(wanted) - 1)
            results = self._call_with(self.root, read_all)
        except OSError as error:
            return [error] * len(wanted)
        return [
            _as_os_error(data)
            if isinstance(data, BaseException)
            else data
            if len(data) <= each.end - each.begin
            else _result(self.read, each)
            for each, data in zip(wanted, results, strict=True)
        ]

    def _read_opened(self, path: str, wanted: Range) -> bytes:
        """Reads a range by opening the file, for file systems that otherwise read whole files."""
        system = self._connected()
        try:
            with system.open(path, "rb") as file:
                file.seek(wanted.begin)
                return bytes(file.read(wanted.end - wanted.begin))
        except (ValueError, NotImplementedError):
            # Seeking is not possible, since the server does not support ranges.
            return bytes(system.cat_file(path)[wanted.begin : wanted.end])

    # -- bytes that are fetched ahead ------------------------------------------------------------

    def fetch_ahead(self, files: Iterable[tuple[EventFile, int]], max_bytes: int) -> None:
        """Fetches bytes of many files together; see `Storage`. `fetched` returns them."""
        ranges: list[Range] = []
        wanted: list[EventFile] = []
        for file, offset in files:
            begin = max(offset - OVERLAP_BYTES, 0)
            end = min(file.size, begin + max_bytes)
            if begin < end and not self.has_fetched(file, end):
                ranges.append(Range(file.path, begin, end))
                wanted.append(file)
        for file, (_, begin, end), data in zip(wanted, ranges, self.read_many(ranges), strict=True):
            if isinstance(data, OSError) or len(data) == end - begin:
                self._keep(file, data, begin)

    def has_fetched(self, file: EventFile, end: int = 0) -> bool:
        """Whether the bytes of a file up to `end` were fetched ahead, or could not be."""
        opened, data, begin = self._fetched.get(file.path, (None, b"", 0))
        return opened == file and (isinstance(data, OSError) or begin + len(data) >= end)

    def fetched(self, file: EventFile) -> tuple[bytes, int]:
        """The bytes of a file that were fetched ahead, and the offset of the first one.

        Raises OSError if they could not be fetched.
        """
        known = self._fetched.get(file.path)
        if known is None or known[0] != file:
            return b"", 0
        if isinstance(known[1], OSError):
            raise known[1]
        return known[1], known[2]

    def forget(self, path: str) -> None:
        """Drops the bytes of a file that were fetched ahead."""
        with self._lock:
            if known := self._fetched.pop(path, None):
                self._num_fetched_bytes -= _size(known[1])

    def _keep(self, file: EventFile, data: bytes | OSError, begin: int) -> None:
        with self._lock:
            self.forget(file.path)
            self._fetched[file.path] = file, data, begin
            self._num_fetched_bytes += _size(data)
            while self._num_fetched_bytes > _MAX_FETCHED_BYTES:
                self.forget(next(iter(self._fetched)))

    # -- requests --------------------------------------------------------------------------------

    def _call(self, method: str, path: str, **arguments: Any) -> Any:
        """Calls a method of the file system with a path. Raises OSError."""
        return self._call_with(
            path, lambda path: getattr(self._connected(), method)(path, **arguments)
        )

    def _call_with(self, path: str, function: Callable[[str], T]) -> T:
        """Calls a function with the path in the file system's own form. Raises OSError."""
        self._count(1)
        try:
            system = self._connected()
            # A connection to a machine is used by one thread at a time.
            with contextlib.nullcontext() if system.async_impl else self._lock:
                return function(self._path(path))
        except Exception as error:
            if not isinstance(error, FileNotFoundError):
                self._disconnect(is_refused=isinstance(error, PermissionError))
            raise _as_os_error(error) from None

    def _count(self, num_requests: int) -> None:
        with self._lock:
            self.num_requests += num_requests

    def _connected(self) -> Any:
        """The file system, connected if necessary."""
        with self._lock:
            if self._system is None:
                for name in ("paramiko", "gcsfs"):  # They log the errors that they raise, too.
                    logging.getLogger(name).setLevel(logging.CRITICAL)
                self._connected_at = time.monotonic()
                root = _passwords.get(self.root, self.root)
                try:
                    self._system = _file_system(root)
                except FileNotFoundError as error:  # The file of a key, for example.
                    raise OSError(one_line(f"cannot connect: {error}")) from None
                except Exception as error:
                    raise _as_os_error(error) from None
                # No listing may be from a cache. Few retries are needed, as the packages that s3fs
                # uses retry, too. SSH has no timeout by default. These are attributes, since not
                # all file systems have options for them.
                with contextlib.suppress(AttributeError):  # Some caches are a dict; see `_list`.
                    self._system.dircache.use_listings_cache = False
                self._system.retries = 2
                with contextlib.suppress(AttributeError):
                    self._system.ftp.get_channel().settimeout(_STALL_SECONDS)
            return self._system

    def _disconnect(self, *, is_refused: bool) -> None:
        """Makes the next request connect again, if the connection to a machine may be lost.

        An object store is connected again if a request was refused, to get new credentials.
        """
        with self._lock:
            if self._system is None or self._system.async_impl != is_refused:
                return
            if not is_refused or time.monotonic() > self._connected_at + _MIN_CONNECTED_SECONDS:
                self._system = None

    def _base(self) -> str:
        """`root` in the file system's own form."""
        base: str = self._connected()._strip_protocol(self.root)
        return base.rstrip("/")

    def _path(self, uri: str) -> str:
        """A URI in the file system's own form."""
        return self._base() + uri[len(self.root) :] or "/"


def _file_system(root: str) -> Any:
    """A new fsspec file system for the root of a URI, which may have a password."""
    import fsspec

    if root.partition(":")[0] not in ("sftp", "ssh"):
        return fsspec.core.url_to_fs(root, skip_instance_cache=True)[0]
    from tbcore_remote.ssh import VerifiedSftp

    options = VerifiedSftp._get_kwargs_from_urls(root)
    return VerifiedSftp(**options, skip_instance_cache=True)


def _size(data: bytes | OSError) -> int:
    return len(data) if isinstance(data, bytes) else 0


def _result(function: Callable[[Range], bytes], wanted: Range) -> bytes | OSError:
    try:
        return function(wanted)
    except OSError as error:
        return error


def _as_os_error(error: BaseException) -> OSError:
    """The error as an OSError with a message on one line."""
    text = str(error)
    if not isinstance(error, OSError) or not text:
        text = f"{type(error).__name__}: {text}".rstrip(": ")
    elif len(text) <= _MAX_MESSAGE or isinstance(error, (FileNotFoundError, PermissionError)):
        return error
    if len(text) > _MAX_MESSAGE:
        text = text.strip().splitlines()[0][:_MAX_MESSAGE]
    return OSError(one_line(text))
