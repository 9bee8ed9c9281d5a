"""Start and end: P20 a signal stops the server cleanly; P21 errors at the start are one line."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tbcore_testing import EventFileWriter, summaries, write_run

END_SECONDS = 5.0
ENDS = [
    (signal.SIGTERM, (0, 143)),
    (signal.SIGINT, (0, 130)),
    (signal.SIGKILL, (-signal.SIGKILL,)),
]


def processes_of(server: Any) -> list[int]:
    """Ids of all processes in the server's session."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == server.process.pid and fields[0] != "Z":
            found.append(int(folder.name))
    return found


def end(server: Any, sig: int) -> int:
    """Sends a signal, and returns the exit status after all processes have ended silently."""
    started = time.monotonic()
    server.process.send_signal(sig)
    status: int = server.process.wait(60)
    seconds = time.monotonic() - started
    print(f"ended {seconds:.2f} s after signal {sig}")
    assert seconds < END_SECONDS, seconds
    assert server.stderr == ""
    # A helper process notices by itself that the server was killed.
    while left := processes_of(server):
        assert time.monotonic() - started < END_SECONDS, left
        time.sleep(0.02)
    return status


@pytest.mark.parametrize(("sig", "statuses"), ENDS)
def test_p20_a_signal_stops_it_while_it_loads_and_responds(
    start: Any, large: Path, sig: int, statuses: tuple[int, ...]
) -> None:
    """One client is in the middle of a response, and another one sends requests all the time."""
    server = start(large)
    half = socket.create_connection(("127.0.0.1", server.port))
    half.sendall(b"GET /data/plugin/scalars/tags HTTP/1.1\r\nHost: localhost\r\n\r\n")
    stopping = threading.Event()

    def send_requests() -> None:
        while not stopping.is_set():
            try:
                server.request("/data/plugin/scalars/tags")
            except OSError:
                return

    client = threading.Thread(target=send_requests)
    client.start()
    # With a second processor there is a helper process.
    num_processes = min(2, len(os.sched_getaffinity(0)))
    server.wait(lambda: len(processes_of(server)) >= num_processes)
    assert server.get("/data/status").json()["loading"]

    assert end(server, sig) in statuses

    stopping.set()
    client.join()
    half.close()
    # The port can be used again at once.
    socket.create_server(("127.0.0.1", server.port)).close()


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log directory that takes seconds to load: copies of the same file."""
    logs = tmp_path_factory.mktemp("large")
    path = logs / "run_0" / "a.tfevents"
    with EventFileWriter(path) as writer:
        for step in range(2000):
            values = [summaries.scalar(f"tag_{n * step % 97}", n) for n in range(step % 13 + 3)]
            writer.add_summary(step, *values)
    for number in range(1, 2000):
        (logs / f"run_{number}").mkdir()
        os.link(path, logs / f"run_{number}" / "a.tfevents")
    return logs


@pytest.mark.parametrize(("sig", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_p20_a_signal_before_it_serves_stops_it(
    start: Any, tmp_path: Path, sig: int, status: int
) -> None:
    """This holds at any time after the first line of tbcore's code; nothing is printed."""
    for moment in range(12):
        server = start(tmp_path, waits=False)
        # Python installs a handler for Ctrl-C, which the first line of tbcore removes.
        while not (catches_interrupts(server) or imports_numpy(server)):
            pass
        while catches_interrupts(server):
            # As an exception, Ctrl-C would get lost in an import that catches it.
            assert not (imports_numpy(server) and catches_interrupts(server))
        time.sleep(moment * 0.04)
        # Before the server installs a handler, the signal itself ends the process.
        server.process.send_signal(sig)
        assert server.process.wait(60) in (status, -sig), moment
        assert server.stderr.strip() == "", moment


def imports_numpy(server: Any) -> bool:
    """Whether the server imports numpy, or has imported it, which takes most of the start."""
    return "numpy" in server.proc("maps").read_text()


def catches_interrupts(server: Any) -> bool:
    """Whether the server has a handler for SIGINT."""
    lines = server.proc("status").read_text().splitlines()
    [caught] = [int(line.split()[1], 16) for line in lines if line.startswith("SigCgt:")]
    # While it serves, it has handlers for both signals.
    of_both = 1 << signal.SIGINT - 1 | 1 << signal.SIGTERM - 1
    return caught & of_both == 1 << signal.SIGINT - 1


def test_p20_after_a_kill_a_new_server_serves_the_same(start: Any, tmp_path: Path) -> None:
    """Responses have the same bytes: the same runs in the same order, and the same samples."""
    logs = tmp_path / "logs"
    for number in range(5):
        write_run(
            logs, f"run {number}",
            scalars={f"tag {n}": [float(n * step) for step in range(3000)] for n in range(3)},
            histograms={"h": [[float(step), 1.0] for step in range(120)]},
            images={"i": [summaries.png(rgb=(step, 0, 0)) for step in range(40)]},
            wall_time=1.7e9 - number,
        )  # fmt: skip

    def responses_of(server: Any) -> dict[str, bytes]:
        server.wait_for_scan()
        paths = ["/data/runs", "/data/plugin/scalars/tags", "/legacy/data/runs"]
        for number in range(5):
            run = f"run=run+{number}"
            paths += [f"/data/plugin/scalars/scalars?{run}&tag=tag+{n}" for n in range(3)]
            paths += [f"/data/plugin/histograms/histograms?{run}&tag=h"]
            paths += [f"/data/plugin/images/images?{run}&tag=i"]
        found = {path: server.get(path) for path in paths}
        assert all(response.status == 200 for response in found.values())
        return {path: response.body for path, response in found.items()}

    first = start(logs)
    before = responses_of(first)
    assert len(first.scalars("run 0", "tag 0")) == 1000
    assert end(first, signal.SIGKILL) == -signal.SIGKILL

    assert responses_of(start(logs)) == before


def test_p21_errors_at_the_start_are_one_line(tmp_path: Path) -> None:
    """The exit status is not 0, and there is no traceback.

    `tests/server/test_cli.py` tests more errors, without a process of its own.
    """
    (tmp_path / "file").write_text("not a directory")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        messages = {
            ("--logdir", ".", "--port", port): rf"^tbcore: .*{port}.* in use",
            ("--logdir", ".", "--port", "99999"): r"99999",
            ("--logdir", ".", "--prot", "1"): r"--prot.*--port",
            ("--logdir", "file"): r"'?file'? .*directory",
            (): r"no log directory given",
        }
        started = {
            arguments: subprocess.Popen(
                [sys.executable, "-m", "tbcore", "serve", *arguments],
                cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )
            for arguments in messages
        }  # fmt: skip
        for arguments, process in started.items():
            out, stderr = process.communicate(timeout=60)
            assert process.returncode in (1, 2), arguments
            assert out == "", arguments
            [line] = stderr.splitlines()
            assert re.search(messages[arguments], line), line


def test_p21_a_missing_logdir_is_waited_for(start: Any, tmp_path: Path) -> None:
    """One line reports it, another one that it is there; its runs are served from then on."""
    server = start(tmp_path / "later")
    server.wait_for_scan()
    write_run(tmp_path / "later", "a", scalars={"x": [1.0]})
    server.wait(lambda: server.get("/data/runs").json() == ["a"])

    server.wait(lambda: server.stderr.count("\n") == 2)
    begins, ends = server.stderr.splitlines()
    assert begins.endswith("/later; waiting for it")
    assert re.search(r"info: over after \d+ s: log directory does not exist: \S+/later$", ends)


@pytest.mark.parametrize("streams", ["> /dev/full", ">&-", ">&- 2>&-", "2> /dev/full"])
def test_p21_a_server_that_cannot_print_serves(tmp_path: Path, streams: str) -> None:
    """This holds for a full disk, and for a process without stdout and stderr.

    A command reports the error in one line if it can.
    """
    write_run(tmp_path / "logs", "a", scalars={"x": [1.0]})
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = f"{sys.executable} -m tbcore"
    serving = subprocess.Popen(
        f"exec {command} serve --logdir logs --port {port} {streams}",
        shell=True, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    checked = subprocess.run(
        f"{command} check logs {streams}", check=False, shell=True, cwd=tmp_path,
        capture_output=True, text=True,
    )  # fmt: skip
    try:
        assert responds(serving, port)
    finally:
        serving.terminate()
    assert serving.communicate(timeout=60)[1] == ""
    assert serving.returncode == 143
    assert checked.returncode == (1 if streams == "> /dev/full" else 0)
    assert checked.stderr == ("tbcore: [Errno 28] No space left on device\n" * checked.returncode)


def responds(process: subprocess.Popen[str], port: int) -> bool:
    """Whether the server responds before the process ends."""
    while process.poll() is None:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
                client.sendall(b"GET /data/runs HTTP/1.0\r\nHost: localhost\r\n\r\n")
                return client.recv(20).startswith(b"HTTP/1.1 200 OK")
        except OSError:
            time.sleep(0.05)
    return False
