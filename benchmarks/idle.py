"""Measures an idle server: the CPU time of a scan of unchanged files.

    python benchmarks/idle.py

Writes 10,000 small event files, first one per run and then ten per run, reads them, and scans them
again as the loader does at each reload interval. Prints the median CPU time of a scan in
milliseconds. The first scans are not counted: files that changed a moment ago may change again
within the resolution of their times, so those scans list everything.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tbcore.eventfiles.logdir import LogdirSpec
from tbcore.store.board import Board
from tbcore.store.loader import Loader
from tbcore_testing import EventFileWriter

NUM_FILES = 10_000
PAUSE_SECONDS = 4.0
NUM_SCANS = 7


def write(logdir: Path, num_runs: int) -> None:
    with EventFileWriter(logdir / "one.tfevents") as writer:
        writer.add_scalar("loss", 1.0, 0)
    data = (logdir / "one.tfevents").read_bytes()
    for number in range(NUM_FILES):
        run = logdir / f"run{number % num_runs:05}"
        run.mkdir(exist_ok=True)
        (run / f"{number:05}.tfevents").write_bytes(data)


def scan_time(logdir: Path) -> float:
    """The median CPU time of a scan of a log directory, in milliseconds."""
    loader = Loader(Board(), [LogdirSpec(None, str(logdir))])
    for _ in range(3):
        loader.load_once()
        time.sleep(PAUSE_SECONDS)
    loader.load_once()
    times = []
    for _ in range(NUM_SCANS):
        started = time.process_time()
        loader.load_once()
        times.append((time.process_time() - started) * 1000)
    return statistics.median(times)


def main() -> None:
    for num_runs in (NUM_FILES, NUM_FILES // 10):
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), num_runs)
            print(f"{NUM_FILES:,} files in {num_runs:,} runs: {scan_time(Path(folder)):.0f} ms")


if __name__ == "__main__":
    main()
