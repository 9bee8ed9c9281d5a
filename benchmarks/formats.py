"""Measures reading the logs of other programs, and the delay until what they flushed is served.

    python benchmarks/formats.py [LOGS] [--rounds 3] [--peer PYTHON] [--scale 1.0] [--points 100]

LOGS is a folder for the logs, which are written if they are missing:

    event file     1,000,000 scalars
    CSV            1,000,000 rows, as of Lightning: each with one of two metrics
    W&B            50 MB: rows of 12 metrics, and as many summaries
    MLflow         500,000 metrics of 1,000 runs with 10 parameters each
    folders        10,000 with a CSV file of 50 rows; and with an event file of the same numbers

`tbcore.open` reads them, with all points; PYTHON, which has tensorboard, reads the event file with
its EventAccumulator. Printed are medians of CPU seconds, each reader in a process of its own, their
ratios in each round, and the peak of memory. After that, each real program that an interpreter of
TBCORE_WRITERS has writes to a folder that a server watches (see tests/shared/format_writers.py).
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import sqlite3
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from urllib.parse import quote

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(Path(__file__).parent), str(ROOT), str(ROOT / "tests" / "shared")]

import numpy as np
from format_writers import WRITERS, interpreter_with, writing
from responses import free_port

from tbcore_testing import EventFileWriter

READ = """
import resource, sys, tempfile, time, tbcore
with tempfile.TemporaryDirectory() as empty:
    list(tbcore.open(empty))  # Imports what is needed, as the lines above do for the other reader.
began = time.process_time()
count = 0
for run in tbcore.open(sys.argv[1]).values():
    for tag in run.scalar_tags:
        count += len(run[tag].value)
"""
ACCUMULATE = """
import resource, sys, time
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
began = time.process_time()
accumulator = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0, "tensors": 0})
accumulator.Reload()
count = sum(len(accumulator.Scalars(tag)) for tag in accumulator.Tags()["scalars"])
"""
PRINT = """
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(time.process_time() - began, peak, count)
"""


def numbers(count: int) -> list[float]:
    """Numbers that float32 holds, as most that are logged."""
    found: list[float] = np.random.default_rng(1).random(count, np.float32).tolist()
    return found


def write_event_file(folder: Path, scale: float) -> None:
    with EventFileWriter(folder / "a.tfevents") as writer:
        for step, value in enumerate(numbers(int(1e6 * scale))):
            writer.add_scalar("loss", value, step)


def write_csv(folder: Path, scale: float) -> None:
    with (folder / "metrics.csv").open("w") as file:
        file.write("epoch,step,train_loss,val_loss\n")
        for step, value in enumerate(numbers(int(1e6 * scale))):
            cells = f"{value}," if step % 2 else f",{value}"
            file.write(f"{step // 1000},{step},{cells}\n")


def message(*parts: tuple[int, int | str | bytes]) -> bytes:
    """A protobuf message of fields, each with its number."""
    found = bytearray()
    for number, value in parts:
        data = value.encode() if isinstance(value, str) else value
        is_int = isinstance(data, int)
        found += _varint(number << 3 | (0 if is_int else 2))
        found += _varint(data) if isinstance(data, int) else _varint(len(data)) + data
    return bytes(found)


def _varint(value: int) -> bytes:
    found = bytearray()
    while value >= 128:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def write_wandb(folder: Path, scale: float) -> None:
    """As version 0.31 writes: each value with its key, in random order."""

    def records() -> Iterator[bytes]:
        yield message((17, message((1, "x"), (8, "run"), (17, message((1, 1_790_000_000))))))
        shuffle, values = random.Random(1).shuffle, iter(numbers(12 * 60_000))
        for step in range(60_000):
            row = [(f"metric/{i}", str(next(values))) for i in range(12)]
            row += [("_step", str(step)), ("_timestamp", "1.7957245083982713e+09")]
            shuffle(row)
            items = [(1, message((2, key), (16, text))) for key, text in row]
            yield message((1, 2 * step), (2, message(*items, (2, message((1, step))))))
            yield message((1, 2 * step + 1), (3, message(*items)))

    with (folder / "run-x.wandb").open("wb") as file:
        file.write(b":W&B\xe1\xbe\0")
        for record in records():
            if file.tell() > 50e6 * scale:
                break
            left = 32768 - file.tell() % 32768
            pieces = [record[: left - 7], record[left - 7 :]] if left >= 7 else [b"", record]
            if left < 7:
                file.write(bytes(left))
            kinds = [(1, record)] if left < 7 or not pieces[1] else [(2, pieces[0]), (4, pieces[1])]
            for kind, data in kinds:
                crc = zlib.crc32(bytes([kind]) + data)
                file.write(struct.pack("<IHB", crc, len(data), kind) + data)


def write_mlflow(folder: Path, scale: float) -> None:
    database = sqlite3.connect(folder / "mlflow.db")
    database.executescript("""
        create table experiments (experiment_id integer primary key, name text,
            lifecycle_stage text);
        create table runs (run_uuid varchar(32) primary key, name text, status text,
            start_time bigint, end_time bigint, lifecycle_stage text, experiment_id integer);
        create table metrics (key text not null, value float not null, timestamp bigint not null,
            run_uuid text not null, step bigint not null, is_nan boolean not null,
            primary key (key, timestamp, step, run_uuid, value, is_nan));
        create index index_metrics_run_uuid on metrics (run_uuid);
        create index index_metrics_run_uuid_key_step on metrics (run_uuid, key, step);
        create table params (key text, value text, run_uuid text, primary key (key, run_uuid));
        create table tags (key text, value text, run_uuid text, primary key (key, run_uuid));
        insert into experiments values (1, 'sweep', 'active');
    """)
    runs = [f"{number:032x}" for number in range(1000)]
    for number, run in enumerate(runs):
        values = run, f"run {number}", "FINISHED", 1_790_000_000_000 + number, None, "active", 1
        database.execute("insert into runs values (?, ?, ?, ?, ?, ?, ?)", values)
        params = [(f"p{i}", str(i / 7), run) for i in range(10)]
        database.executemany("insert into params values (?, ?, ?)", params)
    found = iter(numbers(500_000))
    for step in range(int(50 * scale)):
        at = 1_790_000_000_000 + step
        rows = [(f"m{i}", next(found), at, run, step, 0) for run in runs for i in range(10)]
        database.executemany("insert into metrics values (?, ?, ?, ?, ?, ?)", rows)
    database.commit()
    database.close()


def write_csv_folders(folder: Path, scale: float) -> None:
    values = numbers(100)
    for number in range(int(10_000 * scale)):
        run = folder / f"version_{number}"
        run.mkdir()
        rows = zip(range(50), values[::2], values[1::2], strict=True)
        text = "".join(f"{step // 10},{step},{a},{b}\n" for step, a, b in rows)
        (run / "metrics.csv").write_text(f"epoch,step,train_loss,val_loss\n{text}")


def write_event_folders(folder: Path, scale: float) -> None:
    values = numbers(100)
    for number in range(int(10_000 * scale)):
        with EventFileWriter(folder / f"version_{number}" / "a.tfevents") as writer:
            for step in range(50):
                writer.add_scalar("epoch", step // 10, step)
                writer.add_scalar("train_loss", values[2 * step], step)
                writer.add_scalar("val_loss", values[2 * step + 1], step)


WORKLOADS: dict[str, Callable[[Path, float], None]] = {
    "event file": write_event_file, "CSV": write_csv, "W&B": write_wandb, "MLflow": write_mlflow,
    "folders, events": write_event_folders, "folders, CSV": write_csv_folders,
}  # fmt: skip
PEERS = {"folders, CSV": "folders, events"}
"""With what a workload is compared, if not with the EventAccumulator."""


def measured(python: str, code: str, folder: Path) -> tuple[float, float, int]:
    """CPU seconds after the first imports, peak of memory in MB, and number of points."""
    command = [python, "-c", code + PRINT, str(folder)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(output[-3]), float(output[-2]), int(output[-1])


def measure_reading(logs: Path, rounds: int, peer: str | None, scale: float) -> None:
    for name, write in WORKLOADS.items():
        folder = logs / name
        if not folder.exists():
            folder.mkdir(parents=True)
            write(folder, scale)
    found: dict[str, list[tuple[float, float, int]]] = {}
    for _ in range(rounds):
        if peer:
            result = measured(peer, ACCUMULATE, logs / "event file")
            found.setdefault("EventAccumulator", []).append(result)
        for name in WORKLOADS:
            found.setdefault(name, []).append(measured(sys.executable, READ, logs / name))
    print(f"{'':18}{'CPU s':>8}{'ratio':>8}{'peak MB':>9}{'files MB':>10}{'points':>11}")
    for name, results in found.items():
        other = found.get(PEERS.get(name, "EventAccumulator"), results)
        ratio = statistics.median(a[0] / b[0] for a, b in zip(results, other, strict=True))
        cpu, peak = (statistics.median(each[i] for each in results) for i in (0, 1))
        folder = logs / ("event file" if name == "EventAccumulator" else name)
        size = sum(file.stat().st_size for file in folder.rglob("*.*")) / 1e6
        print(f"{name:18}{cpu:8.2f}{ratio:8.3f}{peak:9.0f}{size:10.0f}{results[0][2]:11,}")


def measure_delays(num_points: int) -> None:
    print(f"\n{'flushed until served, ms':26}{'median':>8}{'95 %':>8}{'longest':>9}")
    for name, writer in WRITERS.items():
        python = interpreter_with(writer.module)
        if python is None:
            print(f"{name:26} not installed")
            continue
        with tempfile.TemporaryDirectory() as folder:
            port = free_port()
            command = [sys.executable, "-m", "tbcore", "serve", "--logdir", folder]
            server = subprocess.Popen(
                [*command, "--port", str(port)], stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )  # fmt: skip
            try:
                with writing(python, writer, Path(folder)) as steps:
                    delays = measured_delays(
                        port, writer.run, writer.tag, islice(steps, num_points)
                    )
            finally:
                server.terminate()
                server.wait()
        values = [1000 * each for each in sorted(delays)]
        longest, most = values[-1], values[int(len(values) * 0.95)]
        print(f"{name:26}{statistics.median(values):8.0f}{most:8.0f}{longest:9.0f}", flush=True)


def measured_delays(port: int, run: str, tag: str, steps: Iterator[int]) -> list[float]:
    """Seconds until a response has each step; without the first, with which the server starts."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    path = f"/data/plugin/scalars/scalars?run={quote(run, '')}&tag={quote(tag, '')}"
    pauses, found = random.Random(1), []
    for step in steps:
        started = time.perf_counter()
        while True:
            try:
                connection.request("GET", path)
                if json.loads(connection.getresponse().read())[-1][1] == step:
                    break
            except (OSError, ValueError, TypeError, KeyError, IndexError):
                connection.close()
            time.sleep(0.005)
        found.append(time.perf_counter() - started)
        time.sleep(pauses.random() / 2)
    return found[1:]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("logs", type=Path, nargs="?")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--points", type=int, default=100)
    parser.add_argument("--peer", help="path of an interpreter that has tensorboard")
    arguments = parser.parse_args()
    logs = arguments.logs or Path(tempfile.gettempdir()) / "tbcore-format-logs"
    os.environ.setdefault("PYTHONPATH", str(ROOT))
    peer = arguments.peer or interpreter_with("tensorboard")
    if arguments.rounds:
        measure_reading(logs, arguments.rounds, peer, arguments.scale)
    if arguments.points:
        measure_delays(arguments.points)


if __name__ == "__main__":
    main()
