"""Request body: reads the body of a request before a handler is called."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from starlette.responses import Response
from starlette.types import Message, Receive, Scope

from tbcore.http import error_response
from tbcore.server.plugin_response import NOT_SUPPORTED

MAX_BODY_BYTES = 1 << 20
"""Size of the largest request body that is accepted."""
LARGE_BODY_BYTES = 1 << 16
"""Size above which a body is large. Most of those of the page are smaller."""
MAX_LARGE_BODIES = 32
"""Maximum number of requests with a large body at a time, from when they arrive until they have a
response. Without it, slow clients could fill the memory."""
LARGE_BODIES_KEY = "tbcore.large_bodies"
"""Key of a scope with the set of the tasks of all requests that have a large body."""


async def read_body(
    scope: Scope, receive: Receive, timeout_seconds: float
) -> bytes | Response | None:
    """The whole body of a request; None if the client has disconnected.

    If the body is too long or does not arrive in time, or if there are too many large ones at the
    same time, the result is an error response, which the caller must send.
    """
    large, task = scope[LARGE_BODIES_KEY], cast(Any, asyncio.current_task())
    line = f"the body is too long; at most {MAX_BODY_BYTES} bytes are accepted"
    too_long = error_response(413, line)
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit() and int(value[:20]) > MAX_BODY_BYTES:
            return too_long
    body = bytearray()
    try:
        async with asyncio.timeout(timeout_seconds):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    return None
                body += message.get("body", b"")
                if len(body) > MAX_BODY_BYTES:
                    return too_long
                if len(body) > LARGE_BODY_BYTES and task not in large:
                    if len(large) >= MAX_LARGE_BODIES:
                        return error_response(503, "too many large bodies at a time; try again")
                    large.add(task)
                    task.add_done_callback(large.discard)
                if not message.get("more_body", False):
                    return bytes(body)
    except TimeoutError:
        line = "the body of the request did not arrive in time"
        return error_response(408, line, headers={"connection": "close"})


def replay(body: bytes) -> Receive:
    """A `receive` that returns the body, which was read before, and nothing else."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        if not messages:
            raise RuntimeError(
                f"the handler receives more than the body of the request, {NOT_SUPPORTED}; "
                f"do not ask whether the client is connected"
            )
        return messages.pop()

    return receive
