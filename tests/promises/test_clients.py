"""P11: slow and silent clients do not block others, and are disconnected."""

from __future__ import annotations

import contextlib
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from common_fixtures import AT_ONCE_SECONDS

NUM_CLIENTS = 300
DROPPED_SECONDS = 60.0

HALVES = {
    "silent": b"",
    "half a line": b"GET /data/ru",
    "half a header": b"GET /data/runs HTTP/1.1\r\nHost: localhost\r\nX: ",
    "half a body": (
        b"POST /data/plugin/scalars/window HTTP/1.1\r\nHost: localhost\r\n"
        b"Content-Length: 100\r\n\r\n{"
    ),
    "half a chunk": (
        b"POST /data/plugin/scalars/window HTTP/1.1\r\nHost: localhost\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n64\r\n{"
    ),
    "half a body that nobody reads": (
        b"POST /data/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"
    ),
    "no reading": b"GET /static/tbcore/text-names.js HTTP/1.1\r\nHost: localhost\r\n\r\n" * 500,
    "half of TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
}
"""Bytes that a client sends before it stops, without reading a response."""

SLOWLY = {"half a line", "half a header", "half a body"}
"""Every second client with one of these sends another byte from time to time."""


class HalfRequests:
    """Clients that start a request and never complete it."""

    def __init__(self, port: int) -> None:
        self.clients: list[tuple[str, socket.socket]] = []
        names = list(HALVES)
        for number in range(NUM_CLIENTS):
            name = names[number % len(names)]
            client = socket.socket()
            # A small buffer, so that the unread response stays in the server.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(("127.0.0.1", port))
            client.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                client.send(HALVES[name])
            self.clients.append((name, client))

    def trickle(self) -> None:
        for number, (name, client) in enumerate(self.clients):
            if name in SLOWLY and number // len(HALVES) % 2:
                with contextlib.suppress(OSError):
                    client.send(b"x")

    def close(self) -> None:
        for _, client in self.clients:
            client.close()


@pytest.fixture
def own_server(start_server: Callable[..., Any], logdir: Path) -> Any:
    server = start_server(logdir)
    server.wait_until_loaded()
    return server


@pytest.fixture
def half_requests(own_server: Any) -> Iterator[HalfRequests]:
    clients = HalfRequests(own_server.port)
    yield clients
    clients.close()


def request_as_others_do(server: Any) -> None:
    for path in ("/", "/data/runs", "/data/plugin/scalars/scalars?run=train&tag=loss"):
        assert server.response_seconds(path) < AT_ONCE_SECONDS, path


def test_p11_half_requests_do_not_block_others(
    own_server: Any, half_requests: HalfRequests
) -> None:
    """300 clients of all kinds are connected at once."""
    for _ in range(3):
        half_requests.trickle()
        request_as_others_do(own_server)
    assert own_server.stderr == ""


def test_p11_bodies_in_tiny_chunks_do_not_block_others(own_server: Any) -> None:
    """Each of eight clients sends a million chunks of one byte."""
    head = (
        b"POST /data/plugin/scalars/window HTTP/1.1\r\nHost: localhost\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n"
    )
    statuses: list[int] = []

    def send_tiny_chunks() -> None:
        connection = own_server.connect()
        with contextlib.suppress(ConnectionError):  # the server may close the connection
            connection.socket.sendall(head + b"1\r\n{\r\n" * 1_000_000)
        with contextlib.suppress(ConnectionError):
            statuses.append(connection.send(b"").status)
        connection.close()

    request_as_others_do(own_server)
    before = own_server.cpu_seconds()
    clients = [threading.Thread(target=send_tiny_chunks) for _ in range(8)]
    for client in clients:
        client.start()
    while any(client.is_alive() for client in clients):
        request_as_others_do(own_server)
    # Without a limit each would take seconds.
    assert own_server.cpu_seconds() - before < 5
    assert set(statuses) <= {400}
    whole = head + b"40\r\n" + b"{" * 64 + b"\r\n" + b"1\r\n{\r\n" * 900 + b"0\r\n\r\n"
    assert "JSON" in own_server.raw(whole).text
    assert own_server.stderr == ""


@pytest.fixture
def many_descriptors() -> Iterator[None]:
    """Raises the limit of open files, for a test with more connections than a server allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= hard < 2500:
        pytest.skip(f"this system allows {hard} descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2500), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("many_descriptors")
@pytest.mark.parametrize("descriptors", [None, 256])
def test_p11_more_clients_than_connections_do_not_block_others(
    start: Callable[..., Any], logdir: Path, descriptors: int | None
) -> None:
    """The server closes the connections that have been idle longest, else the oldest streams.

    This also holds if the system allows few connections.
    """
    server = start(logdir, descriptors=descriptors)
    server.wait_until_loaded()
    clients = []
    for number in range(1800):
        client = socket.create_connection(("127.0.0.1", server.port), timeout=30)
        if number >= 1200:
            client.sendall(b"GET /data/updates HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert client.recv(100)
        clients.append(client)
        if number % 600 == 599:
            request_as_others_do(server)
    request_as_others_do(server)
    assert server.num_descriptors() < min(descriptors or 700, 700)
    assert server.stderr == ""
    for client in clients:
        client.close()


@pytest.mark.release
def test_p11_half_requests_are_disconnected(own_server: Any) -> None:
    """Incomplete requests are closed within a minute, even slow ones, and leave nothing behind."""
    request_as_others_do(own_server)
    before = own_server.num_descriptors()
    clients = HalfRequests(own_server.port)
    started = time.monotonic()
    # Counted in the server, because a client that does not read does not notice.
    while own_server.num_descriptors() > before and time.monotonic() - started < DROPPED_SECONDS:
        request_as_others_do(own_server)
        clients.trickle()
        time.sleep(0.5)
    seconds = time.monotonic() - started
    left = own_server.num_descriptors() - before
    clients.close()
    print(f"dropped after {seconds:.0f} s")
    assert left <= 0
    assert own_server.stderr == ""
