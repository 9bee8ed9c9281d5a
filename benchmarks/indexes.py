"""Measures an index of many short runs: making it, opening it, and reading from it.

    python benchmarks/indexes.py [LOGS] [--runs 50000] [--rounds 3]

LOGS has the logdir `S3h` of `workloads.py` with so many runs, of 10 tags and 50 points each, and
with hyperparameters of their own; it is written if it is missing. Each step runs in a process of
its own, and the steps take turns, so that other load on the machine affects all of them. Printed
are medians: seconds, and peaks of memory.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(Path(__file__).parent), str(ROOT)]

from workloads import generate

STEPS = {
    "read from disk": """
loader, multiplexer = load([LogdirSpec(None, logdir)], None)
took("until all is read")
""",
    "open": """
reader = IndexReader(index)
took("opened")
loader, multiplexer = load([], reader)
took("all runs listed")
runs, claims = multiplexer.runs(), [Claim(is_scalar=True)]
tag = multiplexer.tags(claims)[runs[0]][0]
took("tags")
multiplexer.scalars(runs[0], tag)
took("first series")
for run in runs[1:101]:
    multiplexer.scalars(run, tag)
took("100 series of neighbours")
for run in runs[:: len(runs) // 100]:
    multiplexer.scalars(run, tag)
took("100 series anywhere")
for run in runs:
    multiplexer.last_points(run, claims)
took("last points of all runs")
""",
    "open beside the logs": """
loader, multiplexer = load([LogdirSpec(None, logdir)], IndexReader(index))
took("until all is up to date")
""",
}
"""The steps that are measured in Python, after the imports."""

SCRIPT = """
import gc, json, resource, sys, time
gc.disable()
from tbcore.eventfiles.logdir import LogdirSpec
from tbcore.kinds import Claim
from tbcore.store.loader import Loader
from tbcore.store.board import Board
from tbcore.store.multiplexer import Multiplexer
from tbcore_index.reader import IndexReader
logdir, index = sys.argv[1:]
figures, last = {}, time.perf_counter()

def took(what):
    global last
    now = time.perf_counter()
    figures[what], last = now - last, now

def load(specs, index):
    board = Board()
    multiplexer = Multiplexer(board=board)
    loader = Loader(board, specs, index=index)
    loader.load_once()
    return loader, multiplexer

STEP
figures["MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps(figures))
"""


def make(logdir: Path, index: Path, *options: str) -> dict[str, float]:
    """Makes or updates an index; returns the seconds."""
    command = [sys.executable, "-m", "tbcore", "index", str(logdir)]
    script = f"""
import subprocess, time
started = time.perf_counter()
subprocess.run({[*command, "--index", str(index), *options]!r}, check=True, capture_output=True)
print(time.perf_counter() - started)
"""
    return {"s": float(run([sys.executable, "-c", script]))}


def run(command: Sequence[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logs", nargs="?", type=Path)
    parser.add_argument("--runs", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    found: dict[tuple[str, str], list[float]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        logs = arguments.logs or Path(temporary)
        logdir = logs / "S3h"
        if not logdir.exists():
            generate(logs, "S3h", arguments.runs / 2000)
        for number in range(arguments.rounds):
            index = Path(temporary) / f"index{number}"
            by_step = {
                "index, 1 process": make(logdir, index),
                "index, nothing new": make(logdir, index),
                "index, 2 workers": make(logdir, Path(f"{index}w"), "--workers", "2"),
            }
            for step, code in STEPS.items():
                script = SCRIPT.replace("STEP", code)
                output = run([sys.executable, "-c", script, str(logdir), str(index)])
                by_step[step] = json.loads(output)
            for step, figures in by_step.items():
                for what, figure in figures.items():
                    found.setdefault((step, what), []).append(figure)
        size = sum(path.stat().st_size for path in index.rglob("*.parquet"))
    print(f"{size / (arguments.runs * 500):.1f} bytes a point")
    for (step, what), figures in found.items():
        print(f"{step:22} {what:26} {statistics.median(figures):8.3f}")


if __name__ == "__main__":
    main()
