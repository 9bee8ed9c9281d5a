"""Promise P26: a server of which nobody asks anything rests."""

from __future__ import annotations

import math
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tbcore.tuning import Tuning
from tbcore_testing import write_run

NUM_RUNS = 20_000
NUM_WINDOWS = 3
IDLE_SECONDS = 4.0
# The CPU time of a plain walk of these runs, on the core that the promise is about.
WALK_SECONDS = 0.5


@pytest.mark.slow
@pytest.mark.services
@pytest.mark.alone
def test_p26_an_idle_server_rests(
    start: Any, tmp_path: Path, service: Callable[[str], str]
) -> None:
    """At most 100 system calls a second and 0.3 % of a core, with 20,000 runs on a disk.

    Measured are one scan at rest, and some seconds between two scans. The rest is arithmetic: at
    rest, scans are as far apart as the longest pause. A scan's share is that of a core which walks
    these runs in WALK_SECONDS. Between scans, threads only wake up, and what that costs does not
    follow the cost of a walk.
    """
    strace = service("strace")
    write_run(tmp_path, "folder0/run", scalars={"a": [1.0, 2.0]})
    [path] = tmp_path.rglob("*tfevents*")
    for number in range(1, NUM_RUNS):
        folder = tmp_path / f"folder{number % 100}" / f"run{number}"
        folder.mkdir(parents=True)
        (folder / path.name).write_bytes(path.read_bytes())
    server = start(tmp_path, "--reload_interval", "1")

    def status() -> dict[str, Any]:
        found: dict[str, Any] = server.get("/data/status").json()
        return found

    def scan() -> Callable[[], bool]:
        """Asks for a scan, which ends a pause; returns a function that says whether it is over."""
        passes = status()["passes"]
        server.get("/data/status", scan="true")
        return lambda: status()["passes"] > passes

    def cpu_seconds() -> float:
        return float(sum(ran for ran, _ in server.thread_seconds().values()))

    def calls_until(begin: Callable[[], Callable[[], bool]]) -> int:
        """Number of system calls from `begin` on, until what it returns is true, asked seldom."""
        log = tmp_path.with_name("strace.txt")
        command = [strace, "-c", "-f", "-p", str(server.process.pid), "-o", str(log)]
        with subprocess.Popen(command, stderr=subprocess.PIPE) as tracer:
            assert tracer.stderr is not None
            assert b"attached" in tracer.stderr.readline()
            is_over = begin()
            while not is_over():
                time.sleep(0.25)
            tracer.send_signal(signal.SIGINT)
            tracer.communicate()
        [total] = re.findall(r"^100\.00 +\S+ +\d+ +(\d+) .*total$", log.read_text(), re.M)
        return int(total)

    # A directory is listed again until two scans, at least 3 s apart and both after the first one,
    # have found it unchanged. Each scan that finds nothing doubles the pause, from 1 s to 16.
    server.wait(lambda: status()["passes"] >= 2, 240)
    second = status()["scanned_at"]
    server.wait(lambda: time.time() > second + 4)
    while status()["passes"] < 6:
        server.wait(scan(), 240)
    server.wait(lambda: status()["scanned_at"] < time.time() - 2, 240)
    # The lowest of several: a shared processor takes more time for the same work now and then.
    passes, idle_cpu = status()["passes"], math.inf
    for _ in range(NUM_WINDOWS):
        cpu, began = cpu_seconds(), time.monotonic()
        time.sleep(IDLE_SECONDS / NUM_WINDOWS)
        idle_cpu = min(idle_cpu, (cpu_seconds() - cpu) / (time.monotonic() - began))
    began = time.monotonic()
    idle_calls = calls_until(lambda: lambda: time.monotonic() > began + IDLE_SECONDS)
    idle_calls_per_second = idle_calls / (time.monotonic() - began)
    assert status()["passes"] == passes
    # Without strace, which takes time of the server. A scan is far more than what is beside it.
    scan_cpu = math.inf
    for _ in range(NUM_WINDOWS):
        cpu = cpu_seconds()
        server.wait(scan(), 240)
        scan_cpu = min(scan_cpu, cpu_seconds() - cpu)
    began = time.monotonic()
    scan_calls = calls_until(scan)
    scan_calls -= int(idle_calls_per_second * (time.monotonic() - began))

    walk_cpu = min(cpu_of_walk(tmp_path) for _ in range(3))
    longest = Tuning().max_watched_pause_seconds
    calls = idle_calls_per_second + scan_calls / longest
    share = idle_cpu + scan_cpu / longest * WALK_SECONDS / walk_cpu
    print(f"idle: {idle_calls_per_second:.0f} calls/s, {idle_cpu:.2%}; "
          f"a scan: {scan_calls} calls, {scan_cpu:.2f} s, a plain walk {walk_cpu:.2f} s; "
          f"at rest: {calls:.0f} calls/s, {share:.2%} of a core")  # fmt: skip
    assert scan_calls > NUM_RUNS, "the scan was not measured"
    assert scan_cpu > walk_cpu / 4, "the end of a scan was measured"
    assert calls <= 100
    assert share <= 0.003


def cpu_of_walk(folder: Path) -> float:
    """The CPU time that this process needs to ask for the size of each file."""
    began = time.thread_time()
    for parent, _, names in os.walk(folder):
        for name in names:
            os.stat(os.path.join(parent, name))
    return time.thread_time() - began
