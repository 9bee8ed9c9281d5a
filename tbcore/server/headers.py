"""The headers of every response, and the outermost ASGI layer, which adds them.

The page inserts text from a log as text, never as HTML. If a bug makes it HTML, these headers
prevent the text from running as code. They also prevent pages of other sites from reading
responses, and from showing the page in a frame unless the user allows that. The pages of plugins
have a policy of their own.
"""

from __future__ import annotations

import base64
import hashlib
import logging
import re
from collections.abc import Callable, Sequence

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tbcore.http import error_response
from tbcore.plugins.config import Config
from tbcore.server.pool import NoThreadError

logger = logging.getLogger(__name__)

POLICY_KEY = "tbcore.policy"
"""Key of a scope with the policy of its response, if that is not the one of all responses."""
INLINE_SCRIPT = re.compile(rb'<script(?: type="importmap")?>(.*?)</script>', re.S)


def content_security_policy(index_page: bytes, embed_in: Sequence[str] = ()) -> bytes:
    """The Content-Security-Policy. It allows the page's two inline scripts by their hashes.

    One is the import map, the other adds the slash at the end of the page's address. They have only
    relative addresses, so that their hashes are the same for every path prefix. `embed_in` are the
    origins whose pages may have the page in a frame, besides the server's own.
    """
    hashes = "".join(
        f" 'sha256-{base64.b64encode(hashlib.sha256(content).digest()).decode()}'"
        for content in INLINE_SCRIPT.findall(index_page)
    )
    return _policy(
        f"script-src 'self'{hashes}; style-src 'self'; img-src 'self' blob: data:; "
        "media-src 'self' blob:; connect-src 'self'; worker-src 'self'; font-src 'self'; "
        "frame-src 'self'",
        embed_in,
    )


def page_policy(allows: Sequence[str], embed_in: Sequence[str]) -> bytes:
    """The policy of a plugin's page and of all files in its folder, among them its workers.

    `allows` is `PluginInfo.page_allows`. The page's frame is inside the page of the core, so the
    pages that may frame that one, `embed_in`, must be allowed here, too.
    """
    evaluated = " 'unsafe-eval'" if "eval" in allows else ""
    frames = "; frame-src 'self'" if "frames" in allows else ""
    return _policy(
        f"script-src 'self' 'wasm-unsafe-eval'{evaluated}; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' blob: data:; media-src 'self' blob: data:; font-src 'self' blob: data:; "
        "connect-src 'self'; worker-src 'self' blob:" + frames,
        embed_in,
    )


def _policy(sources: str, embed_in: Sequence[str]) -> bytes:
    frames = " ".join(["'self'", *embed_in])
    rest = f"base-uri 'none'; form-action 'none'; frame-ancestors {frames}"
    return f"default-src 'none'; {sources}; {rest}".encode()


def safety_headers(policy: bytes) -> list[tuple[bytes, bytes]]:
    """The headers of every response, including errors."""
    return [
        (b"content-security-policy", policy),
        (b"x-content-type-options", b"nosniff"),
        # With no-referrer, browsers may send `Origin: null` with the page's own POST requests.
        (b"referrer-policy", b"same-origin"),
        (b"cross-origin-resource-policy", b"same-origin"),
        # A page of another site that has opened this one keeps no reference to its window.
        (b"cross-origin-opener-policy", b"same-origin"),
    ]


class SafeHeaders:
    """The outermost ASGI layer: adds the headers, and responds if the inner layers fail."""

    def __init__(self, app: ASGIApp, policy: Callable[[], bytes], config: Config) -> None:
        self._app = app
        self._policy = policy
        self._dev = config.dev
        self._prefix = config.path_prefix

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
                policy = scope.get(POLICY_KEY) or self._policy()
                message["headers"] = _complete(message["headers"], policy)
            elif is_head:
                message["body"] = b""
            await send(message)

        failure = raised = None
        try:
            await self._app(scope, receive, send_safely)
        except NoThreadError as error:
            logger.warning("request for %r got no response: %s", self._path(scope), error)
            failure = error_response(503, str(error), headers={"retry-after": "5"})
        except Exception as error:
            logger.error("request for %r failed", self._path(scope), exc_info=error)
            raised = error
        # Without an exception, a plugin's response failed before its first byte, and the guard has
        # logged the failure.
        if not is_started:
            line = "tbcore failed to respond; the log has the details"
            await (failure or error_response(500, line))(scope, receive, send_safely)
        if raised is not None and self._dev:
            raise raised

    def _path(self, scope: Scope) -> str:
        """The path of a request, for the log, without the prefix, which may be secret."""
        path: str = scope["path"]
        return path.removeprefix(self._prefix)


def _complete(headers: list[tuple[bytes, bytes]], policy: bytes) -> list[tuple[bytes, bytes]]:
    """The headers of a response, with all safety headers and, by default, `no-cache`."""
    safety = safety_headers(policy)
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
