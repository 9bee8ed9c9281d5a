"""Page errors: what a plugin's module raised in the browser, told where its author looks.

The page sends it to a server with `--dev` only; others do not have the address.
"""

from __future__ import annotations

import logging
from typing import Any

import orjson
from starlette.responses import Response
from starlette.types import Receive, Scope

from tbcore.http import printable_line, text_error
from tbcore.server.guard import method_not_allowed, read_body

logger = logging.getLogger(__name__)

MAX_LINES = 50
MAX_LENGTH = 500
"""Characters of a line."""


async def take_page_error(scope: Scope, receive: Receive) -> Response | None:
    """Logs the error that a request tells of; None when the client went away."""
    if scope["method"] != "POST":
        return method_not_allowed(scope, {"POST"})
    body = await read_body(scope, receive)
    if not isinstance(body, bytes):
        return body
    try:
        told: Any = orjson.loads(body)
        plugin, stack = told["plugin"], told["stack"]
        lines = [printable_line(line)[:MAX_LENGTH] for line in stack.splitlines()[:MAX_LINES]]
    except (ValueError, TypeError, KeyError, AttributeError):
        return text_error(400, 'the body must be JSON with the texts "plugin" and "stack"')
    logger.error("plugin %r failed in the page: %s", str(plugin)[:MAX_LENGTH], "\n".join(lines))
    return Response(status_code=204)
