"""The core's addresses: data, the page, static files, path prefixes, and headers everywhere."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import tables_of_http
from asking import scope_of
from loaded_logs import board_of
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send
from tables_of_http import POLICY, hello

import tbcore
from tbcore import Claim, PluginInfo, hookimpl
from tbcore.eventfiles.logdir import LogdirSpec
from tbcore.eventfiles.proto.event_pb2 import Event
from tbcore.eventfiles.proto.types_pb2 import DT_FLOAT
from tbcore.plugins.config import Config
from tbcore.plugins.loading import load_plugins, load_sources
from tbcore.plugins.sources import Source
from tbcore.plugins.types import LoadedPlugin
from tbcore.server import app as app_module
from tbcore.server.headers import SafeHeaders, content_security_policy
from tbcore.server.static import StaticFiles
from tbcore.store.board import Board
from tbcore.store.loader import Loader
from tbcore.store.multiplexer import Multiplexer
from tbcore_testing import EventFileWriter, summaries, write_run
from tbcore_testing.client import TestClient
from tbcore_testing.writer import record_bytes

Make = Callable[..., Any]

PAGE_POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'{eval}; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' blob: data:; media-src 'self' blob: data:; "
    "font-src 'self' blob: data:; connect-src 'self'; worker-src 'self' blob:{frames}; "
    "base-uri 'none'; form-action 'none'; frame-ancestors {ancestors}"
)


@pytest.fixture
def load(tmp_path: Path) -> Callable[[], Board]:
    """`load()`: a board with the data below `tmp_path / "logs"`."""
    return lambda: board_of(tmp_path / "logs")


# Data --------------------------------------------------------------------------------------------


def test_logdir_and_environment(make_client: Make) -> None:
    """The responses have the logdir as it was typed, the window's title, and the version."""
    client = make_client(logdir="a:/x,\u00e9\udcff", window_title="My runs")

    assert client.get("data/logdir").json() == {"logdir": "a:/x,\u00e9\\xff"}
    assert client.get("data/environment").json() == {
        "version": tbcore.__version__,
        "data_location": "a:/x,\u00e9\\xff",
        "window_title": "My runs",
    }
    assert client.get("data/logdir").headers["content-type"] == "application/json"


def test_run_details_are_columns_in_the_order_of_the_runs(
    make_client: Make, load: Make, tmp_path: Path
) -> None:
    """The columns are times, and there are summaries of the runs with nonfinite values."""
    bad = {f"x{index}": [1.0] * index + [float("nan"), 2.0] for index in range(7)}
    write_run(tmp_path / "logs", "b", scalars={"x": [1.0, 2.0, 3.0]}, wall_time=5.0)
    write_run(tmp_path / "logs", "a", scalars=bad | {"y": [2.0]}, wall_time=9.00049)

    before = time.time()
    details = make_client(board=load()).get("data/run_details").json()

    assert before - 1 <= details.pop("now") <= time.time() + 1
    assert all(before - 60 <= modified for modified in details.pop("modified_times"))
    last = details.pop("last_event_times")
    assert last[0] > 5.0
    assert last[1] > 9.0
    assert details == {
        "runs": ["b", "a"],
        "first_event_times": [5.0, 9.0],
        "sources": {},
        "nonfinite": {
            "a": {
                "num_tags": 7,
                "tags": ["x0", "x1", "x2", "x3", "x4"],
                "first_steps": [0, 1, 2, 3, 4],
                "first_values": ["NaN"] * 5,
            }
        },
    }
    assert make_client().get("data/run_details").json()["runs"] == []


def test_frontends_list_tabs_and_unclaimed_data(
    make_client: Make, make_plugin: Make, load: Make, tmp_path: Path
) -> None:
    """The response has tabs in order, errors of plugins, and what to install for other data."""
    write_run(
        tmp_path / "logs", "train",
        scalars={"loss": [1.0, 0.5]}, histograms={"w": [[1.0, 2.0]], "v": [[1.0]]},
    )  # fmt: skip
    with EventFileWriter(tmp_path / "logs" / "eval" / "a.tfevents") as writer:
        writer.add_summary(1, summaries.tensor("odd", [1.0, 2.0], plugin_name="some_plugin"))
    info = {"title": "Numbers", "claims": [Claim("simple_value")], "order": 5}
    info |= {"description": "d", "how_to_log": {"Any": "log(1)"}, "run_action": "Weigh"}
    client = make_client(
        {
            "first": make_plugin(info={"title": "A"}),
            "numbers": make_plugin(info=info | {"module": "static/app/main.js"}),
            "bad": SimpleNamespace(),
        },
        board=load(),
        window_title="Title",
    )

    frontends = client.get("data/frontends").json()

    assert {key: frontends[key] for key in ("version", "logdir", "window_title")} == {
        "version": tbcore.__version__,
        "logdir": "logs",
        "window_title": "Title",
    }
    assert [plugin["name"] for plugin in frontends["plugins"]] == ["numbers", "first", "bad"]
    numbers, first, bad = frontends["plugins"]
    assert numbers == {
        "name": "numbers",
        "title": "Numbers",
        "module": "static/plugins/numbers/main.js",
        "order": 5,
        "active": True,
        "activity_error": None,
        "error": None,
        "distribution": "",
        "description": "d",
        "page": "",
        "run_action": "Weigh",
        "how_to_log": {"Any": "log(1)"},
    }
    assert (first["module"], first["active"]) == (None, True)
    assert (bad["title"], bad["module"], bad["active"]) == ("bad", None, False)
    assert bad["error"].startswith("plugin 'bad': it has no hook 'plugin_info'")
    unshown = {entry["kind"]: entry for entry in frontends["unshown"]}
    assert unshown["histograms"] == {
        "kind": "histograms",
        "field": "histo",
        "num_tags": 2,
        "num_runs": 1,
        "example_run": "train",
        "example_tag": "w",
        "install": "tbcore-histograms",
    }
    # This name occurs only in a log, so no distribution is derived from it.
    assert unshown["some_plugin"]["install"] is None
    assert len(unshown) == 2


def test_frontends_distinguish_a_failed_hook_from_no_data(
    make_client: Make, make_plugin: Make, tmp_path: Path
) -> None:
    """The error of `is_active` is one line, and disappears when the hook succeeds."""
    board = Board()

    def is_active(multiplexer: Multiplexer) -> bool:
        if multiplexer.runs():
            return False
        raise KeyError("no runs")

    client = make_client({"made": make_plugin(is_active=is_active)}, board=board)

    def entry() -> tuple[bool, str | None]:
        [made] = client.get("data/frontends").json()["plugins"]
        return made["active"], made["activity_error"]

    assert entry() == (False, "KeyError: 'no runs'")
    write_run(tmp_path, "train")
    Loader(board, [LogdirSpec(None, str(tmp_path))]).load_once()
    assert entry() == (False, None)


@pytest.mark.parametrize("dev", [False, True])
def test_a_failure_after_the_response_has_started_is_logged(
    caplog: pytest.LogCaptureFixture, dev: bool
) -> None:
    """uvicorn's own log is off, so no other line has the reason."""

    async def fail(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise KeyError("late")

    client = TestClient(
        SafeHeaders(fail, bytes, Config(logdir="", dev=dev, path_prefix="/secret")),
        raise_server_exceptions=False,
    )
    client.get("/secret/some")

    [record] = caplog.records
    assert record.getMessage() == "request for '/some' failed"
    assert "KeyError: 'late'" in caplog.text


@pytest.mark.parametrize(
    ("distribution", "install"),
    [
        ("tbcore-scalars 1.0", None),
        ("TBcore_Scalars 1.0", None),
        ("tbcore-other 1.0", "tbcore-scalars"),
        ("", "tbcore-scalars"),
    ],
)
def test_an_installed_plugin_is_not_recommended_for_installation(
    make_client: Make,
    make_plugin: Make,
    load: Make,
    tmp_path: Path,
    distribution: str,
    install: str | None,
) -> None:
    """The plugin may be disabled, or loaded and unable to show the data."""
    event = Event(step=1)
    value = event.summary.value.add(tag="two")
    value.metadata.plugin_data.plugin_name = "scalars"
    value.tensor.dtype = DT_FLOAT
    value.tensor.tensor_shape.dim.add(size=2)
    value.tensor.float_val[:] = [1.0, 2.0]
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "x.tfevents").write_bytes(record_bytes(event.SerializeToString()))
    numbers = make_plugin(info={"claims": [Claim(is_scalar=True)]})
    [plugin] = load_plugins(only=(), extra={"numbers": numbers})
    plugin.distribution = distribution

    left_out = LoadedPlugin("off", distribution, disabled_by="--no_plugin")
    unlisted = LoadedPlugin("off", distribution, disabled_by="not listed in TBCORE_PLUGINS")

    for plugins, without in (([plugin], ()), ([left_out], ("off",)), ([unlisted], ())):
        client = make_client(plugins, board=load(), without_plugins=without)
        [entry] = client.get("data/frontends").json()["unshown"]
        assert (entry["kind"], entry["example_tag"]) == ("scalars", "two")
        assert entry["install"] == install


def test_the_claims_of_a_failed_plugin_show_nothing(
    make_client: Make, make_plugin: Make, load: Make, tmp_path: Path
) -> None:
    """Data that only a failed plugin claims is unclaimed, since no tab shows it."""
    write_run(tmp_path / "logs", "train", scalars={"loss": [1.0]})
    plugin = make_plugin(info={"claims": [Claim()]}, routes=lambda: 1 / 0)

    frontends = make_client({"bad": plugin}, board=load()).get("data/frontends").json()

    assert [entry["field"] for entry in frontends["unshown"]] == ["simple_value"]


def test_the_first_of_two_plugins_with_the_same_name_is_served(
    make_client: Make, make_plugin: Make
) -> None:
    """The second has no tab and no addresses."""

    def source(distribution: str, word: str) -> Source:
        routes = [Route(f"/{word}", lambda request: PlainTextResponse(word))]
        plugin = make_plugin(info={"title": word}, routes=lambda: routes)
        return Source("made", distribution, lambda: plugin)

    plugins = load_sources([source("z 1.0", "first"), source("a 1.0", "second")])
    client = make_client(plugins)

    assert client.get("data/plugin/made/first").text == "first"
    assert client.get("data/plugin/made/second").status_code == 404
    tabs = client.get("data/frontends").json()["plugins"]
    assert [tab["title"] for tab in tabs] == ["first"]


def test_the_listing_has_every_plugin(make_client: Make, make_plugin: Make) -> None:
    """The listing is in the order of the tabs. Its values are booleans, whatever hooks return."""
    client = make_client(
        {
            "b": make_plugin(is_active=lambda: "yes"),
            "a": make_plugin(is_active=lambda: None, info={"order": 500}),
            "failed": SimpleNamespace(),
        }
    )

    listing = client.get("data/plugins_listing").json()

    assert listing == {"b": True, "failed": False, "a": False}
    assert list(listing) == ["b", "failed", "a"]


# Headers -----------------------------------------------------------------------------------------


def test_the_policy_allows_the_two_inline_scripts_of_the_page(make_client: Make) -> None:
    """The policy has the hashes of the import map and of the other script, as in the page."""
    client = make_client()
    page = client.get("").content
    contents = re.findall(rb'<script(?: type="importmap")?>(.*?)</script>', page, re.S)
    assert len(contents) == 2
    hashes = "".join(
        f" 'sha256-{base64.b64encode(hashlib.sha256(content).digest()).decode()}'"
        for content in contents
    )

    policy = client.get("data/runs").headers["content-security-policy"]

    assert policy == POLICY.format(hash=hashes, ancestors="'self'")
    assert content_security_policy(b"<html>").decode() == POLICY.format(hash="", ancestors="'self'")


def test_the_policy_is_updated_when_the_page_is_edited(
    make_client: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An edited page has a new policy without a restart of the server."""
    monkeypatch.setattr(app_module, "WEB", tmp_path)
    page = tmp_path / "index.html"
    page.write_text('<script type="importmap">{}</script>')
    client = make_client()
    before = client.get("").headers["content-security-policy"]

    page.write_text('<script type="importmap">{"imports": {}}</script>')

    after = client.get("").headers["content-security-policy"]
    assert before != after
    assert after.encode() == content_security_policy(page.read_bytes())


def test_a_fault_of_the_core_is_a_500_in_one_line(
    make_client: Make, load: Make, caplog: pytest.LogCaptureFixture
) -> None:
    """A fault of the core is a 500 and is logged. With `dev` it is raised as well."""

    class Broken:
        @property
        def runs(self) -> list[str]:
            raise OSError("secret")

    broken = Board()
    broken.state = Broken()  # type: ignore[assignment]
    response = make_client(board=broken).get("data/runs")

    assert response.status_code == 500
    assert response.text == "tbcore failed to respond; the log has the details"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert "OSError: secret" in caplog.text
    with pytest.raises(OSError, match="secret"):
        make_client(board=broken, dev=True).get("data/runs")


# Static files ------------------------------------------------------------------------------------


@pytest.fixture
def package(tmp_path: Path) -> ModuleType:
    return tables_of_http.package(tmp_path / "package")


@pytest.mark.parametrize("allows", [(), ("eval",), ("frames",)])
def test_a_page_and_the_files_beside_it_have_its_policy(
    make_client: Make, package: ModuleType, allows: tuple[str, ...]
) -> None:
    """Workers need it, too. All other responses, the plugin's own among them, have the core's."""
    static = Path(str(package.__file__)).parent / "static"
    (static / "index.html").write_text("<!doctype html>")
    page = PluginInfo(title="Page", page="static/index.html", page_allows=allows)
    other = ModuleType("other")
    other.__file__ = package.__file__
    other.plugin_info = hookimpl(lambda: PluginInfo(title="Other"))  # type: ignore[attr-defined]
    package.plugin_info = hookimpl(lambda: page)  # type: ignore[attr-defined]
    package.routes = hookimpl(lambda: [Route("/x", hello)])  # type: ignore[attr-defined]
    embed_in = ("https://wiki.example.com",)
    client = make_client({"page": package, "other": other}, embed_in=embed_in)

    def policy(path: str, status: int = 200) -> str:
        response = client.get(path)
        assert response.status_code == status
        [found] = response.headers.get_list("content-security-policy")
        return found

    ancestors = f"'self' {embed_in[0]}"
    evaluated = " 'unsafe-eval'" if "eval" in allows else ""
    frames = "; frame-src 'self'" if "frames" in allows else ""
    expected = PAGE_POLICY.format(eval=evaluated, frames=frames, ancestors=ancestors)
    assert policy("static/plugins/page/index.html") == expected
    assert policy("static/plugins/page/index.js") == expected
    assert policy("static/plugins/page/none.html", 404) == expected
    of_the_core = policy("data/runs")
    assert "frame-src 'self'" in of_the_core
    assert policy("static/plugins/other/index.html") == of_the_core
    assert policy("data/plugin/page/x") == of_the_core
    assert policy("static/tbcore/frame.js") == of_the_core
    assert client.get("static/plugins/page/.secret").status_code == 404
    [tab] = [p for p in client.get("data/frontends").json()["plugins"] if p["name"] == "page"]
    address = "static/tbcore/lib/frame/tab.js?page=static/plugins/page/index.html"
    assert tab["module"] == address
    assert client.get(address).status_code == 200
    [listed] = [p for p in client.get("data/plugins").json()["plugins"] if p["name"] == "page"]
    assert listed["page_allows"] == list(allows)


def test_comments_with_a_licence_and_files_with_the_suffix_mjs_are_kept(tmp_path: Path) -> None:
    """Comments and types are removed from .js, but not licences, and not with `dev`."""
    text = "/** @license MIT */\n// why\nwhat(/** @type {X} */ (x)); // how\n"
    for name in ("a.js", "a.mjs"):
        (tmp_path / name).write_text(text)
    contents = {}
    for dev in (False, True):
        for name in ("a.js", "a.mjs"):
            file = StaticFiles(dev=dev).file(tmp_path, name)
            assert file is not None
            contents[name, dev] = file.content.decode()
    removed = text.replace("// why", "").replace("/** @type {X} */ ", "")
    assert contents.pop(("a.js", False)) == removed
    assert set(contents.values()) == {text}


def test_static_files_are_sent_once(make_client: Make, package: ModuleType) -> None:
    """The browser's copy is validated by the content of the file, not by its time."""
    client = make_client({"made": package})
    address = "static/plugins/made/index.js"
    first = client.get(address)
    etag = first.headers["etag"]

    again = client.get(address, headers={"if-none-match": f'"x", {etag}'})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == etag
    assert again.headers["vary"] == "Accept-Encoding"

    file = Path(str(package.__file__)).parent / "static" / "index.js"
    file.write_text("export default 1;")
    changed = client.get(address, headers={"if-none-match": etag})
    assert changed.status_code == 200
    assert changed.text == "export default 1;"
    assert changed.headers["etag"] != etag


@pytest.mark.parametrize("name", ["format.js", "lib/components.css", "shell/shell.css"])
def test_comments_of_modules_and_styles_are_removed(
    make_client: Make, package: ModuleType, name: str
) -> None:
    """Comments become empty lines, and indents of styles go, in all files of core and plugins."""
    written = (Path(tbcore.__file__).parent / "web" / name).read_text()
    unindented = re.sub("^ +", "", written, flags=re.M) if name.endswith(".css") else written
    client = make_client({"made": package})
    served = client.get(f"static/tbcore/{name}").text
    assert "\n/*" in f"\n{written}"
    assert "\n/*" not in f"\n{served}"
    pairs = list(zip(unindented.split("\n"), served.split("\n"), strict=True))
    pairs = [(re.sub(r"/\*\* @type [^\n]*?\*/ ?", "", before), line) for before, line in pairs]
    assert all(line in ("", original) for original, line in pairs)
    left_out = "\n".join(original for original, line in pairs if line != original)
    assert re.fullmatch(r"(\s*(//.*|/\*(?s:.*?)\*/)\s*)+", left_out)

    developing = make_client({"made": package}, dev=True)
    assert developing.get(f"static/tbcore/{name}").text == written
    module = Path(str(package.__file__)).parent / "static" / "index.js"
    module.write_text("// mine\nexport default {};")
    assert client.get("static/plugins/made/index.js").text == "\nexport default {};"
    assert developing.get("static/plugins/made/index.js").text == module.read_text()


# Prefix and pages --------------------------------------------------------------------------------


def test_two_servers_in_one_process_are_independent(make_client: Make, make_plugin: Make) -> None:
    """Two servers in one process share no state, even with the same plugin."""
    plugin = make_plugin(routes=lambda: [Route("/x", hello)])
    first = make_client({"made": plugin}, logdir="a")
    second = make_client({"made": plugin}, logdir="b")

    assert first.get("data/logdir").json() == {"logdir": "a"}
    assert second.get("data/logdir").json() == {"logdir": "b"}
    assert first.get("data/plugin/made/x").text == "GET hello"
    one, other = (client.get("data/status").json()["instance"] for client in (first, second))
    assert one != other


def test_lifespan_messages_are_accepted(make_client: Make) -> None:
    """Lifespan messages are accepted, since test clients may send them."""
    with make_client() as client:
        assert client.get("data/runs").status_code == 200


def test_run_details_are_not_made_for_a_client_that_has_gone(
    tmp_path: Path, make_client: Make
) -> None:
    """Clients may go while their requests wait for a thread."""
    write_run(tmp_path, "a", scalars={"x": [1]})
    app = make_client(board=board_of(tmp_path)).app

    async def runs_for(*messages: str) -> Any:
        free, received, sent = threading.Event(), iter(messages), []
        for _ in range(4):
            app._pool.submit(free.wait)

        async def receive() -> dict[str, Any]:
            message = next(received, "http.request")
            if message == messages[-1]:
                asyncio.get_running_loop().call_soon(free.set)
            return {"type": message}

        async def send(message: Any) -> None:
            sent.append(message.get("body", b""))

        await app(scope_of("GET /data/run_details"), receive, send)
        return json.loads(b"".join(sent))["runs"]

    assert asyncio.run(runs_for("http.request")) == ["a"]
    assert asyncio.run(runs_for("http.request", "http.disconnect")) == []
