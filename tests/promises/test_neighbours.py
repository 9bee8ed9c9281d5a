"""P25: a large response of a plugin neither delays other requests nor takes memory twice."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from common_fixtures import AT_ONCE_SECONDS

MAX_MORE_SECONDS = 0.05
"""How much longer the 99th percentile of other responses may be."""
MAX_RATIO = 1.2
"""Maximum memory that a response takes, as a multiple of its body."""
NUM_BYTES = 200_000_000
"""Size of bodies in tests that run always."""
NUM_IDLE_REQUESTS = 500

WEIGHT = """
import os
from functools import cache
import numpy as np
from starlette.responses import StreamingResponse
from starlette.routing import Route
from tbcore import PluginInfo, hookimpl
from tbcore.http import bytes_response, columns_response, csv_response, json_response

NUM_BYTES, NUM_INTS = int(os.environ["NUM_BYTES"]), int(os.environ["NUM_INTS"])

@cache
def kept(name):
    # Made once: while a list of millions of objects is made or freed, Python runs no other thread.
    if name == "ints":
        return list(range(NUM_INTS))
    if name == "words":
        return ["x" * 97] * (NUM_BYTES // 100)
    if name == "text":
        return "x" * NUM_BYTES
    digits = np.random.default_rng(1).integers(48, 58, 1 << 20, np.uint8).tobytes()
    return digits * (NUM_BYTES // len(digits))

HANDLERS = {
    "keep": lambda request: json_response(len(kept(request.query_params["name"]))),
    "new": lambda _: bytes_response(b"x" * NUM_BYTES, "image/png"),
    "bytes": lambda _: bytes_response(kept("digits"), "image/png"),
    "digits": lambda _: bytes_response(kept("digits"), "text/plain"),
    "stream": lambda _: StreamingResponse(iter([kept("digits")]), media_type="image/png"),
    "texts": lambda _: StreamingResponse(iter([kept("text")]), media_type="image/png"),
    "words": lambda _: json_response({"words": kept("words")}),
    "ints": lambda _: json_response(kept("ints")),
    "columns": lambda _: columns_response({}, [{"x": np.zeros(NUM_BYTES // 8)}]),
}

@hookimpl
def plugin_info():
    return PluginInfo(title="Weight", module=None)

@hookimpl
def routes():
    return [Route(f"/{name}", handler) for name, handler in HANDLERS.items()]
"""

DOWNLOAD = """
import socket, sys
port, route, encoding = sys.argv[1:]
head = f"GET /data/plugin/weight/{route} HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n"
client = socket.create_connection(("127.0.0.1", int(port)))
client.sendall(f"{head}Accept-Encoding: {encoding}\\r\\n\\r\\n".encode())
assert client.recv(12) == b"HTTP/1.1 200"
buffer, size = bytearray(1 << 20), 0
while count := client.recv_into(buffer):
    size += count
print(size)
"""
"""A client in a process of its own, which does not keep what it reads; prints the size."""

OTHERS = ["/data/runs", "/data/plugin/scalars/scalars?run=train&tag=loss"]


@pytest.fixture(scope="module")
def small(start_server: Callable[..., Any], logdir: Path) -> Any:
    """A server with a plugin whose bodies have 200 MB."""
    return started(start_server, logdir, NUM_BYTES, 1)


@pytest.fixture
def large(start: Callable[..., Any], logdir: Path) -> Any:
    """A server with a plugin whose bodies have 1 GiB, or 20 million numbers."""
    return started(start, logdir, 1 << 30, 20_000_000)


def started(start_server: Callable[..., Any], logdir: Path, num_bytes: int, num_ints: int) -> Any:
    sizes = {"NUM_BYTES": str(num_bytes), "NUM_INTS": str(num_ints)}
    server = start_server(logdir, plugins={"weight": WEIGHT}, **sizes)
    server.wait_until_loaded()
    return server


def keep(server: Any, name: str) -> None:
    """Makes what the plugin keeps, so that it takes neither time nor memory later."""
    assert server.request(f"/data/plugin/weight/keep?name={name}").json()


def start_download(server: Any, route: str, encoding: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", DOWNLOAD, str(server.port), route, encoding]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize(
    ("route", "kept", "encoding", "ratio"),
    [
        ("new", "", "identity", MAX_RATIO),
        ("bytes", "digits", "identity", MAX_RATIO - 1),
        ("digits", "digits", "gzip", MAX_RATIO - 1),
        ("stream", "digits", "identity", MAX_RATIO - 1),
        ("texts", "text", "identity", MAX_RATIO - 1),
        ("words", "words", "identity", MAX_RATIO),
        ("words", "words", "gzip", MAX_RATIO),
        # The array of the plugin is as large as the body.
        ("columns", "", "identity", 1 + MAX_RATIO),
    ],
)
def test_p25_a_body_is_in_memory_once(
    small: Any, route: str, kept: str, encoding: str, ratio: float
) -> None:
    """Bodies of 200 MB, some of which the plugin keeps, so that nothing is added for them."""
    if kept:
        keep(small, kept)
    memory = small.memory()
    size = int(start_download(small, route, encoding).communicate()[0])
    most = memory.most_added()
    print(f"{route}, {encoding}: {size / 1e6:.0f} MB sent, {most / 1e6:.0f} MB added")
    assert most < ratio * NUM_BYTES
    assert encoding == "gzip" or size > 0.99 * NUM_BYTES


def test_p25_a_client_that_stops_reading_costs_one_body(small: Any) -> None:
    """It delays nobody, and the memory is free again when it has gone."""
    memory = small.memory()
    client = small.connect()
    client.socket.sendall(b"GET /data/plugin/weight/new HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert client.socket.recv(12) == b"HTTP/1.1 200"
    for path in OTHERS:
        assert small.response_seconds(path) < AT_ONCE_SECONDS
    assert memory.most_added() < MAX_RATIO * NUM_BYTES
    client.close()
    small.wait(lambda: memory.added() < (MAX_RATIO - 1) * NUM_BYTES)


@pytest.mark.release
@pytest.mark.parametrize(
    ("route", "kept", "encoding"),
    [
        ("bytes", "digits", "identity"),
        ("digits", "digits", "gzip"),
        ("stream", "digits", "identity"),
        ("texts", "text", "identity"),
        ("ints", "ints", "identity"),
        ("ints", "ints", "gzip"),
    ],
)
def test_p25_a_large_response_does_not_delay_others(
    large: Any, route: str, kept: str, encoding: str
) -> None:
    """1 GiB of bytes, of digits to compress, and in one piece of a stream; 20 million numbers.

    The shortest of three times is compared: other programs may delay the clients.
    """
    keep(large, kept)
    idle, busy = [], []
    for _ in range(3):
        times = response_times(large, lambda times: len(times) < NUM_IDLE_REQUESTS)
        idle.append(percentile_99(times))
        busy.append(percentile_99(times_during_download(large, route, encoding)))
    print(f"{route}, {encoding}: {min(busy) * 1000:.1f} ms, idle {min(idle) * 1000:.1f} ms")
    assert min(busy) < min(idle) + MAX_MORE_SECONDS


@pytest.mark.release
def test_p25_a_gibibyte_is_in_memory_once(large: Any) -> None:
    """A body that is made for the request, and freed after it."""
    memory = large.memory()
    start_download(large, "new", "identity").communicate()
    assert memory.most_added() < MAX_RATIO * (1 << 30)
    large.wait(lambda: memory.added() < 0.2 * (1 << 30))


def response_times(server: Any, goes_on: Callable[[list[float]], bool]) -> list[float]:
    """Seconds of requests of another client, one after the other."""
    times: list[float] = []
    while goes_on(times):
        path, _, query = OTHERS[len(times) % 2].partition("?")
        response = server.get(f"{path}?{query}")
        assert response.status == 200, response.text
        times.append(response.seconds)
        time.sleep(0.002)
    return times


def times_during_download(server: Any, route: str, encoding: str) -> list[float]:
    download = start_download(server, route, encoding)
    times = response_times(server, lambda _: download.poll() is None)
    assert int(download.communicate()[0]) > 10_000_000
    return times


def percentile_99(times: list[float]) -> float:
    return statistics.quantiles(times, n=100)[98]
