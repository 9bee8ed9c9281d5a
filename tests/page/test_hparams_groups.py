"""Groups of sessions in the tab of hyperparameters, of the log and of the run list."""

from __future__ import annotations

import csv
import json
import math
import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hparams_page import Tab, open_hparams, write_session
from noted_pages import notes_of


@pytest.fixture
def open_tab(seeds_server: Any, profile: Any) -> Callable[..., Tab]:
    """Opens the tab of a server, by default of that with seeds."""
    return partial(open_hparams, profile, seeds_server)


def test_sessions_of_one_group_are_one_row(serve: Any, open_tab: Any, tmp_path: Path) -> None:
    """The row has the mean or the minimum, and its details list each session."""
    logdir = tmp_path / "groups"
    for seed, loss in enumerate((0.5, 0.25, 1.0)):
        write_session(
            logdir,
            f"g/{seed}",
            {"lr": 0.1},
            group="low",
            scalars={"loss": [2.0, loss]},
            dtype="float64",
        )
    write_session(logdir, "single", {"lr": 1.0}, scalars={"loss": [2.0, 0.5]})
    server = serve(logdir)
    tab = open_tab("", server)
    tab.wait_for_count("2 groups")
    headings = [text.rstrip("↑↓") for text in tab.headings()]
    assert headings == ["Name", "loss", "lr", "Sessions"]
    assert tab.rows() == [["single", "0.50000", "1", "1"], ["low", "0.58333", "0.1", "3"]]
    title = tab.page.locator("tr[data-name=low] td").first.get_attribute("title")
    assert title.split("\n")[1] == "mean of 3 sessions, 0.25 to 1"
    tab.open_filter("Name")
    tab.page.get_by_label("Matches (regular expression)").fill("g/2")
    tab.wait_for_count("1 of 2 groups")
    assert tab.names() == ["low"]
    # While typing, the pattern may match nothing; the form stays open.
    for key in ("x", "[", "]"):
        tab.page.keyboard.press(key)
    tab.wait_for_count("0 of 2 groups")
    assert "None of the 2 rows matches the filter" in tab.page.locator(".trials").inner_text()
    assert [text.rstrip("↑↓") for text in tab.headings()] == headings
    for _ in range(3):
        tab.page.keyboard.press("Backspace")
    tab.wait_for_count("1 of 2 groups")
    tab.page.get_by_role("button", name="Clear filter").click()
    tab.page.keyboard.press("Escape")
    tab.page.get_by_role("combobox", name="Sessions").select_option(label="Minimum")
    tab.wait_for_first("low")
    assert tab.rows()[0][1] == "0.25000"
    tab.page.get_by_role("button", name="Sessions and curves of low").click()
    tab.page.locator(".sessions tbody tr").first.wait_for()
    rows = tab.page.locator(".sessions tbody tr").all_inner_texts()
    assert [row.split() for row in rows] == [
        ["g/0", "no", "end", "logged", "0.5", "1"],
        ["g/1", "no", "end", "logged", "0.25", "1"],
        ["g/2", "no", "end", "logged", "1", "1"],
    ]
    # A row includes all its sessions, even deselected ones, and marks those.
    tab.page.get_by_role("checkbox", name="g/0", exact=True).uncheck()
    tab.page.locator(".sessions small").wait_for()
    assert "but included" in tab.page.locator(".sessions tbody tr").first.inner_text()
    assert tab.rows()[0][1] == "0.25000"


def test_hyperparameters_that_differ_inside_a_group_of_the_log_are_shown(
    serve: Any, open_tab: Any, tmp_path: Path
) -> None:
    """A row has all values, not those of its first session; the sessions have their own."""
    for seed in range(3):
        hparams = {"lr": 10.0**-seed, "seed": float(seed), "width": 64.0}
        write_session(tmp_path / "logs", f"g/{seed}", hparams, group="low", scalars={"loss": [1]})
    hparams = {"lr": 0.5, "seed": 7.0, "width": 32.0}
    write_session(tmp_path / "logs", "h", hparams, scalars={"loss": [0.5]})
    tab = open_tab("&hparams.sort=loss", serve(tmp_path / "logs"))
    tab.wait_for_count("2 groups")
    rows = dict(zip(tab.names(), tab.rows(), strict=True))
    assert {"1, 0.1, 0.01", "0, 1, 2", "64"} <= {*rows["low"]}
    cell = tab.page.locator("tr[data-name=low] td").filter(has_text="1, 0.1, 0.01")
    assert cell.get_attribute("title") == "differs inside the group: 1, 0.1, 0.01"
    tab.page.get_by_role("button", name="Sessions and curves of low").click()
    tab.page.locator(".sessions tbody tr").first.wait_for()
    heads = tab.page.locator(".sessions thead th").all_inner_texts()
    assert heads[:3] == ["Session", "lr", "seed"]
    rows = [row.split()[:3] for row in tab.page.locator(".sessions tbody tr").all_inner_texts()]
    assert rows == [["g/0", "1", "0"], ["g/1", "0.1", "1"], ["g/2", "0.01", "2"]]


@pytest.fixture(scope="module")
def seeds_server(serve_for_module: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Four configurations of three seeds each. The second best of them has the best seed."""
    logdir = tmp_path_factory.mktemp("seeds")
    for name, losses in SEEDS.items():
        for seed, loss in enumerate(losses):
            hparams = {"lr": LEARNING_RATES[name], "seed": float(seed)}
            scalars = {"val/loss": [2.0, loss]}
            write_session(logdir, f"{name}/s{seed}", hparams, scalars=scalars, dtype="float64")
    return serve_for_module(logdir)


SEEDS = {
    "good": (0.375, 0.5, 0.4375),
    "lucky": (0.25, 1.25, 0.75),
    "partly": (1.0, math.nan, 2.0),
    "diverged": (math.nan, math.inf, math.nan),
}
"""The last losses of each seed by configuration."""
LEARNING_RATES = {"good": 0.001, "lucky": 0.002, "partly": 0.1, "diverged": 0.2}
MEANS = {
    "good/*": "0.438 ± 0.063",
    "lucky/*": "0.75 ± 0.50",
    "partly/*": "1.50 ± 0.71 (2 of 3, 1 not finite)",
    "diverged/*": "not finite (3 of 3)",
}
"""The mean and the standard deviation of the sample, over n − 1; in the order of the table."""


def test_runs_that_are_grouped_in_the_list_are_one_row_with_their_mean(open_tab: Any) -> None:
    """Not the luckiest seed is best, and the seed is neither a column nor an axis."""
    tab = open_tab()
    tab.wait_for_count("12 sessions")
    assert "lucky/s0" in tab.page.locator(".best-row").inner_text()

    tab = open_tab("&group=seeds&hparams.show=table,parallel,scatter")
    tab.wait_for_count("4 groups")
    assert [text.rstrip("↑↓") for text in tab.headings()] == ["Name", "val/loss", "lr", "Sessions"]
    assert tab.rows() == [
        [name, mean, str(LEARNING_RATES[name.removesuffix("/*")]), "3"]
        for name, mean in MEANS.items()
    ]
    best = tab.page.locator(".best-row").inner_text().replace("\n", " ")
    assert best.startswith("Best mean val/loss 0.438 ± 0.063 (n = 3) good/* at step 1 on average ")
    title = tab.page.locator("tr[data-name='partly/*'] td").first.get_attribute("title")
    assert title == (
        "mean of the last values of 2 runs: 1.5, ± standard deviation (n − 1) 0.707107,"
        " 1 run NaN or infinite, not in it, at step 1 on average"
    )
    assert tab.page.locator(".brush").count() == 2  # the learning rate and the loss
    name = tab.page.locator(".scatter .plot-area").get_attribute("aria-label")
    assert "val/loss over lr, 4 rows." in name
    # Sorted by the mean, rows without one are last in both orders.
    for first, order in (("good/*", [*MEANS]), ("partly/*", [*[*MEANS][2::-1], "diverged/*"])):
        tab.sort("val/loss")
        tab.wait_for_first(first)
        assert tab.names() == order

    tab.page.get_by_role("button", name="Sessions and curves of good/*").click()
    tab.page.locator(".sessions tbody tr").first.wait_for()
    assert [row.split() for row in tab.page.locator(".sessions tr").all_inner_texts()] == [
        ["Session", "seed", "Status", "val/loss", "Step"],
        ["good/s0", "0", "no", "end", "logged", "0.375", "1"],
        ["good/s1", "1", "no", "end", "logged", "0.5", "1"],
        ["good/s2", "2", "no", "end", "logged", "0.4375", "1"],
    ]


def test_rows_have_the_average_that_is_chosen_for_groups(open_tab: Any) -> None:
    """The best one, too."""
    tab = open_tab("&group=seeds&average=median")
    tab.wait_for_count("4 groups")
    assert [row[:2] for row in tab.rows()] == [
        ["good/*", "0.438 [0.406, 0.469]"],
        ["lucky/*", "0.75 [0.50, 1.00]"],
        ["partly/*", "1.50 [1.25, 1.75] (2 of 3, 1 not finite)"],
        ["diverged/*", "not finite (3 of 3)"],
    ]
    # On a phone, names, marks and figures are whole and in sight, in rows of the same height.
    tab.page.set_viewport_size({"width": 400, "height": 800})
    whole = """() => tb.all('.trials :is(.label, .best-mark, th + td > span)').every(
      (one) => one.scrollWidth <= one.clientWidth && one.scrollHeight <= one.clientHeight + 2
        && one.getBoundingClientRect().right < 400)
      && tb.all('tbody tr[data-name]').every((row) => row.offsetHeight === 31)"""
    tab.page.wait_for_function(whole)
    assert tab.page.evaluate("() => getComputedStyle(tb.all('td.number')[0]).textAlign") == "left"
    tab.page.set_viewport_size({"width": 1440, "height": 900})
    best = tab.page.locator(".best-row")
    text = best.inner_text().replace("\n", " ")
    assert text.startswith("Best median val/loss 0.438 [0.406, 0.469] (n = 3)")
    assert "The best median val/loss of at least 3 values, of the 4 groups" in (
        best.get_attribute("title") or ""
    )
    tab.page.get_by_role("button", name="Grouped: seeds").click()
    tab.page.get_by_label("Groups show").select_option("interquartile mean, quartiles")
    tab.page.get_by_text("Best interquartile mean val/loss").wait_for()


def test_a_group_has_the_sessions_that_are_selected(open_tab: Any) -> None:
    tab = open_tab("&group=seeds&query=-has:nan")
    tab.wait_for_count("3 groups, 4 sessions not found or not selected in the list of runs")
    assert [row[:2] for row in tab.rows()] == [
        ["good/*", "0.438 ± 0.063"],
        ["lucky/*", "0.75 ± 0.50"],
        ["partly/*", "1.50 ± 0.71"],
    ]
    # Without groups, a row is a session again.
    tab.page.get_by_role("button", name="Grouped: seeds").click()
    tab.page.get_by_role("button", name="Ungroup").click()
    tab.wait_for_count("8 sessions, 4 more not found or not selected in the list of runs")
    assert tab.names()[0] == "lucky/s0"


OUTSIDE = """() => tb.all('.best-row > *, .status-line > *, .column-select > *').flatMap((one) => {
  const edge = (one.parentElement.closest('.plot') ?? one.parentElement).getBoundingClientRect();
  const next = one.nextElementSibling?.getBoundingClientRect();
  const box = one.getBoundingClientRect();
  const isOver = next && next.top < box.bottom && next.left < box.right;
  return isOver || box.right > edge.right ? [`${one.className} ${one.textContent}`] : [];
})"""
"""The texts and menus that end outside of what they are in, or are over the next one."""


def test_a_new_name_of_a_run_leaves_the_metric_marked(
    serve: Any, open_tab: Any, tmp_path: Path
) -> None:
    """It makes the columns again. That last values are of different steps is said, too.

    Whatever space columns in the list of runs leave, no text is over another or outside.
    """
    logdir = tmp_path / "logs"
    for step, (name, loss) in enumerate({"a/0": 0.5, "a/1": 0.7, "b/0": 0.9}.items()):
        write_session(logdir, name, {"lr": loss}, scalars={"loss": [(step, loss)]})
    columns = "&group=seeds&columns=loss:last,loss:min,loss:max,lr"
    tab = open_tab(f"{columns}&hparams.show=parallel,scatter,table", serve(logdir))
    tab.wait_for_count("3 groups, last values at steps 0 to 2")
    tab.page.locator(".scatter header").wait_for()
    for width in (1440, 1280, 1000):
        tab.page.set_viewport_size({"width": width, "height": 900})
        tab.page.wait_for_function("(width) => innerWidth === width", arg=width)
        assert tab.page.evaluate(OUTSIDE) == []
    tab.page.wait_for_function("() => tb.all('.importance').length > 0")
    marked = tab.page.locator(".importance", has_text="lower is better")
    assert marked.count() == 2
    notes_of(logdir).change(["b/0"], {"display_name": "renamed"})
    tab.page.get_by_text("renamed").first.wait_for()
    assert marked.count() == 2
    assert tab.page.locator("th.metric").count() == 1


def test_files_have_the_means_of_groups_with_their_deviations(open_tab: Any) -> None:
    tab = open_tab("&group=seeds")
    tab.wait_for_count("4 groups")
    files = {}
    for name in ("CSV", "JSON", "LaTeX"):
        tab.page.get_by_role("button", name="Download").click()
        with tab.page.expect_download() as download:
            tab.page.get_by_role("button", name=name, exact=True).click()
        files[name] = Path(download.value.path()).read_text()
        tab.page.keyboard.press("Escape")
    rows = list(csv.DictReader(files["CSV"].splitlines()))
    assert [row["name"] for row in rows] == [*MEANS]
    for row in rows:
        finite = [loss for loss in SEEDS[row["name"].removesuffix("/*")] if math.isfinite(loss)]
        assert row["val/loss n"] == str(len(finite))
        assert (
            float(row["val/loss"]) == statistics.mean(finite)
            if finite
            else row["val/loss"] == "nan"
        )
        sd = row["val/loss sd"]
        assert float(sd) == pytest.approx(statistics.stdev(finite)) if finite else sd == ""
    first = json.loads(files["JSON"])[0]
    assert first["metrics"] == {"val/loss": 0.4375}
    assert first["spreads"] == {"val/loss": {"sd": 0.0625, "n": 3, "nonfinite": 0}}
    assert files["LaTeX"].splitlines()[1:7] == [
        "name & val/loss & lr & $n$ \\\\",
        "\\hline",
        "good/* & $0.438 \\pm 0.063$ & $0.001$ & $3$ \\\\",
        "lucky/* & $0.75 \\pm 0.50$ & $0.002$ & $3$ \\\\",
        "partly/* & $1.50 \\pm 0.71$ ($n = 2$) & $0.1$ & $3$ \\\\",
        "diverged/* & not finite ($n = 0$) & $0.2$ & $3$ \\\\",
    ]
