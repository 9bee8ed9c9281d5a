"""The scalars tab in a real browser, on real event files and a real server."""

from __future__ import annotations

import csv
import json
import math
import re
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

import numpy as np
import pytest
from common_fixtures import until

from tbcore import smoothed
from tbcore_testing import EventFileWriter, summaries, write_run

WEIGHT_LIMIT = 98_000
TAB_LIMITS = {"#images": 80_200, "#histograms": 92_600}
REST_LIMIT = 112_000
RUNS = ("sweep/lr=0.1/train", "sweep/lr=0.1/eval", "sweep/lr=0.01/train")
STEPS = range(0, 500, 5)


def value_at(run: str, step: int) -> float:
    return (RUNS.index(run) + 1) * math.exp(-step / 250)


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs with curves that do not touch, and one run with non-finite values."""
    logdir = tmp_path_factory.mktemp("logdir")
    for run in RUNS:
        points = [(step, value_at(run, step)) for step in STEPS]
        write_run(
            logdir,
            run,
            scalars={
                "loss/total": points,
                "loss/head10": points,
                "loss/head9": points,
                "accuracy": points,
                **({"only_one": [(7, 0.25)]} if run == RUNS[0] else {}),
            },
        )
    non_finite = [1.0, float("nan"), 2.0, float("inf"), 3.0, float("-inf"), 1e38, 1.5]
    write_run(
        logdir, "odd", scalars={"values/not finite": non_finite, "values/negative": [-1.0, -2.0]}
    )
    return logdir


@pytest.fixture(scope="module")
def server(serve_for_module: Callable[..., Any], logdir: Path) -> Any:
    return serve_for_module(logdir)


def wait_for_curves(page: Any, tag: str, run: str, min_pixels: int = 60) -> int:
    """Waits until a chart has enough pixels in the colour of a run; returns their number."""
    handle = page.wait_for_function(
        """([tag, run, min_pixels]) => {
          const count = tb.pixels(tag, tb.colors()[run] ?? '#000001');
          return count >= min_pixels && count;
        }""",
        arg=[tag, run, min_pixels],
    )
    return int(handle.json_value())


def hover(page: Any, tag: str, step: float, last: float, share_of_height: float = 0.5) -> Any:
    """Moves the pointer over a step of a chart; returns run, value, step and time of each row."""
    page.wait_for_function(  # a chart has no plot until it has points
        "(tag) => tb.card(tag)?.querySelector('.tb-chart-plot')?.checkVisibility()", arg=tag
    )
    page.evaluate("(tag) => tb.card(tag).scrollIntoView({block: 'center'})", tag)
    place = "(tag) => tb.card(tag).querySelector('.tb-chart-plot').getBoundingClientRect().toJSON()"
    # The axis is padded by 2 % on both sides.
    share = (step + 0.02 * last) / (1.04 * last)
    box = None
    # The names of lines are loaded later, and take a part of the plot's width.
    while box != (box := page.evaluate(place, tag)):
        page.mouse.move(
            box["x"] + share * box["width"], box["y"] + share_of_height * box["height"], steps=2
        )
        page.wait_for_function("() => tb.all('.tb-chart-tooltip:popover-open').length === 1")
        page.evaluate("() => tb.frame()")  # it may have been open at another place
    return page.evaluate("() => tb.rows()")


FADED = """(tag) => {
  const canvas = tb.card(tag).querySelector('.tb-chart-overlay');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  return data.filter((byte, i) => i % 4 === 3 && byte > 100).length > data.length / 8;
}"""
"""Whether a veil is over the lines of a chart."""


def set_option(page: Any, name: str) -> None:
    """Checks a box in the settings menu."""
    page.get_by_role("button", name="Settings").click()
    page.get_by_role("checkbox", name=name).check()
    page.keyboard.press("Escape")


def choose_scale(page: Any, axis: str, scale: str) -> None:
    """Chooses the scale of an axis in the settings menu."""
    page.get_by_role("button", name="Settings").click()
    group = page.get_by_role("group", name=f"Scale of the {axis} axis")
    group.get_by_text(scale, exact=True).click()
    page.keyboard.press("Escape")


def drag_across(page: Any, chart: int, start: float, end: float) -> None:
    """Zooms the nth chart of the page to a part of its plot, from one share of its width on."""
    box = page.locator(".tb-chart-plot").nth(chart).bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * start, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * end, middle, steps=4)
    page.mouse.up()


def test_curves_of_all_runs_are_drawn_and_can_be_read(open_page: Any) -> None:
    """Each run is drawn in its colour, and the tooltip has its values."""
    page = open_page()
    for run in RUNS:
        wait_for_curves(page, "loss/total", run)
    headings = page.evaluate("() => tb.all('.tb-group').map((group) => group.dataset.group)")
    assert headings == ["loss", "", "values"]
    titles = page.evaluate(
        "() => tb.all('.tb-group')[0].querySelectorAll('.tb-card').length && "
        "tb.all('.tb-card').map((card) => card.getAttribute('aria-label'))"
    )
    assert titles[:5] == ["loss/head9", "loss/head10", "loss/total", "accuracy", "only_one"]

    rows = hover(page, "loss/total", 250, 495)
    expected = sorted(RUNS, key=lambda run: -value_at(run, 250))  # as on the screen, top down
    assert [row[0] for row in rows] == expected
    assert [row[1] for row in rows] == [f"{value_at(run, 250):.6g}" for run in expected]
    assert {tuple(row[2:]) for row in rows} == {("250",)}
    assert page.title().startswith("logdir")


def test_odd_values_are_marked_and_do_not_break_the_line(open_page: Any) -> None:
    """NaN and infinities are drawn as marks and named in the tooltip; a single point is a dot."""
    page = open_page('#scalars&tagQuery="not finite"|only_one')
    wait_for_curves(page, "values/not finite", "odd")
    values = [hover(page, "values/not finite", step, 7)[0][1] for step in range(8)]
    assert values == ["1", "NaN", "2", "∞", "3", "−∞", "1e38", "1.5"]
    # A dot of radius 3 covers about 28 pixels.
    wait_for_curves(page, "only_one", RUNS[0], 12)


def test_axes_change_and_the_address_remembers(open_page: Any) -> None:
    """A link restores the x axis and the logarithmic scale."""
    page = open_page()
    wait_for_curves(page, "accuracy", RUNS[0])
    label = page.evaluate("() => tb.label('accuracy')")
    assert "accuracy by step from 0 to 495" in label
    page.get_by_text("Relative", exact=True).click()
    page.wait_for_function("() => tb.label('accuracy').includes('by relative time from 0 s')")
    choose_scale(page, "y", "Log")
    page.wait_for_function(
        "() => location.hash === '#scalars&scalars.x=relative&scalars.logY=true'"
    )
    page.get_by_text("Wall time", exact=True).click()
    page.wait_for_function("() => location.hash.includes('scalars.x=wall_time')")
    hash = page.evaluate("() => location.hash")

    again = open_page(hash)
    wait_for_curves(again, "accuracy", RUNS[0])
    assert again.get_by_role("radio", name="Wall time").is_checked()
    again.get_by_role("button", name="Settings").click()
    assert (
        again.get_by_role("group", name="Scale of the y axis")
        .get_by_label("Log", exact=True)
        .is_checked()
    )
    label = again.evaluate("() => tb.label('accuracy')")
    assert "accuracy by wall time from 20" in label


def test_a_symmetric_logarithmic_axis_shows_zero_and_negative_values(
    serve: Any, profile: Any, tmp_path: Path
) -> None:
    """Of the values and of the steps; zoom, links and pictures have it, too."""
    steps = [-1000, -100, -10, -1, 0, 1, 10, 100, 1000]
    with EventFileWriter(tmp_path / "r" / "events.out.tfevents.1") as writer:
        for step in steps:
            writer.add_scalar("reward", 10.0 * step, step)
    server = serve(tmp_path)
    page = profile.open(server.url, "#scalars&scalars.logX=true&scalars.logY=true")
    note = "() => tb.card('reward')?.querySelector('.tb-chart-note')?.textContent"
    page.wait_for_function(f"() => ({note})()?.includes('0 not shown')")
    for axis in ("x", "y"):
        choose_scale(page, axis, "Symlog")
    page.wait_for_function(
        "() => ['logX=symlog', 'logY=symlog'].every((part) => location.hash.includes(part))"
    )
    page.wait_for_function(f"() => ({note})() === ''")

    def ticks(picture: str) -> list[str]:
        texts = ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")
        return [text.text or "" for text in texts]

    def picture(page: Any) -> str:
        page.get_by_role("button", name="More options for reward").click()
        with page.expect_download() as download:
            page.get_by_role("button", name="SVG").click()
        page.keyboard.press("Escape")
        text: str = download.value.path().read_text("utf-8")
        return text

    found = ticks(picture(page))
    assert {"-1k", "-10", "0", "10", "1k", "-10k", "10k"} <= set(found)
    drag_across(page, 0, 0.5, 1.0)
    page.wait_for_function("() => location.hash.includes('zoom')")
    from_x, to_x = page.evaluate(
        "() => location.hash.match(/zoom=reward,([^,]*),([^&]*)/).slice(1).map(Number)"
    )
    assert abs(from_x) < 1
    assert to_x > 999
    linked = profile.open(server.url, page.evaluate("() => location.hash"))
    linked.wait_for_function("() => tb.label('reward').includes('zoomed in from -1,000 to 1,000')")
    zoomed = ticks(picture(linked))
    assert "-1k" not in zoomed
    assert "100" in zoomed


def test_dragging_zooms_and_a_double_click_shows_everything_again(open_page: Any) -> None:
    page = open_page("#scalars&tagQuery=re:^accuracy$")
    wait_for_curves(page, "accuracy", RUNS[0])
    page.wait_for_function(
        """() => tb.canvas('accuracy').getBoundingClientRect().right
          - tb.all('.tb-chart-plot')[0].getBoundingClientRect().right > 30"""
    )  # there is space for the names of lines
    before = page.evaluate("() => tb.pixels('accuracy', tb.colors()['sweep/lr=0.1/eval'])")
    box = page.locator(".tb-chart-plot").bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.5, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.75, middle, steps=4)
    page.mouse.up()
    page.get_by_role("button", name="Show all of accuracy").wait_for()
    page.mouse.move(box["x"] + 2, middle)
    page.wait_for_function("() => tb.all('.tb-chart-tooltip:popover-open').length === 1")
    steps = [int(step) for _run, _value, step in page.evaluate("() => tb.rows()")]
    assert all(240 <= step <= 260 for step in steps)
    page.locator(".tb-chart-plot").dblclick()
    page.get_by_role("button", name="Show all of accuracy").wait_for(state="detached")
    page.mouse.move(0, 0)
    page.wait_for_function(
        "(before) => tb.pixels('accuracy', tb.colors()['sweep/lr=0.1/eval']) === before", arg=before
    )


def test_the_keyboard_reads_points(open_page: Any) -> None:
    """Arrow keys step through the points of a chart, which screen readers announce."""
    page = open_page("#scalars&tagQuery=re:^accuracy$")
    wait_for_curves(page, "accuracy", RUNS[0])
    page.locator(".tb-chart").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    spoken = page.locator(".tb-chart [role=status]")
    assert "step 10:" in spoken.inner_text()
    first = spoken.inner_text()
    page.keyboard.press("ArrowDown")
    assert "step 10:" in spoken.inner_text()
    assert spoken.inner_text() != first
    page.keyboard.press("Escape")
    page.wait_for_function("() => tb.all('.tb-chart-tooltip:popover-open').length === 0")


def test_groups_fold_and_cards_grow(open_page: Any) -> None:
    page = open_page()
    wait_for_curves(page, "loss/total", RUNS[0])
    page.get_by_role("button", name="loss 3").click()
    page.wait_for_function("() => !tb.card('loss/total') && location.hash.includes('closed=loss')")
    page.get_by_role("button", name="loss 3").click()
    wait_for_curves(page, "loss/total", RUNS[0])
    width = page.evaluate("() => tb.canvas('loss/total').width")
    page.get_by_role("button", name="Full size: loss/total").click()
    page.wait_for_function("(width) => tb.canvas('loss/total').width > 2 * width", arg=width)


def test_a_chart_and_all_charts_can_be_downloaded(open_page: Any) -> None:
    """CSV and JSON have all points; SVG and PNG show the chart."""
    page = open_page("#scalars&tagQuery=re:^loss/total$&scalars.smooth=0.6")
    wait_for_curves(page, "loss/total", RUNS[0])
    page.get_by_role("button", name="More options for loss/total").click()
    files = {}
    for kind in ("SVG", "PNG", "CSV", "JSON"):
        with page.expect_download() as download:
            page.get_by_role("button", name=kind, exact=True).click()
        assert download.value.suggested_filename == f"loss_total.{kind.lower()}"
        files[kind] = Path(download.value.path()).read_bytes()
    assert files["PNG"].startswith(b"\x89PNG")
    drawing = ElementTree.fromstring(files["SVG"])
    assert "smoothed by 0.6" in "".join(drawing.itertext())
    assert drawing.tag == "{http://www.w3.org/2000/svg}svg"
    assert all(run in "".join(drawing.itertext()) for run in RUNS)
    assert len(files["CSV"].splitlines()) == 1 + len(RUNS) * len(STEPS)
    assert files["CSV"].startswith(b"run,tag,step,wall_time,value\r\n")
    assert set(json.loads(files["JSON"])) == set(RUNS)
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV as drawn").click()
    assert download.value.suggested_filename == "loss_total-drawn.csv"
    rows = list(csv.reader(download.value.path().read_text("utf-8").splitlines()))
    assert rows[0] == ["run", "tag", "step", "wall_time", "value", "smoothed"]
    assert {row[0] for row in rows[1:]} == set(RUNS)

    page.keyboard.press("Escape")
    page.get_by_role("button", name="Settings").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV", exact=True).click()
    assert download.value.suggested_filename == "scalars.csv"


def test_charts_without_the_hovered_run_fade(open_page: Any) -> None:
    """Neither for a run that is not selected, nor while none is hovered."""
    page = open_page("#scalars&tagQuery=only_one|accuracy")
    wait_for_curves(page, "accuracy", RUNS[0])
    wait_for_curves(page, "only_one", RUNS[0], 10)
    rows = hover(page, "accuracy", 250, 495, 0.1)
    assert rows[0][0] == RUNS[2]
    page.wait_for_function(FADED, arg="only_one")
    assert not page.evaluate(FADED, "accuracy")
    page.get_by_label("Filter runs").hover()
    page.wait_for_function(f"(tag) => !({FADED})(tag)", arg="only_one")

    other = page.locator(f".tb-run[title='{RUNS[1]}']")
    other.hover()
    page.wait_for_function(FADED, arg="only_one")
    other.get_by_role("checkbox").uncheck()
    other.hover()
    page.wait_for_function(f"(tag) => !({FADED})(tag)", arg="only_one")


def test_the_mean_of_a_hovered_group_is_highlighted(profile: Any, seeds: Any) -> None:
    """By its row, and its row by the mean; over wall time, where there is no mean, its runs."""
    page = profile.open(seeds.url, "#scalars&tagQuery=re:reward|long&group=seeds")
    page.wait_for_function("() => tb.label('reward').includes('ppo/*, sac/seed=0')")
    page.wait_for_function("() => tb.label('long').includes('ppo/*')")
    row = page.locator(".tb-folder[title='ppo/*']")
    row.hover()
    page.wait_for_function(FADED, arg="reward")
    page.get_by_label("Filter runs").hover()
    page.wait_for_function(f"() => !({FADED})('reward')")
    # There, the mean is 1.5, and no run has this value.
    assert hover(page, "reward", 50, 99, 0.61)[0][0] == "ppo/*"
    page.wait_for_function("() => document.querySelector('.tb-hovered')?.title === 'ppo/*'")
    page.get_by_role("radio", name="Wall time").check(force=True)
    page.wait_for_function("() => tb.label('reward').includes('ppo/seed=0')")
    row.hover()
    page.wait_for_function(FADED, arg="reward")
    assert not page.evaluate(FADED, "long")  # has no other lines


def test_smoothing_is_that_of_tensorboard(open_page: Any) -> None:
    """The value at the pointer is the debiased moving average."""
    page = open_page("#scalars&tagQuery=re:^accuracy$")
    wait_for_curves(page, "accuracy", RUNS[0])
    box = page.get_by_role("spinbutton", name="Smoothing")
    box.fill("0.9")
    box.press("Enter")
    page.wait_for_function("() => location.hash.includes('scalars.smooth=0.9')")
    page.get_by_role("button", name="Table of accuracy").click()
    page.locator(".tb-legend").wait_for()
    smooth, last = {}, 0.0
    for count, step in enumerate(STEPS, 1):
        last = last * 0.9 + 0.1 * value_at(RUNS[0], step)
        smooth[step] = last / (1 - 0.9**count)
    hover(page, "accuracy", 250, 495)
    page.wait_for_function(
        "(text) => tb.all('.tb-legend')[0].textContent.includes(text)", arg=f"{smooth[250]:.6g}"
    )


def test_a_number_that_is_being_typed_stays(serve: Any, profile: Any, tmp_path: Path) -> None:
    """While the page is drawn again because something else has changed."""
    write_run(tmp_path, "run", scalars={"loss": [0.5, 0.25]})
    page = profile.open(serve(tmp_path).url, "#scalars&scalars.smooth=0.999")
    page.get_by_text("1 tag, 1 run", exact=True).wait_for()
    box = page.get_by_role("spinbutton", name="Smoothing")
    box.fill("0.5")
    write_run(tmp_path, "other", scalars={"loss": [0.5, 0.25]})
    page.get_by_text("1 tag, 2 runs", exact=True).wait_for()
    assert box.input_value() == "0.5"
    box.press("Enter")
    page.wait_for_function("() => location.hash.endsWith('scalars.smooth=0.5')")
    # A weight that is none is replaced, also if nothing else changes.
    for text, weight in (("7", "0.99999"), ("9", "0.99999"), ("", "0")):
        box.fill(text)
        box.press("Enter")
        assert box.input_value() == weight


def test_long_runs_are_smoothed_over_many_points(serve: Any, profile: Any, tmp_path: Path) -> None:
    """As `smooth` in Python does, over all points. The box takes weights beyond the slider."""
    value = np.random.default_rng(0).normal(size=20_000) + 5
    write_run(tmp_path, "run", scalars={"loss": value}, dtype="float64")
    page = profile.open(serve(tmp_path).url, "#scalars")
    wait_for_curves(page, "loss", "run")
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


def test_the_kind_of_smoothing_is_chosen_and_in_the_address(open_page: Any) -> None:
    """A window of the two values on each side: the weight is 2/3."""
    page = open_page("#scalars&tagQuery=re:^accuracy$&scalars.smooth=0.66666666666666")
    wait_for_curves(page, "accuracy", RUNS[0])
    page.get_by_role("combobox", name="Kind of smoothing").select_option("window")
    page.wait_for_function("() => location.hash.includes('scalars.smoothKind=window')")
    page.get_by_role("button", name="Table of accuracy").click()
    page.locator(".tb-legend").wait_for()
    hover(page, "accuracy", 250, 495)
    index = STEPS.index(250)
    mean = sum(value_at(RUNS[0], step) for step in STEPS[index - 2 : index + 3]) / 5
    page.wait_for_function(
        "(text) => tb.all('.tb-legend')[0].textContent.includes(text)", arg=f"{mean:.6g}"
    )


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
    wait_for_curves(page, "loss", "spike")
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
    wait_for_curves(page, "loss", "mixed/short", 20)
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
    wait_for_curves(page, "loss", "mixed/short", 20)


def test_zooming_out_leaves_no_gap(long_runs: Any, profile: Any) -> None:
    """Coarser rows fill a wider view until its own rows arrive."""
    page = profile.open(long_runs.url, "#scalars&query=wide&scalars.zoom=loss,14900,15100")
    wait_for_curves(page, "loss", "wide")
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


def test_the_table_of_a_chart(open_page: Any, server: Any) -> None:
    """Rows highlight their run and can select it alone; with groups, a row has the mean."""
    page = open_page("#scalars&tagQuery=re:^accuracy$&scalars.legend=true")
    wait_for_curves(page, "accuracy", RUNS[0])
    rows = page.locator(".tb-legend tbody tr")
    rows.first.wait_for()
    assert rows.count() == 3
    last = page.get_by_role("button", name="Last value", exact=True)
    assert "as it was logged" in last.get_attribute("title")
    places = """() => [
      tb.all('.tb-legend thead th').map((title) => title.getBoundingClientRect().left),
      tb.all('.tb-legend tbody th span').map((name) => name.textContent)]"""
    last.click()
    page.locator(".tb-legend [aria-sort=descending]").wait_for()
    still = page.evaluate(places)
    hover(page, "accuracy", 250, 495)
    page.get_by_role("button", name="Value", exact=True).wait_for()  # at the pointer
    assert page.evaluate(places) == still
    page.wait_for_function("() => tb.all('.tb-legend .tb-nearest').length === 1")
    rows.nth(1).hover()
    last.wait_for()
    page.wait_for_function("() => document.querySelector('.tb-hovered')")
    rows.filter(has_text=RUNS[0]).get_by_role("button", name="Only").click(force=True)
    page.wait_for_function("() => tb.all('.tb-legend tbody tr').length === 1")
    assert f"{value_at(RUNS[0], 495):.6g}" in rows.first.inner_text()
    page.goto(
        f"{server.url}/#scalars&tagQuery=re:^accuracy$&scalars.legend=true&group=sweep/{{lr}}/train"
    )
    mean = (value_at(RUNS[0], 495) + value_at(RUNS[2], 495)) / 2
    page.wait_for_function(
        "(text) => tb.all('.tb-legend tbody tr').some((row) => row.textContent.includes(text))",
        arg=f"{mean:.6g}",
    )


def test_the_state_of_a_card_is_in_the_address_and_survives_a_filter(open_page: Any) -> None:
    """Full size, the table and its sort order are kept."""
    page = open_page("#scalars&tagQuery=re:^accuracy$|^loss/total$")
    wait_for_curves(page, "accuracy", RUNS[0])
    page.get_by_role("button", name="Full size: accuracy").click()
    page.get_by_role("button", name="Max", exact=True).click()
    as_left = """() => tb.card('accuracy')?.classList.contains('tb-expanded')
      && tb.all('[aria-sort=descending]').length === 1"""
    page.wait_for_function(as_left)
    box = page.get_by_label("Filter tags")
    box.fill("no such tag")
    page.wait_for_function("() => !tb.card('accuracy')")
    box.fill("accuracy|total")
    page.wait_for_function(as_left)
    assert not page.evaluate("() => tb.card('loss/total').classList.contains('tb-expanded')")
    page.wait_for_function(
        """() => ['cards=accuracy,full,max-', 'tagQuery=accuracy|total']
          .every((part) => decodeURIComponent(location.hash).includes(part))"""
    )

    linked = open_page(page.evaluate("() => location.hash"))
    linked.wait_for_function(as_left)
    linked.get_by_role("button", name="Table of accuracy").click()
    linked.wait_for_function("() => !tb.all('.tb-legend').length")
    linked.get_by_role("button", name="Full size: accuracy").click()
    linked.wait_for_function("() => !tb.card('accuracy').classList.contains('tb-expanded')")


def test_copies_of_a_card_zoom_together(open_page: Any) -> None:
    """A pinned card shows what its copy shows, also in a link; only one of them is enlarged."""
    page = open_page("#scalars&tagQuery=re:^accuracy$")
    wait_for_curves(page, "accuracy", RUNS[0])
    drag_across(page, 0, 0.25, 0.5)
    page.wait_for_function("() => location.hash.includes('scalars.zoom=accuracy')")
    page.get_by_role("button", name="Pin accuracy").click()
    labels = """() => tb.all('.tb-card').map(
      (card) => card.querySelector('.tb-chart')?.getAttribute('aria-label') ?? '')"""
    page.wait_for_function(
        f"() => {{ const found = ({labels})(); return found.length === 2 && found[0] === found[1]"
        " && found[0].includes('zoomed in'); }"
    )
    page.wait_for_function("() => location.hash.includes('scalars.pinned=accuracy')")
    linked = open_page(page.evaluate("() => location.hash"))
    buttons = linked.get_by_role("button", name="Show all of accuracy")
    buttons.nth(1).wait_for()
    linked.wait_for_function(
        f"(expected) => String(({labels})()) === String(expected)", arg=page.evaluate(labels)
    )
    buttons.first.click()
    linked.wait_for_function(
        f"() => ({labels})().every((label) => label.includes('from 0 to 495:'))"
    )
    linked.wait_for_function("() => !location.hash.includes('zoom')")

    page.get_by_role("button", name="Full size: accuracy").first.click()
    page.wait_for_function("() => tb.all('.tb-expanded').length === 1")
    assert page.evaluate("() => Boolean(tb.all('.tb-expanded')[0].closest('.pinned'))")


def test_the_copy_of_a_pinned_card_zooms_with_its_section(open_page: Any) -> None:
    """Also if the charts of a section are linked."""
    page = open_page("#scalars&tagQuery=re:^loss/&scalars.link=true&scalars.pinned=loss/total")
    page.wait_for_function("() => tb.all('.tb-chart').length === 4")
    wait_for_curves(page, "loss/head9", RUNS[0])
    drag_across(page, 0, 0.5, 0.75)
    page.wait_for_function("() => tb.all('[aria-label^=\"Show all of\"]').length === 4")
    views = page.evaluate(
        "() => tb.all('.tb-chart').map((chart) => /from (.*),/.exec(chart.ariaLabel)[1])"
    )
    assert len(set(views)) == 1
    page.wait_for_function("() => location.hash.includes('scalars.zoom=loss/total')")


def test_a_table_scrolls_within_its_card(open_page: Any) -> None:
    """Names stay in place while values scroll; neighbouring cards keep their height."""
    page = open_page("#scalars&tagQuery=re:^loss/")
    wait_for_curves(page, "loss/total", RUNS[0])
    heights = """() => ['loss/head9', 'loss/head10', 'loss/total'].map(
      (tag) => tb.card(tag).getBoundingClientRect().height)"""
    before = page.evaluate(heights)
    page.get_by_role("button", name="Table of loss/head9").click()
    legend = page.get_by_role("region", name="loss/head9")
    legend.get_by_role("row").nth(3).wait_for()
    after = page.evaluate(heights)
    assert after[0] > before[0]
    assert after[1:] == before[1:]
    left, scrolled, title = legend.evaluate(
        """(box) => {
          box.scrollLeft = 1000;
          const name = box.querySelector('tbody th');
          const left = name.getBoundingClientRect().left - box.getBoundingClientRect().left;
          return [left, box.scrollLeft, name.title];
        }"""
    )
    assert title in RUNS
    assert scrolled > 0
    assert left == 0


def test_a_step_is_pinned_in_all_charts_and_in_the_address(open_page: Any) -> None:
    """The table shows the pinned values wherever the pointer is; another axis has no pin."""
    page = open_page("#scalars&tagQuery=re:^accuracy$|^loss/total$")
    wait_for_curves(page, "loss/total", RUNS[0])
    hover(page, "accuracy", 250, 495)
    page.mouse.down()
    page.mouse.up()
    handles = page.get_by_role("slider", name="Pinned step")
    handles.nth(1).wait_for()
    page.wait_for_function("() => location.hash.includes('step=250')")
    table = page.locator(".tb-legend")
    table.wait_for()
    hover(page, "accuracy", 50, 495)
    assert f"{value_at(RUNS[0], 250):.6g}" in table.inner_text()
    assert f"{value_at(RUNS[0], 50):.6g}" not in table.inner_text()

    again = open_page(page.evaluate("() => location.hash"))
    linked = again.get_by_role("slider", name="Pinned step")
    linked.nth(1).wait_for()
    assert linked.first.inner_text() == "250"
    linked.first.focus()
    again.keyboard.press("ArrowRight")
    again.wait_for_function("() => location.hash.includes('step=255')")
    again.get_by_text("Relative", exact=True).first.click()
    linked.first.wait_for(state="hidden")
    assert "&step=255" in again.evaluate("() => location.hash")
    page.bring_to_front()
    page.get_by_role("button", name="Unpin").first.click()
    page.wait_for_function("() => !location.hash.includes('step=')")
    table.wait_for(state="detached")


def test_tags_without_a_group_fold_too(open_page: Any) -> None:
    page = open_page()
    wait_for_curves(page, "accuracy", RUNS[0])
    page.get_by_role("button", name="(no prefix) 2").click()
    page.wait_for_function("() => !tb.card('accuracy')")
    page.get_by_role("button", name="(no prefix) 2").click()
    wait_for_curves(page, "accuracy", RUNS[0])


def test_several_tags_in_one_chart(open_page: Any) -> None:
    """Tags are combined in the menu of a card, kept in the address, and split again."""
    page = open_page('#scalars&query="lr=0.1/train"')
    wait_for_curves(page, "loss/head9", RUNS[0])
    page.get_by_role("button", name="More options for loss/head9").click()
    page.get_by_role("searchbox", name="Find a tag").fill("accur")
    page.keyboard.press("ArrowDown")
    assert page.get_by_role("button", name="accuracy", exact=True).evaluate(
        "(b) => b.matches(':focus')"
    )
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.wait_for_function("() => tb.card('loss/head9 + accuracy')")
    page.wait_for_function("() => tb.label('loss/head9 + accuracy').includes('· accuracy')")
    page.wait_for_function("() => location.hash.includes('scalars.with=loss')")
    key = page.locator("[aria-label='loss/head9 + accuracy'] .key")
    assert key.locator("span").all_inner_texts() == ["loss/head9", "accuracy"]
    hover(page, "loss/head9 + accuracy", 250, 495)
    samples = page.evaluate(
        """() => tb.all('.tb-chart-tooltip:popover-open tbody tr').map((row) => [
          row.textContent.includes('· accuracy'),
          getComputedStyle(row.querySelector('i')).backgroundImage !== 'none'])"""
    )
    assert [True, True] in samples
    assert [False, False] in samples
    assert all(is_second == is_dashed for is_second, is_dashed in samples)
    page.get_by_role("button", name="More options for loss/head9 + accuracy").click()
    page.get_by_role("button", name="Split into one chart per tag").click()
    page.wait_for_function("() => tb.card('loss/head9')")
    source, target = (
        page.locator("[aria-label='loss/total'] header"),
        page.locator("[aria-label='loss/head9']"),
    )
    source.drag_to(target)
    page.wait_for_function("() => tb.card('loss/head9 + loss/total')")


def test_pinned_cards_are_at_the_top(open_page: Any) -> None:
    page = open_page()
    wait_for_curves(page, "loss/total", RUNS[0])
    page.get_by_role("button", name="Pin loss/total").click()
    pinned = page.get_by_role("region", name="Pinned")
    pinned.locator("[aria-label='loss/total']").first.wait_for()
    page.wait_for_function("() => location.hash === '#scalars&scalars.pinned=loss/total'")
    page.evaluate(
        """() => {
          // Click both before the page is redrawn.
          for (const tag of ['accuracy', 'loss/head9']) {
            tb.card(tag).querySelector('.pin').click();
          }
        }"""
    )
    page.wait_for_function(
        "() => location.hash === '#scalars&scalars.pinned=loss/total,accuracy,loss/head9'"
    )
    old = open_page("#scalars&scalars.pinned=loss%252Ftotal")
    old.get_by_role("region", name="Pinned").locator("[aria-label='loss/total']").first.wait_for()
    for tag in ("accuracy", "loss/head9", "loss/total"):
        pinned.get_by_role("button", name=f"Pin {tag}").click()
    pinned.wait_for(state="detached")


def test_groups_of_runs_are_drawn_as_bands(open_page: Any) -> None:
    """Runs that differ only in the part in braces share one colour and one mean."""
    page = open_page("#scalars&tagQuery=re:^accuracy$&group=sweep/{lr}/train")
    page.wait_for_function("() => tb.label('accuracy').includes('sweep/{lr}/train')")
    rows = hover(page, "accuracy", 250, 495)
    mean = (value_at(RUNS[0], 250) + value_at(RUNS[2], 250)) / 2
    assert any(f"{mean:.6g}" in cell for row in rows for cell in row)
    text = page.evaluate("() => tb.all('.tb-chart-tooltip')[0].textContent")
    assert "step 250 · ± standard deviation (n − 1)" in text


@pytest.fixture(scope="module")
def seeds(serve_for_module: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Five seeds, one of which diverges and one of which ends early, and a run in no group."""
    logdir = tmp_path_factory.mktemp("seeds")
    for seed in range(5):
        value = [float(seed)] * (40 if seed == 4 else 100)
        if seed == 1:
            value[60:] = [math.nan] * 40
        long = np.random.default_rng(seed).random(20_000)
        write_run(logdir, f"ppo/seed={seed}", scalars={"reward": value, "val": value, "long": long})
    write_run(logdir, "sac/seed=0", scalars={"reward": [2.5] * 100})
    return serve_for_module(logdir)


def test_a_band_says_which_runs_are_in_it(profile: Any, seeds: Any) -> None:
    """A run is not counted after it diverged or ended; a run in no group is a line."""
    page = profile.open(seeds.url, "#scalars&tagQuery=re:^reward$&group=seeds&scalars.legend=true")
    page.wait_for_function("() => tb.label('reward').includes('ppo/*, sac/seed=0')")
    for step, runs, text in [
        (10, "5", "± standard deviation (n − 1) · mean"),
        (50, "4 of 5", "mean of 4 of 5 runs, 1 without points here"),
        (80, "3 of 5", "mean of 3 of 5 runs, 1 not finite, 1 without points here"),
    ]:
        rows = hover(page, "reward", step, 99, 0.5)
        assert rows[0][0] == "ppo/*"
        assert len(rows[0]) == (2 if runs == "5" else 3)
        assert rows[0][-1] == runs or runs == "5"
        assert text in page.evaluate("() => tb.all('.tb-chart-tooltip')[0].textContent")
        page.wait_for_function(
            "(runs) => tb.all('.tb-legend tbody tr')[0]?.lastElementChild.textContent === runs",
            arg=runs,
        )
    names = page.evaluate("() => tb.all('.tb-legend tbody th').map((cell) => cell.title)")
    assert names == ["ppo/*", "sac/seed=0"]


def test_a_group_can_be_a_median_and_its_band_an_interval(profile: Any, seeds: Any) -> None:
    """One choice in the form for groups has both; the address has them in one part."""
    page = profile.open(seeds.url, "#scalars&tagQuery=re:^reward$&group=seeds")
    page.wait_for_function("() => tb.label('reward').includes('ppo/*, sac/seed=0')")
    tooltip = "() => tb.all('.tb-chart-tooltip')[0].textContent"

    page.get_by_role("button", name="Grouped: seeds").click()
    page.get_by_label("Groups show").select_option("mean ± 95 % interval")
    page.get_by_role("form", name="Group runs").get_by_role("button", name="Close").click()
    page.wait_for_function("() => location.hash.includes('&average=mean-interval')")
    page.wait_for_function("() => tb.label('reward').includes('ppo/*, sac/seed=0')")
    until(lambda: hover(page, "reward", 10, 99) and "interval" in page.evaluate(tooltip))
    row = hover(page, "reward", 10, 99)[0]
    # Of 0, 1, 2, 3, 4: 2.776 * sqrt(2.5 / 5) = 1.963 from the mean.
    assert row == ["ppo/*", "2.0 ± 2.0"]
    assert "95 % interval of the mean · mean" in page.evaluate(tooltip)

    page.get_by_role("button", name="Grouped: seeds").click()
    page.get_by_label("Groups show").select_option("median, quartiles")
    page.get_by_role("form", name="Group runs").get_by_role("button", name="Close").click()
    page.wait_for_function("() => location.hash.includes('&average=median')")
    page.wait_for_function("() => tb.label('reward').includes('ppo/*, sac/seed=0')")
    # The address changes before the chart does.
    until(lambda: hover(page, "reward", 80, 99)[0] == ["ppo/*", "2 [1, 2.5]", "3 of 5"])
    text = page.evaluate(tooltip)
    assert "Median [low, high]Runs" in text
    assert "quartiles · median of 3 of 5 runs" in text


def test_a_picture_can_be_a_figure_for_a_paper(profile: Any, seeds: Any) -> None:
    """Of the width of one column or two, with letters of 8 points; it says what the band is."""
    page = profile.open(seeds.url, "#scalars&tagQuery=re:^reward$&group=seeds")
    page.wait_for_function("() => tb.label('reward').includes('ppo/*, sac/seed=0')")
    page.get_by_role("button", name="More options for reward").click()
    size = page.get_by_label("Size of the picture")
    size.wait_for()
    assert size.locator("option").all_inner_texts() == [
        "as on the screen",
        "one column (3.4 in)",
        "two columns (7 in)",
    ]
    for inches in ("3.4", "7"):
        size.select_option(inches)
        files = {}
        for kind in ("SVG", "PNG"):
            with page.expect_download() as download:
                page.get_by_role("button", name=kind, exact=True).click()
            files[kind] = download.value.path().read_bytes()
        figure = ElementTree.fromstring(files["SVG"])
        assert (figure.get("width"), figure.get("font-size")) == (f"{inches}in", "8")
        text = " ".join(figure.itertext())
        assert "mean of 5 runs, band: ± standard deviation (n − 1)" in text
        assert text.split()[0] == "reward"
        width = int.from_bytes(files["PNG"][16:20], "big")
        assert abs(width - 600 * float(inches)) < 8  # 600 pixels per inch
    # The choice is kept for the next menu.
    page.keyboard.press("Escape")
    page.get_by_role("button", name="More options for reward").click()
    assert page.get_by_label("Size of the picture").input_value() == "7"


def test_two_runs_have_no_interval(open_page: Any) -> None:
    page = open_page("#scalars&tagQuery=re:^accuracy$&group=sweep/{lr}/train&average=mean-error")
    page.wait_for_function("() => tb.label('accuracy').includes('sweep/{lr}/train')")
    rows = hover(page, "accuracy", 250, 495)
    [figure] = [row[1] for row in rows if row[0].startswith("sweep/{lr}")]
    assert re.fullmatch(r"[\d.]+", figure)
    text = page.evaluate("() => tb.all('.tb-chart-tooltip')[0].textContent")
    assert "no interval for fewer than 3 runs" in text


def test_a_mean_over_fewer_runs_than_before_is_dashed_or_left_out(profile: Any, seeds: Any) -> None:
    """The chart and its picture say so; an option ends it where the first run ends."""
    page = profile.open(seeds.url, "#scalars&tagQuery=re:^reward$&group=seeds")
    note = "dashed: fewer runs than before"
    page.wait_for_function(
        "(note) => tb.card('reward')?.querySelector('.tb-chart-note')?.textContent === note",
        arg=note,
    )
    page.get_by_role("button", name="More options for reward").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="SVG").click()
    picture = download.value.path().read_text("utf-8")
    assert note in picture
    assert 'stroke-dasharray="3 5"' in picture
    page.keyboard.press("Escape")
    assert hover(page, "reward", 80, 99)[0][-1] == "3 of 5"
    set_option(page, "End means where the first run ends")
    page.wait_for_function("() => location.hash.includes('scalars.ends=true')")
    page.wait_for_function("() => !tb.card('reward').querySelector('.tb-chart-note').textContent")
    assert [row[0] for row in hover(page, "reward", 80, 99)] == ["sac/seed=0"]
    assert hover(page, "reward", 30, 99)[0][0] == "ppo/*"


def test_settings_and_table_name_the_average_of_groups(profile: Any, seeds: Any) -> None:
    """Not all lines of groups are means."""
    for average, title, plural in [
        ("mean", "Mean at end", "means"),
        ("median", "Median at end", "medians"),
        ("iqm", "Interquartile mean at end", "IQMs"),
    ]:
        page = profile.open(
            seeds.url,
            "#scalars&tagQuery=re:^reward$&group=seeds&query=ppo&scalars.legend=true"
            f"&average={average}",
        )
        heading = page.get_by_role("button", name=title, exact=True)
        heading.wait_for()
        assert title.removesuffix(" at end").lower() in heading.get_attribute("title")
        page.get_by_role("button", name="Settings").click()
        page.get_by_role("checkbox", name=f"End {plural} where the first run ends").wait_for()


def test_the_table_shows_bands_on_every_axis(profile: Any, seeds: Any) -> None:
    """If x is a time, the mean has a time and no step. Columns without values are not shown."""
    for axis, place in [("step", "step"), ("relative", "relative"), ("wall_time", None)]:
        page = profile.open(
            seeds.url,
            f"#scalars&tagQuery=re:^reward$&group=seeds&scalars.legend=true&scalars.x={axis}",
        )
        page.wait_for_function(
            "() => tb.all('.tb-legend tbody tr')[0]?.querySelector('th').title === 'ppo/*'"
        )
        cells = page.evaluate(
            """() => Object.fromEntries([...tb.all('.tb-legend tbody tr')[0].cells].map(
              (cell) => [cell.dataset.column, cell.textContent]))"""
        )
        assert cells["final"] == "2.3 ± 1.7 (4 of 5, 1 not finite)"
        if place is None:
            assert not cells["value"]
            assert "low" not in cells
            continue
        assert (cells["value"], cells["low"], cells["high"]) == ("1.66667", "0.139141", "3.19419")
        assert (cells["min"], cells["max"]) == ("1.5", "2")  # of the mean, over the chart
        assert cells["runs"] == "3 of 5"
        filled = [name for name in ("step", "relative", "wallTime") if cells.get(name)]
        assert filled == [place]


@pytest.fixture(scope="module")
def configs(serve_for_module: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Three seeds of each of two configurations, one after the other; one seed ends at NaN."""
    logdir = tmp_path_factory.mktemp("configs")
    ends = {"cfg0": [0.5, 0.75, 1.0], "cfg1": [0.25, 0.5, math.nan]}
    for start, (config, values) in enumerate(ends.items()):
        for seed, end in enumerate(values):
            # Longer runs are better, so the last point of the mean is the best seed's.
            length, wall_time = 30 - 10 * seed, 1.6e9 + 1000 * (3 * start + seed)
            loss = [(step, 3.0, wall_time + step) for step in range(length)]
            scalars = {"loss": [*loss, (length, end, wall_time + length)], "best": [loss[-1]]}
            write_run(logdir, f"{config}/seed={seed}", scalars=scalars, wall_time=wall_time)
    return serve_for_module(logdir)


FINAL_CELLS = """() => tb.all('.tb-legend tbody tr').map((row) => {
  const cell = row.querySelector('[data-column="final"]');
  return [row.querySelector('th').title, cell?.textContent, cell?.title];
})"""


def test_the_table_begins_with_the_final_value_of_groups(profile: Any, configs: Any) -> None:
    """It is the mean of the runs' last values, not the last point of the mean."""
    address = "#scalars&tagQuery=re:^loss$&group=seeds&scalars.legend=true"
    page = profile.open(configs.url, address)
    heading = page.get_by_role("button", name="Final: mean ± SD", exact=True)
    heading.wait_for()
    assert "standard deviation (n − 1)" in heading.get_attribute("title")
    columns = page.evaluate("() => tb.all('.tb-legend thead th').map((th) => th.dataset.column)")
    assert columns[:3] == ["name", "final", "value"]
    (first, second) = page.evaluate(FINAL_CELLS)
    title = "mean of the last values of 3 runs: 0.75, ± standard deviation (n − 1) 0.25"
    assert first == ["cfg0/*", "0.75 ± 0.25", title]
    assert second[:2] == ["cfg1/*", "0.38 ± 0.18 (2 of 3, 1 not finite)"]
    assert second[2].endswith(", 1 run NaN or infinite, not in it")
    for names in (["cfg0/*", "cfg1/*"], ["cfg1/*", "cfg0/*"]):
        heading.click()
        is_sorted = f"(names) => String(({FINAL_CELLS})().map(([name]) => name)) === String(names)"
        page.wait_for_function(is_sorted, arg=names)
    page = profile.open(configs.url, f"{address}&average=median")
    page.get_by_role("button", name="Final: median [quartiles]", exact=True).wait_for()
    assert page.evaluate(FINAL_CELLS)[0][1] == "0.75 [0.63, 0.88]"


def test_runs_with_one_point_are_dots_with_a_bar(profile: Any, configs: Any) -> None:
    """A line from seed to seed would look like a curve."""
    page = profile.open(configs.url, "#scalars&tagQuery=re:^best$&group=seeds&scalars.legend=true")
    page.wait_for_function("() => tb.label('best').includes('cfg0/*, cfg1/*, cfg0/seed=0')")
    page.wait_for_function("() => tb.all('.tb-legend tbody tr').length === 2")
    assert [row[0] for row in page.evaluate(FINAL_CELLS)] == ["cfg0/*", "cfg1/*"]
    rows = hover(page, "best", 19 - 9, 29 - 9)  # the axis begins at step 9
    assert {"cfg0/*", "cfg0/seed=1"} <= {row[0] for row in rows}
    text = page.evaluate("() => tb.all('.tb-chart-tooltip')[0].textContent")
    assert "around step 19 · ± standard deviation (n − 1) · mean" in text
    page.get_by_role("button", name="More options for best").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="SVG").click()
    picture = download.value.path().read_text("utf-8")
    assert "mean of 3 runs, bar: ± standard deviation (n − 1)" in picture
    names = re.findall(r">(cfg[^<]*)</text>", picture)
    assert names == ["cfg0/*", "cfg1/*"]


def test_over_wall_time_the_runs_of_a_group_are_drawn(profile: Any, configs: Any) -> None:
    """A mean would lead from run to run. The table still has the groups."""
    address = "#scalars&tagQuery=re:^loss$&group=seeds&scalars.legend=true&scalars.x=wall_time"
    page = profile.open(configs.url, address)
    page.wait_for_function("() => tb.label('loss').includes(': cfg0/seed=0, cfg0/seed=1')")
    note = page.get_by_role("note")
    text = "2 groups drawn as runs, in the group's colour: no mean over wall time"
    assert note.text_content() == text
    page.wait_for_function("() => tb.all('.tb-legend tbody tr').length === 2")
    texts = [row[:2] for row in page.evaluate(FINAL_CELLS)]
    assert texts == [["cfg0/*", "0.75 ± 0.25"], ["cfg1/*", "0.38 ± 0.18 (2 of 3, 1 not finite)"]]
    page.get_by_role("button", name="More options for loss").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV as drawn").click()
    rows = list(csv.reader(download.value.path().read_text("utf-8").splitlines()))
    assert rows[0] == ["run", "tag", "step", "wall_time", "value"]
    assert len(rows) == 1 + 2 * (31 + 21 + 11)
    page.keyboard.press("Escape")
    page.get_by_text("Step", exact=True).first.click()
    page.wait_for_function("() => tb.label('loss').includes('cfg0/*, cfg1/*')")
    note.wait_for(state="detached")


def test_an_enlarged_card_requests_more_points(profile: Any, seeds: Any) -> None:
    """More points in full size, and no request when it is small again."""
    page = profile.open(seeds.url, '#scalars&query="ppo/seed=0"')
    for tag in ("reward", "val", "long"):
        page.wait_for_function("(tag) => tb.label(tag).includes('ppo/seed=0')", arg=tag)

    def has_twice_the_points(response: Any) -> bool:
        is_window = response.url.endswith("/window")
        return is_window and json.loads(response.request.post_data)["pixels"] >= 2 * 500

    with page.expect_response(has_twice_the_points):
        page.get_by_role("button", name="Full size: long").click()
    num_requests = sum(address.endswith("/window") for address in profile.requested_urls)
    page.get_by_role("button", name="Full size: long").click()
    page.locator(".tb-expanded").wait_for(state="detached")
    for _ in range(3):
        page.evaluate("() => tb.frame()")
    assert sum(address.endswith("/window") for address in profile.requested_urls) == num_requests


def test_runs_of_a_hovered_group_are_drawn_faintly(profile: Any, seeds: Any) -> None:
    """They appear at the pointer without changing the axes."""
    page = profile.open(seeds.url, "#scalars&tagQuery=re:^long$&group=seeds")
    page.wait_for_function("() => tb.label('long').includes('ppo/*')")
    axis = """() => {
      const canvas = tb.canvas('long');
      const width = tb.card('long').querySelector('.tb-chart-plot').getBoundingClientRect().left
        - canvas.getBoundingClientRect().left;
      const left = Math.floor((width - 2) * devicePixelRatio);
      return canvas.getContext('2d').getImageData(0, 0, left, canvas.height).data.join();
    }"""
    page.wait_for_function(f"() => ({axis})().split(',').some(Number)")
    before = page.evaluate(axis)
    hover(page, "long", 10_000, 19_999, 0.5)
    page.wait_for_function("() => tb.label('long').includes('ppo/seed=')")
    page.evaluate("() => tb.frame()")
    assert page.evaluate(axis) == before


def test_bands_of_several_tags_are_labelled_by_tag(profile: Any, seeds: Any) -> None:
    page = profile.open(seeds.url, "#scalars&group=seeds&scalars.with=reward,val")
    page.wait_for_function("() => tb.label('reward + val').includes('ppo/* · reward, ppo/* · val')")


def test_dragging_the_smoothing_slider_sends_one_request(profile: Any, seeds: Any) -> None:
    """The request is sent when the slider stops, with the last weight."""
    page = profile.open(seeds.url, "#scalars&tagQuery=re:^long$")
    page.wait_for_function("() => tb.label('long').includes('ppo/seed=0')")
    weights: list[float] = []
    page.on(
        "request",
        lambda request: (
            request.url.endswith("/window")
            and weights.append(json.loads(request.post_data)["smoothing"])
        ),
    )
    with page.expect_request("**/window"):
        page.evaluate(
            """async () => {
              const slider = tb.all('.tb-smoothing input[type=range]')[0];
              for (let i = 1; i <= 30; i++) {
                slider.value = i / 50;
                slider.dispatchEvent(new InputEvent('input', { bubbles: true }));
                await null;  // a longer pause could count as a slider that stopped
              }
            }"""
        )
    page.wait_for_function("() => tb.card('long') && location.hash.includes('scalars.smooth=0.6')")
    with page.expect_request("**/window"):
        page.locator(".tb-smoothing input[type=range]").fill("0.8")
    assert weights == [0.6, 0.8]


def test_charts_of_a_section_zoom_together_if_linked(open_page: Any) -> None:
    page = open_page("#scalars&tagQuery=re:^loss/&scalars.link=true")
    for tag in ("loss/head9", "loss/head10", "loss/total"):
        wait_for_curves(page, tag, RUNS[0])
    drag_across(page, 0, 0.5, 0.75)
    page.wait_for_function("() => tb.all('[aria-label^=\"Show all of\"]').length === 3")
    page.get_by_role("button", name="Show all of loss/head10").click()
    page.wait_for_function("() => tb.all('[aria-label^=\"Show all of\"]').length === 0")


def test_a_run_far_out_of_range_is_left_out_in_one_click(
    serve: Any, profile: Any, tmp_path: Path
) -> None:
    """In this card alone, and in its link; the button is not there if no run is far out."""
    for seed in range(5):
        tame = [2.5 * math.exp(-step / 20) + 0.1 * seed for step in range(100)]
        loss = [2 * 1.2**step for step in range(100)] if seed == 3 else tame
        write_run(tmp_path, f"seed{seed}", scalars={"loss": loss, "tame": tame})
    server = serve(tmp_path)
    page = profile.open(server.url)
    button = page.get_by_role("button", name="1 run far from the others: leave out")
    button.wait_for()
    assert button.count() == 1
    assert button.get_attribute("title") == "seed3"
    heights = page.evaluate("() => tb.all('.tb-card').map((card) => card.offsetHeight)")
    assert heights[0] == heights[1]  # the button is over the plot
    # The height of the line of a tame run, in rows of pixels.
    page.evaluate(
        """() => {
          globalThis.heightOfTame = () => {
            const canvas = tb.canvas('loss');
            const context = canvas.getContext('2d');
            const hex = tb.colors()['seed0'];
            const color = [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));
            const rows = [...Array(canvas.height).keys()].filter((y) => {
              const { data } = context.getImageData(0, y, canvas.width, 1);
              for (let i = 0; i < data.length; i += 4) {
                const isNear = (channel, k) => Math.abs(channel - data[i + k]) < 60;
                if (data[i + 3] > 128 && color.every(isNear)) return true;
              }
              return false;
            });
            return rows.length === 0 ? 0 : rows.at(-1) - rows[0] + 1;
          };
        }"""
    )
    page.wait_for_function("() => heightOfTame() > 0 && heightOfTame() < 8")
    button.click()
    page.wait_for_function("() => heightOfTame() > 60")
    page.wait_for_function("() => location.hash.includes('scalars.cards=loss,clip')")
    linked = profile.open(server.url, page.evaluate("() => location.hash"))
    linked.get_by_role("button", name="1 run far from the others: show").click()
    linked.wait_for_function("() => !location.hash.includes('clip')")
    button = linked.get_by_role("button", name="1 run far from the others: leave out")
    button.wait_for()
    set_option(linked, "Ignore outliers when scaling")
    button.wait_for(state="detached")


def test_keys_of_a_card(open_page: Any) -> None:
    """f toggles full size, p pins to the top."""
    page = open_page("#scalars&tagQuery=re:^accuracy$")
    wait_for_curves(page, "accuracy", RUNS[0])
    page.locator(".tb-chart").focus()
    page.keyboard.press("f")
    page.locator(".tb-expanded").wait_for()
    page.keyboard.press("Escape")
    page.locator(".tb-expanded").wait_for(state="detached")
    page.keyboard.press("p")
    page.get_by_role("region", name="Pinned").wait_for()


def test_keys_go_to_the_hovered_card(open_page: Any) -> None:
    """If no card has the focus; outside all cards, nothing happens."""
    page = open_page("#scalars&tagQuery=re:^loss/")
    wait_for_curves(page, "loss/total", RUNS[0])
    page.mouse.move(1, 1)
    page.keyboard.press("f")
    page.locator(".tb-card[aria-label='loss/head10'] header").hover()
    page.keyboard.press("f")
    page.locator(".tb-expanded[aria-label='loss/head10']").wait_for()
    assert page.locator(".tb-expanded").count() == 1
    page.locator(".tb-card[aria-label='loss/total'] header").hover()
    page.keyboard.press("p")
    page.wait_for_function("() => location.hash.includes('scalars.pinned=loss/total')")


def test_a_zoom_comes_from_the_address(open_page: Any) -> None:
    """When the page opens, also for linked charts, and when the address of an open page changes."""
    page = open_page("#scalars&scalars.link=true&scalars.zoom=loss/total,100,200")
    for tag in ("loss/total", "loss/head9", "loss/head10"):
        page.wait_for_function("(tag) => tb.label(tag).includes('from 100 to 200,')", arg=tag)
    assert "from 100" not in page.evaluate("() => tb.label('accuracy')")
    page.get_by_role("button", name="Show all of loss/head9").click()
    for tag in ("loss/total", "loss/head9", "loss/head10"):
        page.wait_for_function("(tag) => tb.label(tag).includes('from 0 to 495:')", arg=tag)
    page.wait_for_function("() => !location.hash.includes('zoom')")

    page.evaluate("() => { location.hash = '#scalars&scalars.zoom=accuracy,300,400'; }")
    page.wait_for_function("() => tb.label('accuracy').includes('from 300 to 400,')")
    page.evaluate("() => { location.hash = '#scalars'; }")
    page.wait_for_function("() => tb.label('accuracy').includes('from 0 to 495:')")


def test_options_are_remembered_by_the_browser(open_page: Any) -> None:
    """They apply to pages opened without options; a link uses its own."""
    page = open_page()
    wait_for_curves(page, "accuracy", RUNS[0])
    choose_scale(page, "y", "Log")
    page.wait_for_function("() => location.hash.includes('scalars.logY=true')")
    again = open_page()
    again.wait_for_function("() => location.hash.includes('scalars.logY=true')")
    linked = open_page("#scalars&scalars.x=relative")
    wait_for_curves(linked, "accuracy", RUNS[0])
    assert "logY" not in linked.evaluate("() => location.hash")


def weight_of(server: Any, profile: Any) -> int:
    """The compressed size of all static files that a page has requested."""
    weight = 0
    for address in set(profile.requested_urls):
        path = urlsplit(address).path
        if not path.startswith("/data/"):
            request = urllib.request.Request(server.url + path, headers={"accept-encoding": "gzip"})
            with urllib.request.urlopen(request) as answer:
                weight += len(answer.read())
    print(f"weight of the page: {weight} bytes")
    return weight


def weight_until(server: Any, profile: Any, tab: str, drawn: str) -> int:
    """The compressed size of everything that opening a tab loads until it is drawn, without what
    comes a second later: on a busy machine, that may be before the first curve."""
    profile.expects_errors = True  # The browser reports the module that it cannot load.
    profile.context.route("**/kept.js", lambda route: route.abort())
    page = profile.open(server.url, tab)
    page.wait_for_function(f"() => {drawn}")
    profile.requested_urls[:] = [u for u in profile.requested_urls if not u.endswith("/kept.js")]
    return weight_of(server, profile)


def test_the_page_is_light(server: Any, new_profile: Any) -> None:
    drawn = f"tb.pixels('accuracy', tb.colors()['{RUNS[0]}'] ?? '#000001') >= 60"
    weight = weight_until(server, new_profile(), "", drawn)  # a profile without a cache
    assert 50_000 < weight < WEIGHT_LIMIT


def test_other_tabs_are_light(serve: Any, new_profile: Any, tmp_path: Path) -> None:
    """One run, of which the first picture and the first histograms are drawn."""
    points = {"x": [summaries.png(8, 8)]}
    write_run(tmp_path / "logs", "run", images=points, histograms={"h": [[1.0, 2.0], [2.0]]})
    server = serve(tmp_path / "logs")
    for tab, drawn in (
        ("#images", "tb.all('img')[0]?.naturalWidth === 8"),
        ("#histograms", "tb.pixels('h in run', tb.colors().run ?? '#000001') >= 60"),
    ):
        weight = weight_until(server, new_profile(), tab, drawn)
        assert 50_000 < weight < TAB_LIMITS[tab], tab


def test_a_page_at_rest_is_light(serve: Any, new_profile: Any, tmp_path: Path) -> None:
    """With what it loads by itself later: the offer to average over seeds, notes and views."""
    for number in range(100):
        write_run(tmp_path / "logs", f"exp{number // 10}/seed{number % 10}", scalars={"loss": [1]})
    profile = new_profile()  # without a cache
    server = serve(tmp_path / "logs")
    page = profile.open(server.url)
    page.get_by_text("These look like").wait_for()
    page.get_by_role("button", name="Views").wait_for()
    page.wait_for_function("() => tb.canvas('loss')")
    loaded = "performance.getEntriesByType('resource')"
    page.wait_for_function(f"() => {loaded}.some(({{name}}) => name.endsWith('/marks.css'))")
    assert 50_000 < weight_of(server, profile) < REST_LIMIT


def test_ten_growing_runs_weigh_little(serve: Any, profile: Any, tmp_path: Path) -> None:
    """Only the points that are new are sent, compressed; the lines go on."""
    runs = [f"seed{number}" for number in range(10)]

    def write(steps: range) -> None:
        for run in runs:
            write_run(tmp_path / "logs", run, scalars={"loss": [(s, s / 1000) for s in steps]})

    write(range(5000))
    page = profile.open(serve(tmp_path / "logs").url)
    page.wait_for_function("() => tb.label('loss').includes('to 4,999: seed0, seed1, seed2 and 7')")
    with page.expect_response("**/data/plugin/scalars/window") as response:
        write(range(5000, 5002))
    assert int(response.value.headers["content-length"]) < 1250  # at most 5 kB a second for four
    page.wait_for_function("() => tb.label('loss').includes('to 5,001:')")


def test_new_points_runs_and_tags_appear_without_a_reload(
    serve: Any, profile: Any, tmp_path: Path
) -> None:
    """Appended points are drawn shortly after, without reloading the page."""
    logdir = tmp_path / "live"
    with EventFileWriter(logdir / "train" / "events.out.tfevents.1") as writer:
        for step in range(10):
            writer.add_scalar("loss", 1 / (step + 1), step)
    server = serve(logdir)
    page = profile.open(server.url)
    wait_for_curves(page, "loss", "train")
    page.evaluate("() => { globalThis.sameDocument = true; }")
    canvas = page.evaluate_handle("() => tb.canvas('loss')")

    with EventFileWriter(logdir / "train" / "events.out.tfevents.1") as writer:
        for step in range(10, 40):
            writer.add_scalar("loss", 1 / (step + 1), step)
    page.wait_for_function("() => tb.label('loss').includes('to 39:')")
    assert hover(page, "loss", 38, 39)[0][:3] == ["train", "0.025641", "38"]
    assert page.evaluate(
        "(canvas) => canvas === tb.canvas('loss')", canvas
    )  # the same canvas as before

    write_run(logdir, "eval", scalars={"loss": [0.5, 0.4], "brand/new": [1.0, 2.0]})
    wait_for_curves(page, "loss", "eval", 8)
    wait_for_curves(page, "brand/new", "eval")
    assert page.evaluate("() => globalThis.sameDocument")
