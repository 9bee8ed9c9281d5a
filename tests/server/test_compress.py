"""Compress: which responses are compressed, and that their content stays the same."""

from __future__ import annotations

import gzip
import json
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from common_fixtures import WAIT_SECONDS
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from tbcore.http import (
    bytes_response,
    columns_response,
    csv_response,
    error_response,
    json_response,
)
from tbcore.server import compress as compress_module
from tbcore.server.compress import accepts_gzip, is_textual

Make = Callable[..., Any]


@pytest.mark.parametrize(
    ("header", "accepted"),
    [
        (None, False),
        ("", False),
        ("gzip", True),
        ("GZIP", True),
        ("x-gzip", True),
        ("*", True),
        ("deflate, gzip;q=0.5, br", True),
        ("gzip;q=1.0", True),
        ("gzip;q=0", False),
        ("gzip;q=0.000", False),
        ("gzip ; q=0", False),
        ("*;q=0", False),
        ("gzip;q=0, *", False),
        ("identity, *;q=0.1", True),
        ("gzipped", False),
        ("br;q=0, gzip", True),
        ("gzip;q=", False),
    ],
)
def test_clients_that_accept_gzip(header: str | None, accepted: bool) -> None:
    """gzip is accepted unless its weight is 0. Its own entry takes precedence over `*`."""
    headers = [] if header is None else [(b"accept-encoding", header.encode())]
    assert accepts_gzip(headers) is accepted


@pytest.mark.parametrize(
    ("content_type", "textual"),
    [
        ("application/json", True),
        ("text/csv; charset=utf-8", True),
        ("text/html", True),
        ("text/javascript; charset=utf-8", True),
        ("text/x-protobuf; charset=utf-8", True),
        ("image/svg+xml", True),
        ("text/event-stream", False),
        ("image/png", False),
        ("audio/wav", False),
        ("application/octet-stream", False),
        ("", False),
    ],
)
def test_content_that_is_text(content_type: str, textual: bool) -> None:
    """Images, audio and server-sent events are not compressed as text."""
    assert is_textual(content_type) is textual


@pytest.fixture
def ask(make_plugin: Make, make_client: Make) -> Make:
    """`ask(response, "gzip")`: the response as it was sent, not decompressed."""

    def ask(response: Response, accept: str | None, method: str = "GET", **headers: str) -> Any:
        def handler(request: Request) -> Response:
            return response

        client = make_client({"made": make_plugin(routes=lambda: [Route("/x", handler)])})
        del client.headers["accept-encoding"]
        if accept is not None:
            headers["accept-encoding"] = accept
        with client.stream(method, "data/plugin/made/x", headers=headers) as received:
            return received, b"".join(received.iter_raw())

    return ask


@pytest.mark.parametrize("length", [1, 100, 200_000])
def test_text_is_compressed_for_clients_that_accept_it(ask: Make, length: int) -> None:
    """A compressed body has its exact Content-Length, whether it is short or long."""
    data = ["\u00e9\u20ac"] * length
    plain = json_response(data)

    received, body = ask(plain, None)
    assert "content-encoding" not in received.headers
    assert json.loads(body) == data
    assert received.headers["vary"] == "Accept-Encoding"
    assert int(received.headers["content-length"]) == len(body)

    received, body = ask(plain, "gzip, deflate, br")
    assert received.headers["content-encoding"] == "gzip"
    assert received.headers["vary"] == "Accept-Encoding"
    assert int(received.headers["content-length"]) == len(body)
    assert json.loads(gzip.decompress(body)) == data

    head, nothing = ask(plain, "gzip", "HEAD")
    assert nothing == b""
    assert head.headers["content-length"] == received.headers["content-length"]


@pytest.mark.parametrize("num_rows", [40, 40_000])
def test_short_columns_are_compressed(ask: Make, num_rows: int) -> None:
    """A live page gets them each second. Compressing long ones would delay the first charts."""
    plain = columns_response({}, [{"step": np.arange(num_rows)}])
    received, body = ask(plain, "gzip")
    is_short = num_rows == 40
    assert ("content-encoding" in received.headers, len(body) < len(plain.body)) == (is_short,) * 2
    assert (gzip.decompress(body) if is_short else body) == plain.body


@pytest.mark.parametrize(
    "response",
    [
        bytes_response(b"x" * 1000, "image/png"),
        bytes_response(b"x" * 1000, "audio/wav"),
        Response(
            gzip.compress(b"x"), media_type="text/plain", headers={"content-encoding": "gzip"}
        ),
        Response(b"", media_type="text/plain"),
        Response(status_code=304, media_type="text/plain"),
        Response(b"xx", 206, media_type="text/plain"),
    ],
)
def test_responses_that_are_not_compressed(ask: Make, response: Response) -> None:
    """Responses are sent as they are if they are no text, compressed already, empty or a range."""
    received, body = ask(response, "gzip")

    assert body == response.body
    assert received.headers.get("content-encoding") == response.headers.get("content-encoding")


def test_a_stream_is_compressed_part_by_part(ask: Make) -> None:
    """A stream is compressed in parts, and has no Content-Length."""

    def parts() -> Iterator[bytes]:
        for number in range(100):
            yield b"%d," % number

    received, body = ask(StreamingResponse(parts(), media_type="text/csv"), "gzip")

    assert "content-length" not in received.headers
    assert gzip.decompress(body) == b"".join(b"%d," % number for number in range(100))


@pytest.mark.parametrize("length", [1999, 2000, 2001, 6000])
def test_a_long_body_is_compressed_in_parts(
    ask: Make, limits: Callable[..., None], length: int
) -> None:
    """The bytes are the same as those of the whole body; only its length is left out."""
    response = Response(random.Random(1).randbytes(length), media_type="text/plain")
    expected, whole = ask(response, "gzip")
    limits(compress_module, MAX_PART_BYTES=2000)

    received, body = ask(response, "gzip")
    plain, plain_body = ask(response, None)

    assert body == whole
    assert gzip.decompress(body) == plain_body == response.body
    assert plain.headers["content-length"] == str(length)
    assert ("content-length" in received.headers) == (length <= 2000)
    assert received.headers["content-encoding"] == expected.headers["content-encoding"] == "gzip"


def test_errors_and_csv_are_text(ask: Make) -> None:
    """Errors and CSV are compressed, and equal bodies are compressed to equal bytes."""
    for response in (error_response(404, "no"), csv_response(["a"], [[1]])):
        first, second = ask(response, "gzip"), ask(response, "gzip")
        assert gzip.decompress(first[1]) == response.body
        assert first[1] == second[1]


def test_a_vary_header_is_kept(ask: Make) -> None:
    """Accept-Encoding is added to the headers that Vary has already."""
    received, _ = ask(Response("x", media_type="text/plain", headers={"vary": "Cookie"}), "gzip")
    assert received.headers["vary"] == "Cookie, Accept-Encoding"


def test_an_etag_of_compressed_text_is_weak(ask: Make) -> None:
    """The ETag of a compressed response is weak, since its bytes differ from the plain form."""
    response = bytes_response(b"x" * 99, "text/plain", etag="1")
    received, _ = ask(response, "gzip")

    assert received.headers["etag"] == f"W/{response.headers['etag']}"
    assert "accept-ranges" not in received.headers


def test_compressing_large_responses_does_not_delay_the_page(
    make_plugin: Make, make_client: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page is served while as many bodies as possible are being compressed."""
    release, begun = threading.Event(), threading.Semaphore(0)

    def next_part(*arguments: Any) -> bytes:
        begun.release()
        assert release.wait(WAIT_SECONDS)
        return real(*arguments)

    real = compress_module._next_part
    monkeypatch.setattr(compress_module, "_next_part", next_part)
    routes = [Route("/large", lambda request: Response(b"a" * 100_000, media_type="text/plain"))]
    client = make_client({"made": make_plugin(routes=lambda: routes)})
    sizes: list[int] = []

    def ask() -> None:
        sizes.append(len(client.get("data/plugin/made/large").content))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for _ in range(4):
        assert begun.acquire(timeout=WAIT_SECONDS)
    try:
        plain = {"accept-encoding": "identity"}
        for path in ("", "static/tbcore/shell/boot.js", "data/run_details"):
            assert client.get(path, headers=plain).status_code == 200
        assert sizes == []
    finally:
        release.set()
        for thread in threads:
            thread.join(WAIT_SECONDS)
    assert sizes == [100_000] * 8
