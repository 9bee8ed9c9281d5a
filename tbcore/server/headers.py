"""The headers of every response, and the outermost ASGI layer, which adds them.

The page inserts text from a log as text, never as HTML. If a bug makes it HTML, these headers
prevent the text from running as code. They also prevent pages of other sites from reading
responses, and from showing the page in a frame.
"""

from __future__ import annotations

import base64
import hashlib
import logging
import re
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tbcore.http import error_response
from tbcore.server.pool import NoThreadError

logger = logging.getLogger(__name__)

IMPORT_MAP = re.compile(rb'<script type="importmap">(.*?)</script>', re.S)


def content_security_policy(index_page: bytes) -> bytes:
    """The Content-Security-Policy. It allows one inline script, the import map, by its hash.

    The import map has only relative addresses, so its hash is the same for every path prefix.
    """
    hashes = "".join(
        f" 'sha256-{base64.b64encode(hashlib.sha256(content).digest()).decode()}'"
        for content in IMPORT_MAP.findall(index_page)
    )
    policy = (
        f"default-src 'none'; script-src 'self'{hashes}; style-src 'self'; "
        "img-src 'self' blob: data:; media-src 'self' blob:; connect-src 'self'; "
        "worker-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
    return policy.encode()


def safety_headers(policy: bytes) -> list[tuple[bytes, bytes]]:
    """The headers of every response, including errors."""
    return [
        (b"content-security-policy", policy),
        (b"x-content-type-options", b"nosniff"),
        # With no-referrer, browsers may send `Origin: null` with the page's own POST requests.
        (b"referrer-policy", b"same-origin"),
        (b"cross-origin-resource-policy", b"same-origin"),
    ]


class SafeHeaders:
    """The outermost ASGI layer: adds the headers, and responds if the inner layers fail."""

    def __init__(self, app: ASGIApp, policy: Callable[[], bytes], *, dev: bool) -> None:
        self._app = app
        self._policy = policy
        self._dev = dev

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        is_started = False
        is_head = scope["method"] == "HEAD"

        async def send_safely(message: Message) -> None:
            nonlocal is_started
            if message["type"] == "http.response.start":
                is_started = True
                message["headers"] = self._complete(message["headers"])
            elif is_head:
                message["body"] = b""
            await send(message)

        failure = raised = None
        try:
            await self._app(scope, receive, send_safely)
        except NoThreadError as error:
            logger.warning("request for %r got no response: %s", scope["path"], error)
            failure = error_response(503, str(error), headers={"retry-after": "5"})
        except Exception as error:
            logger.error("request for %r failed", scope["path"], exc_info=error)
            raised = error
        # Without an exception, a plugin's response failed before its first byte, and the guard has
        # logged the failure.
        if not is_started:
            line = "tbcore failed to respond; the log has the details"
            await (failure or error_response(500, line))(scope, receive, send_safely)
        if raised is not None and self._dev:
            raise raised

    def _complete(self, headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        """The headers of a response, with all safety headers and, by default, `no-cache`."""
        safety = safety_headers(self._policy())
        names = {name for name, _ in safety}
        complete = [(name, value) for name, value in headers if name not in names] + safety
        if not any(name == b"cache-control" for name, _ in headers):
            complete.append((b"cache-control", b"no-cache"))
        return complete


async def _lifespan(receive: Receive, send: Send) -> None:
    """Only confirms the messages about the start and the end of the server."""
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
