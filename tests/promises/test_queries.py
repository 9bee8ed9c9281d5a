"""P12: no query, body or header causes a 5xx, and errors are one line without internals."""

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

OTHERS = ["/", "/static/tbcore/shell/boot.js", "/static/plugins/scalars/index.js", "/nothing"]

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

Request = tuple[str, bytes]
"""An address, and the bytes of a request for it."""


def query(rng: random.Random) -> str:
    """Parameters with values that are valid, invalid, missing, repeated or not encoded."""
    parts = []
    for _ in range(rng.randrange(6)):
        name = rng.choice(NAMES)
        parts.append(rng.choice([name, f"{name}=", "=", f"{name}={rng.choice(VALUES)}"]))
        parts[-1] += rng.choice(["", "", "", f"={rng.choice(VALUES)}"])
        if rng.random() < 0.7:
            parts[-1] = f"{name}={rng.choice(VALUES)}"
    return rng.choice(["&", "&", "&", ";", "&&"]).join(parts)


def document(rng: random.Random, depth: int = 4) -> Any:
    """Random JSON, with names that routes use."""
    form = rng.randrange(9 if depth else 6)
    if form <= 1:
        return rng.choice(["train", "loss", "step", "wall", "\ud800", "a" * 100, "", "(", "é"])
    if form <= 3:
        return rng.choice([0, 1, -1, 1.5, 10**30, -(2**63), 2**63, 1e308, 100, float("inf")])
    if form <= 5:
        return rng.choice([None, True, False, float("nan"), [], {}])
    if form == 6:
        return [document(rng, depth - 1) for _ in range(rng.randrange(4))]
    names = [rng.choice(MEMBERS) for _ in range(rng.randrange(6))]
    return {name: document(rng, depth - 1) for name in names}


def body(rng: random.Random) -> tuple[list[str], bytes]:
    """A body with headers that match it, or do not."""
    data = json.dumps(document(rng)).encode()
    form = rng.randrange(12)
    if form == 0:
        data = rng.randbytes(rng.randrange(60))
    elif form == 1:
        data = data[: rng.randrange(len(data) + 1)]
    elif form == 2:
        data = b"[" * 100_000
    elif form == 3:
        return ["Content-Encoding: gzip"], gzip.compress(data)
    elif form == 4:
        return ["Content-Encoding: gzip"], gzip.compress(data)[: rng.randrange(30)]
    elif form == 5:
        return ["Content-Encoding: gzip"], gzip.compress(b" " * (20 << 20), 1)
    return [], data


def requests_for(path: str, methods: list[str], number: int) -> Iterator[Request]:
    """Yields a number of requests for a route, the same ones each time."""
    rng = random.Random(path)
    for _ in range(number):
        method = rng.choice([*methods, *methods, *methods, "HEAD", "DELETE"])
        target = path + rng.choice(["", "", "", "", "/", "//", "/x", "%00", "%ff", ";a=b"])
        target += f"?{query(rng)}" if rng.random() < 0.9 else ""
        lines, data = body(rng) if method in ("POST", "DELETE") else ([], b"")
        if method in ("POST", "DELETE"):
            lines.append(f"Content-Length: {len(data)}")
        if rng.random() < 0.2:
            # On a connection of their own: some of these headers define the end of the request.
            lines += ["Connection: close", rng.choice(HEADERS)]
        head = "\r\n".join([f"{method} {target} HTTP/1.1", "Host: localhost", *lines, "", ""])
        # Like browsers and programs do: characters beyond ASCII are encoded, or raw UTF-8.
        yield method, head.encode("utf-8" if rng.random() < 0.5 else "latin-1", "replace") + data


@pytest.fixture(scope="module")
def routes() -> dict[str, list[str]]:
    """Every address with its methods, of the core and of all installed plugins."""
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


def check(server: Any, path: str, methods: list[str], number: int) -> int:
    """Sends requests and checks responses; returns the number of successful ones."""
    connection = server.connect()
    num_good = 0
    try:
        for method, request in requests_for(path, methods, number):
            response = connection.send(request, no_body=method == "HEAD")
            shown = (request[:300], response.status, response.text[:300])
            assert response.status < 500, shown
            num_good += response.status < 400
            if response.status >= 400:
                kind = response.headers["content-type"].partition(";")[0]
                assert kind in ("text/plain", "application/json"), shown
                assert len(response.text.splitlines()) <= 1, shown
                assert not [word for word in INTERNALS if word in response.body], shown
            if "close" in response.headers.get("connection", "") or b": close" in request:
                connection.close()
                connection = server.connect()
    finally:
        connection.close()
    return num_good


def check_all(server: Any, routes: dict[str, list[str]], number: int) -> None:
    silent = len(server.stderr)
    num_good = sum(check(server, path, methods, number) for path, methods in routes.items())
    # Otherwise the test would only be about one error.
    assert num_good > number * len(routes) / 20
    assert server.stderr[silent:] == ""


def test_p12_no_request_gives_5xx(server: Any, routes: dict[str, list[str]]) -> None:
    """Every route gets a few requests; nothing is logged."""
    assert len(routes) > 60
    check_all(server, routes, 12)


@pytest.mark.release
def test_p12_no_request_of_a_thousand_gives_5xx(server: Any, routes: dict[str, list[str]]) -> None:
    """Every route gets a thousand requests."""
    check_all(server, routes, 1000)
