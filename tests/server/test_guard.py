"""Guard and thread pools: responses to requests for a plugin, whatever its code does."""

from __future__ import annotations

import asyncio
import functools
import gc
import logging
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest
from asking import scope_of
from common_fixtures import AT_ONCE_SECONDS, WAIT_SECONDS, until
from starlette.background import BackgroundTask
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from tbcore import BadRequestError, DataLossError, LegacyApi, NotFoundError, PluginError
from tbcore.http import json_response, request_body, streaming_response
from tbcore.http.responses import MIN_BYTES_TO_STREAM
from tbcore.plugins.stats import CURRENT_PLUGIN
from tbcore.server.pool import ThreadPool

Make = Callable[..., Any]


@pytest.fixture
def ask(make_plugin: Make, make_client: Make) -> Make:
    """`ask(handler)`: the response to a request for a route with this handler."""

    def ask(handler: Callable[[Request], Any], method: str = "GET", **options: Any) -> Any:
        route = Route("/x", handler, methods=["GET", "POST"])
        client = make_client({"made": make_plugin(routes=lambda: [route])})
        return client.request(method, "data/plugin/made/x", **options)

    return ask


def raising(error: BaseException) -> Callable[[Request], Response]:
    """A handler that raises this exception."""

    def handler(request: Request) -> Response:
        raise error

    return handler


def hello(request: Request) -> Response:
    return PlainTextResponse("hello")


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (NotFoundError("no tag 'los' in run 'train'; close: 'loss'"), 404),
        (BadRequestError('query parameter "run" is required'), 400),
        (DataLossError("f: payload checksum wrong at offset 7"), 404),
        (PluginError("this is ours\nin one line"), 500),
    ],
)
def test_errors_of_tbcore_have_their_status_and_text(
    ask: Make, error: Exception, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    """An error of tbcore that a handler raises is a response and no fault: it is not logged."""
    response = ask(raising(error))

    assert response.status_code == status
    assert response.text == str(error).replace("\n", " ")
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert caplog.text == ""


def test_an_http_exception_becomes_a_response(ask: Make) -> None:
    """An HTTPException becomes a response with its status, text and headers."""
    response = ask(raising(HTTPException(418, "short\nand stout", headers={"x-pot": "1"})))

    assert (response.status_code, response.text) == (418, "short and stout")
    assert response.headers["x-pot"] == "1"


def test_no_cookie_and_no_cors_header_leaves_the_server(
    ask: Make, caplog: pytest.LogCaptureFixture
) -> None:
    """They would be those of the core and of all plugins. Each is logged once."""
    headers = {"Access-Control-Allow-Origin": "*", "X-Mine": "kept"}

    def handler(request: Request) -> Response:
        response = PlainTextResponse("hello", headers=headers)
        response.set_cookie("a", "b")
        response.set_cookie("c", "d")
        return response

    with caplog.at_level(logging.WARNING):
        response = ask(handler)
    assert response.headers["x-mine"] == "kept"
    names = [name for name in response.headers if name.startswith(("set-", "access-"))]
    assert names == []
    for name in ("set-cookie", "access-control-allow-origin"):
        assert caplog.text.count(f"sets the header {name}, which is not sent") == 1


@pytest.mark.parametrize(
    "name",
    [
        "Clear-Site-Data",
        "Service-Worker-Allowed",
        "Strict-Transport-Security",
        "NEL",
        "Report-To",
        "Reporting-Endpoints",
        "Content-Security-Policy-Report-Only",
        "Cross-Origin-Embedder-Policy-Report-Only",
    ],
)
def test_no_header_of_a_plugin_concerns_the_whole_server_or_another_host(
    ask: Make, name: str
) -> None:
    value = "default-src 'none'; report-uri https://other.example/"
    response = ask(lambda request: PlainTextResponse("hello", headers={name: value}))
    assert (response.text, name in response.headers) == ("hello", False)


@pytest.mark.parametrize(
    ("path", "seen"),
    [
        ("x", "/x ''"),
        ("x/", "/x/ ''"),
        ("y/a", "/y/a 'a'"),
        ("y/a/", "/y/a/ 'a/'"),
        ("y/", "/y/ ''"),
        ("", " ''"),
        ("/", "/ ''"),
    ],
)
def test_handlers_see_the_address_as_the_browser_has_it(
    make_plugin: Make, make_client: Make, path: str, seen: str
) -> None:
    """With the slash at its end, which relative addresses in a page depend on."""

    def handler(request: Request) -> Response:
        rest = request.path_params.get("rest", "")
        return PlainTextResponse(f"{request.url.path} {rest!r}")

    routes = [Route("/x", handler), Route("/y/{rest:path}", handler), Route("/", handler)]
    client = make_client({"made": make_plugin(routes=lambda: routes)})
    base = "/data/plugin/made"
    response = client.get(f"{base}/{path}" if path.strip("/") else base + path)
    assert response.text.replace(base, "", 1) == seen


@pytest.mark.parametrize(
    "error", [ValueError("secret"), SystemExit(1), KeyboardInterrupt(), KeyError()]
)
def test_any_other_exception_is_a_500_without_internals(
    ask: Make, error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    """The response names only plugin and route. The traceback is logged with the plugin's name."""
    response = ask(raising(error))

    assert response.status_code == 500
    assert response.text == "plugin 'made' failed in its route '/x'; the log has the details"
    [record] = caplog.records
    assert record.message.startswith("plugin 'made': ")
    assert record.exc_info
    assert record.exc_info[1] is error


@pytest.mark.parametrize("value", [None, {"a": 1}, "text", (200, "OK")])
def test_a_result_that_is_not_a_response_is_a_fault(
    ask: Make, value: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """A result that is no Response is a 500, and the log has its type."""
    response = ask(lambda request: value)

    assert response.status_code == 500
    assert f"the handler returned {type(value).__name__}, not a Response" in caplog.text


def test_async_handlers_work_and_are_guarded(ask: Make) -> None:
    """Async handlers work, are guarded, and may be called by a partial or a plain function."""

    async def body(request: Request, prefix: str = "") -> Response:
        return PlainTextResponse(prefix.encode() + await request.body())

    async def failing(request: Request) -> Response:
        raise SystemExit

    async def unknown(request: Request) -> Response:
        raise NotFoundError("no such thing")

    assert ask(body, "POST", content="abc").text == "abc"
    assert ask(functools.partial(body, prefix=">"), "POST", content="abc").text == ">abc"
    assert ask(lambda request: body(request), "POST", content="abc").text == "abc"
    assert ask(failing).status_code == 500
    assert ask(unknown).status_code == 404


def test_a_response_that_fails_is_incomplete(ask: Make, caplog: pytest.LogCaptureFixture) -> None:
    """A body that fails is a 500 if no headers have been sent, and incomplete otherwise."""

    def parts() -> Iterator[bytes]:
        yield b"one"
        raise ValueError

    def none() -> Iterator[bytes]:
        raise ValueError
        yield b""

    assert ask(lambda request: StreamingResponse(parts())).status_code == 200
    assert "plugin 'made': route '/x' failed" in caplog.text
    # The headers are sent with the first part.
    assert ask(lambda request: StreamingResponse(none())).status_code == 500
    assert ask(lambda request: StreamingResponse(none(), media_type="text/csv")).status_code == 500


def test_the_body_has_been_read_when_the_handler_runs(ask: Make) -> None:
    """The whole body has been read when the handler runs, even if it arrived in pieces."""
    pieces = (piece for piece in [b"a" * 1000, b"", b"b" * 1000])

    response = ask(lambda request: Response(request_body(request)), "POST", content=pieces)

    assert response.content == b"a" * 1000 + b"b" * 1000


@pytest.mark.parametrize("in_pieces", [False, True])
def test_a_body_of_more_than_a_megabyte_is_refused(ask: Make, in_pieces: bool) -> None:
    """A body of more than a megabyte is refused, with or without a Content-Length."""

    def content(size: int) -> Any:
        return (b"a" * 4096 for _ in range(size // 4096)) if in_pieces else b"a" * size

    def length(request: Request) -> Response:
        return json_response(len(request_body(request)))

    assert ask(length, "POST", content=content(1 << 20)).json() == 1 << 20
    refused = ask(length, "POST", content=content((1 << 20) + 4096))
    assert refused.status_code == 413
    assert refused.text == "the body is too long; at most 1048576 bytes are accepted"


def test_methods_are_those_of_the_route(make_plugin: Make, make_client: Make) -> None:
    """Methods that no route with the path accepts are a 405, which lists those of all routes."""
    routes = [Route("/x", hello), Route("/x", hello, methods=["PUT"]), Route("/{id:int}", hello)]
    client = make_client({"made": make_plugin(routes=lambda: routes)})

    assert client.get("data/plugin/made/x").text == "hello"
    assert client.head("data/plugin/made/x").status_code == 200
    assert client.put("data/plugin/made/x").status_code == 200
    refused = client.post("data/plugin/made/x")
    assert refused.status_code == 405
    assert refused.headers["allow"] == "GET, HEAD, PUT"
    assert refused.text == "method POST is not allowed here; allowed: GET, HEAD, PUT"
    assert client.get("data/plugin/made/17").text == "hello"
    assert client.get("data/plugin/made/17/").text == "hello"
    assert client.get("data/plugin/made/17//").status_code == 404
    assert client.get("data/plugin/made/y").status_code == 404
    assert client.get("data/plugin/made").status_code == 404


class Halves(Convertor[int]):
    """Converts even numbers to their halves, refuses odd ones, and has a bug for 0."""

    regex = "[0-9]+"

    def convert(self, value: str) -> int:
        if int(value) % 2:
            raise ValueError(value)
        return 1 // int(value)

    def to_string(self, value: int) -> str:
        return str(value)


def test_an_address_that_cannot_be_converted_does_not_exist(
    make_plugin: Make, make_client: Make, caplog: pytest.LogCaptureFixture
) -> None:
    """An address with a parameter that cannot be converted is a 404. A bug is a 500."""
    register_url_convertor("halves", Halves())
    routes = [Route("/n/{n:int}", hello), Route("/h/{n:halves}", hello), Route("/h/3", hello)]
    client = make_client({"made": make_plugin(routes=lambda: routes)})

    assert client.get("data/plugin/made/n/12").text == "hello"
    assert client.get("data/plugin/made/n/" + "9" * 5000).status_code == 404
    assert client.get("data/plugin/made/h/2").text == "hello"
    assert client.get("data/plugin/made/h/3").text == "hello"
    assert client.get("data/plugin/made/h/5").status_code == 404
    assert caplog.text == ""
    failed = client.get("data/plugin/made/h/0")
    assert failed.status_code == 500
    assert failed.text.startswith("plugin 'made' failed in its route '/h/{n:halves}'")
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize("path", ["x%0A", "5%0A", "f/a%0A", "%0Ax"])
def test_a_newline_is_part_of_an_address(make_plugin: Make, make_client: Make, path: str) -> None:
    """An address with a newline is not the address without it."""
    routes = [Route("/x", hello), Route("/{n:int}", hello), Route("/f/{path:path}", hello)]
    client = make_client({"made": make_plugin(routes=lambda: routes)})

    assert client.get(f"data/plugin/made/{path.replace('%0A', '')}").text == "hello"
    assert client.get(f"data/plugin/made/{path}").status_code == 404


def test_a_route_at_the_plugins_own_address(make_plugin: Make, make_client: Make) -> None:
    """A route `/` is served at the plugin's address, with and without a final slash."""
    client = make_client({"made": make_plugin(routes=lambda: [Route("/", hello)])})

    assert client.get("data/plugin/made").text == "hello"
    assert client.get("data/plugin/made/").text == "hello"


def test_a_failed_plugin_responds_with_503_and_the_others_work(
    make_plugin: Make, make_client: Make
) -> None:
    """All addresses of a failed plugin are a 503 with the reason; other plugins work."""
    client = make_client(
        {
            "bad": make_plugin(routes=lambda: 1 / 0),
            "good": make_plugin(routes=lambda: [Route("/x", hello)]),
        }
    )

    for path in ("data/plugin/bad/x", "data/plugin/bad/", "data/plugin/bad/a/b"):
        response = client.get(path)
        assert response.status_code == 503
        assert response.text == (
            "plugin 'bad' failed in routes: ZeroDivisionError: division by zero"
        )
    assert client.get("data/plugin/good/x").text == "hello"
    assert client.get("data/plugins_listing").json() == {"bad": False, "good": True}


def test_the_routes_of_an_inactive_plugin_are_served(make_plugin: Make, make_client: Make) -> None:
    """The routes of an inactive plugin are served: an error would break old pages."""
    plugin = make_plugin(is_active=lambda: False, routes=lambda: [Route("/tags", hello)])
    client = make_client({"made": plugin})

    assert client.get("data/plugins_listing").json() == {"made": False}
    assert client.get("data/plugin/made/tags").text == "hello"


def test_in_tests_of_plugins_a_fault_is_raised(make_plugin: Make, make_client: Make) -> None:
    """With `strict`, a fault is raised, so that a plugin's own test fails with its traceback."""
    plugin = make_plugin(routes=lambda: [Route("/x", raising(ValueError("mine")))])
    client = make_client({"made": plugin}, dev=True)

    with pytest.raises(ValueError, match="mine") as caught:
        client.get("data/plugin/made/x")

    assert caught.value.__notes__ == ["raised by plugin 'made' in its route '/x'"]
    client = make_client({"made": make_plugin(is_active=lambda: 1 / 0)}, dev=True)
    with pytest.raises(ZeroDivisionError):
        client.get("data/plugins_listing")


def test_a_blocked_plugin_delays_only_itself(
    make_plugin: Make, make_client: Make, tuning: Any
) -> None:
    """With all of its threads blocked, other plugins, the core and the listing respond at once."""
    release = threading.Event()
    blocked = threading.Semaphore(0)

    def block(request: Request) -> Response:
        blocked.release()
        release.wait(WAIT_SECONDS)
        return PlainTextResponse("released")

    client = make_client(
        {
            "bad": make_plugin(
                routes=lambda: [Route("/block", block), Route("/x", hello)], is_active=lambda: True
            ),
            "good": make_plugin(routes=lambda: [Route("/x", hello)]),
        },
        tuning=tuning,
    )
    responses: list[str] = []

    def ask() -> None:
        responses.append(client.get("data/plugin/bad/block").text)

    threads = [threading.Thread(target=ask) for _ in range(16)]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert blocked.acquire(timeout=WAIT_SECONDS)

    started = time.monotonic()
    assert client.get("data/plugin/good/x").text == "hello"
    assert client.get("data/runs").json() == []
    # Only here: on a busy machine a plugin with free threads might need as long.
    tuning.plugin_timeout_seconds = 0.3
    listing = {"bad": False, "good": True}
    until(lambda: client.get("data/plugins_listing").json() == listing)
    tuning.queue_timeout_seconds = 0.3
    busy = client.get("data/plugin/bad/x")
    tuning.plugin_timeout_seconds = tuning.queue_timeout_seconds = WAIT_SECONDS
    assert (busy.status_code, busy.text) == (
        503,
        "plugin 'bad' is busy: all of its threads are in use",
    )
    assert time.monotonic() - started < AT_ONCE_SECONDS
    assert responses == [], "every thread was blocked until here"

    release.set()
    for thread in threads:
        thread.join(WAIT_SECONDS)
    assert responses == ["released"] * 16
    assert client.get("data/plugin/bad/x").text == "hello"


@pytest.mark.parametrize("where", ["handler", "task"])
def test_blocking_async_code_delays_only_itself(
    make_plugin: Make, make_client: Make, where: str
) -> None:
    """Each async handler has a thread and an event loop of its own, so one may block."""
    release, blocked = threading.Event(), threading.Event()

    async def block() -> None:
        blocked.set()
        release.wait(WAIT_SECONDS)

    async def handler(request: Request) -> Response:
        await (block() if where == "handler" else asyncio.create_task(block()))
        return PlainTextResponse("released")

    async def async_hello(request: Request) -> Response:
        await asyncio.sleep(0)
        return PlainTextResponse("hello")

    routes = [Route("/block", handler), Route("/x", hello), Route("/async", async_hello)]
    client = make_client(
        {
            "bad": make_plugin(routes=lambda: routes),
            "good": make_plugin(routes=lambda: [Route("/x", async_hello)]),
        }
    )
    responses: list[str] = []
    asking = threading.Thread(
        target=lambda: responses.append(client.get("data/plugin/bad/block").text)
    )
    asking.start()
    assert blocked.wait(WAIT_SECONDS)

    for path in ("good/x", "bad/x", "bad/async"):
        assert client.get(f"data/plugin/{path}").text == "hello"
    assert client.get("data/runs").json() == []
    assert responses == []

    release.set()
    asking.join(WAIT_SECONDS)
    assert responses == ["released"]


def test_all_responses_of_starlette_are_sent(ask: Make, tmp_path: Path) -> None:
    """A file and a redirect are sent; a file that does not exist is a 500."""
    (tmp_path / "a.txt").write_bytes(b"a file")

    assert ask(lambda request: FileResponse(tmp_path / "a.txt")).text == "a file"
    assert ask(lambda request: FileResponse(tmp_path / "b.txt")).status_code == 500
    assert ask(lambda request: RedirectResponse("y")).headers["location"] == "y"


class SendsItself(Response):
    """A response with a `__call__` of its own, which would run on the server's event loop."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError


async def async_parts() -> AsyncIterator[str]:
    yield "one"


async def with_async_body(request: Request) -> Response:
    return StreamingResponse(async_parts())


def with_background_task(request: Request) -> Response:
    return PlainTextResponse("", background=BackgroundTask(print))


def streaming_with_background_task(request: Request) -> Response:
    return StreamingResponse(iter(["one"]), background=BackgroundTask(print))


async def leaves_a_task(request: Request) -> Response:
    asyncio.create_task(asyncio.sleep(WAIT_SECONDS), name="forgotten")  # noqa: RUF006
    return PlainTextResponse("")


async def asks_for_the_client(request: Request) -> Response:
    await request.is_disconnected()
    await request.is_disconnected()
    return PlainTextResponse("")


@pytest.mark.parametrize(
    ("handler", "asked", "to_do"),
    [
        (with_async_body, "the body of the response is async_generator", "plain iterator"),
        (with_background_task, "a background task", "before the response is returned"),
        (streaming_with_background_task, "a background task", "before the response is returned"),
        (lambda request: SendsItself(), "SendsItself, a Response with a __call__", "return a Resp"),
        (leaves_a_task, "returned while its task 'forgotten' runs", "await the task"),
        (asks_for_the_client, "receives more than the body", "do not ask"),
    ],
)  # fmt: skip
def test_what_is_not_supported_is_a_fault_that_says_what_to_do(
    ask: Make,
    caplog: pytest.LogCaptureFixture,
    handler: Callable[[Request], Any],
    asked: str,
    to_do: str,
) -> None:
    """What would need the server's event loop is a 500; the log has one line with the reason."""
    assert ask(handler).status_code == 500

    [record] = caplog.records
    assert record.exc_info
    line = str(record.exc_info[1])
    assert asked in line
    assert "which is not supported; " in line
    assert to_do in line.partition("; ")[2]
    assert "\n" not in line


@pytest.mark.parametrize("end", ["exit", "stop"])
def test_a_handler_that_ends_its_event_loop_is_a_fault(ask: Make, end: str) -> None:
    """The response is a 500 if a callback raises SystemExit, or the handler stops its loop."""

    async def leave(request: Request) -> Response:
        def exit() -> None:
            raise SystemExit

        loop = asyncio.get_running_loop()
        loop.call_soon(exit if end == "exit" else loop.stop)
        await asyncio.sleep(WAIT_SECONDS)
        return PlainTextResponse("")

    assert ask(leave).status_code == 500


def test_a_handler_may_cancel_its_tasks(ask: Make) -> None:
    """A task that was cancelled may still be ending when the handler returns."""

    async def cancel(request: Request) -> Response:
        asyncio.create_task(asyncio.sleep(WAIT_SECONDS)).cancel()
        return PlainTextResponse("done")

    assert ask(cancel).text == "done"


def test_what_a_task_of_a_plugin_raises_is_logged(
    ask: Make, caplog: pytest.LogCaptureFixture
) -> None:
    """An exception in a task is logged by asyncio, since no caller receives it."""

    async def start(request: Request) -> Response:
        async def fail() -> None:
            raise ValueError

        task = asyncio.get_running_loop().create_task(fail())
        await asyncio.wait([task])
        return PlainTextResponse("done")

    assert ask(start).text == "done"

    def is_logged() -> bool:
        gc.collect()
        return "Task exception was never retrieved" in caplog.text

    until(is_logged)


def test_a_handler_that_cancels_itself_is_a_fault(ask: Make) -> None:
    """A handler that raises CancelledError gets a 500."""

    async def cancel(request: Request) -> Response:
        raise asyncio.CancelledError

    assert ask(cancel).status_code == 500


@pytest.mark.parametrize("is_busy", [False, True], ids=["between parts", "in a part"])
@pytest.mark.parametrize("make", ["StreamingResponse", "streaming_response"])
def test_a_stream_ends_when_its_client_disconnects(
    make_plugin: Make, make_client: Make, make: str, is_busy: bool
) -> None:
    """It ends in the plugin's threads, as it may block; the garbage collector is not needed."""
    ended: SimpleQueue[tuple[str, bool]] = SimpleQueue()
    has_gone = threading.Event()

    def parts() -> Iterator[bytes]:
        try:
            yield b"x" * MIN_BYTES_TO_STREAM
            while True:
                yield b"one"
                if is_busy:
                    assert has_gone.wait(WAIT_SECONDS)
        finally:
            plugin = CURRENT_PLUGIN.get()
            ended.put((threading.current_thread().name, plugin is not None))

    def respond(request: Request) -> Response:
        if make == "StreamingResponse":
            return StreamingResponse(parts())
        return streaming_response(request, parts(), "text/plain")

    route = Route("/x", respond)
    app = make_client({"made": make_plugin(routes=lambda: [route])}).app
    is_first = asyncio.Event()

    async def receive() -> Any:
        await is_first.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if message.get("body"):
            is_first.set()

    scope = scope_of("GET /data/plugin/made/x", client=None, server=None)
    gc.disable()
    try:
        asyncio.run(asyncio.wait_for(app(scope, receive, send), WAIT_SECONDS))
        has_gone.set()
        name, has_plugin = ended.get(timeout=WAIT_SECONDS)
        assert name.startswith("plugin-made-")
        assert has_plugin  # whose log lines are known as its own
    finally:
        gc.enable()


def test_threads_are_started_only_when_needed() -> None:
    """If jobs come one at a time, one thread runs them all."""
    threads = ThreadPool("made")
    names = set()
    for _ in range(20):
        names.add(threads.submit(lambda: threading.current_thread().name).result(WAIT_SECONDS))
        # The thread sets the result a moment before it is idle.
        until(lambda: threads._num_idle == 1)

    assert names == {"made-1"}


def test_threads_without_a_job_end() -> None:
    """Idle threads end after the timeout, and later jobs start new ones."""
    threads = ThreadPool("tidy", max_threads=3, idle_timeout_seconds=0.05)
    for _ in range(3):
        done = [threads.submit(time.sleep, 0.02) for _ in range(10)]
        for future in done:
            future.result(WAIT_SECONDS)
        until(lambda: threads.num_threads == 0)


@pytest.fixture
def no_thread(monkeypatch: pytest.MonkeyPatch) -> Callable[[], AbstractContextManager[None]]:
    """`with no_thread():` the system starts no thread for a pool."""
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name.startswith(("plugin-", "tbcore", "few-")):
            raise RuntimeError("can't start new thread")
        start(thread)

    @contextmanager
    def refusing() -> Iterator[None]:
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", refuse)
            yield

    return refusing


def test_requests_get_503_when_the_system_has_no_more_threads(
    make_plugin: Make, make_client: Make, no_thread: Callable[[], AbstractContextManager[None]]
) -> None:
    """Without a thread, requests are a 503 at once. They succeed when threads can be started."""
    tag_types = {"images": lambda run: True}
    plugin = make_plugin(
        routes=lambda: [Route("/x", hello)],
        is_active=lambda: True,
        legacy_api=lambda: LegacyApi(tag_types=tag_types),
    )
    client = make_client({"made": plugin})
    with no_thread():
        for _ in range(20):
            refused = client.get("data/plugin/made/x")
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
            assert refused.text == "no thread for plugin-made: can't start new thread"
        assert client.get("data/plugins_listing").status_code == 503
        assert client.get("legacy/data/runs").status_code == 503
        page = client.get("")
        expected = (503, "no thread for tbcore: can't start new thread")
        assert (page.status_code, page.text) == expected

    assert client.get("data/plugin/made/x").text == "hello"
    assert client.get("data/plugins_listing").json() == {"made": True}
    assert client.get("").status_code == 200


def test_jobs_wait_if_no_further_thread_can_be_started(
    no_thread: Callable[[], AbstractContextManager[None]],
) -> None:
    """If the system refuses a second thread, jobs wait for the first one."""
    pool = ThreadPool("few")
    release, running = threading.Event(), threading.Event()
    first = pool.submit(lambda: (running.set(), release.wait(WAIT_SECONDS)))
    assert running.wait(WAIT_SECONDS)
    with no_thread():
        second = pool.submit(lambda: threading.current_thread().name)
    release.set()

    assert first.result(WAIT_SECONDS)
    assert second.result(WAIT_SECONDS) == "few-1"
    assert pool.num_threads == 1


def test_blocked_handlers_do_not_keep_the_process_alive() -> None:
    """The process ends while a handler is blocked, since threads of pools are daemons."""
    program = """
        import asyncio, threading
        from tbcore.server.pool import ThreadPool

        async def main():
            pool = ThreadPool("x")
            running = threading.Event()
            pool.submit(lambda: (running.set(), threading.Event().wait()))
            running.wait()

        asyncio.run(main())
        print("ended")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True, text=True, timeout=WAIT_SECONDS, check=True,
    )  # fmt: skip
    assert done.stdout == "ended\n"


def test_requests_are_not_logged(ask: Make, caplog: pytest.LogCaptureFixture) -> None:
    """Neither successful requests nor those that a handler refuses are logged."""
    caplog.set_level(logging.INFO)

    ask(hello)
    ask(raising(NotFoundError("no")))

    assert [record for record in caplog.records if record.name.startswith("tbcore")] == []
