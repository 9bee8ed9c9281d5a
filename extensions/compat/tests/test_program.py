"""program.TensorBoard starts servers as TensorBoard's class of the same name does."""

from __future__ import annotations

import json
import os
import re
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


class Started(list[subprocess.Popen[str]]):
    """Processes that were started."""

    code = ""
    """What is run in place of a server, if it is not empty."""


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The processes that were started; they end after the test."""
    processes = Started()
    popen = subprocess.Popen

    def start(command: list[str], **options: Any) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", processes.code] if processes.code else command
        processes.append(popen(command, **options))
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


@pytest.mark.parametrize(
    ("options", "variables", "pattern"),
    [
        ([], {"TBCORE_TOKEN": "a~b"}, r"/\?token=a~b"),
        (["--token", "x+y"], {"TBCORE_TOKEN": "z"}, r"/\?token=x%2By"),
        (["--token=x", "--token=y"], {}, r"/\?token=y"),
        (["--no_token"], {"TBCORE_TOKEN": "z"}, "/"),
        (["--secret-prefix", "secret"], {}, r"/[\w-]{32}/"),
        (["--path_prefix=/my"], {"TBCORE_SECRET_PREFIX": "secret"}, r"/my/[\w-]{32}/"),
        (["--secret_prefix=secret"], {"TBCORE_TOKEN": "z"}, r"/[\w-]{32}/\?token=z"),
    ],
)
def test_the_address_has_the_token_and_the_secret_path(
    logdir: Path,
    started: Any,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    variables: dict[str, str],
    pattern: str,
) -> None:
    """Of options and of variables."""
    monkeypatch.chdir(logdir.parent)
    for name, text in variables.items():
        monkeypatch.setenv(name, text)
    board = program.TensorBoard()
    board.configure(argv=[None, "--logdir", str(logdir), "--port", "0", *options])
    address = board.launch()
    assert re.fullmatch(rf"http://localhost:\d+{pattern}", address)
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with browser.open(address, timeout=WAIT_SECONDS) as page:
        assert b"<title>" in page.read()


def test_a_variable_for_another_server_does_not_take_the_address_away(
    logdir: Path, started: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A socket from the environment has none; one that is asked for has its path."""
    monkeypatch.chdir(logdir.parent)
    monkeypatch.setenv("TBCORE_UDS", "from the environment")
    board = program.TensorBoard()
    board.configure(logdir=str(logdir))
    assert runs(board.launch()) == ["a"]
    board.configure(argv=[None, "--uds", "a socket"], logdir=str(logdir))
    assert board.launch() == f"unix:{logdir.parent / 'a socket'}"
    assert not Path("from the environment").exists()


def test_a_server_in_a_notebook_is_not_one_of_the_magic(logdir: Path) -> None:
    """The magic's servers write a file, and end with an error on other hosts than this one."""
    code = (
        "import sys; from tbcore_compat import program; board = program.TensorBoard(); "
        "board.configure(sys.argv[1:]); print(board.launch())"
    )
    command = [sys.executable, "-c", code, "kernel-1.json", "--logdir", str(logdir), "--port=0"]
    environment = {**os.environ, "TENSORBOARD_BINARY": "tbcore", "TMPDIR": str(logdir.parent)}
    for options in ([], ["--host=0.0.0.0"]):
        done = subprocess.run(
            [*command, *options], env=environment, stdout=subprocess.PIPE, text=True, check=True
        )
        assert done.stdout.startswith("http://")
        assert not (logdir.parent / ".tensorboard-info").exists()


def test_an_interrupt_of_this_process_does_not_reach_the_server(logdir: Path, started: Any) -> None:
    """A terminal sends it to the group; a training that handles it goes on."""
    board = program.TensorBoard()
    board.configure(logdir=str(logdir), port=0)
    board.launch()
    assert os.getpgid(started[0].pid) != os.getpgid(0)


SILENT = "import time; time.sleep(600)"
UNREADABLE = f"print({program._TOKEN_FILE!r} + '/nowhere', flush=True); {SILENT}"
NOT_UTF_8 = (
    "import sys; sys.stdout.buffer.write(b'\\xff\\ntbcore 1 at http://localhost:1/ "
    f"(Press CTRL+C to quit)\\n'); sys.stdout.flush(); {SILENT}"
)


@pytest.mark.parametrize(
    ("code", "seconds", "message"),
    [
        (SILENT, 1, "the server did not start within 1 s"),
        (UNREADABLE, WAIT_SECONDS, "cannot read the secret of the server's address"),
    ],
)
def test_no_server_stays_if_launch_fails(
    started: Any, limits: Any, code: str, seconds: float, message: str
) -> None:
    started.code = code
    limits(program, START_TIMEOUT_SECONDS=seconds)
    with pytest.raises(TbcoreError, match=message) as error:
        program.TensorBoard().launch()
    assert "\n" not in str(error.value)
    assert started[0].poll() == -signal.SIGKILL


def test_bytes_in_the_output_that_are_not_text_are_no_mistake(started: Any) -> None:
    started.code = NOT_UTF_8
    assert program.TensorBoard().launch() == "http://localhost:1/"


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


@pytest.mark.parametrize(
    ("interrupt", "status"),
    [(os.killpg, 128 + signal.SIGINT), (os.kill, 128 + signal.SIGTERM)],
    ids=["by a terminal", "alone"],
)
def test_main_serves_until_it_is_interrupted(
    logdir: Path, interrupt: Callable[..., None], status: int
) -> None:
    """With the status of `tbcore serve`. A terminal interrupts the server, too."""
    script = (
        "import sys; from tbcore_compat import program; board = program.TensorBoard(); "
        f"board.configure(logdir={str(logdir)!r}, port=0); sys.exit(board.main())"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, process_group=0
    ) as process:
        assert process.stdout is not None
        assert any(line.startswith("tbcore ") for line in process.stdout)
        interrupt(process.pid, signal.SIGINT)
        assert process.wait(WAIT_SECONDS) == status
