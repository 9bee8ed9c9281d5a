"""What others wait for while a server is busy with something long.

    python benchmarks/busy.py [LOGS]

Uses workloads below LOGS (see `workloads.py`). `data/runs` is asked over and over over one
connection, first while each of the logs is loaded, from the first answer on until the first pass is
over; then, of the 5,000,000 points of S1, while one client takes all of them. Also measured is what
a chart of 1,000 pixels waits for there. Figures are milliseconds.
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

from answers import free_port
from workloads import generate

SCALARS = "/data/plugin/scalars"
SERIES = f"{SCALARS}/scalars?run=run&tag=train/loss&samples=0"


@contextmanager
def serving(logdir: Path) -> Iterator[int]:
    """The port of a server that has just begun to answer."""
    port = free_port()
    command = [sys.executable, "-m", "tbcore", "serve", f"--logdir={logdir}", f"--port={port}"]
    process = Popen(command, stdout=DEVNULL, stderr=DEVNULL)
    try:
        while True:
            try:
                ask(http.client.HTTPConnection("127.0.0.1", port, timeout=60), "/data/status")
                break
            except OSError:
                time.sleep(0.005)
        yield port
    finally:
        process.terminate()
        process.wait()


def ask(connection: http.client.HTTPConnection, path: str, body: str | None = None) -> bytes:
    connection.request("POST" if body else "GET", path, body)
    response = connection.getresponse()
    content = response.read()
    if response.status != 200:
        raise SystemExit(f"{path} answered {response.status}: {content[:200]!r}")
    return content


def is_loaded(connection: http.client.HTTPConnection) -> bool:
    passes: int = json.loads(ask(connection, "/data/status"))["passes"]
    return passes > 0


def others(port: int, is_over: Callable[[], bool]) -> list[float]:
    """Milliseconds that `data/runs` took each time until something was over."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    times = []
    while not is_over():
        times.append(took(ask, connection, "/data/runs"))
        time.sleep(0.002)
    return times


def took(action: Callable[..., object], *arguments: object) -> float:
    started = time.perf_counter()
    action(*arguments)
    return (time.perf_counter() - started) * 1000


def show(title: str, times: list[float]) -> None:
    slow = statistics.quantiles(times, n=100)[98] if len(times) > 1 else times[0]
    print(
        f"{title:44}{len(times):8}{statistics.median(times):10.1f}{slow:10.1f}{max(times):10.1f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("logs", type=Path, nargs="?")
    arguments = parser.parse_args()
    logs = arguments.logs or Path(tempfile.gettempdir()) / "tbcore-benchmark-logs"
    print(f"{'data/runs':44}{'answers':>8}{'median':>10}{'p99':>10}{'slowest':>10}")
    for name in ("S1", "S2", "S2r", "S3", "M"):
        generate(logs, name, 1.0)
        with serving(logs / name) as port:
            status = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            show(f"while {name} is loaded", others(port, partial(is_loaded, status)))
    with serving(logs / "S1") as port:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        while not is_loaded(connection):
            time.sleep(0.1)
        for form in ("json", "csv"):
            path = f"{SERIES}&format={form}"
            with ThreadPoolExecutor() as pool:
                taken = pool.submit(ask, connection, path)
                show(f"while 5,000,000 points are sent as {form}", others(port, taken.done))
        question = json.dumps({"tag": "train/loss", "runs": ["run"], "pixels": 1000})
        window = [took(ask, connection, f"{SCALARS}/window", question) for _ in range(50)]
        show("a chart of 5,000,000 points", window)


if __name__ == "__main__":
    main()
