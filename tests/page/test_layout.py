"""How cards share the width of the window, by their number."""

from __future__ import annotations

from typing import Any

import pytest

from tbcore_testing import write_run

TAGS = {
    "many": [f"many/{number:02}" for number in range(24)],
    "one": ["one/x"],
    "pair": ["pair/a", "pair/b"],
    **{f"single_{number}": [f"single_{number}/x"] for number in range(3)},
    "zoo": [f"zoo/{number:02}" for number in range(24)],
}
BOXES = """() => Object.fromEntries(tb.all('.tb-card').map((card) => {
  const { left, top, width, height } = card.getBoundingClientRect();
  return [card.getAttribute('aria-label'), { left, top: top + scrollY, width, height }];
}))"""
ALL_DRAWN = "() => tb.all('.tb-card').every((card) => card.querySelector('canvas'))"
SPACE = """() => {
  const { paddingLeft, paddingRight } = getComputedStyle(tb.all('.tb-content')[0]);
  return tb.all('.tb-content')[0].clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
}"""


@pytest.fixture(scope="module")
def server(serve_for_module: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    logdir = tmp_path_factory.mktemp("logdir")
    write_run(logdir, "train", scalars={tag: [1.0, 0.5] for tags in TAGS.values() for tag in tags})
    return serve_for_module(logdir, plugins=["scalars"])


def open_filtered(open_page: Any, *tags: str) -> tuple[dict[str, Any], float]:
    """The cards' boxes with a filter that leaves these tags, and the width for cards."""
    page = open_page("#scalars")
    page.get_by_role("searchbox", name="Filter tags").fill("|".join(tags))
    page.wait_for_function("(number) => tb.all('.tb-card').length === number", arg=len(tags))
    page.wait_for_function(ALL_DRAWN)
    return page.evaluate(BOXES), page.evaluate(SPACE)


def test_one_card_fills_the_row(open_page: Any) -> None:
    """It is higher, too, but leaves room for more on the screen."""
    boxes, space = open_filtered(open_page, "many/07")
    assert boxes["many/07"]["width"] == pytest.approx(space, abs=1)
    assert 300 < boxes["many/07"]["height"] < 450


@pytest.mark.parametrize("tags", [("many/07", "many/08"), ("one/x", "single_0/x")])
def test_two_cards_share_the_row(open_page: Any, tags: tuple[str, str]) -> None:
    """Whether they are in one section or in two."""
    boxes, space = open_filtered(open_page, *tags)
    first, second = (boxes[tag] for tag in tags)
    assert first["top"] == second["top"]
    assert first["width"] == second["width"] == pytest.approx((space - 10) / 2, abs=1)
    assert first["height"] == second["height"]


def test_small_sections_share_a_row(open_page: Any) -> None:
    """In their order; a section of many cards has rows of its own."""
    page = open_page("#scalars", viewport={"width": 1400, "height": 900})
    page.wait_for_function("() => tb.card('single_2/x')")
    boxes = page.evaluate(BOXES)
    row = ["one/x", "pair/a", "pair/b"]
    assert len({boxes[tag]["top"] for tag in row}) == 1
    assert [boxes[tag]["left"] for tag in row] == sorted(boxes[tag]["left"] for tag in row)
    widths = [boxes[tag]["width"] for tag in [*row, "many/00"]]
    assert max(widths) - min(widths) < 12
    assert boxes["many/23"]["top"] < boxes["one/x"]["top"] < boxes["single_0/x"]["top"]
    assert boxes["zoo/00"]["left"] == boxes["many/00"]["left"] == boxes["single_0/x"]["left"]

    # A card in full size has the row for itself.
    page.evaluate("() => tb.card('one/x').scrollIntoView()")
    page.get_by_role("button", name="Full size: one/x").click()
    page.wait_for_function("() => tb.card('one/x').matches('.tb-expanded')")
    boxes = page.evaluate(BOXES)
    assert boxes["one/x"]["width"] == pytest.approx(page.evaluate(SPACE), abs=1)
    assert boxes["pair/a"]["top"] > boxes["one/x"]["top"]


def test_cards_grow_with_the_window(open_page: Any) -> None:
    """No more than five fit side by side, and charts are higher."""
    page = open_page("#scalars", viewport={"width": 2560, "height": 1440})
    page.wait_for_function("() => tb.card('many/00')?.querySelector('canvas')")
    boxes = page.evaluate(BOXES)
    assert [boxes[f"many/{number:02}"]["left"] for number in range(6)].count(
        boxes["many/00"]["left"]
    ) == 2
    assert boxes["many/00"]["width"] > 400
    assert boxes["many/00"]["height"] > 270


@pytest.mark.parametrize("size", [(400, 800), (1400, 900), (2560, 1440)])
def test_placeholders_are_as_high_as_cards(open_page: Any, size: tuple[int, int]) -> None:
    """In sections of any number of cards: nothing moves when a card replaces a placeholder."""
    page = open_page("#scalars", viewport={"width": size[0], "height": size[1]})
    page.wait_for_function("() => tb.card('many/00')?.querySelector('canvas')")
    page.evaluate("() => tb.frame()")
    before = page.evaluate(BOXES)
    num_far = page.evaluate("() => tb.all('.tb-far').length")
    for tag in before:
        page.evaluate("(tag) => tb.card(tag).scrollIntoView()", tag)
        page.wait_for_function("(tag) => tb.card(tag).querySelector('canvas')", arg=tag)
    after = page.evaluate(BOXES)
    assert num_far > 10
    for tag, box in before.items():
        assert after[tag] == pytest.approx(box, abs=1), tag


def test_an_open_table_makes_its_card_alone_higher(open_page: Any) -> None:
    """The cards beside it keep their height."""
    page = open_page("#scalars")
    page.wait_for_function("() => tb.card('many/01')?.querySelector('canvas')")
    before = page.evaluate(BOXES)["many/01"]
    page.get_by_role("button", name="Table of many/00").click()
    page.wait_for_function("() => tb.card('many/00').querySelector('.tb-legend tbody tr')")
    boxes = page.evaluate(BOXES)
    assert boxes["many/01"] == before
    assert boxes["many/00"]["height"] > before["height"] + 20
