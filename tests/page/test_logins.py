"""Servers with a token in a real browser: their cookies, beside each other and after a restart."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tbcore_testing import write_run


@pytest.fixture
def tunnel() -> Iterator[Callable[[str, int], int]]:
    """`tunnel(host, port)`: a port of 127.0.0.1 that leads there, as one of `ssh -L` does."""
    listeners: list[socket.socket] = []

    def copy(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while part := source.recv(1 << 16):
                target.sendall(part)
        with suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def accept(listener: socket.socket, address: tuple[str, int]) -> None:
        with suppress(OSError):  # The listener is closed at the end.
            while True:
                client, _ = listener.accept()
                server = socket.create_connection(address)
                for ends in ((client, server), (server, client)):
                    threading.Thread(target=copy, args=ends, daemon=True).start()

    def make(host: str, port: int) -> int:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)
        threading.Thread(target=accept, args=(listener, (host, port)), daemon=True).start()
        forwarded: int = listener.getsockname()[1]
        return forwarded

    yield make
    for listener in listeners:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    write_run(tmp_path / "runs", "train", scalars={"loss": [1.0, 0.5]})
    return tmp_path / "runs"


def runs_of(page: Any) -> Any:
    """What the server responds to the page's own request for its runs."""
    return page.evaluate("fetch('data/runs').then((response) => response.text())")


def test_forwarded_servers_do_not_log_each_other_out(
    logdir: Path,
    serve: Callable[..., Any],
    new_profile: Callable[..., Any],
    tunnel: Callable[[str, int], int],
) -> None:
    """Two machines have a server on the same port, and each has a tunnel to it.

    The browser sends the cookies of both servers to both of them.
    """
    profile = new_profile()
    first = serve(logdir, "--host", "127.0.0.2", host="127.0.0.2", token="first-secret")
    port = int(first.url.rpartition(":")[2])
    options = ["--host", "127.0.0.3", "--port", str(port)]
    serve(logdir, *options, host="127.0.0.3", token="second-secret")
    pages = []
    for host, token in (("127.0.0.2", "first-secret"), ("127.0.0.3", "second-secret")):
        forwarded = tunnel(host, port)
        pages.append(profile.open(f"http://127.0.0.1:{forwarded}", f"?token={token}"))

    for page in pages:
        page.reload()
        page.get_by_role("checkbox", name="train").wait_for()
        assert runs_of(page) == '["train"]'
        assert "token" not in page.url
    cookies = profile.context.cookies()
    assert len({cookie["name"] for cookie in cookies}) == 2
    for cookie in cookies:
        assert "secret" not in str(cookie)
        assert cookie["httpOnly"]
        assert cookie["sameSite"] == "Lax"


def test_the_write_token_leaves_the_address_at_once(
    logdir: Path, serve: Callable[..., Any], new_profile: Callable[..., Any]
) -> None:
    """Also if it is pasted into an open page; so it is in no link that is copied. What has not
    worked yet is kept apart from the token that works."""
    profile, server = new_profile(), serve(logdir)
    profile.context.route("**/data/notes?*", lambda route: None)  # None is tried yet.
    page = profile.open(server.url, "#write=a-token_1")
    page.get_by_role("checkbox", name="train").wait_for()
    kept = "localStorage.getItem('tbcore.write.new')"
    page.wait_for_function(f"() => {kept} === 'a-token_1' && !location.href.includes('write')")
    page.evaluate("location.hash = '#write=another'")
    page.wait_for_function(f"() => {kept} === 'another' && !location.href.includes('write')")
    assert page.evaluate("() => localStorage.getItem('tbcore.write')") is None
    profile.context.unroute_all()


def test_a_restart_with_the_same_token_keeps_the_login(
    logdir: Path, serve: Callable[..., Any], new_profile: Callable[..., Any]
) -> None:
    """The open page goes on by itself, and so does a page that is opened later, for a week."""
    profile = new_profile()
    server = serve(logdir, token="secret")
    page = profile.open(server.url, "?token=secret")
    page.get_by_role("checkbox", name="train").wait_for()
    profile.expects_errors = True  # The server is away for a while.

    server.stop()
    write_run(logdir, "later", scalars={"loss": [1.0]})
    server.start()

    page.get_by_role("checkbox", name="later").wait_for()
    later = profile.open(server.url)
    later.get_by_role("checkbox", name="later").wait_for()
    [cookie] = profile.context.cookies()
    week = later.evaluate("Date.now() / 1000 + 7 * 86400")
    assert week - 3600 < cookie["expires"] <= week


@pytest.fixture
def framing() -> Iterator[Callable[[list[str]], str]]:
    """`framing(framed)`: a page on a port of its own, with a frame of the address in the list."""
    servers: list[ThreadingHTTPServer] = []

    def make(framed: list[str]) -> str:
        class Page(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("content-type", "text/html")
                self.end_headers()
                self.wfile.write(
                    f"<iframe width=900 height=600 src='{framed[0]}'></iframe>".encode()
                )

            def log_message(self, *arguments: object) -> None:
                """Nothing: the log is stderr."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}"

    yield make
    for server in servers:
        server.shutdown()
        server.server_close()


def test_only_allowed_pages_show_the_page_in_a_frame(
    serve: Any, chromium: Any, framing: Callable[[list[str]], str], logdir: Path, tmp_path: Path
) -> None:
    """The frame has charts, and with `embed` no top bar. A page of another port gets none."""
    secret = tmp_path / "secret"
    framed: list[str] = []
    secret.write_text(f"/{'x' * 32}\n")
    secret.chmod(0o600)
    allowed, other = framing(framed), framing(framed)
    options = ["--secret_prefix", str(secret), "--embed_in", allowed]
    server = serve(logdir, *options, prefix=f"/{'x' * 32}")
    framed.append(f"{server.url}/?embed")
    page = chromium.new_context().new_page()

    page.goto(allowed)
    frame = page.frame_locator("iframe")
    frame.get_by_text("loss").first.wait_for()
    assert not frame.locator(".top-bar").is_visible()
    assert not frame.locator("aside").is_visible()

    page.goto(other)
    page.wait_for_function("() => document.querySelector('iframe').contentDocument === null")
    assert page.frames[1].url.startswith("chrome-error:")
    page.context.close()
