"""Measures queries for runs: in Python, and as the page requests them, with columns beside.

    python benchmarks/queries.py [LOGS] [--runs 2000 50000]

Each run has 5 hyperparameters and 10 points of each of 5 tags. In Python, a query is read and
evaluated in CPU time, with columns made from what is loaded. Requests are sent to a server over one
connection; the first one of a kind reads what is cached afterwards.

Expensive requests are measured by the CPU time of the server, which has a limit for each. Those
whose clients have gone are measured together with the slowest response to another client.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(Path(__file__).parent), str(ROOT), str(ROOT / "tests" / "shared")]

from hparams import send
from responses import free_port, serving

from tbcore.eventfiles.logdir import LogdirSpec
from tbcore.queries.attributes import RunAttributes
from tbcore.queries.syntax import parse
from tbcore.store.board import Board
from tbcore.store.loader import Loader
from tbcore.store.multiplexer import Multiplexer
from tbcore_testing import EventFileWriter, summaries

TAGS = ["loss", "val/loss", "acc", "val/acc", "epoch_time"]
NUM_ROUNDS = 5
QUERIES = {
    "two words": "resnet seed3",
    "a glob": "sweep/*seed?",
    "an expression": "re:seed[1-3]$",
    "a hyperparameter": "lr>1e-3",
    "a last value": "val/loss:last<0.5",
    "a hyperparameter and a last value": "lr>1e-3 val/loss:last<0.5",
    "everything": "(lr>1e-3 | model=vit*) -has:nan -live (loss:last<0.5 | step>5) re:[0-4]$",
}
"""Queries without `min`, `max` and `at`, which read whole series."""
REQUESTS: dict[str, dict[str, Any]] = {
    **{title: {"query": query} for title, query in QUERIES.items()},
    "lr, model, 2 x last": {"columns": ["lr", "model", "loss:last", "val/loss:last"]},
    "min": {"columns": ["loss:min"]},
    "names": {"names": True},
}


EXPENSIVE: dict[str, dict[str, Any]] = {
    "20 columns at( )": {"columns": [f"loss:at({step})" for step in range(20)]},
    "100 columns at( )": {"columns": [f"loss:at({step})" for step in range(100, 200)]},
    "20 tags that no run has": {"columns": [f"losss{number}:last" for number in range(20)]},
    "30 alternatives at( )": {"query": " | ".join(f"loss:at({s})<.1" for s in range(30))},
}
NUM_GONE = 4


def write_runs(logdir: Path, num_runs: int) -> None:
    """Writes the runs of a sweep; in one of a thousand, the loss is NaN at the end."""
    rng = np.random.default_rng(0)
    for number in range(num_runs):
        model = ("resnet18", "resnet50", "vit-b", "mlp")[number % 4]
        hparams = {
            "lr": 10.0 ** -(1 + number % 5),
            "model": model,
            "seed": number % 5,
            "batch_size": 2 ** (5 + number % 4),
            "augment": number % 3 == 0,
        }
        name = f"sweep/{model},lr={hparams['lr']:g},trial={number:05}/seed{number % 5}"
        with EventFileWriter(logdir / name / "events.out.tfevents.1", wall_time=1.6e9) as writer:
            writer.add_summary(0, summaries.session_start(hparams))
            values = rng.random((10, len(TAGS)))
            values[-1, 0] = np.nan if number % 1000 == 7 else values[-1, 0]
            for step, row in enumerate(values.tolist()):
                writer.add_summary(step, *map(summaries.scalar, TAGS, row))


def median_milliseconds(
    call: Callable[[], Any], clock: Callable[[], float] = time.perf_counter
) -> float:
    times = []
    for _ in range(NUM_ROUNDS):
        started = clock()
        call()
        times.append((clock() - started) * 1000)
    return statistics.median(times)


def measure_queries(logdir: Path, num_runs: int) -> None:
    board = Board()
    multiplexer = Multiplexer(board=board)
    Loader(board, [LogdirSpec(None, str(logdir))]).load_once()
    attributes = RunAttributes(multiplexer)
    started = time.thread_time()
    columns = attributes.columns()
    first = (time.thread_time() - started) * 1000
    print(f"{num_runs:6} runs: hyperparameters are decoded in {first:.0f} ms", flush=True)
    for title, query in QUERIES.items():
        tree = parse(query)
        num_found = len(columns.runs_found(tree))
        took = median_milliseconds(
            lambda tree=tree: attributes.columns().runs_found(tree), time.thread_time
        )
        print(f"{title:36}{num_found:8}{took:12.1f}", flush=True)


def measure_requests(logdir: Path, num_runs: int) -> None:
    port = free_port()
    command = [sys.executable, "-m", "tbcore", "serve", "--logdir", str(logdir), f"--port={port}"]
    path = "/data/run_attributes"
    with serving(command, port, num_runs) as connection:
        for title, request in REQUESTS.items():
            first, content = send(connection, "POST", path, json.dumps(request))
            took = median_milliseconds(
                lambda request=request: send(connection, "POST", path, json.dumps(request))
            )
            since = {**request, "since": json.loads(content)["generation"]}
            same = median_milliseconds(
                lambda since=since: send(connection, "POST", path, json.dumps(since))
            )
            megabytes = len(content) / 1e6
            print(f"{title:36}{megabytes:8.1f}{first:12.1f}{took:12.1f}{same:12.1f}", flush=True)


def cpu_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure_costs(logdir: Path, num_runs: int) -> None:
    port, path = free_port(), "/data/run_attributes"
    command = [sys.executable, "-m", "tbcore", "serve", "--logdir", str(logdir), f"--port={port}"]
    with serving(command, port, num_runs) as connection:
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        [process] = map(int, children)
        for title, request in EXPENSIVE.items():
            before = cpu_seconds(process)
            _, content = send(connection, "POST", path, json.dumps(request))
            took, answer = cpu_seconds(process) - before, json.loads(content)
            late = [
                each for each in answer.get("columns", [answer.get("query")]) if "error" in each
            ]
            print(f"{title:36}{len(content) / 1e6:8.1f}{took:12.2f}{len(late):12}", flush=True)
        before = cpu_seconds(process)
        for number in range(NUM_GONE):
            columns = [f"loss:at({1000 * number + step})" for step in range(30)]
            other = http.client.HTTPConnection("127.0.0.1", port)
            other.request("POST", path, json.dumps({"columns": columns}))
            other.close()
        others = [send(connection, "GET", "/data/status")[0] for _ in range(200)]
        # Each thread of the pool responds to one of these, after all that was requested before.
        last = [http.client.HTTPConnection("127.0.0.1", port) for _ in range(NUM_GONE)]
        for client in last:
            client.request("POST", path, "{}")
        for client in last:
            client.getresponse().read()
        took = cpu_seconds(process) - before
        print(f"{NUM_GONE} x 30 columns, clients have gone {took:10.2f} s of CPU time, ", end="")
        print(f"others wait {max(others):.0f} ms at most", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("logs", type=Path, nargs="?")
    parser.add_argument("--runs", type=int, nargs="+", default=[2000, 50_000])
    arguments = parser.parse_args()
    logs = arguments.logs or Path(tempfile.gettempdir()) / "tbcore-benchmark-logs"
    for num_runs in arguments.runs:
        logdir = logs / f"queries-{num_runs}"
        if not logdir.exists():
            write_runs(logdir, num_runs)
        print(f"\n{'query':36}{'found':>8}{'Python ms':>12}")
        measure_queries(logdir, num_runs)
        print(f"\n{'request':36}{'MB':>8}{'first ms':>12}{'again ms':>12}{'no change':>12}")
        measure_requests(logdir, num_runs)
        print(f"\n{'expensive request':36}{'MB':>8}{'CPU s':>12}{'too late':>12}")
        measure_costs(logdir, num_runs)


if __name__ == "__main__":
    main()
