"""Page errors: what a plugin's module raised in the browser, logged for the plugin's author.

The page sends them to `data/page_errors`, an address that only servers with `--dev` have.
"""

from __future__ import annotations

import logging
from typing import Any

import orjson
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tbcore.http import error_response
from tbcore.server.guard import method_not_allowed
from tbcore.server.request_body import read_body
from tbcore.text import printable_line

logger = logging.getLogger(__name__)

MAX_LINES = 50
"""Maximum number of lines of the stack that are logged."""
MAX_LINE_LENGTH = 500
"""Maximum number of characters that are logged of each line, and of the plugin's name."""


async def log_page_error(
    timeout_seconds: float, scope: Scope, receive: Receive, send: Send
) -> None:
    """Logs the error in a request's body, and sends the response."""
    if scope["method"] != "POST":
        response: bytes | Response | None = method_not_allowed(scope, {"POST"})
    else:
        response = await read_body(scope, receive, timeout_seconds)
    if isinstance(response, bytes):
        response = _logged(response)
    if response is not None:
        await response(scope, receive, send)


def _logged(body: bytes) -> Response:
    """Logs the error in a body; returns the response."""
    try:
        page_error: Any = orjson.loads(body)
        plugin, stack = page_error["plugin"], page_error["stack"]
        name = printable_line(plugin)[:MAX_LINE_LENGTH]
        lines = [printable_line(line)[:MAX_LINE_LENGTH] for line in stack.splitlines()[:MAX_LINES]]
    except (ValueError, TypeError, KeyError, AttributeError):
        return error_response(400, 'the body must be JSON with the strings "plugin" and "stack"')
    logger.error("plugin %r failed in the page: %s", name, "\n".join(lines))
    return Response(status_code=204)
