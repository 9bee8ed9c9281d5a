"""Confirmed: the directories below which an index may name files.

An index says where the images and the new data of its runs are, and its author can write any path
there. So files are opened only below directories that this user has confirmed: with `--logdir`, or
by running `tbcore index`, which keeps its log directories in a file that nobody else can read or
write. The file has the id of the index in its name, so the index may be moved and copied. Who owns
the files of an index proves nothing: a downloaded one belongs to its user.
"""

from __future__ import annotations

import json
import logging
import os
import posixpath
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from urllib.parse import unquote

from tbcore.engine import EventFile, is_uri, one_line, user_directory

logger = logging.getLogger("tbcore.index")


class Confirmed:
    """The directories that the user has confirmed for an index."""

    def __init__(self, index_id: str, directories: Iterable[str] = ()) -> None:
        """`directories` are confirmed by the caller; the file of the index may have others."""
        self._file = _file_of(index_id)
        self.directories = {*map(resolved, directories), *self._read()}
        """Paths and URIs as `resolved` returns them; those of single files, too."""

    def covers(self, path: str) -> bool:
        """Whether a path is one of the directories or below one, after links are resolved."""
        return "\0" not in path and self._has(resolved(path))

    def add(self, directories: Iterable[str]) -> None:
        """Confirms directories, for later processes of this user as well.

        Logs a warning if their file cannot be written.
        """
        new = {path for path in map(resolved, directories) if not self._has(path)}
        if not new:
            return
        self.directories |= new
        if self._file is None:
            return
        part = self._file.with_suffix(f".{os.getpid()}")
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with open(descriptor, "w", encoding="utf-8") as file:
                json.dump(sorted({*self._read(), *self.directories}), file)
            part.replace(self._file)
        except OSError as error:
            line = one_line(f"cannot write {self._file}: {error.strerror or error}")
            logger.warning("%s; to open files of the logs, servers will need --logdir", line)

    def add_links(self, files: Iterable[EventFile]) -> None:
        """Confirms where files are that a scan of confirmed directories found through links."""

        @cache  # Many files are below the same directories, of which few are links.
        def real(path: str) -> str:
            parent, name = os.path.split(path)
            path = os.path.join(real(parent), name) if name else path
            return os.path.realpath(path) if os.path.islink(path) else path

        found = set()
        for path in (file.path for file in files if not is_uri(file.path)):
            directory, name = os.path.split(path)
            target = os.path.join(real(directory), name)
            found.add(real(path) if os.path.islink(target) else real(directory))
        self.add(path for path in found if not self._has(path))

    def _has(self, real: str) -> bool:
        parts = real.split("/")
        above = {"/".join(parts[:end]) or "/" for end in range(1, len(parts) + 1)}
        return not above.isdisjoint(self.directories)

    def _read(self) -> list[str]:
        """The directories in the file of the index."""
        try:
            found = json.loads(self._file.read_text("utf-8")) if self._file else []
        except (OSError, ValueError):
            return []
        return found if isinstance(found, list) else []


def resolved(path: str) -> str:
    """A path or URI in a form by which directories are compared.

    On a disk links are resolved. The path of a URI is decoded as often as that is possible, for a
    server may do so; scheme, user, host and port stay as they are.
    """
    if not is_uri(path):
        return os.path.realpath(path)
    scheme, _, rest = path.partition("://")
    authority, _, name = rest.partition("/")
    while (decoded := unquote(name)) != name:
        name = decoded
    name = posixpath.normpath("/" + name.replace("\\", "/").lstrip("/")).rstrip("/")
    return f"{scheme}://{authority}{name}"


def _file_of(index_id: str) -> Path | None:
    """The file of an index in this user's data directory; None without either.

    The id may be any text, written by who made the index.
    """
    folder = user_directory("XDG_DATA_HOME", "~/.local/share")
    if not (os.path.isabs(folder) and re.fullmatch("[0-9a-f]{32}", index_id)):
        return None
    return Path(folder, "tbcore", "indexes", f"{index_id}.json")
