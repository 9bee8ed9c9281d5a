"""P12: no query, body or header gives a 5xx, and errors are one line without internals."""

from __future__ import annotations

import gzip
import json
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tbcore.server

OTHERS = ["/", "/static/tbcore/shell.js", "/static/plugins/scalars/index.js", "/nothing"]

NAMES = [
    "run", "tag", "tagname", "index", "sample", "samples", "sample_count", "format", "step", "nth",
    "limit_attr_size", "large_attrs_key", "name", "text", "scope", "token", "request", "known",
    "aggregation", "max", "axis", "width", "from", "to", "columnsVisibility", "experiment", "query",
    "graph", "path", "series", "offset", "limit", "markdown", "group", "op", "runs",
]  # fmt: skip

VALUES = [
    "train", "eval", "media", "loss", "h", "i", "a", "r", "x", "csv", "json", "", "0", "1", "-1",
    "t", "p", "1e9", "1e999", "NaN", "Infinity", "0x10", "9" * 30, "9" * 5000, "-" + "9" * 19,
    "1.5", "true", "null", "[]", "{}", "[[]]", '{"a":1}', "%00", "%ff", "%ed%a0%80", "%", "%zz",
    "%u0041", "+", "%F0%9F%98%80", "%0d%0aX:%20y", "%3Cscript%3E", "../../etc/passwd", "%252e%252e",
    "'", '"', ";", "٣", "١", "a" * 3000, "(a*)*b", "*", "%7B", "/", "\\",
]  # fmt: skip

HEADERS = [
    "Accept-Encoding: gzip;q=nonsense, ,;;q=", "Accept-Encoding: *", "Range: bytes=-", "Cookie: =",
    "Range: bytes=0-0,5-9", "Range: bytes=99999999999999999999-", "If-None-Match: W/, *, \"",
    "If-Range: x", "If-Modified-Since: never", "Accept: \xff", "Content-Type: \xff/;;=",
    "Content-Encoding: gzip", "Expect: nothing", "Transfer-Encoding: gzip, chunked", "TE: x",
    "Upgrade: websocket", "Authorization: Bearer", "X: " + "a" * 9000, "Connection: a, b,, close",
    "Accept-Language: \x01", "Content-Length: 5",
]  # fmt: skip

MEMBERS = [
    "runs", "tags", "run", "tag", "axis", "width", "from", "to", "known", "groups", "smoothing",
    "lines", "series", "colParams", "hparam", "metric", "allowedStatuses", "startIndex", "members",
    "sliceSize", "filterRegexp", "filterInterval", "minValue", "maxValue", "filterDiscrete",
    "order", "experimentName", "sessionName", "metricName", "step", "x", "min", "max", "spread",
    "format", "query", "after", "index", "pixels", "margins", "value", "lower", "upper",
]  # fmt: skip

INTERNALS = (b"Traceback", b'File "', b".py", b"0x7f", b"site-packages", b"object at")

SERVER = Path(tbcore.server.__file__).parent

Question = tuple[str, bytes]
"""An address, and the bytes that ask for it."""


def query(pick: random.Random) -> str:
    """Parameters with values that are right, wrong, missing, doubled or no URL at all."""
    parts = []
    for _ in range(pick.randrange(6)):
        name = pick.choice(NAMES)
        parts.append(pick.choice([name, f"{name}=", "=", f"{name}={pick.choice(VALUES)}"]))
        parts[-1] += pick.choice(["", "", "", f"={pick.choice(VALUES)}"])
        if pick.random() < 0.7:
            parts[-1] = f"{name}={pick.choice(VALUES)}"
    return pick.choice(["&", "&", "&", ";", "&&"]).join(parts)


def document(pick: random.Random, depth: int = 4) -> Any:
    """JSON of any form, with the names that routes look for."""
    form = pick.randrange(9 if depth else 6)
    if form <= 1:
        return pick.choice(["train", "loss", "step", "wall", "\ud800", "a" * 100, "", "(", "é"])
    if form <= 3:
        return pick.choice([0, 1, -1, 1.5, 10**30, -(2**63), 2**63, 1e308, 100, float("inf")])
    if form <= 5:
        return pick.choice([None, True, False, float("nan"), [], {}])
    if form == 6:
        return [document(pick, depth - 1) for _ in range(pick.randrange(4))]
    names = [pick.choice(MEMBERS) for _ in range(pick.randrange(6))]
    return {name: document(pick, depth - 1) for name in names}


def body(pick: random.Random) -> tuple[list[str], bytes]:
    """A body and the headers that go with it, or do not."""
    data = json.dumps(document(pick)).encode()
    form = pick.randrange(12)
    if form == 0:
        data = pick.randbytes(pick.randrange(60))
    elif form == 1:
        data = data[: pick.randrange(len(data) + 1)]
    elif form == 2:
        data = b"[" * 100_000
    elif form == 3:
        return ["Content-Encoding: gzip"], gzip.compress(data)
    elif form == 4:
        return ["Content-Encoding: gzip"], gzip.compress(data)[: pick.randrange(30)]
    elif form == 5:
        return ["Content-Encoding: gzip"], gzip.compress(b" " * (20 << 20), 1)
    return [], data


def questions(path: str, methods: list[str], number: int) -> Iterator[Question]:
    """So many requests for a route, the same ones each time."""
    pick = random.Random(path)
    for _ in range(number):
        method = pick.choice([*methods, *methods, *methods, "HEAD", "DELETE"])
        target = path + pick.choice(["", "", "", "", "/", "//", "/x", "%00", "%ff", ";a=b"])
        target += f"?{query(pick)}" if pick.random() < 0.9 else ""
        lines, data = body(pick) if method in ("POST", "DELETE") else ([], b"")
        if method in ("POST", "DELETE"):
            lines.append(f"Content-Length: {len(data)}")
        if pick.random() < 0.2:
            # Closed afterwards: some of these say where the request ends.
            lines += ["Connection: close", pick.choice(HEADERS)]
        head = "\r\n".join([f"{method} {target} HTTP/1.1", "Host: localhost", *lines, "", ""])
        # As a browser or a program would: names beyond ASCII are either encoded or raw UTF-8.
        yield method, head.encode("utf-8" if pick.random() < 0.5 else "latin-1", "replace") + data


@pytest.fixture(scope="module")
def routes() -> dict[str, list[str]]:
    """Every address and its methods: those of the core, and of all plugins that are installed."""
    listed = subprocess.run(
        [sys.executable, "-m", "tbcore", "plugins", "--json"], capture_output=True, check=True
    )
    source = "".join(path.read_text() for path in SERVER.glob("*.py"))
    core = sorted(set(re.findall(r'"(/(?:legacy/)?data/\w+)"', source)) - {"/data/updates"})
    found = {path: ["GET"] for path in [*core, *OTHERS]}
    for plugin in json.loads(listed.stdout):
        for route in plugin["routes"]:
            path = f"/{route['path']}"
            found[path] = [method for method in route["methods"] if method != "HEAD"]
            if path.startswith("/data/") and not path.startswith("/data/plugin/"):
                found[f"/legacy{path}"] = found[path]
    return found


def ask(server: Any, path: str, methods: list[str], number: int) -> int:
    """Asks and checks; returns how many had an answer with content."""
    connection = server.connect()
    num_good = 0
    try:
        for method, request in questions(path, methods, number):
            answer = connection.send(request, no_body=method == "HEAD")
            shown = (request[:300], answer.status, answer.text[:300])
            assert answer.status < 500, shown
            num_good += answer.status < 400
            if answer.status >= 400:
                kind = answer.headers["content-type"].partition(";")[0]
                assert kind in ("text/plain", "application/json"), shown
                assert len(answer.text.splitlines()) <= 1, shown
                assert not [word for word in INTERNALS if word in answer.body], shown
            if "close" in answer.headers.get("connection", "") or b": close" in request:
                connection.close()
                connection = server.connect()
    finally:
        connection.close()
    return num_good


def ask_all(server: Any, routes: dict[str, list[str]], number: int) -> None:
    silent = len(server.noise)
    num_good = sum(ask(server, path, methods, number) for path, methods in routes.items())
    # Otherwise this would be a test of one refusal.
    assert num_good > number * len(routes) / 20
    assert server.noise[silent:] == ""


def test_p12_no_request_gives_5xx(server: Any, routes: dict[str, list[str]]) -> None:
    """A few queries to every route; nothing is on stderr either."""
    assert len(routes) > 60
    ask_all(server, routes, 12)


@pytest.mark.release
def test_p12_no_request_of_a_thousand_gives_5xx(server: Any, routes: dict[str, list[str]]) -> None:
    """A thousand queries to every route."""
    ask_all(server, routes, 1000)
