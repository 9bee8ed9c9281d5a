"""How cards share the width of the window, by their number."""

from __future__ import annotations

from pathlib import Path
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
    """It is higher, too, but leaves a part of the window to others."""
    boxes, space = open_filtered(open_page, "many/07")
    assert boxes["many/07"]["width"] == pytest.approx(space, abs=1)
    assert 0.6 * 900 < boxes["many/07"]["height"] < 0.7 * 900


@pytest.mark.parametrize("tags", [("many/07", "many/08"), ("one/x", "single_0/x")])
def test_two_cards_share_the_row(open_page: Any, tags: tuple[str, str]) -> None:
    """Whether they are in one section or in two."""
    boxes, space = open_filtered(open_page, *tags)
    first, second = (boxes[tag] for tag in tags)
    assert first["top"] == second["top"]
    assert first["width"] == second["width"] == pytest.approx((space - 10) / 2, abs=1)
    assert first["height"] == second["height"]


def test_few_cards_fill_the_window(open_page: Any) -> None:
    """Two charts have at least 70 % of what is below the toolbar; three are in one row, too."""
    page = open_page("#scalars&tagQuery=one/|single_0", viewport={"width": 1440, "height": 900})
    page.wait_for_function("() => tb.all('.tb-card canvas').length > 2")
    share = page.evaluate(
        """() => {
          const area = (element) => element.offsetWidth * element.offsetHeight;
          const { bottom } = tb.all('.tb-toolbar')[0].getBoundingClientRect();
          const free = tb.all('.tb-content')[0].offsetWidth * (innerHeight - bottom);
          return tb.all('.tb-card').reduce((sum, card) => sum + area(card), 0) / free;
        }"""
    )
    assert share >= 0.7
    page.get_by_role("searchbox", name="Filter tags").fill("one/|pair/")
    page.wait_for_function("() => tb.card('pair/b')?.querySelector('canvas')")
    boxes = page.evaluate(BOXES)
    assert len({(box["top"], box["height"]) for box in boxes.values()}) == 1
    assert boxes["one/x"]["height"] > 0.6 * 900


def test_sections_of_two_cards_leave_no_column_empty(open_page: Any) -> None:
    """The page has two columns then, and more again for a section of three."""
    for tags, number, share in (("zoo/00|zoo/01", 4, 2), ("zoo/00|zoo/01|zoo/02", 5, 3)):
        query = f"#scalars&tagQuery=pair/|{tags}"
        page = open_page(query, viewport={"width": 1440, "height": 900})
        page.wait_for_function("(number) => tb.all('.tb-card').length === number", arg=number)
        page.wait_for_function(ALL_DRAWN)
        width = (page.evaluate(SPACE) - 10 * (share - 1)) / share
        for box in page.evaluate(BOXES).values():
            assert box["width"] == pytest.approx(width, abs=1)


@pytest.mark.parametrize("width", [400, 900, 1440, 2560])
def test_all_cards_of_a_page_are_equally_wide(open_page: Any, width: int) -> None:
    """In sections of any number of cards; their columns stand one below the other."""
    page = open_page("#scalars", viewport={"width": width, "height": 900})
    page.wait_for_function("() => tb.card('single_2/x')")
    boxes = page.evaluate(BOXES).values()
    widths = [box["width"] for box in boxes]
    assert max(widths) - min(widths) < 0.1
    lefts = sorted({round(box["left"]) for box in boxes})
    assert len(lefts) == {400: 1, 900: 1, 1440: 3, 2560: 5}[width]


def test_cards_fit_a_window_that_was_wider(open_page: Any) -> None:
    """Sections of few cards span no more columns than the window has now."""
    page = open_page("#scalars")
    page.wait_for_function("() => tb.canvas('many/00')")
    for width in (1200, 700, 400, 1200, 500):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function("() => document.documentElement.scrollWidth <= innerWidth")


def test_sections_are_moved(open_page: Any) -> None:
    """By dragging a heading or by the keyboard; the browser remembers it for the log directory."""
    shown = "() => tb.all('.tb-group').map((group) => group.dataset.group)"
    usual = ["many", "one", "pair", "single_0", "single_1", "single_2", "zoo"]

    def heading(page: Any, name: str) -> Any:
        return page.locator(f'[data-group="{name}"] h2 button')

    page = open_page("#scalars&tagQuery=-many%20-zoo")
    page.wait_for_function("() => tb.card('single_2/x')?.querySelector('canvas')")
    heading(page, "single_1").hover()
    page.wait_for_function("() => tb.all('h2[draggable=true]').length === 5")
    heading(page, "single_1").drag_to(heading(page, "one"), target_position={"x": 2, "y": 9})
    page.wait_for_function(f"() => ({shown})()[0] === 'single_1'")
    heading(page, "pair").focus()
    page.keyboard.press("Alt+ArrowDown")
    page.wait_for_function(f"() => ({shown})()[3] === 'pair'")
    assert (
        page.evaluate("() => tb.all('h2 > button').findIndex((button) => button.matches(':focus'))")
        == 3
    )
    page.keyboard.press("Enter")
    page.wait_for_function("() => tb.card('pair/a') === undefined")
    again = open_page("#scalars&tagQuery=-many%20-zoo")
    again.wait_for_function("() => tb.card('single_2/x')")
    assert again.evaluate(shown) == ["single_1", "one", "single_0", "pair", "single_2"]
    assert again.evaluate("() => tb.card('pair/a') === undefined")
    heading(again, "pair").focus()
    again.wait_for_function("() => tb.all('[aria-keyshortcuts]').length === 5")
    again.keyboard.press("Alt+ArrowUp")
    again.wait_for_function(f"() => ({shown})()[2] === 'pair'")
    heading(again, "single_1").focus()
    for place in (1, 2, 3):
        again.keyboard.press("Alt+ArrowDown")
        again.wait_for_function(f"() => ({shown})()[{place}] === 'single_1'")
    # No order is kept that is the usual one.
    again.get_by_role("searchbox", name="Filter tags").fill("")
    again.wait_for_function("() => tb.card('zoo/00')")
    assert again.evaluate(shown) == usual


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
    # Two rows of few cards share the window, and do not scroll.
    page = open_page("#scalars&tagQuery=-many%20-zoo", viewport={"width": 2560, "height": 1440})
    page.wait_for_function("() => tb.card('single_2/x')?.querySelector('canvas')")
    boxes = page.evaluate(BOXES)
    assert len({box["top"] for box in boxes.values()}) == 2
    assert min(box["height"] for box in boxes.values()) > 400
    for height in (700, 900, 1440):
        page.set_viewport_size({"width": 2560, "height": height})
        page.evaluate("() => tb.frame().then(tb.frame)")
        assert page.evaluate("() => document.documentElement.scrollHeight") <= height


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


def test_a_pinned_step_moves_nothing(open_page: Any) -> None:
    """Its table is over the cards below, wider than its card, and inside the window."""
    page = open_page("#scalars")
    page.wait_for_function("() => tb.all('.tb-card canvas').length > 12")
    page.wait_for_function("() => document.querySelector('.plugin').style.length > 0")
    page.evaluate("() => tb.frame()")
    before = page.evaluate(BOXES)
    for tag in ("many/00", "many/02"):
        page.locator(f"[aria-label='{tag}'] .tb-chart-plot").click(position={"x": 9, "y": 9})
        table = page.locator(f".tb-card[aria-label='{tag}'] .tb-legend tbody tr").first
        table.wait_for()
        assert page.evaluate(BOXES) == before
        box = page.locator(".tb-below").bounding_box()
        assert box["width"] > before[tag]["width"] + 100
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 1400
        page.locator(f"[aria-label='{tag}'] .tb-chart-plot").hover(position={"x": 60, "y": 60})
        tooltip = page.locator(".tb-chart-tooltip:popover-open").first
        tooltip.wait_for()
        shown = tooltip.bounding_box()
        assert shown["y"] >= box["y"] + box["height"] or shown["y"] + shown["height"] <= box["y"]
        page.locator(f"[aria-label='{tag}'] .tb-chart-pin button").first.click()
        table.wait_for(state="detached")


def test_icons_of_a_card_are_shown_where_they_are_used(open_page: Any) -> None:
    """Under the pointer or with the focus in the card; full size and what is on always."""
    page = open_page("#scalars")
    page.wait_for_function("() => tb.card('many/01')?.querySelector('canvas')")
    shown = """(tag) => [...tb.card(tag).querySelectorAll('header > div > button')].filter(
      (button) => getComputedStyle(button).opacity === '1').map((button) => button.title)"""
    assert page.evaluate(shown, "many/01") == ["Full size"]
    # All ages in the run list are the same, so that they say nothing.
    age = page.locator(".tb-run .tb-age span")
    assert age.evaluate("(age) => getComputedStyle(age).opacity") == "0"
    age.hover()
    assert age.evaluate("(age) => getComputedStyle(age).opacity") == "1"
    page.get_by_role("button", name="Full size: many/00").focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    assert len(page.evaluate(shown, "many/00")) == 4
    page.keyboard.press("Enter")
    page.locator("[aria-label='many/01'] .tb-chart-plot").hover()
    assert len(page.evaluate(shown, "many/01")) == 4
    page.keyboard.press("Tab")
    page.evaluate("() => document.activeElement.shadowRoot.activeElement.blur()")
    assert page.evaluate(shown, "many/00") == ["Show the values as a table", "Full size"]


def test_cards_are_printed_with_a_legend(open_page: Any) -> None:
    """All checked runs with their colours, and the log directory; nothing to click."""
    page = open_page("#scalars")
    page.wait_for_function("() => tb.card('many/01')?.querySelector('canvas')")
    page.locator(".tb-run").first.wait_for()
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    for part in (".top-bar", "aside .tb-filter", ".tb-runs-bar", ".tb-age", ".tb-toolbar"):
        page.locator(part).first.wait_for(state="hidden")
    boxes = page.evaluate(BOXES)
    assert boxes["many/00"]["left"] < 20
    page.locator(".logdir").wait_for()
    runs = page.locator(".tb-run")
    legend = page.locator("aside").bounding_box()
    assert legend["y"] + legend["height"] <= boxes["many/00"]["top"]
    assert all(runs.nth(index).is_visible() for index in range(runs.count()))


def test_long_lists_are_printed(serve: Any, profile: Any, tmp_path: Path) -> None:
    """Also rows out of sight, but not those of runs that are not drawn; on narrow paper, too."""
    for number in range(120):
        write_run(tmp_path / "logs", f"run{number:03}", scalars={"loss": [1.0]})
    page = profile.open(serve(tmp_path / "logs").url)
    page.wait_for_function("() => tb.canvas('loss')")
    runs = page.locator(".tb-run")
    assert runs.count() < 120
    page.get_by_role("checkbox", name="run021").uncheck()
    page.set_viewport_size({"width": 700, "height": 900})
    page.emulate_media(media="print")
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    page.wait_for_function("() => document.querySelectorAll('.tb-run').length === 120")
    page.wait_for_function(
        """() => [...document.querySelectorAll('.tb-run')].filter(
          (row) => row.checkVisibility()).length === 99"""
    )
    page.emulate_media(media="screen")
    page.evaluate("() => dispatchEvent(new Event('afterprint'))")
    page.set_viewport_size({"width": 1400, "height": 900})
    page.wait_for_function("() => document.querySelectorAll('.tb-run').length < 120")


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


def test_a_tab_may_be_left_before_its_sections_are_movable(open_page: Any) -> None:
    """What moves them comes when a heading is reached; its errors would fail the test."""
    page = open_page("#scalars")
    held: list[Any] = []
    page.route("**/moves.js", lambda route: held.append(route))
    with page.expect_request("**/moves.js"):
        page.locator('[data-group="one"] h2').hover()
    page.evaluate("() => { location.hash = '#plugins'; }")
    page.wait_for_function("() => !document.querySelector('.plugin')")
    held[0].continue_()
    page.evaluate("() => import('tbcore/lib/cards/moves.js').then(tb.frame)")
