"""Page errors: what a plugin's module raised in the browser, logged for the plugin's author.

The page sends them to `data/page_errors`, an address that only servers with `--dev` have.
"""

from __future__ import annotations

import logging
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from tbcore import BadRequestError
from tbcore.engine import Config, PluginStats, Row, printable_line
from tbcore.http import error_response, json_body

logger = logging.getLogger("tbcore.testing")

MAX_LINES = 50
"""Maximum number of lines of the stack that are logged."""
MAX_LINE_LENGTH = 500
"""Maximum number of characters that are logged of each line, and of the plugin's name."""


def rows_for(config: Config) -> dict[str, Row]:
    """The row of `data/page_errors` in the table of routes of a server."""
    # One limit for all plugins: any user of this machine can send the names of more.
    limit = PluginStats("*", log_window_seconds=config.tuning.wrong_token_log_seconds)
    handler = partial(_log_page_error, limit)
    row = Row(handler, methods=("POST",), is_demand=True, has_body=True)
    return {"/data/page_errors": row}


def _log_page_error(limit: PluginStats, request: Request) -> Response:
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
