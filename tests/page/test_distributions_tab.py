"""The distributions tab in a real browser, on real event files and a real server."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawn_charts import wait_for_curve

from tbcore_testing import write_run

RUNS = ("sweep/a/train", "sweep/b/train")
STEPS = range(0, 500, 5)
NAMES = ["Minimum", "6.68 %", "15.87 %", "30.85 %", "Median"]
NAMES += ["69.15 %", "84.13 %", "93.32 %", "Maximum"]
START = 1_700_000_000.0


def samples_at(run: str, step: int) -> np.ndarray[Any, Any]:
    """1,000 evenly spaced samples, higher and wider with each step."""
    return step / 100 + np.linspace(-1 - RUNS.index(run), 1 + step / 250, 1000)


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    logdir = tmp_path_factory.mktemp("logdir")
    for index, run in enumerate(RUNS):
        points = [(step, samples_at(run, step), START + step) for step in STEPS]
        tensors = index == 1
        write_run(
            logdir, run, histograms={"layer1/weights": points, "bias": points}, as_tensors=tensors
        )
    write_run(logdir, "once", histograms={"single": [(7, np.linspace(0, 1, 100), START)]})
    write_run(logdir, "scalars", scalars={"loss": [1.0]})
    return logdir


@pytest.fixture(scope="module")
def server(serve_for_module: Any, logdir: Path) -> Any:
    return serve_for_module(logdir)


def card(tag: str, run: str = RUNS[0]) -> str:
    return f"{tag} in {run}"


def wait_for_bands(page: Any, tag: str, run: str = RUNS[0], least: int = 60) -> None:
    """Waits until a card has enough pixels in the colour of its run."""
    wait_for_curve(page, card(tag, run), run, least)


def hover(page: Any, tag: str, step: float, run: str = RUNS[0]) -> dict[str, str]:
    """Moves the pointer over a step; returns the rows of the tooltip, label to text."""
    box = page.evaluate(
        """(name) => {
          tb.card(name).scrollIntoView({block: 'center'});
          return tb.card(name).querySelector('.tb-chart-plot').getBoundingClientRect().toJSON();
        }""",
        card(tag, run),
    )
    last = STEPS[-1]
    share = (step + 0.02 * last) / (1.04 * last)
    page.mouse.move(box["x"] + share * box["width"], box["y"] + 0.5 * box["height"], steps=2)
    page.wait_for_function("() => tb.all('.tb-chart-tooltip:popover-open').length === 1")
    page.evaluate("() => tb.frame()")  # it may have been open at another place
    rows = page.evaluate(
        """() => tb.all('.tb-chart-tooltip:popover-open tr').map(
          (row) => [...row.cells].map((cell) => cell.textContent))"""
    )
    return dict(rows)


def test_nine_values_of_each_step_can_be_read(open_page: Any, server: Any) -> None:
    """They equal the server's, for both forms of the file format."""
    page = open_page("#distributions")
    for run in RUNS:
        wait_for_bands(page, "layer1/weights", run)
        address = f"{server.url}/data/plugin/distributions/distributions"
        with urllib.request.urlopen(f"{address}?run={run}&tag=layer1/weights") as answer:
            served = {row[1]: [value for _, value in row[2]] for row in json.load(answer)}
        for step in (0, 250, 495):
            rows = hover(page, "layer1/weights", step, run)
            assert rows["Step"] == f"{step}"
            values = [float(rows[name]) for name in NAMES]
            assert values == pytest.approx(served[step], rel=1e-4, abs=1e-4)
            assert values == sorted(values)
            samples = samples_at(run, step)
            assert values[4] == pytest.approx(np.median(samples), abs=0.05)
            assert (values[0], values[8]) == pytest.approx((samples[0], samples[-1]), abs=1e-4)


def test_bands_are_darker_towards_the_median(open_page: Any) -> None:
    """One column of pixels has all five shades, from the background to the median."""
    page = open_page("#distributions&tagQuery=layer1&query=sweep/a")
    wait_for_bands(page, "layer1/weights")
    shades = page.evaluate(
        """(name) => {
          const canvas = tb.canvas(name);
          const plot = tb.card(name).querySelector('.tb-chart-plot');
          const scale = canvas.width / canvas.clientWidth;
          const x = Math.round((plot.offsetLeft + plot.clientWidth * 0.93) * scale);
          const column = canvas.getContext('2d').getImageData(x, 0, 1, canvas.height).data;
          const seen = new Map();
          for (let i = 3; i < column.length; i += 4) {
            seen.set(column[i], (seen.get(column[i]) ?? 0) + 1);
          }
          return [...seen].filter(([, count]) => count > 3).map(([alpha]) => alpha);
        }""",
        card("layer1/weights"),
    )
    # Up to four layers with 18 % opacity each.
    expected = [round(255 * (1 - 0.82**layers)) for layers in range(5)]
    assert all(any(abs(alpha - one) <= 2 for alpha in shades) for one in expected)


def test_the_cards_of_a_tag_have_the_same_axis_of_values(open_page: Any) -> None:
    """Of the runs that are shown, so that they can be compared; or each card has its own."""
    page = open_page("#distributions&tagQuery=layer1")
    wait_for_bands(page, "layer1/weights", RUNS[1])
    # The values of the first run begin at -1, those of the second at -2; both end at 7.9.
    lowest = """([card, run]) => {
      const canvas = tb.canvas(card);
      const plot = tb.card(card).querySelector('.tb-chart-plot');
      const scale = canvas.width / canvas.clientWidth;
      const [left, top] = [plot.offsetLeft, plot.offsetTop].map((at) => at * scale);
      const height = plot.clientHeight * scale;
      const { data } = canvas.getContext('2d')
        .getImageData(left + plot.clientWidth * scale * 0.03, top, 1, height);
      let last = 0;
      for (let i = 0; i < height; i++) if (data[4 * i + 3] > 30 && data[4 * i + 3] < 90) last = i;
      return last / height;
    }"""
    # With a margin of 6 % of the axis.
    shared, own = 1 - (1 + 0.06 * 9.9) / (1.12 * 9.9), 1 - 0.06 / 1.12

    def wait_for_lowest(run: str, share: float) -> None:
        page.wait_for_function(
            f"([card, run, share]) => Math.abs(({lowest})([card, run]) - share) < 0.02",
            arg=[card("layer1/weights", run), run, share],
        )

    wait_for_lowest(RUNS[0], shared)
    wait_for_lowest(RUNS[1], own)
    page.get_by_role("button", name="Settings").click()
    page.get_by_label("Axis of values").select_option("Each its own")
    wait_for_lowest(RUNS[0], own)
    page.get_by_label("Axis of values").select_option("Same for a tag")
    wait_for_lowest(RUNS[0], shared)
    page.keyboard.press("Escape")
    page.get_by_label("Filter runs").fill("sweep/a")
    wait_for_lowest(RUNS[0], own)


def test_axes_and_tails_are_kept_in_the_address(open_page: Any) -> None:
    """A link restores the x axis and the choice of tails."""
    page = open_page("#distributions&tagQuery=layer1|single")
    wait_for_bands(page, "layer1/weights")
    page.get_by_text("Relative", exact=True).click()
    name = card("layer1/weights")
    page.wait_for_function(
        "(name) => tb.label(name).includes('by relative time from 0 s')", arg=name
    )
    page.get_by_text("Without tails", exact=True).click()
    page.wait_for_function(
        "() => location.hash.includes('distributions.x=relative') && "
        "location.hash.includes('distributions.tails=false')"
    )
    hash = page.evaluate("() => location.hash")
    again = open_page(hash)
    wait_for_bands(again, "layer1/weights")
    assert again.get_by_role("radio", name="Without tails").is_checked()
    wait_for_bands(again, "single", "once", 12)
    again.get_by_text("Wall time", exact=True).click()
    again.wait_for_function("(name) => tb.label(name).includes('by wall time from 20')", arg=name)
    fresh = open_page("#distributions")
    fresh.wait_for_function("() => location.hash.includes('distributions.tails=false')")


def test_the_keyboard_steps_through_points_and_toggles_full_size(open_page: Any) -> None:
    page = open_page("#distributions&tagQuery=layer1&query=sweep/a")
    wait_for_bands(page, "layer1/weights")
    page.locator(".tb-chart").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    spoken = page.locator(".tb-chart [role=status]")
    assert spoken.inner_text().startswith("step 5: median ")
    page.keyboard.press("Escape")
    page.wait_for_function("() => tb.all('.tb-chart-tooltip:popover-open').length === 0")
    page.keyboard.press("f")
    page.locator(".tb-expanded").wait_for()
    page.keyboard.press("Escape")
    page.locator(".tb-expanded").wait_for(state="detached")
