"""Time of answers over HTTP, beside TensorBoard's on the same files.

    python benchmarks/answers.py [LOGS] [--tensorboard COMMAND]

Uses the workload S2 below LOGS (see `workloads.py`): 50 runs x 20 tags x 5,000 steps. Each server
is started, given time to load, and asked over one kept-alive connection; figures are milliseconds.
"""

from __future__ import annotations

import argparse
import http.client
import json
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

from workloads import generate

NUM_REQUESTS = 200


@contextmanager
def serving(
    command: list[str], port: int, num_runs: int = 50
) -> Iterator[http.client.HTTPConnection]:
    """A connection to a server that has loaded this many runs."""
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


def measure(connection: http.client.HTTPConnection, path: str) -> tuple[float, float, int]:
    """Median and 99th percentile in milliseconds, and the size of the answer in bytes."""
    times = []
    body = b""
    for _ in range(NUM_REQUESTS):
        started = time.perf_counter()
        connection.request("GET", path)
        response = connection.getresponse()
        body = response.read()
        times.append((time.perf_counter() - started) * 1000)
        if response.status != 200:
            raise SystemExit(f"{path} answered {response.status}: {body[:200]!r}")
    return statistics.median(times), statistics.quantiles(times, n=100)[98], len(body)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("logs", type=Path, nargs="?")
    parser.add_argument("--tensorboard", default="tensorboard")
    arguments = parser.parse_args()
    logs = arguments.logs or Path(tempfile.gettempdir()) / "tbcore-benchmark-logs"
    generate(logs, "S2", 1.0)
    logdir = str(logs / "S2")
    port, peer_port = free_port(), free_port()
    servers = {
        "tbcore": [sys.executable, "-m", "tbcore", "serve", "--logdir", logdir, f"--port={port}"]
    }
    if shutil.which(arguments.tensorboard):
        servers["tensorboard"] = [
            arguments.tensorboard,
            "--logdir",
            logdir,
            f"--port={peer_port}",
        ]
    print(f"{'':12}{'answer':30}{'median ms':>10}{'p99 ms':>10}{'bytes':>10}")
    for name, command in servers.items():
        with serving(command, port if name == "tbcore" else peer_port) as connection:
            connection.request("GET", "/data/runs")
            run = json.loads(connection.getresponse().read())[0]
            query = urlencode({"run": run, "tag": "train/loss"})
            for title, path in {
                "data/runs": "/data/runs",
                "tags, 1,000 of them": "/data/plugin/scalars/tags",
                "one series, 1,000 points": f"/data/plugin/scalars/scalars?{query}",
                "the same as CSV": f"/data/plugin/scalars/scalars?{query}&format=csv",
            }.items():
                median, slowest, size = measure(connection, path)
                print(f"{name:12}{title:30}{median:10.2f}{slowest:10.2f}{size:10}", flush=True)


if __name__ == "__main__":
    main()
