"""Measures a server over hours: runs that grow, rotate and are deleted, with many clients.

    python benchmarks/soak.py OUT [--seconds 1800] [--rate 2] [--clients 20] [--tensorboard COMMAND]

One process writes logs at a constant rate. Runs grow every second, continue in a second file, and
are deleted when they are full. A new run replaces each deleted one, every fourth with the old name.
Another process sends requests: for runs and tags, for curves, and for a tag whose last point has
the time at which it was written. With `--tensorboard`, TensorBoard serves the same logs at the same
time to its own clients.

OUT gets the samples as `soak.csv`, a chart of them as `soak.svg` and the totals as `soak.json`,
which are also printed. Memory, descriptors and threads are sums over the processes of a server.
"""

from __future__ import annotations

import argparse
import csv
import http.client
import itertools
import json
import multiprocessing
import os
import queue
import random
import re
import shutil
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import numpy as np
from workloads import TAGS, rows

from tbcore_testing import EventFileWriter, summaries

FIRST_STEP = 1 << 14
"""Steps from here on take three bytes, so that all records of a tag have the same length."""
MAX_STEPS = (1 << 21) - FIRST_STEP
BEAT = "beat"
"""The tag whose wall times are the times at which its points were written."""
REQUEST_TIMEOUT_SECONDS = 60.0
"""A request that takes longer has failed."""
MIB = 1 << 20


class Plan(NamedTuple):
    """The load: what is written, and how many requests are sent."""

    seconds: float
    rate: float
    """MB written per second."""
    num_runs: int
    """Number of runs at a time."""
    life: float
    """Seconds until a run is full."""
    clients: int
    pause: float
    """Seconds between two requests of a client, on average."""


# Writing -----------------------------------------------------------------------------------------


class GrowingRun:
    """A run that grows until all records of a block are written."""

    def __init__(self, path: Path, block: memoryview, row_bytes: int, done: int) -> None:
        self.path = path
        self._block = block
        self._row_bytes = row_bytes
        self._done = done
        self._rotates_at = (done + len(block)) // 2
        self._num_beats = 0
        self._writer = EventFileWriter(path / "events.out.tfevents.1700000000.soak.0")

    @property
    def is_full(self) -> bool:
        return self._done >= len(self._block)

    def grow(self, size: int) -> int:
        """Appends about `size` bytes of records and a beat; returns the number of bytes."""
        size = max(size // self._row_bytes, 1) * self._row_bytes
        if self._done < self._rotates_at <= self._done + size:
            self._writer.close()
            self._writer = EventFileWriter(self.path / "events.out.tfevents.1700009999.soak.1")
        part = self._block[self._done : self._done + size]
        # Between the two flushes, the file ends inside a record.
        for piece in (part[: len(part) // 2 + 7], part[len(part) // 2 + 7 :]):
            self._writer.add_bytes(piece)
            self._writer.flush()
        step = self._num_beats
        if step % 20 == 0:
            self._writer.add_image("picture", summaries.png(64, 64), step)
            self._writer.add_histogram("weights", np.linspace(-1, 1, 300), step)
        self._writer.add_scalar(BEAT, step % 4096, step, wall_time=time.time())
        self._writer.flush()
        self._num_beats += 1
        self._done += len(part)
        return len(part)

    def delete(self) -> None:
        self._writer.close()
        shutil.rmtree(self.path)


def write_logs(logdir: Path, plan: Plan, stopping: Event, reports: Queue[dict[str, Any]]) -> None:
    """Writes the logs, paced by the clock; runs in its own process."""
    num_steps = int(plan.rate * 1e6 * plan.life / plan.num_runs / (len(TAGS) * 60)) + 1
    if num_steps > MAX_STEPS:
        raise SystemExit(
            "soak: runs would be too long; use a lower --rate or --life, or more --runs"
        )
    steps = np.arange(FIRST_STEP, FIRST_STEP + num_steps)
    block = memoryview(rows(TAGS, steps, np.random.default_rng(0), tensor=False))
    row_bytes = len(block) // num_steps
    names = (f"exp_{number // 100:03d}/trial_{number:05d}" for number in itertools.count())
    # The first runs start at different stages, so that they do not all end at once.
    runs = [
        GrowingRun(
            logdir / next(names), block, row_bytes, num_steps * i // plan.num_runs * row_bytes
        )
        for i in range(plan.num_runs)
    ]
    reports.put({"who": "writer", "ready": True})
    written = num_deleted = 0
    worst_delay = 0.0
    started, cpu_before = time.monotonic(), time.process_time()
    for tick in itertools.count():
        due = started + tick / plan.num_runs
        if stopping.wait(max(due - time.monotonic(), 0)):
            break
        worst_delay = max(worst_delay, time.monotonic() - due)
        index = tick % plan.num_runs
        written += runs[index].grow(int(plan.rate * 1e6 / plan.num_runs))
        if runs[index].is_full:
            runs[index].delete()
            num_deleted += 1
            path = runs[index].path if num_deleted % 4 == 0 else logdir / next(names)
            runs[index] = GrowingRun(path, block, row_bytes, 0)
    seconds = time.monotonic() - started
    reports.put({
        "who": "writer",
        "written_mb": written / 1e6,
        "rate_mb_s": written / 1e6 / seconds,
        "runs_deleted": num_deleted,
        "cpu_percent": 100 * (time.process_time() - cpu_before) / seconds,
        "worst_delay_s": worst_delay,
    })  # fmt: skip


# Clients -----------------------------------------------------------------------------------------


class ClientResults:
    """Response times, lags and errors of the clients of one server; shared by their threads."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.runs: list[str] = []
        self.times: list[float] = []
        """Response times in seconds."""
        self.lags: list[float] = []
        """Seconds between the writing of the last point of a response and its arrival."""
        self.counts: Counter[str] = Counter()

    def take_new(self) -> tuple[list[float], list[float]]:
        with self.lock:
            times, self.times = self.times, []
            lags, self.lags = self.lags, []
        return times, lags


def run_client(port: int, pause: float, results: ClientResults, stopping: Event, seed: int) -> None:
    """Runs one client on a persistent connection."""
    rng = random.Random(seed)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=REQUEST_TIMEOUT_SECONDS)
    while not stopping.wait(rng.uniform(0.5, 1.5) * pause):
        kind = rng.choices(["runs", "tags", "curve", BEAT], [2, 1, 12, 5])[0]
        if not results.runs:
            kind = "runs"
        path = {"runs": "/data/runs", "tags": "/data/plugin/scalars/tags"}.get(kind)
        if path is None:
            tag = BEAT if kind == BEAT else rng.choice(TAGS)
            query = urlencode({"run": rng.choice(results.runs), "tag": tag})
            path = f"/data/plugin/scalars/scalars?{query}"
        started = time.monotonic()
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            body = response.read()
            status = response.status
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            with results.lock:
                results.counts[f"error: {type(error).__name__}"] += 1
            continue
        seconds = time.monotonic() - started
        with results.lock:
            results.times.append(seconds)
            results.counts["requests"] += 1
            if status == 404:
                results.counts["gone"] += 1  # a deleted run, or a new one without this tag
            elif status != 200:
                results.counts[f"error: status {status}"] += 1
            elif kind == "runs":
                results.runs = json.loads(body)
            elif kind == BEAT:
                check_beat(json.loads(body), results)


def check_beat(points: list[list[float]], results: ClientResults) -> None:
    steps = [step for _, step, _ in points]
    is_right = steps == sorted(set(steps)) and all(v == step % 4096 for _, step, v in points)
    results.counts["wrong"] += not is_right
    if points:
        results.lags.append(time.time() - points[-1][0])


def run_clients(
    name: str,
    port: int,
    plan: Plan,
    interval: float,
    stopping: Event,
    reports: Queue[dict[str, Any]],
) -> None:
    """Runs the clients of one server in its own process, and reports results at each interval."""
    results = ClientResults()
    threads = [
        threading.Thread(target=run_client, args=[port, plan.pause, results, stopping, seed])
        for seed in range(plan.clients)
    ]
    for thread in threads:
        thread.start()
    all_times: list[float] = []
    all_lags: list[float] = []
    started, cpu_before = time.monotonic(), time.process_time()
    while not stopping.is_set():
        stopping.wait(interval)
        times, lags = results.take_new()
        all_times += times
        all_lags += lags
        reports.put({"who": name, **figures(times, lags), "requests": len(times)})
    for thread in threads:
        thread.join()
    counts = results.counts
    cpu = time.process_time() - cpu_before
    reports.put({
        "who": name,
        "end": True,
        "requests": counts["requests"],
        "requests_s": counts["requests"] / (time.monotonic() - started),
        **figures(all_times, all_lags),
        "gone": counts["gone"],
        "wrong": counts["wrong"],
        "errors": {key: n for key, n in counts.items() if key.startswith("error")},
        "clients_cpu_percent": 100 * cpu / (time.monotonic() - started),
    })  # fmt: skip


def figures(times: list[float], lags: list[float]) -> dict[str, float]:
    """Statistics of times in milliseconds and of lags in seconds; empty without requests."""
    found = {}
    if times:
        found |= {
            "median_ms": 1000 * statistics.median(times),
            "p99_ms": 1000 * float(np.quantile(times, 0.99)),
            "max_ms": 1000 * max(times),
        }
    if lags:
        found |= {
            "median_lag_s": statistics.median(lags),
            "p99_lag_s": float(np.quantile(lags, 0.99)),
            "max_lag_s": max(lags),
        }
    return found


# Monitoring --------------------------------------------------------------------------------------


class MeasuredServer:
    """A server under test, and measurements of its processes."""

    def __init__(self, name: str, command: list[str], port: int, log: Path) -> None:
        self.name = name
        self.port = port
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                command, stdout=output, stderr=output, start_new_session=True
            )
        self._cpu_before = 0.0
        self._measured_at = time.monotonic()

    def wait_until_it_responds(self) -> None:
        for _ in range(600):
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
            try:
                connection.request("GET", "/data/runs")
                if connection.getresponse().status == 200:
                    return
            except (OSError, http.client.HTTPException):
                time.sleep(0.1)
            finally:
                connection.close()
        raise SystemExit(f"soak: {self.name} does not respond")

    def measure(self) -> dict[str, float]:
        """Memory in MiB, descriptors, threads, and CPU percent since the last measurement."""
        memory = descriptors = threads = cpu = 0.0
        for folder in self._processes():
            try:
                status = dict(
                    line.split(":", 1) for line in (folder / "status").read_text().splitlines()
                )
                memory += int(status["VmRSS"].split()[0]) / 1024
                threads += int(status["Threads"])
                descriptors += len(os.listdir(folder / "fd"))
                stat = (folder / "stat").read_text().rsplit(")", 1)[1].split()
                cpu += (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")
            except (OSError, KeyError):
                continue  # the process has just ended
        now = time.monotonic()
        percent = 100 * (cpu - self._cpu_before) / max(now - self._measured_at, 1e-3)
        self._cpu_before, self._measured_at = cpu, now
        return {
            "memory_mib": memory,
            "descriptors": descriptors,
            "threads": threads,
            "cpu_percent": percent,
        }

    def _processes(self) -> Iterator[Path]:
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                stat = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(stat[3]) == self.process.pid:
                yield folder

    def end(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


COLUMNS = [
    "second", "server", "memory_mib", "descriptors", "threads", "cpu_percent", "requests",
    "median_ms", "p99_ms", "max_ms", "median_lag_s", "max_lag_s",
]  # fmt: skip


def soak(
    out: Path, plan: Plan, interval: float, tensorboard: str | None, tensorboard_clients: int
) -> dict[str, Any]:
    """Runs the test; returns its totals, and writes the samples to `out / "soak.csv"`."""
    logdir = out / "logs"
    shutil.rmtree(logdir, ignore_errors=True)
    logdir.mkdir(parents=True)
    context = multiprocessing.get_context("spawn")
    stopping, reports = context.Event(), context.Queue()
    writer = context.Process(target=write_logs, args=[logdir, plan, stopping, reports])
    writer.start()
    while True:
        try:
            reports.get(timeout=1)
            break
        except queue.Empty:
            if not writer.is_alive():
                raise SystemExit("soak: the writer ended") from None
    port, tensorboard_port = free_port(), free_port()
    servers = [
        MeasuredServer(
            "tbcore",
            [sys.executable, "-m", "tbcore", "serve", "--logdir", str(logdir), f"--port={port}"],
            port,
            out / "tbcore.log",
        )
    ]
    if tensorboard:
        command = [tensorboard, "--logdir", str(logdir), f"--port={tensorboard_port}"]
        servers.append(
            MeasuredServer("tensorboard", command, tensorboard_port, out / "tensorboard.log")
        )
    processes = [writer]
    samples: list[dict[str, Any]] = []
    totals: dict[str, Any] = {}
    try:
        for server in servers:
            server.wait_until_it_responds()
            clients = plan.clients if server.name == "tbcore" else tensorboard_clients
            arguments = [
                server.name, server.port, plan._replace(clients=clients), interval, stopping,
                reports,
            ]  # fmt: skip
            processes.append(context.Process(target=run_clients, args=arguments))
            processes[-1].start()
        started = time.monotonic()
        by_name = {server.name: server for server in servers}
        with (out / "soak.csv").open("w", newline="") as file:
            table = csv.DictWriter(file, COLUMNS, extrasaction="ignore")
            table.writeheader()
            while len(totals) < len(processes):
                if time.monotonic() - started > plan.seconds:
                    stopping.set()
                try:
                    report = reports.get(timeout=0.5)
                except queue.Empty:
                    if stopping.is_set() and not any(p.is_alive() for p in processes):
                        break
                    continue
                who = report.pop("who")
                if who == "writer" or report.pop("end", False):
                    totals[who] = report
                elif not stopping.is_set():
                    second = round(time.monotonic() - started, 1)
                    sample = {"second": second, "server": who, **by_name[who].measure(), **report}
                    rounded = {k: round(v, 2) if isinstance(v, float) else v
                               for k, v in sample.items()}  # fmt: skip
                    table.writerow(rounded)
                    file.flush()
                    samples.append(sample)
    finally:
        stopping.set()
        for process in processes:
            process.join()
        for server in servers:
            server.end()
        shutil.rmtree(logdir, ignore_errors=True)
    for server in servers:
        own = [sample for sample in samples if sample["server"] == server.name]
        totals[server.name] |= over_time(own)
        log = (out / f"{server.name}.log").read_text(errors="replace")
        totals[server.name]["warnings"] = len(re.findall(r"\bwarn|error|Traceback", log, re.I))
    (out / "soak.svg").write_text(drawing(samples), encoding="utf-8")
    result = {"plan": plan._asdict(), **totals}
    (out / "soak.json").write_text(json.dumps(result, indent=1), encoding="utf-8")
    return result


def over_time(samples: list[dict[str, Any]]) -> dict[str, float]:
    """Resource use in the second and in the last quarter, which are equal if nothing leaks."""
    quarter = max(len(samples) // 4, 1)
    found: dict[str, float] = {}
    for column in ("memory_mib", "descriptors", "threads"):
        values = [sample[column] for sample in samples]
        found[f"{column}_early"] = statistics.median(values[quarter : 2 * quarter] or values)
        found[f"{column}_late"] = statistics.median(values[-quarter:])
        found[f"{column}_max"] = max(values)
    found["cpu_percent"] = statistics.mean(sample["cpu_percent"] for sample in samples)
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


# Output ------------------------------------------------------------------------------------------

PANELS = [
    ("memory_mib", "memory, MiB"),
    ("descriptors", "open descriptors"),
    ("threads", "threads"),
    ("cpu_percent", "CPU, % of a core"),
    ("median_ms", "response time, median ms"),
    ("p99_ms", "response time, 99th percentile ms"),
    ("max_lag_s", "age of the last point shown, s"),
]
STROKES = {"tbcore": "#0a7d5a", "tensorboard": "#e8710a"}
WIDTH, HEIGHT, LEFT, TOP, GAP = 900, 110, 60, 34, 42


def drawing(samples: list[dict[str, Any]]) -> str:
    """The samples over time as SVG, one panel per column."""
    last = max((sample["second"] for sample in samples), default=1.0)
    parts = []
    for number, (column, title) in enumerate(PANELS):
        curves: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for sample in samples:
            if column in sample:
                curves[sample["server"]].append((sample["second"], sample[column]))
        top = TOP + number * (HEIGHT + GAP)
        highest = max((y for curve in curves.values() for _, y in curve), default=1.0) or 1.0
        parts.append(
            f'<text x="{LEFT}" y="{top - 8}">{title}</text>'
            f'<text x="{LEFT - 6}" y="{top + 8}" text-anchor="end">{highest:.4g}</text>'
            f'<text x="{LEFT - 6}" y="{top + HEIGHT}" text-anchor="end">0</text>'
            f'<path d="M{LEFT} {top}v{HEIGHT}h{WIDTH}" fill="none" stroke="#888"/>'
        )
        for name, curve in curves.items():
            points = " ".join(
                f"{LEFT + WIDTH * x / last:.1f},{top + HEIGHT * (1 - y / highest):.1f}"
                for x, y in curve
            )
            parts.append(f'<polyline points="{points}" fill="none" stroke="{STROKES[name]}"/>')
    height = TOP + len(PANELS) * (HEIGHT + GAP)
    legend = "".join(
        f'<text x="{LEFT + WIDTH - 180 + 80 * i}" y="20" fill="{STROKES[name]}">{name}</text>'
        for i, name in enumerate(sorted({sample["server"] for sample in samples}, reverse=True))
    )
    end = f'<text x="{LEFT + WIDTH}" y="{height - GAP + 16}" text-anchor="end">{last:.0f} s</text>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 20}" height="{height}" '
        f'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="#fff"/>'
        f"{''.join(parts)}{legend}{end}</svg>\n"
    )


def print_totals(result: dict[str, Any]) -> None:
    for who in ("writer", "tbcore", "tensorboard"):
        for name, value in result.get(who, {}).items():
            shown = f"{value:.1f}" if isinstance(value, float) else value
            print(f"{who:12} {name:22} {shown}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=1800)
    parser.add_argument("--rate", type=float, default=2.0, help="MB written per second")
    parser.add_argument("--runs", type=int, default=20, help="number of runs at a time")
    parser.add_argument("--life", type=float, default=100, help="seconds until a run is full")
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument(
        "--pause", type=float, default=1.0, help="average seconds between two requests of a client"
    )
    parser.add_argument("--every", type=float, default=10.0, help="seconds between two samples")
    parser.add_argument("--tensorboard", metavar="COMMAND")
    parser.add_argument("--tensorboard_clients", type=int, default=5)
    arguments = parser.parse_args()
    plan = Plan(
        seconds=arguments.seconds,
        rate=arguments.rate,
        num_runs=arguments.runs,
        life=arguments.life,
        clients=arguments.clients,
        pause=arguments.pause,
    )
    arguments.out.mkdir(parents=True, exist_ok=True)
    print_totals(
        soak(
            arguments.out.resolve(),
            plan,
            arguments.every,
            arguments.tensorboard,
            arguments.tensorboard_clients,
        )
    )


if __name__ == "__main__":
    main()
