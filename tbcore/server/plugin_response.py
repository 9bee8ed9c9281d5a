"""Plugin response: what a plugin's handler may send, and checks that it is valid HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import h11
from starlette.concurrency import iterate_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse
from starlette.types import Message, Send

from tbcore.errors import TbcoreError
from tbcore.http import error_response
from tbcore.plugins.types import Outcome

STATUSES_WITHOUT_BODY = (204, 304)
"""A response with one of these statuses ends with its headers."""

NOT_SUPPORTED = "which is not supported"
"""Part of the message about each feature of Starlette that handlers cannot use, since it would run
on the server's event loop."""


def response_of(outcome: Outcome) -> Response:
    """The response that a handler returned, or that its exception stands for.

    Raises every other exception of the handler, and TypeError for what cannot be sent.
    """
    response, error = outcome
    if isinstance(error, TbcoreError):
        return error_response(error.status, str(error))
    if isinstance(error, HTTPException):
        if error.status_code in STATUSES_WITHOUT_BODY:
            return Response(status_code=error.status_code, headers=error.headers)
        return error_response(error.status_code, error.detail, headers=error.headers)
    if error is not None:
        raise error
    name = type(response).__name__
    if not isinstance(response, Response):
        raise TypeError(f"the handler returned {name}, not a Response")
    if type(response).__call__.__module__ != Response.__module__:
        raise TypeError(
            f"the handler returned {name}, a Response with a __call__ of its own, {NOT_SUPPORTED}; "
            f"return a Response or StreamingResponse of Starlette"
        )
    if response.background is not None:
        raise TypeError(
            f"the response has a background task, {NOT_SUPPORTED}; do its work before the response "
            f"is returned, or in a thread"
        )
    return response


def plain_iterator(response: StreamingResponse) -> Iterator[Any]:
    """The iterator of a body; raises TypeError for an async iterator.

    Starlette wraps a plain iterator in `iterate_in_threadpool`, whose threads all plugins would
    share. So the iterator is taken out of that wrapper.
    """
    body: Any = response.body_iterator
    if getattr(body, "ag_code", None) is not iterate_in_threadpool.__code__:
        raise TypeError(
            f"the body of the response is {type(body).__name__}, an async iterator, "
            f"{NOT_SUPPORTED}; use a plain iterator, as with tbcore.http.streaming_response"
        )
    return iter(body.ag_frame.f_locals["iterator"])


class CheckedSender:
    """Sends a plugin's response; raises instead of sending anything that is not valid HTTP.

    Without these checks, the server would find the faults too late to send an error response: a
    client would, for example, wait for the rest of a body shorter than its Content-Length.
    """

    def __init__(self, method: str, send: Send) -> None:
        self.is_started = False
        """Whether the headers have been sent, so that it is too late for an error response."""
        self._method = method
        self._send = send
        self._held_start: Message | None = None
        """The headers, which are sent together with the first part of the body."""
        self._num_bytes_left: int | None = None
        """How many bytes of the body must still be sent; None if any number of bytes is valid."""

    async def send(self, message: Message) -> None:
        """Sends an ASGI message; raises ValueError if the body gets too long or ends too early."""
        if message["type"] == "http.response.start":
            self._num_bytes_left = _body_size(message["status"], message["headers"], self._method)
            self._held_start = message
            return
        if self._num_bytes_left is not None:
            self._num_bytes_left -= len(message.get("body", b""))
            is_last = not message.get("more_body", False)
            if self._num_bytes_left < 0 or (is_last and self._num_bytes_left > 0):
                what = "longer" if self._num_bytes_left < 0 else "shorter"
                raise ValueError(f"the body is {what} than the headers say")
        if self._held_start is not None:
            start, self._held_start = self._held_start, None
            await self._send(start)
            self.is_started = True
        await self._send(message)


def _body_size(status: int, headers: list[tuple[bytes, bytes]], method: str) -> int | None:
    """Number of bytes that the body must have; None for any number. Raises for invalid headers."""
    head = h11.Response(status_code=status, headers=headers)
    if status > 599:
        raise ValueError(f"{status} is not a valid HTTP status")
    if status in STATUSES_WITHOUT_BODY:
        return 0
    if method == "HEAD":
        # No body is sent, and Content-Length is that of the response to GET.
        return None
    lengths = [int(value) for name, value in head.headers if name == b"content-length"]
    return lengths[0] if lengths else None
