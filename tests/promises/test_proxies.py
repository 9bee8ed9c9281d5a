"""The proxy in docs/security.md works: page and updates, below a path, with a token."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.services

PAGE = Path(__file__).resolve().parents[2] / "docs" / "security.md"
HOST = "logs.example.com"


@pytest.fixture
def proxied(
    service: Callable[[str], str],
    free_port: Callable[[], int],
    wait_for_port: Callable[..., None],
    start_server: Callable[..., Any],
    logdir: Path,
    tmp_path: Path,
) -> Iterator[Any]:
    """A server behind nginx as documented, but without TLS; its `port` is that of nginx."""
    program = service("nginx")
    server = start_server(logdir, "--path_prefix", "/logs", TBCORE_TOKEN="secret")
    port = free_port()
    found = re.search(r"```nginx\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found
    site = found[1].replace("443 ssl", f"127.0.0.1:{port}").replace(":6006", f":{server.port}")
    site = re.sub(r"\n *ssl_.*", "", site)
    assert f":{server.port};" in site
    folders = "".join(
        f"{name}_temp_path {tmp_path}/{name};\n"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (tmp_path / "nginx.conf").write_text(
        f"daemon off; pid {tmp_path}/pid; error_log stderr;\nevents {{ }}\n"
        f"http {{ access_log off;\n{folders}{site} }}\n"
    )
    proxy = subprocess.Popen([program, "-p", str(tmp_path), "-c", "nginx.conf", "-e", "stderr"])
    server.port = port
    wait_for_port(proxy, port)
    yield server
    proxy.terminate()
    proxy.wait(10)


def test_the_documented_proxy_works(proxied: Any) -> None:
    """The Host header is the public name, and headers about the client are ignored."""
    assert proxied.request("/logs/data/runs", host=HOST).status == 401
    welcome = proxied.request("/logs/?token=secret", host=HOST)
    assert (welcome.status, welcome.headers["location"]) == (303, "?_")
    cookie = f"Cookie: {welcome.headers['set-cookie'].partition(';')[0]}"
    assert "Path=/logs;" in welcome.headers["set-cookie"]

    assert b"<title>" in proxied.request("/logs/", cookie, host=HOST).body
    assert len(proxied.request("/logs/data/runs", cookie, host=HOST).json()) == 3
    own = ["Sec-Fetch-Site: same-origin", f"Origin: https://{HOST}"]
    path = "/logs/data/plugin/images/steps"
    body = b'{"runs": [], "tags": []}'
    assert proxied.request(path, cookie, *own, method="POST", host=HOST, body=body).status == 200
    foreign = ["Origin: https://evil.example"]
    assert (
        proxied.request(path, cookie, *foreign, method="POST", host=HOST, body=body).status == 403
    )

    connection = proxied.connect()
    connection.socket.sendall(
        f"GET /logs/data/updates HTTP/1.1\r\nHost: {HOST}\r\n{cookie}\r\n\r\n".encode()
    )
    received = b""
    while b"data: " not in received:
        received += connection.socket.recv(1 << 16)
    connection.close()
