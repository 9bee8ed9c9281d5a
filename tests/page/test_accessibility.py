"""The page for those who use a keyboard or a screen reader."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tbcore_testing.demo import write_demo

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
TABS = (
    *("scalars", "custom_scalars", "images", "audio", "graphs"),
    *("distributions", "histograms", "text", "pr_curves", "hparams"),
)
VIOLATIONS = """async () => {
  const values = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
  const runOnly = { type: 'tag', values };
  const { violations } = await axe.run(document, { runOnly, resultTypes: ['violations'] });
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}"""
IS_DRAWN = """() => tb.all('*').length > 60 && tb.all('[data-hint=loading]').length === 0
  && document.querySelectorAll('.tb-run').length > 10"""


@pytest.fixture(scope="module")
def server(serve_for_module: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The demo log."""
    logdir = tmp_path_factory.mktemp("logs")
    write_demo(logdir)
    return serve_for_module(logdir)


@pytest.fixture(scope="module")
def axe() -> str:
    """The code of axe-core, of which `npm ci` installs the pinned version."""
    if not AXE.exists():
        message = f"{AXE} does not exist; run: npm ci --ignore-scripts"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return AXE.read_text("utf-8")


def violations(page: Any, axe: str) -> list[str]:
    """What axe-core finds in the page in both themes."""
    page.evaluate(axe)
    found = []
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        page.wait_for_function("(theme) => document.documentElement.dataset.theme === theme", arg=theme)
        found += [f"{theme}: {violation}" for violation in page.evaluate(VIOLATIONS)]
    return found


@pytest.mark.parametrize("tab", TABS)
def test_axe_finds_nothing(open_page: Any, axe: str, tab: str) -> None:
    page = open_page(f"#{tab}")
    page.wait_for_function(IS_DRAWN)
    assert violations(page, axe) == []


def test_axe_finds_nothing_in_what_is_opened(open_page: Any, axe: str) -> None:
    """Groups, columns, a table, a card in full size, a menu and the help dialog."""
    page = open_page(
        "#scalars&query=models&group=models/{model}/*&columns=accuracy:last"
        "&scalars.cards=accuracy,full"
    )
    page.wait_for_function(IS_DRAWN.replace("10", "0"))
    page.wait_for_function("() => tb.all('.tb-legend tbody tr').length > 0")
    page.get_by_role("button", name="More options for accuracy").click()
    page.get_by_text("Download all points of one run").wait_for()
    assert violations(page, axe) == []
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    page.get_by_role("dialog").wait_for()
    assert violations(page, axe) == []
