"""FsspecStorage: the storage for all URI schemes that fsspec supports."""

from __future__ import annotations

from collections.abc import Iterable

from tbcore.engine import EventFile, Pacing, Storage, UnknownStorageError
from tbcore_remote.connection import Connection, connection_of, without_password
from tbcore_remote.directory import RemoteDirectory
from tbcore_remote.file import RemoteFile

_NO_STORAGES = {
    "memory", "data", "dir", "reference", "generic", "dask",
    "zip", "tar", "libarchive", "cached", "blockcache", "filecache", "simplecache",
    "async_wrapper", "asyncwrapper", "asynclocal",
}  # fmt: skip
"""Schemes of fsspec for data in this process, on this machine, or inside files elsewhere."""


class FsspecStorage:
    """A `Storage` for object stores and other machines."""

    requests_cost = True
    has_versions_of_content = True

    def checked_address(self, address: str) -> str:
        """The address without its password, which is kept for connections.

        Raises UnknownStorageError for an address that is not valid, and ImportError if fsspec or
        the package for the scheme is not installed.
        """
        scheme, _, rest = address.partition("://")
        authority, _, path = rest.partition("/")
        if scheme in _NO_STORAGES:
            raise UnknownStorageError(
                f"{scheme}:// is not supported; expected a directory by its absolute path, or the "
                f"address of one in an object store or on another machine, such as s3://bucket/runs"
            )
        if scheme in ("sftp", "ssh") and path.startswith("~"):
            raise UnknownStorageError(
                f"{scheme}:// takes the whole path of a directory, as in "
                f"{scheme}://{authority.rpartition('@')[2]}/home/me/runs; '~' is not known there"
            )
        import fsspec

        try:
            fsspec.get_filesystem_class(scheme)
        except ValueError:
            raise UnknownStorageError(f"{scheme}:// is not known to fsspec") from None
        return without_password(address)

    def root(self, address: str, pacing: Pacing) -> RemoteDirectory:
        """The directory at an address, for repeated scans."""
        return RemoteDirectory(address, pacing)

    def files_in(self, directory: str) -> list[EventFile]:
        """The event files directly in a directory, sorted by path. Raises OSError."""
        return RemoteDirectory(directory, Pacing()).files()

    def open_file(self, file: EventFile, below: str = "") -> RemoteFile:
        """Opens a file, listed or unlisted. Raises OSError if fetching it ahead has failed.

        If `below` is given, the URI of a directory, also if a step of the path below it is a link.
        """
        if below:
            connection_of(file.path).check_links(below, file.path)
        return RemoteFile(file)

    def fetch_ahead(self, files: Iterable[tuple[EventFile, int]], max_bytes: int) -> None:
        """Fetches at most `max_bytes` of each file, starting at an offset, before it is opened."""
        by_connection: dict[Connection, list[tuple[EventFile, int]]] = {}
        for file, offset in files:
            by_connection.setdefault(connection_of(file.path), []).append((file, offset))
        for connection, wanted in by_connection.items():
            connection.fetch_ahead(wanted, max_bytes)

    def has_fetched(self, file: EventFile, end: int = 0) -> bool:
        """Whether the bytes of a file up to `end` were fetched ahead, or could not be."""
        return connection_of(file.path).has_fetched(file, end)

    def forget_fetched(self, path: str) -> None:
        """Frees the bytes of a file that were fetched ahead. A file that is open keeps its own."""
        connection_of(path).forget(path)


STORAGE: Storage = FsspecStorage()
"""The object of all entry points."""
