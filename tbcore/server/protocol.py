"""Protocol: uvicorn's HTTP/1.1 with deadlines, and with our headers on its own errors.

uvicorn waits for ever for the rest of a request, and for a client that does not read its answer.
When there are too many connections, some make room for whoever asks: those that have been silent
for longest, and where none has been for long, those that have been answered for longest.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import Callable
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_SECONDS = 20.0
"""For a request to arrive, from its first byte or from the connection's beginning on."""
STALL_SECONDS = 30.0
"""For a client to take some of what was sent to it."""
UNSENT_BYTES = 1 << 17
"""How much the system takes from us ahead of what it can send. By itself it takes megabytes, and
more when a third of them is sent, so that a slow client seems to take nothing for minutes."""
MAX_CONNECTIONS = 500
"""At the same time; fewer where the process may have less than twice as many descriptors."""
ACCEPTED_SHARE = 16
"""Accepted at once is one in so many of them. Those that make room are not closed before some more
have been accepted twice or thrice, and without descriptors nobody is accepted for a second."""
LONG_SECONDS = 1.0
"""Who has not been silent, or answered, for so long makes room only if all others are like that."""
LINGER_SECONDS = 2.0
"""How long a client may go on sending what is not going to be answered."""
MAX_HEADER_BYTES = 1 << 16
"""Of the request line and the headers: a request in a URL may be long."""

FEW_PARTS = 1000
SMALL_PART_BYTES = 64
"""A body in more than so many parts must have this many bytes in each of them, more or less: a part
takes as long as a small request, and a megabyte may come as a million chunks."""

Headers = list[tuple[bytes, bytes]]


def protocol_with(headers: Callable[[], Headers]) -> type[_DeadlineProtocol]:
    """The protocol class for a server whose answers all have these headers."""

    class Protocol(_DeadlineProtocol):
        waiting: ClassVar[dict[_DeadlineProtocol, float]] = {}
        answered: ClassVar[dict[_DeadlineProtocol, float]] = {}
        max_connections = allow_connections()

        def error_headers(self) -> Headers:
            return headers()

    return Protocol


def allow_connections() -> int:
    """Lets this process have descriptors for MAX_CONNECTIONS; how many connections it may have."""
    if sys.platform == "win32":
        return MAX_CONNECTIONS
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # The usual limit is from the days of select().
    wanted = 2 * MAX_CONNECTIONS
    if 0 <= soft < wanted:
        soft = wanted if hard < 0 else min(wanted, hard)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_CONNECTIONS if soft < 0 else min(MAX_CONNECTIONS, soft // 2)


class _DeadlineProtocol(H11Protocol):
    waiting: ClassVar[dict[_DeadlineProtocol, float]]
    """Connections of this server on which a request is awaited, or the rest of one, or another one;
    with the loop's time since when, the longest first."""
    answered: ClassVar[dict[_DeadlineProtocol, float]]
    """All others, likewise. An open stream of updates is answered for days."""
    max_connections: int

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.conn = _Connection(h11.SERVER, MAX_HEADER_BYTES)
        self._deadline: asyncio.TimerHandle | None = None
        self._stall: asyncio.TimerHandle | None = None
        self._is_over = False
        """Whether all that still arrives is thrown away."""

    def error_headers(self) -> Headers:
        """Headers of answers that are made here."""
        raise NotImplementedError

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(_Joining(transport, self.loop))  # type: ignore[arg-type]
        # asyncio leaves this out for sockets that were not made for IPPROTO_TCP by name. Without it
        # each answer on a kept connection waits 40 ms for the client's delayed acknowledgement.
        connection = transport.get_extra_info("socket")
        if connection is not None:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if hasattr(socket, "TCP_NOTSENT_LOWAT"):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)
        self._watch_request()
        if len(self.connections) > self.max_connections:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        _cancel(self._deadline)
        _cancel(self._stall)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_over:
            return
        super().data_received(data)
        self._watch_request()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._note_waiting()

    def _note_waiting(self) -> bool:
        """Whether a request is awaited on this connection."""
        is_waiting = self.cycle is None or self.cycle.response_complete
        if not self.transport.is_closing():
            here, there = self.waiting, self.answered
            if not is_waiting:
                here, there = there, here
            there.pop(self, None)
            here.setdefault(self, self.loop.time())
        return is_waiting

    def _make_room(self) -> None:
        """Drops another connection."""
        now = self.loop.time()
        for seconds in (LONG_SECONDS, 0):
            for connections in (self.waiting, self.answered):
                oldest = next((c for c in connections if c is not self), None)
                if oldest is not None and now - connections[oldest] >= seconds:
                    oldest._forget()
                    oldest.transport.abort()
                    return

    def _forget(self) -> None:
        self.waiting.pop(self, None)
        self.answered.pop(self, None)

    def _watch_request(self) -> None:
        """Starts the clock when a request is due, and stops it when one has arrived."""
        if self._note_waiting():
            if self._deadline is None and not self.transport.is_closing():
                self._deadline = self.loop.call_later(REQUEST_SECONDS, self.transport.close)
        elif self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_answer(self.transport.get_write_buffer_size(), self.loop.time())

    def resume_writing(self) -> None:
        _cancel(self._stall)
        super().resume_writing()

    def _watch_answer(self, waited: int, since: float) -> None:
        """Looks from time to time whether the client takes some of what waits for it.

        `waited` is how many bytes there were the last time, which was less than before at `since`.
        """
        waiting, now = self.transport.get_write_buffer_size(), self.loop.time()
        if waiting < waited:
            since = now
        elif now - since >= STALL_SECONDS:
            self.transport.abort()
            return
        self._stall = self.loop.call_later(STALL_SECONDS / 6, self._watch_answer, waiting, since)

    def send_400_response(self, msg: str) -> None:
        """Answers what is no HTTP; nothing of ours has seen it, or not all of it."""
        started = self.cycle is not None and not self.cycle.response_complete
        if started:
            # What made this request malformed came after its beginning, which is being answered.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if started and self.cycle.response_started:
            self.transport.close()
            return
        body = msg.encode("ascii", "replace")
        headers = [
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", b"%d" % len(body)),
            (b"cache-control", b"no-cache"),
            (b"connection", b"close"),
            *self.error_headers(),
        ]
        for event in (
            h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        # A client that is still sending would lose the answer if the connection were closed now.
        self._is_over = True
        if self.transport.can_write_eof():
            with contextlib.suppress(OSError):  # It may be gone by now.
                self.transport.write_eof()
        self.loop.call_later(LINGER_SECONDS, self.transport.close)


class _Joining:
    """A transport that sends the headers of an answer together with what follows at once.

    uvicorn writes them apart: one call of the system more, and the client wakes for each.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._head = b""
        """Headers that wait for the body, until the event loop's next turn at most."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if self._head:
            data, self._head = self._head + data, b""
        elif data.startswith(b"HTTP/1.1 "):
            self._head = data
            self._loop.call_soon(self._flush)
            return
        self._transport.write(data)

    def write_eof(self) -> None:
        self._flush()
        self._transport.write_eof()

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._head:
            self.write(b"")


class _Connection(h11.Connection):
    """Takes no body that is cut into crumbs."""

    _num_parts = 0
    _num_bytes = 0

    def next_event(self) -> Any:
        event = super().next_event()
        if isinstance(event, h11.Data):
            self._num_parts += 1
            self._num_bytes += len(event.data)
            if self._num_bytes < (self._num_parts - FEW_PARTS) * SMALL_PART_BYTES:
                raise h11.RemoteProtocolError("the body comes in parts that are too small")
        elif isinstance(event, h11.Request):
            self._num_parts = self._num_bytes = 0
        return event


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
