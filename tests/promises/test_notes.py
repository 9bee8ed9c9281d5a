"""Promise P29, notes: one change, and the notes in a directory of a stranger, cost little."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tbcore_testing import write_run

pytest.importorskip("tbcore_notes")

NUM_RUNS = 20_000
NAMES = [f"run{number:05}" for number in range(NUM_RUNS)]
HEADERS = "Authorization: Bearer secret", "Content-Type: application/json"
FIELDS = {"starred": True, "archived": True, "labels": [], "note": "", "display_name": "",
          "color": ""}  # fmt: skip
STRANGERS_BYTES = 250_000_000

LARGEST: dict[str, Any] = {
    "starred": True, "archived": True, "labels": list("abcdefghijklmnopqrst"), "note": "x",
    "display_name": "y", "color": "#2a78d6",
}  # fmt: skip


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log directory with many runs."""
    folder = tmp_path_factory.mktemp("runs")
    path = write_run(folder, NAMES[0], scalars={"loss": [1.0]})
    for name in NAMES[1:]:
        (folder / name).mkdir()
        (folder / name / path.name).write_bytes(path.read_bytes())
    return folder


def loaded(start: Any, runs: Path, data: Path) -> Any:
    """A server that has read all runs, and does little."""
    server = start(runs, "--reload_interval", "600", XDG_DATA_HOME=str(data), TBCORE_TOKEN="secret")
    server.wait(lambda: status_of(server)["passes"])
    server.wait(server.is_quiet)
    server.request("/data/notes", *HEADERS).json()
    return server


def status_of(server: Any) -> Any:
    return server.request("/data/status", *HEADERS).json()


class Cost:
    """What a server needs from now on."""

    def __init__(self, server: Any) -> None:
        self.server = server
        self.memory, self.cpu = server.memory(), server.cpu_seconds()

    @property
    def megabytes(self) -> float:
        """Growth of the peak of its memory."""
        return float(self.memory.most_added()) / 1e6

    @property
    def cpu_seconds(self) -> float:
        return float(self.server.cpu_seconds() - self.cpu)


@pytest.mark.slow
def test_p29_the_largest_change_of_notes(start: Any, runs: Path, tmp_path: Path) -> None:
    """60 MB and 1 s of CPU. What is larger is refused, for less."""
    server = loaded(start, runs, tmp_path)

    def change(values: Any) -> Any:
        body = json.dumps({"runs": NAMES, "set": values}).encode()
        return server.request("/data/notes", *HEADERS, method="POST", body=body)

    cost = Cost(server)
    for note in ("x" * 9999, "\x01" * 9999, "x" * 200):
        refused = change({"note": note})
        assert refused.status == 413
        assert refused.text.startswith("this change has ")
    print(f"refused: {cost.megabytes:.1f} MB, {cost.cpu_seconds:.2f} s")
    assert cost.megabytes < 30
    cost = Cost(server)
    answer = change(LARGEST)
    print(f"largest: {cost.megabytes:.1f} MB, {cost.cpu_seconds:.2f} s")
    assert answer.status == 200
    assert len(answer.json()["runs"]) == NUM_RUNS
    assert cost.megabytes < 60
    assert cost.cpu_seconds < 2, "1 s, on a machine that does nothing else"


def strangers(kind: str) -> Iterator[bytes]:
    """Thousands of lines of notes."""
    values: Any = {"note": "x" * 9500} if kind == "long" else {"starred": True}
    if kind == "runs":
        values = FIELDS
    line = (
        json.dumps({"t": 1, "by": "a", "run": "RUN", "set": values}, separators=(",", ":")) + "\n"
    )
    for first in count(step=1000):
        numbers = range(first, first + 1000)
        names = (NAMES[n % NUM_RUNS] if kind == "runs" else f"x{n:x}" for n in numbers)
        yield "".join(line.replace("RUN", name) for name in names).encode()


def write_strangers(folder: Path, kind: str) -> None:
    """Writes many notes: what fits into the limits in small files, and the rest in a large one."""
    folder.mkdir(parents=True)
    lines, num_bytes = strangers(kind), 0
    for number in range(100 if kind != "long" else 0):
        num_bytes += (folder / f"{number}.jsonl").write_bytes(next(lines))
    with (folder / "large.jsonl").open("wb") as file:
        while num_bytes < STRANGERS_BYTES:
            num_bytes += file.write(next(lines))


def ls(runs: Path) -> tuple[float, float]:
    """The peak of `tbcore ls` in MB, and its CPU time in seconds."""
    code = (
        "import resource, subprocess, sys\n"
        "subprocess.run(sys.argv[1:], stdout=-3, stderr=-3, check=True)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(used.ru_maxrss * 1024 / 1e6, used.ru_utime + used.ru_stime)"
    )
    command = [sys.executable, "-c", code, sys.executable, "-m", "tbcore", "ls", str(runs)]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(found[0]), float(found[1])


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("long", marks=pytest.mark.release),
        pytest.param("short", marks=pytest.mark.slow),
        pytest.param("runs", marks=pytest.mark.release),
    ],
)
def test_p29_250_megabytes_of_a_strangers_notes(
    start: Any, runs: Path, tmp_path: Path, kind: str
) -> None:
    """40 MB of memory: for a server, for six requests, and for `tbcore ls`."""
    server = loaded(start, runs, tmp_path)
    memory, cpu = ls(runs)
    write_strangers(tmp_path / "hidden" / "notes", kind)
    try:
        (tmp_path / "hidden").rename(runs / ".tbcore")
        cost = Cost(server)
        answer = server.request("/data/notes", *HEADERS).json()
        assert any("left out" in line for line in answer["problems"])
        threads = [
            threading.Thread(target=server.request, args=["/data/notes", *HEADERS])
            for _ in range(5)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(f"{kind}: {cost.megabytes:.1f} MB, {cost.cpu_seconds:.2f} s")
        assert cost.megabytes < 40
        assert cost.cpu_seconds < 5
        memory_of_ls, cpu_of_ls = ls(runs)
        print(f"{kind}: ls {memory_of_ls - memory:.1f} MB, {cpu_of_ls - cpu:.2f} s")
        assert memory_of_ls - memory < 40
        assert cpu_of_ls - cpu < 5
    finally:
        shutil.rmtree(runs / ".tbcore", ignore_errors=True)
