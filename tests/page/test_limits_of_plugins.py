"""What comes of an event stream, a missing import and HTML of a plugin in the page."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tbcore_testing import write_run

PYTHON = """
import threading
from starlette.responses import HTMLResponse, StreamingResponse
from starlette.routing import Route
from tbcore import PluginInfo, hookimpl
from tbcore.http import json_response

num_open = 0

def parts():
    global num_open
    num_open += 1
    try:
        for number in range(1_000_000):
            yield f"data: {number}\\n\\n"
            threading.Event().wait(0.05)
    finally:
        num_open -= 1

HTML = "<p id=own>hello</p><script>document.getElementById('own').textContent = 'ran'</script>"

@hookimpl
def plugin_info():
    return PluginInfo(title="Mine")

@hookimpl
def routes():
    return [
        Route("/events", lambda _: StreamingResponse(parts(), media_type="text/event-stream")),
        Route("/open", lambda request: json_response(num_open)),
        Route("/html", lambda request: HTMLResponse(HTML)),
    ]
"""
STREAM = """
export default {
  render(host) {
    const source = new EventSource(host.url("events"));
    source.onmessage = ({ data }) => { host.element.textContent = `part ${data}`; };
    return () => source.close();
  },
};
"""


def serve(tbcore_page: Any, folder: Path, name: str, module: str) -> Any:
    """The page of a server with a plugin, whose tab is this module."""
    (folder / "plugins").mkdir()
    (folder / "plugins" / f"{name}.py").write_text(PYTHON, encoding="utf-8")
    (folder / "plugins" / f"{name}.js").write_text(module, encoding="utf-8")
    write_run(folder / "logs", "train", scalars={"loss": [0.5]})
    return tbcore_page(folder / "logs", ["scalars"], plugins_dirs=[str(folder / "plugins")])


def address_of(page: Any, route: str) -> str:
    """The address of a route of a plugin."""
    text: str = page.playwright.evaluate(
        "(route) => new URL(`data/plugin/${route}`, document.baseURI).href", route
    )
    return text


def test_an_event_stream_reaches_the_tab_until_it_is_closed(
    tbcore_page: Any, tmp_path: Path
) -> None:
    """The policy of the page lets it connect; on the server it ends when the client has gone."""
    page = serve(tbcore_page, tmp_path, "ticking", STREAM)
    address = address_of(page, "ticking/open")

    def num_open() -> int:
        with urllib.request.urlopen(address, timeout=30) as response:
            return int(json.load(response))

    tab = page.tab("ticking")
    page.until(lambda: tab.inner_text() >= "part 2")
    assert num_open() == 1
    page.tab("scalars")
    page.until(lambda: num_open() == 0)
    assert page.errors == []


def test_a_library_that_is_not_in_the_package_is_named(tbcore_page: Any, tmp_path: Path) -> None:
    """By the browser's own message, in the tab."""
    module = 'import "three"; export default { render() {} };'
    page = serve(tbcore_page, tmp_path, "importing", module)
    with pytest.raises(AssertionError, match=r'resolve module specifier "three"'):
        page.tab("importing")


def test_html_of_a_route_has_the_policy_of_the_core(tbcore_page: Any, tmp_path: Path) -> None:
    """Its scripts do not run."""
    page = serve(tbcore_page, tmp_path, "writing", STREAM)
    page.playwright.goto(address_of(page, "writing/html"))
    assert page.playwright.locator("#own").inner_text() == "hello"
    assert any("Content Security Policy" in error for error in page.errors)
