"""P29: a request harms nobody else: its work has a limit, and ends when its client has gone."""

from __future__ import annotations

import json
import select
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tbcore_testing import EventFileWriter, summaries

NUM_RUNS = 2000
NUM_REQUESTS = 32
ADDRESS = "/data/run_attributes"
MAX_SECONDS = 3.0
"""Maximum CPU time of the server for requests whose clients have gone. It would take ten times as
long to respond to all of them."""
MAX_MORE_KIB = 150 << 10
"""How much more memory the server may take while bodies arrive, of which one has 0.9 MB."""


@pytest.fixture(scope="module")
def sweep(start_server: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A server of many runs with two tags."""
    logdir = tmp_path_factory.mktemp("sweep")
    for number in range(NUM_RUNS):
        with EventFileWriter(logdir / f"r{number:04}" / "x.tfevents") as writer:
            for step in range(10):
                values = [summaries.scalar(tag, step + number / 7) for tag in ("loss", "accuracy")]
                writer.add_summary(step, *values)
    server = start_server(logdir)
    server.wait_until_loaded()
    return server


def expensive(number: int) -> bytes:
    """A request for 100 columns that nobody has requested before."""
    texts = [f"{tag}:at({100 * number + i})" for i in range(50) for tag in ("loss", "accuracy")]
    body = json.dumps({"columns": texts}).encode()
    return post(len(body)) + body


def post(length: int) -> bytes:
    return (
        f"POST {ADDRESS} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        f"Content-Length: {length}\r\n\r\n"
    ).encode()


@contextmanager
def clients(server: Any, requests: list[bytes]) -> Iterator[list[socket.socket]]:
    """Connections that have sent these bytes."""
    connections = [server.connect() for _ in requests]
    try:
        for connection, request in zip(connections, requests, strict=True):
            connection.socket.sendall(request)
        yield [connection.socket for connection in connections]
    finally:
        for connection in connections:
            connection.close()


def test_p29_the_work_for_a_client_ends_when_it_has_gone(sweep: Any) -> None:
    """Both what is being done, and what has not begun."""
    before = sweep.cpu_seconds()
    with clients(sweep, [expensive(number) for number in range(NUM_REQUESTS)]):
        pass
    # These four come after all others, and each thread of the pool responds to one of them.
    body = b'{"query": "loss:min<1"}'
    with clients(sweep, [post(len(body)) + body for _ in range(4)]) as last:
        for client in last:
            assert client.recv(12) == b"HTTP/1.1 200"
    took = sweep.cpu_seconds() - before
    print(f"P29: {took:.2f} s of CPU time for {NUM_REQUESTS} clients that have gone")
    assert took < MAX_SECONDS


@pytest.mark.parametrize("path", ["/data/notes", "/data/views", "/", "/data/run_details"])
def test_p29_queries_do_not_delay_notes_and_the_page(sweep: Any, path: str) -> None:
    """They have threads of their own: others get their response before the queries do."""
    if sweep.request(path).status == 404:
        pytest.skip("tbcore-notes is not installed")
    requests = [expensive(1000 + number) for number in range(NUM_REQUESTS)]
    with clients(sweep, requests) as asking:
        response = sweep.request(path)
        assert response.status == 200
        assert len(select.select(asking, [], [], 0)[0]) < NUM_REQUESTS / 2
    print(f"P29: {path} after {response.seconds:.2f} s")


def test_p29_bodies_that_never_end_do_not_fill_the_memory(
    start_server: Callable[..., Any], logdir: Path
) -> None:
    """A few large ones are received at a time; small ones always, and large ones again later."""
    server = start_server(logdir)
    server.wait_until_loaded()
    memory = server.memory()
    with clients(server, [post(1_000_000) + b" " * 900_000 for _ in range(250)]) as asking:
        refused = 0
        while refused < 200:
            for client in select.select(asking, [], [])[0]:
                asking.remove(client)
                assert client.recv(12) == b"HTTP/1.1 503"
                refused += 1
        more = memory.most_added() / 1024
        small = server.request(ADDRESS, method="POST", body=b" " * 60_000 + b"{}")
        large = server.request(ADDRESS, method="POST", body=b" " * 600_000 + b"{}")
        assert (small.status, large.status) == (200, 503)
    print(f"P29: {more / 1024:.0f} MiB more for 250 bodies of 0.9 MB")
    assert more < MAX_MORE_KIB
    server.wait(
        lambda: server.request(ADDRESS, method="POST", body=b" " * 600_000 + b"{}").status == 200
    )
