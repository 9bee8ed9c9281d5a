"""program.TensorBoard starts servers as TensorBoard's class of the same name does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from common_fixtures import WAIT_SECONDS, until

from tbcore import TbcoreError
from tbcore_compat import program
from tbcore_testing import write_run


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    write_run(tmp_path / "logs", "a", scalars={"loss": [1.0]})
    return tmp_path / "logs"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The processes that were started; they end after the test."""
    processes: list[subprocess.Popen[str]] = []
    popen = subprocess.Popen

    def start(*arguments: Any, **options: Any) -> subprocess.Popen[str]:
        processes.append(popen(*arguments, **options))
        return processes[-1]

    monkeypatch.setattr(program.subprocess, "Popen", start)
    yield processes
    for process in processes:
        process.kill()
        process.communicate()


def runs(address: str) -> Any:
    base, _, token = address.partition("?token=")
    headers = {"authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(f"{base}data/runs", headers=headers)
    with urllib.request.urlopen(request, timeout=WAIT_SECONDS) as response:
        return json.load(response)


@pytest.mark.parametrize(
    "configured",
    [
        lambda board, logdir: board.configure(argv=[None, "--logdir", logdir, "--port", "0"]),
        lambda board, logdir: board.configure(argv=["x", f"--logdir={logdir}", "--port=0"]),
        lambda board, logdir: board.configure(logdir=str(logdir), port=0, bind_all=False),
        lambda board, logdir: board.configure(("", "--port", "1"), logdir=logdir, port=0),
        lambda board, logdir: board.configure(
            argv=[None, "--logdir", str(logdir), "--load_fast=false", "--port", "0"],
            reload_interval=1, purge_orphaned_data=False, samples_per_plugin="scalars=0",
        ),
    ],
)  # fmt: skip
def test_scripts_that_launch_a_server(
    logdir: Path, started: Any, configured: Callable[..., Any]
) -> None:
    """The ways in which scripts configure it; the address ends with a slash."""
    board = program.TensorBoard()
    assert configured(board, logdir) in ([None], ["x"], [""])
    address = board.launch()
    assert address.startswith("http://localhost:")
    assert address.endswith("/")
    assert runs(address) == ["a"]
    assert board.flags is not None
    assert str(board.flags.logdir) == str(logdir)


def test_on_all_interfaces_the_address_has_the_token(logdir: Path, started: Any) -> None:
    board = program.TensorBoard()
    board.configure(argv=[None, "--logdir", str(logdir), "--port", "0", "--host", "0.0.0.0"])
    address = board.launch()
    assert "/?token=" in address
    port = address.partition("/?")[0].rpartition(":")[2]
    assert runs(f"http://localhost:{port}/?{address.partition('?')[2]}") == ["a"]
    with pytest.raises(urllib.error.HTTPError, match="401"):
        runs(f"http://localhost:{port}/")


def test_mistakes(logdir: Path, started: Any) -> None:
    board = program.TensorBoard()
    with pytest.raises(ValueError, match=r"^unknown TensorBoard flag: logdirs$"):
        board.configure(logdirs=str(logdir))
    board.configure(argv=[None, "--logdir", str(logdir), "--port", "x"])
    with pytest.raises(TbcoreError, match=r"--port: 'x' is not a valid port"):
        board.launch()


def test_the_server_ends_with_its_program(logdir: Path) -> None:
    """Also if that is killed."""
    script = (
        "from tbcore_compat import program; import time; board = program.TensorBoard(); "
        f"board.configure(logdir={str(logdir)!r}, port=0); print(board.launch(), flush=True); "
        "time.sleep(99)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert runs(address) == ["a"]
        process.kill()

    def is_gone() -> bool:
        try:
            runs(address)
        except OSError:
            return True
        return False

    until(is_gone)


def test_main_serves_until_it_is_interrupted(logdir: Path) -> None:
    """With the status of `tbcore serve`."""
    script = (
        "import sys; from tbcore_compat import program; board = program.TensorBoard(); "
        f"board.configure(logdir={str(logdir)!r}, port=0); sys.exit(board.main())"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, process_group=0
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("tbcore ")
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        assert process.wait(WAIT_SECONDS) == 130
