"""Confirmed: the directories below which files that an index names may be opened.

An index contains the paths of the files with the images and the new data of its runs. Its author
can write any path there, so files are opened only below directories that this user has confirmed:
with `--logdir`, or by running `tbcore index`, which stores its log directories in a file that only
this user can read and write. The id of the index is in the name of that file, so the index may be
moved and copied. The owner of the index's own files is no proof: the user also owns an index that
was downloaded.
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
        """`directories` are confirmed by the caller, in addition to those stored for the index."""
        self._file = _file_of(index_id)
        self.directories = {*map(resolved, directories), *self._read()}
        """Paths and URIs of directories, or of single files, as `resolved` returns them."""

    def covers(self, path: str) -> bool:
        """Whether a path is one of the directories, or below one, once links are resolved."""
        return "\0" not in path and self._has(resolved(path))

    def add(self, directories: Iterable[str]) -> None:
        """Confirms directories, and stores them for later processes of this user.

        Logs a warning if the file cannot be written.
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
        """Confirms the targets of links in confirmed directories through which files were found."""

        @cache  # Many files are below the same directories, and few of these are links.
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
        """The directories that are stored for the index."""
        try:
            found = json.loads(self._file.read_text("utf-8")) if self._file else []
        except (OSError, ValueError):
            return []
        return found if isinstance(found, list) else []


def resolved(path: str) -> str:
    """A path or URI in a form in which directories can be compared.

    Links on a disk are resolved. The path of a URI is percent-decoded until it no longer changes,
    since a server may do the same; its scheme, user, host and port are not changed.
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
    """The file for an index in this user's data directory; None if the id is not valid.

    The id may be any text, since the author of the index wrote it.
    """
    folder = user_directory("XDG_DATA_HOME", "~/.local/share")
    if not (os.path.isabs(folder) and re.fullmatch("[0-9a-f]{32}", index_id)):
        return None
    return Path(folder, "tbcore", "indexes", f"{index_id}.json")
