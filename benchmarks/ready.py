"""Measures the time from the start until all data is served, for tbcore and TensorBoard.

    python benchmarks/ready.py [LOGS] [--tensorboard COMMAND] [--workloads S1,S2,...] [--rounds 3]
    python benchmarks/ready.py [LOGS] --growth

LOGS has one logdir per workload (see `workloads.py`); missing ones are written. In each round, each
program starts once on each workload, one after the other, so that other load on the machine affects
all of them. Printed are medians, and medians of the ratios of each round.

    tbcore       tbcore serve: verifies every checksum, keeps every point
    +rust        tensorboard with its data server in Rust: verifies no checksums, keeps a sample
    +rust all    the same with --samples_per_plugin scalars=0: keeps every scalar
    rust         that data server alone, without HTTP
    python       tensorboard --load_fast=false; slow, so use it with a small --scale

A program is ready when it serves HTTP and has finished its first pass over the files. The programs
report the end of this pass, except the Python loader, which gets requests for the last steps. CPU
seconds are those of all processes until then. Memory is anonymous and shared pages, each counted
once, without files: its peak until the program is ready, and its size two seconds later.

With --growth, only tbcore is measured, with a sixteenth of each workload, a quarter, and all of it.
Printed is the difference to a start without logs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

from responses import free_port
from workloads import generate

IDLE_SECONDS = 2.0
TIMEOUT_SECONDS = 300.0
WORKLOADS = "S1,S2,S2t,S2v,S2r,S3,S3e,H,Hs,M,G"


class Figures(NamedTuple):
    """Figures of one start: seconds, CPU seconds, and memory in megabytes."""

    ready: float
    cpu: float
    peak: float
    rest: float


def start(command: list[str], is_ready: Callable[[str], bool]) -> Figures:
    """Runs a server until it is ready; `is_ready` gets the output so far."""
    # Cache the bytecode, as for an installed package.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(Path(tempfile.gettempdir()) / "tbcore-bytecode")
    with tempfile.TemporaryFile("w+") as log:
        started = time.perf_counter()
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=log, stderr=log, env=environment
        )
        peaks = [0.0]
        is_over = threading.Event()

        def record_memory() -> None:
            while not is_over.wait(0.03):
                peaks.append(memory(process.pid))

        recorder = threading.Thread(target=record_memory)
        recorder.start()
        try:
            while True:
                time.sleep(0.005)
                text = os.pread(log.fileno(), 1 << 20, 0).decode(errors="replace")
                if is_ready(text):
                    break
                if process.poll() is not None or time.perf_counter() - started > TIMEOUT_SECONDS:
                    raise SystemExit(f"{' '.join(command)} did not become ready:\n{text}")
            ready = time.perf_counter() - started
            cpu = sum(cpu_seconds(pid) for pid in process_tree(process.pid))
            is_over.set()
            recorder.join()
            time.sleep(IDLE_SECONDS)
            return Figures(ready, cpu, max(peaks), memory(process.pid))
        finally:
            is_over.set()
            for pid in reversed(process_tree(process.pid)):
                subprocess.run(["kill", str(pid)], check=False, stderr=subprocess.DEVNULL)
            process.wait()


def process_tree(pid: int) -> list[int]:
    """A process and its descendants."""
    found = [pid]
    for parent in found:
        try:
            tasks = Path(f"/proc/{parent}/task").iterdir()
            for task in tasks:
                found += map(int, (task / "children").read_text().split())
        except OSError:
            continue
    return found


def cpu_seconds(pid: int) -> float:
    """CPU seconds of a process and of its children that have ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def memory(pid: int) -> float:
    """Megabytes of anonymous and shared memory of a process and its descendants."""
    total = 0
    for one in process_tree(pid):
        try:
            rollup = Path(f"/proc/{one}/smaps_rollup").read_text()
            maps = Path(f"/proc/{one}/maps").read_text()
        except OSError:
            continue
        anonymous, shared = (
            sum(map(int, re.findall(rf"{name}:\s+(\d+) kB", rollup))) * 1024
            for name in ("Pss_Anon", "Pss_Shmem")
        )
        # Memory that was passed on is in use, even if its pages were never touched.
        spans = re.findall(r"^(\w+)-(\w+) .*memfd:", maps, re.MULTILINE)
        held = sum(int(end, 16) - int(begin, 16) for begin, end in spans)
        total += anonymous + max(shared, held)
    return total / 1e6


def get(url: str) -> object:
    """A JSON response; None if there is none yet."""
    try:
        with urllib.request.urlopen(url, timeout=30) as response:
            return json.loads(response.read())
    except (OSError, ValueError):
        return None


def tbcore(logdir: Path) -> Figures:
    port = free_port()
    command = [sys.executable, "-m", "tbcore", "serve", "--logdir", str(logdir)]

    def is_ready(_: str) -> bool:
        time.sleep(0.01)  # Requests take CPU time of the server, too.
        status = get(f"http://127.0.0.1:{port}/data/status")
        return isinstance(status, dict) and status["passes"] > 0

    return start([*command, "--port", str(port)], is_ready)


def with_rust(tensorboard: str, logdir: Path, *flags: str) -> Figures:
    port = free_port()
    command = [tensorboard, "--logdir", str(logdir), "--port", str(port), *flags]
    command += ["--load_fast=true", "--extra_data_server_flags=--verbose --verbose"]

    def is_ready(text: str) -> bool:
        # Requests take CPU time of the server, so none is sent before it has loaded.
        has_loaded = "Finished load cycle" in text
        return has_loaded and get(f"http://127.0.0.1:{port}/data/plugins_listing") is not None

    return start(command, is_ready)


def rust_alone(server: Path, logdir: Path) -> Figures:
    command = [str(server), "--logdir", str(logdir), "--port", "0", "-vv", "--reload", "once"]
    return start(command, lambda text: "Finished load cycle" in text)


def python_loader(
    tensorboard: str, logdir: Path, last_steps: dict[tuple[str, str], int]
) -> Figures:
    port = free_port()
    command = [tensorboard, "--logdir", str(logdir), "--port", str(port), "--load_fast=false"]
    pending = dict(last_steps)

    def is_ready(_: str) -> bool:
        for (run, tag), step in list(pending.items()):
            query = urlencode({"run": run, "tag": tag})
            rows = get(f"http://127.0.0.1:{port}/data/plugin/scalars/scalars?{query}")
            if not isinstance(rows, list) or rows[-1][1] != step:
                time.sleep(0.05)
                return False
            del pending[run, tag]
        return True

    return start(command, is_ready)


def find_last_steps(logdir: Path) -> dict[tuple[str, str], int]:
    """The last step of one tag of each run, by run and tag."""
    from tbcore_testing import make_client

    client = make_client(logdir, plugins=["scalars"])
    runs = client.get("data/plugin/scalars/tags").json()
    found = {}
    for run, tags in runs.items():
        tag = list(tags)[-1]
        rows = client.get("data/plugin/scalars/scalars", params={"run": run, "tag": tag}).json()
        found[run, tag] = rows[-1][1]
    return found


def find_server(tensorboard: str) -> Path | None:
    """The data server in the environment of this TensorBoard, or None."""
    environment = Path(shutil.which(tensorboard) or tensorboard).resolve().parent.parent
    return next(environment.glob("lib/*/site-packages/tensorboard_data_server/bin/server"), None)


def at_scale(logs: Path, scale: float) -> Path:
    """The folder of the logs of this scale."""
    return logs if scale == 1 else logs / f"scale-{scale:g}"


def print_growth(logs: Path, workloads: list[str], rounds: int) -> None:
    """Prints the seconds, CPU seconds and megabytes that loading adds to a start without logs."""

    def measured(logdir: Path) -> Figures:
        found = [tbcore(logdir) for _ in range(rounds)]
        return Figures(*map(statistics.median, zip(*found, strict=True)))

    empty = measured(Path(tempfile.mkdtemp()))
    print(f"a start without logs: {empty.ready:.2f} s, CPU {empty.cpu:.2f} s,", end=" ")
    print(f"{empty.rest:.0f} MB; loading adds:\n")
    print(f"{'':6}" + "".join(f"{name:>24}" for name in ("1x", "4x", "16x")))
    for name in workloads:
        line = f"{name:6}"
        for scale in (1 / 16, 1 / 4, 1):
            generate(at_scale(logs, scale), name, scale)
            figures = measured(at_scale(logs, scale) / name)
            more = [a - b for a, b in zip(figures, empty, strict=True)]
            line += f"{more[0]:8.2f} s {more[1]:5.2f} s {more[3]:4.0f} MB"
        print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("logs", type=Path, nargs="?")
    parser.add_argument("--tensorboard", default=shutil.which("tensorboard"))
    parser.add_argument("--workloads", default=WORKLOADS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--growth", action="store_true", help="measure tbcore at three sizes")
    parser.add_argument("--python", action="store_true", help="include TensorBoard's Python loader")
    arguments = parser.parse_args()
    logs = arguments.logs or Path(tempfile.gettempdir()) / "tbcore-benchmark-logs"
    if arguments.growth:
        print_growth(logs, arguments.workloads.split(","), arguments.rounds)
        return
    logs = at_scale(logs, arguments.scale)
    tensorboard: str | None = arguments.tensorboard
    programs: dict[str, Callable[[Path], Figures]] = {"tbcore": tbcore}
    if tensorboard:
        tensorboard_command = tensorboard
        programs["+rust"] = lambda logdir: with_rust(tensorboard_command, logdir)
        everything = "--samples_per_plugin=scalars=0"
        programs["+rust all"] = lambda logdir: with_rust(tensorboard_command, logdir, everything)
        if server := find_server(tensorboard_command):
            server_program = server
            programs["rust"] = lambda logdir: rust_alone(server_program, logdir)
        if arguments.python:
            programs["python"] = lambda logdir: python_loader(
                tensorboard_command, logdir, find_last_steps(logdir)
            )
    tbcore(Path(tempfile.mkdtemp()))  # compiles its bytecode
    print("medians; in parentheses the ratio tbcore / this program, median of the rounds\n")
    print(f"{'':6}{'':10}{'ready s':>16}{'CPU s':>16}{'peak MB':>18}{'at rest MB':>18}")
    for name in arguments.workloads.split(","):
        generate(logs, name, arguments.scale)
        rounds = [
            {program: run(logs / name) for program, run in programs.items()}
            for _ in range(arguments.rounds)
        ]
        for program in programs:
            line = f"{name:6}{program:10}"
            for i, form in enumerate(("{:8.2f}", "{:8.2f}", "{:10.0f}", "{:10.0f}")):
                line += form.format(statistics.median(r[program][i] for r in rounds))
                ratio = statistics.median(r["tbcore"][i] / max(r[program][i], 1e-3) for r in rounds)
                line += f" ({ratio:5.2f})" if program != "tbcore" else " " * 8
            print(line, flush=True)


if __name__ == "__main__":
    main()
