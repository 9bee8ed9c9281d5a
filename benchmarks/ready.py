"""From the start of a server until all data is served, beside TensorBoard on the same files.

    python benchmarks/ready.py [LOGS] [--tensorboard COMMAND] [--workloads S1,S2,...] [--rounds 3]
    python benchmarks/ready.py [LOGS] --growth

LOGS holds one logdir for each workload (see `workloads.py`) and is filled where one is missing.
Each round starts each program once on each workload, one after the other, so that what else the
machine does hits all of them. Printed are medians, and medians of the ratios in each round.

    tbcore       tbcore serve, which verifies every checksum; every point is kept
    +rust        tensorboard with its data server in Rust, which verifies none; a sample is kept
    +rust all    the same with --samples_per_plugin scalars=0: every scalar is kept
    rust         that data server by itself, with no HTTP in front
    python       tensorboard --load_fast=false; slow, so only at a small --scale

Ready: HTTP answers, and the first pass over the files is over, as the programs themselves say (the
Python loader does not; there the last steps are asked for). CPU seconds are those of all processes
until then. Memory is what the processes wrote to (anonymous and shared pages, each counted once,
not files), at its peak until then and two seconds later.

With --growth: tbcore alone on a sixteenth of each workload, a quarter, and all of it, and what each
costs beyond a start without logs.
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

from answers import free_port
from workloads import generate

REST_SECONDS = 2.0
LIMIT_SECONDS = 300.0
WORKLOADS = "S1,S2,S2t,S2v,S2r,S3,S3e,H,Hs,M,G"


class Figures(NamedTuple):
    """What one start took."""

    ready: float
    cpu: float
    peak: float
    rest: float
    """Megabytes, as `peak`."""


def start(command: list[str], is_ready: Callable[[str], bool]) -> Figures:
    """Runs a server until it is ready; `is_ready` is given what it printed so far."""
    # Bytecode is compiled once, as it is where a package is installed.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(Path(tempfile.gettempdir()) / "tbcore-bytecode")
    with tempfile.TemporaryFile("w+") as log:
        begun = time.perf_counter()
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=log, stderr=log, env=environment
        )
        peaks = [0.0]
        is_over = threading.Event()

        def watch() -> None:
            while not is_over.wait(0.03):
                peaks.append(memory(process.pid))

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            while True:
                time.sleep(0.005)
                text = os.pread(log.fileno(), 1 << 20, 0).decode(errors="replace")
                if is_ready(text):
                    break
                if process.poll() is not None or time.perf_counter() - begun > LIMIT_SECONDS:
                    raise SystemExit(f"{' '.join(command)} did not get ready:\n{text}")
            ready = time.perf_counter() - begun
            cpu = sum(cpu_seconds(pid) for pid in family(process.pid))
            is_over.set()
            watcher.join()
            time.sleep(REST_SECONDS)
            return Figures(ready, cpu, max(peaks), memory(process.pid))
        finally:
            is_over.set()
            for pid in reversed(family(process.pid)):
                subprocess.run(["kill", str(pid)], check=False, stderr=subprocess.DEVNULL)
            process.wait()


def family(pid: int) -> list[int]:
    """A process and all that it started."""
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
    """Of a process and those of its children that have ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def memory(pid: int) -> float:
    """Megabytes that a process and those that it started wrote to and hold."""
    total = 0
    for one in family(pid):
        try:
            rollup = Path(f"/proc/{one}/smaps_rollup").read_text()
            maps = Path(f"/proc/{one}/maps").read_text()
        except OSError:
            continue
        anonymous, shared = (
            sum(map(int, re.findall(rf"{name}:\s+(\d+) kB", rollup))) * 1024
            for name in ("Pss_Anon", "Pss_Shmem")
        )
        # What was handed over is held, looked at or not.
        spans = re.findall(r"^(\w+)-(\w+) .*memfd:", maps, re.MULTILINE)
        held = sum(int(end, 16) - int(begin, 16) for begin, end in spans)
        total += anonymous + max(shared, held)
    return total / 1e6


def get(url: str) -> object:
    """An answer as JSON; None while there is none."""
    try:
        with urllib.request.urlopen(url, timeout=30) as response:
            return json.loads(response.read())
    except (OSError, ValueError):
        return None


def tbcore(logdir: Path) -> Figures:
    port = free_port()
    command = [sys.executable, "-m", "tbcore", "serve", "--logdir", str(logdir)]

    def is_ready(_: str) -> bool:
        time.sleep(0.01)  # Answering costs it something too.
        status = get(f"http://127.0.0.1:{port}/data/status")
        return isinstance(status, dict) and status["passes"] > 0

    return start([*command, "--port", str(port)], is_ready)


def with_rust(tensorboard: str, logdir: Path, *flags: str) -> Figures:
    port = free_port()
    command = [tensorboard, "--logdir", str(logdir), "--port", str(port), *flags]
    command += ["--load_fast=true", "--extra_data_server_flags=--verbose --verbose"]

    def is_ready(text: str) -> bool:
        # Asking costs it something, so it is asked once it has loaded.
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
    left = dict(last_steps)

    def is_ready(_: str) -> bool:
        for (run, tag), step in list(left.items()):
            query = urlencode({"run": run, "tag": tag})
            rows = get(f"http://127.0.0.1:{port}/data/plugin/scalars/scalars?{query}")
            if not isinstance(rows, list) or rows[-1][1] != step:
                time.sleep(0.05)
                return False
            del left[run, tag]
        return True

    return start(command, is_ready)


def find_last_steps(logdir: Path) -> dict[tuple[str, str], int]:
    """The last step of one tag of each run."""
    from tbcore.testing import make_client

    client = make_client(logdir, plugins=["scalars"])
    runs = client.get("data/plugin/scalars/tags").json()
    found = {}
    for run, tags in runs.items():
        tag = list(tags)[-1]
        rows = client.get("data/plugin/scalars/scalars", params={"run": run, "tag": tag}).json()
        found[run, tag] = rows[-1][1]
    return found


def find_server(tensorboard: str) -> Path | None:
    """The data server in the environment of this TensorBoard."""
    environment = Path(shutil.which(tensorboard) or tensorboard).resolve().parent.parent
    return next(environment.glob("lib/*/site-packages/tensorboard_data_server/bin/server"), None)


def at_scale(logs: Path, scale: float) -> Path:
    """Where the logs of this scale are."""
    return logs if scale == 1 else logs / f"scale-{scale:g}"


def print_growth(logs: Path, workloads: list[str], rounds: int) -> None:
    """Prints seconds, processor seconds and megabytes that loading adds to an empty start."""

    def measured(logdir: Path) -> Figures:
        found = [tbcore(logdir) for _ in range(rounds)]
        return Figures(*map(statistics.median, zip(*found, strict=True)))

    nothing = measured(Path(tempfile.mkdtemp()))
    print(f"a start without logs: {nothing.ready:.2f} s, CPU {nothing.cpu:.2f} s,", end=" ")
    print(f"{nothing.rest:.0f} MB; beyond it:\n")
    print(f"{'':6}" + "".join(f"{name:>24}" for name in ("1x", "4x", "16x")))
    for name in workloads:
        line = f"{name:6}"
        for scale in (1 / 16, 1 / 4, 1):
            generate(at_scale(logs, scale), name, scale)
            took = measured(at_scale(logs, scale) / name)
            more = [a - b for a, b in zip(took, nothing, strict=True)]
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
    parser.add_argument("--growth", action="store_true", help="tbcore at three sizes")
    parser.add_argument("--python", action="store_true", help="with TensorBoard's Python loader")
    arguments = parser.parse_args()
    logs = arguments.logs or Path(tempfile.gettempdir()) / "tbcore-benchmark-logs"
    if arguments.growth:
        print_growth(logs, arguments.workloads.split(","), arguments.rounds)
        return
    logs = at_scale(logs, arguments.scale)
    tensorboard: str | None = arguments.tensorboard
    programs: dict[str, Callable[[Path], Figures]] = {"tbcore": tbcore}
    if tensorboard:
        board = tensorboard
        programs["+rust"] = lambda logdir: with_rust(board, logdir)
        everything = "--samples_per_plugin=scalars=0"
        programs["+rust all"] = lambda logdir: with_rust(board, logdir, everything)
        if server := find_server(board):
            alone = server
            programs["rust"] = lambda logdir: rust_alone(alone, logdir)
        if arguments.python:
            programs["python"] = lambda logdir: python_loader(
                board, logdir, find_last_steps(logdir)
            )
    tbcore(Path(tempfile.mkdtemp()))  # So that its bytecode is compiled.
    print("medians; in brackets tbcore / the other, median of the rounds\n")
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
