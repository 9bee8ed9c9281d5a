"""Measures what a plugin's large responses cost other requests, and how much memory they take.

    python benchmarks/neighbours.py [--scale 1] [--only ROUTE...]

A plugin has a route for each kind of large response: 1 GiB of bytes, 1 GiB of digits that are
compressed, streams of one piece of 1 GiB, and 20 million numbers as JSON, CSV and columns. While
one client downloads such a response as fast as it can, another one repeatedly requests `data/runs`
and a curve of the scalars over one connection. The first row has the same requests without a
download. Memory is the maximum during the download minus that before it.
"""

from __future__ import annotations

import argparse
import http.client
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

from responses import free_port

from tbcore_testing import write_run

PLUGIN = """
from functools import cache
from starlette.responses import StreamingResponse
from starlette.routing import Route
import numpy as np
from tbcore import PluginInfo, hookimpl
from tbcore.http import bytes_response, columns_response, csv_response, json_response

NUM_BYTES, NUM_NUMBERS = int(SCALE * (1 << 30)), int(SCALE * 20_000_000)

# Some data is made only once: making and freeing it blocks the interpreter, whatever is sent.
@cache
def body(): return b"x" * NUM_BYTES
@cache
def digits(): return np.random.default_rng(1).integers(48, 58, NUM_BYTES, np.uint8).tobytes()
@cache
def text(): return "x" * NUM_BYTES
@cache
def ints(): return list(range(NUM_NUMBERS))
@cache
def rows(): return np.ones((NUM_NUMBERS // 4, 4)).tolist()

HANDLERS = {
    "bytes": lambda _: bytes_response(body(), "image/png"),
    "new_bytes": lambda _: bytes_response(b"x" * NUM_BYTES, "image/png"),
    "digits": lambda _: bytes_response(digits(), "text/plain"),
    "stream": lambda _: StreamingResponse(iter([body()]), media_type="image/png"),
    "text_stream": lambda _: StreamingResponse(iter([text()]), media_type="image/png"),
    "ints": lambda _: json_response(ints()),
    "array": lambda _: json_response({"values": np.arange(NUM_NUMBERS) / 7}),
    "rows": lambda _: json_response({"rows": rows()}),
    "csv": lambda _: csv_response(["a"], zip(ints())),
    "columns": lambda _: columns_response({}, [{"a": np.arange(NUM_NUMBERS)}]),
}

@hookimpl
def plugin_info():
    return PluginInfo(title="Weight", module=None)

@hookimpl
def routes():
    return [Route(f"/{name}", handler) for name, handler in HANDLERS.items()]
"""
ROUTES = [
    "bytes", "new_bytes", "digits+gzip", "stream", "text_stream", "ints", "ints+gzip", "array",
    "rows", "csv", "columns",
]  # fmt: skip
"""Names of routes; those with `+gzip` are requested with compression."""

DOWNLOAD = """
import socket, sys
client = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
client.sendall(f"GET /data/plugin/weight/{sys.argv[2]} HTTP/1.1\\r\\nHost: localhost\\r\\n"
               f"Accept-Encoding: {sys.argv[3]}\\r\\nConnection: close\\r\\n\\r\\n".encode())
buffer, size = bytearray(1 << 20), 0
while count := client.recv_into(buffer):
    assert size or buffer.startswith(b"HTTP/1.1 200"), bytes(buffer[:80])
    size += count
print(size)
"""
"""Downloads a response without keeping it; prints the size of all that arrives in bytes."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=1.0, help="of the size of the responses")
    parser.add_argument("--only", nargs="+", default=ROUTES, choices=ROUTES, metavar="ROUTE")
    arguments = parser.parse_args()
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        site, logs = Path(folder, "site"), Path(folder, "logs")
        info = site / "tbcore_weight-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tbcore-weight\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[tbcore.plugins]\nweight = bench_weight\n")
        (site / "bench_weight.py").write_text(f"SCALE = {arguments.scale}\n{PLUGIN}")
        write_run(logs, "train", scalars={"loss": [1 / step for step in range(1, 1001)]})
        path = os.pathsep.join([str(site), *(entry for entry in sys.path if entry)])
        process = subprocess.Popen(
            [sys.executable, "-m", "tbcore", "serve", f"--logdir={logs}", f"--port={port}"],
            env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            wait_for(port)
            times = latencies(port, threading.Event(), 3.0)
            print(f"{'while':14}{'seconds':>9}{'MB sent':>9}{'requests':>9}{'median':>8}"
                  f"{'99 %':>8}{'slowest':>9}{'added MB':>9}")  # fmt: skip
            print(f"{'idle':14}{'':9}{'':9}{figures(times)}")
            for route in arguments.only:
                for _ in range(2):  # The first request makes what the plugin keeps.
                    result = measure(process.pid, port, route)
                print(result, flush=True)
        finally:
            process.terminate()
            process.wait()


def measure(pid: int, port: int, route: str) -> str:
    """A row of the table: one download, and the requests during it."""
    path, _, encoding = route.partition("+")
    before = resident(pid, "VmRSS")
    Path(f"/proc/{pid}/clear_refs").write_text("5")  # Resets VmHWM.
    ended, times = threading.Event(), []
    started = time.perf_counter()
    download = subprocess.Popen(
        [sys.executable, "-c", DOWNLOAD, str(port), path, encoding],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    others = threading.Thread(target=lambda: times.extend(latencies(port, ended, 600.0)))
    others.start()
    size = int(download.communicate()[0]) / 1e6
    seconds = time.perf_counter() - started
    ended.set()
    others.join()
    added = resident(pid, "VmHWM") - before
    return f"{route:14}{seconds:9.2f}{size:9.0f}{figures(times)}{added:9.0f}"


def latencies(port: int, ended: threading.Event, seconds: float) -> list[float]:
    """Milliseconds of each request until the event is set, or for so many seconds."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    paths = ["/data/runs", "/data/plugin/scalars/scalars?run=train&tag=loss"]
    times: list[float] = []
    until = time.perf_counter() + seconds
    while not ended.is_set() and time.perf_counter() < until:
        started = time.perf_counter()
        connection.request("GET", paths[len(times) % 2])
        connection.getresponse().read()
        times.append((time.perf_counter() - started) * 1000)
        time.sleep(0.002)
    connection.close()
    return times


def figures(times: list[float]) -> str:
    p99 = statistics.quantiles(times, n=100)[98] if len(times) > 1 else times[0]
    return f"{len(times):9}{statistics.median(times):8.1f}{p99:8.1f}{max(times):9.1f}"


def resident(pid: int, field: str) -> float:
    """VmRSS or VmHWM, the maximum of it, in MB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) * 1024 / 1e6


def wait_for(port: int) -> None:
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            connection.request("GET", "/data/plugin/scalars/scalars?run=train&tag=loss")
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        finally:
            connection.close()
        time.sleep(0.05)


if __name__ == "__main__":
    main()
