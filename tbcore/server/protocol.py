"""Protocol: uvicorn's HTTP/1.1 with timeouts, a connection limit, and safe error responses.

uvicorn alone would wait forever for the rest of a request, or for a client that does not read its
response. If there are too many connections, each new connection makes the protocol close an old
one: preferably the connection that has waited longest for a request, else the connection with the
oldest response in progress.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import h11
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from tbcore.http import error_response
from tbcore.tuning import Tuning

MAX_UNSENT_BYTES = 1 << 17
"""Maximum number of unsent bytes that the system buffers for a socket. The system's default is
megabytes, and a socket becomes writable again only when a third of its buffer has been sent. A slow
client would then seem to read nothing for minutes."""
MAX_CONNECTIONS = 500
"""Maximum number of open connections. If half of the process's limit of file descriptors is lower,
that half is the maximum."""
ACCEPT_BATCH_DIVISOR = 16
"""asyncio accepts connections in batches, of at most the connection limit divided by this number.
Two or three batches may be accepted before an evicted connection is really closed. Larger batches
could use up the process's descriptors, and asyncio would then accept no connection for a second."""
MIN_AGE_TO_EVICT_SECONDS = 1.0
"""A connection that has been waiting, or responding, for less than this is evicted only if no
connection is older."""
LINGER_SECONDS = 2.0
"""How long a connection stays open after a malformed request: the client may still be sending, and
must get the response."""
MAX_HEADER_BYTES = 1 << 16
"""Maximum size of the request line and the headers together. Some requests have long URLs."""

MAX_TINY_CHUNKS = 1000
"""Number of chunks of a request body that may be tiny. A chunk takes as long to parse as a small
request, and a body of one megabyte could arrive as a million chunks."""
MIN_CHUNK_BYTES = 64
"""Minimum average size of the chunks after the first `MAX_TINY_CHUNKS`, in bytes."""
UNCLEAR_LINE_END = re.compile(rb"(?<!\r)\n|\n[ \t]")
"""Line ends between headers that h11 accepts and RFC 9112 deprecates: a line feed alone, and one
before a line that continues the previous line."""

Headers = list[tuple[bytes, bytes]]


def raise_descriptor_limit() -> int:
    """Raises the process's limit of file descriptors if needed; returns the connection limit."""
    if sys.platform == "win32":
        return MAX_CONNECTIONS
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # The usual soft limit of 1024 exists for programs that use select().
    needed = 2 * MAX_CONNECTIONS
    if 0 <= soft < needed:
        soft = needed if hard < 0 else min(needed, hard)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_CONNECTIONS if soft < 0 else min(MAX_CONNECTIONS, soft // 2)


class Connections:
    """The state that all connections of one server share."""

    def __init__(self, error_headers: Callable[[], Headers], tuning: Tuning) -> None:
        self.error_headers = error_headers
        """Returns headers for the error responses of the protocol itself."""
        self.tuning = tuning
        self.max_connections = raise_descriptor_limit()
        self.waiting: dict[TimeoutProtocol, float] = {}
        """Maps each connection that waits for a complete request to the time on the loop's clock at
        which the wait began. The longest wait comes first."""
        self.responding: dict[TimeoutProtocol, float] = {}
        """Maps each connection with a response in progress to the time on the loop's clock at which
        that response began. The oldest response comes first. A stream of updates is a response that
        may take days."""


class TimeoutProtocol(H11Protocol):
    """One connection. uvicorn and asyncio call its public methods, on the event loop."""

    def __init__(self, shared: Connections, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.conn = _LimitedParser(h11.SERVER, MAX_HEADER_BYTES)
        self._shared = shared
        self._request_timer: asyncio.TimerHandle | None = None
        self._stall_timer: asyncio.TimerHandle | None = None
        self._discards_input = False
        """Whether a request was malformed, so that everything that still arrives is ignored."""
        self.app = partial(self._respond, self.app)

    async def _respond(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Runs the application, and sends long parts of its response in pieces.

        The next piece is sent when the client has read most of the previous one, and when other
        requests had their turn. If the client disconnects, the application is cancelled.
        """
        cycle, num_bytes = self.cycle, self._shared.tuning.response_piece_bytes

        async def send_long(message: Message) -> None:
            body = memoryview(message["body"])
            for start in range(0, len(body), num_bytes):
                has_more = start + num_bytes < len(body) or message.get("more_body", False)
                piece = body[start : start + num_bytes]
                await send({"type": message["type"], "body": piece, "more_body": has_more})
                # `send` waits only if the client is slow.
                await asyncio.sleep(0)
                if has_more and cycle.disconnected:
                    raise asyncio.CancelledError

        def send_in_pieces(message: Message) -> Awaitable[None]:
            if cycle.disconnected and message.get("more_body", False):
                raise asyncio.CancelledError
            is_long = len(message.get("body", b"")) > num_bytes
            return send_long(message) if is_long else send(message)

        try:
            await app(scope, receive, send_in_pieces)
        except asyncio.CancelledError:
            if not cycle.disconnected:
                raise

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # asyncio sets TCP_NODELAY only for sockets that were created with IPPROTO_TCP. Without it
        # each response on a kept connection waits 40 ms for the client's delayed acknowledgement.
        client_socket = transport.get_extra_info("socket")
        if client_socket is not None and client_socket.family != getattr(socket, "AF_UNIX", None):
            client_socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if hasattr(socket, "TCP_NOTSENT_LOWAT"):
                option = socket.TCP_NOTSENT_LOWAT
                client_socket.setsockopt(socket.IPPROTO_TCP, option, MAX_UNSENT_BYTES)
        self._watch_request()
        if len(self.connections) > self._shared.max_connections:
            self._evict_connection()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        _cancel(self._request_timer)
        _cancel(self._stall_timer)
        super().connection_lost(exc)
        # It refers to this object, which would otherwise stay in memory until the next collection.
        del self.app

    def data_received(self, data: bytes) -> None:
        if self._discards_input:
            return
        super().data_received(data)
        self._watch_request()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._update_state()

    def _update_state(self) -> bool:
        """Moves this connection to `waiting` or `responding`; returns whether it is waiting."""
        is_waiting = self.cycle is None or self.cycle.response_complete
        if not self.transport.is_closing():
            if is_waiting:
                state, other_state = self._shared.waiting, self._shared.responding
            else:
                state, other_state = self._shared.responding, self._shared.waiting
            other_state.pop(self, None)
            # A connection that is in its state already keeps its time and its position.
            state.setdefault(self, self.loop.time())
        return is_waiting

    def _evict_connection(self) -> None:
        """Closes the oldest other connection, preferably one that waits for a request."""
        now = self.loop.time()
        for min_age_seconds in (MIN_AGE_TO_EVICT_SECONDS, 0):
            for connections in (self._shared.waiting, self._shared.responding):
                oldest = next((c for c in connections if c is not self), None)
                if oldest is not None and now - connections[oldest] >= min_age_seconds:
                    oldest._forget()
                    oldest.transport.abort()
                    return

    def _forget(self) -> None:
        """Removes this connection from `waiting` and `responding`, so that it is not evicted."""
        self._shared.waiting.pop(self, None)
        self._shared.responding.pop(self, None)

    def _watch_request(self) -> None:
        """Starts the timeout of an incomplete request; cancels the timeout of a complete one."""
        if self._update_state():
            if self._request_timer is None and not self.transport.is_closing():
                seconds = self._shared.tuning.request_timeout_seconds
                self._request_timer = self.loop.call_later(seconds, self.transport.close)
        else:
            _cancel(self._request_timer)
            self._request_timer = None

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_response(self.transport.get_write_buffer_size(), self.loop.time())

    def resume_writing(self) -> None:
        _cancel(self._stall_timer)
        super().resume_writing()

    def _watch_response(self, num_unsent_before: int, since: float) -> None:
        """Checks repeatedly whether the client reads, and closes the connection if it does not.

        `num_unsent_before` is the size of the write buffer, in bytes, at the last check; `since` is
        the time on the loop's clock at which the buffer last became smaller.
        """
        num_unsent, now = self.transport.get_write_buffer_size(), self.loop.time()
        timeout = self._shared.tuning.stall_timeout_seconds
        if num_unsent < num_unsent_before:
            since = now
        elif now - since >= timeout:
            self.transport.abort()
            return
        self._stall_timer = self.loop.call_later(
            timeout / 6, self._watch_response, num_unsent, since
        )

    def send_400_response(self, msg: str) -> None:
        """Responds to malformed HTTP, or closes the connection if a response has begun."""
        is_in_application = self.cycle is not None and not self.cycle.response_complete
        if is_in_application:
            # The headers were valid, so the application is handling the request. From now on it
            # sees a client that has disconnected.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if is_in_application and self.cycle.response_started:
            self.transport.close()
            return
        response = error_response(
            400, msg, headers={"cache-control": "no-cache", "connection": "close"}
        )
        headers = [*response.raw_headers, *self._shared.error_headers()]
        for event in (
            h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
            h11.Data(data=bytes(response.body)),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event))
        # If the connection were closed now, a client that is still sending would lose the response.
        self._discards_input = True
        if self.transport.can_write_eof():
            with contextlib.suppress(OSError):  # The client may have disconnected.
                self.transport.write_eof()
        self.loop.call_later(LINGER_SECONDS, self.transport.close)


class _LimitedParser(h11.Connection):
    """h11's parser, except that it refuses ambiguous headers, and a body of too many tiny chunks.

    Headers are ambiguous if a proxy could read them in another way: it would then find the end of
    the request elsewhere, and pass on the rest of the bytes as a request that it has not checked.

    It also returns the headers of a response together with the first part of the body. uvicorn
    would write them separately, which costs a second system call and wakes the client twice.
    """

    _num_chunks = 0
    """Number of chunks of the current request's body so far; `_num_bytes` is their size."""
    _num_bytes = 0
    _held_headers = b""

    def next_event(self) -> Any:
        """h11's next event of the request; raises RemoteProtocolError for what is refused."""
        received = self.trailing_data[0] if self.their_state is h11.IDLE else b""
        event = super().next_event()
        if isinstance(event, h11.Data):
            self._num_chunks += 1
            self._num_bytes += len(event.data)
            if self._num_bytes < (self._num_chunks - MAX_TINY_CHUNKS) * MIN_CHUNK_BYTES:
                raise h11.RemoteProtocolError("the body has too many tiny chunks")
        elif isinstance(event, h11.Request):
            self._num_chunks = self._num_bytes = 0
            if {b"transfer-encoding", b"content-length"} <= {name for name, _ in event.headers}:
                raise h11.RemoteProtocolError("the body has two lengths")
            head = received[: len(received) - len(self.trailing_data[0])]
            if UNCLEAR_LINE_END.search(head):
                raise h11.RemoteProtocolError("a header line has an unclear end")
        return event

    def send(self, event: Any) -> bytes:  # type: ignore[override]
        """The bytes to send for an event of the response, after headers that were held back."""
        data = self._held_headers + (super().send(event) or b"")
        self._held_headers = data if isinstance(event, h11.Response) else b""
        return b"" if self._held_headers else data


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
