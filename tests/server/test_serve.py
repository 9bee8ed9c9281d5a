"""Real servers: ports, lines at the start, raw requests, signals, slow clients."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from common_fixtures import WAIT_SECONDS, port_of, until
from running_servers import (
    PLUGIN,
    TIME,
    Make,
    RunningServer,
)

from tbcore import __version__
from tbcore_testing import write_run

# Starting ----------------------------------------------------------------------------------------


def test_the_lines_printed_at_the_start(start: Make) -> None:
    """The server prints its version and address, how to quit, and the result of the scan."""
    server = start()

    # Where tbcore-notes is installed, a line before these has a file.
    hint, address = [line for line in server.lines if "for changing notes" not in line][:2]
    assert hint.startswith("no plugins are loaded")
    assert address == f"tbcore {__version__} at {server.url} (Press CTRL+C to quit)"
    server.line(r"^2 runs in 2 files \(\d+ B\) below runs/; no plugins$")
    assert server.json("/data/runs") == ["eval", "train"]
    assert re.fullmatch(r"http://localhost:\d+/", server.url)
    status, _, noise = server.end(signal.SIGTERM)
    print(f"from the command to the address: {server.seconds_to_start:.2f} s")
    assert (status, noise) == (143, "")


def test_the_address_is_in_the_last_line_about_the_start(start: Make, home: Path) -> None:
    """Programs search the output for it; hints stand before it."""
    start("--port=default")
    server = start("--port=default", "--bind_all")

    server.line("^2 runs in 2 files ")
    beginnings = [line[:11] for line in server.lines]
    assert beginnings == [
        "the address", "port 6006 i", "no plugins ", "from other ", "tbcore 0.1.", "2 runs in 2",
    ]  # fmt: skip
    assert not any("token=" in line for line in server.lines)


@pytest.mark.parametrize("name", ["tensorboard", "tensorboard.exe"])
def test_under_the_name_of_tensorboard_it_serves(
    environment: dict[str, str], tmp_path: Path, name: str
) -> None:
    """The lines about the start are TensorBoard's, on stderr; access is as always."""
    write_run(tmp_path / "runs", "train", scalars={"loss": [1.0]})
    program = tmp_path / name
    program.write_text("import sys; from tbcore.cli import main; sys.exit(main())")
    for arguments in (["serve", "--logdir=runs"], ["--logdir=runs", "--bind_all", "--load_fast=1"]):
        server = RunningServer([*arguments, "--port=0"], environment, tmp_path, [str(program)])
        address = server.line(r"^TensorBoard \S+ ", noise=True)
        found = re.fullmatch(
            rf"TensorBoard 2\.21\.0 \(served by tbcore {re.escape(__version__)}\) "
            r"at http://localhost:(\d+)/ \(Press CTRL\+C to quit\)", address,
        )  # fmt: skip
        assert found
        server.line("^1 run in 1 file ", noise=True)
        server.port = int(found[1])
        assert server.get("/data/runs")[0] == (401 if "--bind_all" in arguments else 200)
        status, _, noise = server.end(signal.SIGTERM)
        assert (status, server.lines) == (0, [])
        assert "token=" not in noise
    assert "tensorboard: warning: --load_fast has no effect" in noise


LAUNCHERS = """
import os
class Launch:
    frames = ()
    def started(self, config):
        open(os.environ["LAUNCHED"], "x").close()
    def ended(self):
        os.unlink(os.environ["LAUNCHED"])
def good(command):
    return Launch()
def called(command):
    raise ValueError("called")
def forbidden(command):
    raise PermissionError(13, "forbidden")
def exits(command):
    raise SystemExit(2)
def incomplete(command):
    return object()
class Failing(Launch):
    def started(self, config):
        raise OSError("started")
    def ended(self):
        raise SystemExit("ended")
def failing(command):
    return Failing()
"""


@pytest.fixture
def launched(tmp_path: Path, environment: dict[str, str]) -> Callable[..., Path]:
    """`launched("good")`: installs launchers; the file that exists while `good` has a server."""

    def install(*names: str) -> Path:
        info = tmp_path / "site-packages" / "launchers-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: launchers\nVersion: 1.0\n")
        points = "".join(f"{name} = my_launchers:{name}\n" for name in names)
        (info / "entry_points.txt").write_text(f"[tbcore.launchers]\n{points}")
        (info.parent / "my_launchers.py").write_text(LAUNCHERS)
        path = os.pathsep.join([str(info.parent), environment["PYTHONPATH"]])
        environment.update(PYTHONPATH=path, LAUNCHED=str(tmp_path / "launched"))
        return tmp_path / "launched"

    return install


def test_launchers_that_fail_are_logged(start: Make, launched: Callable[..., Path]) -> None:
    """With one line for each fault. The server starts and ends as always, and so do others."""
    file = launched("called", "exits", "failing", "forbidden", "good", "incomplete", "missing")
    server = start()
    until(file.exists)
    assert server.get("/data/runs")[0] == 200
    status, _, noise = server.end(signal.SIGTERM)

    assert status == 143
    assert not file.exists()
    lines = [line for line in noise.splitlines() if "tbcore: warning:" in line]
    assert [line.partition("tbcore: warning: ")[2] for line in lines] == [
        "the launcher 'called' of launchers 1.0 failed: ValueError: called",
        "the launcher 'exits' failed: SystemExit: 2",
        "the launcher 'forbidden' failed: PermissionError: [Errno 13] forbidden",
        "the launcher 'incomplete' of launchers 1.0 failed: AttributeError: 'object' object has "
        "no attribute 'frames'",
        "the launcher 'missing' of launchers 1.0 cannot be imported: AttributeError: module "
        "'my_launchers' has no attribute 'missing'",
        "a launcher failed: started",
        "a launcher failed: ended",
    ]


@pytest.mark.parametrize(
    "options", [["--secret_prefix=secret"], ["--uds=socket"], ["--bind_all", "--token=x"]]
)
def test_a_launcher_never_waits_for_a_server_of_another_kind(
    start: Make, launched: Callable[..., Path], tmp_path: Path, options: list[str]
) -> None:
    """It would wait for it: a secret path may be in no file, a socket has no port, and others may
    connect."""
    file = launched("good")
    server = start(*options, waits=False)
    server.line("the program that starts this server shows only servers of this", noise=True)
    assert server.process.wait(WAIT_SECONDS) == 2
    assert not file.exists()
    assert not (tmp_path / "socket").exists()


def test_launchers_are_called_at_the_end_if_sigterm_is_repeated(
    start: Make, launched: Callable[..., Path]
) -> None:
    """A Jupyter kernel that ends repeats it after 10, 30 and 100 ms."""
    file = launched("good")
    server = start()
    until(file.exists)
    stream = socket.create_connection(("127.0.0.1", server.port))
    stream.sendall(b"GET /data/updates HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert stream.recv(1)

    until(lambda: server.process.poll() is not None or server.process.terminate())

    assert not file.exists()
    stream.close()


LAUNCHER = """
import os, subprocess, sys
with open("server.log", "w") as log:
    subprocess.Popen(sys.argv[2:], stdout=log, stderr=log, start_new_session=sys.argv[1] == "new")
sys.stdin.read()
"""


def start_with_parent(
    session: str, environment: dict[str, str], folder: Path, **options: Any
) -> subprocess.Popen[bytes]:
    """Starts a program that starts a server, which is to end with it, and then waits."""
    server = [sys.executable, "-m", "tbcore", ".", "--port=0", "--exit_with_parent"]
    return subprocess.Popen(
        [sys.executable, "-c", LAUNCHER, session, *server], cwd=folder, env=environment, **options
    )


@pytest.mark.parametrize("session", ["old", "new"])
def test_a_server_ends_with_the_program_that_started_it(
    environment: dict[str, str], tmp_path: Path, session: str
) -> None:
    """Within about two seconds, also if that program is killed, with one line in the log."""
    log = tmp_path / "server.log"
    with start_with_parent(session, environment, tmp_path, stdin=subprocess.PIPE) as parent:
        until(log.exists)
        port = port_of(parent, log)
        time.sleep(2.5)
        socket.create_connection(("127.0.0.1", port)).close()
        parent.kill()
        killed = time.monotonic()
    until(lambda: not _listens(port))
    assert time.monotonic() - killed < 2 + WAIT_SECONDS / 10
    line = r"the program that started the server has ended \(--exit_with_parent\)"
    assert re.search(f"^{TIME} tbcore: info: {line}$", log.read_text(), re.MULTILINE)


def test_a_program_that_ended_before_the_server_started_counts(
    environment: dict[str, str], tmp_path: Path
) -> None:
    """The server belongs to another process then, but not to the session of that one."""
    log = tmp_path / "server.log"
    # A session of its own: in a container, the process that adopts the server can be of this one.
    parent = start_with_parent(
        "old", environment, tmp_path, stdin=subprocess.DEVNULL, start_new_session=True
    )
    assert parent.wait(WAIT_SECONDS) == 0
    until(lambda: "(--exit_with_parent)" in log.read_text())
    port = re.search(r"http://localhost:(\d+)/", log.read_text())
    assert port
    until(lambda: not _listens(int(port[1])))


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def test_a_missing_logdir_is_waited_for(start: Make, tmp_path: Path) -> None:
    """If the logdir does not exist, a warning is logged, and it is served as soon as it exists."""
    server = start(logdir="later")
    server.line(r"^no event files below later/ yet \(scanned 0 directories; .*; no plugins$")
    assert server.json("/data/status")["missing"] != []

    write_run(tmp_path / "later", "a", scalars={"x": [1.0]})

    until(lambda: server.json("/data/runs") == ["a"])
    _, _, noise = server.end(signal.SIGTERM)
    begins, ends = noise.splitlines()
    line = f"log directory does not exist: {tmp_path / 'later'}"
    assert re.search(f"^{TIME} tbcore: warning: {line}; waiting for it$", begins)
    assert re.search(rf"^{TIME} tbcore: info: over after \d+ s: {line}$", ends)


def test_log_lines_are_json_on_request(start: Make, install: Make, tmp_path: Path) -> None:
    """Each is an object with time, level and message, and the name of a plugin that logs."""
    install(
        "pictures", PLUGIN + "\nimport logging\nlogging.getLogger('my_pictures').error('a\\x1b')"
    )
    server = start("--log-format=json", "--no_plugin", "other")
    server.get("/data/plugin/pictures/version")
    _, _, noise = server.end(signal.SIGTERM)
    lines = [json.loads(line) for line in noise.splitlines()]
    assert all(re.fullmatch(TIME, line.pop("time")) for line in lines)
    assert {"level": "error", "message": "a\x1b", "plugin": "pictures"} in lines
    warning = "--no_plugin: no plugin is named 'other' (loaded: pictures)"
    assert {"level": "warning", "message": warning} in lines


def test_an_idle_server_ends_on_request(start: Make) -> None:
    """With status 0 and one line, when nobody has asked for data for the given time."""
    server = start("--exit_when_idle", "4s")
    began = time.monotonic()
    server.get("/data/runs")
    for _ in range(20):
        server.get("/data/status")
        server.get("/data/environment")
    assert server.process.wait(WAIT_SECONDS) == 0
    assert time.monotonic() - began > 3.9
    line = r"nobody has asked for data for 4 s \(--exit_when_idle\); the server ends"
    server.line(f"^{TIME} tbcore: info: {line}$", noise=True)
    assert len(server.noise) == 1


def test_an_open_stream_keeps_a_server_from_ending(start: Make) -> None:
    """Its time begins when the last stream has ended."""
    server = start("--exit_when_idle", "4")
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=WAIT_SECONDS)
    connection.request("GET", "/data/updates")
    response = connection.getresponse()
    lines = [response.readline() for _ in range(3)]
    assert lines[1].startswith(b"data: ")
    ended = time.monotonic() + 6
    while time.monotonic() < ended:
        server.get("/data/status")
        time.sleep(0.05)
    assert server.process.poll() is None
    response.close()
    connection.close()
    assert server.process.wait(WAIT_SECONDS) == 0


def test_without_a_port_the_first_free_one_is_used(start: Make) -> None:
    """The server uses the first free port from 6006 on, and prints that 6006 is in use."""
    first = start("--port", "default")
    second = start("--port=default")

    assert 6006 <= first.port < second.port
    second.line(f"^port 6006 is in use; using port {second.port}$")
    for server in (first, second):
        assert server.json("/data/logdir") == {"logdir": "runs"}


def test_a_port_in_use_is_an_error_in_one_line(tmp_path: Path, environment: dict[str, str]) -> None:
    """The server does not start if a given port is in use on any of the addresses."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-m", "tbcore", str(tmp_path), "--port", str(port)],
            env=environment, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    assert done.returncode == 1
    assert done.stderr == (
        f"tbcore: port {port} is in use by another program; "
        "choose another with --port, or omit --port to use a free one\n"
    )
    assert done.stdout == ""


def test_a_plugin_that_fails_is_reported_at_the_start(start: Make, install: Make) -> None:
    """The traceback is on stderr once, and the line of plugins has the name as failed."""
    install("bad", "raise SystemExit(3)")
    install("good", PLUGIN)
    server = start()

    server.line(r"; plugins: good; failed: bad, see `tbcore plugins`$")
    until(lambda: server.json("/data/plugins_listing") == {"good": True, "bad": False})
    assert server.get("/data/plugin/good/version")[2] == b"one"
    _, _, noise = server.end(signal.SIGTERM)
    assert noise.count("plugin 'bad' failed: SystemExit: 3") == 1
    assert noise.count("Traceback") == 1


def test_settings_reach_the_server(start: Make) -> None:
    """Options have an effect with hyphens and with underscores in their names."""
    server = start("--path-prefix", "/logs/", "--window_title", "Mine", "--api=legacy",
                   "--allowed-host", "a.example", "--allowed_host=b.example")  # fmt: skip

    assert server.url.endswith(f":{server.port}/logs/")
    assert server.json("/logs/data/environment")["window_title"] == "Mine"
    assert list(server.json("/logs/data/runs")) == ["eval", "train"]
    assert server.get("/logs/data/logdir", Host="b.example")[0] == 200
    assert server.get("/logs/data/logdir", Host="c.example")[0] == 403
    assert server.get("/data/logdir")[0] == 404


def test_names_of_unknown_plugins_are_warned_about(
    start: Make, install: Make, tmp_path: Path
) -> None:
    """A warning names the option, the name and the loaded plugins: it may be a typing error."""
    install("pictures", PLUGIN)
    (tmp_path / "nothing").mkdir()
    server = start("--samples_per_plugin", "picture=3,pictures=4", "--plugins_dir", "nothing")
    _, _, noise = server.end(signal.SIGTERM)
    assert re.sub(f"(?m)^{TIME} ", "", noise) == (
        f"tbcore: warning: --plugins_dir {tmp_path / 'nothing'}: found no plugin; "
        "expected a file NAME.py, a package, or a pyproject.toml with an entry point in the group "
        "'tbcore.plugins'\n"
        "tbcore: warning: --samples_per_plugin: no plugin is named 'picture'; "
        "did you mean 'pictures'? (loaded: pictures)\n"
    )


def test_without_plugins_a_line_has_the_reason(start: Make) -> None:
    """If the variable TBCORE_PLUGINS is empty, a line gives this as the reason."""
    start().line("^no plugins are loaded, because the variable TBCORE_PLUGINS names none$")


def test_a_start_needs_nothing_that_only_some_requests_need(
    start: Make, environment: dict[str, str]
) -> None:
    """With every plugin, and after the first requests of a page: no regular expressions of RE2."""
    del environment["TBCORE_PLUGINS"]
    server = start()
    server.line(r"^2 runs in 2 files")
    assert {"custom_scalars", "hparams"} <= server.json("/data/plugins_listing").keys()
    libraries = Path(f"/proc/{server.process.pid}/maps").read_text()
    assert "/numpy/" in libraries
    assert "/re2/" not in libraries
