"""ask: sends a request to an ASGI application as it is written, which clients would change."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, NamedTuple
from urllib.parse import unquote

from starlette.datastructures import Headers


class Answer(NamedTuple):
    """The response to a request."""

    status: int
    headers: Headers
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


def scope_of(request: str, headers: Iterable[tuple[str, str]] = (), **scope: Any) -> dict[str, Any]:
    """The ASGI scope of `GET /a/../b?x=1`, for example; without a `host`, that of localhost:6006.

    `scope` has other keys of it.
    """
    method, _, target = request.partition(" ")
    path, _, query = target.partition("?")
    pairs = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    if b"host" not in dict(pairs):
        pairs.append((b"host", b"localhost:6006"))
    return {
        "type": "http", "http_version": "1.1", "scheme": "http", "method": method,
        "path": unquote(path), "raw_path": path.encode(), "query_string": query.encode(),
        "headers": pairs, "server": ("127.0.0.1", 6006), "client": ("127.0.0.1", 50000), **scope,
    }  # fmt: skip


def ask(app: Any, request: str, headers: Iterable[tuple[str, str]] = (), **scope: Any) -> Answer:
    """The response to a request, as in `scope_of`. The client waits until it has ended."""
    messages = [{"type": "http.request"}]
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        if not messages:
            await asyncio.Event().wait()
        return messages.pop()

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(app(scope_of(request, headers, **scope), receive, send))
    start, *parts = sent
    body = b"".join(part.get("body", b"") for part in parts)
    return Answer(start["status"], Headers(raw=start["headers"]), body)
