"""The examples of docs/front_end.md: each is rendered by a real server of the demo log."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tbcore_testing.demo import write_demo

pytestmark = pytest.mark.browser

PAGE = Path(__file__).resolve().parents[2] / "docs" / "front_end.md"
BLOCK = re.compile(r"^```\w+ file=plugins/([\w/]+)\.(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Example(NamedTuple):
    """A module of the page, and the server side that the page gives it."""

    name: str  # of the plugin that it is served as
    module: str
    server_side: str


def examples() -> list[Example]:
    """The examples in the order of the page, each with the Python file of the same name."""
    text = PAGE.read_text(encoding="utf-8")
    server_sides = {plugin: code for plugin, kind, code in BLOCK.findall(text) if kind == "py"}
    return [
        Example(
            f"line_{text.count(chr(10), 0, match.start(3)) + 1}", match[3], server_sides[match[1]]
        )
        for match in BLOCK.finditer(text)
        if match[2] == "js" and match[1] in server_sides
    ]


EXAMPLES = examples()


@pytest.fixture(scope="module")
def server(serve_for_module: Callable[..., Any], tmp_path_factory: Any) -> Any:
    """One server of the demo log with a plugin for each example."""
    folder = tmp_path_factory.mktemp("examples")
    (folder / "plugins").mkdir()
    for name, module, server_side in EXAMPLES:
        (folder / "plugins" / f"{name}.js").write_text(module, encoding="utf-8")
        (folder / "plugins" / f"{name}.py").write_text(server_side, encoding="utf-8")
    for path, suffix, content in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        if path.startswith("board/"):
            file = folder / "plugins" / f"{path}.{suffix}"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content, encoding="utf-8")
    write_demo(folder / "logs")
    return serve_for_module(folder / "logs", "--plugins_dir", str(folder / "plugins"), plugins=[])


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_the_example_is_rendered(example: Example, server: Any, new_profile: Any) -> None:
    """It shows names of the demo's runs or tags, and no error, also in the browser's console."""
    profile = new_profile()
    page = profile.open(server.url, f"#{example.name}")
    page.wait_for_function(
        """() => {
          const [tab] = tb.all('.tb-plugin');
          const labels = tb.all('[aria-label]').map((element) => element.ariaLabel);
          return !document.querySelector('.opening') &&
            /small|loss|pictures/.test([tab?.textContent, ...labels].join());
        }"""
    )
    page.wait_for_function("() => !tb.all('.tb-card-chart')[0]?.dataset.hint")  # it has been drawn
    assert page.locator(".failure, .uncaught-error, .tb-card-error").count() == 0
    assert not re.search("undefined|NaN|object Object", page.locator(".plugin").inner_text())
    profile.check(server.url)


def test_the_example_of_a_chart_has_a_tooltip_and_pictures(server: Any, new_profile: Any) -> None:
    """It zooms by a key, and back by the card's button."""
    [name] = [example.name for example in EXAMPLES if "class HeatMap" in example.module]
    profile = new_profile()
    page = profile.open(server.url, f"#{name}")
    card = page.locator(".plugin .tb-card").first
    plot = card.locator(".tb-chart-plot")
    plot.hover()
    tooltip = card.locator(".tb-chart-tooltip")
    tooltip.get_by_text("step").wait_for()
    assert re.search(r"value\s*-?[\d.]+", tooltip.inner_text())
    card.locator(".tb-chart").focus()
    page.keyboard.press("+")
    card.get_by_label("Show all of").click()
    card.get_by_label("Download").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="SVG").click()
    svg = download.value.path().read_text("utf-8")
    assert svg.count("<rect") > 10
    profile.check(server.url)


def test_the_example_of_a_page_is_shown(server: Any, new_profile: Any) -> None:
    """Its runs and tags, its setting in the address, and its key."""
    profile = new_profile()
    page = profile.open(server.url, "#board&board.part=loss")
    frame = page.wait_for_selector(".plugin iframe").content_frame()
    frame.get_by_text("loss").first.wait_for()
    box = frame.get_by_label("Part of a tag")
    assert box.input_value() == "loss"
    page.keyboard.press("f")
    frame.wait_for_function("() => document.hasFocus() && document.activeElement.type === 'search'")
    page.keyboard.press("End")
    page.keyboard.type("es")
    page.wait_for_function("() => location.hash === '#board&board.part=losses'")
    frame.wait_for_function("() => !document.querySelector('ul').textContent.includes('loss')")
    profile.check(server.url)


def test_each_module_of_the_page_has_an_example_that_uses_it() -> None:
    """The section of a module begins with a table of its names."""
    text = PAGE.read_text(encoding="utf-8")
    modules = {path.name for path in PAGE.parents[1].glob("tbcore/web/*.js")} - {"host.js"}
    sections = dict(re.findall(r"^## tbcore/([\w-]+\.js)\n(.*?)(?=^## |\Z)", text, re.M | re.S))
    assert set(sections) == modules
    for module, section in sections.items():
        assert section.startswith("\n| name | what it is |\n"), module
        codes = [code for _, kind, code in BLOCK.findall(section) if kind == "js"]
        if module == "frame.js":  # whose example is the page in the section before
            assert any(f'from "../../tbcore/{module}"' in code for *_, code in BLOCK.findall(text))
        else:
            assert any(f'from "tbcore/{module}"' in code for code in codes), module
