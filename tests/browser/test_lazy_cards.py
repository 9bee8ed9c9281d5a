"""Tabs with hundreds of cards, of which those near the visible part of the page are drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tbcore.testing import write_run

pytestmark = pytest.mark.browser

GROUPS, TAGS = 12, 20
LAST = f"layer_{GROUPS - 1:02}/part_{TAGS - 1:02}"

IN_SIGHT = """(card) => {
  const { top, bottom } = card.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}"""
ALL_IN_SIGHT_ARE_DRAWN = f"""() => {{
  const seen = tb.all('.tb-card').filter({IN_SIGHT});
  return seen.length > 0 && seen.every((card) => card.querySelector('canvas'));
}}"""


@pytest.fixture(scope="module")
def server(serve_for_module: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    logdir = tmp_path_factory.mktemp("logdir")
    tags = [f"layer_{group:02}/part_{part:02}" for group in range(GROUPS) for part in range(TAGS)]
    write_run(logdir, "train", scalars={tag: [1.0, 0.5] for tag in tags})
    return serve_for_module(logdir, plugins=["scalars"])


@pytest.fixture
def page(server: Any, new_profile: Callable[..., Any]) -> Any:
    page = new_profile().open(server.url)
    page.wait_for_function(ALL_IN_SIGHT_ARE_DRAWN)
    return page


def test_cards_are_drawn_as_they_come_near(page: Any) -> None:
    """Until then each is an empty box of the same height with its title; afterwards it stays."""
    titles, num_drawn = page.evaluate(
        "() => [tb.all('.tb-card').map((card) => card.getAttribute('aria-label')), "
        "tb.all('.tb-card h3').length]"
    )
    assert len(titles) == GROUPS * TAGS
    assert titles[-1] == LAST
    assert 10 < num_drawn < 100
    assert page.evaluate("(tag) => tb.card(tag).textContent", LAST) == LAST

    # Nothing moves as boxes become cards: neither what is looked at, nor the length of the page.
    [before, middle] = page.evaluate(
        """() => {
          const card = tb.card('layer_06/part_00');
          card.scrollIntoView({ block: 'start' });
          return [document.documentElement.scrollHeight, card.getBoundingClientRect().top];
        }"""
    )
    page.wait_for_function(ALL_IN_SIGHT_ARE_DRAWN)
    [after, moved] = page.evaluate(
        "() => [document.documentElement.scrollHeight, "
        "tb.card('layer_06/part_00').getBoundingClientRect().top]"
    )
    assert abs(moved - middle) <= 1
    assert abs(after - before) <= 1
    page.evaluate("() => window.scrollTo(0, 0)")
    page.wait_for_function(ALL_IN_SIGHT_ARE_DRAWN)
    assert page.evaluate("() => tb.card('layer_06/part_00').querySelector('h3') !== null")


def test_cards_far_below_are_reached_with_the_keyboard(page: Any) -> None:
    """By the heading of their group, and on from there."""
    page.evaluate("() => tb.all('.tb-group h2 button').at(-1).focus()")
    page.wait_for_function(ALL_IN_SIGHT_ARE_DRAWN)
    page.keyboard.press("Tab")
    page.wait_for_function(
        "() => document.querySelector('.plugin').shadowRoot.activeElement?.closest('.tb-card')"
        "?.getAttribute('aria-label') === 'layer_11/part_00'"
    )
    page.keyboard.press("f")
    page.wait_for_function("() => tb.card('layer_11/part_00').matches('.tb-expanded')")
