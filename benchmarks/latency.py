"""Measures the time from a flushed point to a response that contains it.

    python benchmarks/latency.py [--points 200] [--reload_interval 1]

A writer appends a point at random times and flushes the file. Then it requests the curve repeatedly
over one connection, until the point is in it.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

from responses import free_port

from tbcore_testing import EventFileWriter


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--reload_interval", default="1")
    arguments = parser.parse_args()
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        writer = EventFileWriter(Path(folder) / "run" / "a.tfevents")
        writer.add_scalar("loss", 1.0, 0)
        writer.flush()
        command = [sys.executable, "-m", "tbcore", "serve", "--logdir", folder]
        command += ["--port", str(port), "--reload_interval", arguments.reload_interval]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            print(*measure(port, writer, arguments.points), sep="\n")
        finally:
            process.terminate()
            process.wait()


def measure(port: int, writer: EventFileWriter, num_points: int) -> list[str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    delays = random.Random(1)

    def last_step() -> int:
        connection.request("GET", "/data/plugin/scalars/scalars?run=run&tag=loss")
        return int(json.loads(connection.getresponse().read())[-1][1])

    def wait_for(step: int) -> float:
        started = time.perf_counter()
        while True:
            try:
                if last_step() == step:
                    return time.perf_counter() - started
            except (OSError, ValueError, TypeError, KeyError):
                connection.close()
            time.sleep(0.005)

    wait_for(0)
    latencies = []
    for step in range(1, num_points + 1):
        time.sleep(delays.random())
        writer.add_scalar("loss", 1 / step, step)
        writer.flush()
        latencies.append(wait_for(step))
    latencies.sort()
    return [
        f"median           {statistics.median(latencies) * 1000:6.0f} ms",
        f"95th percentile  {latencies[int(len(latencies) * 0.95)] * 1000:6.0f} ms",
        f"longest          {latencies[-1] * 1000:6.0f} ms",
    ]


if __name__ == "__main__":
    main()
