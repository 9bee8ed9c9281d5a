"""Real servers: ports, lines at the start, raw requests, signals, slow clients."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

import pytest
from common_fixtures import WAIT_SECONDS, patient_tuning, port_of, until
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from tbcore import __version__
from tbcore.errors import TbcoreError
from tbcore.plugins.config import Config
from tbcore.plugins.loading import load_plugins
from tbcore.server import compress
from tbcore.server.app import create_app
from tbcore.server.http_server import HttpServer
from tbcore.server.listen import listen_at
from tbcore.server.login import secret_prefix
from tbcore.server.protocol import TimeoutProtocol
from tbcore.store.multiplexer import Multiplexer
from tbcore_testing import write_run

Make = Callable[..., Any]

TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d"
"""A time in the log."""


class RunningServer:
    """`tbcore serve` in a process of its own, as a user starts it."""

    def __init__(
        self,
        arguments: list[str],
        environment: dict[str, str],
        cwd: Path,
        program: Sequence[str] = ("-m", "tbcore"),
    ) -> None:
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, *program, *arguments],
            env=environment, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, start_new_session=True,
        )  # fmt: skip
        self.lines: list[str] = []
        """Lines of stdout."""
        self.noise: list[str] = []
        """Lines of stderr."""
        self.has_more = threading.Condition()
        streams = ((self.process.stdout, self.lines), (self.process.stderr, self.noise))
        self.readers = [threading.Thread(target=self._read, args=stream) for stream in streams]
        for reader in self.readers:
            reader.start()

    def _read(self, stream: IO[str], lines: list[str]) -> None:
        for line in stream:
            with self.has_more:
                lines.append(line.rstrip("\n"))
                self.has_more.notify_all()

    def wait_until_started(self) -> RunningServer:
        """Waits for the server's address; sets `url`, `port` and `seconds_to_start`."""
        self.url = self.line(r"^tbcore \S+ at http://").split()[3]
        self.seconds_to_start = time.monotonic() - self.started
        match = re.search(r":(\d+)/", self.url)
        assert match
        self.port = int(match[1])
        return self

    def line(self, pattern: str, *, nth: int = 1, noise: bool = False) -> str:
        """Waits for the nth line of stdout, or of stderr with `noise`, that matches."""
        deadline = time.monotonic() + WAIT_SECONDS
        lines = self.noise if noise else self.lines
        with self.has_more:
            while True:
                found = [line for line in lines if re.search(pattern, line)]
                if len(found) >= nth:
                    return found[nth - 1]
                if self.process.poll() is not None or time.monotonic() > deadline:
                    self.process.kill()
                    pytest.fail(f"no {pattern!r} in {self.lines}, {self.noise}")
                self.has_more.wait(0.1)

    def get(self, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_SECONDS)
        try:
            connection.request("GET", path, headers=headers)
            response = connection.getresponse()
            names = {name.lower(): value for name, value in response.getheaders()}
            return response.status, names, response.read()
        finally:
            connection.close()

    def json(self, path: str) -> Any:
        status, _, body = self.get(path)
        assert status == 200, body
        return json.loads(body)

    def end(self, sig: int) -> tuple[int, float, str]:
        """Sends a signal; returns exit status, seconds until the process ended, and stderr."""
        started = time.monotonic()
        os.kill(self.process.pid, sig)
        status = self.process.wait(WAIT_SECONDS)
        seconds = time.monotonic() - started
        for reader in self.readers:
            reader.join(WAIT_SECONDS)
        return status, seconds, "".join(f"{line}\n" for line in self.noise)


@pytest.fixture
def environment() -> dict[str, str]:
    """The environment for a server: that of this process, without installed plugins."""
    path = os.pathsep.join(os.path.abspath(entry) for entry in sys.path if entry)
    kept = {k: v for k, v in os.environ.items() if not k.startswith("TBCORE_")}
    return {**kept, "PYTHONPATH": path, "TBCORE_PLUGINS": ""}


@pytest.fixture
def start(tmp_path: Path, environment: dict[str, str]) -> Iterator[Make]:
    """`start("--port", "0")`: starts a server with these options for a logdir with two runs."""
    write_run(tmp_path / "runs", "train", scalars={"loss": [1.0, 0.5]})
    write_run(tmp_path / "runs", "eval", scalars={"loss": [1.0]})
    servers: list[RunningServer] = []

    def start(
        *options: str, logdir: str = "runs", waits: bool = True, **variables: str
    ) -> RunningServer:
        if not any(option.startswith(("--port", "--uds")) for option in options):
            options = (*options, "--port", "0")
        arguments = ["serve", "--logdir", logdir, "--reload_interval", "0.2", *options]
        servers.append(RunningServer(arguments, {**environment, **variables}, tmp_path))
        return servers[-1].wait_until_started() if waits else servers[-1]

    yield start
    for server in servers:
        server.process.kill()
        server.process.wait()
        for stream in (server.process.stdout, server.process.stderr):
            if stream:
                stream.close()


@pytest.fixture
def install(tmp_path: Path, environment: dict[str, str]) -> Callable[[str, str], None]:
    """`install("name", source)`: installs a plugin for the servers that are started later."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    environment["PYTHONPATH"] = os.pathsep.join([str(folder), environment["PYTHONPATH"]])

    def install(name: str, source: str) -> None:
        info = folder / f"tbcore_{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: tbcore-{name}\nVersion: 1.0\n"
        )
        (info / "entry_points.txt").write_text(f"[tbcore.plugins]\n{name} = my_{name}\n")
        (folder / f"my_{name}.py").write_text(source)
        environment["TBCORE_PLUGINS"] += f",{name}"

    return install


PLUGIN = """
import threading, time
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from tbcore import PluginInfo, hookimpl

def block(request):
    threading.Event().wait()

def version(request):
    return PlainTextResponse("one")

@hookimpl
def plugin_info():
    return PluginInfo(title="My", module=None)

@hookimpl
def routes():
    return [Route("/block", block), Route("/version", version)]
"""


def raw(port: int, request: bytes, host: str = "127.0.0.1") -> bytes:
    """Sends bytes to a server; returns what it sends until one response is complete.

    With `Connection: close`, returns what it sends until it closes the connection.
    """
    with socket.create_connection((host, port), timeout=WAIT_SECONDS) as connection:
        connection.sendall(request)
        response = b""
        while b"Connection: close" in request or not is_whole(response):
            part = connection.recv(1 << 16)
            if not part:
                break
            response += part
        return response


def is_whole(response: bytes) -> bool:
    """Whether a response with a Content-Length is complete."""
    head, _, body = response.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
    return length is not None and len(body) >= int(length[1])


def open_stream(port: int) -> socket.socket:
    """Opens a stream of updates; returns after the first message."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=WAIT_SECONDS)
    connection.sendall(b"GET /data/updates HTTP/1.1\r\nHost: localhost\r\n\r\n")
    received = b""
    while b"data: " not in received:
        part = connection.recv(1 << 16)
        assert part, received
        received += part
    return connection


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
    server.line(r"^nothing to show yet; no plugins$")
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


# The token ---------------------------------------------------------------------------------------


def token_file_of(server: RunningServer) -> Path:
    """The file that a line before that with the address names."""
    return Path(server.line("^the address with its token is in ").rpartition(" ")[2])


@pytest.fixture
def home(tmp_path: Path, environment: dict[str, str]) -> Path:
    """An empty home directory for the servers that are started later."""
    home = tmp_path / "home"
    home.mkdir()
    environment["HOME"] = str(home)
    environment.pop("XDG_STATE_HOME", None)
    return home


def test_off_loopback_a_token_is_required(start: Make, home: Path) -> None:
    """A file has the address with the token; opening this address is a login with a cookie."""
    server = start("--host", "0.0.0.0")
    file = token_file_of(server)
    assert file.parent == home / ".local/state/tbcore"
    assert file.name.startswith(f"{socket.gethostname()}-{server.port}-")
    address, token = file.read_text().removesuffix("\n").split("?token=")
    assert address == f"http://{socket.gethostname()}:{server.port}/"
    assert f"from other machines: {address}" in server.lines
    assert server.url == f"http://localhost:{server.port}/"

    assert len(token) >= 32
    assert "0.0.0.0" not in server.url
    assert server.get("/data/runs")[0] == 401
    status, headers, _ = server.get(f"/?token={token}", Host="any.example")
    assert (status, headers["location"]) == (303, "?_")
    cookie = headers["set-cookie"].partition(";")[0]
    assert token not in headers["set-cookie"]
    assert server.get("/data/runs", Cookie=cookie, Host="any.example")[0] == 200
    assert server.get("/data/runs", Authorization=f"Bearer {token}")[0] == 200
    assert server.get("/data/runs", Authorization="Bearer x")[0] == 401
    _, _, noise = server.end(signal.SIGTERM)
    assert token not in "".join(server.lines) + noise


def test_only_the_user_can_read_the_file_with_the_token(start: Make, home: Path) -> None:
    """It is removed when the server ends. The next server on the same port has another one."""
    old_umask = os.umask(0)
    try:
        first = start("--bind_all")
    finally:
        os.umask(old_umask)
    file = token_file_of(first)
    assert (stat.S_IMODE(file.stat().st_mode), file.stat().st_uid) == (0o600, os.geteuid())
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    first.process.kill()  # leaves the file
    first.process.wait()
    second = start("--bind_all", "--port", str(first.port))
    other = token_file_of(second)
    assert other.read_text() != file.read_text()
    second.end(signal.SIGINT)
    assert list(file.parent.iterdir()) == [file]


def test_the_file_with_the_token_may_be_elsewhere(start: Make, home: Path, tmp_path: Path) -> None:
    """XDG_STATE_HOME is used if it is an absolute path; if it cannot be, temporary files are."""
    (tmp_path / "state").mkdir()
    (tmp_path / "tmp").mkdir()
    state, temporary = str(tmp_path / "state"), str(tmp_path / "tmp")

    assert token_file_of(start("--bind_all", XDG_STATE_HOME=state)).parts[:-1] == (
        *Path(state).parts, "tbcore",
    )  # fmt: skip
    relative = token_file_of(start("--bind_all", XDG_STATE_HOME="state"))
    assert relative.is_relative_to(home)
    elsewhere = token_file_of(start("--bind_all", XDG_STATE_HOME="/dev/null/x", TMPDIR=temporary))
    assert elsewhere.is_relative_to(temporary)
    assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("temporary", "places"),
    [
        ("tempfile.tempdir = '/dev/null/x'", "/dev/null/x/tbcore or /dev/null/x"),
        # As in a container whose root is read-only.
        ("tempfile.gettempdir = lambda: open('')", "/dev/null/x/tbcore"),
    ],
)
def test_without_a_place_for_the_token_the_server_does_not_start(
    tmp_path: Path, environment: dict[str, str], temporary: str, places: str
) -> None:
    """The error is one line. With a given token it starts, since it writes none."""
    gone = tmp_path / "gone"
    gone.mkdir()
    code = (
        f"import os, sys, tempfile; os.rmdir(os.getcwd()); {temporary};"
        "from tbcore.cli import main; sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path), "--bind_all", "--port", "0"],
        env={**environment, "XDG_STATE_HOME": "/dev/null/x"}, cwd=gone,
        capture_output=True, text=True, timeout=WAIT_SECONDS, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stdout) == (1, "")
    [line] = done.stderr.splitlines()
    assert line == (
        f"tbcore: cannot write the token to a file in {places}; "
        "set TBCORE_TOKEN to a token of your own, or XDG_STATE_HOME to a directory"
    )


def test_a_terminal_gets_the_token(environment: dict[str, str], home: Path, tmp_path: Path) -> None:
    """On a terminal the printed addresses have the token, and no file is written."""
    terminal, end = os.openpty()
    server = subprocess.Popen(
        [sys.executable, "-m", "tbcore", str(tmp_path), "--bind_all", "--port", "0"],
        env=environment, stdout=end, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(end)
    try:
        text = b""
        while b"quit)\r\n" not in text:
            text += os.read(terminal, 1 << 16)
        address = rb"http://%s:\d+/\?token=\S{32,}"
        assert re.search(
            rb"^from other machines: %s\r\ntbcore \S+ at %s \(Press CTRL\+C to quit\)\r\n"
            % (address % socket.gethostname().encode(), address % b"localhost"),
            text, re.MULTILINE,
        )  # fmt: skip
        assert list(home.iterdir()) == []
    finally:
        server.kill()
        server.wait()
        os.close(terminal)


def test_a_file_gets_no_token_even_if_the_other_stream_is_a_terminal(
    environment: dict[str, str], home: Path, tmp_path: Path
) -> None:
    """Under the name `tensorboard` the addresses go to stderr, so only that stream counts."""
    program, log = tmp_path / "tensorboard", tmp_path / "log"
    program.write_text("import sys; from tbcore.cli import main; sys.exit(main())")
    terminal, end = os.openpty()
    with log.open("w") as stderr:
        server = subprocess.Popen(
            [sys.executable, str(program), str(tmp_path), "--bind_all", "--port", "0"],
            env=environment, stdout=end, stderr=stderr,
        )  # fmt: skip
    os.close(end)
    try:
        until(lambda: "to quit)" in log.read_text())
        assert "token=" not in log.read_text()
        assert any("?token=" in p.read_text() for p in home.rglob("*") if p.is_file())
    finally:
        server.kill()
        server.wait()
        os.close(terminal)


def test_without_a_token_off_loopback_names_are_checked(start: Make) -> None:
    """With --no_token, requests with foreign host names are refused, and a warning is logged."""
    server = start("--bind_all", "--no_token")

    server.line(
        rf"^{TIME} tbcore: warning: anyone who can reach this machine can read these logs",
        noise=True,
    )
    assert "token" not in server.url
    assert server.get("/data/runs")[0] == 200
    assert server.get("/data/runs", Host="evil.example")[0] == 403
    assert server.get("/data/runs", Host="localhost")[0] == 200


def test_a_closed_terminal_ends_a_server_as_a_signal_does(
    start: Make, tmp_path: Path, home: Path
) -> None:
    """It removes the file with its token, too."""
    server = start("--bind_all")
    assert [path for path in home.rglob("*") if path.is_file()]
    status, _, noise = server.end(signal.SIGHUP)
    assert (status, noise) == (129, "")
    assert not [path for path in home.rglob("*") if path.is_file()]


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_no_socket_and_no_secret_stays_if_the_start_is_interrupted(
    start: Make, tmp_path: Path, sig: int
) -> None:
    """While a plugin is imported, which may take long and may catch everything."""
    (tmp_path / "plugins").mkdir()
    slow = "import os, time\nopen('importing', 'x').close()\nwhile True:\n    time.sleep(1)\n"
    (tmp_path / "plugins" / "slow.py").write_text(slow)
    for option in ("--bind_all", f"--uds={tmp_path / 'socket'}"):
        server = start(option, "--plugins_dir", "plugins", waits=False, HOME=str(tmp_path / "home"))
        until((tmp_path / "importing").exists)
        if option != "--bind_all":
            assert (tmp_path / "socket").exists()
        else:
            assert [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
        status, _, noise = server.end(sig)
        assert (status, noise) == (128 + sig, "")
        (tmp_path / "importing").unlink()
        assert not (tmp_path / "socket").exists()
        assert not [path for path in (tmp_path / "home").rglob("*") if path.is_file()]


def test_a_second_interrupt_leaves_no_socket_and_no_secret(start: Make, tmp_path: Path) -> None:
    """It ends the process at once, while a connection that is not answered delays the end."""
    (tmp_path / "plugins").mkdir()
    closes = "\n\n@hookimpl\ndef close():\n    open('closing', 'x').close()\n    time.sleep(60)\n"
    (tmp_path / "plugins" / "mine.py").write_text(PLUGIN + closes)
    server = start("--bind_all", "--plugins_dir", "plugins", HOME=str(tmp_path / "home"))
    server.process.send_signal(signal.SIGINT)
    until((tmp_path / "closing").exists)
    status, seconds, _ = server.end(signal.SIGINT)
    assert status == 130
    assert seconds < 2
    assert not [path for path in (tmp_path / "home").rglob("*") if path.is_file()]


def test_a_unix_socket_of_another_server_stays(start: Make, tmp_path: Path) -> None:
    """One that has taken the path of a server whose socket was removed; and requests are quiet."""
    path = tmp_path / "socket"
    first = start(f"--uds={path}", waits=False)
    first.line(r"^tbcore \S+ at unix:")
    path.unlink()
    second = start(f"--uds={path}", waits=False)
    second.line(r"^tbcore \S+ at unix:")
    assert first.end(signal.SIGTERM)[2] == ""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 200")
    assert second.end(signal.SIGTERM)[2] == ""
    assert not path.exists()


def test_servers_that_start_at_once_share_a_secret_path(start: Make, tmp_path: Path) -> None:
    servers = [start("--secret_prefix", "secret", waits=False) for _ in range(4)]
    for server in servers:
        server.line(r"^tbcore \S+ at ")
    secret = (tmp_path / "secret").read_text().strip()
    assert len(secret) > 32
    for server in servers:
        assert server.end(signal.SIGTERM)[2] == ""


def test_a_misspelt_variable_is_a_warning(start: Make) -> None:
    """Not those of other purposes, such as Kubernetes' for a service with the name of tbcore."""
    others = ("TBCORE_SERVICE_HOST", "TBCORE_PORT_6006_TCP", "TBCORE_CHROMIUM", "TBCORE_SET_A_B")
    server = start(TBCORE_RELOAD="3", TBCORE_NO_TOKN="1", **dict.fromkeys(others, "x"))
    noise = server.end(signal.SIGTERM)[2]
    lines = [line for line in noise.splitlines() if "no such variable" in line]
    assert lines == [
        "tbcore: warning: no such variable TBCORE_NO_TOKN; did you mean TBCORE_NO_TOKEN?",
        "tbcore: warning: no such variable TBCORE_RELOAD; did you mean TBCORE_RELOAD_INTERVAL?",
    ]


def test_a_given_token_is_used(start: Make) -> None:
    """The token of --token, or else of TBCORE_TOKEN, is required on loopback, too.

    It is not printed. On the command line others can see it, which a warning says.
    """
    server = start("--token", "abc", TBCORE_TOKEN="other")
    assert server.get("/data/runs")[0] == 401
    assert server.get("/data/runs", Authorization="Bearer abc")[0] == 200
    assert server.end(signal.SIGTERM)[2] == (
        "tbcore: warning: other users can see --token in the list of processes; "
        "set TBCORE_TOKEN instead\n"
    )
    for option in ("--port=0", "--bind_all"):
        quiet = start(option, TBCORE_TOKEN="a+b/c==", TBCORE_READ_TOKEN="r+s")
        assert quiet.url.endswith(f":{quiet.port}/")
        assert quiet.lines[:2] == [
            "requests need the given token",
            "the read token shows everything, and changes no notes",
        ]
        assert quiet.get("/?token=a%2Bb%2Fc%3D%3D")[0] == 303
        assert quiet.end(signal.SIGTERM)[2] == ""
        assert not [token for token in ("a+b", "r+s") if token in "".join(quiet.lines)]


@pytest.mark.parametrize("variables", [{}, {"TBCORE_TOKEN": "a+b"}])
@pytest.mark.usefixtures("home")
def test_the_browser_opens_the_address_with_the_token(
    start: Make, tmp_path: Path, variables: dict[str, str]
) -> None:
    """--open needs the token, wherever the token is from."""
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    browser.chmod(0o755)
    server = start("--bind_all", "--open", BROWSER=str(browser), **variables)

    until(lambda: opened.exists() and opened.read_text().endswith("\n"))
    file = Path(opened.read_text().strip().removeprefix("file://"))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    [address] = re.findall(r'content="0; url=(.*?)"', file.read_text())
    assert address.startswith(f"{server.url}?token=")
    assert server.get(address.partition(f":{server.port}")[2])[0] == 303


def test_a_secret_path_is_in_a_file_only(start: Make, tmp_path: Path) -> None:
    """The server makes the file, and reads it at the next start. No output has the path."""
    file = tmp_path / "secret"
    first = start("--bind_all", "--secret_prefix", str(file))
    secret = file.read_text().strip()
    assert re.fullmatch(r"/[A-Za-z0-9_-]{32}", secret)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert first.get(f"{secret}/data/runs")[0] == 200
    assert first.get("/")[0] == first.get("/data/runs")[0] == 404
    _, _, noise = first.end(signal.SIGTERM)
    assert secret not in "".join(first.lines) + noise
    assert str(file) in first.lines[0]

    second = start("--secret_prefix", str(file))
    assert second.get(f"{secret}/readyz")[0] in (200, 503)


def test_a_secret_path_that_others_can_read_is_refused(tmp_path: Path, home: Path) -> None:
    del home
    file = tmp_path / "secret"
    for text, mode, part in (
        (f"/{'x' * 32}", 0o644, "can be read by others"),
        ("/short", 0o600, "contains no"),
    ):
        file.write_text(text)
        file.chmod(mode)
        with pytest.raises(TbcoreError, match=part):
            secret_prefix(str(file))
    with pytest.raises(TbcoreError, match="No such file"):
        secret_prefix(str(tmp_path / "none" / "secret"))


def test_a_unix_socket_is_for_this_user(tmp_path: Path) -> None:
    """It has mode 0600, and is removed at the end. One that a killed server left is replaced."""
    path = tmp_path / "socket"
    with pytest.raises(TbcoreError, match=r"--uds .*: "):
        listen_at(str(tmp_path / "none" / "socket"))
    listening = listen_at(str(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(TbcoreError, match="in use by another program"):
        listen_at(str(path))
    listening.sockets[0].close()  # as if the server was killed
    again = listen_at(str(path))
    assert again.url("/") == f"unix:{path}"
    again.close()
    assert not path.exists()


def test_wrong_tokens_are_logged(start: Make) -> None:
    """One line has the address, as fail2ban expects it; the other guesses wait for the next line.

    Requests without a token, and with the cookie of another server, are no guesses.
    """
    server = start("--bind_all", TBCORE_TOKEN="secret")

    assert server.get("/data/runs")[0] == 401
    assert server.get("/data/runs", Cookie="tbcore_01234567=1.2")[0] == 401
    assert server.get("/data/runs", Authorization="Bearer secret")[0] == 200
    for number in range(20):
        assert server.get(f"/data/runs?token=guess{number}")[0] == 401
        assert server.get("/data/runs", Authorization=f"Bearer guess{number}")[0] == 401

    server.line("wrong token", noise=True)
    _, _, noise = server.end(signal.SIGTERM)
    first, *others = noise.splitlines()
    assert first.partition(" ")[2] == "tbcore: warning: wrong token from 127.0.0.1: 1 request"
    assert len(others) <= (time.monotonic() - server.started) // 60


def test_a_cookie_is_valid_after_a_restart(start: Make) -> None:
    """The server stores no cookies: with the same token it accepts those that it made before."""
    first = start(TBCORE_TOKEN="secret")
    made = first.get("/?token=secret")[1]["set-cookie"].partition(";")[0]
    first.end(signal.SIGTERM)
    second, other = start(TBCORE_TOKEN="secret"), start(TBCORE_TOKEN="secret2")

    assert second.get("/data/runs", Cookie=made)[0] == 200
    assert other.get("/data/runs", Cookie=made)[0] == 401
    renamed = other.get("/?token=secret2")[1]["set-cookie"].partition("=")[0]
    assert other.get("/data/runs", Cookie=f"{renamed}={made.partition('=')[2]}")[0] == 401


def test_ipv6_addresses_are_in_brackets(start: Make) -> None:
    """IPv6 addresses are in brackets, in the printed address and in Host headers."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError as error:
        pytest.skip(f"no IPv6 on this machine: {error}")
    server = start("--host", "::1")

    assert re.fullmatch(r"http://\[::1\]:\d+/", server.url)
    request = b"GET /data/runs HTTP/1.1\r\nHost: [::1]:%d\r\nConnection: close\r\n\r\n"
    assert raw(server.port, request % server.port, "::1").startswith(b"HTTP/1.1 200 OK\r\n")


# Raw requests ------------------------------------------------------------------------------------

HOST = b"Host: localhost\r\n"


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"GET /data/runs HTTP/1.1\r\n" + HOST + b"\r\n", 200),
        (b"GET /data/runs HTTP/1.1\r\nHost: [::1]\r\n\r\n", 200),
        (b"GET /data/runs HTTP/1.1\r\nhOsT:   127.0.0.1:1  \r\n\r\n", 200),
        (b"GET /data/runs HTTP/1.0\r\n" + HOST + b"\r\n", 200),
        (b"GET /data/runs HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403),
        (b"GET /data/runs HTTP/1.1\r\nHost: localhost.evil.example\r\n\r\n", 403),
        (b"GET /data/runs HTTP/1.1\r\n" + HOST + HOST + b"\r\n", 400),
        (b"GET /data/runs HTTP/1.1\r\n" + HOST + b"Host: evil.example\r\n\r\n", 400),
        (b"GET /data/runs HTTP/1.1\r\nHost: localhost, evil.example\r\n\r\n", 400),
        (b"GET /data/runs HTTP/1.0\r\n\r\n", 400),
        (b"GET /data/runs HTTP/1.1\r\n\r\n", 400),
        (b"GET /data/runs HTTP/1.1\r\nHost:\r\n\r\n", 400),
        (b"GET /data/runs HTTP/1.1\r\nHost: local\x00host\r\n\r\n", 400),
        (b"GET http://localhost/data/runs HTTP/1.1\r\n" + HOST + b"\r\n", 400),
        (b"GET http://evil.example/data/runs HTTP/1.1\r\n" + HOST + b"\r\n", 400),
        (b"GET data/runs HTTP/1.1\r\n" + HOST + b"\r\n", 400),
        (b"OPTIONS * HTTP/1.1\r\n" + HOST + b"\r\n", 400),
        (b"CONNECT localhost:80 HTTP/1.1\r\n" + HOST + b"\r\n", 400),
        (b"GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\n" + HOST + b"\r\n", 404),
        (b"GET /static/tbcore/../../cli.py HTTP/1.1\r\n" + HOST + b"\r\n", 404),
        (b"GET /static/tbcore/..%2fcli.py HTTP/1.1\r\n" + HOST + b"\r\n", 404),
        (b"GET /\xff HTTP/1.1\r\n" + HOST + b"\r\n", 400),
        (b"GET /%ff%00 HTTP/1.1\r\n" + HOST + b"\r\n", 404),
        (b"GET /data/runs?" + b"a" * 60000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", 200),
        (b"GET /data/runs?" + b"a" * 200000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", 400),
        (b"GET /data/runs HTTP/1.1\r\n" + HOST + b"X: " + b"a" * 200000 + b"\r\n\r\n", 400),
        (b"POST /data/runs HTTP/1.1\r\n" + HOST + b"Content-Length: -1\r\n\r\n", 400),
        (b"POST /data/runs HTTP/1.1\r\n" + HOST + b"Content-Length: 99999999\r\n\r\nx", 405),
        (b"POST /data/runs HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (b"GET /data/runs HTTP/1.1\r\n" + HOST + b"X: a\r\n b\r\n\r\n", 400),
        (b"GET /data/runs HTTP/1.1\r\n" + HOST + b"X: a\r\n\tb: c\r\n\r\n", 400),
        (b"GET /data/runs HTTP/1.1\n" + HOST + b"\r\n", 400),
        (b"GET /data/runs HTTP/1.1\r\nHost: localhost\n\r\n", 400),
        (b"GET /data/runs HTTP/1.1\r\n" + HOST + b"\n", 400),
        (b"\nGET /data/runs HTTP/1.1\r\n" + HOST + b"\r\n", 400),
        (b"GET /data/runs HTTP/1.1\r\n" + HOST
         + b"Upgrade: websocket\r\nConnection: upgrade\r\n\r\n", 200),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\xff" * 100, 400),
        (b"\r\n\r\n\r\n\r\nnonsense\r\n\r\n", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    ],
    ids=range(39),
)  # fmt: skip
def test_every_raw_request_gets_a_complete_response(
    serving: RunningServer, request_bytes: bytes, status: int
) -> None:
    """Every response is complete HTTP with the safety headers, even if uvicorn itself made it."""
    response = raw(serving.port, request_bytes)

    head, _, _ = response.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").lower().split("\r\n")
    assert lines[0].startswith(f"http/1.1 {status} ")
    for header in (
        "content-security-policy: default-src 'none'; script-src 'self'",
        "x-content-type-options: nosniff",
        "referrer-policy: same-origin",
        "cross-origin-resource-policy: same-origin",
        "cross-origin-opener-policy: same-origin",
        "cache-control: no-cache",
        "content-length: ",
    ):
        assert sum(line.startswith(header) for line in lines) == 1, header
    assert not any(line.startswith(("server:", "access-control")) for line in lines)


POST = b"POST /data/run_attributes HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (CHUNKED + b"2\r\n{}\r\n0\r\n\r\n", 200),
        (CHUNKED + b"2\r\n{}XX0\r\n\r\n", 400),
        (CHUNKED + b"2\r\n{}\rX0\r\n\r\n", 400),
        (POST + b"Content-Length: 800000\r\n\r\n" + b"[" * 400_000 + b"]" * 400_000, 400),
    ],
    ids=["chunk", "chunk with another end", "chunk with half an end", "deep JSON"],
)
def test_old_versions_of_h11_and_orjson_are_not_in_use(
    serving: RunningServer, request_bytes: bytes, status: int
) -> None:
    """They find the end of a request elsewhere than proxies do, or end the process."""
    assert raw(serving.port, request_bytes).startswith(b"HTTP/1.1 %d " % status)
    assert serving.json("/data/runs") == []


@pytest.mark.parametrize("version", [b"1.1", b"1.0"])
@pytest.mark.parametrize("chunked_first", [True, False])
def test_a_body_with_two_lengths_ends_the_connection(
    serving: RunningServer, version: bytes, chunked_first: bool
) -> None:
    """It is refused, and what follows gets no response: a proxy may take it for the body."""
    lengths = [b"Transfer-Encoding: chunked\r\n", b"Content-Length: 5\r\n"]
    request = b"POST /data/runs HTTP/" + version + b"\r\n" + HOST
    request += b"".join(lengths if chunked_first else reversed(lengths)) + b"\r\n0\r\n\r\n"
    hidden = b"GET /data/runs HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"

    response = raw(serving.port, request + hidden)

    assert response.startswith(b"HTTP/1.1 400 ")
    assert response.count(b"HTTP/1.1") == 1
    assert b"\r\nconnection: close\r\n" in response.lower()


@pytest.mark.parametrize("pause_after", range(0, 90, 7))
def test_line_ends_are_checked_in_requests_that_arrive_in_parts(
    serving: RunningServer, pause_after: int
) -> None:
    """The second request on a connection has one line feed alone, wherever the parts are split."""
    good = b"GET /data/runs HTTP/1.1\r\n" + HOST + b"\r\n"
    bad = b"GET /data/runs HTTP/1.1\r\n" + HOST + b"A: b\nC: d\r\nConnection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", serving.port), timeout=WAIT_SECONDS) as connection:
        connection.sendall((good + bad)[:pause_after])
        received = connection.recv(1 << 16) if pause_after >= len(good) else b""
        connection.sendall((good + bad)[pause_after:])
        while part := connection.recv(1 << 16):
            received += part
    assert re.findall(rb"HTTP/1.1 (\d+)", received) == [b"200", b"400"]


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """One server for all raw requests. It must run, and have logged nothing, after them."""
    folder = tmp_path_factory.mktemp("serving")
    (folder / "runs").mkdir()
    path = os.pathsep.join(os.path.abspath(entry) for entry in sys.path if entry)
    kept = {k: v for k, v in os.environ.items() if not k.startswith("TBCORE_")}
    environment = {**kept, "PYTHONPATH": path, "TBCORE_PLUGINS": ""}
    server = RunningServer(["runs", "--port", "0"], environment, folder).wait_until_started()
    yield server
    assert server.json("/data/runs") == []
    status, _, noise = server.end(signal.SIGINT)
    assert (status, noise) == (130, "")


def test_responses_on_a_kept_connection_are_sent_at_once(serving: RunningServer) -> None:
    """A response on a kept connection is sent at once; without TCP_NODELAY it would take 40 ms."""
    connection = http.client.HTTPConnection("127.0.0.1", serving.port, timeout=WAIT_SECONDS)
    best = 1.0
    for _ in range(50):
        started = time.monotonic()
        connection.request("GET", "/data/frontends")
        connection.getresponse().read()
        best = min(best, time.monotonic() - started)
    connection.close()

    print(f"a request on a kept connection: {best * 1000:.1f} ms")
    assert best < 0.02


def test_a_connection_can_be_used_after_head(serving: RunningServer) -> None:
    """A response to HEAD has no body that could be read as the next response."""
    head = b"HEAD / HTTP/1.1\r\n" + HOST + b"\r\n"
    get = b"GET /data/runs HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"

    response = raw(serving.port, head + get)

    first, second, body = response.split(b"\r\n\r\n")
    assert b"content-type: text/html" in first
    assert b"content-length: 0" not in first
    assert second.startswith(b"HTTP/1.1 200 OK")
    assert body == b"[]"


# Ending ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("sig", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_open_connections_do_not_keep_the_server_from_ending(
    start: Make, sig: int, status: int
) -> None:
    """The server ends in spite of streams, idle connections and incomplete requests.

    It logs nothing, and takes 0.3 s on an idle machine; the bound is for a busy one.
    """
    server = start()
    open_connections = [open_stream(server.port) for _ in range(5)]
    idle = socket.create_connection(("127.0.0.1", server.port))
    half = socket.create_connection(("127.0.0.1", server.port))
    half.sendall(b"POST /data/plugin/x HTTP/1.1\r\nHost: localhost\r\nContent-Len")
    time.sleep(0.2)

    found, seconds, noise = server.end(sig)

    print(f"ended {seconds:.2f} s after signal {sig}")
    assert (found, noise) == (status, "")
    assert seconds < 1.5
    for connection in [*open_connections, idle, half]:
        connection.close()


@pytest.mark.parametrize("source", [
    PLUGIN,
    PLUGIN + "\nthreading.Thread(target=threading.Event().wait).start()\n",
    PLUGIN + "\nimport atexit\n",
])  # fmt: skip
def test_a_blocked_plugin_does_not_keep_the_server_from_ending(
    start: Make, install: Make, source: str
) -> None:
    """The server ends in spite of a handler that blocks, or a thread that a plugin started."""
    install("mine", source)
    server = start()
    blocked = socket.create_connection(("127.0.0.1", server.port))
    blocked.sendall(b"GET /data/plugin/mine/block HTTP/1.1\r\nHost: localhost\r\n\r\n")
    time.sleep(0.3)
    until(lambda: server.json("/data/plugins_listing") == {"mine": True})

    status, seconds, noise = server.end(signal.SIGINT)

    assert (status, noise) == (130, "")
    assert seconds < 2.0
    blocked.close()


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGHUP])
def test_plugins_are_closed_at_the_end_and_none_delays_it_for_long(
    start: Make, tmp_path: Path, sig: int
) -> None:
    folder = tmp_path / "plugins"
    folder.mkdir()
    closes = "\n\n@hookimpl\ndef close():\n    "
    (folder / "mine.py").write_text(f"{PLUGIN}{closes}open('closed', 'x').close()\n")
    (folder / "stays.py").write_text(f"{PLUGIN}{closes}threading.Event().wait()\n")

    server = start("--plugins_dir", "plugins")
    assert server.get("/data/plugin/mine/version")[0] == 200
    assert not (tmp_path / "closed").exists()
    status, seconds, noise = server.end(sig)

    assert status == 128 + sig
    assert (tmp_path / "closed").exists()
    assert "plugin 'stays': close has been running for 2 s, and is not waited for" in noise
    assert seconds < 10


def test_a_plugin_may_change_the_working_directory(start: Make, tmp_path: Path) -> None:
    """Relative paths of the logdir and of plugin folders are resolved before plugins are loaded."""
    folder = tmp_path / "plugins"
    folder.mkdir()
    (folder / "a_moves.py").write_text(f"import os\nos.chdir('/')\n{PLUGIN}")
    (folder / "mine.py").write_text(PLUGIN)

    server = start("--plugins_dir", "plugins")

    assert server.get("/data/plugin/mine/version")[::2] == (200, b"one")
    server.line(r"^2 runs in 2 files")
    assert server.json("/data/runs") == ["eval", "train"]
    assert server.end(signal.SIGTERM)[2] == ""


def test_with_dev_plugins_are_reloaded_when_they_are_saved(
    start: Make, install: Make, tmp_path: Path
) -> None:
    """Installed plugins and those in a folder are reloaded, and no request fails."""
    install("mine", "raise SystemExit('not yet')")
    folder = tmp_path / "plugins"
    folder.mkdir()
    server = start("--dev", "--plugins_dir", str(folder))
    server.line(f"^{TIME} tbcore: error: plugin 'mine' failed: SystemExit: not yet$", noise=True)
    server.line("^Traceback", noise=True)

    def wait_for(path: str, wanted: tuple[int, bytes]) -> None:
        until(lambda: server.get(path)[::2] == wanted)

    # The module of the plugin that this test installed.
    module = tmp_path / "site-packages" / "my_mine.py"
    module.write_text(PLUGIN)
    wait_for("/data/plugin/mine/version", (200, b"one"))
    server.line(f"^{TIME} tbcore: info: plugin 'mine' was reloaded$", noise=True)
    statuses: set[int] = set()
    ended = threading.Event()

    def ask() -> None:
        while not ended.is_set():
            statuses.add(server.get("/data/plugin/mine/version")[0])

    asking = threading.Thread(target=ask)
    asking.start()
    for word in (b"two", b"six", b"ten"):
        module.write_text(PLUGIN.replace('"one"', f'"{word.decode()}"'))
        wait_for("/data/plugin/mine/version", (200, word))
    ended.set()
    asking.join()
    assert statuses == {200}

    (folder / "yours.py").write_text(PLUGIN)
    wait_for("/data/plugin/yours/version", (200, b"one"))
    assert server.end(signal.SIGTERM)[0] == 143


# Slow clients, with short timeouts ----------------------------------------------------------------


def raising(error: Exception) -> Callable[[Request], Response]:
    """A handler that raises this exception."""

    def handler(request: Request) -> Response:
        raise error

    return handler


@pytest.fixture
def in_process(make_plugin: Make) -> Iterator[Callable[..., int]]:
    """`in_process(routes, protocol=Protocol, **tuning)`: starts a server; returns its port.

    The server runs in a thread, and has one plugin, `made`, with these routes. A test that watches
    or delays connections gives the class of their protocol.
    """
    servers: list[tuple[HttpServer, threading.Thread]] = []

    def run(
        routes: list[Route], *, protocol: type[TimeoutProtocol] = TimeoutProtocol, **tuning: float
    ) -> int:
        listener = socket.create_server(("127.0.0.1", 0))
        plugins = load_plugins(only=(), extra={"made": make_plugin(routes=lambda: routes)})
        config = Config(logdir="", tuning=patient_tuning(**tuning))
        app = create_app(config, multiplexer=Multiplexer(), plugins=plugins)
        started = threading.Event()
        server = HttpServer(app, started.set)
        made: Any = server.config.http_protocol_class
        server.config.http_protocol_class = partial(protocol, *made.args)  # type: ignore[assignment]
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        servers.append((server, thread))
        assert started.wait(WAIT_SECONDS)
        port: int = listener.getsockname()[1]
        return port

    yield run
    for server, thread in servers:
        server.end()
        thread.join(WAIT_SECONDS)
        assert not thread.is_alive()


def test_incomplete_requests_time_out_and_delay_no_others(in_process: Make) -> None:
    """300 incomplete requests are disconnected, and do not delay a complete one."""

    def connect(port: int) -> list[socket.socket]:
        half = [socket.create_connection(("127.0.0.1", port)) for _ in range(300)]
        for number, connection in enumerate(half):
            if number % 3:
                connection.sendall(b"GET /data/runs HTTP/1.1\r\nHost: local")
        return half

    # Before any of them times out.
    port = in_process([], request_timeout_seconds=600.0)
    half = connect(port)
    started = time.monotonic()
    assert raw(port, b"GET /data/runs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert time.monotonic() - started < 1
    for connection in half:
        connection.close()

    half = connect(in_process([], request_timeout_seconds=1.5))
    deadline = time.monotonic() + WAIT_SECONDS
    dropped = 0
    for connection in half:
        connection.settimeout(0.3)
        while time.monotonic() < deadline:
            try:
                connection.sendall(b"x")
                if connection.recv(100) == b"":
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        else:
            continue
        dropped += 1
    assert dropped == 300
    for connection in half:
        connection.close()


def test_a_body_that_does_not_arrive_times_out(in_process: Make) -> None:
    """The response has the status 408, and the connection is closed."""
    route = Route("/x", lambda request: Response("late"), methods=["POST"])
    port = in_process([route], request_timeout_seconds=1.0)

    response = raw(
        port,
        b"POST /data/plugin/made/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nab",
    )

    assert response.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close" in response
    assert response.endswith(b"the body of the request did not arrive in time")


def test_a_client_that_does_not_read_is_disconnected(in_process: Make) -> None:
    """A client that reads nothing is disconnected; its response would stay in memory forever."""
    is_disconnected = threading.Event()

    class Watched(TimeoutProtocol):
        def connection_lost(self, exc: Exception | None) -> None:
            is_disconnected.set()
            super().connection_lost(exc)

    def large(request: Request) -> Response:
        return Response(b"\0" * 50_000_000, media_type="application/octet-stream")

    port = in_process([Route("/x", large)], protocol=Watched, stall_timeout_seconds=0.5)
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"GET /data/plugin/made/x HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert is_disconnected.wait(WAIT_SECONDS)
        received = 0
        connection.settimeout(WAIT_SECONDS)
        try:
            while part := connection.recv(1 << 20):
                received += len(part)
        except ConnectionError:
            pass
    assert 0 < received < 50_000_000


def test_a_client_that_reads_slowly_gets_the_whole_response(in_process: Make) -> None:
    """A client that reads slowly may take many times as long as the timeout."""
    size = 30_000_000
    seconds = 0.0
    num_checks = 0

    class OwnTime:
        """The server's event loop, with a clock that advances only when the client reads.

        The result then does not depend on how busy the machine is.
        """

        def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
            self.loop = loop

        def __getattr__(self, name: str) -> Any:
            return getattr(self.loop, name)

        def time(self) -> float:
            return seconds

        def call_later(self, delay: float, *call: Any) -> asyncio.TimerHandle:
            # Makes the periodic check of the client more frequent.
            return self.loop.call_later(delay / 100 if delay < 1 else delay, *call)

    class Patient(TimeoutProtocol):
        def connection_made(self, transport: Any) -> None:
            self.loop = OwnTime(self.loop)  # type: ignore[assignment]
            super().connection_made(transport)

        def _watch_response(self, num_unsent: int, since: float) -> None:
            nonlocal num_checks
            num_checks += 1
            super()._watch_response(num_unsent, since)

    def large(request: Request) -> Response:
        return Response(b"\0" * size, media_type="application/octet-stream")

    port = in_process([Route("/x", large)], protocol=Patient, stall_timeout_seconds=1.0)
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.settimeout(WAIT_SECONDS)
        connection.sendall(b"GET /data/plugin/made/x HTTP/1.1\r\nHost: localhost\r\n\r\n")
        head, _, body = connection.recv(20_000).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 ")
        received = len(body)
        while received < size and (part := connection.recv(20_000)):
            received += len(part)
            seconds += 0.04
            if received < 4_000_000:
                before = num_checks
                until(lambda before=before: num_checks > before)
    assert received == size


@pytest.mark.parametrize("part", [bytes(1_000_003), "x" * 1_000_003, b"", ""])
def test_a_long_part_of_a_stream_is_sent_in_pieces(in_process: Make, part: bytes | str) -> None:
    """Other requests wait at most for one piece. Short parts are sent as they are."""
    routes = [Route("/x", lambda request: StreamingResponse(iter([part, b"end"])))]
    port = in_process(routes, response_piece_bytes=100_000)

    request = b"GET /data/plugin/made/x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    _, _, rest = raw(port, request).partition(b"\r\n\r\n")
    chunks = []
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        chunks.append(rest[: int(size, 16)])
        rest = rest[int(size, 16) + 2 :]

    whole = part.encode() if isinstance(part, str) else part
    assert b"".join(chunks) == whole + b"end"
    assert [len(chunk) for chunk in chunks] == ([100_000] * 10 + [3] if part else []) + [3, 0]


def test_a_long_response_ends_when_its_client_has_gone(
    in_process: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The rest of it is neither compressed nor kept in memory, and nothing is logged."""
    num_parts = 0

    def next_part(*arguments: Any) -> bytes:
        nonlocal num_parts
        num_parts += 1
        return real(*arguments)

    real = compress._next_part
    monkeypatch.setattr(compress, "_next_part", next_part)
    monkeypatch.setattr(compress, "MAX_PART_BYTES", 1 << 20)
    responses: list[weakref.ref[Response]] = []

    def large(request: Request) -> Response:
        response = Response(os.urandom(1 << 20) * 100, media_type="text/plain")
        responses.append(weakref.ref(response))
        return response

    port = in_process([Route("/x", large)])
    with socket.create_connection(("127.0.0.1", port), timeout=WAIT_SECONDS) as connection:
        head = (
            b"GET /data/plugin/made/x HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n"
        )
        connection.sendall(head)
        assert connection.recv(12) == b"HTTP/1.1 200"
        assert responses[0]()
    until(lambda: responses[0]() is None)
    assert 0 < num_parts < 100
    assert raw(port, b"GET /data/runs HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert caplog.records == []


def test_a_client_may_disconnect_before_its_error_response(
    in_process: Make, caplog: pytest.LogCaptureFixture
) -> None:
    """If a client has gone before it is sent a 400, nothing is logged and the server goes on."""
    is_gone = threading.Event()

    class Late(TimeoutProtocol):
        def send_400_response(self, msg: str) -> None:
            assert is_gone.wait(WAIT_SECONDS)
            super().send_400_response(msg)

    port = in_process([], protocol=Late)
    assert raw(port, b"GET /data/runs HTTP/1.1\r\nHost: localhost\r\n\r\nnonsense\r\n\r\n")
    is_gone.set()
    assert raw(port, b"GET /data/runs HTTP/1.1\r\nHost: localhost\r\n\r\n").endswith(b"[]")
    assert [record for record in caplog.records if record.name.startswith("tbcore")] == []


def test_headers_and_the_first_part_of_a_body_are_sent_at_once(in_process: Make) -> None:
    """A client is woken once for a short response, and the server needs one system call."""
    writes: list[bytes] = []

    class Watched(TimeoutProtocol):
        def connection_made(self, transport: Any) -> None:
            write = transport.write
            transport.write = lambda data: (writes.append(data) if data else None, write(data))
            super().connection_made(transport)

    routes = [Route("/x", lambda request: StreamingResponse(iter([b"a", b"b"])))]
    port = in_process(routes, protocol=Watched)

    response = raw(port, GET_X + b"Connection: close\r\n\r\n")

    assert b"".join(writes) == response
    assert writes[0].endswith(b"\r\n\r\n1\r\na\r\n")


def test_a_fault_in_the_middle_of_a_body_closes_the_connection(in_process: Make) -> None:
    """If a body fails after it was begun, the client can see that the response is incomplete."""

    def parts() -> Iterator[bytes]:
        yield b"first"
        raise ValueError

    port = in_process([Route("/x", lambda request: StreamingResponse(parts()))])
    response = raw(port, b"GET /data/plugin/made/x HTTP/1.1\r\nHost: localhost\r\n\r\n")

    assert b"transfer-encoding: chunked" in response.lower()
    assert b"first" in response
    assert not response.endswith(b"0\r\n\r\n")


GET_X = b"GET /data/plugin/made/x HTTP/1.1\r\nHost: localhost\r\n"


class Unchecked(Response):
    """Sends a fixed invalid response, whatever its attributes are."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        start = {"type": "http.response.start", "status": 200, "headers": [(b"a b", b"\n")]}
        await send(start)
        await send({"type": "http.response.body", "body": b"x"})


@pytest.mark.parametrize(
    "handler",
    [
        lambda request: Response(b"abc", headers={"content-length": "9"}),
        lambda request: Response(b"abc", headers={"content-length": "2"}),
        lambda request: Response(b"abc", headers={"content-length": "three"}),
        lambda request: PlainTextResponse("abc", headers={"x-name": "a\r\nset-cookie: b=c"}),
        lambda request: PlainTextResponse("abc", headers={"x name": "a"}),
        lambda request: PlainTextResponse("abc", status_code=99),
        lambda request: PlainTextResponse("abc", status_code=101),
        lambda request: PlainTextResponse("abc", status_code=600),
        lambda request: PlainTextResponse("abc", status_code=204),
        lambda request: StreamingResponse(iter([b"abc"]), headers={"x-name": "a\nb"}),
        lambda request: Unchecked(),
        raising(HTTPException(99, "abc")),
        raising(HTTPException(404, headers={"x-name": "a\nb"})),
        raising(HTTPException(404, headers={"x-name": "\u2028"})),
    ],
)
def test_a_response_that_is_not_valid_http_is_a_fault(
    in_process: Make, handler: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """If a response is not valid HTTP, the client gets a 500, and the connection stays open."""
    port = in_process([Route("/x", handler)])
    response = raw(port, GET_X + b"\r\n" + GET_X + b"Connection: close\r\n\r\n")

    nothing, *responses = response.split(b"HTTP/1.1 ")
    assert (nothing, len(responses)) == (b"", 2)
    for one in responses:
        assert one.startswith(b"500 ")
        assert one.endswith(b"plugin 'made' failed in its route '/x'; the log has the details")
    assert caplog.text.count("plugin 'made': route '/x' failed") == 2


@pytest.mark.parametrize(
    ("parts", "length"), [([b"abc"], b"9"), ([b"a", b"bc"], b"2")], ids=["shorter", "longer"]
)
def test_a_body_with_a_wrong_content_length_closes_the_connection(
    in_process: Make, parts: list[bytes], length: bytes
) -> None:
    """The connection is closed if a body is shorter or longer than its Content-Length."""

    def stream(request: Request) -> Response:
        return StreamingResponse(iter(parts), headers={"content-length": length.decode()})

    port = in_process([Route("/x", stream)])
    with socket.create_connection(("127.0.0.1", port), timeout=WAIT_SECONDS) as connection:
        connection.sendall(GET_X + b"\r\n")
        response = b""
        while part := connection.recv(1 << 16):
            response += part

    head, _, body = response.partition(b"\r\n\r\n")
    assert b"content-length: " + length in head
    assert body == parts[0]


def test_a_first_part_that_is_too_long_is_a_fault(in_process: Make) -> None:
    """Headers are sent with the first part, so the response can still be a 500."""

    def stream(request: Request) -> Response:
        return StreamingResponse(iter([b"abc"]), headers={"content-length": "2"})

    port = in_process([Route("/x", stream)])
    assert raw(port, GET_X + b"Connection: close\r\n\r\n").startswith(b"HTTP/1.1 500 ")


def test_responses_without_a_body(in_process: Make) -> None:
    """Responses to HEAD, and those with the status 204 or 304, end with their headers."""

    def announce(request: Request) -> Response:
        return Response(headers={"content-length": "9"})

    routes = [
        Route("/x", announce),
        Route("/none", raising(HTTPException(204))),
        Route("/same", lambda request: Response(status_code=304, headers={"content-length": "9"})),
    ]
    port = in_process(routes)
    for method, path, status, length in (
        ("HEAD", "x", 200, "9"),
        ("GET", "none", 204, None),
        ("GET", "same", 304, "9"),
    ):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_SECONDS)
        connection.request(method, f"/data/plugin/made/{path}")
        response = connection.getresponse()
        assert (response.status, response.getheader("content-length")) == (status, length)
        assert response.read() == b""
        connection.request("GET", "/data/runs")
        assert connection.getresponse().read() == b"[]"
        connection.close()


def test_a_client_that_sends_too_much_gets_its_response(in_process: Make) -> None:
    """A client that sends a body that is too long gets its response, and can go on."""
    port = in_process([Route("/x", lambda request: Response("no"), methods=["POST"])])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_SECONDS)
    for headers in ({}, {"Origin": "http://evil.example"}):
        connection.request("POST", "/data/plugin/made/x", body=b"a" * 20_000_000, headers=headers)
        response = connection.getresponse()
        assert response.status == (403 if headers else 413)
        response.read()
    connection.request("GET", "/data/runs")
    assert connection.getresponse().read() == b"[]"
    connection.close()
