"""Addresses: the storage for a path or URI, and what was meant by one that a user typed.

A path is on the local disk, and so is a URI with `file` or `local`; no extension replaces that. The
storage for any other scheme is an entry point of the group `tbcore.storage`: the one with the
scheme as its name, or else the one with the name `*`. The extension that ships with tbcore has
both. A name for each well-known scheme lets a message say what to install for it, and two
distributions with one scheme be reported. `*` is for the schemes that fsspec learns from other
packages in the same environment, which nobody can list in advance. A distribution that adds one
scheme thus takes precedence over `*`.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterable
from typing import NoReturn

from tbcore.errors import ExtensionError, OptionError, TbcoreError, UnknownStorageError
from tbcore.eventfiles.local_disk import LocalDisk
from tbcore.eventfiles.storage import EventFile, OpenFile, Pacing, Root, Storage
from tbcore.extensions import INSTALL, STORAGE, guarded, loaded, needs
from tbcore.text import one_line

_ANY = "*"
"""Name of the entry point for all schemes without one of their own."""
_LOCAL = "file", "local"
_LOCAL_DISK: Storage = LocalDisk()

_URI = re.compile(r"([a-zA-Z][0-9a-zA-Z.+-]*)://([^/]*)(.*)", re.DOTALL)
_FILE_URI = re.compile(r"(?:file|local):(?://(?:localhost)?)?(/(?!/).*)", re.IGNORECASE | re.DOTALL)
_CHAIN = re.compile(r"(?:^|:):[a-z][\w.+-]*://|^[a-z][\w.+-]+::/", re.IGNORECASE)
_SLASHES = re.compile(r"([a-z][\w.+-]*):(?!//[^/])(/+)([^/].*)", re.IGNORECASE | re.DOTALL)
"""A URI with one slash or more than two where two were meant."""
_MAY_HAVE_NO_HOST = "hdfs"
"""A scheme with a default host, so that three slashes are right."""


def is_uri(path: str) -> bool:
    """Whether this has the form of a URI, such as `s3://bucket/runs`."""
    return "://" in path and _URI.match(path) is not None


def absolute(path: str) -> str:
    """A path from the root of the disk on; a URI as it is."""
    return path if is_uri(path) else os.path.abspath(path)


def checked_address(given: str) -> str:
    """What was given as a directory or file: a path, also for a URI with `file:`; or another URI.

    The latter is without a password, with its scheme in small letters, and without a slash at its
    end. Raises UnknownStorageError, with one sentence, for an address that cannot be read or needs
    another package, and ExtensionError if the storage for it cannot be loaded. A path need not
    exist.
    """
    path = given
    if match := _FILE_URI.fullmatch(given):
        from urllib.request import url2pathname  # It takes 2.5 MB, with what it imports.

        path = url2pathname(match[1])
    if not is_uri(path):
        if not os.path.exists(path):
            _check_form(path)
        return _LOCAL_DISK.checked_address(path)
    _check_form(path)
    match = _URI.fullmatch(path.rstrip("/"))
    if match is None:
        raise UnknownStorageError(f"{path!r} is not a directory")
    scheme, authority, rest = match[1].lower(), match[2], match[3]
    if scheme in _LOCAL:
        raise UnknownStorageError(
            f"{scheme}:// names a directory of this machine by its absolute path; did you mean "
            f"'{scheme}:///{authority}{rest}'?"
        )
    storage = _storage(scheme)
    with guarded(STORAGE, scheme, _ANY):
        try:
            return storage.checked_address(f"{scheme}://{authority}{rest}")
        except ImportError as error:
            install = INSTALL.get((STORAGE, scheme), "")
            has_extra = "[" in install  # what has none is installed
            reason = f"{scheme}:// needs another package: {error}"
            line = needs(STORAGE, scheme, install) if has_extra else reason
            raise UnknownStorageError(one_line(line)) from None


def without_passwords(text: str) -> str:
    """The text with the passwords in its URIs left out."""
    return re.sub(r"(://[^/@:,]+):[^/@,]*@", r"\1@", text)


def storage_of(path: str) -> Storage:
    """The storage of a file or directory. Its operations raise OSError if it cannot be loaded."""
    # A scan asks this for every file. `in` takes a tenth of the time of the expression.
    if "://" not in path:
        return _LOCAL_DISK
    match = _URI.match(path)
    if match is None or (scheme := match[1].lower()) in _LOCAL:
        return _LOCAL_DISK
    return _storage(scheme)


def root_of(address: str, pacing: Pacing) -> Root:
    """The directory at a checked address, for repeated scans. Raises TbcoreError without one."""
    with guarded(STORAGE, address.partition("://")[0], _ANY):
        return storage_of(address).root(address, pacing)


def open_event_file(file: EventFile) -> OpenFile:
    """Opens a file, which need not have been listed before. Raises OSError if that fails."""
    return storage_of(file.path).open_file(file)


def fetch_ahead(files: Iterable[tuple[EventFile, int]], max_bytes: int) -> None:
    """As the method of a storage, for files of several."""
    by_storage: dict[Storage, list[tuple[EventFile, int]]] = {}
    for file, offset in files:
        by_storage.setdefault(storage_of(file.path), []).append((file, offset))
    for storage, wanted in by_storage.items():
        storage.fetch_ahead(wanted, max_bytes)


_storages: dict[str, Storage] = {}
"""The storage for each scheme that was asked for, also where none could be loaded."""
_loading = threading.RLock()


def _storage(scheme: str) -> Storage:
    """The storage for a scheme, which is loaded once."""
    if scheme not in _storages:
        with _loading:
            if scheme not in _storages:
                _storages[scheme] = _loaded(scheme)
    return _storages[scheme]


def _loaded(scheme: str) -> Storage:
    try:
        found = loaded(STORAGE, scheme, _ANY)
        if isinstance(found, type) or not isinstance(found, Storage):
            line = f"the entry point of {STORAGE} for {scheme}:// is not a storage"
            raise ExtensionError(line)
    except OptionError as error:
        return _NoStorage(UnknownStorageError(str(error)))
    except TbcoreError as error:
        return _NoStorage(error)
    return found


class _NoStorage(LocalDisk):
    """The storage of a scheme for which none can be loaded: it has nothing, and says why."""

    def __init__(self, error: TbcoreError) -> None:
        self._error = error

    def checked_address(self, address: str) -> NoReturn:
        raise self._error

    def root(self, address: str, pacing: Pacing) -> NoReturn:
        raise self._error

    def files_in(self, directory: str) -> NoReturn:
        raise OSError(str(self._error))

    def open_file(self, file: EventFile) -> NoReturn:
        raise OSError(str(self._error))


def _check_form(address: str) -> None:
    """Raises UnknownStorageError for a chain of URIs, and for a wrong number of slashes."""
    if _CHAIN.search(address):
        raise UnknownStorageError(
            "chained addresses, with '::', are not supported; copy the logs to a directory or a "
            "bucket, unpacked, and give its address"
        )
    slashes = _SLASHES.fullmatch(address)
    known = {scheme for group, scheme in INSTALL if group == STORAGE} - {_MAY_HAVE_NO_HOST, _ANY}
    if slashes and (scheme := slashes[1].lower()) in known:
        rest = re.sub(":[^/@]*@", "@", slashes[3])  # without a password
        raise UnknownStorageError(
            f"the address has {slashes[2]!r} after {scheme}:, expected two slashes; "
            f"did you mean '{scheme}://{rest}'?"
        )
