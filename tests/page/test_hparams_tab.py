"""The tab of hyperparameters in a real browser, on real event files and a real server."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from common_fixtures import until
from hparams_page import Tab, open_hparams, write_session

from tbcore_testing import Page, summaries, write_run

NUM_TRIALS = 200
OPTIMIZERS = ("adam", "sgd", "rmsprop")
STEPS = range(0, 100, 10)
METRIC = "m.validation.accuracy"


class Trial(NamedTuple):
    name: str
    hparams: dict[str, Any]
    accuracy: float  # its last value


def trial(index: int) -> Trial:
    """The best learning rate is in the middle, adam is the best optimizer, and no two are equal."""
    lr = 10.0 ** (-5 + 4 * ((index * 73) % NUM_TRIALS) / (NUM_TRIALS - 1))
    optimizer = OPTIMIZERS[index % 3]
    hparams = {
        "lr": lr,
        "optimizer": optimizer,
        "batch_size": 16 * 2 ** (index // 3 % 4),
        "augment": index % 2 == 0,
        "dataset": "cifar10",
    }
    worse = 0.0 if optimizer == "adam" else 0.05
    accuracy = 0.9 - 0.1 * (math.log10(lr) + 3) ** 2 - worse + index * 1e-5
    return Trial(f"sweep/trial-{index:03d}", hparams, accuracy)


TRIALS = [trial(index) for index in range(NUM_TRIALS)]
NUM_ADAM = sum(one.hparams["optimizer"] == "adam" for one in TRIALS)
BEST = max(TRIALS, key=lambda one: one.accuracy)


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    logdir = tmp_path_factory.mktemp("sweep")
    for name, hparams, accuracy in TRIALS:
        loss = [(step, 1.0 / (1 + step)) for step in STEPS]
        write_session(logdir, name, hparams, scalars={"loss": loss})
        curve = [(step, accuracy * ((step + 1) / (STEPS[-1] + 1))) for step in STEPS]
        write_run(logdir, f"{name}/validation", scalars={"accuracy": curve}, dtype="float64")
    return logdir


@pytest.fixture(scope="module")
def server(serve_for_module: Any, sweep: Path) -> Any:
    return serve_for_module(sweep)


@pytest.fixture
def open_tab(server: Any, profile: Any) -> Callable[..., Tab]:
    """Opens the tab of a server, by default of the sweep's."""
    return partial(open_hparams, profile, server)


def by_accuracy(trials: list[Trial]) -> list[str]:
    return [one.name for one in sorted(trials, key=lambda one: -one.accuracy)]


def test_the_best_of_all_sessions_comes_first_and_is_marked(open_tab: Any) -> None:
    """All 200 are shown, although only the newest 100 runs are checked by default."""
    tab = open_tab()
    tab.wait_for_count("200 sessions")
    order = by_accuracy(TRIALS)
    names = tab.names()
    assert 10 < len(names) < 60  # only visible rows are rendered
    assert names == order[: len(names)]
    table = tab.page.locator(".trials > table")
    assert table.get_attribute("aria-rowcount") == "201"
    assert BEST.name in tab.page.locator(".best-row").inner_text()
    assert tab.page.locator("tr.best").get_attribute("data-name") == BEST.name
    headings = tab.headings()
    assert headings[0] == "Name"
    assert headings[1].startswith("validation.accuracy")
    assert headings[2:] == ["augment", "batch_size", "lr", "optimizer", "dataset", "loss"]
    cells = dict(zip([text.rstrip("↑↓") for text in headings], tab.rows()[0], strict=True))
    assert cells["validation.accuracy"] == f"{BEST.accuracy:.5f}"
    assert cells["optimizer"] == "adam"
    assert cells["augment"] == str(BEST.hparams["augment"]).lower()
    title = tab.page.locator("tr.best td").first.get_attribute("title")
    value, _, step = title.partition(" at step ")
    assert (float(value), step) == (pytest.approx(BEST.accuracy, rel=1e-15), str(STEPS[-1]))


def test_the_table_scrolls_to_the_last_row(open_tab: Any) -> None:
    tab = open_tab()
    tab.page.locator(".trials").evaluate("(box) => { box.scrollTop = box.scrollHeight; }")
    tab.page.wait_for_function(
        "(name) => tb.all('.trials tr[data-name]').at(-1)?.dataset.name === name",
        arg=by_accuracy(TRIALS)[-1],
    )
    assert tab.page.locator("tr[data-name]").last.get_attribute("aria-rowindex") == "201"


def test_headings_sort_by_several_columns(open_tab: Any, server: Any, new_profile: Any) -> None:
    """Ascending, descending, and with Shift by a second column; a link restores it."""
    tab = open_tab()
    tab.sort("batch_size")
    tab.sort("batch_size")
    tab.sort("lr", modifiers=["Shift"])
    expected = sorted(TRIALS, key=lambda one: (-one.hparams["batch_size"], one.hparams["lr"]))
    tab.wait_for_first(expected[0].name)
    names = tab.names()
    assert names == [one.name for one in expected[: len(names)]]
    tab.page.wait_for_function("() => /sort=[^&]*h[.]lr/.test(decodeURIComponent(location.hash))")

    again = Tab(new_profile().open(server.url, tab.page.evaluate("() => location.hash")))
    again.wait_for_first(expected[0].name)
    order = again.page.locator("th", has_text="batch_size").first.get_attribute("aria-sort")
    assert order == "descending"


def test_columns_are_filtered(open_tab: Any) -> None:
    """By a list of values, an interval and a pattern, together; filters can be removed."""
    tab = open_tab()
    tab.open_filter("optimizer")
    tab.page.get_by_role("button", name="Only sgd").click(force=True)
    sgd = [one for one in TRIALS if one.hparams["optimizer"] == "sgd"]
    tab.wait_for_count(f"{len(sgd)} of 200 sessions")
    tab.page.keyboard.press("Escape")

    tab.open_filter("lr")
    tab.page.get_by_label("lr, minimum").fill("0.0001")
    tab.page.get_by_label("lr, maximum").fill("0.01")
    tab.page.keyboard.press("Enter")
    between = [one for one in sgd if 1e-4 <= one.hparams["lr"] <= 1e-2]
    tab.wait_for_count(f"{len(between)} of 200 sessions")
    tab.page.get_by_role("button", name="Clear filter").click()
    assert tab.page.get_by_label("lr, minimum").input_value() == ""
    tab.page.get_by_label("lr, minimum").fill("0.0001")
    tab.page.get_by_label("lr, maximum").fill("0.01")
    tab.page.keyboard.press("Enter")
    tab.wait_for_count(f"{len(between)} of 200 sessions")
    tab.page.keyboard.press("Escape")

    tab.open_filter("Name")
    tab.page.get_by_label("Matches (regular expression)").fill("trial-1[0-4]\\d")
    named = [one for one in between if 100 <= int(one.name[-3:]) < 150]
    tab.wait_for_count(f"{len(named)} of 200 sessions")
    assert tab.names() == by_accuracy(named)
    tab.page.keyboard.press("Escape")

    chips = [text.strip() for text in tab.page.locator(".chips .chip").all_inner_texts()]
    assert chips == [
        "optimizer sgd",
        "lr 0.0001 to 0.01",
        "Name matches “trial-1[0-4]\\d”",
        "Clear all",
    ]
    tab.page.get_by_role("button", name="Remove filter lr").click()
    tab.page.get_by_role("button", name="Clear all").click()
    tab.wait_for_count("200 sessions")


def test_values_outside_of_a_range_are_not_checked(
    serve: Any, profile: Any, tmp_path: Path
) -> None:
    """A filter by a range and the list of values say the same, and the list changes it."""
    for number in range(6):
        write_session(tmp_path, f"run{number}", {"layers": number}, scalars={"loss": [number]})
    address = "#hparams&hparams.filter=h.layers,in,2,4"
    tab = Tab(profile.open(serve(tmp_path, plugins=["hparams"]).url, address))
    tab.wait_for_count("3 of 6 sessions")
    tab.open_filter("layers")
    boxes = tab.page.locator(".values .value")
    checked = [boxes.nth(index).get_by_role("checkbox").is_checked() for index in range(6)]
    assert checked == [2 <= number <= 4 for number in range(6)]
    boxes.nth(0).get_by_role("checkbox").check()
    tab.wait_for_count("4 of 6 sessions")
    tab.wait_for_address("hparams.filter=h.layers,is,0,2,3,4")


def test_the_runs_of_the_rows_can_be_shown_in_all_tabs(open_tab: Any) -> None:
    """The sessions that pass the filters, and the runs inside them; by mouse and by keyboard."""
    tab = open_tab(f"&hparams.filter=name,has,{BEST.name[-9:]}")
    tab.wait_for_count("1 of 200 sessions")
    button = tab.page.get_by_role("button", name="Show only these runs")
    button.click()
    tab.wait_for_count("1 session, 199 more not found or not selected in the list of runs")
    tab.wait_for_address(f"runs={BEST.name},{BEST.name}/validation")
    assert button.count() == 0
    tab.page.get_by_role("tab", name="Scalars", exact=True).click()
    tab.page.wait_for_function("(run) => tb.label('loss').includes(run)", arg=BEST.name)
    tab.page.locator(".tb-runs-count", has_text="2 of 400").wait_for()

    # Checked rows are shown alone; an older link to their comparison opens the tab.
    first, second = by_accuracy(TRIALS)[:2]
    tab = open_tab(f"&hparams.pick={first},{second}&hparams.compare=true")
    tab.page.get_by_role("button", name="Show only 2 checked rows").click()
    tab.page.locator(".tb-runs-count", has_text="4 of 400").wait_for()

    tab = open_tab("&hparams.filter=h.optimizer,is,adam")
    tab.wait_for_count(f"{NUM_ADAM} of 200 sessions")
    tab.page.get_by_role("button", name="Show only these runs").focus()
    tab.page.keyboard.press("Enter")
    tab.wait_for_count(
        f"{NUM_ADAM} sessions, {NUM_TRIALS - NUM_ADAM} more not found or not selected"
        " in the list of runs"
    )


def test_a_brush_on_an_axis_filters_the_table(open_tab: Any) -> None:
    """On axes of numbers and of texts; a click removes the filter."""
    tab = open_tab()
    heads = [text.split("\n")[0] for text in tab.page.locator(".axis-head").all_inner_texts()]
    assert heads == ["augment", "batch_size", "lr", "optimizer", "validation.accuracy"]
    tab.brush(2, 0.25, 0.75)
    tab.page.evaluate("() => tb.frame()")
    chip = tab.page.locator(".chips .chip").inner_text()
    low, high = (float(bound) for bound in chip.strip().removeprefix("lr ").split(" to "))
    # The axis is logarithmic, from 1e-5 to 1e-1.
    assert low == pytest.approx(1e-4, rel=0.2)
    assert high == pytest.approx(1e-2, rel=0.2)
    tab.wait_for_address("hparams.filter=h.lr,in,")
    inside = [one for one in TRIALS if low <= one.hparams["lr"] <= high]
    tab.wait_for_count(f"{len(inside)} of 200 sessions")

    tab.brush(3, 0.9, 1.1)  # adam, rmsprop, sgd; the last is at the top
    both = [one for one in inside if one.hparams["optimizer"] == "sgd"]
    tab.wait_for_count(f"{len(both)} of 200 sessions")
    tab.wait_for_first(by_accuracy(both)[0])

    strip = tab.page.locator(".brush").nth(2).bounding_box()
    tab.page.mouse.click(strip["x"] + 13, strip["y"] + 20)
    tab.wait_for_count(
        f"{sum(one.hparams['optimizer'] == 'sgd' for one in TRIALS)} of 200 sessions"
    )


def test_a_line_has_a_tooltip_and_a_click_checks_its_row(open_tab: Any) -> None:
    tab = open_tab(f"&hparams.filter=name,has,{BEST.name[-9:]}")
    tab.wait_for_count("1 of 200 sessions")
    area = tab.page.locator(".parallel .plot-area").bounding_box()
    # The only line ends at the highest value, at the top of the last axis.
    last = tab.page.locator(".brush").last.bounding_box()
    tab.page.mouse.move(last["x"] + 13, area["y"] + 11, steps=2)
    tab.page.wait_for_function("() => tb.all('.tb-chart-tooltip:popover-open').length === 1")
    assert tab.page.locator(".tb-chart-tooltip .tb-chart-heading").inner_text() == BEST.name
    tooltip = dict(
        tab.page.evaluate(
            """() => tb.all('.tb-chart-tooltip:popover-open tr').map(
              (row) => [...row.cells].map((cell) => cell.textContent))"""
        )
    )
    assert tooltip["optimizer"] == BEST.hparams["optimizer"]
    assert tab.page.locator("tr.hovered").get_attribute("data-name") == BEST.name
    tab.page.mouse.down()
    tab.page.mouse.up()
    tab.page.wait_for_function("() => tb.all('tr.picked').length === 1")


def test_a_run_hovered_in_the_list_is_highlighted_in_the_table(open_tab: Any) -> None:
    """And the other way round; a run below a session counts as that session."""
    tab = open_tab()
    run = f"{BEST.name}/validation"
    tab.page.get_by_label("Filter runs").fill(BEST.name[-9:])
    tab.wait_for_count("1 session, 199 more not found or not selected in the list of runs")
    Page(tab.page).run(run).hover()
    tab.page.wait_for_function("() => tb.all('tr.hovered').length === 1")
    tab.page.locator("tr[data-name] th").hover()
    tab.page.wait_for_function("() => document.querySelector('.tb-run.tb-hovered') !== null")


def test_a_row_opens_to_its_session_and_curves(open_tab: Any) -> None:
    """The code for line charts is loaded with the first curves."""
    tab = open_tab()
    has_line_charts = """() => performance.getEntriesByType("resource").some(
        ({ name }) => name.includes("/static/tbcore/chart.js"))"""
    assert not tab.page.evaluate(has_line_charts)
    tab.page.get_by_role("button", name=f"Sessions and curves of {BEST.name}").click()
    tab.page.wait_for_function("() => tb.all('.details .tb-chart-canvas').length === 2")
    assert tab.page.evaluate(has_line_charts)
    titles = tab.page.locator(".details article").evaluate_all(
        "(all) => all.map((one) => one.getAttribute('aria-label'))"
    )
    assert titles == ["validation.accuracy", "loss"]
    session = tab.page.locator(".details .sessions tbody tr")
    assert session.count() == 1
    assert BEST.name in session.inner_text()
    # The curve is that of the session; the keyboard reaches its last points.
    chart = tab.page.locator(".details .tb-chart").first
    chart.focus()
    tab.page.keyboard.press("End")
    tab.page.keyboard.press("ArrowLeft")
    tab.page.wait_for_function(
        "() => tb.all('.details .tb-chart-tooltip:popover-open').length === 1"
    )
    assert tab.page.locator("tr[data-name]").nth(1).get_attribute("aria-rowindex") == "3"
    tab.page.get_by_role("button", name=f"Sessions and curves of {BEST.name}").click()
    tab.page.wait_for_function("() => tb.all('.details').length === 0")


def test_the_best_row_is_checked_by_a_click_on_it(open_tab: Any) -> None:
    """Also if it is in sight. The box has no colour of a run, which is a dot beside it."""
    tab = open_tab()
    box = tab.page.get_by_label(f"Check {BEST.name}")
    border = "(box) => getComputedStyle(box).borderColor"
    others = tab.page.locator(".trials .tb-check")
    assert len({others.nth(row).evaluate(border) for row in range(5)}) == 1
    dots = tab.page.locator(".trials th.name i")
    color = "(dot) => getComputedStyle(dot).backgroundColor"
    assert len({dots.nth(row).evaluate(color) for row in range(5)}) > 1
    for _ in range(2):  # a second click does not uncheck it
        tab.page.locator(".best-row").click()
        tab.page.wait_for_function("() => tb.all('tr.best.picked').length === 1")
        assert box.is_checked()
    tab.page.get_by_role("button", name="Show only 1 checked row").wait_for()
    # With Shift, all rows from the last one on are checked, as in the list of runs.
    boxes = tab.page.locator(".trials tbody .tb-check")
    for row, keys in ((1, []), (5, ["Shift"]), (3, []), (4, ["Shift"])):
        boxes.nth(row).click(modifiers=keys)
    tab.page.get_by_role("button", name="Show only 4 checked rows").wait_for()
    assert [boxes.nth(row).is_checked() for row in range(7)] == [
        *[True] * 3,
        False,
        False,
        True,
        False,
    ]


def test_checked_rows_that_a_filter_leaves_out_are_not_marked(open_tab: Any) -> None:
    """Neither drawn nor counted until the filter is removed. The line above the plots keeps its
    height, and the best row is cut with an ellipsis."""
    tab = open_tab()
    height = "() => tb.all('.status-line')[0].offsetHeight"
    before = tab.page.evaluate(height)
    left_of_axes = """() => {
      const canvas = tb.all('.plot.parallel canvas')[1];
      const pixels = canvas.getContext('2d').getImageData(0, 0, 40, canvas.height).data;
      return pixels.some((value) => value > 0);
    }"""
    assert not tab.page.evaluate(left_of_axes)
    for name in by_accuracy(TRIALS)[:2]:  # both with adam
        tab.page.get_by_label(f"Check {name}").check()
    tab.page.mouse.move(5, 5)  # no row is hovered
    tab.page.wait_for_function("() => location.hash.split('sweep/trial').length === 3")
    tab.page.get_by_role("button", name="Show only 2 checked rows").wait_for()
    tab.page.wait_for_function(left_of_axes)  # labels of axes are above marked lines

    tab.page.evaluate("() => { location.hash += '&hparams.filter=h.optimizer,is,sgd'; }")
    tab.page.get_by_role("button", name="Show only these runs").wait_for()
    tab.page.wait_for_function(f"() => !({left_of_axes})()")
    assert tab.page.evaluate(height) == before
    tab.page.set_viewport_size({"width": 1100, "height": 800})
    tab.page.wait_for_function(
        """() => {
          const where = tb.all('.best-row .where')[0];
          const { textOverflow, display } = getComputedStyle(where);
          return where.scrollWidth > where.clientWidth && textOverflow === 'ellipsis'
            && display === 'block';
        }"""
    )
    # No number is cut: what does not fit is left out as a whole.
    assert (
        tab.page.evaluate(
            "() => tb.all('.best-row .setting').map((one) => getComputedStyle(one).display)"
        )
        == ["inline-block"] * tab.page.locator(".best-row .setting").count()
    )

    tab.page.get_by_role("button", name="Remove filter").click()
    tab.page.get_by_role("button", name="Show only 2 checked rows").wait_for()


def test_the_table_and_the_plots_can_be_downloaded(open_tab: Any) -> None:
    """CSV, JSON and LaTeX have the rows shown, in their order, with all digits."""
    tab = open_tab("&hparams.filter=h.optimizer,is,adam")
    adam = [one for one in TRIALS if one.hparams["optimizer"] == "adam"]
    tab.wait_for_count(f"{len(adam)} of 200 sessions")
    files = {}
    for name in ("CSV", "JSON", "LaTeX"):
        tab.page.get_by_role("button", name="Download").click()
        with tab.page.expect_download() as download:
            tab.page.get_by_role("button", name=name, exact=True).click()
        files[download.value.suggested_filename] = Path(download.value.path()).read_bytes().decode()
        tab.page.keyboard.press("Escape")
    assert sorted(files) == ["hparams.csv", "hparams.json", "hparams.tex"]
    rows = list(csv.DictReader(files["hparams.csv"].splitlines()))
    assert [row["name"] for row in rows] == by_accuracy(adam)
    trials = {one.name: one for one in TRIALS}
    for row in rows:
        expected = trials[row["name"]]
        assert float(row["lr"]) == expected.hparams["lr"]
        assert float(row["validation.accuracy"]) == expected.accuracy
        assert row["augment"] == str(expected.hparams["augment"]).lower()
    objects = json.loads(files["hparams.json"])
    assert objects[0]["hparams"] == trials[objects[0]["name"]].hparams
    for part in ("Parallel", "Scatter"):
        tab.page.get_by_text(part, exact=True).first.set_checked(True)
        tab.page.get_by_role("button", name="Download").click()
        with tab.page.expect_download() as download:
            tab.page.get_by_role("button", name=f"{part} (PNG)").click()
        assert Path(download.value.path()).read_bytes().startswith(b"\x89PNG")
        tab.page.keyboard.press("Escape")
    assert files["hparams.tex"].count("\\\\\n") == len(adam) + 1


def test_columns_are_selected_and_moved_with_the_keyboard(open_tab: Any) -> None:
    tab = open_tab()
    tab.page.get_by_role("button", name="Columns of the table").click()
    tab.page.get_by_label("dataset", exact=True).uncheck()
    tab.page.get_by_label("lr", exact=True).press("Alt+ArrowUp")
    tab.page.keyboard.press("Escape")
    tab.page.wait_for_function("() => tb.all('.trials .sort').length === 7")
    assert tab.headings()[2:] == ["augment", "lr", "batch_size", "optimizer", "loss"]
    tab.page.locator(".trials .sort", has_text="optimizer").press("Alt+ArrowLeft")
    tab.page.wait_for_function("() => tb.all('.trials .sort')[4].textContent.includes('optimizer')")
    tab.page.locator("th", has_text="loss").drag_to(tab.page.locator("th", has_text="augment"))
    tab.page.wait_for_function("() => tb.all('.trials .sort')[2].textContent.includes('loss')")


def test_another_metric_and_another_goal_change_what_is_best(open_tab: Any) -> None:
    tab = open_tab()
    tab.page.get_by_text("↓ Min").click()
    tab.wait_for_first(by_accuracy(TRIALS)[-1])
    tab.page.get_by_label("Optimise").select_option(label="loss")
    tab.page.wait_for_function("() => tb.all('.best-row')[0].textContent.includes('Best loss')")
    assert "lower is better" in tab.page.locator(".axis-head").last.inner_text()


def test_an_area_of_the_scatter_plot_filters_by_both_axes(open_tab: Any) -> None:
    tab = open_tab(f"&hparams.show=scatter,table&hparams.x=h.lr&hparams.y={METRIC}")
    area = tab.page.locator(".scatter .plot-area").bounding_box()
    # The frame has margins of 64 (left), 18 (right), 12 (top) and 26 (bottom).
    left, width = area["x"] + 64, area["width"] - 82
    top, height = area["y"] + 12, area["height"] - 38
    tab.page.mouse.move(left + width * 0.3, top + 2)
    tab.page.mouse.down()
    tab.page.mouse.move(left + width * 0.7, top + height * 0.5, steps=4)
    tab.page.mouse.up()
    tab.page.wait_for_function("() => tb.all('.chip').length === 3")
    rows = tab.rows()
    assert 0 < len(rows) < NUM_TRIALS
    trials = {one.name: one for one in TRIALS}
    accuracies = [trials[row[0]].accuracy for row in rows]
    rates = [trials[row[0]].hparams["lr"] for row in rows]
    lowest = min(one.accuracy for one in TRIALS)
    assert min(accuracies) > (lowest + BEST.accuracy) / 2 - 0.02
    assert 1e-4 < min(rates) < max(rates) < 1e-2


def test_sessions_without_metrics_and_with_mixed_types(
    serve: Any, open_tab: Any, tmp_path: Path
) -> None:
    """Markup is shown as text, and a scalar logged later becomes a metric without a reload."""
    logdir = tmp_path / "odd"
    markup = "<img src=x onerror=alert(1)>"
    write_session(logdir, "a", {"schedule": "cosine", markup: markup, "n": 1})
    write_session(logdir, "b", {"schedule": 0.5, markup: "", "n": 1})
    write_session(logdir, "c", {"schedule": True, "n": 1})
    server = serve(logdir)
    tab = open_tab("", server)
    assert "no metrics" in tab.page.locator(".note").inner_text()
    assert tab.headings() == ["Name", markup, "schedule", "n"]
    assert tab.rows() == [
        ["a", markup, "cosine", "1"],
        ["b", "“”", "0.5", "1"],
        ["c", "—", "true", "1"],
    ]
    tab.sort("schedule")
    tab.wait_for_first("c")
    assert tab.names() == ["c", "b", "a"]

    write_run(logdir, "b/eval", scalars={"loss": [0.5, float("nan")]})
    tab.page.wait_for_function("() => tb.all('.trials .sort').length === 5")
    assert [row[1] for row in tab.rows()] == ["—", "NaN", "—"]


def test_an_unused_metric_is_not_the_default_and_best_values_can_be_shown(
    serve: Any, open_tab: Any, tmp_path: Path
) -> None:
    """Some libraries declare a metric that stays -1; other metrics can be selected.

    One session reaches its best value before it gets worse again.
    """
    logdir = tmp_path / "declared"
    # An Experiment (field 2) with a MetricInfo (field 5), which has a MetricName (field 1), and
    # with a description (field 1).
    name = b"\x12\x09hp_metric"
    info = b"\x0a" + bytes([len(name)]) + name
    experiment = b"\x2a" + bytes([len(info)]) + info + b"\x0a\x07<b>a sw"
    content = b"\x12" + bytes([len(experiment)]) + experiment
    declared = summaries.metadata_only("_hparams_/experiment", "hparams", content)
    for number, losses in enumerate(([0.75, 0.125, 0.5], [0.75, 0.5, 0.25], [1.0, 1.0, 1.0])):
        scalars = {"hp_metric": [-1.0], "epoch": [0.0, 1.0, 2.0], "val_loss": losses}
        values = [summaries.session_start({"lr": 10.0**-number}), declared]
        write_run(logdir, f"version_{number}", values=values, scalars=scalars, dtype="float64")
    tab = open_tab("&hparams.show=table", serve(logdir))
    assert [text.rstrip("↑↓") for text in tab.headings()] == ["Name", "val_loss", "lr", "hp_metric"]
    assert tab.names() == ["version_1", "version_0", "version_2"]
    described = tab.page.get_by_role("region", name="Description of the experiment")
    assert described.inner_text() == "<b>a sw"

    tab.page.get_by_role("button", name="Columns of the table").click()
    choice = tab.page.locator(".column-list li", has_text="epochnot declared, metric")
    assert "not declared" in choice.inner_text()
    choice.get_by_role("checkbox").check()
    tab.page.keyboard.press("Escape")
    tab.page.get_by_role("radio", name="Best").check(force=True)
    tab.wait_for_first("version_0")
    headings = ["Name", "val_loss (min)", "lr", "hp_metric", "epoch"]
    assert "0.1250 version_0 at step 1 " in tab.page.locator(".best-row").inner_text().replace(
        "\n", " "
    )
    assert [text.rstrip("↑↓") for text in tab.headings()] == headings
    assert [row[1] for row in tab.rows()] == ["0.1250", "0.2500", "1.0000"]
    tab.page.get_by_role("button", name="Sessions and curves of version_0").click()
    row = tab.page.locator(".sessions tbody tr").inner_text().split()
    assert row == ["version_0", "no", "end", "logged", "0.125", "1", "-1", "2", "2"]
    tab.wait_for_address("hparams.values=best")


def write_small_sweep(logdir: Path) -> None:
    """Twenty sessions, the usual number: the best learning rate is in the middle.

    Each loss is lowest at step 40, and rises after it. The accuracy is declared by nobody.
    """
    for number in range(20):
        power = -4 + 3 * (number * 7 % 20) / 19
        hparams = {"seed": float(number % 10), "lr": 10.0**power, "width": float(number * 13 % 4)}
        lowest = abs(power + 2.5) + number / 1024
        losses = [(step, lowest + abs(step - 40) / 64) for step in range(0, 60, 10)]
        speeds = [(step, 100.0 + number) for step in range(0, 60, 10)]
        scalars = {"perf/speed": speeds, "train/epoch": speeds, "val/loss": losses}
        name = f"run-{number:02d}"
        write_session(logdir, name, hparams, scalars=scalars, dtype="float64")


@pytest.fixture(scope="module")
def small_server(serve_for_module: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    logdir = tmp_path_factory.mktemp("small")
    write_small_sweep(logdir)
    return serve_for_module(logdir)


def test_importance_has_a_name_and_claims_nothing_that_chance_reaches(
    small_server: Any, open_tab: Any
) -> None:
    """The marks of an axis and of a column say the same, and seeds are the last hyperparameter."""
    tab = open_tab("&hparams.metric=m..val/loss", small_server)
    headings = [text.rstrip("↑↓") for text in tab.headings()]
    assert headings[:5] == ["Name", "val/loss", "lr", "width", "seed"]
    tab.page.wait_for_function("() => tb.all('.trials .importance')[2]?.textContent.includes('%')")
    marks = tab.page.locator(".trials thead .importance").all_inner_texts()
    assert marks[:2] == ["importance, n = 20", "lower is better"]
    assert marks[3:5] == ["unclear", "unclear"]
    assert tab.page.locator(".trials thead .bar").count() == 1
    assert int(marks[2].split()[0]) > 50
    axes = tab.page.locator(".parallel .importance").all_inner_texts()
    assert sorted(axes) == sorted(marks[:5])
    why = tab.page.locator(".trials thead .importance", has_text="unclear").first
    assert "a shuffled column reaches" in why.get_attribute("title")


def test_metrics_that_nobody_optimises_are_last(small_server: Any, open_tab: Any) -> None:
    """Nothing is declared: what has no known goal follows the loss, in the list and the table."""
    tab = open_tab("", small_server)
    choices = tab.page.get_by_label("Optimise").locator("option").all_inner_texts()
    assert choices == ["val/loss", "perf/speed", "train/epoch"]
    assert [text.rstrip("↑↓") for text in tab.headings()][1] == "val/loss"


def test_the_step_of_the_best_value_is_everywhere_where_the_value_is(
    small_server: Any, open_tab: Any
) -> None:
    """It is in the line about the best row, in the table, in titles, and in the CSV file."""
    tab = open_tab("&hparams.metric=m..val/loss&hparams.values=best", small_server)
    tab.page.wait_for_function("() => tb.all('.at-step')[0]?.textContent === 'at step 40'")
    headings = [text.rstrip("↑↓") for text in tab.headings()]
    assert headings[:4] == ["Name", "val/loss (min)", "at step", "lr"]
    assert {row[2] for row in tab.rows()} == {"40"}
    cell = tab.page.locator("tr.best td").first
    assert cell.get_attribute("title").endswith(" at step 40")
    tab.page.get_by_role("button", name=f"Sessions and curves of {tab.names()[0]}").click()
    heads = tab.page.locator(".sessions th[scope=col]").all_inner_texts()
    assert heads[2:4] == ["val/loss (min)", "at step"]

    def csv_rows() -> list[dict[str, str]]:
        tab.page.get_by_role("button", name="Download").click()
        with tab.page.expect_download() as download:
            tab.page.get_by_role("button", name="CSV", exact=True).click()
        tab.page.keyboard.press("Escape")
        return list(csv.DictReader(Path(download.value.path()).read_text().splitlines()))

    assert {row["val/loss (min) at step"] for row in csv_rows()} == {"40"}
    tab.page.get_by_role("radio", name="Last").check(force=True)
    tab.page.wait_for_function("() => tb.all('.at-step')[0]?.textContent === 'at step 50'")
    assert "at step" not in tab.headings()
    assert {row["val/loss at step"] for row in csv_rows()} == {"50"}
    # In the line about the best row it is whole, or is left out.
    styles = "() => { const { display } = getComputedStyle(tb.all('.best-row .at-step')[0]);"
    assert tab.page.evaluate(styles + " return display; }") == "inline-block"


def test_rows_that_are_not_finite_stand_beside_the_others(
    serve: Any, open_tab: Any, tmp_path: Path
) -> None:
    """They follow in the table, and have neither the mark, a colour nor a dot at a finite value."""
    logdir = tmp_path / "diverged"
    values = {"best": 0.5, "worse": 1.5, "inf": math.inf, "minus": -math.inf, "nan": math.nan}
    for index, (name, value) in enumerate(values.items()):
        write_session(logdir, name, {"id": index}, scalars={"loss": [value]}, dtype="float64")
    server = serve(logdir)

    tab = open_tab("&hparams.show=parallel,scatter,table", server)
    tab.wait_for_first("best")
    assert tab.names() == ["best", "worse", "minus", "inf", "nan"]
    assert tab.page.locator(".best-row .run").inner_text() == "best"
    status = tab.page.locator(".status-line").inner_text()
    assert "3 not finite" in status
    has_color = tab.page.evaluate(
        """() => tb.all('.trials tr[data-name]').map(
          (row) => row.querySelector('td').style.backgroundColor !== '')"""
    )
    assert has_color == [True, True, False, False, False]
    assert "3 rows not shown" in tab.page.locator(".scatter header").inner_text()

    # With a single finite value, its row has no mark, and is the only dot.
    tab = open_tab("&hparams.show=scatter,table", server)
    tab.page.get_by_label("Filter runs").fill("-best")
    tab.wait_for_count("4 sessions, 1 more not found or not selected in the list of runs")
    assert tab.page.locator(".best-row").count() == 0
    assert "3 rows not shown" in tab.page.locator(".scatter header").inner_text()


def test_metrics_of_the_run_above_belong_to_its_only_session(
    serve: Any, open_tab: Any, tmp_path: Path
) -> None:
    """As the Trainer of Hugging Face logs: in the table, with curves, when hovered and selected."""
    logdir = tmp_path / "trainer"
    for index in range(3):
        losses = [(step, 1 / (step + index + 1)) for step in range(4)]
        write_run(logdir, f"out{index}", scalars={"eval/loss": losses}, dtype="float64")
        write_session(logdir, f"out{index}/170000{index}.5", {"learning_rate": 10.0**-index})
    write_run(logdir, "plain", scalars={"eval/loss": [(0, 1.0)]})
    tab = open_tab("&hparams.show=table", serve(logdir))
    assert [text.rstrip("↑↓") for text in tab.headings()] == ["Name", "eval/loss", "learning_rate"]
    assert [row[1:3] for row in tab.rows()] == [
        ["0.16667", "0.01"],
        ["0.20000", "0.1"],
        ["0.25000", "1"],
    ]
    tab.wait_for_count("3 sessions, 1 run without hyperparameters")
    tab.page.get_by_role("button", name="Sessions and curves of out2/1700002.5").click()
    tab.page.wait_for_function("() => tb.all('.details .tb-chart-canvas').length === 1")
    Page(tab.page).run("out1").hover()
    tab.page.wait_for_function("() => tb.all('tr.hovered')[0]?.dataset.name === 'out1/1700001.5'")
    tab.open_filter("learning_rate")
    tab.page.get_by_label("Minimum").fill("0.5")
    tab.page.keyboard.press("Escape")
    tab.page.get_by_role("button", name="Show only these runs").click()
    tab.wait_for_count("1 session, 2 more not found or not selected in the list of runs")
    checked = tab.page.evaluate(
        """() => [...document.querySelectorAll('.tb-run')].filter(
          (row) => row.querySelector('input').checked).map((row) => row.title)"""
    )
    assert checked == ["out0", "out0/1700000.5"]


def test_only_visible_columns_are_rendered(serve: Any, open_tab: Any, tmp_path: Path) -> None:
    """The column of names stays in place, and the last column has the right position."""
    logdir = tmp_path / "wide"
    for index in range(3):
        hparams = {f"p{number:02d}": index * 100 + number for number in range(70)}
        write_session(logdir, f"run{index}", hparams)
    server = serve(logdir)
    tab = open_tab("&hparams.show=table", server)
    assert len(tab.headings()) < 30
    tab.page.locator(".trials").evaluate("(box) => { box.scrollLeft = box.scrollWidth; }")
    tab.page.wait_for_function("() => tb.all('.trials .sort').at(-1).textContent === 'p69'")
    last = tab.page.locator("tr[data-name=run2] td[aria-colindex='71']")
    assert last.inner_text() == "269"
    cell, heading = last.bounding_box(), tab.page.locator("thead th").last.bounding_box()
    assert (cell["x"], cell["width"]) == (heading["x"], heading["width"])
    name, table = (
        tab.page.locator(one).first.bounding_box() for one in ("tr[data-name] th", ".trials")
    )
    assert name["x"] == pytest.approx(table["x"], abs=2)
    assert cell["x"] > name["x"] + name["width"]


def test_the_tab_says_what_is_missing_before_the_first_session(
    serve: Any, profile: Any, tmp_path: Path
) -> None:
    """Without data it shows how to log it; an experiment without sessions has a message."""
    logdir = tmp_path / "early"
    write_run(logdir, "train", scalars={"loss": [1.0]})
    server = serve(logdir)
    page = profile.open(server.url, "#hparams")
    page.wait_for_function("() => document.querySelectorAll('.notice pre').length === 2")
    assert "add_hparams" in page.locator(".notice").inner_text()
    empty = summaries.metadata_only("_hparams_/experiment", "hparams", b"\x12\x00")
    write_run(logdir, "train", values=[empty])
    page.wait_for_function("() => tb.all('.tb-nothing').length === 1")
    assert "No session" in page.evaluate("() => tb.all('.tb-nothing')[0].textContent")
    write_session(logdir, "train", {"lr": 0.1})
    page.wait_for_function("() => tb.all('.trials tr[data-name]').length === 1")


def test_the_toolbar_is_one_line_whatever_the_metrics_are_called(
    serve: Any, open_tab: Any, tmp_path: Path
) -> None:
    """Also if rows have several sessions; the name of the metric is whole where that fits."""
    metrics = ("validation/top_5_accuracy_of_the_averaged_model", "validation/loss")
    for seed in range(4):
        scalars = {metric: [(0, 0.5), (1, 0.1 * seed)] for metric in metrics}
        start = summaries.session_start({"lr": 0.1 * (seed // 2 + 1)}, group=f"lr{seed // 2}")
        write_run(tmp_path, f"seed{seed}", scalars=scalars, values=[start])
    tab = open_tab("&hparams.show=parallel,table", at=serve(tmp_path))
    tab.page.get_by_role("combobox", name="Sessions").wait_for()
    tab.page.get_by_role("button", name="Axes of the parallel coordinates").wait_for()
    heights = "() => tb.all('.tb-toolbar, .tb-pick').slice(0, 2).map((one) => one.offsetHeight)"
    toolbar, pick = tab.page.evaluate(heights)
    assert toolbar < 2 * pick
    tab.page.set_viewport_size({"width": 2200, "height": 900})
    tab.page.wait_for_function("() => tb.all('.tb-pick')[0].offsetWidth > 380")
    tab.page.set_viewport_size({"width": 400, "height": 900})
    tab.page.wait_for_function("() => tb.all('.tb-toolbar')[0].offsetWidth <= 400")
    assert tab.page.evaluate("() => document.documentElement.scrollWidth") <= 400


@pytest.mark.parametrize("width", [400, 1400])
def test_the_page_does_not_scroll_sideways(open_tab: Any, width: int) -> None:
    tab = open_tab("&hparams.show=parallel,scatter,table", viewport={"width": width, "height": 900})
    wide = tab.page.evaluate("() => document.documentElement.scrollWidth")
    assert wide <= width
    if width == 400:
        # At the end of the table, the wheel scrolls the page.
        tab.page.mouse.move(200, 880)
        y = "() => tb.all('.trials')[0].getBoundingClientRect().y"
        before = tab.page.evaluate(y)
        tab.page.mouse.wheel(0, 20_000)
        tab.page.wait_for_function(
            "() => tb.all('.trials').some((box) => "
            "box.scrollTop + box.clientHeight >= box.scrollHeight - 1)"
        )

        def has_scrolled() -> bool:
            """Turns the wheel; the browser takes quick turns for one, which the table gets."""
            tab.page.mouse.wheel(0, 400)
            return bool(tab.page.evaluate(f"(before) => ({y})() < before", before))

        until(has_scrolled)


def test_in_a_narrow_window_the_part_of_a_name_is_shown_that_differs(
    serve: Any, profile: Any, tmp_path: Path
) -> None:
    """What all names have in common is cut first."""
    for lr in (0.1, 0.01):
        name = f"classifier_of_images/lr{lr}/average_of_all_seeds"
        write_session(tmp_path / "logs", name, {"lr": lr}, scalars={"loss": [lr]})
    address = serve(tmp_path / "logs").url
    page = profile.open(address, "#hparams", viewport={"width": 400, "height": 800})
    page.locator(".trials tbody .tb-name-tail").nth(1).wait_for()
    shown = page.evaluate(
        """() => tb.all('.trials tbody .tb-name-tail').map((tail) => {
          const edge = tail.closest('th').getBoundingClientRect().right;
          const isWhole = tail.scrollWidth <= tail.clientWidth + 1;
          return [tail.textContent, isWhole && tail.getBoundingClientRect().right <= edge];
        })"""
    )
    assert sorted(shown) == [["lr0.01", True], ["lr0.1", True]]


def test_a_line_says_which_hyperparameters_cannot_be_decoded(
    serve: Any, open_tab: Any, tmp_path: Path
) -> None:
    logdir = tmp_path / "damaged"
    bad = summaries.metadata_only("_hparams_/session_start_info", "hparams", b"\x1a\x7fxyz")
    write_run(logdir, "bad", values=[bad])
    write_session(logdir, "good", {"lr": 0.1})
    tab = open_tab("&hparams.show=table", serve(logdir))
    assert tab.names() == ["good"]
    line = tab.page.locator(".problems")
    assert "run 'bad'" in line.inner_text()
    assert "cannot be decoded" in line.inner_text()
