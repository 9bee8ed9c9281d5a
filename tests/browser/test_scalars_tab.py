"""The scalars tab in a real browser, on real event files and a real server."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tbcore.testing import EventFileWriter, write_run

pytestmark = pytest.mark.browser

RUNS = ("sweep/lr=0.1/train", "sweep/lr=0.1/eval", "sweep/lr=0.01/train")
STEPS = range(0, 500, 5)


def value_at(run: str, step: int) -> float:
    return (RUNS.index(run) + 1) * math.exp(-step / 250)


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs of curves that do not touch, and tags of every shape."""
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
    odd = [1.0, float("nan"), 2.0, float("inf"), 3.0, float("-inf"), 1e38, 1.5]
    write_run(logdir, "odd", scalars={"values/not finite": odd, "values/negative": [-1.0, -2.0]})
    return logdir


@pytest.fixture(scope="module")
def server(serve_for_all: Callable[..., Any], logdir: Path) -> Any:
    return serve_for_all(logdir)


@pytest.fixture
def page_of(server: Any, tabs: Callable[..., Any]) -> Any:
    """Opens a page of the module's server; returns it, its browser profile and the server."""

    def open_page(hash: str = "") -> tuple[Any, Any, Any]:
        profile = tabs()
        return profile.open(server.url, hash), profile, server

    return open_page


def wait_for_curves(page: Any, tag: str, run: str, least: int = 60) -> int:
    """Waits until a chart has pixels in the colour of a run, and returns how many."""
    handle = page.wait_for_function(
        """([tag, run, least]) => {
          const count = tb.pixels(tag, tb.colors()[run] ?? '#000001');
          return count >= least && count;
        }""",
        arg=[tag, run, least],
    )
    return int(handle.json_value())


def hover(page: Any, tag: str, step: float, last: float, share_of_height: float = 0.5) -> Any:
    """Moves the pointer over a step of a chart; returns run, value, step and time of each row."""
    page.evaluate("(tag) => tb.card(tag).scrollIntoView({block: 'center'})", tag)
    box = page.evaluate(
        "(tag) => tb.card(tag).querySelector('.tb-chart-plot').getBoundingClientRect().toJSON()",
        tag,
    )
    # The axis has 2 % of air on both sides.
    share = (step + 0.02 * last) / (1.04 * last)
    page.mouse.move(
        box["x"] + share * box["width"], box["y"] + share_of_height * box["height"], steps=2
    )
    page.wait_for_function("() => tb.all('.tb-chart-tooltip:popover-open').length === 1")
    return page.evaluate("() => tb.rows()")


def test_curves_of_all_runs_are_drawn_and_can_be_read(page_of: Any) -> None:
    """Each run has its colour on the canvas, and the table under the pointer has its values."""
    page, profile, server = page_of()
    for run in RUNS:
        wait_for_curves(page, "loss/total", run)
    headings = page.evaluate("() => tb.all('.tb-group').map((group) => group.dataset.group)")
    assert headings == ["", "loss", "values"]
    titles = page.evaluate(
        "() => tb.all('.tb-group')[1].querySelectorAll('.tb-card').length && "
        "tb.all('.tb-card').map((card) => card.getAttribute('aria-label'))"
    )
    assert titles[:5] == ["accuracy", "only_one", "loss/head9", "loss/head10", "loss/total"]

    rows = hover(page, "loss/total", 250, 495)
    expected = sorted(RUNS, key=lambda run: -value_at(run, 250))  # as on the screen, top down
    assert [row[0] for row in rows] == expected
    assert [row[1] for row in rows] == [f"{value_at(run, 250):.6g}" for run in expected]
    assert {row[2] for row in rows} == {"250"}
    assert all(re.fullmatch(r"3m 2[01]s|50 s", row[3]) for row in rows)
    assert page.title().startswith("logdir")
    profile.check(server.url)


def test_odd_values_are_marked_and_do_not_break_the_line(page_of: Any) -> None:
    """NaN and infinities are drawn as marks and read by name; a single point is a dot."""
    page, profile, server = page_of("#scalars&tagFilter=not finite|only_one")
    wait_for_curves(page, "values/not finite", "odd")
    values = [hover(page, "values/not finite", step, 7)[0][1] for step in range(8)]
    assert values == ["1", "NaN", "2", "∞", "3", "−∞", "1e38", "1.5"]
    # A dot of radius 3 has some 28 pixels.
    wait_for_curves(page, "only_one", RUNS[0], 12)
    profile.check(server.url)


def test_axes_change_and_the_address_remembers(page_of: Any) -> None:
    """Relative and wall time, the logarithmic axis, and a link that restores them."""
    page, profile, server = page_of()
    wait_for_curves(page, "accuracy", RUNS[0])
    label = page.evaluate("() => tb.label('accuracy')")
    assert "accuracy by step from 0 to 495" in label
    page.get_by_text("Relative", exact=True).click()
    page.wait_for_function("() => tb.label('accuracy').includes('by relative from 0 s')")
    page.get_by_text("Log scale").click()
    page.wait_for_function("() => location.hash === '#scalars&scalars.x=relative&scalars.y=log'")
    page.get_by_text("Wall time", exact=True).click()
    page.wait_for_function("() => location.hash.includes('scalars.x=wall_time')")
    hash = page.evaluate("() => location.hash")

    again = profile.open(server.url, hash)
    wait_for_curves(again, "accuracy", RUNS[0])
    assert again.get_by_role("radio", name="Wall time").is_checked()
    assert again.get_by_role("checkbox", name="Log scale").is_checked()
    label = again.evaluate("() => tb.label('accuracy')")
    assert "accuracy by wall time from 20" in label
    profile.check(server.url)


def test_dragging_zooms_and_a_double_click_shows_everything_again(page_of: Any) -> None:
    page, profile, server = page_of("#scalars&tagFilter=^accuracy$")
    wait_for_curves(page, "accuracy", RUNS[0])
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
    steps = [int(step) for _run, _value, step, _time in page.evaluate("() => tb.rows()")]
    assert all(240 <= step <= 260 for step in steps)
    page.locator(".tb-chart-plot").dblclick()
    page.get_by_role("button", name="Show all of accuracy").wait_for(state="detached")
    page.mouse.move(0, 0)
    page.wait_for_function(
        "(before) => tb.pixels('accuracy', tb.colors()['sweep/lr=0.1/eval']) === before", arg=before
    )
    profile.check(server.url)


def test_the_keyboard_reads_points(page_of: Any) -> None:
    """Arrow keys walk over the points of a chart and say them aloud."""
    page, profile, server = page_of("#scalars&tagFilter=^accuracy$")
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
    profile.check(server.url)


def test_groups_fold_and_cards_grow(page_of: Any) -> None:
    page, profile, server = page_of()
    wait_for_curves(page, "loss/total", RUNS[0])
    page.get_by_role("button", name="loss 3").click()
    page.wait_for_function("() => !tb.card('loss/total') && location.hash.includes('closed=loss')")
    page.get_by_role("button", name="loss 3").click()
    wait_for_curves(page, "loss/total", RUNS[0])
    width = page.evaluate("() => tb.canvas('loss/total').width")
    page.get_by_role("button", name="Full size: loss/total").click()
    page.wait_for_function("(width) => tb.canvas('loss/total').width > 2 * width", arg=width)
    profile.check(server.url)


def test_each_series_can_be_downloaded(page_of: Any) -> None:
    """The menu of a card links the CSV of each run that is shown."""
    page, profile, server = page_of("#scalars&tagFilter=^loss/total$")
    wait_for_curves(page, "loss/total", RUNS[0])
    page.get_by_role("button", name="Download loss/total").click()
    with page.expect_download() as download:
        page.get_by_role("link", name=f"CSV of {RUNS[0]}").click()
    assert download.value.suggested_filename == "sweep_lr_0.1_train_loss_total.csv"
    lines = Path(download.value.path()).read_text().splitlines()
    assert lines[0] == "Wall time,step,value"
    assert len(lines) == 1 + len(STEPS)
    profile.check(server.url)


def test_new_points_runs_and_tags_appear_without_a_reload(
    serve: Callable[..., Any], tabs: Callable[..., Any], tmp_path: Path
) -> None:
    """What a writer appends is on the screen shortly after; the page and its zoom stay."""
    logdir = tmp_path / "live"
    with EventFileWriter(logdir / "train" / "events.out.tfevents.1") as writer:
        for step in range(10):
            writer.add_scalar("loss", 1 / (step + 1), step)
    server = serve(logdir)
    profile = tabs()
    page = profile.open(server.url)
    wait_for_curves(page, "loss", "train")
    page.evaluate("() => { globalThis.sameDocument = true; }")
    card = page.evaluate_handle("() => tb.canvas('loss')")

    with EventFileWriter(logdir / "train" / "events.out.tfevents.1") as writer:
        for step in range(10, 40):
            writer.add_scalar("loss", 1 / (step + 1), step)
    page.wait_for_function("() => tb.label('loss').includes('to 39:')")
    assert hover(page, "loss", 38, 39)[0][:3] == ["train", "0.025641", "38"]
    assert page.evaluate("(canvas) => canvas === tb.canvas('loss')", card)  # not drawn anew

    write_run(logdir, "eval", scalars={"loss": [0.5, 0.4], "brand/new": [1.0, 2.0]})
    wait_for_curves(page, "loss", "eval", 8)
    wait_for_curves(page, "brand/new", "eval")
    assert page.evaluate("() => globalThis.sameDocument")
    profile.check(server.url)


def test_real_logs_are_drawn(
    serve: Callable[..., Any], tabs: Callable[..., Any], real_logs: Path
) -> None:
    """Files of many writers and years: the first charts have curves, and nothing complains."""
    server = serve(real_logs)
    profile = tabs()
    page = profile.open(server.url)
    page.wait_for_function(
        """() => {
          const canvases = tb.all('.tb-chart-canvas');
          const isDrawn = (canvas) => {
            const { width, height } = canvas;
            const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
            for (let i = 0; i < data.length; i += 4) {
              // Lines have a colour, if a pale one; axes and grid are all but grey.
              if (data[i + 3] > 200 && Math.max(data[i], data[i + 1], data[i + 2]) -
                  Math.min(data[i], data[i + 1], data[i + 2]) > 28) return true;
            }
            return false;
          };
          return canvases.length >= 9 && canvases.every(isDrawn);
        }"""
    )
    profile.check(server.url)
