"""Servers of a kernel: started once, ending with it, and closed to everybody else."""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import subprocess
import sys
import types
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from calls import Watch
from common_fixtures import WAIT_SECONDS, until

import tbcore_jupyter
from tbcore import TbcoreError
from tbcore_jupyter import jupyterlab_tab, servers
from tbcore_jupyter.servers import Server, server_for
from tbcore_testing import write_run


@pytest.fixture(autouse=True)
def kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep_temporary_files: Callable[[Path], None]
) -> Iterator[Path]:
    """This process is a kernel in a folder with logs; its servers end with the test."""
    write_run(tmp_path / "runs", "train", scalars={"loss": [1.0, 0.5]})
    keep_temporary_files(tmp_path / "tmp")
    monkeypatch.chdir(tmp_path)
    path = [os.path.abspath(entry) for entry in sys.path if entry]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path))
    for name in [name for name in os.environ if name.startswith(("TBCORE_", "JPY_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(servers, "_servers", started := {})
    yield tmp_path
    for server in started.values():
        server.process.kill()
        server.process.wait()


ARGUMENTS = ["--logdir", "runs", "--port", "0"]


def get(server: Server, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=WAIT_SECONDS)
    try:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request("GET", path, headers=named)
        response = connection.getresponse()
        names = {name.lower(): value for name, value in response.getheaders()}
        return response.status, names, response.read()
    finally:
        connection.close()


def test_equal_arguments_have_one_server(kernel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one working directory, and as long as the server runs."""
    first = server_for(ARGUMENTS)
    assert server_for(ARGUMENTS) is first
    assert server_for([*ARGUMENTS, "--window_title=x"]).port != first.port
    first.process.kill()
    first.process.wait()
    second = server_for(ARGUMENTS)
    assert second.process.poll() is None
    assert second.path != first.path
    write_run(kernel / "other" / "runs", "other", scalars={"loss": [1.0]})
    monkeypatch.chdir("other")
    other = server_for(ARGUMENTS)
    until(lambda: get(other, f"{other.path}data/runs")[2] == b'["other"]')


def test_nothing_is_served_or_told_without_the_secret_path(kernel: Path) -> None:
    """Other users can connect to the port, list processes and read files that are open to all."""
    server = server_for([*ARGUMENTS, "--path_prefix=/my"])
    assert re.fullmatch(r"/my/[A-Za-z0-9_-]{32}/", server.path)
    assert get(server, f"{server.path}data/environment")[0] == 200
    for path in ("/", "/my/", "/data/runs", "/my/data/runs", server.path[:-2], "/healthz"):
        assert get(server, path)[0] == 404
    secret = server.path.split("/")[2]
    assert secret not in " ".join(map(str, server.process.args))
    assert list((kernel / "tmp").iterdir()) == []


def test_the_folder_of_the_secret_is_for_this_user_alone(
    kernel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the server starts."""
    modes = []
    wait = servers._wait_for_address

    def look(process: Any, stdout: Path, stderr: Path) -> Any:
        address = wait(process, stdout, stderr)
        secret = stdout.with_name("secret")
        modes.extend(path.stat().st_mode & 0o777 for path in (secret.parent, secret))
        return address

    monkeypatch.setattr(servers, "_wait_for_address", look)
    server_for(ARGUMENTS)
    assert modes == [0o700, 0o600]


KERNEL = """
import sys
from tbcore_jupyter.servers import server_for
print(server_for(sys.argv[1:]).process.pid, flush=True)
sys.stdin.read()
"""


def test_a_server_ends_with_a_killed_kernel(kernel: Path) -> None:
    command = [sys.executable, "-c", KERNEL, *ARGUMENTS]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout
        server = int(process.stdout.readline())
        assert os.getpgid(server) != os.getpgid(process.pid)  # else interrupts would end it
        process.kill()

    def has_ended() -> bool:
        try:
            os.kill(server, 0)
        except ProcessLookupError:
            return True
        stat = Path(f"/proc/{server}/stat")  # Nobody may wait for it in a container.
        return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z"

    until(has_ended)


def test_the_variable_of_the_other_magic_does_not_close_this_one(kernel: Path) -> None:
    """Servers of `%tensorboard` may have no secret path."""
    code = "import sys; from tbcore_jupyter.servers import server_for; server_for(sys.argv[2:])"
    command = [sys.executable, "-c", code, "kernel-1.json", *ARGUMENTS]
    subprocess.run(command, env={**os.environ, "TENSORBOARD_BINARY": "tbcore"}, check=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--secret-prefix", "file"], "--secret-prefix: servers of notebooks have a secret path"),
        (["--token=x"], "--token=x: servers of notebooks have a secret path of their own"),
        (["--uds", "socket"], "--uds: servers of notebooks have a secret path of their own"),
        (["--prot=7"], "no such option '--prot'; did you mean '--port'"),
        (["--logdir"], "option '--logdir' requires an argument"),
        (["--port=99999"], "--port: '99999' is not a valid port; expected 0 to 65535"),
        (["runs", "--logdir=runs"], "LOGDIR, --logdir and --logdir_spec cannot be combined"),
    ],
)
def test_a_server_that_cannot_start_is_an_error_of_one_line(
    arguments: list[str], message: str
) -> None:
    with pytest.raises(TbcoreError) as error:
        server_for(arguments)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_warnings_of_the_server_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    server_for(["--logdir=later", "--port=0", "--load_fast=false"])
    noise = capsys.readouterr().err
    assert "later" in noise
    assert "--load_fast has no effect" in noise


def test_variables_for_other_servers_do_not_close_this_one(
    monkeypatch: pytest.MonkeyPatch, kernel: Path
) -> None:
    """A frame has no token, and a browser no socket."""
    monkeypatch.setenv("TBCORE_TOKEN", "a-token")
    monkeypatch.setenv("TBCORE_UDS", str(kernel / "socket"))
    server = server_for(ARGUMENTS)
    assert get(server, f"{server.path}data/environment")[0] == 200


def test_variables_that_say_where_servers_listen(
    monkeypatch: pytest.MonkeyPatch, kernel: Path
) -> None:
    """A port is that of the first server, and all listen on loopback."""
    monkeypatch.setenv("TBCORE_HOST", "0.0.0.0")
    monkeypatch.setenv("TBCORE_BIND_ALL", "1")
    first = server_for(["--logdir", "runs"])
    monkeypatch.setenv("TBCORE_PORT", str(first.port))
    second = server_for(["--logdir", "runs", "--window_title=x"])
    for server in (first, second):
        assert get(server, f"{server.path}data/environment")[0] == 200
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", server.port))
    for server in (first, second):
        server.process.kill()
        server.process.wait()
    assert server_for(["--logdir", "runs"]).port == first.port


@pytest.mark.parametrize("host", ["127.0.0.2", "127.0.0.1", "0.0.0.0"])
def test_the_address_has_the_host_on_which_the_server_listens(kernel: Path, host: str) -> None:
    frame = tbcore_jupyter.show("runs", "--port=0", "--host", host)
    assert urlsplit(frame.url).hostname == ("localhost" if host == "0.0.0.0" else host)
    with urllib.request.urlopen(frame.url, timeout=WAIT_SECONDS) as page:
        assert b"<title>" in page.read()


def test_files_in_the_working_directory_are_not_imported(kernel: Path) -> None:
    """A folder of notebooks may have any names."""
    for name in ("numpy", "click", "tbcore"):
        (kernel / f"{name}.py").write_text("raise RuntimeError('imported')")
    assert server_for(ARGUMENTS).process.poll() is None


def test_only_the_jupyter_server_of_the_kernel_may_frame_the_page(
    kernel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its port is in a file of its own; other ports of the machine are other users'."""
    paths = types.ModuleType("jupyter_core.paths")
    paths.jupyter_runtime_dir = lambda: str(kernel)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "jupyter_core", types.ModuleType("jupyter_core"))
    monkeypatch.setitem(sys.modules, "jupyter_core.paths", paths)
    monkeypatch.setenv("JPY_PARENT_PID", "123")
    file = kernel / "jpserver-123.json"
    file.write_text(json.dumps({"port": 8899, "secure": False, "token": "x"}))
    server = server_for(ARGUMENTS)
    _, headers, _ = get(server, server.path)
    policy = headers["content-security-policy"]
    frames = "frame-ancestors 'self' http://localhost:8899 http://127.0.0.1:8899"
    assert policy.endswith(frames)
    file.unlink()
    server = server_for([*ARGUMENTS, "--window_title=x"])
    _, headers, _ = get(server, server.path)
    assert headers["content-security-policy"].endswith("frame-ancestors 'self'")


def test_show_takes_any_path_and_options(kernel: Path) -> None:
    frame = tbcore_jupyter.show(
        kernel / "runs", "--port=0", view="http://host/#text&x=1", height=300
    )
    assert re.fullmatch(r"http://localhost:\d+/.{32}/#text&x=1", frame.url)
    assert repr(frame) == f"tbcore at {frame.url}"


@pytest.fixture
def magic(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """The magic function, as IPython calls it."""
    error = types.ModuleType("IPython.core.error")
    error.UsageError = type("UsageError", (Exception,), {})  # type: ignore[attr-defined]
    for name in ("IPython", "IPython.core"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, "IPython.core.error", error)
    registered: dict[str, Any] = {}

    class Shell:
        def register_magic_function(self, function: Any, kind: str, name: str) -> None:
            registered[f"{kind} {name}"] = function

    tbcore_jupyter.load_ipython_extension(Shell())
    function: Callable[[str], Any] = registered["line tbcore"]
    return function


def test_the_magic_takes_options_and_a_directory(
    magic: Callable[[str], Any], kernel: Path, calls_of: Watch
) -> None:
    started = calls_of(subprocess.Popen.__init__)
    write_run(kernel / "my runs", "train", scalars={"loss": [1.0]})
    assert magic("'my runs' --port=0").url
    assert len(started) == 1


def test_the_magic_prints_the_help_of_the_server(
    magic: Callable[[str], Any], capsys: pytest.CaptureFixture[str], calls_of: Watch
) -> None:
    started = calls_of(server_for)
    assert magic("--help") is None
    assert "--reload_interval" in capsys.readouterr().out
    assert started == []


@pytest.mark.parametrize(
    ("line", "message"),
    [("--logdir 'runs", "No closing quotation"), ("--token x", "--token: servers of notebooks")],
)
def test_the_magic_shows_errors_without_a_traceback(
    magic: Callable[[str], Any], line: str, message: str
) -> None:
    with pytest.raises(sys.modules["IPython.core.error"].UsageError, match=message):
        magic(line)


def test_the_tab_of_jupyterlab_has_the_logs_of_the_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else those below the working directory; its icon exists."""
    found = jupyterlab_tab.server()
    assert found["command"][-2:] == ["--logdir", "."]
    assert Path(found["launcher_entry"]["icon_path"]).read_text().startswith("<svg")
    for name in ("TBCORE_LOGDIR", "TBCORE_LOGDIR_SPEC", "TBCORE_INDEX"):
        with monkeypatch.context() as patch:
            patch.setenv(name, "/logs")
            assert "--logdir" not in jupyterlab_tab.server()["command"]


def test_variables_for_other_servers_do_not_close_the_tab_of_jupyterlab(
    kernel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The proxy asks for `/` by the socket."""
    for name, text in {
        "LOGDIR_SPEC": "mine:runs", "PATH_PREFIX": "/x", "SECRET_PREFIX": "secret",
        "EMBED_IN": "https://example.com", "TOKEN": "x", "HOST": "0.0.0.0", "PORT": "1",
    }.items():  # fmt: skip
        monkeypatch.setenv(f"TBCORE_{name}", text)
    found = jupyterlab_tab.server()
    command = [word.format(unix_socket="socket") for word in found["command"]]
    with subprocess.Popen(command, env={**os.environ, **found["environment"]}) as process:
        try:
            until(lambda: is_listening() or process.poll() is not None)
            until(lambda: asked("data/runs") == b'["mine/train"]')
            assert b"<title>" in asked("")
        finally:
            process.kill()


def is_listening() -> bool:
    """Whether the socket accepts connections: its file exists a moment before."""
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex("socket") == 0


def asked(path: str) -> bytes:
    """The body of a response by the socket."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(WAIT_SECONDS)
        client.connect("socket")
        client.sendall(f"GET /{path} HTTP/1.0\r\nHost: lab.example\r\n\r\n".encode())
        with client.makefile("rb") as stream:
            return stream.read().partition(b"\r\n\r\n")[2]
