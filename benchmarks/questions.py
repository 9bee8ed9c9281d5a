"""Measures the fifty questions of extensions/logs/tests about 1,000 runs, each as a process.

    python benchmarks/questions.py [LOGS] [--runs 1000] [--rounds 3]

Prints the median of CPU seconds, from the start of the process to its end, of those questions about
a search with hyperparameters, the slowest first, and the size of each answer in bytes. The first
row is a process that only imports numpy.
"""

from __future__ import annotations

import argparse
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "tests" / "shared"), str(ROOT / "extensions" / "logs" / "tests")]

from test_fifty_questions import QUESTIONS, write_thousand


def ask(line: Sequence[str], folder: Path, status: int = 0) -> tuple[float, int]:
    """CPU seconds of a program of Python, and the bytes that it prints."""
    process = subprocess.Popen(
        [sys.executable, *line], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout is not None
    size = len(process.stdout.read())
    _, found, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(found)
    assert process.returncode == status, line
    return usage.ru_utime + usage.ru_stime, size


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("logs", type=Path, nargs="?")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    logs = arguments.logs or Path(tempfile.gettempdir()) / "tbcore-benchmark-logs"
    folder = logs / f"questions-{arguments.runs}"
    if not folder.exists():
        write_thousand(folder / "thousand", arguments.runs, np.random.default_rng(58))
    lines = {"a process that imports numpy": (["-c", "import numpy"], 0)}
    for question in QUESTIONS:
        words = shlex.split(question.command)
        if "thousand" in words:
            lines[question.text] = ["-m", "tbcore", *words, "--json"], question.status
    rows: dict[str, list[tuple[float, int]]] = {text: [] for text in lines}
    for _ in range(arguments.rounds):
        for text, (line, status) in lines.items():
            rows[text].append(ask(line, folder, status))
    medians = {text: statistics.median(cpu for cpu, _ in found) for text, found in rows.items()}
    print(f"{'question':74}{'CPU s':>7}{'bytes':>10}")
    first, *texts = medians
    for text in (first, *sorted(texts, key=medians.__getitem__, reverse=True)):
        print(f"{text:74}{medians[text]:7.2f}{rows[text][0][1]:10,}")


if __name__ == "__main__":
    main()
