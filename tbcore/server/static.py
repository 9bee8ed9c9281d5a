"""Static files: the page of the core and the ES modules of plugins, as they lie on disk.

Of the core's own modules and styles the comments stay behind: they are a quarter of the page's
weight. Their lines stay, empty, so that an error names the line of the file.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from tbcore.http import etag_matches, text_error
from tbcore.server.compress import accepts_gzip, compressed, is_textual

CONTENT_TYPES = {
    ".avif": "image/avif",
    ".css": "text/css; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
    ".gif": "image/gif",
    ".htm": "text/html; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".md": "text/plain; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
    "": "text/plain; charset=utf-8",
}
"""By suffix. The tables of the machine are not asked: on some, .js is text/plain, and browsers do
not run a module of that type."""


COMMENTS = {
    ".css": re.compile(rb"^[ \t]*/\*(?:[^*]|\*(?!/))*\*/[ \t]*$", re.MULTILINE),
    ".js": re.compile(rb"^[ \t]*(?://[^\n]*|/\*\*(?:[^*]|\*(?!/))*\*/[ \t]*)$", re.MULTILINE),
}
"""Those that have their lines to themselves, as all do in files that our formatter writes. In text
between backticks such lines would be lost, so this is for files that we know."""


class _File(NamedTuple):
    stamp: tuple[int, int, int]
    """Modification time, size and inode: when these change the file is read again."""
    content: bytes
    gzipped: bytes
    """Empty for content that does not get smaller."""
    etag: str
    content_type: str


class StaticFiles:
    """Reads files once, and again when they changed."""

    def __init__(self, *, dev: bool = False) -> None:
        self._files: dict[tuple[str, bool], _File] = {}
        """By path, and whether comments are in it."""
        self._cache_control = "no-store" if dev else "no-cache"

    def answer(
        self, request: Request, folder: Path, path: str, *, comments: bool = True
    ) -> Response:
        """The file of this path below the folder; blocks while it is read from disk.

        Without `comments` those of a module or of styles are left out.
        """
        file = self.file(folder, path, comments=comments)
        if file is None:
            return text_error(404, "Not found: there is no such file")
        headers = {"cache-control": self._cache_control, "etag": file.etag}
        if file.gzipped:
            headers["vary"] = "Accept-Encoding"
        if etag_matches(request.headers.get("if-none-match"), file.etag):
            return Response(status_code=304, headers=headers)
        headers["content-type"] = file.content_type
        body = file.content
        if file.gzipped and accepts_gzip(request.scope["headers"]):
            headers["content-encoding"] = "gzip"
            body = file.gzipped
        return Response(body, headers=headers)

    def file(self, folder: Path, path: str, *, comments: bool = True) -> _File | None:
        """A regular file below the folder, None when there is none of that name."""
        parts = path.split("/")
        # Names that could lead out of the folder, or to what is not meant for browsers.
        if any(not part or part[0] == "." or set(part) & set("\\:\0") for part in parts):
            return None
        if parts[-1].endswith((".py", ".pyc", ".so")):
            return None
        location = os.path.join(folder, *parts)
        try:
            found = os.stat(location)
            if not stat.S_ISREG(found.st_mode):
                return None
            stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
            known = self._files.get((location, comments))
            if known is None or known.stamp != stamp:
                known = _read(location, stamp, comments)
                self._files[location, comments] = known
        except (OSError, ValueError):
            # ValueError: a name that this file system cannot have.
            return None
        return known


def _read(location: str, stamp: tuple[int, int, int], comments: bool) -> _File:
    with open(location, "rb") as file:
        content = file.read()
    suffix = PurePosixPath(location).suffix.lower()
    if suffix in COMMENTS and not comments:
        content = COMMENTS[suffix].sub(lambda found: b"\n" * found[0].count(b"\n"), content)
    content_type = CONTENT_TYPES.get(suffix, "application/octet-stream")
    return _File(
        stamp=stamp,
        content=content,
        gzipped=compressed(content, 9) if content and is_textual(content_type) else b"",
        # Of the content, since installers may give files of two versions one time. Weak, because
        # the compressed form has it, too.
        etag=f'W/"{hashlib.sha256(content).hexdigest()[:24]}"',
        content_type=content_type,
    )
