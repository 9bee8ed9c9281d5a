"""Scalars by the values of a tag, and by steps since the start, in a real browser."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tbcore_testing import write_run

STEPS = range(100, 200, 10)
MANY_TAGS = 5_000
MANY_RUNS = 14


@pytest.fixture(scope="module")
def server(serve_for_module: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Runs with 10 and 20 frames per step, one without frames, and one that goes in a circle.

    The runs of `turn` go to the right and back again, with more points than are drawn as strokes.
    """
    logdir = tmp_path_factory.mktemp("x_axis")
    for run, factor in (("slow", 10), ("fast", 20)):
        scalars: dict[str, Any] = {
            "reward": [(step, float(step)) for step in STEPS],
            "env/frames": [(step, float((step - 100) * factor)) for step in STEPS],
        }
        write_run(logdir, f"ppo/{run}", scalars=scalars)
    write_run(logdir, "ppo/without", scalars={"reward": [(step, 130.0) for step in STEPS]})
    angles = [math.tau * step / 20 for step in range(20)]
    scalars = {"height": [math.sin(at) for at in angles], "side": [math.cos(at) for at in angles]}
    write_run(logdir, "circle", scalars=scalars)
    for number in range(MANY_RUNS):
        there = [step / 1499 for step in range(1500)]
        value = [0.0] * 1500 + [100.0 + number]
        write_run(logdir, f"turn/{number:02}", scalars={"there": value, "back": [*there, 0.0]})
    small = [0.0, 1e-5, 1e-4, 1e-3]
    write_run(logdir, "small", scalars={"lr": small, "gain": [1.0, 2.0, 3.0, 4.0]})
    tags = {f"layer{tag // 50}/norm{tag % 50}": [1.0, float(tag)] for tag in range(MANY_TAGS)}
    write_run(logdir, "big", scalars=tags)
    return serve_for_module(logdir)


def open_by(open_page: Callable[..., Any], x: str, tag: str, runs: str = "re:^ppo") -> Any:
    """A page with one chart, which is drawn by an x axis."""
    page = open_page(f"#scalars&query={runs}&tagQuery=re:^{tag}$&scalars.x={x}")
    page.wait_for_function("(tag) => tb.label(tag)?.includes(' by ')", arg=tag)
    # Only what is drawn has points for keys and the pointer.
    colors = "Object.values(tb.colors())"
    page.wait_for_function(f"(tag) => {colors}.some((color) => tb.pixels(tag, color))", arg=tag)
    return page


def wait_for_note(page: Any, tag: str, text: str) -> None:
    """Waits until the card of a tag has this note and no other."""
    page.wait_for_function(
        """([tag, text]) => [...tb.card(tag).querySelectorAll('.tb-card-note[role=note]')]
          .map((note) => note.textContent).join() === text""",
        arg=[tag, text],
    )


def test_a_tag_is_chosen_as_x_axis(open_page: Callable[..., Any]) -> None:
    """A link has it; a card says which runs have no value of the tag; the next page has steps."""
    page = open_page("#scalars&query=re:^ppo&tagQuery=re:^reward$")
    page.wait_for_function("() => tb.label('reward')?.includes(' by step from 100 to 190')")
    page.get_by_role("button", name="Other horizontal axes").click()
    search = page.get_by_role("searchbox", name="Find a tag")
    page.wait_for_function(
        "(box) => box.getRootNode().activeElement === box", arg=search.element_handle()
    )
    page.keyboard.type("frames env")
    page.get_by_role("list", name="Tags").get_by_text("2 of 3 runs").wait_for()
    page.keyboard.press("Enter")
    page.wait_for_function(
        "() => / by env.frames from 0 to 1,800: ppo.(slow, ppo.fast|fast, ppo.slow)$/"
        ".test(tb.label('reward'))"
    )
    wait_for_note(
        page, "reward", "1 run not drawn: env/frames is missing or not finite at its steps"
    )
    assert page.locator(":popover-open").count() == 0
    page.wait_for_function("() => location.hash.includes('scalars.x=tag:env/frames')")

    linked = open_page(page.evaluate("() => location.hash"))
    linked.wait_for_function("() => tb.label('reward')?.includes(' by env/frames from 0 to 1,800')")
    other = open_page("#scalars")
    other.wait_for_function("() => tb.label('reward')?.includes(' by step from ')")


def test_steps_since_the_start(open_page: Callable[..., Any]) -> None:
    page = open_page("#scalars&query=re:^ppo&tagQuery=re:^reward$")
    page.wait_for_function("() => tb.label('reward')?.includes(' by step from 100 to 190')")
    page.get_by_role("button", name="Other horizontal axes").click()
    page.get_by_role("button", name="Steps since start").click()
    page.wait_for_function(
        "() => tb.label('reward')?.includes(' by steps since start from 0 to 90')"
    )
    page.wait_for_function("() => location.hash.includes('scalars.x=relative_step')")


def test_pin_table_and_zoom_by_a_tag(open_page: Callable[..., Any]) -> None:
    """The table has a column of x; the pin moves from point to point, and x can be typed."""
    page = open_by(open_page, "tag:env/frames", "reward")
    chart = page.get_by_role("group", name="reward by env/frames")
    chart.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => tb.all('.tb-chart-tooltip:popover-open').length === 1")
    headings = page.evaluate(
        "() => [...tb.all('.tb-chart-tooltip')[0].querySelectorAll('thead th')]"
        ".map((cell) => cell.textContent)"
    )
    assert headings == ["", "Run", "Value", "frames", "Step", "Relative"]
    page.keyboard.press("Enter")
    pin = page.get_by_role("slider", name="Pinned env/frames")
    pin.wait_for()
    before = int(pin.inner_text())
    pin.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"() => location.hash.includes('scalars.at={before + 100}')")
    # Keys that come faster than the page is drawn are all counted.
    pin.evaluate(
        """async (pin) => {
          for (let i = 0; i < 3; i++) {
            pin.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight' }));
            await new Promise((done) => setTimeout(done));
          }
        }"""
    )
    page.wait_for_function(f"() => location.hash.includes('scalars.at={before + 400}')")
    page.keyboard.type("400")
    page.keyboard.press("Enter")
    page.wait_for_function("() => location.hash.includes('scalars.at=400')")
    page.wait_for_function(
        """() => JSON.stringify(tb.all('.tb-legend tbody tr').map((row) =>
          ['x', 'step', 'value'].map((column) =>
            row.querySelector(`[data-column=${column}]`).textContent)
        ).sort()) === '[["400","120","120"],["400","140","140"]]'"""
    )
    chart.focus()
    page.keyboard.press("+")
    page.wait_for_function("() => location.hash.includes('scalars.zoom=reward')")
    page.get_by_text("Wall time", exact=True).first.click()
    page.wait_for_function("() => !/scalars.(zoom|at)=/.test(location.hash)")


def test_downloads_have_the_x_axis(open_page: Callable[..., Any]) -> None:
    """CSV has the points of the tag, and a picture has its name and the note."""
    page = open_by(open_page, "tag:env/frames", "reward")
    page.get_by_role("button", name="More options for reward").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV", exact=True).click()
    rows = list(csv.DictReader(Path(download.value.path()).read_text().splitlines()))
    assert {row["tag"] for row in rows} == {"reward", "env/frames"}
    with page.expect_download() as download:
        page.get_by_role("button", name="SVG").click()
    texts = list(ElementTree.parse(Path(download.value.path())).getroot().itertext())
    assert "env/frames" in texts
    assert any("1 run not drawn" in text for text in texts)


def test_small_numbers_are_spread_on_a_symmetric_logarithmic_axis(
    open_page: Callable[..., Any],
) -> None:
    """On a linear axis, 0.0001 would be at a tenth of the way to 0.001."""
    page = open_by(open_page, "tag:lr&scalars.logX=symlog", "gain", "small")
    page.get_by_role("button", name="More options for gain").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="SVG").click()
    root = ElementTree.parse(Path(download.value.path())).getroot()
    places = {text.text: float(text.get("x", "nan")) for text in root.iter() if text.text}
    left, middle, right = (places[label] for label in ("0", "0.0001", "0.001"))
    assert 0.4 < (middle - left) / (right - left) < 0.6


def test_a_mean_by_a_tag_is_over_runs_at_equal_x(open_page: Callable[..., Any]) -> None:
    page = open_page(
        "#scalars&query=re:^ppo&tagQuery=re:^reward$&scalars.x=tag:env/frames&group=ppo/{x}"
        "&scalars.legend=true&scalars.at=400"
    )
    page.wait_for_function(
        """() => tb.all('.tb-legend tbody tr').map((row) =>
          ['x', 'value', 'low', 'high', 'runs', 'step'].map((column) =>
            row.querySelector(`[data-column=${column}]`)?.textContent ?? "").join(' ')
        )[0] === '400 130 115.858 144.142 2 '"""
    )
    wait_for_note(
        page, "reward", "1 run not in a mean: env/frames is missing or not finite at its steps"
    )


def test_a_line_that_goes_back_and_forth(open_page: Callable[..., Any]) -> None:
    """The card says so, and the last value is that of the last step."""
    page = open_page(
        "#scalars&query=circle&tagQuery=re:^height$&scalars.x=tag:side&scalars.legend=true"
    )
    page.wait_for_function("() => tb.label('height')?.includes(' by side from -1 to 1')")
    wait_for_note(page, "height", "1 run drawn in the order of steps: side goes back and forth")
    page.wait_for_function(
        """() => tb.all('.tb-legend tbody tr')[0]
          ?.querySelector('[data-column=step]').textContent === '19'"""
    )


def test_many_points_are_drawn_to_the_left_too(open_page: Callable[..., Any]) -> None:
    """Each line goes to the right at the bottom, and from there to the upper left."""
    page = open_by(open_page, "tag:back", "there", "turn")
    page.wait_for_function(
        """() => {
          const canvas = tb.canvas('there');
          const [left, top] = [canvas.width * 0.2, canvas.height * 0.1].map(Math.round);
          const [width, height] = [canvas.width * 0.4, canvas.height * 0.4].map(Math.round);
          const { data } = canvas.getContext('2d').getImageData(left, top, width, height);
          let count = 0;
          for (let i = 0; i < data.length; i += 4) {
            const channels = [...data.slice(i, i + 3)];
            count += data[i + 3] > 64 && Math.max(...channels) - Math.min(...channels) > 60;
          }
          return count > width;
        }"""
    )


def test_one_of_5000_tags_is_found(open_page: Callable[..., Any]) -> None:
    """Only visible tags are in the page, and a search finds the others."""
    page = open_page("#scalars&query=big&tagQuery=re:^layer0/norm1$")
    page.wait_for_function("() => tb.label('layer0/norm1')?.includes(' by step ')")
    page.get_by_role("button", name="Other horizontal axes").click()
    box = page.get_by_role("searchbox", name="Find a tag")
    box.wait_for()
    assert box.get_attribute("placeholder") == "Find one of 5,000 tags"
    tags = page.get_by_role("list", name="Tags").get_by_role("button")
    tags.first.wait_for()
    assert tags.count() < 100
    # The parts of a name are side by side.
    gap = """() => { const [head, tail] = tb.all('.picks .tb-name')[0].children;
      return tail.getBoundingClientRect().left - head.getBoundingClientRect().right; }"""
    assert abs(page.evaluate(gap)) < 1
    box.fill("layer99 norm49")
    page.wait_for_function("() => tb.all('.picks ul button').length === 1")
    tags.first.click()
    page.wait_for_function(
        "() => tb.label('layer0/norm1').includes(' by layer99/norm49 from 1 to 4,999')"
    )
