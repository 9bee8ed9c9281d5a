"""Running servers: `tbcore serve` in a process of its own, and requests sent byte by byte."""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import pytest
from common_fixtures import WAIT_SECONDS

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
        self.readers = [threading.Thread(target=self.collect, args=stream) for stream in streams]
        for reader in self.readers:
            reader.start()

    def collect(self, stream: IO[str], lines: list[str]) -> None:
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
