"""What an author sees with `--dev`: saved files in the open tab, and faults with their places."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tbcore_testing import write_run

PYTHON = """
from starlette.routing import Route
from tbcore import PluginInfo, hookimpl
from tbcore.http import json_response

@hookimpl
def plugin_info():
    return PluginInfo(title="Mine")

@hookimpl
def routes():
    return [Route("/word", lambda request: json_response("first"))]
"""
MODULE = """import { mark } from "./mine.part.js";
export default {
  async render(host) {
    host.element.textContent = `${await host.fetchJSON("word")}${mark}`;
  },
};
"""


def test_saved_files_are_in_the_open_tab(serve: Any, profile: Any, tmp_path: Path) -> None:
    """Python, the module and what it imports; without a reload of the page, and faults too."""
    write_run(tmp_path / "logs", "train", scalars={"loss": [1.0]})
    folder = tmp_path / "plugins"
    folder.mkdir()

    def save(name: str, text: str) -> None:
        (folder / name).write_text(text)

    save("mine.py", PYTHON)
    save("mine.js", MODULE)
    save("mine.part.js", 'export const mark = "!";')
    server = serve(tmp_path / "logs", "--dev", "--plugins_dir", str(folder), plugins=[])
    profile.expects_errors = True
    page = profile.open(server.url, "#mine")
    content = page.locator("#content")

    def wait_for(pattern: str) -> None:
        content.get_by_text(re.compile(pattern)).first.wait_for()

    wait_for(r"^first!$")
    page.evaluate("() => { window.isSamePage = true; }")

    save("mine.part.js", 'export const mark = "?";')
    wait_for(r"^first\?$")
    save("mine.py", PYTHON.replace("first", "other"))
    wait_for(r"^other\?$")

    save("mine.py", PYTHON.replace("    return PluginInfo", "    return Pluginfo"))
    wait_for("plugin 'mine' failed in plugin_info: NameError: name 'Pluginfo' is not defined")
    wait_for(r'mine\.py", line 8, in plugin_info')
    save("mine.py", PYTHON.replace('json_response("first")', "json_response(1 / 0)"))
    wait_for("ServerError: plugin 'mine' failed in its route '/word': ZeroDivisionError")
    wait_for(r'mine\.py", line 12, in <lambda>')
    save("mine.py", PYTHON)
    wait_for(r"^first\?$")
    assert page.get_by_role("alert").count() == 0

    save("mine.part.js", 'export const mark = ";\n')
    wait_for("SyntaxError: Invalid or unexpected token")
    wait_for(r"mine\.part\.js:1:\d+")
    save("mine.part.js", 'export const mark = "#";')
    wait_for("^first#$")
    save("mine.js", MODULE.replace("host.element", "host.nothing"))
    wait_for("TypeError: Cannot set properties of undefined")
    wait_for(r"mine\.js:4:\d+")
    save("mine.js", MODULE)
    wait_for("^first#$")
    assert page.evaluate("() => window.isSamePage")

    printed = (tmp_path / "server-0.log").read_text()
    assert "tbcore: error: plugin 'mine' failed in the page: SyntaxError: Invalid" in printed
    assert "tbcore: error: plugin 'mine' failed in the page: TypeError: Cannot set" in printed
    assert re.search(r"at Object\.render \(http://\S+/mine\.js:4:\d+\)", printed)
