"""Connections: requests sent byte by byte, and clients that are slow, wrong or gone."""

from __future__ import annotations

import asyncio
import http.client
import os
import re
import signal
import socket
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from calls import Watch
from common_fixtures import AT_ONCE_SECONDS, WAIT_SECONDS, patient_tuning, until
from running_servers import (
    PLUGIN,
    TIME,
    Make,
    RunningServer,
    open_stream,
    raw,
)
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from tbcore.plugins.config import Config
from tbcore.plugins.loading import load_plugins
from tbcore.server import compress
from tbcore.server.app import create_app
from tbcore.server.http_server import HttpServer
from tbcore.server.protocol import TimeoutProtocol
from tbcore.store.board import Board

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

    It logs nothing, and takes 0.3 s on an idle machine.
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
    assert seconds < AT_ONCE_SECONDS
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
    assert seconds < AT_ONCE_SECONDS
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
    assert seconds < AT_ONCE_SECONDS


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
        app = create_app(config, board=Board(), plugins=plugins)
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
    assert time.monotonic() - started < AT_ONCE_SECONDS
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
    size = 2_000_000  # A piece of the response alone takes more than twice the timeout.
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
            # So the server sees each time that the client has read.
            buffer = transport.get_extra_info("socket")
            buffer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 20_000)
            super().connection_made(transport)

        def _watch_response(self, num_unsent: int, since: float) -> None:
            nonlocal num_checks
            num_checks += 1
            super()._watch_response(num_unsent, since)

    def large(request: Request) -> Response:
        return Response(b"\0" * size, media_type="application/octet-stream")

    port = in_process([Route("/x", large)], protocol=Patient, stall_timeout_seconds=1.0)
    with socket.socket() as connection:
        # So the server cannot send all of it before the client reads.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 20_000)
        connection.settimeout(WAIT_SECONDS)
        connection.connect(("127.0.0.1", port))
        connection.sendall(b"GET /data/plugin/made/x HTTP/1.1\r\nHost: localhost\r\n\r\n")
        head, _, body = connection.recv(20_000).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 ")
        received = len(body)
        while received < size and (part := connection.recv(20_000)):
            received += len(part)
            seconds += 0.2
            if received < size - 500_000:  # The server still has some of it.
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
    in_process: Make, limits: Make, calls_of: Watch, caplog: pytest.LogCaptureFixture
) -> None:
    """The rest of it is neither compressed nor kept in memory, and nothing is logged."""
    parts = calls_of(compress._next_part)
    limits(compress, MAX_PART_BYTES=1 << 20)
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
    assert 0 < len(parts) < 100
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
