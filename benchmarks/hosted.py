"""Measures TensorBoard's page over tbcore, compared with TensorBoard itself on the same files.

    python benchmarks/hosted.py [LOGS] [--tensorboard COMMAND] [--rounds 15]

Writes 500 runs x 20 tags x 1,000 steps below LOGS if they are missing. Both servers run at the same
time and get each request in turn, so that the load of the machine is that of both. Printed are the
medians of the times in milliseconds, the CPU time of a request in all processes of a server, both
with the ratio tbcore / TensorBoard, and the memory of these processes after the requests.
TensorBoard uses its data server in Rust. Needs tbcore-tensorboard and tensorboard.
"""

from __future__ import annotations

import argparse
import http.client
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlencode

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

from ready import cpu_seconds, free_port, memory, process_tree
from workloads import TAGS, write_run

NUM_RUNS, NUM_STEPS = 500, 1000


class Server:
    """A server, and the prefix of the addresses that are measured."""

    def __init__(self, command: list[str], prefix: str) -> None:
        self._port, self._prefix = free_port(), prefix
        self._process = subprocess.Popen(
            [*command, "--port", str(self._port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def send(self, path: str, body: str | None = None) -> bytes:
        """The body of a response; raises OSError if there is none with status 200."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=120)
        headers = {"Content-Type": "application/x-www-form-urlencoded"} if body else {}
        method = "POST" if body else "GET"
        connection.request(method, f"{self._prefix}/data/{path}", body, headers)
        response = connection.getresponse()
        content = response.read()
        connection.close()
        if response.status != 200:
            raise OSError(f"{path}: status {response.status}: {content[:200]!r}")
        return content

    def wait(self) -> None:
        """Returns when the last run has all of its tags."""
        last = f"run_{NUM_RUNS - 1:03d}"
        for _ in range(600):
            time.sleep(0.5)
            try:
                tags = json.loads(self.send("plugin/scalars/tags"))
                query = urlencode({"run": last, "tag": TAGS[-1]})
                series = json.loads(self.send(f"plugin/scalars/scalars?{query}"))
            except (OSError, http.client.HTTPException, ValueError):
                continue
            if len(tags) == NUM_RUNS and len(series) == NUM_STEPS:
                return
        raise SystemExit("a server did not load the logs")

    def cpu(self) -> float:
        return sum(map(cpu_seconds, process_tree(self._process.pid)))

    def memory(self) -> float:
        return memory(self._process.pid)

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("logs", type=Path, nargs="?")
    parser.add_argument("--tensorboard", default="tensorboard")
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    logs = arguments.logs or Path(tempfile.gettempdir()) / "tbcore-benchmark-logs"
    folder = logs / "hosted"
    for number in range(NUM_RUNS):
        run = folder / f"run_{number:03d}"
        if not run.exists():
            write_run(run, TAGS, NUM_STEPS, number, tensor=False)
    ours = Server(
        [sys.executable, "-m", "tbcore", "serve", "--logdir", str(folder)], "/tensorboard"
    )
    theirs = Server([arguments.tensorboard, "--load_fast=true", "--logdir", str(folder)], "")
    servers = [ours, theirs]
    runs = [f"run_{number:03d}" for number in range(NUM_RUNS)]
    one = urlencode({"run": runs[0], "tag": TAGS[0]})

    def several(number: int) -> str:
        return urlencode([("tag", TAGS[0]), *(("runs", run) for run in runs[:number])])

    all_runs = urlencode({"requests": json.dumps([{"plugin": "scalars", "tag": TAGS[0]}])})
    requests: list[tuple[str, str, str | None]] = [
        ("plugins_listing", "plugins_listing", None),
        ("runs", "runs", None),
        ("scalars/tags", "plugin/scalars/tags", None),
        ("timeseries/tags", "plugin/timeseries/tags", None),
        ("one series", f"plugin/scalars/scalars?{one}", None),
        ("scalars_multirun, 10 runs", "plugin/scalars/scalars_multirun", several(10)),
        ("scalars_multirun, 500 runs", "plugin/scalars/scalars_multirun", several(500)),
        ("timeSeries, 500 runs", "plugin/timeseries/timeSeries", all_runs),
    ]
    try:
        for server in servers:
            server.wait()
        print(f"{'':30}{'time ms':>20}{'ratio':>8}{'CPU ms':>20}{'ratio':>8}")
        for title, path, body in requests:
            times: list[list[float]] = [[], []]
            before = [server.cpu() for server in servers]
            for _ in range(arguments.rounds):
                for server, taken in zip(servers, times, strict=True):
                    began = time.perf_counter()
                    server.send(path, body)
                    taken.append((time.perf_counter() - began) * 1000)
            spent = [
                (server.cpu() - at) * 1000 / arguments.rounds
                for server, at in zip(servers, before, strict=True)
            ]
            cells = ""
            for a, b in (map(statistics.median, times), spent):
                cells += f"{a:10.1f}{b:10.1f}" + (f"{a / b:8.2f}" if b else f"{'':8}")
            print(f"{title:30}{cells}", flush=True)
        a, b = (server.memory() for server in servers)
        print(f"{'memory, MB':30}{a:10.0f}{b:10.0f}{a / b:8.2f}")
    finally:
        for server in servers:
            server.stop()


if __name__ == "__main__":
    main()
