"""Page errors: what a plugin's module raised in the browser, logged for the plugin's author.

The page sends them to `data/page_errors`, an address that only servers with `--dev` have.
"""

from __future__ import annotations

import logging

from starlette.requests import Request
from starlette.responses import Response

from tbcore.errors import BadRequestError
from tbcore.http import error_response, json_body
from tbcore.plugins.stats import PluginStats
from tbcore.text import printable_line

logger = logging.getLogger(__name__)

MAX_LINES = 50
"""Maximum number of lines of the stack that are logged."""
MAX_LINE_LENGTH = 500
"""Maximum number of characters that are logged of each line, and of the plugin's name."""


def log_page_error(limit: PluginStats, request: Request) -> Response:
    """Logs the error in a request's body if the limit of lines allows it; returns the response."""
    try:
        page_error = json_body(request)
        plugin, stack = page_error["plugin"], page_error["stack"]
        name = printable_line(plugin)[:MAX_LINE_LENGTH]
        lines = [printable_line(line)[:MAX_LINE_LENGTH] for line in stack.splitlines()[:MAX_LINES]]
    except (BadRequestError, TypeError, KeyError, AttributeError):
        return error_response(400, 'the body must be JSON with the strings "plugin" and "stack"')
    if limit.may_log():
        logger.error("plugin %r failed in the page: %s", name, "\n".join(lines))
    return Response(status_code=204)
