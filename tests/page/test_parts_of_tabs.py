"""Parts of the page that plugins use in a way in which no tab of this repository does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tbcore_testing import Page, write_run

pytestmark = pytest.mark.browser

PYTHON = """
from starlette.routing import Route
from tbcore import Claim, PluginInfo, hookimpl
from tbcore.http import json_response

@hookimpl
def plugin_info():
    return PluginInfo(title="Parts", claims=[Claim(is_scalar=True)], module="static/index.js")

@hookimpl
def routes(multiplexer):
    claims = [Claim(is_scalar=True)]
    return [Route("/tags", lambda request: json_response(multiplexer.tags(claims)))]
"""
FILES = """
import { html } from "htm/preact";
import { render } from "preact";
import { TagTab, watchTags } from "tbcore/tags.js";

export default {
  async render(host) {
    const tags = await watchTags(host);
    const card = ({ tag, run }) => html`<p>${tag} of ${run.name}</p>`;
    const words = { what: "files", noun: "file" };
    const tab = html`<${TagTab} host=${host} tags=${tags} ...${words} renderCard=${card} />`;
    render(tab, host.element);
    return () => render(null, host.element);
  },
};
"""
TABLE = """
import "@preact/signals";
import { html } from "htm/preact";
import { render } from "preact";
import { RunLabel } from "tbcore/text-names.js";

const Rows = ({ host }) => html`<div class="tb-content"><table class="tb-table"><tbody>
  ${host.runs.value.map((run) => html`<tr><th><${RunLabel} run=${run} /></th><td>0.5</td></tr>`)}
</tbody></table></div>`;

export default {
  render(host) {
    render(html`<${Rows} host=${host} />`, host.element);
    return () => render(null, host.element);
  },
};
"""


@pytest.fixture
def open_tab(tbcore_page: Any, tmp_path: Path) -> Callable[[str, str], tuple[Page, Any]]:
    """Opens the tab of a new plugin with a name and a module; returns the page, and the tab."""

    def open_it(name: str, module: str) -> tuple[Page, Any]:
        package = tmp_path / "plugins" / name
        (package / "static").mkdir(parents=True)
        (package / "__init__.py").write_text(PYTHON, encoding="utf-8")
        (package / "static" / "index.js").write_text(module, encoding="utf-8")
        for run in ("first", "/".join(["a", "long", "name"] * 8)):
            write_run(tmp_path / "logs", run, scalars={"a.csv": [0.5], "b.csv": [0.5]})
        page = tbcore_page(tmp_path / "logs", plugins_dirs=[str(package.parent)])
        return page, page.tab(name)

    return open_it


def test_a_tab_of_cards_has_its_own_word_for_a_tag(open_tab: Any) -> None:
    """In the toolbar, and where it says why there are no cards."""
    page, tab = open_tab("parts_files", FILES)
    assert tab.get_by_role("status").first.inner_text() == "2 files, 2 runs"
    tab.get_by_text("a.csv of first").wait_for()
    tab.get_by_label("Filter files").fill("none.csv")
    tab.get_by_text("No file of the selected runs matches “none.csv”.").wait_for()
    page.playwright.get_by_role("checkbox", name="All runs").uncheck()
    tab.get_by_text("No runs are shown.").wait_for()
    assert page.errors == []


def test_the_label_of_a_run_in_a_table_is_one_line(open_tab: Any) -> None:
    """The dot is beside the name; a long name is cut, so that a narrow window has the next cell."""
    page, tab = open_tab("parts_table", TABLE)
    page.playwright.set_viewport_size({"width": 400, "height": 700})
    for row in tab.locator("tr").all():
        dot, name, cell = (row.locator(part).bounding_box() for part in ("i", ".tb-name", "td"))
        assert dot["x"] + dot["width"] <= name["x"]
        assert name["y"] < dot["y"] + dot["height"] / 2 < name["y"] + name["height"]
        assert row.bounding_box()["height"] < 2 * name["height"]
        assert cell["x"] + cell["width"] <= 400
    assert page.errors == []
