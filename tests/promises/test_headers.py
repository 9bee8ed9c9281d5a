"""P16: every response has the strict headers, whatever makes it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

GET = "GET {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{}\r\n"

RESPONSES: dict[str, tuple[int, str]] = {
    "the page": (200, GET.format("/", "")),
    "the page, compressed": (200, GET.format("/", "Accept-Encoding: gzip\r\n")),
    "a module": (200, GET.format("/static/tbcore/shell/boot.js", "")),
    "a module of a plugin": (200, GET.format("/static/plugins/scalars/index.js", "")),
    "data": (200, GET.format("/data/runs", "")),
    "numbers": (200, GET.format("/data/plugin/scalars/scalars?run=train&tag=loss", "")),
    "CSV": (200, GET.format("/data/plugin/scalars/scalars?run=train&tag=loss&format=csv", "")),
    "text": (200, GET.format("/data/plugin/graphs/graph?run=media", "")),
    "a picture": (200, GET.format("/data/plugin/images/individualImage?run=media&tag=i&index=0",
                                  "")),
    "a stream of a plugin": (200, GET.format("/data/plugin/faulty/stream", "")),
    "a plugin's own headers": (200, GET.format("/data/plugin/faulty/own_headers", "")),
    "a part": (206, GET.format("/data/plugin/audio/individualAudio?run=media&tag=a&index=0",
                               "Range: bytes=0-3\r\n")),
    "the old page's address": (302, GET.format("/audio", "")),
    "what the client has": (304, GET.format("/static/tbcore/format.js", "If-None-Match: *\r\n")),
    "no HTTP": (400, "nonsense\r\n\r\n"),
    "no HTTP, after a while": (400, GET.format("/data/runs", "Content-Length: -1\r\n")),
    "a header without end": (400, GET.format("/data/runs", f"X: {'a' * 200_000}\r\n")),
    "no host": (400, "GET / HTTP/1.1\r\n\r\n"),
    "no parameter": (400, GET.format("/data/plugin/scalars/scalars", "")),
    "another host": (403, "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
    "another site": (403, "POST / HTTP/1.1\r\nHost: localhost\r\nOrigin: null\r\n\r\n"),
    "no such address": (404, GET.format("/nothing", "")),
    "no such file": (404, GET.format("/static/tbcore/nothing.js", "")),
    "no such tag": (404, GET.format("/data/plugin/scalars/scalars?run=train&tag=x", "")),
    "another method": (405, GET.replace("GET", "DELETE").format("/data/runs", "")),
    "another method of a plugin": (405, GET.replace("GET", "PUT").format(
        "/data/plugin/scalars/tags", "")),
    "too much": (413, GET.replace("GET", "POST").format(
        "/data/plugin/scalars/window", "Content-Length: 99999999\r\n")),
    "no such part": (416, GET.format(
        "/data/plugin/audio/individualAudio?run=media&tag=a&index=0",
        "Range: bytes=99999999-\r\n")),
    "a fault of a plugin": (500, GET.format("/data/plugin/faulty/fail", "")),
    "a plugin that failed": (503, GET.format("/data/plugin/failed/x", "")),
    "only headers": (200, GET.replace("GET", "HEAD").format("/", "")),
    "only headers of an error": (404, GET.replace("GET", "HEAD").format("/nothing", "")),
}  # fmt: skip


def check(headers: dict[str, str], ancestors: str = "'self'") -> None:
    """Asserts that each header occurs once, with the promised value.

    `ancestors` are the origins whose pages may have the page in a frame.
    """
    policy = dict(
        part.strip().partition(" ")[::2] for part in headers["content-security-policy"].split(";")
    )
    # A repeated header would be joined with a comma.
    assert "," not in headers["content-security-policy"]
    assert policy["default-src"] == "'none'"
    for kind in ("script-src", "style-src", "connect-src", "worker-src"):
        assert policy[kind].split()[0] == "'self'"
        assert "unsafe" not in policy[kind]
        assert "http" not in policy[kind]
        assert "*" not in policy[kind]
    for name in ("base-uri", "form-action"):
        assert policy[name] == "'none'"
    assert policy.get("frame-src", "'self'") == "'self'"
    assert policy["frame-ancestors"] == ancestors
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cache-control"].startswith("no-")
    assert "server" not in headers
    assert not [name for name in headers if name.startswith("access-control")]


@pytest.mark.parametrize("name", RESPONSES)
def test_p16_every_response_has_the_headers(server: Any, name: str) -> None:
    """Responses are made by the HTTP parser, the core or a plugin."""
    status, request = RESPONSES[name]
    response = server.raw(request.encode("latin-1"))
    assert response.status == status, response.text
    check(response.headers)


def test_p16_an_open_stream_has_the_headers(server: Any) -> None:
    """The headers are sent before the first message."""
    connection = server.connect()
    connection.socket.sendall(GET.format("/data/updates", "").encode())
    head = b""
    while b"\r\n\r\n" not in head:
        head += connection.socket.recv(1000)
    connection.close()
    lines = head.partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
    pairs = [line.partition(": ")[::2] for line in lines]
    names = [name.lower() for name, _ in pairs]
    assert len(set(names)) == len(names)
    check({name.lower(): value for name, value in pairs})


def test_p16_a_server_with_a_token_has_them_too(
    start_server: Callable[..., Any], logdir: Any
) -> None:
    """They are in the rejection, and in the response that sets the cookie."""
    server = start_server(logdir, TBCORE_TOKEN="secret")
    for status, path in ((401, "/data/runs"), (401, "/?token=x"), (303, "/?token=secret")):
        response = server.request(path)
        assert response.status == status
        check(response.headers)


def test_p16_a_server_with_a_secret_path_has_them_too(
    start_server: Callable[..., Any], logdir: Any, tmp_path: Path
) -> None:
    """Only pages of the given origin may show the page in a frame, besides those of its own."""
    file, wiki = tmp_path / "secret", "https://wiki.example.com"
    server = start_server(logdir, "--secret_prefix", str(file), "--embed_in", wiki)
    secret = file.read_text().strip()
    frame = ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"]
    for status, path, headers in (
        (200, f"{secret}/", []),
        (200, f"{secret}/", frame),
        (403, f"{secret}/data/runs", frame),
        (404, f"{secret}x/", frame),
        (404, "/", []),
        (404, "/data/runs", []),
    ):
        response = server.request(path, *headers)
        assert response.status == status
        check(response.headers, f"'self' {wiki}")


PAGE_PLUGIN = """
from tbcore import PluginInfo, hookimpl

@hookimpl
def plugin_info():
    return PluginInfo(title="Page", page="static/index.html", page_allows={})
"""


@pytest.mark.parametrize("allows", [[], ["eval"]])
def test_p16_the_page_of_a_plugin_has_a_policy_of_the_core(
    start_server: Callable[..., Any], logdir: Any, tmp_path: Path, allows: list[str]
) -> None:
    """WebAssembly, inline styles and blob workers; eval only if it is declared and listed."""
    folder = tmp_path / "plugins" / "shown"
    (folder / "static").mkdir(parents=True)
    (folder / "__init__.py").write_text(PAGE_PLUGIN.format(allows))
    (folder / "static" / "index.html").write_text("<!doctype html>")
    server = start_server(logdir, "--plugins_dir", str(folder.parent))
    scripts = ["'self'", "'wasm-unsafe-eval'", *(["'unsafe-eval'"] if allows else [])]
    for status, file in ((200, "index.html"), (404, "none.html")):
        response = server.request(f"/static/plugins/shown/{file}")
        assert response.status == status
        headers = dict(response.headers)
        policy = headers["content-security-policy"]
        assert f"script-src {' '.join(scripts)};" in policy
        assert "style-src 'self' 'unsafe-inline';" in policy
        assert "worker-src 'self' blob:;" in policy
        # Without what a page may do, it is as strict as all others.
        for allowed in (*scripts[1:], "'unsafe-inline'"):
            policy = policy.replace(f" {allowed}", "")
        check(headers | {"content-security-policy": policy})
    assert "http" not in policy
    [listed] = [p for p in server.request("/data/plugins").json()["plugins"]
                if p["name"] == "shown"]  # fmt: skip
    assert listed["page_allows"] == allows
