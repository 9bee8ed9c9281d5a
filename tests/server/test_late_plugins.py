"""Plugins that take long to start: the server and all other plugins do not wait for them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from common_fixtures import patient_tuning, until
from held import held_by
from installed_plugins import make_plugin
from starlette.routing import Route
from starlette.testclient import TestClient

from tbcore import Claim, Option, PluginInfo, hookimpl
from tbcore.engine import Config, LoadedPlugin, load_plugins
from tbcore.http import json_response
from tbcore.plugins.loading import find_sources, load_sources
from tbcore.server.app import create_app
from tbcore.server.report import plugins_summary
from tbcore.store.board import Board

NAMES = [Route("/name", lambda request: json_response(request.url.path))]


class Slow:
    """A plugin with a hook that waits until `go` is called, as an import may do."""

    def __init__(self, waits_in: str, **hooks: Any) -> None:
        self.gone = threading.Event()
        self.go = self.gone.set
        self.num_calls = 0
        info = PluginInfo(title="Slow", module=None, options=[Option("a", default=1, help="A.")])
        returned = {"plugin_info": info, "routes": NAMES, **hooks}

        def hook(name: str) -> Any:
            def call() -> Any:
                self.num_calls += name == waits_in
                if name == waits_in:
                    self.gone.wait()
                if isinstance(returned[name], BaseException):
                    raise returned[name]
                return returned[name]

            return hookimpl(call)

        self.hooks = SimpleNamespace(**{name: hook(name) for name in returned})


def good() -> Any:
    info = PluginInfo(title="Good", module=None)
    return SimpleNamespace(plugin_info=hookimpl(lambda: info), routes=hookimpl(lambda: list(NAMES)))


def started(
    tmp_path: Path, values: Any = None, without: Sequence[str] = (), **plugins: Any
) -> TestClient:
    tuning = patient_tuning(slow_call_seconds=0.05)
    sources = find_sources(only=(), extra=plugins)
    loaded = load_sources(sources, without=without, waits=False, tuning=tuning)
    given = {"plugin_values": values or {}, "without_plugins": without}
    config = Config(logdir=str(tmp_path), tuning=tuning, **given)
    app = create_app(config, board=Board(), plugins=loaded)
    return TestClient(app, base_url="http://localhost:6006")


def states(client: TestClient) -> dict[str, str]:
    return {p["name"]: p["state"] for p in client.get("/data/plugins").json()["plugins"]}


@pytest.mark.parametrize("waits_in", ["plugin_info", "routes"])
def test_others_are_served_while_a_plugin_starts(tmp_path: Path, waits_in: str) -> None:
    """It is listed, its routes say why they do not work, and then they do."""
    slow = Slow(waits_in)
    client = started(tmp_path, good=good(), slow=slow.hooks, z=good())
    assert states(client) == {"good": "active", "slow": "starting", "z": "active"}
    assert client.get("/data/plugin/good/name").json() == "/data/plugin/good/name"
    response = client.get("/data/plugin/slow/name")
    assert (response.status_code, response.text) == (503, "plugin 'slow' is starting")
    assert client.get("/data/plugins_listing").json()["slow"] is False
    frontends = {p["name"]: p["error"] for p in client.get("/data/frontends").json()["plugins"]}
    assert frontends == {"good": None, "slow": "plugin 'slow' is starting", "z": None}
    num_reloads = client.get("/data/status").json()["num_reloads"]

    slow.go()
    until(lambda: states(client)["slow"] == "active")
    assert client.get("/data/plugin/slow/name").json() == "/data/plugin/slow/name"
    assert client.get("/data/status").json()["num_reloads"] == num_reloads + 1
    assert list(states(client)) == ["good", "slow", "z"]
    assert slow.num_calls == 1


def test_two_slow_plugins_start_side_by_side(tmp_path: Path) -> None:
    """The one that is ready first is there first."""
    slow = {name: Slow(hook) for name, hook in (("a", "routes"), ("b", "plugin_info"))}
    client = started(tmp_path, **{name: each.hooks for name, each in slow.items()})
    slow["b"].go()
    until(lambda: states(client) == {"a": "starting", "b": "active"})
    slow["a"].go()
    until(lambda: states(client) == {"a": "active", "b": "active"})


@pytest.mark.parametrize("waits_in", ["plugin_info", "routes"])
def test_a_plugin_that_fails_late_is_listed_as_failed(tmp_path: Path, waits_in: str) -> None:
    slow = Slow(waits_in, **{waits_in: SystemExit("no GPU")})
    client = started(tmp_path, good=good(), slow=slow.hooks)
    app: Any = client.app
    [mounted] = [m for m in app.mounted if m.plugin.name == "slow"]
    with app._adding:  # It has ended, but is not served yet.
        slow.go()
        until(lambda: mounted.plugin.starting is None)
        assert states(client)["slow"] == "starting"
        assert "; starting: slow" in plugins_summary(app.mounted)
    until(lambda: states(client)["slow"] == "failed")
    response = client.get("/data/plugin/slow/name")
    assert response.status_code == 503
    assert "no GPU" in response.text


def test_a_wrong_option_of_a_late_plugin_fails_it(tmp_path: Path) -> None:
    """The server runs by then; otherwise it would not start."""
    slow = Slow("plugin_info")
    client = started(tmp_path, {"slow": {"a": "x"}}, slow=slow.hooks)
    slow.go()
    until(lambda: states(client)["slow"] == "failed")
    assert "--set slow.a: 'x' is not valid" in client.get("/data/plugin/slow/name").text


def test_a_late_plugin_may_have_more(tmp_path: Path) -> None:
    """Also one with a name that is taken by then. The loader knows when all have claimed files."""
    info = PluginInfo(title="x", module=None, claims=[Claim(files="a.bin")])
    more = make_plugin(plugin_info=lambda: info, is_active=lambda: True)
    slow = Slow("plugin_info", plugins={"more": more, "good": Slow("").hooks})
    client = started(tmp_path, good=good(), slow=slow.hooks)
    [board] = held_by(client, Board)
    assert (board.file_patterns, board.awaits_plugins) == (frozenset(), True)
    slow.go()
    until(lambda: "more" in states(client))
    assert (board.file_patterns, board.awaits_plugins) == ({"a.bin"}, False)
    assert states(client) == {"good": "active", "more": "active", "slow": "active"}
    titles = {p["name"]: p["title"] for p in client.get("/data/frontends").json()["plugins"]}
    assert titles["good"] == "Good"


def test_more_plugins_of_a_late_one_have_the_users_options(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Their names are not known when the server starts."""
    slow = Slow("plugin_info", plugins={"more": Slow("").hooks, "out": good()})
    values = {"more": {"a": "5"}}
    with caplog.at_level(logging.WARNING):
        client = started(tmp_path, values, without=["out"], slow=slow.hooks)
    assert "--set more.a: no plugin 'more' is installed; installed: slow" in caplog.messages
    slow.go()
    until(lambda: "more" in states(client))
    assert states(client) == {"more": "active", "out": "off", "slow": "active"}
    plugins = client.get("/data/plugins").json()["plugins"]
    assert [option["value"] for p in plugins for option in p["options"] if p["name"] == "more"] == [
        5
    ]


def test_a_plugin_that_starts_when_the_server_ends_is_closed_later(tmp_path: Path) -> None:
    """Once; its routes are not served any more."""
    closed: list[str] = []
    slow = Slow("routes")
    slow.hooks.close = hookimpl(lambda: closed.append("slow"))
    quick = good()
    quick.close = hookimpl(lambda: closed.append("quick"))
    client = started(tmp_path, quick=quick, slow=slow.hooks)
    app: Any = client.app
    for _ in range(2):
        app.close_plugins()
        assert closed == ["quick"]
    slow.go()
    until(lambda: closed == ["quick", "slow"])
    app.close_plugins()
    assert closed == ["quick", "slow"]
    assert client.get("/data/plugin/slow/name").status_code == 503


def test_the_log_names_a_plugin_that_takes_long(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    slow = Slow("routes")
    with caplog.at_level(logging.WARNING):
        started(tmp_path, slow=slow.hooks)
    slow.go()
    assert [line for line in caplog.messages if "'slow'" in line] == [
        "plugin 'slow' has been starting for 0 s; use --no_plugin slow to start without it"
    ]


def test_commands_wait_for_all_plugins() -> None:
    slow = Slow("plugin_info")
    found: list[LoadedPlugin] = []
    tuning = patient_tuning(slow_call_seconds=0.01)

    def load() -> None:
        found.extend(load_plugins(only=(), extra={"slow": slow.hooks}, tuning=tuning))

    thread = threading.Thread(target=load, daemon=True)
    thread.start()
    until(lambda: slow.num_calls == 1)
    slow.go()
    thread.join()
    assert [(p.title, p.error, p.starting) for p in found] == [("Slow", None, None)]


SLOW = """
import os, time
while not os.path.exists({go!r}):
    time.sleep(0.01)
from tbcore import PluginInfo, hookimpl
@hookimpl
def plugin_info():
    return PluginInfo(title="Slow", module=None)
"""


def test_a_server_starts_without_a_plugin_whose_import_hangs(
    serve: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TBCORE_PLUGINS", "")
    go, plugins = tmp_path / "go", tmp_path / "plugins"
    plugins.mkdir()
    (plugins / "slow.py").write_text(SLOW.format(go=str(go)))
    address = serve(tmp_path, "--plugins_dir", str(plugins))
    listed = lambda: httpx.get(f"{address}/data/plugins").json()["plugins"]  # noqa: E731
    [slow] = [plugin for plugin in listed() if plugin["name"] == "slow"]
    assert (slow["state"], slow["reason"]) == ("starting", "plugin 'slow' is starting")
    # It may have pages: nobody knows before its import.
    for path in ("slow/", "slow/x", "data/plugin/slow/x"):
        response = httpx.get(f"{address}/{path}")
        assert (response.status_code, response.text) == (503, "plugin 'slow' is starting"), path
    go.touch()
    until(lambda: "active" in [p["state"] for p in listed() if p["name"] == "slow"])
    assert httpx.get(f"{address}/slow/").status_code == 404
