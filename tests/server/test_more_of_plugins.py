"""Several tabs of one distribution, web applications at `/NAME/`, the log directory, notices."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from tbcore import Multiplexer, PluginInfo, PluginOptions, hookimpl
from tbcore.engine import load_plugins
from tbcore.http import json_response
from tbcore.plugins.checks import RESERVED_NAMES
from tbcore.plugins.config import Config
from tbcore.server.app import create_app
from tbcore.store.board import Board
from tbcore_testing import make_client, write_run
from tbcore_testing.in_thread import Server


def plugin(title: str = "Hello", **hooks: Any) -> Any:
    info = PluginInfo(title=title, module=None)
    return SimpleNamespace(
        plugin_info=hookimpl(lambda: info),
        **{name: hookimpl(function) for name, function in hooks.items()},
    )


def greeting(text: str) -> Any:
    return plugin(text, routes=lambda: [Route("/text", lambda request: json_response(text))])


def parent_of(more: Mapping[str, Any]) -> Any:
    return plugin("Parent", plugins=lambda: more)


# -- plugins ---------------------------------------------------------------------------------------


def test_a_plugin_may_have_more(tmp_path: Path) -> None:
    """Each is listed, has routes and options of its own, and can be left out."""
    parent = parent_of({"a": greeting("A"), "b": greeting("B")})
    client = make_client(tmp_path, plugins={"parent": parent})
    assert client.get("data/plugins_listing").json() == {"a": True, "b": True, "parent": True}
    assert [client.get(f"data/plugin/{name}/text").json() for name in "ab"] == ["A", "B"]

    plugins = load_plugins(only=(), extra={"parent": parent}, without=["b"])
    assert {p.name: p.disabled_by for p in plugins} == {
        "a": None, "b": "--no_plugin", "parent": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (None, "plugins must return a mapping of names to modules or objects"),
        ([greeting("A")], "plugins must return a mapping of names to modules or objects"),
        ({1: greeting("A")}, "plugins must return a mapping of names to modules or objects"),
    ],
)
def test_a_wrong_result_fails_the_plugin(result: Any, reason: str) -> None:
    [loaded] = load_plugins(only=(), extra={"parent": parent_of(result)})
    assert loaded.error == f"plugin 'parent': {reason}"


def test_a_fault_of_one_costs_only_that_one(tmp_path: Path) -> None:
    """Also a name that another plugin has, or that no plugin may have."""
    more = {"a": greeting("A"), "bad": object(), "parent": greeting("P"), "data": greeting("D")}
    plugins = load_plugins(only=(), extra={"parent": parent_of(more)})
    errors = {plugin.title: plugin.error for plugin in plugins}
    assert errors["A"] is errors["Parent"] is None
    assert [p.name for p in plugins if p.error] == ["bad", "data", "parent"]
    client = make_client(tmp_path, plugins={"parent": parent_of(more)}, dev=False)
    assert client.head("data/updates").status_code == client.get("data/runs").status_code == 200
    assert client.get("data/nothing").status_code == 404


def test_plugins_of_plugins_have_no_more() -> None:
    """A plugin that returns itself under new names would never end."""
    child = plugin("Child", plugins=lambda: {"grandchild": greeting("G")})
    plugins = load_plugins(only=(), extra={"parent": parent_of({"child": child})})
    assert [p.name for p in plugins] == ["child", "parent"]


# -- page_routes -----------------------------------------------------------------------------------


def application(multiplexer: Multiplexer, options: PluginOptions) -> list[Route]:
    def page(request: Request) -> Any:
        return HTMLResponse(f"<p>{request.url.path}</p>", headers={"set-cookie": "a=b"})

    def save(request: Request) -> Any:
        return json_response({"rest": request.path_params["rest"]})

    return [
        Route("/", page),
        Route("/fail", lambda request: 1 / 0),
        Route("/save/{rest:path}", save, methods=["POST"]),
    ]


@pytest.mark.parametrize("prefix", ["", "/team/logs"])
def test_a_web_application_is_served_at_its_name(tmp_path: Path, prefix: str) -> None:
    """Without its slash, the address of the page redirects: relative addresses would be wrong."""
    plugins = {"app": plugin(page_routes=application)}
    client = make_client(tmp_path, plugins=plugins, path_prefix=prefix, dev=False)
    response = client.get("app/?a=1")
    assert (response.status_code, response.text) == (200, f"<p>{prefix}/app/</p>")
    redirect = client.get("app?a=1", follow_redirects=False)
    assert (redirect.status_code, redirect.headers["location"]) == (301, "app/?a=1")
    assert client.post("app/save/x/y").json() == {"rest": "x/y"}
    assert client.get("app/save/x").status_code == 405
    assert client.get("app/none").status_code == 404
    assert client.get("app/fail").status_code == 500
    assert client.get("data/plugin/app/").status_code == 404


def test_pages_have_the_policy_that_the_core_writes(tmp_path: Path) -> None:
    """Also their errors; and no cookie of a plugin leaves the server."""
    client = make_client(tmp_path, plugins={"app": plugin(page_routes=application)}, dev=False)
    for path in ("app/", "app/fail", "app/none"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "script-src 'self' 'wasm-unsafe-eval';" in policy, path
        assert "connect-src 'self';" in policy
        assert "frame-ancestors 'self'" in policy
        assert ("set-cookie" in headers, headers["x-content-type-options"]) == (False, "nosniff")
    assert "wasm" not in client.get("data/runs").headers["content-security-policy"]


def test_requests_of_other_sites_do_not_reach_an_application(tmp_path: Path) -> None:
    client = make_client(tmp_path, plugins={"app": plugin(page_routes=application)})
    for headers in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        assert client.post("app/save/x", headers=headers).status_code == 403


def test_an_application_may_declare_eval(tmp_path: Path) -> None:
    app = plugin(page_routes=application)
    info = PluginInfo(title="A", module=None, page_allows=["eval"])
    app.plugin_info = hookimpl(lambda: info)
    client = make_client(tmp_path, plugins={"app": app})
    assert "'unsafe-eval'" in client.get("app/").headers["content-security-policy"]
    assert client.get("data/plugins").json()["plugins"][0]["page_allows"] == ["eval"]


def test_an_application_that_fails_responds_with_503(tmp_path: Path) -> None:
    app = plugin(page_routes=lambda: [Route("/x//y", application)])
    client = make_client(tmp_path, plugins={"app": app}, dev=False)
    response = client.get("app/")
    assert response.status_code == 503
    assert "plugin 'app': page_routes has the path" in response.text


@pytest.mark.parametrize("name", RESERVED_NAMES)
def test_names_of_the_core_are_refused(tmp_path: Path, name: str) -> None:
    plugins = {name: plugin(page_routes=application)}
    [loaded] = load_plugins(only=(), extra=plugins)
    assert loaded.error is not None
    assert "the name is reserved for" in loaded.error


def test_every_first_step_of_the_cores_addresses_is_a_name_that_is_refused() -> None:
    from tbcore.server.legacy import PAGES

    app = create_app(Config(logdir="", dev=True), board=Board(), plugins=[])
    addresses = app._served.rows.keys() - {*PAGES, "/"}
    assert {address.split("/")[1] for address in addresses} == {*RESERVED_NAMES} - {"plugins"}


# -- options.logdir --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"logdir": "logs"}, "logs"),
        ({"logdir": "gone"}, "gone"),
        ({"logdir": "", "logdir_spec": "a:logs"}, "logs"),
        ({"logdir": "", "logdir_spec": "a:logs,b:gone"}, None),
    ],
)
def test_plugins_get_the_log_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: Any, expected: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    seen: list[PluginOptions] = []
    hello = plugin(routes=lambda options: seen.append(options) or [])  # type: ignore[func-returns-value]
    make_client(plugins={"hello": hello}, **given)
    assert seen[0].logdir == (expected and str(tmp_path / expected))


def test_a_remote_log_directory_has_no_path() -> None:
    from tbcore.eventfiles.logdir import LogdirSpec, local_directory

    assert local_directory([LogdirSpec(None, "s3://bucket/runs")]) is None
    assert local_directory([]) is None


# -- notices ---------------------------------------------------------------------------------------


def test_a_notice_is_in_the_status(tmp_path: Path) -> None:
    """By the names of plugins; the last one counts."""
    client = make_client(tmp_path)
    before = client.get("data/status").json()
    for name, text in (("a", "25 %"), ("b", "[1]"), ("a", "50 %")):
        client.multiplexer.notify(name, text)
    status = client.get("data/status").json()
    notices = {name: status[name] for name in status.keys() - before.keys()}
    assert notices == {"a.notice": "50 %", "b.notice": "[1]"}
    assert client.multiplexer.generation == 0


def test_a_notice_is_short(tmp_path: Path) -> None:
    """It is part of each message to each page."""
    multiplexer = make_client(tmp_path).multiplexer
    multiplexer.notify("a", "x" * 4000)
    with pytest.raises(ValueError, match="has 4001 characters, at most 4000"):
        multiplexer.notify("a", "x" * 4001)


def test_a_notice_is_pushed_over_the_connection_of_the_page(tmp_path: Path) -> None:
    write_run(tmp_path, "run", scalars={"loss": [1.0]})
    with (
        Server(tmp_path, plugins=[]) as server,
        httpx.stream("GET", f"{server.url}data/updates") as response,
    ):
        lines = (line for line in response.iter_lines() if line.startswith("data: "))
        assert "hello.notice" not in json.loads(next(lines)[6:])
        server.multiplexer.notify("hello", "1")
        while (notice := json.loads(next(lines)[6:]).get("hello.notice")) is None:
            pass
        assert notice == "1"
