"""Measures response times of a server that is busy with another task.

    python benchmarks/busy.py [LOGS]

Uses workloads below LOGS (see `workloads.py`). One client requests `data/runs` repeatedly over one
connection: first while each of the logs is loaded, from the first response until the end of the
first pass; then while another client downloads all 5,000,000 points of S1. The last figures are for
the request of a chart with 1,000 pixels of these points. All figures are milliseconds.
"""

from __future__ import annotations

import argparse
import http.client
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from subprocess import DEVNULL, Popen

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

from responses import free_port
from workloads import generate

SCALARS = "/data/plugin/scalars"
SERIES = f"{SCALARS}/scalars?run=run&tag=train/loss&samples=0"


@contextmanager
def serving(logdir: Path) -> Iterator[int]:
    """Starts a server; yields its port as soon as it responds."""
    port = free_port()
    command = [sys.executable, "-m", "tbcore", "serve", f"--logdir={logdir}", f"--port={port}"]
    process = Popen(command, stdout=DEVNULL, stderr=DEVNULL)
    try:
        while True:
            try:
                fetch(http.client.HTTPConnection("127.0.0.1", port, timeout=60), "/data/status")
                break
            except OSError:
                time.sleep(0.005)
        yield port
    finally:
        process.terminate()
        process.wait()


def fetch(connection: http.client.HTTPConnection, path: str, body: str | None = None) -> bytes:
    connection.request("POST" if body else "GET", path, body)
    response = connection.getresponse()
    content = response.read()
    if response.status != 200:
        raise SystemExit(f"{path}: status {response.status}, {content[:200]!r}")
    return content


def is_loaded(connection: http.client.HTTPConnection) -> bool:
    passes: int = json.loads(fetch(connection, "/data/status"))["passes"]
    return passes > 0


def response_times(port: int, is_over: Callable[[], bool]) -> list[float]:
    """Milliseconds of each request for `data/runs` until `is_over` returns true."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    times = []
    while not is_over():
        times.append(milliseconds(fetch, connection, "/data/runs"))
        time.sleep(0.002)
    return times


def milliseconds(action: Callable[..., object], *arguments: object) -> float:
    started = time.perf_counter()
    action(*arguments)
    return (time.perf_counter() - started) * 1000


def print_times(title: str, times: list[float]) -> None:
    p99 = statistics.quantiles(times, n=100)[98] if len(times) > 1 else times[0]
    print(
        f"{title:44}{len(times):8}{statistics.median(times):10.1f}{p99:10.1f}{max(times):10.1f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("logs", type=Path, nargs="?")
    arguments = parser.parse_args()
    logs = arguments.logs or Path(tempfile.gettempdir()) / "tbcore-benchmark-logs"
    print(f"{'data/runs':44}{'count':>8}{'median':>10}{'p99':>10}{'slowest':>10}")
    for name in ("S1", "S2", "S2r", "S3", "M"):
        generate(logs, name, 1.0)
        with serving(logs / name) as port:
            status = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            print_times(f"while {name} is loaded", response_times(port, partial(is_loaded, status)))
    with serving(logs / "S1") as port:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        while not is_loaded(connection):
            time.sleep(0.1)
        for form in ("json", "csv"):
            path = f"{SERIES}&format={form}"
            with ThreadPoolExecutor() as pool:
                download = pool.submit(fetch, connection, path)
                print_times(
                    f"while 5,000,000 points are sent as {form}",
                    response_times(port, download.done),
                )
        query = json.dumps({"tag": "train/loss", "runs": ["run"], "pixels": 1000})
        window = [milliseconds(fetch, connection, f"{SCALARS}/window", query) for _ in range(50)]
        print_times("a chart of 5,000,000 points", window)


if __name__ == "__main__":
    main()
