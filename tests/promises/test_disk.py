"""The disk: P6 all changes of files show; P7 no file stops the others from being served."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from framed import records_of

from tbcore_testing import EventFileWriter

SHOWN_SECONDS = 20.0
"""Time in which a change must show."""

TRAINING = """
import sys, time
from tbcore_testing import EventFileWriter
writer = EventFileWriter(sys.argv[1])
for step in range(10**9):
    writer.add_scalar("a", step, step)
    writer.flush()
    time.sleep(0.002)
"""


def write(path: Path, steps: Sequence[int], *, wall_time: float = 1e9) -> Path:
    """Writes a file, or appends to one; returns its path."""
    with EventFileWriter(path, wall_time=wall_time) as writer:
        for step in steps:
            writer.add_scalar("a", step, step)
    return path


def num_whole_records(path: Path) -> int:
    data = path.read_bytes()
    return sum(end <= len(data) for _, end in records_of(data))


@pytest.mark.parametrize(
    "interval", ["0.2", pytest.param("5", marks=pytest.mark.release, id="the usual interval")]
)
def test_p6_the_disk_is_the_truth(start: Any, tmp_path: Path, interval: str) -> None:
    """All kinds of changes at once, some of which only show in a time or an inode."""
    logs = tmp_path / "logs"
    names = [
        "grows", "is replaced", "is replaced, as old", "is rewritten", "is shortened",
        "is shortened and grows", "loses a file", "is deleted", "comes back", "is renamed",
        "may be read", "may be listed", "was empty", "gets a second file", "is copied over",
    ]  # fmt: skip
    paths = {name: write(logs / name / "1.tfevents", [1, 2, 3]) for name in names}
    write(logs / "loses a file" / "2.tfevents", [4])
    paths["was empty"].write_bytes(b"")
    paths["may be read"].chmod(0)
    (logs / "may be listed").chmod(0)
    server = start(logs, "--reload_interval", interval)

    def shown() -> dict[str, list[int]]:
        runs = server.get("/data/runs").json()
        return {run: server.steps(run) for run in runs}

    before = {name: [1, 2, 3] for name in names}
    before |= {"loses a file": [1, 2, 3, 4], "may be read": [], "was empty": []}
    del before["may be listed"]
    server.wait(lambda: shown() == before, SHOWN_SECONDS)
    shutil.rmtree(logs / "comes back")
    server.wait(lambda: "comes back" not in shown(), SHOWN_SECONDS)

    write(paths["grows"], [4, 5])
    os.replace(write(tmp_path / "other", [7, 8, 9]), paths["is replaced"])
    old = paths["is replaced, as old"].stat()
    os.replace(write(tmp_path / "other", [6, 7, 8]), paths["is replaced, as old"])
    os.utime(paths["is replaced, as old"], ns=(old.st_atime_ns, old.st_mtime_ns))
    content = write(tmp_path / "other", [5, 6, 7]).read_bytes()
    assert len(content) == old.st_size
    paths["is rewritten"].write_bytes(content)
    os.truncate(paths["is shortened"], _end_of_record(paths["is shortened"], 2))
    os.truncate(paths["is shortened and grows"], _end_of_record(paths["is shortened"], 1))
    write(paths["is shortened and grows"], [30, 31, 32, 33])
    (logs / "loses a file" / "1.tfevents").unlink()
    shutil.rmtree(logs / "is deleted")
    write(logs / "comes back" / "1.tfevents", [70])
    (logs / "is renamed").rename(logs / "has a new name")
    paths["may be read"].chmod(0o644)
    (logs / "may be listed").chmod(0o755)
    write(paths["was empty"], [1])
    write(logs / "gets a second file" / "2.tfevents", [4])
    longer = write(tmp_path / "longer", [1, 2, 3, 4, 5, 6])
    shutil.copyfile(longer, paths["is copied over"])
    write(logs / "is new" / "deep" / "down" / "1.tfevents", [1])

    after = {
        "grows": [1, 2, 3, 4, 5], "is replaced": [7, 8, 9], "is replaced, as old": [6, 7, 8],
        "is rewritten": [5, 6, 7], "is shortened": [1], "is shortened and grows": [30, 31, 32, 33],
        "loses a file": [4], "comes back": [70], "has a new name": [1, 2, 3],
        "may be read": [1, 2, 3], "may be listed": [1, 2, 3], "was empty": [1],
        "gets a second file": [1, 2, 3, 4], "is copied over": [1, 2, 3, 4, 5, 6],
        "is new/deep/down": [1],
    }  # fmt: skip
    seconds = server.wait(lambda: shown() == after, SHOWN_SECONDS)
    print(f"all changes show after {seconds:.1f} s, with scans every {interval} s")


def _end_of_record(path: Path, count: int) -> int:
    return records_of(path.read_bytes())[count - 1][1]


def test_p6_another_process_writes_and_is_killed(shared: Any) -> None:
    """Data shows while the process writes; afterwards all complete records do."""
    path = shared.logdir / "p6" / "training" / "a.tfevents"
    writer = subprocess.Popen([sys.executable, "-c", TRAINING, str(path)])
    try:
        lags = []
        for _ in range(5):
            shared.wait(lambda: path.exists() and path.stat().st_size > 10_000)
            num_written = num_whole_records(path) - 1
            started = time.monotonic()
            shared.wait(lambda n=num_written: len(shared.steps("p6/training")) >= min(n, 1000))
            lags.append(time.monotonic() - started)
    finally:
        writer.send_signal(signal.SIGKILL)
        writer.wait()
    print(f"shown after {max(lags):.2f} s")
    num_steps = num_whole_records(path) - 1
    assert num_steps > 10
    shared.wait(lambda: shared.steps("p6/training")[-1:] == [num_steps - 1], SHOWN_SECONDS)


def litter(folder: Path) -> list[socket.socket]:
    """Creates files that are not logs, such as pipes and links; returns open sockets."""
    folder.mkdir(parents=True)
    os.mkfifo(folder / "pipe.tfevents")
    listener = socket.socket(socket.AF_UNIX)
    with contextlib.chdir(folder):  # the address of a socket must be short
        listener.bind("socket.tfevents")
    for name, device in (("zero", (1, 5)), ("null", (1, 3)), ("tty", (5, 0))):
        (folder / f"link to {name}.tfevents").symlink_to(f"/dev/{name}")
        try:
            os.mknod(folder / f"{name}.tfevents", 0o644 | stat.S_IFCHR, os.makedev(*device))
        except PermissionError:
            continue  # only root may, and not in every container
    (folder / "dangling.tfevents").symlink_to("nowhere")
    (folder / "itself.tfevents").symlink_to("itself.tfevents")
    (folder / "circle").mkdir()
    (folder / "circle" / "back").symlink_to(folder)
    (folder / "circle" / "self").symlink_to(folder / "circle")
    (folder / "one").symlink_to("two")
    (folder / "two").symlink_to("one")
    (folder / "directory.tfevents").mkdir()
    (folder / "closed").mkdir()
    write(folder / "closed" / "a.tfevents", [1])
    (folder / "closed").chmod(0)
    write(folder / "unreadable" / "a.tfevents", [1]).chmod(0)
    (folder / "nonsense").mkdir()
    (folder / "nonsense" / "a.tfevents").write_bytes(b"this is no event file" * 1000)
    return [listener]


def test_p7_no_file_stops_the_others(start: Any, tmp_path: Path) -> None:
    """Runs show and grow next to such files, whether these exist at the start or come later."""
    logs = tmp_path / "logs"
    kept = litter(logs / "a")
    write(logs / "a" / "a.tfevents", [1])
    write(logs / "b" / "a.tfevents", [1])
    server = start(logs)

    server.wait(lambda: server.steps("a") == server.steps("b") == [1], SHOWN_SECONDS)
    kept += litter(logs / "c")
    write(logs / "c" / "a.tfevents", [1])
    write(logs / "a" / "a.tfevents", [2])
    write(logs / "d" / "a.tfevents", [1])
    for run, steps in {"a": [1, 2], "b": [1], "c": [1], "d": [1]}.items():
        server.wait(lambda run=run, steps=steps: server.steps(run) == steps, SHOWN_SECONDS)

    runs = server.get("/data/runs").json()
    assert {run for run in runs if server.steps(run)} == {"a", "b", "c", "d"}
    for folder in ("a", "c"):
        for name in ("closed", "unreadable"):
            lines = [line for line in server.stderr.splitlines() if f"/{folder}/{name}" in line]
            assert len(lines) == 1, server.stderr
    assert len(server.stderr.splitlines()) == 4, server.stderr
    # A text that never was an event file is no damage.
    [others] = server.get("/data/status").json()["other_files"]
    assert (others["kind"], others["num_files"]) == ("unknown", 2)
    # The server did not open the pipe.
    with pytest.raises(OSError, match="No such device"):
        os.open(logs / "a" / "pipe.tfevents", os.O_WRONLY | os.O_NONBLOCK)
    for listener in kept:
        listener.close()
