"""Tables of requests and answers: their rows, their servers, and the rules for all of them."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

from asking import Answer, ask
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from tbcore import PluginInfo, hookimpl
from tbcore.http import is_reader

SECRET_PATH = "/base/s" + "x" * 32
SERVERS: Mapping[str, Mapping[str, Any]] = {
    "plain": {},
    "dev": {"dev": True},
    "prefix": {"path_prefix": "/a/b"},
    "named": {"host": "Logs.lan"},
    "allowed": {"allowed_hosts": ("Logs.example.com", "example.org:8443", "[fd00::1]")},
    "any host": {"allowed_hosts": ("*",)},
    "token": {"token": "secret"},
    "token, allowed": {"token": "secret", "allowed_hosts": ("example.com",)},
    "two tokens": {"token": "secret", "read_token": "reading"},
    "framed": {"embed_in": ("http://localhost:*",)},
    "secret": {"path_prefix": SECRET_PATH, "has_secret_prefix": True},
    "secret, framed": {
        "path_prefix": SECRET_PATH, "has_secret_prefix": True, "embed_in": ("https://a.b",),
    },
}  # fmt: skip
"""The settings of each server."""

SAFETY = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
POLICY = (
    "default-src 'none'; script-src 'self'{hash}; style-src 'self'; img-src 'self' blob: data:; "
    "media-src 'self' blob:; connect-src 'self'; worker-src 'self'; font-src 'self'; "
    "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors {ancestors}"
)


class Row(NamedTuple):
    """A request to a server, and its answer."""

    server: str
    request: str
    headers: tuple[tuple[str, str], ...]
    status: int
    answer: str = ""
    """The whole body of a success, the beginning of an error, `gzip: ` and a body, or a header."""


_LINE = re.compile(r"(?P<request>\S+ \S+)(?P<headers>(?: \| .*?)*)\s+(?P<status>\d{3})(?: (.*))?")


def lines(server: str, text: str) -> list[Row]:
    """The rows of a server; see the docstring of test_http_contract.py."""
    rows = []
    for line in text.strip().splitlines():
        found = _LINE.fullmatch(line)
        assert found, line
        parts = [part.strip().partition(": ") for part in found["headers"].split(" | ")[1:]]
        headers = tuple((name, value) for name, _, value in parts)
        answer = (found[4] or "").replace(r"\r", "\r").replace(r"\n", "\n")
        rows.append(Row(server, found["request"], headers, int(found["status"]), answer))
    return rows


def row_id(row: Row) -> str:
    """The name of a row in the output of pytest."""
    headers = "".join(f" | {name}: {value}" for name, value in row.headers)
    return f"{row.server}: {row.request}{headers}"[:100].encode("unicode_escape").decode()


def check(row: Row, app: Any) -> None:
    """Sends the request of a row. Fails if its answer is another one, or breaks a rule of all."""
    answer = ask(app, row.request, row.headers)
    headers = answer.headers
    assert answer.status == row.status, answer.text
    check_answer(row, headers, answer.body)
    for name, value in SAFETY.items():
        assert headers.getlist(name) == [value]
    [policy] = headers.getlist("content-security-policy")
    ancestors = " ".join(["'self'", *SERVERS.get(row.server, {}).get("embed_in", ())])
    without_hashes = re.sub(r" 'sha256-[A-Za-z0-9+/=]{44}'", "", policy)
    assert without_hashes == POLICY.format(hash="", ancestors=ancestors)
    # Files for developers, redirects with a cookie, and the stream are not kept at all.
    is_kept = row.server != "dev" and row.status != 303 and row.request != "HEAD /data/updates"
    assert headers.getlist("cache-control") == ["no-cache" if is_kept else "no-store"]
    assert "server" not in headers
    assert not [name for name in headers if name.startswith("access-control")]
    if row.status >= 400:
        assert headers["content-type"] == "text/plain; charset=utf-8"
        assert len(answer.text.splitlines()) == 1
    if row.request.startswith("GET "):
        head = ask(app, row.request.replace("GET", "HEAD", 1), row.headers)
        assert (head.status, head.body) == (answer.status, b"")
        assert without_cookie(head) == without_cookie(answer)


def without_cookie(answer: Answer) -> list[tuple[str, str]]:
    """The headers of a response, except for one that has a time."""
    return [header for header in answer.headers.items() if header[0] != "set-cookie"]


def check_answer(row: Row, headers: Mapping[str, str], body: bytes) -> None:
    """Fails if a response lacks the answer of a row."""
    is_head = row.request.startswith("HEAD ")
    assert body == b"" if is_head else int(headers["content-length"]) == len(body)
    if row.answer.startswith("gzip: "):
        assert headers["content-encoding"] == "gzip"
        assert gzip.decompress(body).decode().rstrip() == row.answer.removeprefix("gzip: ")
        return
    assert "content-encoding" not in headers
    if header := re.fullmatch(r"([a-z-]+): (.*)", row.answer):
        assert headers[header[1]] == header[2]
    elif row.status >= 400:
        assert body.decode().startswith(row.answer)
    elif row.answer:
        assert body.decode() == row.answer


def package(folder: Path) -> ModuleType:
    """A plugin that is a package on disk, with files for browsers and other files."""
    (folder / "static" / "lib").mkdir(parents=True)
    files = {
        "static/index.js": "export default {};", "static/lib/a b.mjs": "1",
        "static/style.css": "a{}", "static/data.bin": "\0\1", "static/.secret": "no",
        "static/code.py": "no", "static/index.js:stream": "no", "static/..\\secret.txt": "no",
        "secret.txt": "no",
    }  # fmt: skip
    for name, text in files.items():
        (folder / name).write_text(text)
    module = ModuleType("package")
    module.__file__ = str(folder / "__init__.py")
    module.plugin_info = hookimpl(lambda: PluginInfo(title="Package"))  # type: ignore[attr-defined]
    return module


def hello(request: Request) -> Response:
    return PlainTextResponse(f"{request.method.replace('HEAD', 'GET')} hello")


def fails(request: Request) -> Response:
    raise ValueError


def own_policy(request: Request) -> Response:
    return PlainTextResponse("", headers={"content-security-policy": "default-src *"})


def who(request: Request) -> Response:
    return PlainTextResponse("a reader" if is_reader(request) else "the owner")


ROUTES = [
    Route("/x", hello, methods=["GET", "POST", "DELETE"]), Route("/fails", fails),
    Route("/csp", own_policy), Route("/who", who),
]  # fmt: skip
"""Those of the plugin `made` at each server."""


def apps(
    make_client: Callable[..., Any], make_plugin: Callable[..., Any], folder: Path, **more: Any
) -> Callable[[str], Any]:
    """A function that returns the application of one of SERVERS, or of `more`.

    It has a plugin with routes, one with files, which are written to the folder, and a failed one.
    """
    working = {"made": make_plugin(routes=lambda: ROUTES), "package": package(folder)}
    plugins = {**working, "bad": SimpleNamespace()}
    made: dict[str, Any] = {}

    def app_of(server: str) -> Any:
        if server not in made:
            config = {**SERVERS, **more}[server]
            # With `dev`, a failed plugin ends the start.
            made[server] = make_client(
                **{"plugins": working if "dev" in config else plugins, **config}
            ).app
        return made[server]

    return app_of
