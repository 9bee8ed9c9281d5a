"""Addresses: checks the paths and URIs that users type, and finds the storage for each.

Paths, and URIs with the scheme `file` or `local`, are on the local disk; no extension can replace
that. The storage for any other scheme is the entry point of the group `tbcore.storage` with the
scheme as its name, or else the one with the name `*`.

tbcore's own extension has an entry point for each well-known scheme, so that a message can name the
package to install, and report two distributions with the same scheme. Its `*` is for the schemes
that fsspec gets from other packages in the same environment, which cannot be listed in advance.
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
"""Name of the entry point for all schemes without an entry point of their own."""
_LOCAL = "file", "local"
_LOCAL_DISK: Storage = LocalDisk()

_URI = re.compile(r"([a-zA-Z][0-9a-zA-Z.+-]*)://([^/]*)(.*)", re.DOTALL)
_FILE_URI = re.compile(r"(?:file|local):(?://(?:localhost)?)?(/(?!/).*)", re.IGNORECASE | re.DOTALL)
_CHAIN = re.compile(r"(?:^|:):[a-z][\w.+-]*://|^[a-z][\w.+-]+::/", re.IGNORECASE)
_SLASHES = re.compile(r"([a-z][\w.+-]*):(?!//[^/])(/+)([^/].*)", re.IGNORECASE | re.DOTALL)
"""A URI with one slash, or more than two, where two were meant."""
_MAY_HAVE_NO_HOST = "hdfs"
"""A scheme with a default host, so that three slashes are valid."""


def is_uri(path: str) -> bool:
    """Whether a path has the form of a URI, such as `s3://bucket/runs`."""
    return "://" in path and _URI.match(path) is not None


def absolute(path: str) -> str:
    """The absolute form of a path; a URI is returned unchanged."""
    return path if is_uri(path) else os.path.abspath(path)


def checked_address(given: str) -> str:
    """The path or URI that a user means by the address of a directory or file.

    A URI with `file:` becomes a path. A path need not exist. A URI is returned without its
    password, with its scheme in lower case, and without a slash at its end. Raises
    UnknownStorageError, with one sentence, for an address that is not valid or needs another
    package, and ExtensionError if the storage for it cannot be loaded.
    """
    path = given
    if match := _FILE_URI.fullmatch(given):
        from urllib.request import url2pathname  # Imported here since it takes 2.5 MB.

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
            has_extra = "[" in install  # Without an extra, it is installed already.
            reason = f"{scheme}:// needs another package: {error}"
            line = needs(STORAGE, scheme, install) if has_extra else reason
            raise UnknownStorageError(one_line(line)) from None


def without_passwords(text: str) -> str:
    """The text without the passwords in its URIs."""
    return re.sub(r"(://[^/@:,]+):[^/@,]*@", r"\1@", text)


def storage_of(path: str) -> Storage:
    """The storage of a file or directory. If it cannot be loaded, its methods raise OSError."""
    # Called for every file in a scan. `in` takes a tenth of the time of the regular expression.
    if "://" not in path:
        return _LOCAL_DISK
    match = _URI.match(path)
    if match is None or (scheme := match[1].lower()) in _LOCAL:
        return _LOCAL_DISK
    return _storage(scheme)


def root_of(address: str, pacing: Pacing) -> Root:
    """The directory at a checked address, for repeated scans.

    Raises TbcoreError if the storage for the address cannot be loaded.
    """
    with guarded(STORAGE, address.partition("://")[0], _ANY):
        return storage_of(address).root(address, pacing)


def open_event_file(file: EventFile) -> OpenFile:
    """Opens a file, listed or unlisted. Raises OSError if that fails."""
    return storage_of(file.path).open_file(file)


def fetch_ahead(files: Iterable[tuple[EventFile, int]], max_bytes: int) -> None:
    """Calls `Storage.fetch_ahead` for each storage of the files."""
    by_storage: dict[Storage, list[tuple[EventFile, int]]] = {}
    for file, offset in files:
        by_storage.setdefault(storage_of(file.path), []).append((file, offset))
    for storage, wanted in by_storage.items():
        storage.fetch_ahead(wanted, max_bytes)


_storages: dict[str, Storage] = {}
"""Maps each scheme that was used to its storage, which is a `_NoStorage` if none was loaded."""
_loading = threading.RLock()


def _storage(scheme: str) -> Storage:
    """The storage for a scheme. Loads it the first time."""
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
    """Stands for a storage that cannot be loaded: its methods raise the error."""

    def __init__(self, error: TbcoreError) -> None:
        self._error = error

    def checked_address(self, address: str) -> NoReturn:
        raise self._error

    def root(self, address: str, pacing: Pacing) -> NoReturn:
        raise self._error

    def files_in(self, directory: str) -> NoReturn:
        raise OSError(str(self._error))

    def open_file(self, file: EventFile, below: str = "") -> NoReturn:
        raise OSError(str(self._error))


def _check_form(address: str) -> None:
    """Raises UnknownStorageError for chained URIs, and for a wrong number of slashes."""
    if _CHAIN.search(address):
        raise UnknownStorageError(
            "chained addresses, with '::', are not supported; copy the logs to a directory or a "
            "bucket, unpacked, and give its address"
        )
    slashes = _SLASHES.fullmatch(address)
    known = {scheme for group, scheme in INSTALL if group == STORAGE} - {_MAY_HAVE_NO_HOST, _ANY}
    if slashes and (scheme := slashes[1].lower()) in known:
        rest = re.sub(":[^/@]*@", "@", slashes[3])  # Drops the password.
        raise UnknownStorageError(
            f"the address has {slashes[2]!r} after {scheme}:, expected two slashes; "
            f"did you mean '{scheme}://{rest}'?"
        )
