"""Measures response times over HTTP, for tbcore and TensorBoard on the same files.

    python benchmarks/responses.py [LOGS] [--tensorboard COMMAND] [--clients 4]

Uses the workloads S2 and S3 below LOGS (see `workloads.py`): 50 runs x 20 tags x 5,000 steps, and
2,000 runs x 10 tags. Each server gets time to load. Then requests are sent over one connection, or
over a new one whenever the server closes it. Figures are milliseconds from the request until the
last byte of the response. Clients that parse the response take longer: Python's http.client adds
0.13 ms.

Afterwards several client processes request one series repeatedly. Printed are the responses per
second, and the CPU time of a client for each. The clients run on the server's machine, so this
time is not available to the server. TensorBoard uses its data server in Rust.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.queues import Queue
from pathlib import Path
from urllib.parse import urlencode

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

from workloads import generate

NUM_REQUESTS = 200
LOAD_SECONDS = 4.0
"""How long clients send requests as fast as they get responses."""


class Client:
    """An HTTP client that parses only the status and the length of a response."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket: socket.socket | None = None
        self._buffer = bytearray(1 << 22)

    def get(self, path: str) -> bytes:
        """The body of a response with status 200 and a Content-Length."""
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self._port), timeout=60)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.sendall(
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\n\r\n".encode()
        )
        done, head_end = 0, -1
        while head_end < 0:
            done += self._receive(done)
            head_end = self._buffer.find(b"\r\n\r\n", 0, done)
        head = bytes(self._buffer[:head_end]).lower()
        length = re.search(rb"\r\ncontent-length: (\d+)", head)
        if b" 200 " not in head[:20] or length is None:
            raise SystemExit(f"{path}: unexpected response {head[:200]!r}")
        begin, end = head_end + 4, head_end + 4 + int(length[1])
        while done < end:
            done += self._receive(done)
        if b"\r\nconnection: close" in head:
            self._socket.close()
            self._socket = None
        return bytes(self._buffer[begin:end])

    def _receive(self, begin: int) -> int:
        assert self._socket is not None
        count = self._socket.recv_into(memoryview(self._buffer)[begin:])
        if not count:
            raise SystemExit("the server closed the connection before the end of a response")
        return count


@contextmanager
def serving(
    command: list[str], port: int, num_runs: int = 50
) -> Iterator[http.client.HTTPConnection]:
    """Starts a server; yields a connection to it once it has loaded this many runs."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        for _ in range(600):
            time.sleep(0.1)
            try:
                connection.request("GET", "/data/runs")
                if len(json.loads(connection.getresponse().read())) == num_runs:
                    break
            except (OSError, http.client.HTTPException, ValueError):
                connection.close()
        time.sleep(5)
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield connection
    finally:
        process.terminate()
        process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def measure(name: str, title: str, client: Client, path: str) -> None:
    """Prints median and 99th percentile in milliseconds, and the size of the response in bytes."""
    times = []
    body = b""
    for _ in range(NUM_REQUESTS):
        started = time.perf_counter()
        body = client.get(path)
        times.append((time.perf_counter() - started) * 1000)
    median, slowest = statistics.median(times), statistics.quantiles(times, n=100)[98]
    print(f"{name:12}{title:30}{median:10.2f}{slowest:10.2f}{len(body):10}", flush=True)


def send_requests(port: int, path: str, start: float, results: Queue[tuple[int, float]]) -> None:
    """Sends requests from `start` on; puts the number of responses and its CPU seconds."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path)
    connection.getresponse().read()
    time.sleep(max(start - time.time(), 0))
    count, cpu = 0, time.process_time()
    while time.time() < start + LOAD_SECONDS:
        connection.request("GET", path)
        connection.getresponse().read()
        count += 1
    results.put((count, time.process_time() - cpu))


def throughput(port: int, path: str, num_clients: int) -> tuple[float, float]:
    """Responses per second, and CPU milliseconds of a client per response."""
    results: Queue[tuple[int, float]] = multiprocessing.Queue()
    start = time.time() + 1.0
    clients = [
        multiprocessing.Process(target=send_requests, args=[port, path, start, results])
        for _ in range(num_clients)
    ]
    for client in clients:
        client.start()
    counts, seconds = zip(*(results.get(timeout=60) for _ in clients), strict=True)
    for client in clients:
        client.join()
    return sum(counts) / LOAD_SECONDS, sum(seconds) / sum(counts) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("logs", type=Path, nargs="?")
    parser.add_argument("--tensorboard", default="tensorboard")
    parser.add_argument("--clients", type=int, default=4)
    arguments = parser.parse_args()
    logs = arguments.logs or Path(tempfile.gettempdir()) / "tbcore-benchmark-logs"
    for name in ("S2", "S3"):
        generate(logs, name, 1.0)
    programs = {"tbcore": [sys.executable, "-m", "tbcore", "serve"]}
    if shutil.which(arguments.tensorboard):
        programs["tensorboard"] = [arguments.tensorboard]
    print(f"{'':12}{'request':30}{'median ms':>10}{'p99 ms':>10}{'bytes':>10}")
    for name, program in programs.items():
        port = free_port()
        with serving([*program, f"--logdir={logs / 'S2'}", f"--port={port}"], port):
            client = Client(port)
            run = json.loads(client.get("/data/runs"))[0]
            series = "/data/plugin/scalars/scalars?" + urlencode({"run": run, "tag": "train/loss"})
            measure(name, "data/runs", client, "/data/runs")
            measure(name, "tags (1,000)", client, "/data/plugin/scalars/tags")
            measure(name, "one series, 1,000 points", client, series)
            measure(name, "one series as CSV", client, f"{series}&format=csv")
            rate, cost = throughput(port, series, arguments.clients)
            print(
                f"{name:12}one series, {arguments.clients} clients: {rate:.0f} responses/s; "
                f"{cost:.2f} ms of CPU time of a client per response",
                flush=True,
            )
        command = [*program, f"--logdir={logs / 'S3'}", f"--port={port}"]
        with serving(command, port, 2000):
            client = Client(port)
            measure(name, "data/runs (2,000)", client, "/data/runs")
            measure(name, "tags (20,000 in 2,000 runs)", client, "/data/plugin/scalars/tags")


if __name__ == "__main__":
    main()
