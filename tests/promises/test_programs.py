"""Programs that start and end a process `tensorboard` find tbcore under this name in its place.

The same tests run with TensorBoard itself, which says what such programs may expect.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest
from common_fixtures import WAIT_SECONDS, until

from tbcore_testing import write_run

ADDRESS = r"TensorBoard (\d+\.\d+\.\d+)\b.* at (http://localhost:(\d+)/) \(Press CTRL\+C to quit\)"


@pytest.fixture(params=["tbcore", "TensorBoard"])
def started(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """A process that is started as programs start TensorBoard, with its address."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TBCORE_")}
    scripts = Path(sys.executable).parent
    if request.param == "tbcore":
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "tensorboard").symlink_to(scripts / "tbcore")
        scripts = tmp_path / "bin"
    elif version_of("tensorboard") != "2.21.0":
        pytest.skip("TensorBoard 2.21.0 is not installed")
    environment["PATH"] = os.pathsep.join([str(scripts), environment["PATH"]])
    write_run(tmp_path / "logs", "train", scalars={"loss": [1.0, 0.5]})
    # The program's own text; a program that only shows the output reads neither stream.
    with subprocess.Popen(
        ["tensorboard", "--logdir", str(tmp_path / "logs"), "--port", "0"],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        found = None
        while found is None:
            line = process.stderr.readline()
            assert line, process.wait()
            found = re.fullmatch(ADDRESS, line.strip())
        assert found[1] == "2.21.0"
        yield process, found[2]
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


def version_of(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def left_of(session: int) -> list[int]:
    """Ids of the running processes of a session; skips the test on systems without /proc."""
    if not Path("/proc/self/stat").exists():
        pytest.skip("this system has no /proc")
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(int(folder.name))
    return found


@pytest.mark.parametrize(
    ("sig", "status"), [(signal.SIGTERM, 0), (signal.SIGINT, 0), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_a_program_finds_the_address_and_ends_the_server(
    started: Any, sig: signal.Signals, status: int
) -> None:
    """`terminate`, Ctrl-C and `kill` leave no process, and the port can be used again at once."""
    process, address = started
    with urllib.request.urlopen(f"{address}data/runs", timeout=WAIT_SECONDS) as response:
        assert json.load(response) == ["train"]

    process.send_signal(sig)

    assert process.wait(WAIT_SECONDS) == status
    until(lambda: not left_of(process.pid))
    port = int(re.findall(r":(\d+)/", address)[0])
    socket.create_server(("127.0.0.1", port)).close()
    assert process.stdout.read() == ""


def test_a_killed_program_takes_its_server_along(tmp_path: Path) -> None:
    """With --exit_with_parent, which TensorBoard does not have."""
    (tmp_path / "tensorboard").symlink_to(Path(sys.executable).with_name("tbcore"))
    write_run(tmp_path / "logs", "train", scalars={"loss": [1.0]})
    command = ["tensorboard", "--logdir=logs", "--port=0", "--exit_with_parent"]
    code = f"import subprocess, time; subprocess.Popen({command}); time.sleep(600)"
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TBCORE_")}
    environment["PATH"] = os.pathsep.join([str(tmp_path), environment["PATH"]])
    log = tmp_path / "log"
    with log.open("wb") as stderr, subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, stderr=stderr,
        start_new_session=True,
    ) as parent:  # fmt: skip
        until(lambda: re.search(f"^{ADDRESS}", log.read_text(), re.MULTILINE))
        assert len(left_of(parent.pid)) >= 2
        parent.kill()
        killed = time.monotonic()
        until(lambda: not left_of(parent.pid))
        assert time.monotonic() - killed < 2 + WAIT_SECONDS / 10
