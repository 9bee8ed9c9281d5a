"""Measures the commands that print logs, each from the start of its process to its end.

    python benchmarks/commands.py [LOGS] [--rounds 5] [--only ls,tail]

`tbcore --help` is also measured with 100 and 500 more distributions of other programs. `tbcore ls`
lists 2,000 runs with 5 tags of 10 points. `tbcore export` writes 5 million points of one tag, and
of 50 runs. `tbcore tail -f` is measured from the time at which a point was flushed until a reader
of the pipe has its line. Prints the median and the worst of the rounds, the median of CPU seconds,
and the peak of memory.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(Path(__file__).parent), str(ROOT), str(ROOT / "tests" / "shared")]

import workloads
from queries import write_runs

from tbcore_testing import EventFileWriter, summaries, write_run

COMMAND = [sys.executable, "-m", "tbcore"]
NUM_POINTS = 20
"""Number of points whose delay is measured for `tail -f`."""


def run(arguments: list[str | Path], site: Path) -> tuple[float, float, float]:
    """Seconds from the start to the end of a command, CPU seconds, and its peak of memory in MB.

    Distributions in the folder `site` are installed for it, too.
    """
    environment = {**os.environ, "PYTHONPATH": str(site)}
    started = time.perf_counter()
    process = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, arguments
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000


def write_distributions(site: Path, number: int) -> Path:
    """Installs distributions with an entry point each, of other programs, into a folder."""
    for index in range(number):
        info = site / f"other_{index}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: other-{index}\nVersion: 1.0\n"
        )
        (info / "entry_points.txt").write_text(f"[console_scripts]\nother = other_{index}:main\n")
    return site


def tail_delays(folder: Path) -> list[float]:
    """Seconds from the flush of each point until `tail -f` has printed it."""
    path = write_run(folder, "run", scalars={"loss": [0.0]}, filename="tfevents")
    process = subprocess.Popen([*COMMAND, "tail", "-f", folder], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    lines = iter(process.stdout)
    try:
        for _ in range(2):  # the header, and the first point
            next(lines)
        delays = []
        for step in range(1, NUM_POINTS + 1):
            time.sleep(0.3)
            with EventFileWriter(path) as writer:
                writer.add_summary(step, summaries.scalar("loss", float(step)))
            flushed = time.perf_counter()
            assert next(lines).split("\t")[1] == str(step)
            delays.append(time.perf_counter() - flushed)
        return delays
    finally:
        process.kill()
        process.wait()


def report(
    title: str, seconds: list[float], cpu: Sequence[float] = (), megabytes: Sequence[float] = ()
) -> None:
    more = f"{statistics.median(cpu):8.2f}{max(megabytes):8.0f}" if cpu else ""
    print(f"{title:44}{statistics.median(seconds):10.2f}{max(seconds):8.2f}{more}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("logs", type=Path, nargs="?")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--only", metavar="PART,...", help="only what has one of these in its title"
    )
    arguments = parser.parse_args()
    logs = arguments.logs or Path(tempfile.gettempdir()) / "tbcore-benchmark-logs"
    sweep, single, many = logs / "queries-2000", logs / "S1", logs / "S2"
    if not sweep.exists():
        write_runs(sweep, 2000)
    for path in (single, many):
        if not path.exists():
            workloads.generate(logs, path.name, 1.0)
    print(f"{'command':44}{'median s':>10}{'worst s':>8}{'CPU s':>8}{'MB':>8}")

    def is_wanted(title: str) -> bool:
        return arguments.only is None or any(part in title for part in arguments.only.split(","))

    with tempfile.TemporaryDirectory() as folder:
        measured: dict[str, list[str | Path]] = {
            "--help": ["--help"],
            "ls, 2,000 runs": ["ls", sweep],
            "ls, 2,000 runs, --where and --sort": [
                "ls", sweep, "--where", "lr>1e-3 -has:nan", "--sort", "loss:min", "--columns", "lr",
            ],
            "show, 5 million points": ["show", single, "run"],
        }  # fmt: skip
        for ending in ("csv", "jsonl", "parquet"):
            for title, logdir in (("one tag", single), ("50 runs", many)):
                output = Path(folder) / f"x.{ending}"
                measured[f"export, 5 million points, {title}, {ending}"] = [
                    "export", logdir, "-o", output,
                ]  # fmt: skip
        sites = {}
        for number in (100, 500):
            title = f"--help, {number} distributions more"
            measured[title] = ["--help"]
            sites[title] = write_distributions(Path(folder) / f"site-{number}", number)
        for title, line in measured.items():
            if not is_wanted(title):
                continue
            site = sites.get(title, Path(folder) / "no-site")
            results = np.array([run(line, site) for _ in range(arguments.rounds)]).T.tolist()
            report(title, *results)
        if is_wanted("tail -f"):
            report("tail -f, delay of a point", tail_delays(Path(folder) / "logs"))


if __name__ == "__main__":
    main()
