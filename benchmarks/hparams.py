"""Measures the HParams API with many sessions, for tbcore and TensorBoard on the same files.

    python benchmarks/hparams.py [LOGS] [--tensorboard COMMAND] [--sessions N]

2,000 sessions x 50 hyperparameters x 20 metrics with 3 steps each. Half of the sessions are in
groups of two. Requests are sent over one connection, and responses are uncompressed JSON.
"""

from __future__ import annotations

import argparse
import http.client
import json
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parent.parent
sys.path[:0] = [
    str(Path(__file__).parent),
    str(ROOT),
    *map(str, sorted((ROOT / "plugins").glob("*/"))),
]

from responses import free_port, serving

from tbcore_testing import EventFileWriter, summaries

NUM_HPARAMS, NUM_METRICS, NUM_STEPS = 50, 20, 3
OPTIMIZERS = ["adam", "sgd", "rmsprop", "lion"]

ALL = {"allowedStatuses": [0, 1, 2, 3], "sliceSize": 1_000_000}
SORTED = [
    {"hparam": "hparam_07", "order": "ORDER_ASC"},
    {"metric": {"group": "", "tag": "metric_03"}, "order": "ORDER_DESC"},
]
REGEXP = {**SORTED[0], "filterRegexp": "adam|sgd"}
INTERVAL = {"hparam": "hparam_01", "filterInterval": {"minValue": 0.2, "maxValue": 0.9}}
REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "experiment": ("experiment", {}),
    "1 filter, 2 sort keys": ("session_groups", {**ALL, "colParams": [REGEXP, SORTED[1]]}),
    "2 filters, 2 sort keys": (
        "session_groups",
        {**ALL, "colParams": [REGEXP, SORTED[1], INTERVAL]},
    ),
    "all groups, 2 sort keys": ("session_groups", {**ALL, "colParams": SORTED}),
    "first 100 groups, 2 sort keys": (
        "session_groups",
        {**ALL, "colParams": SORTED, "sliceSize": 100},
    ),
}


def write_sessions(logdir: Path, num_sessions: int) -> None:
    """Writes successful sessions with numbers, strings and booleans as hyperparameters."""
    rng = np.random.default_rng(0)
    for number in range(num_sessions):
        group = f"group_{number // 2:05}" if number % 4 < 2 else ""
        hparams: dict[str, Any] = {}
        for index in range(NUM_HPARAMS):
            name = f"hparam_{index:02}"
            if index % 10 < 7:
                hparams[name] = rng.random() if index % 2 else float(rng.integers(10))
            elif index % 10 < 9:
                hparams[name] = f"{rng.choice(OPTIMIZERS)}{rng.integers(20)}"
            else:
                hparams[name] = bool(rng.random() < 0.5)
        path = logdir / f"session_{number:05}" / "events.out.tfevents.1"
        with EventFileWriter(path, wall_time=1e9 + number) as writer:
            writer.add_summary(0, summaries.session_start(hparams, group=group))
            writer.add_summary(0, summaries.session_end())
            for step in range(NUM_STEPS):
                values = rng.random(NUM_METRICS).tolist()
                writer.add_summary(
                    step,
                    *(summaries.scalar(f"metric_{i:02}", value) for i, value in enumerate(values)),
                )


def send(
    connection: http.client.HTTPConnection, method: str, path: str, body: str | None = None
) -> tuple[float, bytes]:
    """Sends a request; returns the milliseconds and the response body."""
    started = time.perf_counter()
    connection.request(method, path, body)
    response = connection.getresponse()
    content = response.read()
    if response.status != 200:
        raise SystemExit(f"{path}: status {response.status}, {content[:200]!r}")
    return (time.perf_counter() - started) * 1000, content


def measure(name: str, connection: http.client.HTTPConnection, num_requests: int) -> None:
    def report(title: str, times: list[float], size: int) -> None:
        print(f"{name:12}{title:30}{statistics.median(times):10.1f}{size / 1e6:10.2f}", flush=True)

    for first, (title, (route, fields)) in enumerate(REQUESTS.items()):
        path, body = f"/data/plugin/hparams/{route}", json.dumps(fields)
        milliseconds, content = send(connection, "POST", path, body)
        if not first:
            report("first request", [milliseconds], len(content))
        times = [send(connection, "POST", path, body)[0] for _ in range(num_requests)]
        report(title, times, len(content))
    if name == "tbcore":
        for query in ("", "?aggregation=max&tag=metric_03"):
            times = []
            for _ in range(num_requests):
                milliseconds, content = send(
                    connection, "GET", f"/data/plugin/hparams/table{query}"
                )
                times.append(milliseconds)
            report(f"table{query[:16]}", times, len(content))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("logs", type=Path, nargs="?")
    parser.add_argument("--tensorboard", default="tensorboard")
    parser.add_argument("--sessions", type=int, default=2000)
    arguments = parser.parse_args()
    logs = arguments.logs or Path(tempfile.gettempdir()) / "tbcore-benchmark-logs"
    logdir = logs / f"hparams-{arguments.sessions}"
    if not logdir.exists():
        write_sessions(logdir, arguments.sessions)
    port, tensorboard_port = free_port(), free_port()
    command = [sys.executable, "-m", "tbcore", "serve", "--logdir", str(logdir), f"--port={port}"]
    print(f"{'':12}{'request':30}{'median ms':>10}{'MB':>10}")
    with serving(command, port, arguments.sessions) as connection:
        measure("tbcore", connection, 20)
    if shutil.which(arguments.tensorboard):
        command = [arguments.tensorboard, "--logdir", str(logdir), f"--port={tensorboard_port}"]
        with serving(command, tensorboard_port, arguments.sessions) as connection:
            measure("tensorboard", connection, 3)


if __name__ == "__main__":
    main()
