"""Series of many points in the scalars tab, zoomed, smoothed and pinned, in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawn_charts import hover, wait_for_curve

from tbcore import smoothed
from tbcore_testing import write_run


def test_long_runs_are_smoothed_over_many_points(serve: Any, profile: Any, tmp_path: Path) -> None:
    """As `smooth` in Python does, over all points. The box takes weights beyond the slider."""
    value = np.random.default_rng(0).normal(size=20_000) + 5
    write_run(tmp_path, "run", scalars={"loss": value}, dtype="float64")
    page = profile.open(serve(tmp_path).url, "#scalars")
    wait_for_curve(page, "loss", "run")
    page.get_by_role("button", name="Table of loss").click()
    page.locator(".tb-legend").wait_for()
    box = page.get_by_role("spinbutton", name="Smoothing")

    def wait_for(weight: float) -> None:
        page.wait_for_function(
            "(end) => location.hash.endsWith(end)", arg=f"scalars.smooth={weight}"
        )
        page.wait_for_function(
            "(text) => tb.all('.tb-legend')[0].textContent.includes(text)",
            arg=f"{smoothed(value, weight)[-1]:.6g}",
        )
        assert box.input_value() == str(weight)

    slider = page.locator(".tb-smoothing input[type=range]")
    slider.focus()
    slider.press("End")
    wait_for(0.999)
    box.fill("1")
    box.press("Enter")
    wait_for(0.99999)


LONG = np.random.default_rng(0).random(60_000)

SPIKE = LONG + 1
SPIKE[44_444] = 500.0


@pytest.fixture(scope="module")
def long_runs(serve_for_module: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A server of runs with more points than a chart draws, and a short one."""
    logdir = tmp_path_factory.mktemp("long")
    write_run(logdir, "spike", scalars={"loss": SPIKE})
    write_run(logdir, "noise", scalars={"loss": LONG})
    write_run(logdir, "mixed/short", scalars={"loss": LONG[:800]})
    write_run(logdir, "mixed/long", scalars={"loss": LONG[800:30_800] + 2})
    write_run(logdir, "wide", scalars={"loss": LONG[:30_000]})
    return serve_for_module(logdir)


def test_zooming_in_reaches_single_points_of_a_long_series(long_runs: Any, profile: Any) -> None:
    """The page fetches more points when zoomed in, and has no text about those it merges."""
    page = profile.open(long_runs.url, "#scalars&query=spike")
    wait_for_curve(page, "loss", "spike")
    assert page.evaluate("() => tb.card('loss').textContent.trim()") == "loss"
    spike = hover(page, "loss", 44_444, 59_999)
    assert spike[0][0] == "spike"
    page.mouse.move(0, 0)
    plot = page.locator(".tb-chart-plot")
    for half in (0.05, 0.05, 0.05, 0.1):  # at last, a point is near every pixel
        box = plot.bounding_box()
        middle = box["y"] + box["height"] / 2
        page.mouse.move(box["x"] + box["width"] * (0.5 - half), middle)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * (0.5 + half), middle, steps=4)
        before = page.evaluate("() => location.hash")
        with page.expect_response("**/window"):
            page.mouse.up()
        page.wait_for_function("(before) => location.hash !== before", arg=before)
    page.mouse.move(box["x"] + box["width"] * 0.5, middle)
    page.wait_for_function("() => tb.all('.tb-chart-tooltip:popover-open').length === 1")
    _run, value, step = page.evaluate("() => tb.rows()")[0]
    assert float(value) == pytest.approx(SPIKE[int(step.replace(",", ""))], rel=1e-5)


def test_a_pin_reaches_every_point_of_a_long_series(long_runs: Any, profile: Any) -> None:
    """The table shows the logged value of a step that is not drawn; arrow keys skip no step."""
    page = profile.open(long_runs.url, "#scalars&query=noise&step=31234")
    handle = page.get_by_role("slider", name="Pinned step")
    handle.wait_for()
    page.get_by_role("button", name="Table of loss").click()

    def wait_for_row(step: int) -> None:
        page.wait_for_function(
            "(texts) => texts.every((text) => "
            "tb.all('.tb-legend tbody td').some((cell) => cell.textContent === text))",
            arg=[f"{step:,}", f"{float(np.float32(LONG[step])):.6g}"],
        )

    wait_for_row(31_234)
    handle.focus()
    for key, step in [("ArrowRight", 31_235), ("ArrowRight", 31_236), ("ArrowLeft", 31_235)]:
        page.keyboard.press(key)
        page.wait_for_function("(step) => location.hash.includes(`&step=${step}`)", arg=step)
        wait_for_row(step)
    page.keyboard.type("44,443")
    page.keyboard.press("Enter")
    wait_for_row(44_443)


def test_showing_everything_again_shows_every_line(long_runs: Any, profile: Any) -> None:
    """After zooming out, a short run is visible beside a long one; a link keeps a zoom."""
    page = profile.open(long_runs.url, "#scalars&query=mixed")
    wait_for_curve(page, "loss", "mixed/short", 20)
    page.wait_for_function("() => tb.label('loss').includes('mixed/long, mixed/short')")
    page.locator(".tb-chart").focus()
    page.keyboard.press("+")
    page.wait_for_function("() => location.hash.includes('scalars.zoom=loss,')")
    linked = profile.open(long_runs.url, page.evaluate("() => location.hash"))
    linked.get_by_role("button", name="Show all of loss").wait_for()
    linked.wait_for_function(
        "() => tb.label('loss').includes(', zoomed in from 0 to 29,999: mixed/long, mixed/short')"
    )
    page.bring_to_front()
    page.locator(".tb-chart").focus()
    page.keyboard.press("0")
    page.wait_for_function("() => !location.hash.includes('scalars.zoom')")
    page.wait_for_function(
        "() => tb.label('loss').includes('from 0 to 29,999: mixed/long, mixed/short')"
    )
    wait_for_curve(page, "loss", "mixed/short", 20)


def test_zooming_out_leaves_no_gap(long_runs: Any, profile: Any) -> None:
    """Coarser rows fill a wider view until its own rows arrive."""
    page = profile.open(long_runs.url, "#scalars&query=wide&scalars.zoom=loss,14900,15100")
    wait_for_curve(page, "loss", "wide")
    # All rows of this view have been fetched.
    page.wait_for_function(
        "() => performance.getEntriesByType('resource')"
        ".filter(({ name }) => name.endsWith('/window')).length === 2"
    )
    page.evaluate("() => tb.frame()")
    edges = """() => {
      const canvas = tb.canvas('loss');
      const box = tb.all('.tb-chart-plot')[0].getBoundingClientRect();
      const left = box.left - canvas.getBoundingClientRect().left;
      const colored = (from) => {
        const { data } = canvas.getContext('2d').getImageData(left + from * box.width, 0,
          0.1 * box.width, canvas.height - 30);
        let count = 0;
        for (let i = 0; i < data.length; i += 4) {
          const parts = [data[i], data[i + 1], data[i + 2]];
          if (data[i+3] > 128 && Math.max(...parts) - Math.min(...parts) > 60) count++;
        }
        return count;
      };
      return [colored(0.05), colored(0.85)];
    }"""
    page.route("**/plugin/scalars/window", lambda _route: None)  # no response from now on
    box = page.locator(".tb-chart-plot").bounding_box()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
    page.keyboard.down("Control")
    for _ in range(6):
        page.mouse.wheel(0, 240)
    page.evaluate("() => tb.frame()")
    assert min(page.evaluate(edges)) > 50  # during the gesture
    page.keyboard.up("Control")
    page.wait_for_function("() => !location.hash.includes('14900')")
    page.evaluate("() => tb.frame()")
    assert min(page.evaluate(edges)) > 50  # and after it
