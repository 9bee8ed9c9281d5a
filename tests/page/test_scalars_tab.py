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

import pytest
from drawn_charts import FADED, hover, set_option, wait_for_curve

from tbcore_testing import EventFileWriter, summaries, write_run

WEIGHT_LIMIT = 98_000

TAB_LIMITS = {"#images": 79_400, "#histograms": 92_500}

REST_LIMIT = 109_700

RUNS = ("sweep/lr=0.1/train", "sweep/lr=0.1/eval", "sweep/lr=0.01/train")

STEPS = range(0, 500, 5)


def value_at(run: str, step: int) -> float:
    return (RUNS.index(run) + 1) * math.exp(-step / 250)


def write_curves(logdir: Path) -> None:
    """Writes three runs with curves that do not touch."""
    for run in RUNS:
        points = [(step, value_at(run, step)) for step in STEPS]
        tags = ("loss/total", "loss/head10", "loss/head9", "accuracy")
        one = {"only_one": [(7, 0.25)]} if run == RUNS[0] else {}
        write_run(logdir, run, scalars={**dict.fromkeys(tags, points), **one})


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs with curves, and one run with non-finite values."""
    logdir = tmp_path_factory.mktemp("logdir")
    write_curves(logdir)
    non_finite = [1.0, float("nan"), 2.0, float("inf"), 3.0, float("-inf"), 1e38, 1.5]
    write_run(
        logdir, "odd", scalars={"values/not finite": non_finite, "values/negative": [-1.0, -2.0]}
    )
    return logdir


@pytest.fixture(scope="module")
def server(serve_for_module: Callable[..., Any], logdir: Path) -> Any:
    return serve_for_module(logdir)


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
        wait_for_curve(page, "loss/total", run)
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
    wait_for_curve(page, "values/not finite", "odd")
    values = [hover(page, "values/not finite", step, 7)[0][1] for step in range(8)]
    assert values == ["1", "NaN", "2", "∞", "3", "−∞", "1e38", "1.5"]
    # A dot of radius 3 covers about 28 pixels.
    wait_for_curve(page, "only_one", RUNS[0], 12)


def test_axes_change_and_the_address_remembers(open_page: Any) -> None:
    """A link restores the x axis and the logarithmic scale."""
    page = open_page()
    wait_for_curve(page, "accuracy", RUNS[0])
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
    wait_for_curve(again, "accuracy", RUNS[0])
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
    wait_for_curve(page, "accuracy", RUNS[0])
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
    wait_for_curve(page, "accuracy", RUNS[0])
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
    wait_for_curve(page, "loss/total", RUNS[0])
    page.get_by_role("button", name="loss 3").click()
    page.wait_for_function("() => !tb.card('loss/total') && location.hash.includes('closed=loss')")
    page.get_by_role("button", name="loss 3").click()
    wait_for_curve(page, "loss/total", RUNS[0])
    width = page.evaluate("() => tb.canvas('loss/total').width")
    page.get_by_role("button", name="Full size: loss/total").click()
    page.wait_for_function("(width) => tb.canvas('loss/total').width > 2 * width", arg=width)


def test_a_chart_and_all_charts_can_be_downloaded(open_page: Any) -> None:
    """CSV and JSON have all points; SVG and PNG show the chart."""
    page = open_page("#scalars&tagQuery=re:^loss/total$&scalars.smooth=0.6")
    wait_for_curve(page, "loss/total", RUNS[0])
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
    wait_for_curve(page, "accuracy", RUNS[0])
    wait_for_curve(page, "only_one", RUNS[0], 10)
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


def test_smoothing_is_that_of_tensorboard(open_page: Any) -> None:
    """The value at the pointer is the debiased moving average."""
    page = open_page("#scalars&tagQuery=re:^accuracy$")
    wait_for_curve(page, "accuracy", RUNS[0])
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


def test_the_kind_of_smoothing_is_chosen_and_in_the_address(open_page: Any) -> None:
    """A window of the two values on each side: the weight is 2/3."""
    page = open_page("#scalars&tagQuery=re:^accuracy$&scalars.smooth=0.66666666666666")
    wait_for_curve(page, "accuracy", RUNS[0])
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


def test_the_table_of_a_chart(open_page: Any, server: Any) -> None:
    """Rows highlight their run and can select it alone; with groups, a row has the mean."""
    page = open_page("#scalars&tagQuery=re:^accuracy$&scalars.legend=true")
    wait_for_curve(page, "accuracy", RUNS[0])
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
    wait_for_curve(page, "accuracy", RUNS[0])
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
    wait_for_curve(page, "accuracy", RUNS[0])
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
    wait_for_curve(page, "loss/head9", RUNS[0])
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
    wait_for_curve(page, "loss/total", RUNS[0])
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
    wait_for_curve(page, "loss/total", RUNS[0])
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
    wait_for_curve(page, "accuracy", RUNS[0])
    page.get_by_role("button", name="(no prefix) 2").click()
    page.wait_for_function("() => !tb.card('accuracy')")
    page.get_by_role("button", name="(no prefix) 2").click()
    wait_for_curve(page, "accuracy", RUNS[0])


def test_several_tags_in_one_chart(open_page: Any) -> None:
    """Tags are combined in the menu of a card, kept in the address, and split again."""
    page = open_page('#scalars&query="lr=0.1/train"')
    wait_for_curve(page, "loss/head9", RUNS[0])
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
    wait_for_curve(page, "loss/total", RUNS[0])
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


def test_two_runs_have_no_interval(open_page: Any) -> None:
    page = open_page("#scalars&tagQuery=re:^accuracy$&group=sweep/{lr}/train&average=mean-error")
    page.wait_for_function("() => tb.label('accuracy').includes('sweep/{lr}/train')")
    rows = hover(page, "accuracy", 250, 495)
    [figure] = [row[1] for row in rows if row[0].startswith("sweep/{lr}")]
    assert re.fullmatch(r"[\d.]+", figure)
    text = page.evaluate("() => tb.all('.tb-chart-tooltip')[0].textContent")
    assert "no interval for fewer than 3 runs" in text


def test_charts_of_a_section_zoom_together_if_linked(open_page: Any) -> None:
    page = open_page("#scalars&tagQuery=re:^loss/&scalars.link=true")
    for tag in ("loss/head9", "loss/head10", "loss/total"):
        wait_for_curve(page, tag, RUNS[0])
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
    button = page.get_by_role(
        "button", name="1 run far from the others: fit the axis to the others"
    )
    button.wait_for()
    assert button.count() == 1
    assert button.get_attribute("title") == "seed3"
    heights = page.evaluate("() => tb.all('.tb-card').map((card) => card.offsetHeight)")
    assert heights[0] == heights[1]  # the button is over the plot
    for width in (1000, 400):
        page.set_viewport_size({"width": width, "height": 800})
        is_whole = "(button) => [button.scrollWidth <= button.clientWidth, button.clientWidth]"
        whole, inside = button.evaluate(is_whole)
        assert whole, (width, inside)
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
    linked.get_by_role("button", name="1 run far from the others: fit the axis to all").click()
    linked.wait_for_function("() => !location.hash.includes('clip')")
    button = linked.get_by_role(
        "button", name="1 run far from the others: fit the axis to the others"
    )
    button.wait_for()
    set_option(linked, "Ignore outliers when scaling")
    button.wait_for(state="detached")


def test_keys_of_a_card(open_page: Any) -> None:
    """f toggles full size, p pins to the top."""
    page = open_page("#scalars&tagQuery=re:^accuracy$")
    wait_for_curve(page, "accuracy", RUNS[0])
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
    wait_for_curve(page, "loss/total", RUNS[0])
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
    wait_for_curve(page, "accuracy", RUNS[0])
    choose_scale(page, "y", "Log")
    page.wait_for_function("() => location.hash.includes('scalars.logY=true')")
    again = open_page()
    again.wait_for_function("() => location.hash.includes('scalars.logY=true')")
    linked = open_page("#scalars&scalars.x=relative")
    wait_for_curve(linked, "accuracy", RUNS[0])
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


def test_the_page_is_light(serve: Any, new_profile: Any, tmp_path: Path) -> None:
    """Where all values are finite: a chart that leaves something out loads a module for that."""
    write_curves(tmp_path / "logs")
    server = serve(tmp_path / "logs")
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
    wait_for_curve(page, "loss", "train")
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
    wait_for_curve(page, "loss", "eval", 8)
    wait_for_curve(page, "brand/new", "eval")
    assert page.evaluate("() => globalThis.sameDocument")
