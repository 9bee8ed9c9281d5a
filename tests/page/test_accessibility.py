"""The page for those who use a keyboard or a screen reader."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tbcore_testing.demo import write_demo

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
TABS = (
    *("scalars", "custom_scalars", "images", "audio", "mesh", "graphs"),
    *("distributions", "histograms", "text", "pr_curves", "hparams", "compare"),
)
VIOLATIONS = """async (theme) => {
  const values = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
  const runOnly = theme === 'light' ? { type: 'tag', values } : ['color-contrast'];
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
    """What axe-core finds in the page; in the dark theme, whose colours alone differ, of them."""
    page.evaluate(axe)
    found = []
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        page.wait_for_function(
            "(theme) => document.documentElement.dataset.theme === theme", arg=theme
        )
        found += [f"{theme}: {violation}" for violation in page.evaluate(VIOLATIONS, theme)]
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
    # Groups are folded.
    page.wait_for_function(IS_DRAWN.replace(".tb-run').length > 10", ".tb-row').length > 4"))
    page.wait_for_function("() => tb.all('.tb-legend tbody tr').length > 0")
    page.get_by_role("button", name="More options for accuracy").click()
    page.get_by_role("button", name="CSV as drawn").wait_for()
    assert violations(page, axe) == []
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    page.get_by_role("dialog").wait_for()
    assert violations(page, axe) == []


FOCUSED = """() => {
  let element = document.activeElement;
  while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
  const attribute = (name) => element?.getAttribute(name) ?? '';
  const name = attribute('aria-label') || element?.labels?.[0]?.textContent || element?.textContent;
  return { name: name ?? '', description: attribute('aria-description') };
}"""


def tab_to(page: Any, name: str, key: str = "Tab") -> None:
    """Presses Tab until something whose name contains a text has the focus."""
    names = []
    while not names or name not in names[-1]:
        assert len(names) < 100, names
        page.keyboard.press(key)
        names.append(page.evaluate(FOCUSED)["name"])


def wait_for_focus(page: Any, name: str) -> None:
    page.wait_for_function(f"(name) => ({FOCUSED})().name.includes(name)", arg=name)


def wait_for_address(page: Any, text: str) -> None:
    page.wait_for_function("(text) => decodeURIComponent(location.hash).includes(text)", arg=text)


def test_a_chart_is_read_zoomed_and_pinned_with_the_keys(open_page: Any) -> None:
    """A screen reader says what its lines do, and each point that the keys select."""
    page = open_page("#scalars&query=re:^small/&tagQuery=loss/total")
    page.wait_for_function("() => tb.label('loss/total').includes('small/eval, small/train')")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # skips to the charts
    tab_to(page, "loss/total by step")
    said = "() => tb.chart('loss/total').ariaDescription.startsWith('small/eval falls from 2.48')"
    page.wait_for_function(said)
    assert "Last values: small/eval 0." in page.evaluate(FOCUSED)["description"]
    page.keyboard.press("Home")
    page.keyboard.press("ArrowUp")
    status = "(text) => tb.all('[role=status]').some((each) => each.textContent.includes(text))"
    page.wait_for_function(status, arg="small/eval, step 0: 2.")
    page.keyboard.press("a")
    page.wait_for_function("() => tb.rows().length === 2")
    page.keyboard.press("a")
    page.keyboard.press("Enter")
    wait_for_address(page, "step=0")
    page.keyboard.press("+")
    wait_for_address(page, "scalars.zoom=loss/total,")
    page.keyboard.press("f")
    wait_for_address(page, "scalars.cards=loss/total,full")
    assert "zoomed in" in page.evaluate(FOCUSED)["name"]


def test_a_menu_gives_the_focus_back(open_page: Any) -> None:
    """After Escape, and after a choice in it: the next key goes on from the button."""
    page = open_page("#scalars&tagQuery=accuracy")
    page.wait_for_function(IS_DRAWN)
    tab_to(page, "Other horizontal axes")
    page.keyboard.press("Enter")
    wait_for_focus(page, "Find a tag")
    page.keyboard.type("learning")
    page.keyboard.press("Enter")
    wait_for_address(page, "scalars.x=tag:optimizer/learning_rate")
    wait_for_focus(page, "Other horizontal axes, x: optimizer/learning_rate")
    assert page.locator(":popover-open").count() == 0
    tab_to(page, "More options for accuracy")
    page.keyboard.press("Enter")
    page.get_by_text("Download this chart").wait_for()
    page.keyboard.press("p")  # no shortcuts while it is open
    page.keyboard.press("r")
    assert page.evaluate(FOCUSED)["name"] == "More options for accuracy"
    tab_to(page, "Y axis: range of the last 20 %")
    page.keyboard.press("Space")
    wait_for_address(page, "scalars.cards=accuracy,tail")
    assert "pinned" not in page.evaluate("() => location.hash")
    page.keyboard.press("Escape")
    wait_for_focus(page, "More options for accuracy")


def test_a_menu_leaves_the_focus_that_has_gone_on(open_page: Any) -> None:
    """A key right after Escape goes where the reader is, and does not press the button."""
    page = open_page("#scalars&tagQuery=accuracy")
    page.wait_for_function(IS_DRAWN)
    tab_to(page, "More options for accuracy")
    page.keyboard.press("Enter")
    tab_to(page, "Y axis: range of the last 20 %")
    page.evaluate("""async () => {
        tb.all('[popover=auto]:popover-open')[0].hidePopover();
        document.querySelector('input[aria-label="Filter runs"]').focus();
        await new Promise((done) => setTimeout(done));
    }""")
    assert page.evaluate(FOCUSED)["name"] == "Filter runs"


def test_sessions_are_limited_to_a_range_with_the_keys(open_page: Any) -> None:
    page = open_page("#hparams")
    page.wait_for_function(IS_DRAWN)
    rows = page.locator(".plugin tbody tr[data-name]")
    before = rows.count()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    tab_to(page, "Axis learning_rate")
    page.keyboard.press("Enter")
    tab_to(page, "learning_rate, minimum")
    page.keyboard.type("0.005")
    page.keyboard.press("Enter")
    page.wait_for_function("(before) => tb.all('tbody tr[data-name]').length < before", arg=before)
    assert rows.count() > 0
    page.keyboard.press("Escape")
    wait_for_focus(page, "Axis learning_rate")


GAPS = """() => {
  const boxes = [...document.querySelectorAll('.keys > section')].map((section) =>
    [...section.children].map((child) => child.getBoundingClientRect()));
  const ends = boxes.map((rects) => [rects[0].left, rects[0].top, rects.at(-1).bottom]);
  return ends.slice(1).flatMap(([left, top], i) => (left === ends[i][0] ? [top - ends[i][2]] : []));
}"""
FADES = """([selector, part]) => {
  const style = getComputedStyle(document.querySelector(selector), part);
  const probe = document.body.appendChild(document.createElement('i'));
  probe.style.color = 'var(--tb-surface)';
  const surface = getComputedStyle(probe).color;
  probe.remove();
  return [style.position, style.backgroundImage.includes(surface)];
}"""


def test_what_continues_past_an_edge_fades_into_the_background(open_page: Any) -> None:
    """The help dialog, which has no holes, and the row of tabs."""
    page = open_page("#scalars", viewport={"width": 1440, "height": 500})
    page.wait_for_function(IS_DRAWN)
    page.keyboard.press("?")
    page.get_by_role("dialog").wait_for()
    gaps = page.evaluate(GAPS)
    assert gaps
    assert max(gaps) < 30
    page.set_viewport_size({"width": 400, "height": 500})
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        page.wait_for_function(
            "(theme) => document.documentElement.dataset.theme === theme", arg=theme
        )
        for where in (["dialog", "::after"], [".tabs", "::after"], [".tabs", "::before"]):
            assert page.evaluate(FADES, where) == ["sticky", True], where
    assert (
        page.evaluate(
            """() => {
          const tabs = document.querySelector('.tabs');
          tabs.scrollLeft = 1e6;
          return tabs.lastElementChild.getBoundingClientRect().right
            - tabs.getBoundingClientRect().right;
        }"""
        )
        < -10
    )  # at the end nothing is covered


def test_the_name_of_the_open_tab_is_whole(open_page: Any) -> None:
    """Where tabs fade, also after the button for views, which comes last, took some of the bar."""
    page = open_page("#histograms", viewport={"width": 1024, "height": 500})
    page.get_by_role("button", name="Views").wait_for()
    page.wait_for_function("""() => {
      const right = (selector) => document.querySelector(selector)?.getBoundingClientRect().right;
      return right('.tabs') - right('.tab[aria-selected=true]') >= 31;
    }""")
