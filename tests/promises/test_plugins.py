"""P19: a broken plugin affects only its own routes: the server starts, and others work."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from common_fixtures import AT_ONCE_SECONDS

NUM_BLOCKED = 64
"""Requests that block, more than a plugin has threads."""

HOOKS = '''
import threading
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from tbcore import LegacyApi, PluginInfo, hookimpl

class Hidden(BaseException):
    """What `except Exception` lets through."""

@hookimpl
def plugin_info():
    return PluginInfo(title="Broken", module=None)
'''

BROKEN_AT_START = {
    "syntax": "def broken(:",
    "encoding": "\udcff",
    "raises": "raise RuntimeError('at import')",
    "missing_module": "import there_is_no_such_module",
    "missing_name": "from tbcore import there_is_no_such_name",
    "exits": "raise SystemExit(3)",
    "interrupts": "raise KeyboardInterrupt",
    "hidden": "class Hidden(BaseException): pass\nraise Hidden",
    "recurses": "def f(): f()\nf()",
    "bad_error": "class Bad(Exception):\n  def __str__(self): raise ValueError\nraise Bad",
    "info_raises": HOOKS.replace('return PluginInfo(title="Broken", module=None)', "1 / 0"),
    "info_is_none": HOOKS.replace('return PluginInfo(title="Broken", module=None)', "return"),
    "info_is_text": HOOKS.replace('PluginInfo(title="Broken", module=None)', '"Broken"'),
    "info_has_no_text": HOOKS.replace('title="Broken"', "title=7"),
    "info_has_no_json": HOOKS.replace("module=None", "module=None, order=10**30"),
    "routes_raise": f"{HOOKS}\n@hookimpl\ndef routes(): raise Hidden",
    "routes_are_none": f"{HOOKS}\n@hookimpl\ndef routes(): return 7",
    "routes_are_texts": f"{HOOKS}\n@hookimpl\ndef routes(): return ['/x']",
    "routes_want_more": f"{HOOKS}\n@hookimpl\ndef routes(nonsense): return []",
    "routes_end": f"{HOOKS}\n@hookimpl\ndef routes(): yield 1 / 0",
    "legacy_raises": f"{HOOKS}\n@hookimpl\ndef legacy_api(): raise Hidden",
    "legacy_is_text": f"{HOOKS}\n@hookimpl\ndef legacy_api(): return 'x'",
}
"""Plugins that fail at the start. Each is reported by name, and does not affect the others."""

BROKEN_LATER = {
    "active_raises": f"{HOOKS}\n@hookimpl\ndef is_active(): raise Hidden",
    "active_is_odd": f"""{HOOKS}
class Odd:
    def __bool__(self): raise Hidden

@hookimpl
def is_active(): return Odd()
""",
    "active_blocks": f"{HOOKS}\n@hookimpl\ndef is_active(): threading.Event().wait()",
    "legacy_type_raises": f"""{HOOKS}
def tags(run): raise Hidden

@hookimpl
def legacy_api(): return LegacyApi(tag_types={{"odd": tags}})
""",
    "no_module": HOOKS.replace("module=None", 'module="nowhere.js"'),
    "handlers": f"""{HOOKS}
def raising(error):
    def handler(request): raise error
    return handler

async def asynchronous(request): raise Hidden

def recurses(request): return recurses(request)

def endless(request):
    def body():
        yield b"some"
        raise Hidden
    return StreamingResponse(body())

class Odd(Response):
    async def __call__(self, scope, receive, send): raise Hidden

@hookimpl
def routes():
    errors = [ValueError(), SystemExit(1), KeyboardInterrupt(), Hidden(), GeneratorExit(),
              StopIteration(), MemoryError(), RecursionError()]
    return [
        *(Route(f"/raise{{n}}", raising(error)) for n, error in enumerate(errors)),
        Route("/async", asynchronous), Route("/recurses", recurses), Route("/endless", endless),
        Route("/odd", lambda request: Odd()), Route("/none", lambda request: None),
        Route("/text", lambda request: "text"), Route("/wrong", lambda: None),
        Route("/header", lambda request: Response(headers={{"a": "b\\r\\nc: d"}})),
    ]
""",
    "blocks": f"""{HOOKS}
def block(request): threading.Event().wait()

def block_in_body(request):
    def body():
        yield b"some"
        threading.Event().wait()
    return StreamingResponse(body())

async def block_loop(request): threading.Event().wait()

@hookimpl
def routes():
    return [Route("/block", block), Route("/body", block_in_body), Route("/async", block_loop)]
""",
}


def check_others(server: Any) -> None:
    for path in (
        "/", "/data/runs", "/data/plugins_listing", "/data/frontends", "/legacy/data/runs",
        "/data/plugin/scalars/scalars?run=train&tag=loss", "/static/plugins/scalars/index.js",
        "/data/plugin/images/individualImage?run=media&tag=i&index=0",
    ):  # fmt: skip
        assert server.response_seconds(path) < AT_ONCE_SECONDS, path


@pytest.fixture(scope="module")
def broken(start_server: Callable[..., Any], logdir: Path) -> Any:
    """A server with all broken plugins at once, and the installed ones."""
    server = start_server(logdir, plugins={**BROKEN_AT_START, **BROKEN_LATER})
    server.wait_until_loaded()
    return server


def test_p19_the_server_starts_with_every_broken_plugin(broken: Any) -> None:
    """Each failed plugin is reported in responses of its addresses, and in the log."""
    check_others(broken)
    # On a busy machine a working plugin may become active late.
    broken.wait(lambda: broken.request("/data/plugins_listing").json()["scalars"])
    listing = broken.request("/data/plugins_listing").json()
    for name in BROKEN_AT_START:
        assert listing[name] is False
        response = broken.request(f"/data/plugin/{name}/x")
        assert response.status == 503, name
        assert name in response.text
        assert len(response.text.splitlines()) == 1
        assert f"plugin '{name}'" in broken.stderr


def test_p19_an_error_in_a_handler_affects_only_its_response(broken: Any) -> None:
    """The response is a 500 without internals, or is aborted; then everything still works."""
    broken_off = 0
    paths = [f"raise{number}" for number in range(8)]
    paths += ["async", "recurses", "endless", "odd", "none", "text", "wrong", "header"]
    for path in paths:
        try:
            response = broken.request(f"/data/plugin/handlers/{path}")
        except (ConnectionError, ValueError):
            broken_off += 1
            continue
        assert response.status == 500, path
        assert "failed in its route" in response.text
        assert len(response.text.splitlines()) == 1
    assert broken_off == 1  # the one that had started
    check_others(broken)


@pytest.fixture
def waiting(broken: Any) -> Iterator[list[socket.socket]]:
    """Clients that wait for a plugin that never responds."""
    clients = []
    for number in range(NUM_BLOCKED):
        client = socket.create_connection(("127.0.0.1", broken.port))
        path = ("body", "block", "async")[number % 3]
        client.sendall(
            f"GET /data/plugin/blocks/{path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        )
        clients.append(client)
    yield clients
    for client in clients:
        client.close()


def test_p19_a_plugin_that_blocks_does_not_delay_others(
    broken: Any, waiting: list[socket.socket]
) -> None:
    """64 requests wait for handlers, async handlers and streamed bodies that block."""
    with contextlib.suppress(TimeoutError):
        waiting[-1].settimeout(1)
        waiting[-1].recv(1)
    for _ in range(3):
        check_others(broken)


@pytest.mark.release
@pytest.mark.parametrize("name", [*BROKEN_AT_START, *BROKEN_LATER])
def test_p19_the_server_starts_with_a_broken_plugin(
    start: Callable[..., Any], logdir: Path, name: str
) -> None:
    """With each broken plugin alone the server starts and stops."""
    server = start(logdir, plugins={name: {**BROKEN_AT_START, **BROKEN_LATER}[name]})
    server.wait_until_loaded()
    check_others(server)
    server.process.terminate()
    assert server.process.wait(10) == 143
