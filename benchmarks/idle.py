"""What a server costs while nothing happens: a look at files that are as they were.

    python benchmarks/idle.py

Makes 10,000 small event files, each in a run of its own and then ten in each, reads them, and looks
at them again as the loader does at each reload interval. Printed is the processor time of a look in
milliseconds, the median of several: the first ones are left out, because what changed a moment ago
may change again without a sign of it, so everything is listed anew.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tbcore.eventfiles.logdir import LogdirSpec
from tbcore.store.loader import Loader
from tbcore.store.multiplexer import Multiplexer
from tbcore.testing import EventFileWriter

NUM_FILES = 10_000
SETTLED_SECONDS = 4.0
NUM_LOOKS = 7


def write(logdir: Path, num_runs: int) -> None:
    with EventFileWriter(logdir / "one.tfevents") as writer:
        writer.add_scalar("loss", 1.0, 0)
    data = (logdir / "one.tfevents").read_bytes()
    for number in range(NUM_FILES):
        run = logdir / f"run{number % num_runs:05}"
        run.mkdir(exist_ok=True)
        (run / f"{number:05}.tfevents").write_bytes(data)


def look(logdir: Path) -> float:
    """Median processor milliseconds."""
    loader = Loader(Multiplexer(), [LogdirSpec(None, str(logdir))])
    for _ in range(3):
        loader.load_once()
        time.sleep(SETTLED_SECONDS)
    loader.load_once()
    times = []
    for _ in range(NUM_LOOKS):
        started = time.process_time()
        loader.load_once()
        times.append((time.process_time() - started) * 1000)
    return statistics.median(times)


def main() -> None:
    for num_runs in (NUM_FILES, NUM_FILES // 10):
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), num_runs)
            print(f"{NUM_FILES:,} files in {num_runs:,} runs: {look(Path(folder)):.0f} ms")


if __name__ == "__main__":
    main()
