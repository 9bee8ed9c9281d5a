"""Tabs with hundreds of cards render only those near the visible part of the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tbcore_testing import write_run

NUM_GROUPS, NUM_TAGS = 12, 20
LAST = f"layer_{NUM_GROUPS - 1:02}/part_{NUM_TAGS - 1:02}"

IS_VISIBLE = """(card) => {
  const { top, bottom } = card.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}"""
ALL_VISIBLE_ARE_RENDERED = f"""() => {{
  const seen = tb.all('.tb-card').filter({IS_VISIBLE});
  return seen.length > 0 && seen.every((card) => card.querySelector('canvas'));
}}"""


@pytest.fixture(scope="module")
def server(serve_for_module: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    logdir = tmp_path_factory.mktemp("logdir")
    tags = [
        f"layer_{group:02}/part_{part:02}"
        for group in range(NUM_GROUPS)
        for part in range(NUM_TAGS)
    ]
    write_run(logdir, "train", scalars={tag: [1.0, 0.5] for tag in tags})
    return serve_for_module(logdir, plugins=["scalars"])


@pytest.fixture
def page(open_page: Any) -> Any:
    page = open_page()
    page.wait_for_function(ALL_VISIBLE_ARE_RENDERED)
    # The placeholders are as high as cards once the first of these has been measured.
    page.wait_for_function("() => document.querySelector('.plugin').style.length > 0")
    page.evaluate("() => tb.frame()")
    return page


def test_cards_are_rendered_when_they_come_near(page: Any) -> None:
    """Before, each is a placeholder of the same height with its title; afterwards it stays."""
    titles, num_drawn = page.evaluate(
        "() => [tb.all('.tb-card').map((card) => card.getAttribute('aria-label')), "
        "tb.all('.tb-card h3').length]"
    )
    assert len(titles) == NUM_GROUPS * NUM_TAGS
    assert titles[-1] == LAST
    assert 10 < num_drawn < 100
    assert page.evaluate("(tag) => tb.card(tag).textContent", LAST) == LAST

    # Nothing moves when cards replace placeholders: neither what is visible nor the page's height.
    [before, middle] = page.evaluate(
        """() => {
          const card = tb.card('layer_06/part_00');
          card.scrollIntoView({ block: 'start' });
          return [document.documentElement.scrollHeight, card.getBoundingClientRect().top];
        }"""
    )
    page.wait_for_function(ALL_VISIBLE_ARE_RENDERED)
    [after, moved] = page.evaluate(
        "() => [document.documentElement.scrollHeight, "
        "tb.card('layer_06/part_00').getBoundingClientRect().top]"
    )
    assert abs(moved - middle) <= 1
    assert abs(after - before) <= 1
    page.evaluate("() => window.scrollTo(0, 0)")
    page.wait_for_function(ALL_VISIBLE_ARE_RENDERED)
    assert page.evaluate("() => tb.card('layer_06/part_00').querySelector('h3') !== null")


def test_cards_far_below_are_reached_with_the_keyboard(page: Any) -> None:
    """The Tab key moves from the heading of their group to the cards."""
    page.evaluate("() => tb.all('.tb-group h2 button').at(-1).focus()")
    page.wait_for_function(ALL_VISIBLE_ARE_RENDERED)
    page.keyboard.press("Tab")
    page.wait_for_function(
        "() => document.querySelector('.plugin').shadowRoot.activeElement?.closest('.tb-card')"
        "?.getAttribute('aria-label') === 'layer_11/part_00'"
    )
    page.keyboard.press("f")
    page.wait_for_function("() => tb.card('layer_11/part_00').matches('.tb-expanded')")


def test_sections_far_below_are_one_box(serve: Any, profile: Any, tmp_path: Path) -> None:
    """As high as their cards, with their titles, until they come near; a filter keeps the rest."""
    tags = [f"layer_{group:02}/part_{part:02}" for group in range(40) for part in range(20)]
    write_run(tmp_path / "logs", "train", scalars={tag: [1.0, 0.5] for tag in tags})
    page = profile.open(serve(tmp_path / "logs", plugins=["scalars"]).url)
    page.wait_for_function(ALL_VISIBLE_ARE_RENDERED)
    assert page.evaluate("() => tb.all('.tb-card').length") < 300
    assert "layer_39/part_19" in page.evaluate("() => tb.all('.tb-unseen').at(-1).textContent")
    for width in (1280, 900):
        page.set_viewport_size({"width": width, "height": 800})
        page.evaluate("() => window.scrollTo(0, 0)")
        page.wait_for_function(ALL_VISIBLE_ARE_RENDERED)
        page.wait_for_function(
            """() => {
              const heights = tb.all('.tb-group').map((group) => group.offsetHeight);
              return Math.max(...heights) - Math.min(...heights) <= 1;
            }"""
        )
    page.evaluate("() => tb.all('.tb-group h2').at(-1).scrollIntoView()")
    page.wait_for_function(ALL_VISIBLE_ARE_RENDERED)
    assert page.evaluate("() => tb.card('layer_39/part_00').querySelector('h3') !== null")
    page.evaluate("() => { globalThis.card = tb.card('layer_39/part_00'); }")
    page.get_by_label("Filter tags").fill("layer_3")
    page.wait_for_function("() => tb.all('.tb-group').length === 10")
    assert page.evaluate("() => tb.card('layer_39/part_00') === globalThis.card")


def test_sections_are_listed(page: Any) -> None:
    """The list jumps to one, and collapses and expands all, by keyboard; the address has it."""
    closed = "(count) => tb.all('.tb-group h2 [aria-expanded=false]').length === count"
    sections = page.get_by_role("button", name="12 sections")
    sections.focus()
    page.keyboard.press("Enter")
    focused = """(text) => document.querySelector('.plugin').shadowRoot.activeElement
      ?.textContent.includes(text)"""
    page.wait_for_function(focused, arg="Collapse all")
    page.keyboard.press("Enter")
    page.wait_for_function(closed, arg=12)
    page.wait_for_function("() => location.hash.endsWith('scalars.closed=//')")
    page.reload()
    page.wait_for_function("() => tb.all('.tb-group').length === 12")
    page.wait_for_function(closed, arg=12)
    sections.click()
    page.wait_for_function(focused, arg="Collapse all")
    page.keyboard.press("r")  # neither a section nor a shortcut here
    assert page.evaluate(focused, "Collapse all")
    page.keyboard.press("l")
    page.wait_for_function(focused, arg="layer_00")
    page.keyboard.press("l")
    page.wait_for_function(focused, arg="layer_01")
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    page.wait_for_function(
        "() => document.querySelector('.plugin').shadowRoot.activeElement"
        "?.closest('.tb-group')?.dataset.group === 'layer_11'"
    )
    page.wait_for_function(closed, arg=11)
    page.wait_for_function("() => location.hash.endsWith('scalars.closed=//,layer_11')")
    sections.click()
    page.get_by_role("button", name="Expand all").click()
    page.wait_for_function(closed, arg=0)
    page.wait_for_function("() => !location.hash.includes('closed')")
