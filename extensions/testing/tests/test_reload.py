"""Plugins that are edited while a server runs: how they are reloaded and their faults reported."""

from __future__ import annotations

import logging
import re
import sys
import threading
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from common_fixtures import WAIT_SECONDS, patient_tuning, until

from tbcore.plugins.config import Config
from tbcore.plugins.loading import load_plugins
from tbcore.plugins.stats import MAX_LINES_PER_WINDOW
from tbcore.server.app import create_app
from tbcore.store.board import Board
from tbcore_testing.client import TestClient
from tbcore_testing.reload import Reloader

PLUGIN = """
import threading
from starlette.routing import Route
from tbcore import PluginInfo, hookimpl
from tbcore.http import json_response

entered, leave = threading.Event(), threading.Event()

@hookimpl
def plugin_info():
    return PluginInfo(title="Mine")

@hookimpl
def routes():
    def slow(request):
        entered.set()
        leave.wait(60)
        return json_response("one")

    return [Route("/word", lambda request: json_response("one")), Route("/slow", slow)]
"""


class DevServer:
    """A server with `--dev` and a folder of plugins, which are reloaded when a test asks for it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.tuning: Any = SimpleNamespace(**asdict(patient_tuning(wrong_token_log_seconds=1.0)))
        config = Config(logdir="", plugins_dirs=(str(folder),), dev=True, tuning=self.tuning)
        board = Board()
        self.reloader = Reloader(config, delay_seconds=0.0)
        plugins = load_plugins(only=(), folders=config.plugins_dirs, dev=True, tuning=config.tuning)
        self.app = create_app(config, board=board, plugins=plugins, rows=self.reloader.rows)
        self.reloader._plugins = plugins
        self.client = self.new_client()

    def new_client(self) -> TestClient:
        """Another client: each thread needs its own."""
        return TestClient(self.app, base_url="http://localhost:6006")

    def write(self, path: str, text: str) -> None:
        """Writes a file below the folder of plugins, and reloads the plugins that have changed."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        self.reloader.reload_changed(self.app)

    def get(self, path: str) -> Any:
        return self.client.get(path)

    def plugin(self, name: str = "mine") -> dict[str, Any]:
        """The entry of a plugin in `data/frontends`."""
        plugins = self.get("data/frontends").json()["plugins"]
        found: dict[str, Any] = {p["name"]: p for p in plugins}
        return found[name]


@pytest.fixture
def dev_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DevServer]:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("TBCORE_PLUGINS", "")
    before = set(sys.modules)
    yield DevServer(tmp_path / "plugins")
    for name in set(sys.modules) - before:
        if name.startswith(("tbcore_file_", "tbcore_mine")):
            del sys.modules[name]


FAMILY = """
from types import SimpleNamespace
from starlette.routing import Route
from tbcore import PluginInfo, hookimpl
from tbcore.http import json_response

closed = []

def member(word):
    return SimpleNamespace(
        plugin_info=hookimpl(lambda: PluginInfo(title=word, module=None)),
        routes=hookimpl(lambda: [Route("/word", lambda request: json_response(word))]),
        close=hookimpl(lambda: closed.append(word)),
    )

@hookimpl
def plugin_info():
    return PluginInfo(title="Family", module=None)

@hookimpl
def plugins():
    return {"first": member("one"), "second": member("two")}
"""


def test_plugins_of_a_plugin_are_reloaded_with_it(dev_server: DevServer) -> None:
    """An edit replaces them, adds those that are new, and ends those that are gone."""
    dev_server.write("family.py", FAMILY)
    words = [dev_server.get(f"data/plugin/{name}/word").json() for name in ("first", "second")]
    assert words == ["one", "two"]
    members = [m.plugin for m in dev_server.app.mounted if m.plugin.name in ("first", "second")]
    dev_server.write("family.py", FAMILY.replace('"one"', '"uno"').replace('"second"', '"third"'))
    assert dev_server.get("data/plugin/first/word").json() == "uno"
    assert dev_server.get("data/plugin/third/word").json() == "two"
    assert dev_server.get("data/plugin/second/word").status_code == 404
    assert sorted(dev_server.get("data/plugins_listing").json()) == ["family", "first", "third"]
    ended = members[0].hooks.close.get_hookimpls()[0].function.__globals__["closed"]
    assert sorted(ended) == ["one", "two"]

    (dev_server.folder / "family.py").unlink()
    dev_server.reloader.reload_changed(dev_server.app)
    assert dev_server.get("data/plugins_listing").json() == {}


def test_a_plugin_is_added_edited_and_removed(dev_server: DevServer) -> None:
    """A plugin's routes are added, replaced and removed, and pages are notified each time."""
    assert dev_server.get("data/plugin/mine/word").status_code == 404
    reloads = [dev_server.get("data/status").json()["num_reloads"]]
    dev_server.write("mine.py", PLUGIN)
    assert dev_server.get("data/plugin/mine/word").json() == "one"
    # The edit has the same length and comes within a second, so Python would use the old bytecode.
    dev_server.write("mine.py", PLUGIN.replace('"one"', '"two"').replace("Mine", "Mint"))
    assert dev_server.get("data/plugin/mine/word").json() == "two"
    assert dev_server.plugin()["title"] == "Mint"
    reloads.append(dev_server.get("data/status").json()["num_reloads"])
    (dev_server.folder / "mine.py").unlink()
    dev_server.reloader.reload_changed(dev_server.app)
    assert dev_server.get("data/plugin/mine/word").status_code == 404
    reloads.append(dev_server.get("data/status").json()["num_reloads"])
    assert reloads == [0, 2, 3]
    dev_server.reloader.reload_changed(dev_server.app)
    assert dev_server.get("data/status").json()["num_reloads"] == 3


def test_code_that_is_replaced_is_closed(
    dev_server: DevServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Once, when the new code serves; and an exception of it is logged."""
    log = tmp_path / "closed"
    closes = f"""
@hookimpl
def close():
    with open({str(log)!r}, "a") as file:
        file.write("one ")
"""
    dev_server.write("mine.py", PLUGIN + closes)
    dev_server.write("other.py", PLUGIN)
    assert not log.exists()
    dev_server.write("mine.py", (PLUGIN + closes).replace("one", "two") + "    1 / 0\n")
    assert log.read_text() == "one "
    dev_server.write("mine.js", "")
    (dev_server.folder / "mine.py").unlink()
    with caplog.at_level(logging.ERROR):
        dev_server.reloader.reload_changed(dev_server.app)
    assert log.read_text() == "one two "
    assert "plugin 'mine' failed in close: ZeroDivisionError" in caplog.text


def test_modules_that_a_package_imports_are_reloaded_too(dev_server: DevServer) -> None:
    """If a module of a package is edited, all of its modules are imported again, and no others."""
    dev_server.write("other.py", PLUGIN)
    other = sys.modules["tbcore_file_other"]
    dev_server.write("tbcore_mine/words.py", 'WORD = "one"')
    source = PLUGIN.replace('json_response("one")', "json_response(WORD)")
    dev_server.write("tbcore_mine/__init__.py", "from tbcore_mine.words import WORD\n" + source)
    assert dev_server.get("data/plugin/mine/word").json() == "one"
    dev_server.write("tbcore_mine/words.py", 'WORD = "two"')
    assert dev_server.get("data/plugin/mine/word").json() == "two"
    assert sys.modules["tbcore_file_other"] is other


def test_edited_code_invalidates_what_a_browser_has_cached(dev_server: DevServer) -> None:
    """After an edit, a browser's copy is not valid any more, even if the plugin's ETag is equal."""
    etag = 'json_response("one", etag="of the data")'
    known = 'not_modified(request, "of the data")'
    source = PLUGIN.replace("import json_response", "import json_response, not_modified")
    source = source.replace('json_response("one"))', f"{known} or {etag})")
    dev_server.write("mine.py", source)
    word = dev_server.get("data/plugin/mine/word")
    kept = {"if-none-match": word.headers["etag"]}
    assert dev_server.client.get("data/plugin/mine/word", headers=kept).status_code == 304
    dev_server.write("mine.py", source.replace('"one"', '"two"'))
    assert dev_server.client.get("data/plugin/mine/word", headers=kept).json() == "two"


@pytest.mark.parametrize(
    ("broken", "line", "place"),
    [
        ("def broken(:", "plugin 'mine' failed: SyntaxError: ", 'mine.py", line 1'),
        ("import nothing_of_that_name", "plugin 'mine' failed: ModuleNotFoundError: No module "
         "named 'nothing_of_that_name'", 'mine.py", line 1, in <module>'),
        (PLUGIN.replace("    def slow", "    undefined_name\n    def slow"),
         "plugin 'mine' failed in routes: NameError: ", 'mine.py", line 15, in routes'),
        ("raise SystemExit(3)", "plugin 'mine' failed: SystemExit: 3", 'mine.py", line 1'),
    ],
)  # fmt: skip
def test_a_fault_is_reported_with_its_place_until_it_is_corrected(
    dev_server: DevServer, caplog: pytest.LogCaptureFixture, broken: str, line: str, place: str
) -> None:
    """A fault is in the page and in the log, with a traceback that starts in the plugin."""
    caplog.set_level(logging.INFO)
    dev_server.write("mine.py", PLUGIN)
    dev_server.write("mine.py", broken)
    entry = dev_server.plugin()
    assert entry["error"].startswith(line)
    assert entry["title"] == "Mine"
    assert place in entry["traceback"]
    assert "tbcore/plugins/loading.py" not in entry["traceback"]
    assert dev_server.get("data/plugin/mine/word").status_code == 503
    assert place in caplog.text
    caplog.clear()

    dev_server.write("mine.py", PLUGIN)
    entry = dev_server.plugin()
    assert (entry["error"], entry["traceback"]) == (None, "")
    assert dev_server.get("data/plugin/mine/word").json() == "one"
    reload_lines = [r.message for r in caplog.records if r.name == "tbcore.testing"]
    assert reload_lines == ["plugin 'mine' was reloaded"]
    assert "Traceback" not in caplog.text


def test_faults_of_handlers_and_of_is_active_are_reported(dev_server: DevServer) -> None:
    """The responses have the exceptions and tracebacks of handlers and of `is_active`."""
    source = PLUGIN.replace('lambda request: json_response("one")', "lambda request: 1 / 0")
    dev_server.write("mine.py", source + "\n\n@hookimpl\ndef is_active():\n    return {}['no']\n")
    response = dev_server.get("data/plugin/mine/word")
    first, _, rest = response.text.partition("\n")
    assert response.status_code == 500
    assert first == (
        "plugin 'mine' failed in its route '/word': ZeroDivisionError: division by zero"
    )
    assert 'mine.py", line 20, in <lambda>' in rest
    entry = dev_server.plugin()
    assert entry["activity_error"] == "KeyError: 'no'"
    assert "in is_active\n    return {}['no']" in entry["traceback"]


def test_requests_in_progress_are_finished_by_the_old_code(dev_server: DevServer) -> None:
    """Requests in progress are finished by the old code, and later ones use the new code."""
    dev_server.write("mine.py", PLUGIN)
    module = sys.modules["tbcore_file_mine"]
    responses: list[Any] = []
    thread = threading.Thread(
        target=lambda: responses.append(dev_server.get("data/plugin/mine/slow").json())
    )
    thread.start()
    assert module.entered.wait(WAIT_SECONDS)
    dev_server.write("mine.py", PLUGIN.replace('"one"', '"two"'))
    assert dev_server.get("data/plugin/mine/word").json() == "two"
    assert responses == []
    module.leave.set()
    thread.join(WAIT_SECONDS)
    assert responses == ["one"]


def test_new_code_gets_new_threads_if_the_old_code_has_blocked_all(
    dev_server: DevServer,
) -> None:
    """Corrected code works without a restart, even if the old code has blocked all threads."""
    blocking = PLUGIN.replace("entered.set()", "entered.release()")
    blocking = blocking.replace("threading.Event(), ", "threading.Semaphore(0), ")
    blocking = blocking.replace("leave.wait(60)", "leave.wait()")
    dev_server.write("mine.py", f"{blocking}\n@hookimpl\ndef is_active(): return True\n")
    old = sys.modules["tbcore_file_mine"]
    clients = [dev_server.new_client() for _ in range(16)]
    ask = [
        threading.Thread(target=client.get, args=["data/plugin/mine/slow"], daemon=True)
        for client in clients
    ]
    for asking in ask:
        asking.start()
    for _ in ask:
        assert old.entered.acquire(timeout=WAIT_SECONDS)
    # Not before: on a busy machine a request that times out early would block no thread.
    dev_server.tuning.queue_timeout_seconds = 0.2
    assert dev_server.get("data/plugin/mine/word").status_code == 503
    dev_server.tuning.queue_timeout_seconds = WAIT_SECONDS

    dev_server.write("mine.py", f"{PLUGIN}\n@hookimpl\ndef is_active(): return True # fixed\n")

    assert dev_server.get("data/plugin/mine/word").json() == "one"
    assert dev_server.get("data/plugins_listing").json() == {"mine": True}
    old.leave.set()
    for asking in ask:
        asking.join(WAIT_SECONDS)


def test_files_with_names_of_the_core_cost_themselves_alone(dev_server: DevServer) -> None:
    """Also those that come while the server runs, and are edited."""
    dev_server.write("mine.py", PLUGIN)
    for source in ("x = 1", "x = ", PLUGIN):
        for name in ("data", "static", "healthz", "legacy"):
            dev_server.write(f"{name}.py", f"{source}\n")
            assert dev_server.get(f"data/plugin/{name}/word").status_code == 503
        assert dev_server.client.head("data/updates").status_code == 200
        for path in ("static/tbcore/cards.js", "healthz", "legacy/data/runs", "data/runs"):
            assert dev_server.get(path).status_code == 200
        assert dev_server.get("data/nothing").status_code == 404
        assert dev_server.get("data/plugin/mine/word").json() == "one"


def test_errors_of_the_page_are_logged(
    dev_server: DevServer, caplog: pytest.LogCaptureFixture
) -> None:
    """Errors of the page are logged with control characters escaped. Other bodies are refused."""
    text = "TypeError: no\n    at render (mine.js:3:1)\n\x1b[2J"
    entry = {"plugin": "mine", "stack": text}
    response = dev_server.client.post("data/page_errors", json=entry)
    assert (response.status_code, response.text) == (204, "")
    assert caplog.messages[0].startswith(
        "plugin 'mine' failed in the page: TypeError: no\n    at render (mine.js:3:1)\n"
    )
    assert "\x1b" not in caplog.text
    for bad in (b"", b"{", b"[]", b'{"plugin": 1, "stack": 2}', b"null", b'"text"'):
        assert dev_server.client.post("data/page_errors", content=bad).status_code == 400
    too_long = b" " * (1 << 20) + b"x"
    assert dev_server.client.post("data/page_errors", content=too_long).status_code == 413
    assert dev_server.get("data/page_errors").status_code == 405


def test_the_log_of_errors_of_the_page_is_limited(
    dev_server: DevServer, caplog: pytest.LogCaptureFixture
) -> None:
    """For all plugins together: any user of the machine can send them, with any name."""
    for number in range(200):
        entry = {"plugin": f"p{number}", "stack": "TypeError"}
        assert dev_server.client.post("data/page_errors", json=entry).status_code == 204
    left_out = r"^plugin '\*': (\d+) more of its log lines within 1 s were left out$"

    def counts() -> tuple[int, int]:
        lines = "\n".join(caplog.messages)
        return lines.count("failed in the page"), sum(map(int, re.findall(left_out, lines, re.M)))

    # On a busy machine there may be several windows, each with the same limit.
    until(lambda: sum(counts()) == 200)
    assert MAX_LINES_PER_WINDOW <= counts()[0] < 200


def test_other_files_give_the_tab_a_new_address_and_import_nothing(dev_server: DevServer) -> None:
    """If other files change, the modules of the tab get new addresses; nothing is imported."""
    dev_server.write("tbcore_mine/__init__.py", PLUGIN)
    module = sys.modules["tbcore_mine"]
    dev_server.write("tbcore_mine/static/index.js", "1")
    addresses = [dev_server.plugin()["module"]]
    dev_server.write("tbcore_mine/static/part.js", "2")
    addresses.append(dev_server.plugin()["module"])
    assert sys.modules["tbcore_mine"] is module
    assert addresses[0] != addresses[1]
    assert dev_server.get(addresses[1]).text == "1"
    response = dev_server.get(addresses[1].replace("index.js", "part.js"))
    assert (response.text, response.headers["cache-control"]) == ("2", "no-store")
