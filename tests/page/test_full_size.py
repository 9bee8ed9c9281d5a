"""Cards in full size, in a real browser: what all tabs with cards have in common."""

from __future__ import annotations

from typing import Any

import pytest

from tbcore_testing import summaries, write_run

NUM_RUNS = 20

IN_SIGHT = """(name) => {
  const card = tb.card(name);
  if (!card?.matches('.tb-expanded')) return false;
  const { top, bottom } = card.querySelector('header').getBoundingClientRect();
  const covered = tb.all('.tb-toolbar')[0].getBoundingClientRect().bottom;
  return top >= covered && bottom < innerHeight / 2;
}"""
"""Whether a card has full size, and its header is below the toolbar, in the upper half."""

STAYS_IN_SIGHT = f"""async (name) => {{
  const isInSight = {IN_SIGHT};
  let numFrames = 0;
  for (let i = 0; i < 600 && numFrames < 2; i++) {{
    await tb.frame();
    numFrames = isInSight(name) ? numFrames + 1 : 0;
  }}
  return numFrames === 2;
}}"""
"""Whether a card is in sight in two successive frames: what is above may still arrive."""


@pytest.fixture(scope="module")
def server(serve_for_module: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Twenty runs, so that cards of all runs are taller than the window."""
    logdir = tmp_path_factory.mktemp("logdir")
    for i in range(NUM_RUNS):
        tags = ("a/first", "a/second")
        write_run(
            logdir,
            f"run{i:02}",
            scalars={tag: [1.0, 0.5] for tag in tags},
            images={tag: [summaries.png(96, 96)] for tag in tags},
            audio={tag: [summaries.wav([0.0, 0.5] * 400)] for tag in tags},
            texts={tag: ["several\n\nlines\n\nof words"] for tag in tags},
            histograms={tag: [[0.0, 1.0, 2.0]] for tag in tags},
        )
    return serve_for_module(logdir)


CARDS = {
    "scalars": "a/second",
    "images": "a/second",
    "audio": "a/second",
    "text": "a/second",
    "histograms": "a/first in run07",
    "distributions": "a/first in run07",
}


@pytest.mark.parametrize("tab", CARDS)
def test_an_enlarged_card_scrolls_into_sight_and_escape_leaves(open_page: Any, tab: str) -> None:
    """Also a card taller than the window; and Escape works wherever the focus is."""
    page = open_page(f"#{tab}")
    name = CARDS[tab]
    page.wait_for_function("(name) => tb.card(name)?.querySelector('header')", arg=name)
    # By script, since Playwright would scroll to the button.
    page.evaluate(
        "(name) => tb.card(name).querySelector('[aria-label^=\"Full size\"]').click()", name
    )
    page.wait_for_function(IN_SIGHT, arg=name)
    assert page.evaluate(STAYS_IN_SIGHT, name)
    assert not page.evaluate("() => document.activeElement?.shadowRoot?.activeElement")
    page.keyboard.press("Escape")
    page.locator(".tb-expanded").wait_for(state="detached")


TOP = "() => Math.round(tb.all('.tb-expanded header')[0].getBoundingClientRect().top)"


def test_an_enlarged_card_stays_in_sight_until_the_reader_scrolls(open_page: Any) -> None:
    """Also at the top of a page, where a browser does not keep in place what is pushed down."""
    page = open_page("#text&query=run00")
    page.wait_for_function("() => tb.all('.text-body').length === 2")
    page.evaluate("() => tb.card('a/second').querySelector('[aria-label^=Full]').click()")
    page.wait_for_function(IN_SIGHT, arg="a/second")
    assert page.evaluate("() => scrollY") == 0
    page.evaluate("() => void (document.body.style.paddingBottom = '900px')")
    grow = "(px) => void (tb.card('a/first').style.paddingBottom = px + 'px')"
    page.evaluate(grow, 2000)
    assert page.evaluate(STAYS_IN_SIGHT, "a/second")

    top = page.evaluate(TOP)
    page.mouse.move(700, 500)
    page.mouse.wheel(0, -100)
    page.wait_for_function(f"(top) => ({TOP})() > top + 90", arg=top)
    page.evaluate(grow, 2500)
    page.evaluate("() => tb.frame()")
    assert page.evaluate(TOP) > top + 90


PLACE = """(name) => [scrollY, tb.card(name).getBoundingClientRect().top].map(Math.round)"""
"""How far the page is scrolled, and where in the window a card is."""

SCROLLED_TO = f"""async (name) => {{
  const placeOf = {PLACE};
  let place = [];
  let numFrames = 0;
  while (numFrames < 20) {{
    scrollTo(0, scrollY + tb.card(name).getBoundingClientRect().top - 70);
    await tb.frame();
    numFrames = String(placeOf(name)) === String(place) ? numFrames + 1 : 0;
    place = placeOf(name);
  }}
  return place;
}}"""
"""Scrolls to a card until nothing above it arrives any more; resolves to its place."""


@pytest.mark.parametrize("tab", CARDS)
def test_a_card_that_leaves_full_size_is_where_it_was(open_page: Any, tab: str) -> None:
    """By Escape, after the reader has scrolled elsewhere, too."""
    page = open_page(f"#{tab}")
    name = CARDS[tab]
    content = "(name) => tb.card(name)?.querySelector('canvas, img, audio, .text-body')"
    page.wait_for_function(content, arg=name)
    before = page.evaluate(SCROLLED_TO, name)
    page.evaluate(
        "(name) => tb.card(name).querySelector('[aria-label^=\"Full size\"]').click()", name
    )
    page.wait_for_function(IN_SIGHT, arg=name)
    page.evaluate("() => scrollBy(0, 500)")
    page.keyboard.press("Escape")
    page.locator(".tb-expanded").wait_for(state="detached")
    page.wait_for_function(
        f"([name, before]) => String(({PLACE})(name)) === String(before)", arg=[name, before]
    )


FILLED = """(name) => {
  const edges = (selector) => tb.all(`.tb-expanded ${selector}`)[0]?.getBoundingClientRect();
  const [header, chart, table] = ['header', '.tb-chart-canvas', '.tb-legend'].map(edges);
  const rows = tb.all('.tb-expanded .tb-legend tr');
  if (rows.length < 6 || !chart) return null;
  const toolbar = tb.all('.tb-toolbar')[0];
  const isSticky = getComputedStyle(toolbar).position === 'sticky';
  return {
    above: header.top - (isSticky ? toolbar.getBoundingClientRect().bottom : 44),
    gap: Math.max(chart.top - header.bottom, table.top - chart.bottom),
    sixth: innerHeight - rows[5].getBoundingClientRect().bottom,
    height: chart.height,
  };
}"""
"""What an enlarged card leaves above its header, around its chart, and below the fifth row."""


@pytest.mark.parametrize(("width", "height"), [(1400, 900), (400, 800)])
@pytest.mark.parametrize("is_linked", [False, True])
def test_a_chart_in_full_size_takes_what_the_table_leaves(
    open_page: Any, width: int, height: int, is_linked: bool
) -> None:
    """The window shows the chart and the table's header and first five rows."""
    hash = "#scalars&scalars.cards=a/second,full" if is_linked else "#scalars"
    page = open_page(hash, viewport={"width": width, "height": height})
    page.wait_for_function("() => tb.card('a/second')?.querySelector('header')")
    if not is_linked:
        page.evaluate("() => tb.card('a/second').querySelector('[aria-label^=\"Full\"]').click()")
    page.wait_for_function(f"() => ({FILLED})()")
    if is_linked:
        page.evaluate("() => tb.card('a/second').scrollIntoView()")
    filled = f"() => {{ const {{above, sixth}} = ({FILLED})(); return above >= 0 && sixth >= 0; }}"
    page.wait_for_function(filled)
    found = page.evaluate(f"() => ({FILLED})()")
    assert found["above"] < 20
    assert found["sixth"] < 20
    assert found["gap"] < 12
    assert found["height"] > height / 2


BESIDE = """() => {
  const canvas = tb.canvas('a/first');
  const plot = tb.all('.tb-chart-plot')[0].getBoundingClientRect();
  const edge = canvas.getBoundingClientRect();
  const left = plot.right - edge.left + 2;
  const ratio = canvas.width / edge.width;
  const width = (edge.width - left) * ratio;
  const { data } = canvas.getContext('2d').getImageData(left * ratio, 0, width, canvas.height);
  return [edge.right - plot.right, data.some((channel, i) => i % 4 === 3 && channel > 99)];
}"""
"""The width of the space beside the first chart's plot, and whether anything is drawn there."""


def test_lines_are_named_beside_their_ends_in_wide_charts(open_page: Any) -> None:
    """Up to twelve of them, if the chart is wide."""

    def is_named(named: bool) -> str:
        text = "width > 30 && drawn" if named else "width < 20 && !drawn"
        return f"() => {{ const [width, drawn] = ({BESIDE})(); return {text}; }}"

    few = "#scalars&query=re:run0[0-7]&tagQuery=first"
    page = open_page(few)
    page.wait_for_function("() => tb.label('a/first').includes('and 5 more')")
    page.wait_for_function(is_named(True))

    page = open_page(few.removesuffix("&tagQuery=first"))
    page.wait_for_function("() => tb.label('a/first').includes('and 5 more')")
    page.wait_for_function(is_named(False))
    full = page.get_by_role("button", name="Full size: a/first")
    full.click()
    page.wait_for_function(is_named(True))
    full.click()
    page.wait_for_function(is_named(False))

    page = open_page(f"{few}&scalars.cards=a/first,full", viewport={"width": 400, "height": 800})
    page.wait_for_function("() => tb.label('a/first').includes('and 5 more')")
    page.wait_for_function(is_named(False))

    page = open_page("#scalars&query=re:run(0|1[0-2])&tagQuery=first&scalars.cards=a/first,full")
    page.wait_for_function("() => tb.label('a/first').includes('and 10 more')")
    page.wait_for_function(is_named(False))


def test_escape_closes_a_menu_before_it_leaves_full_size(open_page: Any) -> None:
    """It leaves full size from a slider, too, but not from a text box."""
    page = open_page("#histograms&query=run00")
    card = page.locator(".tb-card[aria-label='a/first in run00']")
    card.get_by_role("button", name="Full size").click()
    page.locator(".tb-expanded").wait_for()
    page.get_by_label("Filter tags").focus()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Settings").click()
    page.locator(".tb-menu:popover-open").wait_for()
    page.keyboard.press("Escape")
    page.wait_for_function("() => tb.all('.tb-menu:popover-open').length === 0")
    assert page.locator(".tb-expanded").count() == 1
    page.get_by_role("radio", name="Overlay").focus()
    page.keyboard.press("Escape")
    page.locator(".tb-expanded").wait_for(state="detached")
