"""Static files: the page of the core, and the ES modules and pages of plugins, served from disk.

JavaScript and styles are sent without comments, which are a quarter of the page's size. Lines are
emptied, not removed, so that line numbers in errors stay right.
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

from tbcore.http import error_response
from tbcore.http.responses import etag_matches
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
"""Maps a suffix to a Content-Type. The module `mimetypes` is not used: on some systems its type for
.js is text/plain, and browsers do not run a module of that type."""

COMMENTS = {
    ".css": re.compile(rb"^[ \t]*/\*(?:[^*]|\*(?!/))*\*/[ \t]*$|^[ \t]+", re.MULTILINE),
    ".js": re.compile(
        rb"^[ \t]*(?://[^\n]*|/\*\*(?:[^*]|\*(?!/))*\*/[ \t]*)$"
        rb"|/\*\* @type (?:[^*\n]|\*(?!/))*\*/ ?",
        re.MULTILINE,
    ),
}
"""Maps a suffix to a pattern of what is removed: comments with nothing else on their lines, indents
in styles, and the types in JavaScript, whose indents may be parts of texts. The pattern also
matches text that looks like a comment in a template literal; a file with such text can have the
suffix .mjs, which is served as it is."""
LICENSE_MARKS = (b"@license", b"@preserve")
"""A comment with one of these words is kept, as minifiers do."""


class _CachedFile(NamedTuple):
    """A file in memory, ready to be sent."""

    stamp: tuple[int, int, int]
    """Modification time in ns, size and inode. If one of them changes, the file is read again."""
    content: bytes
    gzipped: bytes
    """The content in gzip format; empty if the type is not compressed."""
    etag: str
    content_type: str


class StaticFiles:
    """Serves files from memory, and reads them again when they have changed."""

    def __init__(self, *, dev: bool = False) -> None:
        self._files: dict[str, _CachedFile] = {}
        """Maps the path of a file to the cached file."""
        self._keep_comments = dev
        self._cache_control = "no-store" if dev else "no-cache"

    def response(self, request: Request, folder: Path, path: str) -> Response:
        """The response with the file at `path`, which is relative to the folder.

        Blocks while the file is read. Without `dev`, comments are removed from JavaScript and CSS.
        """
        file = self.file(folder, path)
        if file is None:
            return error_response(404, "Not found: there is no such file")
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

    def file(self, folder: Path, path: str) -> _CachedFile | None:
        """A regular file below the folder; None if there is none, or if it must not be sent."""
        parts = path.split("/")
        # Refuses names that could lead out of the folder, and files that are not for browsers.
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
            cached = self._files.get(location)
            if cached is None or cached.stamp != stamp:
                cached = self._files[location] = _read(location, stamp, self._keep_comments)
        except (OSError, ValueError):
            # ValueError: the name is not valid in this file system.
            return None
        return cached


def _read(location: str, stamp: tuple[int, int, int], keep_comments: bool) -> _CachedFile:
    """Reads a file, removes its comments unless they are kept, and compresses it."""
    content = Path(location).read_bytes()
    suffix = PurePosixPath(location).suffix.lower()
    if suffix in COMMENTS and not keep_comments:
        content = COMMENTS[suffix].sub(_emptied, content)
    content_type = CONTENT_TYPES.get(suffix, "application/octet-stream")
    return _CachedFile(
        stamp=stamp,
        content=content,
        # The highest level, since a file is compressed once and sent often.
        gzipped=compressed(content, 9) if content and is_textual(content_type) else b"",
        # A hash of the content, not the time: installers may give files of two versions the same
        # time. The ETag is weak because the compressed form has the same ETag.
        etag=f'W/"{hashlib.sha256(content).hexdigest()[:24]}"',
        content_type=content_type,
    )


def _emptied(comment: re.Match[bytes]) -> bytes:
    """As many empty lines as the comment has; the comment itself if it has a licence."""
    text = comment[0]
    return text if any(mark in text for mark in LICENSE_MARKS) else b"\n" * text.count(b"\n")
