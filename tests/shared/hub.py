"""Hub: a server with those parts of the API of the Hugging Face hub by which its files are read.

It serves the files of a folder as one repository: the information about it, its tree in pages, and
ranges of its files.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

REPOSITORY = "datasets/me/logs"
URI = f"hf://{REPOSITORY}"


class Hub:
    """A hub with one repository, whose files are those of a folder at any time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.page_size = 1000
        """Number of entries in a page of a tree."""
        self.requests: list[str] = []
        """Method and path of each request, with the query."""
        handler = type("Handler", (_Handler,), {"hub": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.endpoint = f"http://127.0.0.1:{self.server.server_port}"
        self.environment = {
            "HF_ENDPOINT": self.endpoint,
            "HF_HOME": str(folder.parent / "hf"),
            "HF_HUB_DISABLE_TELEMETRY": "1",
        }
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def tree(self, below: str) -> list[dict[str, Any]] | None:
        """All entries below a folder of the repository, at any depth; None if it is no folder."""
        top = self.folder / below
        if not top.is_dir():
            return None
        return [self.entry(path) for path in sorted(top.rglob("*"))]

    def entry(self, path: Path) -> dict[str, Any]:
        name = path.relative_to(self.folder).as_posix()
        if path.is_dir():
            return {"type": "directory", "oid": name, "size": 0, "path": name}
        data = path.read_bytes()
        oid = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
        return {"type": "file", "oid": oid, "size": len(data), "path": name}


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        self.hub.requests.append(f"{self.command} {self.path}")
        url = urlsplit(self.path)
        path, query = unquote(url.path), parse_qs(url.query)
        if match := re.fullmatch(rf"/{REPOSITORY}/resolve/main/(.+)", path):
            return self.answer_file(self.hub.folder / match[1])
        if match := re.fullmatch(rf"/api/{REPOSITORY}/tree/main/?(.*)", path):
            entries = self.hub.tree(match[1])
            if entries is None:
                return self.refuse("EntryNotFound")
            if query.get("recursive", ["false"])[0].lower() not in ("true", "1"):
                depth = match[1].strip("/").count("/") + bool(match[1])
                entries = [each for each in entries if each["path"].count("/") == depth]
            first = int(query.get("cursor", ["0"])[0])
            last = first + self.hub.page_size
            link = re.sub(r"&?cursor=\d+", "", self.path) + f"&cursor={last}"
            more = {"Link": f'<{self.hub.endpoint}{link}>; rel="next"'}
            return self.answer_json(entries[first:last], more if last < len(entries) else {})
        if re.fullmatch(rf"/api/{REPOSITORY}(/revision/main)?", path):
            return self.answer_json({"id": "me/logs", "sha": "0" * 40, "private": False}, {})
        return self.refuse("RepoNotFound")

    def answer_file(self, path: Path) -> None:
        if not path.is_file():
            return self.refuse("EntryNotFound")
        data = path.read_bytes()
        begin, end = 0, len(data)
        if wanted := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", "")):
            begin, end = int(wanted[1]), min(int(wanted[2] or len(data)) + 1, len(data))
        headers = {"Content-Range": f"bytes {begin}-{end - 1}/{len(data)}", "ETag": '"x"'}
        return self.answer(206 if wanted else 200, data[begin:end], headers)

    def answer_json(self, content: object, headers: dict[str, str]) -> None:
        headers = {"Content-Type": "application/json", **headers}
        self.answer(200, json.dumps(content).encode(), headers)

    def refuse(self, code: str) -> None:
        self.answer(404, b'{"error":"not found"}', {"X-Error-Code": code})

    def answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
