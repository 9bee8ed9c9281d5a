"""Fixtures for tests of the promises: `tbcore serve` in a process of its own, and raw HTTP.

Each test causes one fault, and checks that everything else still works. docs/reliability.md lists
the promises by number.
"""

from __future__ import annotations

import contextlib
import ctypes
import gzip
import json
import os
import re
import resource
import socket
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from common_fixtures import WAIT_SECONDS

from tbcore_testing import EventFileWriter, summaries, write_run

RESPONSE_TIMEOUT_SECONDS = WAIT_SECONDS
"""Timeout of each request."""


def pytest_itemcollected(item: pytest.Item) -> None:
    """Marks all tests of this folder."""
    item.add_marker("promise")


class HttpResponse(NamedTuple):
    """The response to one request."""

    status: int
    headers: dict[str, str]
    """Headers with names in lower case; values of the same name are joined with commas."""
    body: bytes
    """The body after decompression."""
    seconds: float
    """Time from the request to the last byte of the response."""

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")

    def json(self) -> Any:
        """The body as strict JSON, without NaN and Infinity."""
        assert self.status == 200, self.text
        return json.loads(self.body.decode("utf-8"), parse_constant=_reject)


def _reject(constant: str) -> None:
    raise ValueError(f"{constant} is not valid JSON")


class Connection:
    """A connection that sends requests byte by byte as given, one after the other."""

    def __init__(self, port: int | str, host: str = "127.0.0.1") -> None:
        """Connects to a port, or to the path of a unix socket."""
        if isinstance(port, str):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(RESPONSE_TIMEOUT_SECONDS)
            self.socket.connect(port)
        else:
            self.socket = socket.create_connection((host, port), timeout=RESPONSE_TIMEOUT_SECONDS)
        self.incoming = self.socket.makefile("rb")

    def send(self, request: bytes, *, no_body: bool = False) -> HttpResponse:
        """Sends bytes and reads one complete response; `no_body` for responses to HEAD."""
        started = time.monotonic()
        self.socket.sendall(request)
        status_line = self.incoming.readline()
        if not status_line:
            raise ConnectionError("the server closed the connection without a response")
        status = int(status_line.split()[1])
        headers: dict[str, str] = {}
        while line := self.incoming.readline().strip():
            name, _, value = line.decode("latin-1").partition(":")
            name, value = name.lower(), value.strip()
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        body = b""
        if no_body or status in (204, 304):
            pass
        elif headers.get("transfer-encoding") == "chunked":
            while size := int(self.incoming.readline(), 16):
                body += self.incoming.read(size)
                self.incoming.readline()
            self.incoming.readline()
        else:
            body = self.incoming.read(int(headers["content-length"]))
        seconds = time.monotonic() - started
        if body and headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        return HttpResponse(status, headers, body, seconds)

    def close(self) -> None:
        self.incoming.close()
        self.socket.close()


class Server:
    """A process of `tbcore serve`."""

    logdir: Path

    def __init__(
        self,
        arguments: list[str],
        environment: Mapping[str, str],
        folder: Path,
        *,
        descriptors: int | None = None,
    ) -> None:
        """Starts the server; `descriptors` limits its open files, None keeps the usual limit."""
        self.log, self.out = folder / "stderr.txt", folder / "stdout.txt"
        self.kept: Connection | None = None
        with self.out.open("wb") as stdout, self.log.open("wb") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tbcore", "serve", *arguments],
                stdout=stdout, stderr=stderr, cwd=folder, env=environment,
                start_new_session=True, preexec_fn=lambda: _confine(descriptors),
            )  # fmt: skip

    def wait_until_started(self) -> Server:
        """Waits until the server has printed its address."""
        self.wait(lambda: re.search(r"^tbcore \S+ at (http|unix)", self.out.read_text(), re.M))
        found = re.search(r" at (http://\S+|unix:\S+)", self.out.read_text())
        assert found
        self.address = found[1]
        """The printed address."""
        path = self.address.partition("unix:")[2]
        self.port: int | str = path or int(re.findall(r":(\d+)/", self.address)[0])
        """Where the server listens: a port, or the path of a unix socket."""
        return self

    def wait(self, is_true: Callable[[], object], seconds: float = WAIT_SECONDS) -> float:
        """Waits until a condition is true, and returns the seconds that this took."""
        started = time.monotonic()
        while not is_true():
            passed = time.monotonic() - started
            if self.process.poll() is not None or passed > seconds:
                pytest.fail(
                    f"not true after {passed:.1f} s; exit {self.process.returncode}, stderr:\n"
                    f"{self.stderr[-3000:]}"
                )
            time.sleep(0.02)
        return time.monotonic() - started

    @property
    def stderr(self) -> str:
        """The text on stderr."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def connect(self) -> Connection:
        return Connection(self.port)

    def request(
        self, path: str, *headers: str, method: str = "GET", host: str = "localhost",
        body: bytes | None = None,
    ) -> HttpResponse:  # fmt: skip
        """Sends one request on a new connection; headers are complete lines."""
        lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", "Connection: close", *headers]
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
        return self.raw("\r\n".join([*lines, "", ""]).encode("latin-1") + (body or b""))

    def raw(self, request: bytes) -> HttpResponse:
        """The first response to these bytes on a new connection."""
        connection = self.connect()
        try:
            return connection.send(request, no_body=request.startswith(b"HEAD "))
        finally:
            connection.close()

    def response_seconds(self, path: str) -> float:
        """Sends a request that must succeed, and returns the duration of the response."""
        response = self.request(path)
        assert response.status == 200, (path, response.text)
        return response.seconds

    def get(self, path: str, **query: object) -> HttpResponse:
        """Sends a GET request on a connection that stays open."""
        address = f"{path}?{urllib.parse.urlencode(query)}" if query else path
        request = f"GET {address} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode("latin-1")
        if self.kept is not None:
            try:
                return self.kept.send(request)
            except ConnectionError:  # closed because it was idle
                self.kept.close()
        self.kept = self.connect()
        return self.kept.send(request)

    def scalars(self, run: str, tag: str) -> list[list[Any]]:
        """Rows of wall time, step and value; empty if there is no such run or tag."""
        response = self.get("/data/plugin/scalars/scalars", run=run, tag=tag)
        return response.json() if response.status != 404 else []  # type: ignore[no-any-return]

    def steps(self, run: str, tag: str = "a") -> list[int]:
        return [step for _, step, _ in self.scalars(run, tag)]

    def wait_until_loaded(self) -> None:
        """Waits until the first pass over all files is complete."""
        self.wait(lambda: self.request("/data/status").json()["passes"])

    def wait_for_scan(self) -> None:
        """Waits until all present data has been read."""
        # The current pass may have scanned before the last change.
        passes = self.get("/data/status").json()["passes"]
        self.wait(lambda: self.get("/data/status").json()["passes"] >= passes + 2)

    def cpu_seconds(self) -> float:
        """CPU time that the server has used."""
        stat = Path(f"/proc/{self.process.pid}/stat").read_text()
        fields = stat.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def is_quiet(self) -> bool:
        """Whether it does little for half a second, and not because it waits for a processor."""
        cpu, before = self.cpu_seconds(), self.thread_seconds()
        time.sleep(0.5)
        after = self.thread_seconds().items()
        runnable = [sum(times) - sum(before.get(thread, ())) for thread, times in after]
        return self.cpu_seconds() - cpu <= 0.05 and max(runnable, default=0) < 0.25

    def thread_seconds(self) -> dict[str, tuple[float, float]]:
        """Maps each thread to the seconds for which it had a processor, and waited for one.

        Empty on systems that do not count them.
        """
        seconds = {}
        for path in self.proc("task").glob("*/schedstat"):
            with contextlib.suppress(OSError):  # The thread has ended since.
                ran, waited, _ = map(int, path.read_text().split())
                seconds[path.parent.name] = ran / 1e9, waited / 1e9
        return seconds

    def proc(self, name: str) -> Path:
        """Path of a file about the server in /proc; skips the test on systems without it."""
        if not Path("/proc/self/status").exists():
            pytest.skip("this system has no /proc")
        return Path(f"/proc/{self.process.pid}", name)

    def status_figure(self, name: str) -> int:
        """A number in /proc/PID/status, such as VmRSS in KiB, or Threads."""
        return int(re.findall(rf"^{name}:\s+(\d+)", self.proc("status").read_text(), re.M)[0])

    def memory(self) -> Memory:
        return Memory(self)

    def num_descriptors(self) -> int:
        return len(os.listdir(self.proc("fd")))

    def end(self) -> None:
        if self.kept is not None:
            self.kept.close()
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Memory:
    """The memory of a server, in bytes, compared with that when this was made.

    Pages of files, such as those of the program, are left out: a system may take them from a server
    that does nothing, and they come back with its next work.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        server.proc("clear_refs").write_text("5")  # The maximum is that from now on.
        self._files = server.status_figure("RssFile")
        self._before = server.status_figure("VmRSS") - self._files

    def added(self) -> int:
        files = self._server.status_figure("RssFile")
        return 1024 * (self._server.status_figure("VmRSS") - files - self._before)

    def most_added(self) -> int:
        # The maximum is with the files of that time, which the system may have taken since.
        files = max(self._files, self._server.status_figure("RssFile"))
        return 1024 * (self._server.status_figure("VmHWM") - files - self._before)


def _confine(descriptors: int | None) -> None:
    """Limits the child process, before it executes the server."""
    if descriptors is not None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))
    if os.geteuid() == 0:
        # Root may read files without permission, and tests run as root in containers.
        libc = ctypes.CDLL(None)
        for capability in _READING_ANYTHING:
            libc.prctl(_DROP_CAPABILITY, capability, 0, 0, 0)


_DROP_CAPABILITY = 24  # PR_CAPBSET_DROP
_READING_ANYTHING = (1, 2)  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH


def installed_plugin(folder: Path, name: str, source: str) -> None:
    """Writes a folder in which a plugin with this name is installed."""
    info = folder / f"tbcore_{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: tbcore-{name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[tbcore.plugins]\n{name} = my_{name}\n")
    (folder / f"my_{name}.py").write_bytes(source.encode("utf-8", "surrogateescape"))


@pytest.fixture(scope="session")
def start_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Server]]:
    """`start_server(logdir, "--option", plugins={"name": source}, VARIABLE="x")` returns a Server.

    It loads all installed plugins, and those with the given sources. Servers are stopped after all
    tests.
    """
    if not entry_points(group="tbcore.plugins", name="scalars"):
        pytest.skip("tbcore-scalars is not installed, so a server of its own finds no plugin")
    servers: list[Server] = []

    def start(
        logdir: Path | str | None,
        *options: str,
        plugins: Mapping[str, str] | None = None,
        descriptors: int | None = None,
        waits: bool = True,
        **variables: str,
    ) -> Server:
        folder = tmp_path_factory.mktemp("server")
        site = folder / "site-packages"
        for name, source in (plugins or {}).items():
            installed_plugin(site, name, source)
        path = [str(site), *(os.path.abspath(entry) for entry in sys.path if entry)]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("TBCORE_")}
        path[:0] = filter(None, [variables.pop("PYTHONPATH", "")])
        environment["PYTHONPATH"] = os.pathsep.join(path)
        arguments = ["--logdir", str(logdir)] if logdir else []
        arguments += ["--reload_interval", "0.2", *options]
        arguments += [] if "--uds" in options else ["--port", "0"]
        environment |= variables
        servers.append(Server(arguments, environment, folder, descriptors=descriptors))
        return servers[-1].wait_until_started() if waits else servers[-1]

    yield start
    for server in servers:
        server.end()


@pytest.fixture
def start(start_server: Callable[..., Server]) -> Iterator[Callable[..., Server]]:
    """Like `start_server`, but servers are stopped after the test."""
    servers: list[Server] = []

    def start(*arguments: Any, **settings: Any) -> Server:
        servers.append(start_server(*arguments, **settings))
        return servers[-1]

    yield start
    for server in servers:
        server.end()


@pytest.fixture(scope="session")
def shared(start_server: Callable[..., Server], tmp_path_factory: pytest.TempPathFactory) -> Server:
    """A server for tests that only add runs to its `logdir`, each in a folder of its own."""
    logdir = tmp_path_factory.mktemp("shared")
    server = start_server(logdir)
    server.logdir = logdir
    return server


GRAPH = b"\x0a\x06\x0a\x01x\x12\x01X"
"""A GraphDef with one node."""


def write_runs(logdir: Path) -> None:
    """Writes data for every plugin, in runs `train`, `eval` and `media`."""
    numbers = [float(step) for step in range(100)]
    write_run(logdir, "train", scalars={"loss": numbers, "a/b": numbers})
    write_run(logdir, "eval", scalars={"loss": numbers[:10]})
    write_run(
        logdir, "media",
        histograms={"h": [[1.0, 2.0], [3.0]]}, images={"i": [summaries.png()]},
        audio={"a": [summaries.wav()]}, texts={"t": ["*text*", "more"]},
        graph=GRAPH, run_metadata={"r": b"\x0a\x00"},
        hparams={},
    )  # fmt: skip
    with EventFileWriter(logdir / "media" / "more.tfevents") as writer:
        for step in range(3):
            writer.add_summary(step, summaries.pr_curve("p", [True, False], [0.9, 0.1 * step]))
        charts = {"all": ["Multiline", ["loss", "a/.*"]], "band": ["Margin", ["loss", "a/b", "x"]]}
        writer.add_summary(0, summaries.chart_layout({"charts": charts}))


@pytest.fixture(scope="session")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    write_runs(folder)
    return folder


@pytest.fixture(scope="session")
def faulty() -> str:
    """The source of a plugin with a different error in each route."""
    return FAULTY


@pytest.fixture(scope="session")
def server(start_server: Callable[..., Server], logdir: Path, faulty: str) -> Server:
    """A server for read-only tests, with all installed plugins, `faulty` and `failed`."""
    server = start_server(logdir, plugins={"faulty": faulty, "failed": "raise RuntimeError"})
    server.wait_until_loaded()
    return server


FAULTY = """
import threading
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from tbcore import PluginInfo, hookimpl

def fail(request):
    raise KeyError("a secret of the plugin")

def block(request):
    threading.Event().wait()

def own_headers(request):
    return Response(b"<script>", headers={
        "content-security-policy": "default-src *", "x-content-type-options": "no",
        "cross-origin-resource-policy": "cross-origin", "content-type": "text/html",
    })

def stream(request):
    return StreamingResponse(iter([b"one", b"two"]))

def count(request):
    global posts
    if request.method == "POST":
        posts += 1
    return PlainTextResponse(str(posts))

posts = 0

@hookimpl
def plugin_info():
    return PluginInfo(title="Faulty", module=None)

@hookimpl
def routes():
    return [
        Route("/fail", fail), Route("/block", block), Route("/own_headers", own_headers),
        Route("/stream", stream), Route("/count", count, methods=["GET", "POST"]),
    ]
"""
