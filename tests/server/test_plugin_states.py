"""The state, durations, faults and log lines of each plugin."""

from __future__ import annotations

import asyncio
import io
import logging
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from common_fixtures import AT_ONCE_SECONDS, WAIT_SECONDS, patient_tuning, until
from disk import Clock
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from tbcore import Claim, Option
from tbcore.plugins import stats as plugin_stats
from tbcore.plugins.config import Config
from tbcore.plugins.loading import load_plugins
from tbcore.plugins.stats import PluginStats, without_paths
from tbcore.plugins.types import LoadedPlugin
from tbcore.server import guard
from tbcore.server.app import create_app
from tbcore.server.report import LogHandler
from tbcore.store.board import Board

Make = Callable[..., Any]


def hello(request: Request) -> Response:
    return PlainTextResponse("hello")


def open_missing(request: Request) -> Response:
    with Path("/no/such/place/secret.txt").open():
        return PlainTextResponse("")


def open_missing_at_start() -> None:
    Path("/no/such/place/secret.txt").read_bytes()


def states(client: Any) -> dict[str, Any]:
    """Plugin name to its entry in `data/plugins`."""
    return {plugin["name"]: plugin for plugin in client.get("data/plugins").json()["plugins"]}


def test_every_state_has_its_reason(make_plugin: Make, make_client: Make) -> None:
    """Each state has a reason, also if a hook raises or does not return."""
    release = threading.Event()
    plugins = load_plugins(
        only=(),
        extra={
            "active": make_plugin(),
            "empty": make_plugin(info={"claims": [Claim("simple_value")]}),
            "says-no": make_plugin(is_active=lambda: False),
            "raises": make_plugin(is_active=lambda: 1 / 0),
            "blocks": make_plugin(is_active=lambda: release.wait(WAIT_SECONDS)),
            "failed": make_plugin(routes=lambda: open("/no/such/place/secret.txt")),  # noqa: SIM115
        },
    )
    plugins.append(LoadedPlugin("off", "tbcore-off 1.0", disabled_by="--no_plugin"))
    client = make_client(plugins, tuning=patient_tuning(plugin_timeout_seconds=0.5))

    # On a busy machine others may time out, too. Their results count when they come.
    late = "is_active has not returned in time"
    until(lambda: [s["name"] for s in states(client).values() if s["reason"] == late] == ["blocks"])
    found = states(client)
    release.set()

    assert {name: (plugin["state"], plugin["reason"]) for name, plugin in found.items()} == {
        "active": ("active", None),
        "blocks": ("inactive", late),
        "empty": ("inactive", "no logged data matches its claims"),
        "failed": ("failed", "plugin 'failed' failed in routes: FileNotFoundError: "
                             "[Errno 2] No such file or directory: 'secret.txt'"),
        "off": ("off", "--no_plugin"),
        "raises": ("inactive", "is_active failed: ZeroDivisionError: division by zero"),
        "says-no": ("inactive", "its is_active returned False: there is nothing to show"),
    }  # fmt: skip
    assert (found["off"]["distribution"], found["off"]["version"]) == ("tbcore-off", "1.0")
    assert found["blocks"]["faults"][0]["what"] == "is_active"
    assert [call["what"] for call in found["blocks"]["running"]] == ["is_active"]
    # A plugin that is off is only in `data/plugins`.
    assert "off" not in client.get("data/plugins_listing").json()
    assert client.get("data/plugin/off/x").status_code == 404


def test_pages_request_plugins_again_after_a_late_result(
    make_plugin: Make, make_client: Make
) -> None:
    """A late result makes pages request the plugins again, so that no tab stays inactive."""
    release = threading.Event()
    client = make_client(
        {"late": make_plugin(is_active=lambda: release.wait(WAIT_SECONDS))},
        tuning=patient_tuning(plugin_timeout_seconds=0.1),
    )

    assert client.get("data/plugins_listing").json() == {"late": False}
    assert client.get("data/status").json()["num_reloads"] == 0
    release.set()
    until(lambda: client.get("data/status").json()["num_reloads"] == 1)
    assert client.get("data/plugins_listing").json() == {"late": True}


def test_calls_are_counted_and_timed(make_plugin: Make, make_client: Make) -> None:
    """Calls of hooks and of plain and async routes are counted. A route counts as one."""

    def slow(request: Request) -> Response:
        time.sleep(0.05)
        return PlainTextResponse("")

    async def waiting(request: Request) -> Response:
        await asyncio.sleep(0.05)
        return PlainTextResponse("")

    routes = [Route("/slow", slow), Route("/n/{n}", hello), Route("/async", waiting)]
    client = make_client({"made": make_plugin(routes=lambda: routes)})
    for path in ("slow", "async", "n/1", "n/2", "n/3"):
        client.get(f"data/plugin/made/{path}")

    timings = {timing["what"]: timing for timing in states(client)["made"]["timings"]}

    assert list(timings) == [
        "import", "plugin_info", "routes", "route /slow", "route /async", "route /n/{n}",
    ]  # fmt: skip
    assert timings["route /n/{n}"]["count"] == 3
    for what in ("route /slow", "route /async"):
        assert timings[what]["count"] == 1
        assert timings[what]["median"] == timings[what]["slowest"] >= 0.05


def test_faults_are_listed_without_internals(make_plugin: Make, make_client: Make) -> None:
    """Faults are listed with their counts, latest first. Only authors see paths and tracebacks."""

    def fail(request: Request) -> Response:
        raise ValueError(request.path_params["n"])

    routes = [Route("/x", open_missing), Route("/n/{n}", fail)]
    plugin = make_plugin(routes=lambda: routes)
    client = make_client({"made": plugin})
    started = time.time()
    for path in ("n/1", "x", "n/2", "n/3"):
        assert client.get(f"data/plugin/made/{path}").status_code == 500

    first, second = states(client)["made"]["faults"]

    assert (first["what"], first["message"], first["count"]) == (
        "route /n/{n}", "ValueError: 3", 3,
    )  # fmt: skip
    assert started - 1 < second["last"] <= first["last"] < time.time() + 1
    assert second["message"].endswith("No such file or directory: 'secret.txt'")
    assert "/no/such" not in client.get("data/plugins").text
    assert "Traceback" not in client.get("data/plugins").text

    author = make_client({"made": plugin}, dev=True)
    with pytest.raises(FileNotFoundError):
        author.get("data/plugin/made/x")
    [fault] = states(author)["made"]["faults"]
    assert "'/no/such/place/secret.txt'" in fault["message"]
    assert "in open_missing" in fault["traceback"]
    assert "in attempt" not in fault["traceback"]


@pytest.mark.parametrize("dev", [False, True])
def test_responses_have_no_whole_paths(make_plugin: Make, make_client: Make, dev: bool) -> None:
    """No response has a whole path, except with `dev`."""
    extra = {
        "failed": make_plugin(routes=open_missing_at_start),
        "inactive": make_plugin(is_active=open_missing_at_start),
    }
    client = make_client(load_plugins(only=(), extra=extra, dev=dev))
    responses = [client.get(f"data/{path}") for path in ("frontends", "plugins", "plugin/failed/x")]

    assert [response.status_code for response in responses] == [200, 200, 503]
    for response in responses:
        assert "secret.txt'" in response.text
        assert ("/no/such" in response.text) is dev


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("cannot import 'a' from 'b' (/usr/lib/b/__init__.py)",
         "cannot import 'a' from 'b' (__init__.py)"),
        ("No such file: '/home/my name/logs/a.txt'", "No such file: 'a.txt'"),
        ("C:\\Users\\me\\a.txt is gone", "a.txt is gone"),
        ("route '/tags' of and/or 1/2", "route '/tags' of and/or 1/2"),
        ("see https://example.com/a/b", "see https://example.com/a/b"),
    ],
)  # fmt: skip
def test_paths_are_shortened_to_their_last_part(text: str, shown: str) -> None:
    """A path is replaced by its last part. Routes, fractions and links are not paths."""
    assert without_paths(text) == shown


def test_options_are_shown_with_their_values(make_plugin: Make, make_client: Make) -> None:
    """Each option is listed with its value, its default and its valid values."""
    options = [Option("rows", default=10, minimum=1, help="Most rows.")]
    client = make_client(
        {"made": make_plugin(info={"options": options})}, plugin_values={"made": {"rows": "3"}}
    )

    assert states(client)["made"]["options"] == [
        {"name": "rows", "type": "int", "value": 3, "default": 10, "help": "Most rows.",
         "wanted": "an int, 1 or more"},
    ]  # fmt: skip


def test_a_slow_route_is_logged_once(
    make_plugin: Make, make_client: Make, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """A slow route is logged again only if a call takes more than twice as long."""
    clock.rules(plugin_stats)
    pauses = iter([6.0, 0.0, 11.0, 13.0])

    def slow(request: Request) -> Response:
        clock.advance(next(pauses))
        return PlainTextResponse("")

    client = make_client(
        {"made": make_plugin(routes=lambda: [Route("/x", slow)])},
        tuning=patient_tuning(slow_call_seconds=5.0),
    )
    for _ in range(4):
        client.get("data/plugin/made/x")

    assert caplog.text.count("plugin 'made': route /x took") == 2


def test_a_route_that_does_not_return_is_logged(
    make_plugin: Make, make_client: Make, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    """A call that runs for too long is logged while it runs: it may never return."""
    begun = threading.Event()

    def block(request: Request) -> Response:
        begun.set()
        until(lambda: "has been running" in caplog.text)
        return PlainTextResponse("done")

    async def wait_for(future: Any, *seconds: float) -> bool:
        # Not before: on a busy machine, a call that has not been started would time out.
        assert begun.wait(WAIT_SECONDS)
        return await real(future, *seconds)

    real = guard.wait_for
    monkeypatch.setattr(guard, "wait_for", wait_for)
    client = make_client(
        {"made": make_plugin(routes=lambda: [Route("/x", block)])},
        tuning=patient_tuning(queue_timeout_seconds=0.5),
    )

    assert client.get("data/plugin/made/x").text == "done"
    assert "plugin 'made': route /x has been running for 0 s" in caplog.text


def test_a_traceback_of_async_code_begins_in_the_plugin(
    make_plugin: Make, make_client: Make
) -> None:
    """With `dev`, the traceback has no frames of what runs an async handler."""

    async def fails(request: Request) -> Response:
        await asyncio.sleep(0)
        raise ValueError("mine")

    plugin = make_plugin(routes=lambda: [Route("/x", fails)])
    client = make_client(load_plugins(only=(), extra={"made": plugin}, dev=True))

    text = client.get("data/plugin/made/x").text
    assert "in fails" in text
    assert "asyncio" not in text
    assert "guard.py" not in text
    [fault] = states(client)["made"]["faults"]
    assert fault["traceback"].splitlines()[1].endswith("in fails")


def test_blocked_bodies_of_one_plugin_use_no_threads_of_others(make_plugin: Make) -> None:
    """Other plugins respond, even if more bodies block than Starlette's pool has threads."""
    release, blocked = threading.Event(), threading.Semaphore(0)

    def block() -> Iterator[str]:
        yield "a"
        blocked.release()
        release.wait(WAIT_SECONDS)
        yield "b"

    def parts() -> Iterator[str]:
        yield from ("one", "two")

    plugins = load_plugins(
        only=(),
        extra={
            "bad": make_plugin(routes=lambda: [Route("/x", lambda r: StreamingResponse(block()))]),
            "good": make_plugin(routes=lambda: [Route("/x", lambda r: StreamingResponse(parts()))]),
        },
    )
    app = create_app(Config(logdir=""), board=Board(), plugins=plugins)

    async def ask() -> str:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost:6006") as http:
            asking = [
                asyncio.create_task(http.get("/data/plugin/bad/x", timeout=60)) for _ in range(45)
            ]
            for _ in range(16):
                assert await asyncio.to_thread(blocked.acquire, timeout=WAIT_SECONDS)
            await asyncio.sleep(0.3)
            try:
                response = await asyncio.wait_for(http.get("/data/plugin/good/x"), AT_ONCE_SECONDS)
            finally:
                release.set()
                bodies = [(await request).text for request in asking]
            assert bodies == ["ab"] * 45
            return response.text

    assert asyncio.run(ask()) == "onetwo"


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[LogHandler]:
    """The server's log handler, writing to memory."""
    handler = LogHandler()
    handler.setStream(io.StringIO())
    logging.getLogger().addHandler(handler)
    yield handler
    logging.getLogger().removeHandler(handler)


def test_log_lines_of_a_plugin_are_limited(
    make_plugin: Make, make_client: Make, log: LogHandler
) -> None:
    """Only lines of and about this plugin are limited. Those left out are counted."""
    noisy = logging.getLogger("somewhere.else")

    def flood(request: Request) -> Response:
        for number in range(500):
            noisy.warning("line %d", number)
        raise ValueError("and a traceback")

    def quiet(request: Request) -> Response:
        noisy.warning("hello from the other")
        return PlainTextResponse("")

    client = make_client(
        {
            "bad": make_plugin(routes=lambda: [Route("/x", flood)]),
            "good": make_plugin(routes=lambda: [Route("/x", quiet)]),
        },
        tuning=patient_tuning(log_window_seconds=1.0),
    )
    client.get("data/plugin/bad/x")
    client.get("data/plugin/good/x")
    noisy.warning("and from the core")
    written = log.stream.getvalue()
    until(lambda: "left out" in log.stream.getvalue())

    # On a busy machine there may be several windows, each with the same limit.
    text = log.stream.getvalue()
    shown = len(re.findall(r"'bad': (?:line \d+|route '/x' failed)\n", text))
    found = states(client)
    assert plugin_stats.MAX_LINES_PER_WINDOW <= shown < 400
    assert found["bad"]["log_lines_left_out"] == 501 - shown
    assert found["good"]["log_lines_left_out"] == 0
    assert "warning: plugin 'good': hello from the other\n" in written
    assert "warning: and from the core\n" in written
    assert "plugin 'bad': " in log.stream.getvalue()
    assert " more of its log lines within 1 s were left out" in log.stream.getvalue()


def test_after_a_while_a_plugin_may_log_again(caplog: pytest.LogCaptureFixture) -> None:
    """A plugin may log again after the number of lines that were left out has been logged."""
    stats = PluginStats("made", log_window_seconds=0.3)
    while stats.may_log():
        pass
    until(lambda: "left out" in caplog.text)

    assert caplog.messages == ["plugin 'made': 1 more of its log lines within 0.3 s were left out"]
    assert stats.may_log()


def test_lines_from_a_plugin_s_own_threads_are_attributed_by_their_loggers(log: LogHandler) -> None:
    """Log lines without a context belong to the plugin of their logger. Authors get all lines."""
    stats_by_package = {"noisy": PluginStats("noisy"), "author": PluginStats("author", dev=True)}
    log.stats_by_package = stats_by_package

    def flood() -> None:
        for number in range(100):
            logging.getLogger("noisy.deep").warning("line %d", number)
            logging.getLogger("author").warning("mine %d", number)

    thread = threading.Thread(target=flood)
    thread.start()
    thread.join()

    assert log.stream.getvalue().count("line ") == plugin_stats.MAX_LINES_PER_WINDOW
    assert log.stream.getvalue().count("mine ") == 100
    assert stats_by_package["noisy"].num_lines_left_out == 80
