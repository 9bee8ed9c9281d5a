"""The cost of notes: the largest changes of 20,000 runs, and a log directory with 250 MB of notes.

python benchmarks/notes.py LOGS

Memory is the growth of the peak of a server's process (VmHWM), and of a command the difference to
the same command without the notes. CPU time is that of the process.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tbcore_testing import write_run

NUM_RUNS = 20_000
NUM_BYTES = 250_000_000
NAMES = [f"run{number:05}" for number in range(NUM_RUNS)]
LABELS = [chr(ord("a") + number) for number in range(20)]
CHANGES: dict[str, Any] = {
    "stars": {"starred": True},
    "all fields, 3.9 MB": {
        "starred": True, "archived": True, "labels": LABELS, "note": "x", "display_name": "y",
        "color": "#2a78d6",
    },
    "a note, 3.9 MB": {"note": "x" * 175},
    "9,999 letters": {"note": "x" * 9999},
    "9,999 control characters": {"note": "\x01" * 9999},
}  # fmt: skip
FIELDS = {"starred": True, "archived": True, "labels": [], "note": "", "color": "",
          "display_name": ""}  # fmt: skip


class Server:
    """A process of `tbcore serve`."""

    def __init__(self, logs: Path, data: Path) -> None:
        environment = {**os.environ, "XDG_DATA_HOME": str(data), "TBCORE_TOKEN": "t"}
        output = data.with_suffix(".log")
        with output.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tbcore", "serve", "--logdir", str(logs), "--port", "0"],
                env=environment, stdout=log, stderr=log,
            )  # fmt: skip
        while not (found := re.search(r":(\d+)/\S* \(Press", output.read_text())):
            assert self.process.poll() is None, output.read_text()
            time.sleep(0.05)
        self.port = int(found[1])
        while len(json.loads(self.request("/data/runs")[1])) < NUM_RUNS:
            time.sleep(0.2)
        self.rest()

    def rest(self) -> None:
        """Waits until the process does little."""
        before = self.cpu()
        while time.sleep(0.5) or self.cpu() - before > 0.05:
            before = self.cpu()

    def request(self, path: str, body: Any = None) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        headers = {"Authorization": "Bearer t", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body)
        connection.request("GET" if body is None else "POST", path, data, headers)
        response = connection.getresponse()
        found = response.status, response.read()
        connection.close()
        return found

    def cpu(self) -> float:
        """Of the process, in seconds."""
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9

    def memory(self, name: str) -> float:
        """In MB: `VmRSS` is what the process has now, `VmHWM` is its peak."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.findall(rf"{name}:\s+(\d+)", text)[0]) * 1024 / 1e6

    def end(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


@contextmanager
def served(logs: Path) -> Iterator[Server]:
    with tempfile.TemporaryDirectory() as folder:
        server = Server(logs, Path(folder) / "data")
        try:
            yield server
        finally:
            server.end()


def make_logs(logs: Path) -> None:
    if (logs / NAMES[-1]).exists():
        return
    path = write_run(logs, NAMES[0], scalars={"loss": [1.0]})
    for name in NAMES[1:]:
        (logs / name).mkdir(exist_ok=True)
        (logs / name / path.name).write_bytes(path.read_bytes())


def measure_changes(logs: Path) -> None:
    print("\nchange of 20,000 runs | request MB | status | response MB | peak MB more | CPU s")
    for name, values in CHANGES.items():
        with served(logs) as server:
            server.request("/data/notes")
            server.request("/data/notes", {"runs": NAMES[:1], "set": {"starred": True}})
            body = {"runs": NAMES, "set": values}
            Path(f"/proc/{server.process.pid}/clear_refs").write_text("5")
            memory, cpu = server.memory("VmHWM"), server.cpu()
            status, answer = server.request("/data/notes", body)
            cells = [
                len(json.dumps(body)) / 1e6, status, len(answer) / 1e6,
                server.memory("VmHWM") - memory, server.cpu() - cpu,
            ]  # fmt: skip
            print(name, *(f"{cell:.3g}" for cell in cells), sep=" | ", flush=True)


def lines(kind: str) -> Iterator[bytes]:
    """Lines of notes: long texts, or stars, or all fields; also on runs that there are."""
    values: Any = FIELDS if "fields" in kind else {"starred": True}
    if "long" in kind:
        values = {"note": "x" * 9_500}
    number = 0
    while True:
        run = NAMES[number % NUM_RUNS] if "known" in kind else f"x{number:x}"
        found = {"t": 1, "by": "a", "run": run, "set": values}
        yield json.dumps(found, separators=(",", ":")).encode() + b"\n"
        number += 1


def make_notes(folder: Path, kind: str) -> None:
    """Writes NUM_BYTES of notes: one file, or with `files`, a part of it is in small files."""
    folder.mkdir(parents=True)
    num_bytes, source = 0, lines(kind)
    if "files" in kind:
        for number in range(100):
            data = b"".join(next(source) for _ in range(1_000))
            (folder / f"small{number}.jsonl").write_bytes(data)
            num_bytes += len(data)
    with (folder / "large.jsonl").open("wb") as file:
        while num_bytes < NUM_BYTES:
            num_bytes += file.write(b"".join(next(source) for _ in range(1_000)))


def ls(logs: Path) -> tuple[float, float]:
    """The peak in MB and the CPU time in seconds of `tbcore ls`."""
    code = (
        "import resource, subprocess, sys\n"
        "subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(used.ru_maxrss, used.ru_utime + used.ru_stime)"
    )
    command = [sys.executable, "-c", code, sys.executable, "-m", "tbcore", "ls", str(logs)]
    memory, cpu = subprocess.run(command, capture_output=True, text=True).stdout.split()
    return int(memory) * 1024 / 1e6, float(cpu)


def measure_strangers(logs: Path) -> None:
    print(
        "\n250 MB in .tbcore | ls: MB more, CPU s more | server at rest: MB more"
        " | response MB | after five requests at once: peak MB more, CPU s"
    )
    folder = logs / ".tbcore"
    shutil.rmtree(folder, ignore_errors=True)
    base = ls(logs)
    with served(logs) as server:
        at_rest, peak = server.memory("VmRSS"), server.memory("VmHWM")
    print(f"without: ls {base[0]:.3g} MB, {base[1]:.3g} s; server {at_rest:.3g}, {peak:.3g} MB")
    for kind in ("long", "short", "short files", "files with all fields", "known files fields"):
        try:
            make_notes(folder / "notes", kind)
            memory, cpu = ls(logs)
            with served(logs) as server:
                rest, before = server.memory("VmRSS"), server.cpu()
                _, answer = server.request("/data/notes")
                threads = [
                    threading.Thread(target=server.request, args=["/data/notes"]) for _ in range(5)
                ]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                cells = [
                    memory - base[0], cpu - base[1], rest - at_rest, len(answer) / 1e6,
                    server.memory("VmHWM") - peak, server.cpu() - before,
                ]  # fmt: skip
                print(kind, *(f"{cell:.3g}" for cell in cells), sep=" | ", flush=True)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logs", type=Path)
    parser.add_argument("--only", choices=["changes", "strangers"])
    options = parser.parse_args()
    make_logs(options.logs / "notes")
    if options.only != "strangers":
        measure_changes(options.logs / "notes")
    if options.only != "changes":
        measure_strangers(options.logs / "notes")
