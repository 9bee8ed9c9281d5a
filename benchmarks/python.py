"""Measures reading logs from Python: all points to a frame, and one scalar among pictures.

    python benchmarks/python.py [LOGS] [--peers PYTHON] [--workloads S1,S2] [--rounds 3]
                                [--gigabytes 2]

PYTHON is an interpreter with tbparse and tensorboard; without it, only tbcore is measured. In each
round, each program reads each workload (see `workloads.py`) once, in a process of its own:

    tbcore             tbcore.open(logdir).scalars().to_pandas()
    tbparse            SummaryReader(logdir).scalars
    EventAccumulator   EventAccumulator(run, size_guidance={"scalars": 0}) for each run, and a frame

Printed are medians of seconds and CPU seconds with all imports, the peak of memory in megabytes,
and the medians of the ratios to tbcore in each round. EventAccumulator and tbparse verify no
checksums where tensorboard is installed without TensorFlow.

After that, a run with 1,000 points of a scalar is read, from a directory in which other runs have
pictures, and from one in which the pictures are in the same file. Printed are seconds, and the
megabytes that were read.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

from workloads import generate

from tbcore_testing import EventFileWriter, summaries
from tbcore_testing.summaries import png

PROGRAMS = {
    "tbcore": """
        import tbcore
        frame = tbcore.open(logdir).scalars().to_pandas()
    """,
    "tbparse": """
        from tbparse import SummaryReader
        frame = SummaryReader(logdir, extra_columns={"dir_name", "wall_time"}).scalars
    """,
    "EventAccumulator": """
        import os, pandas
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        frames = []
        for folder, _, files in os.walk(logdir):
            if files:
                accumulator = EventAccumulator(folder, size_guidance={"scalars": 0, "tensors": 0})
                accumulator.Reload()
                for tag in accumulator.Tags()["scalars"]:
                    frames.append(pandas.DataFrame(accumulator.Scalars(tag)).assign(tag=tag))
        frame = pandas.concat(frames)
    """,
    "one scalar": """
        import tbcore
        frame = tbcore.open(logdir)["scalars"]["loss"]
    """,
}
MEASURED = """
import json, resource, sys, time
started = time.perf_counter()
logdir = sys.argv[1]
{program}
usage = resource.getrusage(resource.RUSAGE_SELF)
with open("/proc/self/io") as file:
    num_read = int(file.readline().split()[1])
print(json.dumps([
    time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024,
    num_read / 1e6, len(frame),
]))
"""
PICTURE_BYTES = 200_000


class Figures(NamedTuple):
    """Figures of one process."""

    seconds: float
    cpu_seconds: float
    peak_megabytes: float
    read_megabytes: float
    num_rows: int


def measured(name: str, python: str, logdir: Path) -> Figures:
    """Runs a program in a process of its own."""
    program = "\n".join(line[8:] for line in PROGRAMS[name].splitlines())
    command = [python, "-c", MEASURED.format(program=program), str(logdir)]
    root = Path(__file__).parent.parent
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=root).stdout
    return Figures(*json.loads(output.splitlines()[-1]))


def compare(logdir: Path, peers: str | None, rounds: int) -> None:
    """Prints the figures of all programs for one workload."""
    pythons = {"tbcore": sys.executable}
    if peers:
        pythons |= {"tbparse": peers, "EventAccumulator": peers}
    by_program: dict[str, list[Figures]] = {name: [] for name in pythons}
    for _ in range(rounds):
        for name, python in pythons.items():
            by_program[name].append(measured(name, python, logdir))
    for name, figures in by_program.items():
        rows = zip(figures, by_program["tbcore"], strict=True)
        ratios = [
            (one.seconds / ours.seconds, one.cpu_seconds / ours.cpu_seconds) for one, ours in rows
        ]
        seconds, cpu_ratio = (statistics.median(column) for column in zip(*ratios, strict=True))
        wall, cpu, peak, _, rows = (
            statistics.median(column) for column in zip(*figures, strict=True)
        )
        print(
            f"{logdir.name:4} {name:17} {wall:8.2f} s {cpu:8.2f} CPU s {peak:7.0f} MB "
            f"{rows:11,.0f} rows   {seconds:.1f} x the time, {cpu_ratio:.1f} x the CPU time",
            flush=True,
        )


def write_pictures(path: Path, gigabytes: float) -> None:
    """Appends pictures to an event file."""
    picture = png(64, 64)
    picture += bytes(PICTURE_BYTES - len(picture))
    with EventFileWriter(path) as writer:
        for step in range(round(gigabytes * 1e9 / PICTURE_BYTES)):
            writer.add_summary(step, summaries.image("samples", picture))


def measure_pictures(gigabytes: float) -> None:
    for where, run in (("other runs", "pictures"), ("the same file", "scalars")):
        with tempfile.TemporaryDirectory() as folder:
            for each in {"scalars", run}:
                (Path(folder) / each).mkdir()
            with EventFileWriter(Path(folder) / "scalars" / "tfevents") as writer:
                for step in range(1000):
                    writer.add_scalar("loss", float(step), step)
            write_pictures(Path(folder) / run / "tfevents", gigabytes)
            figures = measured("one scalar", sys.executable, Path(folder))
            print(
                f"one scalar, {gigabytes:g} GB of pictures in {where}: {figures.seconds:.2f} s, "
                f"{figures.read_megabytes:.1f} MB read, {figures.peak_megabytes:.0f} MB of memory"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("logs", nargs="?", type=Path)
    parser.add_argument("--peers", metavar="PYTHON")
    parser.add_argument("--workloads", default="S1,S2")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--gigabytes", type=float, default=2.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        logs = options.logs or Path(folder)
        for name in options.workloads.split(","):
            generate(logs, name, 1.0)
            compare(logs / name, options.peers, options.rounds)
    if options.gigabytes:
        measure_pictures(options.gigabytes)


if __name__ == "__main__":
    main()
